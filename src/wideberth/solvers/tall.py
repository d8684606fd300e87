"""Few reads of data that cannot be held: sample, look, solve what is near, look again.

1. The first look takes a sample of all rows. Its solution, with C scaled up, is off by
   a sampling error that `SamplingError` estimates for every row.
2. The next look hands over the rows that this error may carry across the margin, and
   folds the others at the bound they are at (theory §3). The problem on those rows is
   solved in memory. If they are too many, a sample of them stands for all: the settled
   rows are summed exactly, so the error shrinks with the band, and so does the band.
3. The dual point of step 2 is feasible for the whole problem and its value exact, so
   the look after it, which evaluates the primal, proves the gap. That look hands over
   the rows that crossed or may still cross: if the gap is not small enough they are
   the next working set, and no read was wasted.

Three reads are typical, whatever the number of rows. `Settle` is one more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from wideberth.data.chunks import DataError, Terms
from wideberth.data.sources import Source
from wideberth.problem import Certificate, DualPoint, Pair, PrimalPoint, Problem
from wideberth.problem.arrays import concat, host, is_foreign, like, namespace
from wideberth.problem.endpoints import null_certificate
from wideberth.problem.limits import LITTLE, TINY
from wideberth.problem.rows import as_rows, gamma
from wideberth.screening import null_point
from wideberth.screening.regions import Region, build_region
from wideberth.solvers.attempts import affordable, prove
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.newton import solve_gathered, solve_whole
from wideberth.solvers.passes import Aggregate, Look, Settle
from wideberth.solvers.subsample import SamplingError, sample_size
from wideberth.solvers.work import Work

__all__ = ["TallOutcome", "solve_tall"]

#: Widths to choose a band of rows from, as shares of that of `SamplingError`, which is
#: five standard deviations: a choice, of which the least that costs little is taken.
_CAUTIONS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.3)
#: Number of rows of a sample that tell what a band costs and holds: a choice, by which
#: both are known to about one in a hundred.
_POLLED = 20_000
#: Width of the band where a sample of the rows inside has to do: a choice.
_MOST_OF_SAMPLE = 0.4
#: Rows of the data per row of memory up to which groups of rows stand for them well
#: (`python -m benchmarks.caps`: 5 to 8 reads at 15; Gaussian rows fail at 30).
_MOST_PER_ROW = 20
#: Number of rounds without a smaller gap after which a run is given up: a choice.
_PATIENCE = 6
#: Number of reads after which a run is given up: a choice; those that converge take 4
#: to 39 (`python -m benchmarks.caps`).
_MOST_READS = 40
#: Factor by which a band may be made wider than planned: a choice, beyond any use.
_WIDEST = 1e9
#: Number of steps on the rows in memory after which another read says more: a choice.
_MOST_STEPS = 300


@dataclass(frozen=True)
class TallOutcome:
    """A point with its proof; per-row arrays where there is memory for them."""

    w: np.ndarray
    b: float
    certificate: Certificate
    reads: int
    tight: bool
    noisy: bool  # whether the dual point feels any noise
    alpha: Any
    removed: Any
    saturated: Any


@dataclass(frozen=True)
class _Proof:
    """A dual point of the whole problem: where rows were settled, and the rest."""

    dual: DualPoint
    rule: tuple[np.ndarray, float]
    members: dict[int, tuple[Any, Any]]
    shares: Any = (1.0, 1.0)  # of the weight, where y > 0 and where y < 0


def solve_tall(
    source: Source,
    terms: Terms,
    control: Control,
    *,
    screen: bool = True,
    random_state=None,
) -> TallOutcome:
    """Solve to `control.tol` with few reads of the source."""
    return _Tall(source, terms, control, random_state).solve(screen)


class _Tall:
    """The run: looks at the source, and solves on what they hand over."""

    def __init__(self, source: Source, terms: Terms, control: Control, random_state):
        self.source, self.terms, self.control = source, terms, control
        self.rng = np.random.default_rng(random_state)
        self.capacity = source.capacity()
        self.reads, self.n = 0, 0
        self.point: PrimalPoint = None  # type: ignore[assignment]  # the lowest so far
        self.null: PrimalPoint = None  # type: ignore[assignment]  # w = 0, best b
        self.proof: _Proof | None = None
        self.tight = False  # given up for want of memory
        self.groups_help = True
        self.aggregate: Aggregate | None = None  # once rows near the margin do not fit

    def solve(self, screen: bool) -> TallOutcome:
        """Solve, then say what is proven of the rows."""
        self._search()
        return self._finish(screen)

    def _search(self) -> None:
        """Rounds until the gap of the whole problem meets the tolerance."""
        w, b = np.zeros(self.terms.d), 0.0
        chance = 1.0
        if self.source.n:
            chance = min(1.0, self._sample_size(self.source.n) / self.source.n)
        work = self._look(Look(self.terms, w, b, chance=chance, first=True))
        self.n = work.n
        _check_classes(work)
        if self._is_null(work):
            return
        self._note(work, w, b)
        smallest, idle, narrow, exact = np.inf, 0, 1.0, False
        while True:
            solved = work.exact
            found, look = self._round(work, w, b, narrow * 3.0**idle, exact)
            work = self._look(look)
            w, b = found.point.w, found.point.b
            exact, full = look.band is None, not work.exact and look.chance == 1.0
            narrow = 0.3 * narrow if full else 1.0
            self._note(work, w, b)
            proof = self._certificate()
            if proof.meets(self.control.tol) or self.control.exhausted():
                return
            gap = proof.gap
            if solved:
                idle = 0 if gap < (1 - LITTLE) * smallest else idle + 1
                smallest = min(smallest, gap)
            if idle and self.aggregate is not None:
                # Groups are too coarse here: back to samples.
                self.groups_help, self.aggregate, idle = False, None, 0
            if idle > _PATIENCE or self.reads > _MOST_READS:
                self.tight = not work.exact
                return
            work = self._enough(work, look)

    def _sample_size(self, n: int) -> int:
        """As many rows as their sampling error will leave near the margin, roughly."""
        balanced = sample_size(n, self.terms.d)
        return min(self.capacity, max(balanced, 50 * self.terms.d, 2000))

    def _look(self, look: Look) -> Work:
        """One read of everything."""
        self.reads += 1
        work = Work(self.terms, self.capacity, look.seed, look.aggregate)
        for answer in self.source.map(look):
            work.add(answer)
        return work

    def _enough(self, work: Work, look: Look) -> Work:
        """Look again, wider, while too few rows are handed over to go on with."""
        least = min(work.n, 2 * self.terms.d + 50)

        def few() -> bool:
            return (work.exact and work.rows < least) or not work.balances()

        while few() and look.wider < _WIDEST:
            look = replace(look, wider=30 * look.wider)
            work = self._look(look)
        return work

    def _round(
        self, work: Work, w, b, wider: float, again: bool
    ) -> tuple[Outcome, Look]:
        """Solve what a look handed over; say what to look at next."""
        problem, exact, first = work.problem(), work.exact, self.reads == 1
        tol = 0.15 * self.control.tol
        if first and not exact:  # as exact as the sampling error deserves
            tol = 0.02 * self.terms.d / problem.n
        if work.grouped:  # as exact as the groups deserve
            tol = max(tol, min(0.05 * self._certificate().relative_gap, 1e-3))
        most = min(self.control.steps + _MOST_STEPS, self.control.max_iter)
        inner = replace(self.control, tol=tol, max_iter=most, callback=None, trace=[])
        if work.grouped:
            found = solve_whole(problem, inner)
        else:
            start = None if first else (w, b)
            seed = int(self.rng.integers(2**31)) if first else None
            found = solve_gathered(problem, inner, start, seed)
        if exact or not found.meets(LITTLE):
            inner.max_iter = self.control.max_iter
            found = _solve_again(problem, inner, found)
        self.control.steps = inner.steps
        look = Look(
            self.terms,
            found.point.w,
            found.point.b,
            before=None if first else (w, b),
            wider=wider,
            seed=self.reads,
            aggregate=self.aggregate,
        )
        if exact:
            self._prove(work, found.dual, (w, b))
            if first:  # everything was solved at once: it is there, or nearly
                look = replace(look, before=(look.w, look.b))
            again = again and not work.grouped
            return found, replace(look, pinned=work.members if again else None)
        settled = work.settled(problem)
        if settled is not None:  # a point, if not a good one
            xp = namespace(settled.weights)
            alpha = xp.minimum(found.dual.alpha, settled.weights)
            self._prove(work, settled.dual_at(alpha), (w, b))
        points = 16 if is_foreign(problem.y) else 6
        error = SamplingError(problem, found.point, 1 - work.chance, self.rng, points)
        poll = _Poll(problem, found.point, error, work.chance)
        tolerable = LITTLE * self.control.tol * found.point.value
        caution, near = poll.caution(tolerable)
        if near > (1 - LITTLE) * self.capacity:
            # Another sample: the narrower the band, the smaller the next error.
            look = replace(look, before=None)
            dense = isinstance(problem.rows.X, np.ndarray)
            if dense and self.groups_help and self.n <= _MOST_PER_ROW * self.capacity:
                self.aggregate = self._aggregate()
                return found, replace(look, band=error, aggregate=self.aggregate)
            caution, near = poll.caution(np.inf, _MOST_OF_SAMPLE)
        chance = min(1.0, (1 - LITTLE) * self.capacity / max(near, 1.0))
        return found, replace(look, band=error, caution=caution, chance=chance)

    def _aggregate(self) -> Aggregate:
        """Half of the room for single rows, a quarter for groups.

        All are in float64, and solved as a whole: two copies do.
        """
        labels = self.source.spares(14 * self.n)
        capacity = min(self.source.capacity(2, 8 * self.terms.d), self.capacity)
        return Aggregate(capacity // 2, 0.25 * capacity / self.n, labels)

    def _prove(self, work: Work, dual: DualPoint, rule) -> None:
        """Keep a dual point of the whole problem if it is the best, and above α = 0."""
        if dual.value > (0.0 if self.proof is None else self.proof.dual.value):
            self.proof = _Proof(dual, rule, work.split(dual.alpha))

    def _note(self, work: Work, w, b) -> None:
        """Keep the point of a look if it is the best, and report."""
        hinge, rounding = work.loss()
        quadratic = 0.5 * float(w @ w) + 0.5 * (self.terms.intercept or 0.0) * b * b
        none = np.empty(0)
        omega, value = self.terms.noise.support(w), hinge + quadratic
        point = PrimalPoint(w, b, none, omega, none, hinge, value, rounding)
        if self.point is None or point.value < self.point.value:
            self.point = point
        if self._null_is_optimal():
            self.point = self.null
        saturated = 0 if work.fold is None else work.fold.n
        counts = (work.rows, saturated, max(work.n - work.rows - saturated, 0))
        self.control.record(float(self.reads), self._certificate(), counts)

    def _certificate(self) -> Certificate:
        """The best primal and the best dual value; α = 0 has the value 0."""
        dual = None if self.proof is None else self.proof.dual
        value, rounding = (0.0, 0.0) if dual is None else (dual.value, dual.rounding)
        point = self.point
        return Certificate(point.value, value, point.rounding + rounding)

    def _is_null(self, work: Work) -> bool:
        """Take the null model, if the closed form proves it (see `endpoints`)."""
        problem, none = work.classes_as_rows(), np.empty(0)
        point = null_point(problem)
        assert problem.folded is not None
        error = gamma(problem.folded.chain + 16) * point.value  # no term is negative
        self.null = replace(point, margins=none, slack=none, rounding=error)
        alpha = null_certificate(problem)
        if alpha is None:
            return False
        if not alpha.any():  # nothing is summed
            problem = replace(problem, folded=None)
        share = alpha / np.where(problem.weights > 0, problem.weights, 1.0)
        rule, shares = (point.w, 0.0), np.broadcast_to(share, 2)
        self.point = self.null
        self.proof = _Proof(problem.dual_at(alpha), rule, {}, shares)
        proof = self._certificate()
        if not proof.meets(self.control.tol):
            self.point, self.proof = None, None  # type: ignore[assignment]
            return False
        self.control.record(float(self.reads), proof, (0, self.n, 0))
        return True

    def _null_is_optimal(self) -> bool:
        """Whether the dual point has w(α) = 0 and proves the null model (theory §2)."""
        if self.proof is None or self.proof.dual.w.any():
            return False
        null, dual = self.null, self.proof.dual
        rounding = null.rounding + dual.rounding
        return Certificate(null.value, dual.value, rounding).meets(self.control.tol)

    def _finish(self, screen: bool) -> TallOutcome:
        """Say what the certificate proves of the rows, where there is room for it."""
        arrays, proof, parts = self.source.spares(10 * self.n), self.proof, []
        if proof is not None and (screen or arrays):
            settle = Settle(
                self.terms,
                self._ball(proof.dual) if screen else None,
                proof.rule,
                proof.shares,
                proof.members,
                arrays,
            )
            self.reads += 1
            parts = list(self.source.map(settle))
            counts = [sum(part.counts[k] for part in parts) for k in range(2)]
            counts = [self.n - sum(counts), *counts]
            self.control.record(float(self.reads), self._certificate(), counts)
        alpha, removed, saturated = (
            concat([getattr(part, name) for part in parts])
            if parts and arrays
            else None
            for name in ("alpha", "removed", "saturated")
        )
        return TallOutcome(
            self.point.w,
            self.point.b,
            self._certificate(),
            self.reads,
            self.tight,
            proof is not None and proof.dual.s > 0,
            alpha,
            removed,
            saturated,
        )

    def _ball(self, dual: DualPoint) -> Region | None:
        """Where the optimum lies; None with a free b, which no ball bounds (§4.4)."""
        if self.terms.intercept == 0:
            return None
        none, noise = np.empty(0), self.terms.noise
        rows = as_rows(np.empty((0, self.terms.d)), none)
        empty = Problem(rows, none, none, noise, self.terms.intercept)
        return build_region("midpoint", empty, Pair(self.point, dual))


class _Poll:
    """What some rows of a sample say about how wide the next look must be.

    A row outside whose slack u turns out to be u + σZ of the other sign, Z normal,
    costs c_i σ E[(Z − |u|/σ)_+] of the gap; all of them together must not matter.
    """

    def __init__(self, problem: Problem, point: PrimalPoint, error, chance):
        step = max(problem.n // _POLLED, 1)
        part = problem
        if step > 1:
            polled = problem.rows.take(like(np.arange(0, problem.n, step), problem.y))
            part = replace(problem, rows=polled, weights=problem.weights[::step])
        self.band, self.slack = host(error(part)), np.abs(host(point.slack[::step]))
        self.each = step / host(chance[::step])  # how many rows each stands for
        sigma = np.maximum(self.band / 5, TINY)
        x = np.minimum(self.slack / sigma, 40.0)
        excess = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) - x * ndtr(-x)
        self.cost = step * host(part.weights) * sigma * excess

    def caution(self, tolerable: float, least: float = 0.0) -> tuple[float, float]:
        """How much of the error to allow for, and how many rows are within that."""
        for caution in _CAUTIONS:
            outside = self.slack > caution * self.band
            if caution >= least and self.cost[outside].sum() <= tolerable:
                break
        return caution, float(self.each[~outside].sum())


def _check_classes(work: Work) -> None:
    for count, label in zip(work.classes, ("+1", "−1"), strict=True):
        if count == 0:
            raise DataError(
                f"No row of the data has the label {label}; a classifier needs both "
                "−1 and +1."
            )


def _solve_again(problem: Problem, control: Control, found: Outcome) -> Outcome:
    """What was found, or where it proves less than `tol` the best of second attempts.

    These are for few rows, which come to NumPy for them from wherever they live.
    """
    if found.certificate.proves(control.tol):
        return found
    if not is_foreign(problem.y):
        return prove(problem, control, found)
    if not affordable(problem):
        return found
    here = replace(
        problem,
        rows=as_rows(host(problem.rows.X), host(problem.y)),
        weights=host(problem.weights),
        radii=host(problem.radii),
    )
    start = Outcome(
        here.at(found.point.w, found.point.b), here.dual_at(host(found.dual.alpha))
    )
    best = _solve_again(here, control, start)
    alpha = like(best.dual.alpha, problem.weights)
    return Outcome(problem.at(best.point.w, best.point.b), problem.dual_at(alpha))
