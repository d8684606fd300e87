"""Compiled code for programs that solve many small problems.

Small problems cost NumPy's calls, not arithmetic. `mehrotra.py` takes Newton's steps in
a fifth of the time or less, and `nearest_rows.py` takes them on the few rows near the
margin, where slacks are about known: from the points before on a path, or from a few
sweeps of `kernels/sweeps.pyx`. Where weights are small those sweeps get to the optimum
themselves. All that is quick once numba is loaded and has its code: some tenths of a
second in every process, half a minute the first time on a machine. Whether that pays
depends on how many problems there are. It must not depend on what a process did before,
such as the number of its solves or whether numba is loaded: the same call gives the
same bits whenever it is made, in whatever thread and in however many workers, and the
engines agree within the tolerance alone. So the choice follows from the call. Where it
is about many small problems, as those of folds, of points of a path and of classes are,
it takes the compiled engine; any other call does where solver="compiled" says so.

Nothing here is trusted: what comes back is evaluated on the problem as given, and where
it falls short the next engine goes on, in the end that of `driver.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wideberth.kernels.sweeps import ascend, layout
from wideberth.problem import Problem
from wideberth.problem.arrays import is_foreign
from wideberth.problem.limits import (
    CACHED_ENTRIES,
    FEW_FEATURES,
    LEAST_EPOCHS,
    LITTLE,
    MOST_STEPS,
    QUICK_GRAM,
)
from wideberth.screening import Partition, Screener
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.extended_rows import ExtendedRows
from wideberth.solvers.newton.settings import SETTINGS, STEP_PRODUCTS

if TYPE_CHECKING:
    from wideberth.solvers.starts import WarmStart

#: Number of problems in one call from which on compiled code is loaded, as searches
#: have them. That takes 0.4 s, half a minute where it was never compiled, and spares 3
#: to 9 ms a problem (wine, breast cancer, digits).
MANY_PROBLEMS = 50
#: Number of passes after which sweeps are given up: Newton's steps would have taken
#: about as long (flat from 15 to 40 on wine, breast cancer and digits).
_MOST_PASSES = 25
#: Rows that steps are taken on for each that sweeps leave off its bound: rows as near
#: to the margin may still cross it (at 1 a search on Spambase reads a seventh more
#: rows, at 3 searches on wine and digits a tenth more).
_IN_DOUBT = 2


def is_small(problem: Problem) -> bool:
    """Whether the compiled engine takes the problem: calls cost more than products."""
    n, d = problem.n, problem.rows.d
    if not problem.noise.proportional or d > FEW_FEATURES or n > SETTINGS.direct_rows:
        return False
    shape = problem.noise.shape
    known = shape.dual_order in (1.0, 2.0) and hasattr(shape, "scales")
    little = n * d <= CACHED_ENTRIES and n * d * d <= QUICK_GRAM
    return known and little and not is_foreign(problem.y)


class Guess(NamedTuple):
    """What is about known of a solution: dual weights, slacks and intercept.

    And how many rows nearest to the margin may hold all on its wrong side.
    """

    alpha: np.ndarray
    slack: np.ndarray
    b: float
    enough: int = 0

    @classmethod
    def of(cls, start: WarmStart | None) -> Guess | None:
        """That of a start."""
        if start is None:
            return None
        rows = start.rows if isinstance(start.rows, int) else 0
        return cls(start.alpha, start.point.slack, start.point.b, rows)


def solve_small(
    problem: Problem,
    control: Control,
    guess: Guess | None = None,
    decided: Partition | None = None,
    extended: ExtendedRows | None = None,
) -> Outcome | None:
    """Solve by compiled code; None where it does not get to the tolerance.

    Nor is it tried under a limit of so few steps that it might have to stop at it.
    Sweeps that do not get there tell about the slacks that steps begin with. `extended`
    may be the rows of the problem as steps take them.
    """
    found = None
    if _room(control) >= MOST_STEPS and _can_be_swept(problem):
        quick = _sweeps_are_quick(problem)
        few = _few(problem) <= SETTINGS.near_share * problem.n
        if quick or (guess is None and few):  # guesses without a start take rounds
            found, guess = _by_sweeps(problem, control, guess, quick)
    if found is None and _room(control) >= MOST_STEPS:
        found = _by_steps(problem, control, guess, decided, extended)
    return found


def _room(control: Control) -> int:
    """How many steps are still allowed."""
    return 0 if control.exhausted() else control.max_iter - control.steps


def _proven(problem: Problem, control: Control, found: Outcome, counts):
    """What was found, where it proves the tolerance."""
    control.record(problem.rows.passes.count, found.certificate, counts)
    return found if found.proves(control.tol) else None


def _can_be_swept(problem: Problem) -> bool:
    """Whether sweeps know the noise."""
    plain = problem.folded is None and problem.penalty == 0
    return plain and problem.noise.isotropic


def _sweeps_are_quick(problem: Problem) -> bool:
    """Whether sweeps over the samples tell more than a path does, and sooner.

    The passes that sweeps take grow with Σc_i‖z_i‖²/d, the time of a step with d.
    """
    norms = problem.rows.norms()
    return float(problem.weights @ (norms * norms)) <= problem.rows.d**2


def _by_sweeps(problem: Problem, control: Control, guess: Guess | None, quick: bool):
    """The optimum by coordinate ascent, or None, and what is known after it.

    It begins with the dual weights of `guess`, or with 0. Where it is not `quick`, or
    the intercept makes it slow, it ends after the first look, or the second one.
    """
    weights, penalty = np.array(problem.weights), _penalty(problem)
    alpha, slack, b = np.zeros(problem.n), np.empty(problem.n), 0.0
    if guess is not None:
        np.minimum(guess.alpha, weights, out=alpha)
        b = guess.b
    slow = problem.intercept is not None and problem.intercept < penalty
    most = _MOST_PASSES
    if slow or not quick:
        most = 2 * LEAST_EPOCHS if guess is None else 0
    sweeps, read, met = ascend(
        *layout(problem.rows.X),
        problem.y,
        np.ones(problem.n),
        weights,
        np.array(problem.radii),
        problem.rows.norms(),
        penalty,
        penalty * b if slow else 0.0,
        alpha,
        np.empty(problem.rows.d),
        slack,
        (1 - LITTLE) * control.tol,
        LEAST_EPOCHS,
        most,
        _room(control),
    )
    control.steps += sweeps
    problem.rows.passes.add(read)
    if slow or not met:
        enough = _IN_DOUBT * _off_bounds(alpha, weights, slack)
        return None, Guess(alpha, slack, b, enough)
    dual = problem.dual_at(alpha)
    found = Outcome(problem.at(dual.w, dual.b if problem.intercept else None), dual)
    found = _proven(problem, control, found, (problem.n, 0, 0))
    return found, Guess(alpha, slack, b)


def _off_bounds(alpha: np.ndarray, weights: np.ndarray, slack: np.ndarray) -> int:
    """Number of rows that are off the bound where their slack wants them."""
    return int(np.count_nonzero(np.where(slack > 0, alpha < weights, alpha > 0)))


def _few(problem: Problem) -> int:
    """Rows that steps are taken on at least, those nearest to the margin."""
    return SETTINGS.rows_per_feature * problem.rows.d


def _penalty(problem: Problem) -> float:
    """λ_b, or λ in its place: b is to curve D no more than a usual row does."""
    if problem.intercept is None:
        return -1.0
    norms = problem.rows.norms()
    used = norms[norms > 0]
    usual = float(np.mean(1.0 / (used * used))) if used.size else 1.0
    usual = min(usual, LITTLE * float(problem.weights.sum()))
    return max(usual, problem.intercept)


def _by_steps(
    problem: Problem,
    control: Control,
    guess: Guess | None,
    decided: Partition | None,
    extended: ExtendedRows | None,
):
    """The optimum by interior-point steps, from about known slacks if there are any."""
    screener, small, counts = None, problem, (problem.n, 0, 0)
    if decided is not None or not problem.weights.all():
        screener = Screener(problem, None, decided)
        small, counts = screener.problem, screener.counts
        guess = extended = None
    if small.n == 0:
        return None
    x, alpha, steps, reached = _minimised(small, 0.5 * control.tol, guess, extended)
    control.steps += steps
    if not reached:
        return None
    b = float(x[-1]) if problem.intercept is not None else None
    alpha = alpha if screener is None else screener.reduction.unfold(alpha)
    found = Outcome(problem.at(x[: problem.rows.d], b), problem.dual_at(alpha))
    return _proven(problem, control, found, counts)


def _minimised(
    problem: Problem,
    goal: float,
    guess: Guess | None = None,
    extended: ExtendedRows | None = None,
) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """x, α, steps taken and whether they led to the relative gap `goal`."""
    from wideberth.solvers.compiled import mehrotra, nearest_rows  # loads numba

    extended = extended or ExtendedRows.of(problem)
    noise, kind = problem.noise.shape, mehrotra.NONE
    if extended.noisy:
        kind = mehrotra.BOX if noise.dual_order == 1 else mehrotra.ROUND
        kind = mehrotra.SPHERE if noise.isotropic else kind
    n, weights, scales = problem.n, np.array(problem.weights), np.empty(problem.rows.d)
    scales[:] = noise.scales
    x, share, steps, read, gap = nearest_rows.minimise_nearest(
        extended.table,
        weights,
        extended.penalty,
        extended.folded,
        0.0 if problem.folded is None else float(problem.folded.total),
        scales,
        kind,
        -1 if problem.intercept is None else extended.penalty.size - 1,
        goal,
        MOST_STEPS,
        (SETTINGS.start_inside, SETTINGS.least_distance, SETTINGS.to_boundary),
        np.zeros(n) if guess is None else np.array(guess.slack),
        n if guess is None else max(_few(problem), guess.enough),
        int(SETTINGS.copy_share * n),
    )
    problem.rows.passes.add(STEP_PRODUCTS * read)
    return x, weights * share, steps, gap <= goal
