"""Second attempts, where the usual solvers end without a proof.

Two things defeat them, both of weights c_i out of all proportion:

* *Weights that span many orders.* The engine of `interior.py` keeps (1−a_i)p_i and
  a_iq_i, a_i = α_i/c_i, near one μ: its barrier weighs sample i by c_i, and those of
  little weight, which nothing holds back from their bounds, cut its steps short.
  `EvenBarrier` keeps the products of α_i itself near one μ, as textbooks do: slower
  where weights are alike, indifferent to their span.
* *Weights beyond any use.* Where the optimum has α_i < c_i for the largest ones, they
  may as well be smaller: a problem of lower weights has the same solution, and its dual
  point is feasible for the original. Points found this way are evaluated under the
  original weights, so nothing is taken on trust.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from wideberth.problem import Problem
from wideberth.problem.noise import L2
from wideberth.problem.presolve import USUAL
from wideberth.problem.rows import DenseRows
from wideberth.screening import Screener
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.conic import ConicError, solve_conic
from wideberth.solvers.interior import InteriorPoint, Start
from wideberth.solvers.newton import ridge_start
from wideberth.solvers.polish import best_of, polished

__all__ = ["EvenBarrier", "affordable", "attempt", "rescued"]

#: c_i‖z_i‖² up to which a solver is handed the weights as they are.
_BEARABLE = 1e30
#: Largest c_i‖z_i‖² that second attempts lower the weights to, one after the other.
_EASIER = (1e16, 1e12, 1e8, 1e5)
#: The same in second attempts of the conic solver, below what it bears at first.
_CONIC_EASIER = (1e7, 1e5)
#: Cost of the engine's algebra, n·d², up to which second attempts are made.
_AFFORDABLE = 2e7
_MOST_STEPS = 100


class EvenBarrier(InteriorPoint):
    """The interior-point method with the products α_ip_i and (c_i−α_i)q_i kept even."""

    @property
    def _relative(self) -> np.ndarray:
        return self.c / float(self.c.mean())

    @property
    def mu(self):
        product = float(np.vdot(self.room * self._relative, self.force))
        return max(product, 1e-300) / max(2 * self.problem.n, 1)

    def _aims(self, target):
        return target / self._relative

    def _centering(self, move, length, mu):
        _, d_room, d_force, _ = move
        room, force = self.room + length * d_room, self.force + length * d_force
        ahead = float(np.vdot(room * self._relative, force))
        return min(max(ahead / (2 * max(self.problem.n, 1) * mu), 0.0), 1.0) ** 3


def eased(problem: Problem, most: float) -> Problem:
    """The problem with no c_i‖z_i‖² beyond `most`; the same object if none is."""
    heaviest = float(problem.weights.max(initial=0.0))
    if heaviest * problem.rows.d * USUAL**2 <= most:
        return problem  # as entries of X go here (`_units.py`); spares a pass
    largest = float(problem.rows.norms().max(initial=0.0))
    cap = most / largest / largest if largest > 0 else np.inf
    if heaviest <= cap:
        return problem
    return problem.with_weights(np.minimum(problem.weights, cap))


def attempt(
    problem: Problem, solver: Callable[[Problem], Outcome], most: float = _BEARABLE
) -> Outcome:
    """What a solver finds where weights are lowered to what it can bear, `most`.

    Where arithmetic itself fails it is w = 0 and α = 0, which prove nothing but harm
    nobody.
    """
    easier = eased(problem, most)
    try:
        found = solver(easier)
    except (
        OverflowError,
        FloatingPointError,
        np.linalg.LinAlgError,
        ConicError,
    ):
        return Outcome(
            problem.at(np.zeros(problem.rows.d)), problem.dual_at(np.zeros(problem.n))
        )
    if easier is problem:
        return found
    point, alpha = found.point, found.dual.alpha
    return Outcome(problem.at(point.w, point.b), problem.dual_at(alpha))


def affordable(problem: Problem) -> bool:
    """Whether the problem is small enough for second attempts."""
    return problem.n * min(problem.rows.d, problem.n) ** 2 <= _AFFORDABLE


def rescued(problem: Problem, control: Control, found: Outcome) -> Outcome:
    """The best of `found` and of second attempts, tried until one proves `tol`."""
    if not affordable(problem):
        return found
    for attempt in _attempts(problem, control):
        found = best_of([found, polished(problem, attempt, control.tol)])
        if found.certificate.proves(control.tol):
            break
    return found


def _attempts(problem: Problem, control: Control) -> Iterator[Outcome]:
    if not _feels_noise(problem):  # then all shapes are alike
        problem = replace(problem, noise=L2())
    if not problem.noise.smooth:
        yield from _by_cones(problem, control)
        return
    if problem.intercept == 0 and problem.n * problem.rows.d <= _AFFORDABLE:
        yield from _tried(problem, _centred(problem), control, EvenBarrier)
    tried = None
    for most in (_BEARABLE, *_EASIER):
        easier = eased(problem, most)
        if tried is not None and easier is tried:
            continue
        tried = easier
        for engine in (EvenBarrier, InteriorPoint):
            if control.exhausted():
                return
            yield from _tried(problem, easier, control, engine)


def _feels_noise(problem: Problem) -> bool:
    fold = problem.folded
    return bool(problem.radii.any()) or (fold is not None and fold.s > 0)


def _by_cones(problem: Problem, control: Control) -> Iterator[Outcome]:
    """The conic solver under lower weights, and with the objective per weight.

    Lower weights where α_i < c_i at the optimum; where samples saturate under weights
    beyond any use, Σ(c_i/c)ξ_i with c = max c_i is what there is to minimise.
    """
    heaviest = float(problem.weights.max(initial=0.0))
    tries = [(eased(problem, most), 1.0) for most in _CONIC_EASIER]
    for easier, unit in [*tries, (problem, heaviest)]:
        if control.exhausted():
            return
        try:
            result = solve_conic(easier, unit=unit)
        except (ConicError, ImportError):
            continue
        control.steps += result.n_iter
        yield Outcome(problem.at(result.w, result.b), problem.dual_at(result.alpha))


def _centred(problem: Problem) -> Problem:
    """The problem with columns of mean 0, where a free intercept makes up for it.

    The same w and α in exact arithmetic, and far better conditioned where columns
    hardly vary: dates, or anything constant.
    """
    X = problem.rows.X
    X = X.toarray() if sp.issparse(X) else X
    means = X.mean(axis=0, dtype=np.float64)
    rows, fold = DenseRows(X - means, problem.y, problem.rows.passes), problem.folded
    if fold is not None:  # Σc_iy_i(x_i − means)
        fold = replace(fold, d=fold.d - fold.balance * means)
    return replace(problem, rows=rows, folded=fold)


def _tried(problem: Problem, other: Problem, control: Control, engine):
    """What an engine finds on another form of the problem, if it is finite."""
    with np.errstate(all="ignore"):  # what comes of it is checked
        try:
            w, alpha = _run(other, control, engine)
        except (ArithmeticError, np.linalg.LinAlgError):
            return
        if np.isfinite(w).all() and np.isfinite(alpha).all():
            yield Outcome(problem.at(w), problem.dual_at(alpha))


def _run(problem: Problem, control: Control, engine) -> tuple:
    """(w, α) by one run of an engine on the samples of positive weight."""
    screener, expand = Screener(problem, None), None
    small = screener.problem
    # Folded samples may pull out of the span of the rows that are left.
    wide = small.n < small.rows.d and small.folded is None
    if wide and small.noise.isotropic:
        coordinates, expand = small.rows.rotated()
        small = replace(small, rows=DenseRows(coordinates, small.y))
    start = ridge_start(small)
    if not np.isfinite(start.margins).all():
        nothing = np.zeros(small.n)
        start = Start(np.zeros(small.rows.d), 0.0, nothing, nothing + 0.5)
    method = engine(small, start)
    best = method.w, method.alpha
    smallest = np.inf
    for _ in range(_MOST_STEPS):
        if control.exhausted() or method.relative_gap <= 1e-3 * control.target:
            break
        control.steps += 1
        if not method.step():
            break
        if method.relative_gap < smallest:
            smallest, best = method.relative_gap, (method.w, method.alpha)
    w, alpha = best
    w = w if expand is None else expand(w)
    return w, screener.reduction.unfold(alpha)
