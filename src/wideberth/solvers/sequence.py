"""Grids of problems on the same data, each solved from its neighbours.

The data is validated, wrapped and measured once; then C grows for one radius after the
other. Each point begins with what the one before proves (theory §5, sequential): its
dual weights keep their share of the box, α' = (C'/C)α, which is feasible and costs no
read of the data, nor do the margins of w at the new C. At an optimum of C their gap is

    G = ½(C'/C − 1)² (‖w‖² + λ_b b²)

so samples may be decided before anything is solved; they are not read again until the
final certificate. What is left starts from a prediction (`solvers/walk.py`), or from
the carried dual weights (coordinate solver).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from wideberth.problem import Certificate, Problem
from wideberth.problem.endpoints import null_certificate
from wideberth.problem.noise import L2
from wideberth.problem.presolve import cap_weights
from wideberth.problem.rows import DenseRows
from wideberth.screening import Partition, screen_points
from wideberth.screening.bounds import available_tests
from wideberth.solvers.adapters import carried_dual, get_solver, run_conic
from wideberth.solvers.attempts import Attempt, prove, proven
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.registry import added_solver
from wideberth.solvers.walk import Place, Walk

__all__ = ["Found", "Sequence", "carry"]

#: Share of samples that must be decided beforehand to make a smaller copy worth while.
_WORTH = 0.5
#: Entries of X up to which rows cost less than deciding about them.
_SMALL = 1 << 18
#: Numbers of the margins kept for the next radius.
_KEPT = 1 << 24


@dataclass(frozen=True)
class Found:
    """One point of a grid: the answer, its proof, and its cost."""

    outcome: Outcome
    certificate: Certificate
    converged: bool
    carried: Partition | None  # what was decided before the solve
    removed: np.ndarray
    saturated: np.ndarray
    n_iter: int
    passes: float
    seconds: float
    trace: list[dict]

    @property
    def undecided(self) -> int:
        """Samples left to the solver by what was known before."""
        n = self.removed.size
        return n if self.carried is None else self.carried.counts[0]


class Sequence:
    """Solves the points of a grid one after the other; see `points`.

    `problem` holds the weights of C = 1 and the radii of factor 1; `control` the limits
    of a point, and the deadline of all. Without `proofs` the samples that final
    certificates decide are not asked for.
    """

    def __init__(
        self,
        problem: Problem,
        control: Control,
        name: str,
        screening: str | None,
        random_state=None,
        proofs: bool = True,
    ):
        self.problem, self.control, self.screening = problem, control, screening
        self.proofs = proofs
        rng = np.random.default_rng(random_state)
        self.name, self.solver = name, _make_solver(name, problem, screening, rng)

    def points(
        self, Cs: np.ndarray, radii: np.ndarray
    ) -> Iterator[tuple[int, int, Found]]:
        """Yield (index of the radius, index of C, point) in the order given.

        C should ascend. Ends early, without the point it was at, when the deadline has
        passed or the callback asks to stop.
        """
        first = None
        for k, factor in enumerate(radii):
            base = self.problem.with_radii(factor * self.problem.radii)
            null = None if base.intercept else null_certificate(base)
            self.solver.turn()
            last = first
            for j, C in enumerate(Cs):
                control = self._control(float(C), float(factor))
                found = self._point(base, control, float(C), last, null)
                if not found.converged and control.interrupted():
                    return
                last = float(C), found.outcome
                first = first if j else last
                yield k, j, found
                if control.stopped:
                    return

    def _control(self, C: float, radius: float) -> Control:
        callback, told = None, self.control.callback
        if told is not None:

            def callback(entry):
                return told(entry | {"C": C, "radius": radius})

        started = time.perf_counter()
        return replace(self.control, callback=callback, trace=[], started=started)

    def _point(self, base: Problem, control: Control, C: float, last, null) -> Found:
        """Solve at one C, from the solution at another."""
        problem = base.with_weights(C * base.weights)
        passes = problem.rows.passes.count
        carried, decided, promising = None, None, False
        if last is not None:
            ratio = C / last[0]
            promising = ratio == 1 or self._promising(last[1], ratio)
            if promising or self.solver.dual:
                carried = carry(problem, last[1], ratio)
        elif problem.intercept != 0:  # else b is not unique; a solver centres it
            carried = _settled(problem, problem.weights)
        outcome = self._known(
            problem, control, carried, null if null is None else C * null
        )
        if outcome is None and promising and carried is not None:
            decided = self._decide(problem, carried)
            if decided is not None and not decided.free.any():
                outcome = _settled(problem, problem.weights * decided.saturated)
                outcome = outcome if outcome.meets(control.target) else None
                decided = decided if outcome else None
        if outcome is not None:
            self.solver.skip(outcome, C)

        def first(easier: Problem, control: Control) -> Outcome:
            known = carried, decided
            if easier is not problem:  # what is known is about other weights
                known = None, None
            found = self.solver.solve(easier, control, C, *known)
            # Afresh: what was folded on the way has left its rounding in d.
            return replace(found, dual=easier.dual_at(found.dual.alpha))

        change = partial(cap_weights, most=get_solver(self.name).weight_limit)
        attempt = None if outcome is not None else Attempt(change, first)
        outcome = prove(problem, control, outcome, attempt)
        return self._found(problem, control, outcome, decided, passes)

    def _known(self, problem, control, carried, null) -> Outcome | None:
        """The answer, where a closed form or the solution before has it."""
        if null is None and problem.intercept:
            null = null_certificate(problem)
        if null is not None:
            zero = problem.at(np.zeros(problem.rows.d))
            return Outcome(zero, problem.dual_at(null))
        if carried is None or not carried.meets(control.target):
            return None
        # Afresh: one more rounding of Zᵀα is allowed for, those of a row are not.
        return replace(carried, dual=problem.dual_at(carried.dual.alpha))

    def _promising(self, last: Outcome, ratio: float) -> bool:
        """Whether a region half as wide as `carry` would prove decides many samples.

        The midpoint ball has the radius ½|C'/C − 1|·‖(w, √λ_b b)‖ (theory §4.2); under
        ℓ2 noise the ellipsoid is narrower across w by √(1+κ) (§4.3′).
        """
        problem, point, move = self.problem, last.point, 0.5 * abs(ratio - 1)
        small = problem.n * problem.rows.d <= _SMALL
        if self.screening is None or (small and not self.proofs):
            return False
        norm = float(np.linalg.norm(point.w))
        squares = problem.rows.norms() ** 2
        if self.screening == "ellipsoid" and isinstance(problem.noise, L2) and norm > 0:
            kappa = last.dual.s / (2 * norm * (1 + move))
            along = (point.margins / norm) ** 2
            squares = along + (squares - along) / (1 + kappa)
        reach = move * np.hypot(norm, (problem.intercept or 0.0) ** 0.5 * point.b)
        clear = np.abs(point.slack) > 0.5 * reach * np.sqrt(squares)
        return bool(clear.mean() > _WORTH)

    def _decide(self, problem: Problem, carried: Outcome) -> Partition | None:
        """Samples that the solution before decides, if they are many."""
        if self.screening is None:
            return None
        test = available_tests(problem, self.screening)[0]
        partition = screen_points(
            problem, carried.point, carried.dual, region=self.screening, test=test
        )
        return partition if partition.share > _WORTH else None

    def _found(self, problem, control, outcome, decided, passes) -> Found:
        removed = saturated = np.zeros(problem.n, dtype=bool)
        spent = problem.rows.passes.count - passes
        if self.screening is not None and self.proofs:
            partition = proven(problem, outcome, self.screening)
            removed, saturated = partition.removed, partition.saturated
        certificate = outcome.certificate
        return Found(
            outcome,
            certificate,
            certificate.proves(control.tol),
            decided,
            removed,
            saturated,
            control.steps,
            spent,
            time.perf_counter() - control.started,
            control.trace,
        )


def carry(problem: Problem, last: Outcome, ratio: float) -> Outcome:
    """A solution as points of a problem of other weights, `ratio` times as large.

    Radii may differ too. Margins and Zᵀα are known, so no row is read; multiplied by
    `ratio` they are off by one rounding more, which the bounds of `rows.py` allow for.
    """
    point, dual = last.point, last.dual
    alpha = np.minimum(ratio * dual.alpha, problem.weights)
    return Outcome(
        problem.at(point.w, point.b, point.margins),
        problem.dual_at(alpha, combined=ratio * dual.d),
    )


def _settled(problem: Problem, alpha: np.ndarray) -> Outcome:
    """The primal and dual points of α, all of whose entries are at their bounds."""
    dual = problem.dual_at(alpha)
    return Outcome(problem.at(dual.w, dual.b if problem.intercept else None), dual)


class _Solver:
    """What a sequence asks of a solver: `solve`, and to hear what happens else."""

    #: Whether it starts from dual weights.
    dual = False

    def __init__(self, problem: Problem, region: str | None, rng):
        self.region, self.rng = region, rng

    def solve(
        self,
        problem: Problem,
        control: Control,
        C: float,
        carried: Outcome | None,
        decided: Partition | None,
    ) -> Outcome:
        """Solve, knowing the solution before and the samples it decides."""
        raise NotImplementedError

    def skip(self, outcome: Outcome, C: float) -> None:
        """Hear of a point that needed no solver."""

    def turn(self) -> None:
        """Hear that C starts anew, under another radius."""


class _Newton(_Solver):
    """Predictions from the walk along C and from that under the radius before."""

    def __init__(self, problem, region, rng):
        super().__init__(problem, region, rng)
        self.rows, self.expand = problem.rows, None
        if problem.n < problem.rows.d and isinstance(problem.noise, L2):
            # As in `solve_newton`: the span of the rows is where w* must lie.
            coordinates, self.expand = problem.rows.rotated()
            self.rows = DenseRows(coordinates, problem.y, problem.rows.passes)
        self.walk = Walk(replace(problem, rows=self.rows), region, rng)
        self.before: list[Place | None] = []
        self.here: list[Place | None] = []

    def turn(self):
        self.before, self.here = self.here, []
        self.walk.restart()

    def skip(self, outcome, C):
        if self.expand is not None:
            self.here.append(None)
            self.walk.restart()
            return
        self.walk.leap(Place.of(outcome.point), np.log(C))
        self._remember()

    def _remember(self):
        """Keep the last place for the next radius, with its margins if they are few."""
        place = self.walk.past[-1][1]
        few = (len(self.here) + 1) * self.rows.n <= _KEPT
        self.here.append(place if few else replace(place, margins=None))

    def _beside(self) -> tuple[Place | None, Place] | None:
        j = len(self.here)
        if j >= len(self.before):
            return None
        start, end = self.before[j - 1] if j else None, self.before[j]
        if end is None or (start is None and self.walk.past):
            return None
        return start, end

    def solve(self, problem, control, C, carried, decided):
        inner, asked = replace(problem, rows=self.rows), control.tol
        if self.expand is not None:
            control.tol = 0.5 * asked
        found = self.walk.step(
            inner, control, np.log(C), decided=decided, beside=self._beside()
        )
        control.tol = asked
        self._remember()
        if self.expand is None:
            return found
        point = problem.at(self.expand(found.point.w), found.point.b)
        return Outcome(point, problem.dual_at(found.dual.alpha))


class _Coordinate(_Solver):
    """Dual weights carried to the bounds of the new problem."""

    dual = True

    def solve(self, problem, control, C, carried, decided):
        from wideberth.solvers.coordinate import solve_coordinate  # loads numba

        alpha = None
        if carried is not None:
            point = carried.point
            alpha = carried_dual(problem, point.w, point.b, carried.dual.alpha)
        return solve_coordinate(
            problem,
            control,
            region=self.region,
            init=alpha,
            random_state=self.rng,
            decided=decided,
        )


class _Conic(_Solver):
    """Cold starts on the samples left."""

    def solve(self, problem, control, C, carried, decided):
        return run_conic(problem, control, decided)


class _Added(_Solver):
    """Cold starts of a solver that the package does not know, on all samples."""

    def __init__(self, problem, region, rng, run):
        super().__init__(problem, region, rng)
        self.run = run

    def solve(self, problem, control, C, carried, decided):
        return self.run(problem, control, region=self.region)


def _make_solver(name: str, problem: Problem, region: str | None, rng) -> _Solver:
    added = added_solver(name)
    if added is not None:
        return _Added(problem, region, rng, added)
    solvers = {"newton": _Newton, "coordinate": _Coordinate, "conic": _Conic}
    return solvers[name](problem, region, rng)
