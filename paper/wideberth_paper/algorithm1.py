"""The paper's Algorithm 1, in three readings that share one driver.

Each round solves the conic program on the free samples F, takes the GAP ball of radius
√(2·gap) about its w, and moves samples to R (removed) and S (saturated) by the
separable test. The readings differ in what they train on and over which samples they
take the gap:

* `as_published`, the authors' code: trains on F alone, gap over F alone. Samples fixed
  in S no longer push on w, so from the second round on the ball belongs to another
  problem and need not contain w* (theory §3).
* `as_printed`, the text taken literally: trains on F alone, gap over all samples. Safe,
  but once S is non-empty the gap is large and little more is screened.
* `repaired`: S stays in the problem as one linear and one norm term; gap over that.

Runs on the conic backend with the options of the authors' code: at most five rounds
with SCS eps = max(1e-2·0.1^k, 1e-6) and 2000 iterations, the gap floored at 1e-4 in the
first round, until |F| ≤ 20 or gap < 1e-4; then one solve on F ∪ S, which the authors
stop at eps 1e-2 and 500 iterations, and the other two readings take to 1e-6.

Where the rough solves end within their tolerance is SCS's affair: it differs from
version to version and from processor to processor, and with it how many samples
`as_published` decides wrongly. Another solver can take its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from wideberth.problem import Problem
from wideberth.screening import Partition, Reduction
from wideberth.solvers.conic import PAPER_OPTIONS, ConicResult, solve_conic

VARIANTS = ("as_published", "as_printed", "repaired")

_ROUNDS = 5
_FEW = 20
_SMALL_GAP = 1e-4


#: Solves a round: the problem, a tolerance and the most iterations.
RoundSolver = Callable[[Problem, float, int], ConicResult]


@dataclass(frozen=True)
class Fit:
    """What a method returned: a primal and a dual point, and how it screened."""

    w: np.ndarray
    alpha: np.ndarray
    partition: Partition | None = None
    #: Whether the last training still read the samples found saturated.
    reads_saturated: bool = False
    #: Of each round of Algorithm 1: time, gap, numbers of samples, the ball about `w`
    #: of `radius` that it screened with, and the `partition` after it.
    steps: list[dict] = field(default_factory=list)


def run_algorithm1(
    problem: Problem, variant: str, solver: RoundSolver | None = None
) -> Fit:
    """Run one of `VARIANTS` on a problem without intercept.

    `solver(problem, eps, iterations)` solves the round; by default SCS does, with the
    options of the authors' code.
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant={variant!r} is not known; choose one of {VARIANTS}.")
    if problem.intercept is not None:
        raise ValueError("Algorithm 1 is stated without an intercept: intercept=None.")
    solver = solver or _solve_with_scs
    started, steps = time.perf_counter(), []
    nothing = np.zeros(problem.n, dtype=bool)
    removed, saturated = nothing.copy(), nothing.copy()
    for k in range(_ROUNDS):
        free = np.flatnonzero(~(removed | saturated))
        training = _training_problem(problem, variant, free, saturated)
        result = solver(training, max(1e-2 * 0.1**k, 1e-6), 2000)
        gap = _gap(problem, variant, result, free, saturated)
        if k == 0:
            gap = max(gap, _SMALL_GAP)
        radius = float(np.sqrt(2 * max(gap, 0.0)))
        low, high = _separable(problem, result.w, radius, free)
        removed[free[low > 1]] = True
        saturated[free[high < 1]] = True
        now = Partition(removed.copy(), saturated.copy(), nothing, nothing)
        counts = dict(zip(("free", "saturated", "removed"), now.counts, strict=True))
        seconds = time.perf_counter() - started
        line = {"iteration": k + 1, "seconds": seconds, "gap": gap} | counts
        steps.append(line | {"partition": now, "w": result.w, "radius": radius})
        if now.counts[0] <= _FEW or gap < _SMALL_GAP:
            break
    kept = np.flatnonzero(~removed)
    rough = variant == "as_published"
    end = (1e-2, 500) if rough else (1e-6, 100_000)
    final = solver(problem.take(kept), *end)
    alpha = np.zeros(problem.n)
    alpha[kept] = final.alpha
    return Fit(final.w, alpha, now, reads_saturated=True, steps=steps)


def _training_problem(problem, variant, free, saturated) -> Problem:
    """What a round trains on: F alone, or F with S folded in."""
    if variant != "repaired":
        return problem.take(free)
    gone = np.ones(problem.n, dtype=bool)
    gone[free] = False
    bounds = np.zeros(problem.n)
    decisions = Partition(gone & ~saturated, saturated, bounds, bounds)
    return Reduction.of(problem).shrink(decisions).problem


def _gap(problem, variant, result, free, saturated) -> float:
    if variant != "as_printed":
        return result.certificate.gap
    alpha = np.where(saturated, problem.weights, 0.0)
    alpha[free] = result.alpha
    return problem.gap(result.w, 0.0, alpha)


def _separable(problem, w, radius, free) -> tuple[np.ndarray, np.ndarray]:
    """The paper's Lemma, without any allowance for rounding."""
    margins = problem.rows.take(free).margins(w)
    norms, rho = problem.rows.norms()[free], problem.radii[free]
    omega = problem.noise.shape.support(w)
    lipschitz = problem.noise.shape.lipschitz(problem.rows.d)
    return (
        margins - radius * norms - rho * (omega + radius * lipschitz),
        margins + radius * norms - rho * max(omega - radius * lipschitz, 0.0),
    )


def _solve_with_scs(problem: Problem, eps: float, iterations: int) -> ConicResult:
    options = PAPER_OPTIONS | {"eps_abs": eps, "eps_rel": eps, "max_iters": iterations}
    return solve_conic(problem, backend="scs", **options)
