"""Small problems: the compiled interior-point method, then the certificate.

On small tables NumPy's calls take longer than arithmetic. Such problems go to
`kernels/interior.pyx` in one call, without screening and rounds. The kernel leaves out
rows that are clearly on one side of the margin, and takes them back where that was
wrong. Where slacks are about known, from a start or by `estimate.py`, it begins with
the rows nearest to the margin.

Nothing here is trusted: the pair of points that comes back is evaluated on the problem
as given, and where it proves too little `driver.py` goes on.
"""

from __future__ import annotations

import numpy as np

from wideberth.kernels.interior import Kind, SmallProblem, minimise
from wideberth.problem import Pair, Problem
from wideberth.problem.arrays import doubles, is_foreign
from wideberth.problem.limits import COPY_SHARE, LITTLE, MOST_STEPS
from wideberth.solvers.base import Control
from wideberth.solvers.blocks import LEAST_DISTANCE, START_INSIDE
from wideberth.solvers.cost import STEP_PRODUCTS, Cost
from wideberth.solvers.estimate import (
    ESTIMATE_PRODUCTS,
    can_be_estimated,
    estimated_slacks,
)
from wideberth.solvers.interior import TO_BOUNDARY
from wideberth.solvers.newton import Newton
from wideberth.solvers.shrinking import ROWS_PER_FEATURE, SETTLED_MOVES

#: Largest number of entries at which steps on all rows take no longer than an estimate
#: of their slacks and steps on few (569×30 takes half the time, 4 000×20 and 4 601×57
#: as long, 1 797×64 and 20 000×50 up to twice and four times as long).
_STEPPED_ENTRIES = 1 << 16

#: Least number of rows of a working set for each feature, where a start says how many
#: rows it takes: 2 take the steps that `ROWS_PER_FEATURE` = 4 take, on a tenth to two
#: fifths fewer rows (paths on digits, wine, Breast Cancer, Spambase, normal rows).
_ROWS_WHERE_KNOWN = 2

#: Constants of `solvers` that the kernel takes.
_STEERING = {
    "start_inside": START_INSIDE,
    "least_distance": LEAST_DISTANCE,
    "to_boundary": TO_BOUNDARY,
    "settled_moves": SETTLED_MOVES,
    "most_steps": MOST_STEPS,
}


def is_small(problem: Problem) -> bool:
    """Whether the compiled method takes the problem: known noise and a small table."""
    if not problem.noise.proportional or is_foreign(problem.y):
        return False
    if not Cost(problem).is_small:
        return False
    return problem.noise.shape.dual_order in (1.0, 2.0)


def begins_with_estimate(problem: Problem) -> bool:
    """Whether a small problem is solved quicker from an estimate of its slacks."""
    large = problem.n * problem.rows.d > _STEPPED_ENTRIES
    return large and can_be_estimated(problem)


#: w and b.
Model = tuple[np.ndarray, float]


class Small(Newton):
    """Newton's method by compiled steps; by `Newton` where these prove too little.

    `slack` are slacks to begin with, where they are about known, `rows` the size of the
    first working set, and `model` is w and b there.
    """

    quick = True

    def __init__(
        self,
        slack: np.ndarray | None = None,
        rows: int = 0,
        model: Model | None = None,
    ):
        self.slack, self.rows, self.model = slack, rows, model

    def about(self, slack, rows, model):
        """The same from these slacks."""
        return Small(slack, rows, model)

    def run(self, problem, control, start=None, decided=None):
        """From the slacks of `start`, if there is one."""
        slack, few = self.slack, self.rows
        if start is not None:
            slack, few = start.point.slack, start.rows
        few = few if isinstance(few, int) else 0
        found = solve_small(problem, control, slack, few, self.model)
        return super().run(problem, control, start, decided) if found is None else found


def solve_small(
    problem: Problem,
    control: Control,
    slack: np.ndarray | None = None,
    few: int = 0,
    model: Model | None = None,
) -> Pair | None:
    """Solve a problem that `is_small`; None where the tolerance is not proven.

    Given about the right slacks it begins on the rows nearest to the margin, `few` of
    them or more; and at w and b, where a `model` is given. None, too, where `max_iter`
    allows fewer than `MOST_STEPS` more steps.
    """
    room = 0 if control.exhausted() else control.max_iter - control.steps
    if room < MOST_STEPS:
        return None
    n, d = problem.n, problem.rows.d
    if slack is None and begins_with_estimate(problem):
        estimate = estimated_slacks(problem, problem.y[None])
        slack = None if estimate is None else estimate[0]
        problem.rows.passes.add(ESTIMATE_PRODUCTS * n)
    goal = 0.5 * control.target
    x, alpha, gap = _minimised(problem, control, goal, slack, few, model)
    if not np.isfinite(gap):
        return None
    # A free b that is not unique is moved to the middle of the best ones by `prove`.
    b = None if problem.intercept is None else float(x[-1])
    found = Pair(problem.at(x[:d], b), problem.dual_at(alpha))
    if not found.proves(control.tol):
        return None
    control.record_pair(problem, found)
    return found


def _minimised(
    problem: Problem,
    control: Control,
    goal: float,
    slack: np.ndarray | None = None,
    few: int = 0,
    model: Model | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """x = (w, t, b), α, and the relative gap that the steps got to."""
    n, least = problem.n, _ROWS_WHERE_KNOWN if few else ROWS_PER_FEATURE
    least *= problem.rows.d
    few, many = max(few, int(LITTLE * n)), int(COPY_SHARE * n)
    small = _small_problem(problem)
    begin = None if model is None else np.append(*model)
    x, share, steps, read, gap = minimise(
        small, goal, _STEERING, least, many, slack, few, begin
    )
    control.steps += steps
    problem.rows.passes.add(STEP_PRODUCTS * read)
    return x, problem.weights * share, gap


def _small_problem(problem: Problem) -> SmallProblem:
    """The problem as the kernel takes it."""
    shape, fold, d = problem.noise.shape, problem.folded, problem.rows.d
    kind, scales, s = Kind.NONE, np.empty(d), problem.outside.scale
    scales[:] = shape.scales
    if (s > 0 or problem.radii.any()) and scales.any():
        kind = Kind.BOX if shape.dual_order == 1 else Kind.ROUND
        kind = Kind.SPHERE if shape.isotropic else kind
    folded = np.zeros(d + (kind != Kind.NONE) + (problem.intercept is not None))
    if fold is not None:
        folded[:d] = fold.d
        if problem.intercept is not None:
            folded[-1] = fold.balance
    if kind != Kind.NONE:
        folded[d] = -s
    return SmallProblem(
        problem.rows.array,
        *(doubles(problem.y), doubles(problem.targets), doubles(problem.weights)),
        doubles(problem.radii),
        folded,
        0.0 if fold is None else float(fold.total),
        scales,
        kind,
        problem.intercept,
        problem.least_scale,
    )
