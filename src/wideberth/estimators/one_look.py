"""Problems of many classes on the same samples: the data is looked at once."""

from __future__ import annotations

import time

import numpy as np

from wideberth.problem.presolve import build_problem, cut_radii, share_rows
from wideberth.problem.ramp import check_ramp
from wideberth.solution import Solution
from wideberth.solve import solve_presolved
from wideberth.solvers.registry import check_choices
from wideberth.solvers.small import is_small


class OneLook:
    """Problems on the same samples that differ in their labels alone.

    Checks, units, layout, norms and equal rows are theirs together: the data is looked
    at once. `labels` gives the labels of the problem at a place. The rest is what
    `solve` takes.
    """

    def __init__(self, X, labels, **stated):
        with np.errstate(all="ignore"):  # norms may overflow
            self._shared = share_rows(cut_radii(build_problem(X, labels(0), **stated)))
        self._labels = labels
        if is_small(self._shared.problem):
            _ = self._shared.problem.rows.array  # once for all labels

    def solve(self, place: int, *, ramp=None, **how) -> Solution:
        """Train the problem at this place; notes are left in the solution."""
        how["started"] = time.perf_counter()
        check_choices(how["solver"], how["screening"])
        level = -np.inf if ramp is None else check_ramp(ramp)
        presolved = self._shared.with_labels(self._labels(place))
        return solve_presolved(presolved, ramp=level, **how)
