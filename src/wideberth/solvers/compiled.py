"""Newton's method in compiled code, for programs that solve many small problems.

Small problems cost NumPy's calls, not arithmetic. `mehrotra.py` takes the same steps in
a fifth of the time, once numba is loaded (a third of a second) and its code is compiled
(some ten seconds, the first time on a machine; then it lies on a disk). Whether that
pays depends on how many problems are to be solved. The choice must not depend on what
a process did before, or how busy its neighbours are: the same call has to give the same
bits whenever it is made, in whatever thread or worker. So it follows from the call
alone. One that is known to be about many small problems, a long path or a
cross-validation, takes the compiled engine; others do if they are told to, by
solver="compiled"; and both engines keep their answers within the tolerance.

Nothing here is trusted: what comes back is evaluated on the problem as given, and where
it falls short the other engine goes on.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.arrays import is_foreign
from wideberth.problem.limits import CACHED_ENTRIES, FEW_FEATURES, MOST_STEPS
from wideberth.screening import Partition, Screener
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.interior import beyond_features, is_noisy
from wideberth.solvers.newton_settings import SETTINGS

#: Products over the rows in a step of the engine: a Gram matrix and four more.
_PRODUCTS = 5


def is_small(problem: Problem) -> bool:
    """Whether the compiled engine takes the problem: few features, rows in a cache."""
    n, d = problem.n, problem.rows.d
    if not problem.shared or d > FEW_FEATURES or n * d > CACHED_ENTRIES:
        return False
    known = problem.noise.dual_order in (1.0, 2.0) and hasattr(problem.noise, "scales")
    return known and n <= SETTINGS.direct_rows and not is_foreign(problem.y)


def solve_small(
    problem: Problem,
    control: Control,
    start: PrimalPoint | None = None,
    decided: Partition | None = None,
) -> Outcome | None:
    """Solve by the compiled engine; None where it does not get to the aim.

    Nor is it tried under a limit of so few steps that it might have to stop at it.
    """
    if control.exhausted() or control.max_iter - control.steps < MOST_STEPS:
        return None
    screener = Screener(problem, None, decided)
    small = screener.problem
    if small.n == 0:
        return None
    x, alpha, steps, reached = _minimised(small, 0.5 * control.target, start)
    control.steps += steps
    if not reached:
        return None
    b = float(x[-1]) if problem.intercept is not None else None
    alpha = alpha if small is problem else screener.reduction.unfold(alpha)
    found = Outcome(problem.at(x[: problem.rows.d], b), problem.dual_at(alpha))
    counts = screener.counts
    control.record(problem.rows.passes.count, found.certificate, counts)
    return found if found.meets(control.target) else None


def _minimised(problem: Problem, goal: float, start: PrimalPoint | None):
    """x, α, steps taken and whether they led to the relative gap `goal`."""
    from wideberth.solvers import mehrotra  # loads numba

    d, noise, noisy = problem.rows.d, problem.noise, is_noisy(problem)
    extras, penalty, folded = beyond_features(problem, noisy)
    table, kind = problem.rows.table(extras), mehrotra.NONE
    if noisy:
        kind = mehrotra.BOX if noise.dual_order == 1 else mehrotra.ROUND
        kind = mehrotra.SPHERE if noise.isotropic else kind
    weights = np.ascontiguousarray(problem.weights, dtype=np.float64)
    scales = np.empty(d)
    scales[:] = noise.scales
    x, share = np.zeros(penalty.size), np.empty(problem.n)
    if start is not None:
        x[:d] = start.w
        if problem.intercept is not None:
            x[-1] = start.b
        distance = np.abs(start.slack)
        width = max(float(distance.max(initial=0.0)), SETTINGS.least_distance)
        share[:] = 0.5 + 0.5 * start.slack / width
    steps, gap = mehrotra.minimise(
        table,
        weights,
        penalty,
        folded,
        0.0 if problem.folded is None else float(problem.folded.total),
        scales,
        kind,
        -1 if problem.intercept is None else penalty.size - 1,
        x,
        share,
        start is not None,
        float(goal),
        MOST_STEPS,
        (SETTINGS.start_inside, SETTINGS.least_distance, SETTINGS.to_boundary),
    )
    problem.rows.passes.add((_PRODUCTS * (steps + 1)) * problem.n)
    return x, weights * share, steps, gap <= goal
