"""Newton's method as a solver: which of its forms a problem takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wideberth.problem import Pair, Problem
from wideberth.problem.changes import Presolved, span_of_rows
from wideberth.problem.limits import COPY_SHARE
from wideberth.solvers.base import Solver
from wideberth.solvers.batches import InMemory
from wideberth.solvers.cost import Cost
from wideberth.solvers.driver import Driver, solve_in_memory
from wideberth.solvers.sampling import (
    SamplingError,
    is_sampled,
    sample_size,
    small_sample,
)
from wideberth.solvers.shrinking import nearest_width
from wideberth.solvers.smoothed import is_smooth, solve_smoothed

if TYPE_CHECKING:
    from wideberth.solvers.starts import WarmStart

#: Cost of a Gram matrix of all rows, in passes over them, up to which no hinge is
#: smoothed: with so few features many rows may be tied at the margin (tables of 38 to
#: 129 columns with categories take two to seven times as long with a smoothed hinge,
#: those of 300 numbers half as long).
_GRAM_PASSES = 16.0
#: Cost of a Gram matrix of a sample, in passes over all rows, beyond which a smoothed
#: hinge is quicker than the solution of the sample (200 000×100, at 2.6, is even,
#: 100 000×100, at 5, and 150 000×200, at 6, are 1.3 and 1.6 times as quick).
_SAMPLE_PASSES = 4.0

#: Size of the first working set, relative to what would have been enough at the point
#: before (flat from 1.5 to 2; paths take a tenth more steps at 1.2, passes at 2.5).
WALK_RESERVE = 1.5


class Newton(Solver):
    """Interior-point Newton steps on few of the rows.

    By `driver.py`; where rows and features are many, `smoothed.py` comes first. With
    more features than rows, under ℓ2 noise, w is sought in the span of the rows.
    """

    name = "newton"

    def supports(self, problem):
        """Every shape that is a norm of scaled weights, and error bars."""
        noise = problem.noise
        if not noise.proportional or noise.shape.dual_order is not None:
            return None
        return (
            "The Newton solver needs noise of a shape that states its scales, unlike "
            f"{problem.noise.name!r}; use solver='conic' for that shape."
        )

    predicted = True

    def run(self, problem, control, start=None, decided=None):
        """Solve from `start`, or from a sample of the rows.

        With many rows a sample is better than a start of unknown quality (`rows` None).
        """
        spanned = span_of_rows(problem)
        if spanned.basis is not None:
            asked, control.tol = control.tol, 0.5 * control.tol
            inner = spanned.problem
            if start is not None:
                w, b, _ = spanned.inward(start.point.w, start.point.b, None)
                point = inner.at(w, b, start.point.margins)
                start = replace(start, problem=inner, point=point, combined=None)
            found = self.run(inner, control, start, decided)
            control.tol = asked
            return _expanded(problem, spanned, found)
        known = start is not None and start.rows is not None
        if start is not None and (known or not small_sample(problem.n)):
            driver = Driver(InMemory(problem), control)
            found = driver.solve(start.point, _band(start))
            control.rows_needed = driver.sizes[-1] if len(driver.sizes) > 1 else 0
            return found
        if not problem.rows.table_fits and smoothing_pays(problem):
            return solve_smoothed(problem, control)
        return solve_in_memory(problem, control)


def _band(start: WarmStart) -> float | SamplingError:
    """How far from the margin at a start rows are taken into the first working set.

    So far that `WALK_RESERVE` times the rows that were enough before lie within;
    infinitely far where that is most rows, as where many are tied.
    """
    slack, rows = start.point.slack, start.rows
    if rows is None:
        return nearest_width(slack)
    if isinstance(rows, SamplingError):
        return rows
    share = WALK_RESERVE * rows / max(slack.size, 1)
    return np.inf if share > COPY_SHARE else nearest_width(slack, share)


def smoothing_pays(problem: Problem) -> bool:
    """Whether Gram matrices, of all rows or of a sample, would take most of the time.

    Small data has none that matter, nor has data of few features.
    """
    if problem.rows.table_fits or not is_smooth(problem):
        return False
    cost = Cost(problem)
    if cost.gram() <= _GRAM_PASSES * cost.product:
        return False
    sample = cost.gram(sample_size(problem.n, problem.rows.d))
    return not is_sampled(problem) or sample > _SAMPLE_PASSES * cost.product


def _expanded(problem: Problem, spanned: Presolved, found: Pair) -> Pair:
    """What was found in the span of the rows, evaluated on the problem as given."""
    w, b, alpha = spanned.outward(found.point.w, found.point.b, found.dual.alpha)
    return Pair(problem.at(w, b), problem.dual_at(alpha))
