"""Dual coordinate ascent for sparse and wide data, ℓ2 noise (theory §6.2).

    max D(α) = Σm_iα_i − ½[‖d‖ − s]_+² − (Σα_i y_i)²/(2λ_b),   0 ≤ α_i ≤ c_i,
    d = Σα_i z_i,  s = Σα_i ρ_i,   w(α) = (1 − s/‖d‖)_+ d

Work goes in rounds:

1. *Evaluate.* One product gives all margins, hence P, D and their gap on the whole
   (screened) problem. A second one gives d afresh when a certificate is due: to end, to
   screen, or to move the intercept.
2. *Screen.* Rows whose α is proven leave for good (`screening/`), once the gap promises
   to prove many and while enough work is left to repay the copy.
3. *Shrink.* Rows at the bound that the sign of their slack asks for rest until the next
   round; the others, the active set, are swept a few times in random order
   (`kernels/sweeps.pyx`).
4. *Accelerate.* If at the pace of the last round the tolerance is far away, the steps
   of `second_order.py` raise D along the directions in which sweeps are slow. With few
   features Newton's method on the active set ends the search.

An intercept is a proximal outer loop within the rounds: each works on P + ½λ(b − b⁰)²,
whose dual is the one above with λ_b + λ for λ_b and the constant λb⁰ added to Σα_i y_i,
and then moves b⁰ to its b. λ is such that b curves D no more than a typical row does: a
free or hardly penalised intercept ties all coordinates together, and sweeps would be
slow. Certificates and screening are those of the true problem, α being made feasible
first (theory §4.4).

Everything is decided by counts, never by clocks: the same seed gives the same answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from wideberth.kernels.sweeps import layout, sweep
from wideberth.problem import Certificate, DualPoint, Folded, Pair, PrimalPoint, Problem
from wideberth.problem.limits import EPS, LITTLE, MOST_STEPS
from wideberth.problem.rounding import accurate_sum
from wideberth.screening import Screener
from wideberth.solvers.base import Best, Control, Solver
from wideberth.solvers.cost import Cost
from wideberth.solvers.driver import solve_in_memory
from wideberth.solvers.newton import Newton, smoothing_pays
from wideberth.solvers.second_order import (
    DualIterate,
    inverse_penalty,
    maximise_block,
    newton_on_face,
)
from wideberth.solvers.shrinking import least_rows


@dataclass(frozen=True)
class CoordinateSettings:
    """How long to sweep, when to screen, and what is small.

    "Flat" says where the passes of `python -m benchmarks.coordinate` change by less
    than 5 % on average.

    Attributes
    ----------
    least_epochs : int
        Sweeps over the active set between two evaluations of all rows, at least; 1
        takes 1 % more passes on average, 4 takes 8 % fewer, and either takes up to 1.5
        times as many on single problems (`python -m benchmarks.coordinate`).
    call_entries : int
        Entries of X swept in one compiled call, which nothing can interrupt: a choice.
    least_screened : float
        Least share of rows that screening must decide to make a smaller copy worth
        while; flat from 0.1 to 0.5.
    block_rows : int
        Rows that are maximised over jointly, in the time of 4·150³ entries of a
        product; without them near-copies of opposite label stay unsolved.
    newton_size : int
        Largest number of rows or of features, whichever is less, at which Newton's
        method may take over: a choice that bounds the memory of its algebra at 18 MB;
        flat from 100 to 5000.
    """

    least_epochs: int = 2
    call_entries: int = 4_000_000
    least_screened: float = 0.5
    block_rows: int = 150
    newton_size: int = 1500


class Coordinate(Solver):
    """Dual coordinate ascent: for sparse and wide data, `l2` noise."""

    name = "coordinate"

    def __init__(self, settings: CoordinateSettings | None = None):
        self.settings = settings or CoordinateSettings()

    def supports(self, problem):
        """Euclidean noise."""
        if problem.noise.isotropic:
            return None
        return (
            f"The coordinate solver needs 'l2' noise, not {problem.noise.name!r}; use "
            "solver='newton' for per-feature scales, 'conic' for the other shapes."
        )

    def run(self, problem, control, start, decided):
        """Ascend from the dual weights of `start`, or from zero.

        Where sweeps turn out to be slow, Newton's method solves the problem instead.
        """
        ascent = _Ascent(problem, control, decided, self.settings)
        outcome = ascent.solve(None if start is None else start.dual.alpha)
        if not ascent.gave_up:
            return outcome
        return Newton().run(problem, control, None, decided)


#: Products with all rows in the time of a pass of the sweeps and of what goes with them
#: (`make bench-choice`).
_PASS = 2.5


class _Pace:
    """How many more epochs and rounds the gap needs at the pace of the last round."""

    def __init__(self):
        self.gap, self.epochs, self.left, self.known = math.inf, 0, math.inf, False
        self.rounds = math.inf

    def note(self, gap: float, goal: float) -> None:
        """Take in the gap after the epochs of a round."""
        self.known = math.isfinite(self.gap)
        fall = math.log(self.gap / gap) if self.known and 0 < gap < self.gap else 0.0
        self.left = self.epochs * math.log(gap / goal) / fall if fall else math.inf
        if gap <= goal:
            self.left = 0.0
        self.rounds = self.left / max(self.epochs, 1)
        self.gap, self.epochs = gap, 0


class _Intercept:
    """The proximal loop that keeps an intercept from tying all coordinates together."""

    def __init__(self, problem: Problem):
        self.penalty = problem.intercept or 0.0
        norms = problem.rows.norms()
        #: λ at which b curves D as a typical row does.
        self.typical = float(np.mean(norms[norms > 0] ** -2.0)) if norms.any() else 1.0
        #: Largest λ at which b can still move by 10 in one round.
        self.most = 0.1 * float(problem.weights.sum())
        self.center, self.shrinkage, self.relaxation = 0.0, 1.0, 1.0

    def proximal(self, problem: Problem) -> Problem:
        """The problem with λ(b − b⁰)²/2 added, as a penalty and a folded balance."""
        penalty = self.relaxation * min(self.typical / self.shrinkage, self.most)
        penalty = max(self.penalty, penalty)
        fold = problem.folded or Folded(np.zeros(problem.rows.d))
        balance = fold.balance + (penalty - self.penalty) * self.center
        fold = replace(fold, balance=balance)
        return replace(problem, intercept=penalty, folded=fold)

    def learn(self, b: float, dual: DualPoint, inner_gap: float, gap: float) -> None:
        """Move b⁰ to b; lower λ where it is what keeps the true gap open."""
        if inner_gap < LITTLE * gap:
            self.relaxation *= 0.3
        size = float(np.linalg.norm(dual.d))
        shrinkage = float(np.linalg.norm(dual.w)) / size if size else 1.0
        self.center, self.shrinkage = b, max(shrinkage, EPS)


class ActiveSet:
    """The active rows of a problem, ready to be swept: copied if few, else in place.

    `visited` are their places in `alpha`, which is a copy or the array of all rows.
    """

    def __init__(self, problem: Problem, active: np.ndarray, alpha: np.ndarray):
        self.norms, self.beta = problem.rows.norms(), inverse_penalty(problem)
        self.alpha, self.visited = alpha, active
        if 2 * active.size < problem.n:
            problem = problem.take(active)
            self.norms, self.alpha = self.norms[active], alpha[active]
            self.visited = np.arange(active.size)
        self.rows, self.targets = problem.rows, np.ascontiguousarray(problem.targets)
        self.weights = np.ascontiguousarray(problem.weights)
        self.radii = np.ascontiguousarray(problem.radii)

    def sweep(self, seeds: np.ndarray, at: DualIterate) -> None:
        """One epoch for every seed; updates `alpha`, and d, s and balance of `at`."""
        self.rows.passes.add(self.visited.size * seeds.size)
        at.s, at.balance = sweep(
            *layout(self.rows.X),
            self.rows.y,
            self.targets,
            self.weights,
            self.radii,
            self.norms,
            self.beta,
            self.visited,
            seeds,
            self.alpha,
            at.d,
            at.s,
            at.balance,
        )


class _Ascent:
    """The rounds; `inner` is the problem they work on, `at` the dual point there."""

    def __init__(
        self, problem: Problem, control: Control, decided, settings: CoordinateSettings
    ):
        self.full, self.control, self.settings = problem, control, settings
        self.screener = Screener(problem, control.screening, decided)
        self.intercept = None if problem.intercept is None else _Intercept(problem)
        self.pace = _Pace()
        self.smallest, self.idle = math.inf, 0  # gap, and rounds that did not lower it
        self.gave_up = False
        self.best = Best(self.screener)
        self.passes_before = problem.rows.passes.count  # of other points of a path

    def solve(self, init: np.ndarray | None) -> Pair:
        """Rounds until the gap of the full problem meets the tolerance."""
        self._start(init)
        while True:
            point, gap = self._look()
            if self._decisive(point, gap):
                outcome = self._certify(point, gap)
                gap = outcome.gap
                if self.best.certified(self.control.tol) or self.control.exhausted():
                    return self.best.finish()
                self._screen(outcome)
            self.pace.note(gap, 0.5 * self.control.tol * point.value)
            self.idle = 0 if gap < self.smallest else self.idle + 1
            self.smallest = min(gap, self.smallest)
            if self._newton_is_due() or self.idle > MOST_STEPS:
                self.gave_up = self._newton_may_finish()
                self._certify(*self._look())
                return self.best.finish()
            active, inside = self._active_set()
            if self._few_rows_may_finish(active):
                return self._finish(point, active)
            self._round(active, inside)

    def _start(self, init: np.ndarray | None) -> None:
        free = self.screener.reduction.free
        if init is not None:
            self._enter(np.clip(init, 0.0, self.full.weights)[free])
            return
        self._enter(np.zeros(free.size), np.zeros(self.full.rows.d))
        self._sweep(np.arange(free.size), self.settings.least_epochs)

    def _enter(self, alpha: np.ndarray, d: np.ndarray | None = None) -> None:
        """Go on with α on the problem as screened so far."""
        problem = self.screener.problem
        self.inner = problem
        if self.intercept is not None:
            self.inner = self.intercept.proximal(problem)
        self.at = DualIterate.of(self.inner, alpha, d)

    def _newton_may_finish(self) -> bool:
        """Whether the problem is small enough for Newton's dense algebra."""
        return min(self.full.n, self.full.rows.d) <= self.settings.newton_size

    def _few_rows_may_finish(self, active: np.ndarray) -> bool:
        """Whether Newton's method on the rows in doubt is quicker than to sweep on."""
        rows, n, cost = self.full.rows, self.full.n, Cost(self.full)
        if not (self.pace.known and n > rows.d <= self.settings.newton_size):
            return False
        if 2 * active.size > n:
            return False
        swept = self.inner.rows.entries(active)
        sweeping = cost.sweeps(swept, self.pace.left, self.pace.rounds)
        return sweeping > cost.newton(max(active.size, least_rows(self.full)))

    def _finish(self, point: PrimalPoint, active: np.ndarray) -> Pair:
        """Newton's method on the rows in doubt, from the point of the sweeps."""
        full, free = self.full, self.screener.reduction.free
        if free.size < full.n:
            point = full.at(point.w, point.b)
        doubtful = np.zeros(full.n, dtype=bool)
        doubtful[free[active]] = True
        return solve_in_memory(full, self.control, point, 0.0, doubtful)

    def _newton_is_due(self) -> bool:
        """Whether Newton's method would have been done by now."""
        cost, passes = Cost(self.full), self.full.rows.passes
        due = cost.newton_from_nothing(smoothing_pays(self.full))
        spent = (passes.count - self.passes_before) * _PASS * cost.product
        return self._newton_may_finish() and spent > due

    # -- certificates --------------------------------------------------------------

    def _look(self) -> tuple[PrimalPoint, float]:
        """The primal point of α, and the gap of the inner problem.

        One product: d is as the sweeps left it. Its rounding moves w by next to nothing
        and proves nothing wrong, for any w will do.
        """
        problem, at = self.screener.problem, self.at
        point = problem.at(problem.noise.shape.prox(at.d, at.s))
        self.b = inverse_penalty(self.inner) * at.balance
        self.slack = point.slack + problem.y * (point.b - self.b)
        # With (w, b) those of α the gap is complementarity alone (theory §6.1).
        hinge = problem.weights * np.maximum(self.slack, 0.0)
        return point, accurate_sum(hinge - at.alpha * self.slack)

    def _decisive(self, point: PrimalPoint, gap: float) -> bool:
        """Whether a certificate is due: to end, to screen, or to move b⁰.

        Where it is not the gap is noted as it is, and who hears of it may ask to end.
        """
        if self.intercept is not None or gap <= self.control.tol * point.value:
            return True
        if self.screener.promises(point, gap, *self._worth_screening()):
            return True
        nearly = Certificate(point.value, point.value - gap, point.rounding)
        self._note(nearly)
        return self.control.exhausted()

    def _note(self, certificate: Certificate) -> None:
        passes = self.full.rows.passes.count
        self.control.record(passes, certificate, self.screener.counts)

    def _certify(self, point: PrimalPoint, inner_gap: float) -> Pair:
        """Evaluate α on the screened problem, d afresh; note the gap."""
        problem, alpha = self.screener.problem, self.at.alpha
        dual = problem.dual_at(alpha)
        if self.intercept is not None:
            self.intercept.learn(self.b, dual, inner_gap, point.value - dual.value)
        self._enter(alpha, dual.d.copy() if dual.alpha is alpha else None)
        # A copy, for sweeps go on in the array itself.
        outcome = Pair(point, replace(dual, alpha=dual.alpha.copy()))
        self._note(outcome.certificate)
        self.best.keep(outcome)
        return outcome

    # -- one round -----------------------------------------------------------------

    def _worth_screening(self) -> tuple[float, float]:
        """Least share of rows to decide, and products with all rows that are ahead.

        A round has one to look, and one to certify where b⁰ moves.
        """
        products = 1 if self.intercept is None else 2
        ahead = products * self.pace.rounds if self.pace.known else 0.0
        return self.settings.least_screened, ahead

    def _screen(self, outcome: Pair) -> None:
        kept = self.screener.update(outcome, *self._worth_screening())
        if kept is not None:
            self.slack = self.slack[kept]
            self._enter(self.at.alpha[kept])

    def _round(self, active: np.ndarray, inside: np.ndarray) -> None:
        """Sweep the rows in doubt; accelerate where that would take too long."""
        inner = self.inner
        entries = max(inner.rows.entries(active), 1)
        # Two products with all rows, to look and to certify, stay a third of sweeping.
        least = self.settings.least_epochs
        epochs = max(2 * self.full.rows.entries() / entries, 2 * least)
        epochs = max(min(epochs, self.pace.left), least)
        moves = self._sweep(active, int(epochs))
        # In entries of a product: sweeping one takes 3, a step on the face about 100
        # products with its rows, a block 4·(its rows)³ (measured on news20).
        inside_entries = inner.rows.entries(np.flatnonzero(inside))
        second_order = 100 * inside_entries + 4 * self.settings.block_rows**3
        sweeping = 3 * entries * self.pace.left
        if self.pace.known and sweeping > second_order:
            self._accelerate(active, moves)

    def _active_set(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows whose bound is in doubt, or soon may be; a mask of those at none."""
        alpha, weights = self.at.alpha, self.inner.weights
        inside = (alpha > 0) & (alpha < weights)
        wrong = np.where(self.slack > 0, alpha < weights, alpha > 0)
        doubtful = inside | wrong
        # Rows as near to the margin as the doubtful ones are off may soon join them.
        typical = self.slack[doubtful]
        near = math.sqrt(float(typical @ typical) / max(typical.size, 1))
        return np.flatnonzero(doubtful | (np.abs(self.slack) <= near)), inside

    def _sweep(self, active: np.ndarray, epochs: int) -> np.ndarray:
        """Sweep the active set; return how far each row moved w in the last epoch."""
        part, at = ActiveSet(self.inner, active, self.at.alpha), self.at
        before = part.alpha
        # Many epochs a call where they are short: calls have a cost of their own.
        entries = epochs * self.inner.rows.entries(active)
        calls = min(max(entries // self.settings.call_entries, 1), epochs)
        drawn = self.control.rng.integers(2**63, size=epochs, dtype=np.uint64)
        for seeds in np.array_split(drawn, calls):
            seeds = seeds[: self.control.max_iter - self.control.steps]
            if self.control.exhausted():
                break
            part.sweep(seeds[:-1], at)
            before = part.alpha.copy()
            part.sweep(seeds[-1:], at)
            self.pace.epochs += seeds.size
            self.control.steps += seeds.size
        at.alpha[active] = part.alpha[part.visited]
        return (np.abs(part.alpha - before) * part.norms)[part.visited]

    def _accelerate(self, active: np.ndarray, moves: np.ndarray) -> None:
        """A Newton step on the face; if it is cut short, D over the fastest rows."""
        new, cut_short = newton_on_face(self.inner, self.at)
        self.at = new or self.at
        if not cut_short:
            return
        if active.size > 1:
            fastest = np.argsort(-moves)[: self.settings.block_rows]
            block = np.sort(active[fastest])
            self.at = maximise_block(self.inner, self.at, block) or self.at
        self._sweep(active, self.settings.least_epochs)
