"""Problems of many classes on the same samples: the data is looked at once."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from wideberth._solve import solve_presolved
from wideberth.problem.changes import build_problem, cut_radii, share_rows
from wideberth.problem.statement import Statement
from wideberth.results import Solution
from wideberth.solvers.base import Options
from wideberth.solvers.estimate import ESTIMATE_PRODUCTS, estimated_slacks
from wideberth.solvers.registry import check_choices
from wideberth.solvers.small import Small, begins_with_estimate, is_small

#: Number of slacks that are estimated for all problems at once; where there are more
#: each problem has its own estimate. It is a bound on memory, 32 MB.
_MOST_SLACKS = 1 << 22


class OneLook:
    """Problems on the same samples that differ in their labels alone.

    Checks, units, layout, norms and equal rows are theirs together: the data is looked
    at once. `labels` gives the labels of each, by its place among so many `problems`.
    Where the data is small, one matrix estimates the slacks of all of them.
    """

    def __init__(self, X, labels, problems: int, statement: Statement):
        with np.errstate(all="ignore"):  # norms may overflow
            self._shared = share_rows(cut_radii(build_problem(X, labels(0), statement)))
        self._labels, self._problems = labels, problems
        self._level = statement.level
        if is_small(self._shared.problem):
            _ = self._shared.problem.rows.array  # once for all labels

    def solve(self, place: int, options: Options) -> Solution:
        """Train the problem at this place; notes are left in the solution."""
        check_choices(options.solver, options.screening)
        presolved = self._shared.with_labels(self._labels(place))
        unknown = options.init is None and self._level == -np.inf
        if options.solver == "auto" and unknown and self._slacks is not None:
            options = replace(options, solver=Small(self._slacks[place]))
            rows = presolved.problem.rows
            rows.passes.add(ESTIMATE_PRODUCTS * rows.n)
        return solve_presolved(presolved, self._level, options)

    @cached_property
    def _slacks(self) -> np.ndarray | None:
        """Slacks to begin with, of all problems; None where each begins by itself."""
        problem, problems = self._shared.problem, self._problems
        if self._shared.equal is not None or problems * problem.n > _MOST_SLACKS:
            return None
        if not (is_small(problem) and begins_with_estimate(problem)):
            return None
        labels = np.stack([self._labels(place) for place in range(problems)])
        with np.errstate(all="ignore"):  # what overflows tells nothing
            return estimated_slacks(problem, labels)
