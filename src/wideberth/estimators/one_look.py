"""Problems of many classes on the same samples: the data is looked at once."""

from __future__ import annotations

import numpy as np

from wideberth.problem.presolve import (
    Presolved,
    build_problem,
    cut_radii,
    share_rows,
)
from wideberth.problem.statement import Statement
from wideberth.results import Solution
from wideberth.solve import solve_presolved
from wideberth.solvers.base import Options
from wideberth.solvers.classes.rounds import Proven, solve_stacked
from wideberth.solvers.classes.stack import can_be_stacked
from wideberth.solvers.registry import check_choices


class OneLook:
    """Problems on the same samples that differ in their labels alone.

    Checks, units, layout, norms and equal rows are theirs together: the data is looked
    at once. `labels` gives the labels of each, by its place among so many `problems`.
    Where they are small and dense they are solved `together` to that tolerance, if one
    is given, as far as they can be (`stack.py`).
    """

    def __init__(self, X, labels, problems: int, together, statement: Statement):
        with np.errstate(all="ignore"):  # norms may overflow
            shared = share_rows(cut_radii(build_problem(X, labels(0), statement)))
        self._shared, self._labels, self._problems = shared, labels, problems
        self._level = statement.level
        self._presolved: list[Presolved] = []
        self._proven: list[Proven | None] = [None] * problems
        merged = shared.equal is not None
        if together is None or merged or not can_be_stacked(shared.problem, problems):
            return
        self._presolved = [self._at(place) for place in range(problems)]
        binary = [each.problem for each in self._presolved]
        self._proven = solve_stacked(binary, together)

    def _at(self, place: int) -> Presolved:
        """The problem at this place."""
        if self._presolved:
            return self._presolved[place]
        return self._shared.with_labels(self._labels(place))

    def solve(self, place: int, options: Options) -> Solution:
        """Train the problem at this place; notes are left in the solution."""
        check_choices(options.solver, options.screening)
        return solve_presolved(
            self._at(place),
            self._level,
            options,
            problems=self._problems,
            proven=self._proven[place],
        )
