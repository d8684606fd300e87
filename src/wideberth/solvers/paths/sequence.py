"""Grids of problems on the same data, each solved from its neighbours.

The data is validated, wrapped and measured once; then C grows for one radius after the
other. Each point begins with what the one before proves (theory §5, sequential): its
dual weights keep their share of the box, α' = (C'/C)α, which is feasible and costs no
read of the data, nor do the margins of w at the new C. At an optimum of C their gap is

    G = ½(C'/C − 1)² (‖w‖² + λ_b b²)

so samples may be decided before anything is solved. Where that is of use to a solver
(`PathSolver.uses_decisions`) they are not read again until the final certificate. What
is left starts from the carried points, or from what a solver remembers of the path
(`Solver.along`).

With a ramp each point descends (`ramp.py`) from the lower one of two: the point
of the C before, and that of a path with the hinge loss, followed roughly beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from wideberth.problem import Certificate, Problem
from wideberth.problem.endpoints import null_certificate
from wideberth.problem.equivalent import cap_weights
from wideberth.problem.limits import TINY
from wideberth.problem.presolve import Presolved
from wideberth.problem.ramp import Ramp
from wideberth.screening import Partition, screen_at_hand
from wideberth.solvers.attempts import Attempt, prove
from wideberth.solvers.base import Control, Outcome, Solver
from wideberth.solvers.newton.settings import SETTINGS
from wideberth.solvers.ramp import ROUGH, Descended, DescentInMemory


@dataclass(frozen=True)
class Found:
    """One point of a grid: the answer with its status, and what it took.

    `decided` are the samples that were known before the solve; `proven` computes those
    that the final certificate decides, None where that is not to be asked. With a ramp
    `outcome` is on the samples that are not left out.
    """

    outcome: Outcome
    decided: Partition | None
    proven: Callable[[], Partition] | None
    control: Control
    passes: float
    seconds: float
    descended: Descended | None = None

    @property
    def certificate(self) -> Certificate:
        """That of the objective, with what samples left out cost."""
        return (self.descended or self.outcome).certificate


class Sequence:
    """Solves the points of a grid one after the other; see `points`.

    `units` holds the problem of weights C = 1 and radii of factor 1; `control` the
    limits of a point, and the deadline of all. Without `proofs` the samples that final
    certificates decide are not asked for.
    """

    def __init__(
        self, units: Presolved, control: Control, solver: Solver, proofs: bool = True
    ):
        problem = units.problem
        if (reason := solver.supports(problem)) is not None:
            raise ValueError(reason)
        self.units, self.control, self.proofs = units, control, proofs
        self.weight_limit = solver.weight_limit
        self.single, self.solver = solver, solver.along(problem, control)

    def points(
        self, Cs: np.ndarray, levels: np.ndarray
    ) -> Iterator[tuple[int, int, Found]]:
        """Yield (index of the level, index of C, point) in the order given.

        A level is a factor on the radii, a norm penalty and a ramp. C should ascend.
        Ends early, without the point it was at, when the deadline has passed or the
        callback asks to stop.
        """
        first = None
        for k, (factor, penalty, ramp) in enumerate(levels.tolist()):
            base = self.units.level(factor, penalty)
            # Known for all C at once, where the null model does not depend on C.
            depends = base.intercept or base.penalty > 0
            null = None if depends else null_certificate(base)
            if base.rows is self.units.problem.rows:
                self.solver.next_radius()
            else:  # lopsided sets have other middles, and other margins, at each radius
                self.solver, first = self.single.along(base, self.control), None
            last, before = first, None
            for j, C in enumerate(Cs.tolist()):
                control = self._control(C, factor, penalty, ramp)
                convex = control
                if ramp > -np.inf:
                    convex = control.rougher(max(control.tol, ROUGH))
                found = self._point(base, convex, C, last, null)
                last = C, found.outcome
                first = first if j else last
                if ramp > -np.inf:
                    found = self._descend(base, control, C, ramp, found, before)
                    before = found.outcome
                if found.outcome.status in ("stopped", "out of time"):
                    return
                yield k, j, found
                if control.stopped:
                    return

    def _control(self, C: float, radius: float, penalty: float, ramp: float) -> Control:
        callback, told = None, self.control.callback
        if told is not None:
            at = {"C": C, "radius": radius, "norm_penalty": penalty, "ramp": ramp}

            def callback(entry):
                return told(entry | at)

        started = time.perf_counter()
        return replace(self.control, callback=callback, trace=[], started=started)

    def _descend(
        self,
        base: Problem,
        control: Control,
        C: float,
        level: float,
        convex: Found,
        before: Outcome | None,
    ) -> Found:
        """Descend from what the hinge loss finds at C, or the ramp at the C before."""
        problem = base.with_weights(C * base.weights)
        passes, control.steps = problem.rows.passes.count, convex.control.steps
        ramp, starts = Ramp(problem, level), {"hinge": convex.outcome}
        if before is not None:
            starts["the C before"] = before
        known = {
            name: problem.at(found.point.w, found.point.b, found.point.margins)
            for name, found in starts.items()
        }
        name = min(known, key=lambda name: ramp.value(known[name]))
        descent = DescentInMemory(ramp, control, self.single)
        left = descent.beyond(known[name], starts[name].dual.alpha)
        descended = descent.go_on(left, name)
        rest = ramp.rest(descended.left.samples)
        proven = self._proven(rest, descended.found)
        spent = problem.rows.passes.count - passes + convex.passes
        seconds = time.perf_counter() - control.started
        outcome = control.judge(descended.found, descended.certificate)
        return Found(outcome, None, proven, control, spent, seconds, descended)

    def _proven(self, problem: Problem, outcome: Outcome):
        """What computes the samples that points decide, if that may be asked."""
        region = self.control.screening
        if region is None or not self.proofs:
            return None
        return partial(screen_at_hand, problem, outcome, region)

    def _point(self, base: Problem, control: Control, C: float, last, null) -> Found:
        """Solve at one C, from the solution at another."""
        problem = base.with_weights(C * base.weights)
        passes = problem.rows.passes.count
        start, decided, ratio = None, None, np.inf
        if last is not None:
            ratio = C / last[0]
            scale = best_scale(problem, last[1], ratio)
            if carried_gap(problem, last[1], ratio, scale) <= control.target:
                start = carry(problem, last[1], scale)
            elif self.solver.carries:  # samples at their bounds stay there
                start = carry(problem, last[1], ratio)
        elif problem.intercept != 0:
            # Else b is not unique; a solver centres it.
            start = _at_bounds(problem, problem.weights)
        outcome = self._known(problem, start, control.target, C, null)
        if outcome is None and start and abs(ratio - 1) <= SETTINGS.copy_share:
            decided = self._decide(problem, start)
            if decided is not None and not decided.free.any():
                outcome = _at_bounds(problem, problem.weights * decided.saturated)
                outcome = outcome if outcome.meets(control.target) else None
                decided = decided if outcome else None
        first = None
        if outcome is not None:
            self.solver.accept(outcome, C)
        else:
            first = self._attempt(problem, C, start, decided)
        outcome = control.judge(prove(problem, control, outcome, first))
        spent = problem.rows.passes.count - passes
        proven = self._proven(problem, outcome)
        seconds = time.perf_counter() - control.started
        return Found(outcome, decided, proven, control, spent, seconds)

    def _known(self, problem, start, tol: float, C: float, null) -> Outcome | None:
        """The answer, where a closed form or the solution before has it."""
        if problem.intercept or problem.penalty > 0:
            null = null_certificate(problem)
        elif null is not None:
            null = C * null
        if null is not None:
            zero = problem.at(np.zeros(problem.rows.d))
            return Outcome(zero, problem.dual_at(null))
        if start is None or not start.meets(tol):
            return None
        # Afresh: one more rounding of Zᵀα is allowed for, those of a row are not.
        w = start.point.w
        return replace(start, dual=problem.dual_at(start.dual.alpha, near=w))

    def _attempt(self, problem: Problem, C: float, start, decided) -> Attempt:
        """The solver, from what is known."""

        def solve(easier: Problem, control: Control) -> Outcome:
            known = start, decided
            if easier is not problem:  # what is known is about other weights
                known = None, None
            found = self.solver.solve(easier, control, C, *known)
            if not self.solver.carries:
                return found
            # Afresh: what was folded on the way has left its rounding in d.
            dual = easier.dual_at(found.dual.alpha, near=found.point.w)
            return replace(found, dual=dual)

        return Attempt(partial(cap_weights, most=self.weight_limit), solve)

    def _decide(self, problem: Problem, start: Outcome) -> Partition | None:
        """Samples that the solution before decides, if they are many and of use."""
        region = self.control.screening
        if region is None or not self.solver.uses_decisions:
            return None
        partition = screen_at_hand(problem, start, region)
        return partition if partition.share > 1 - SETTINGS.copy_share else None


def carry(problem: Problem, last: Outcome, scale: float) -> Outcome:
    """A solution as points of a problem of other weights, α being `scale` times it.

    Radii may differ too, rows may not (those of lopsided sets do with the radius).
    Margins and Zᵀα are known, so no row is read; multiplied by `scale` they are off by
    one rounding more, which the bounds of `rows.py` allow for.
    """
    point, dual = last.point, last.dual
    alpha = np.minimum(scale * dual.alpha, problem.weights)
    return Outcome(
        problem.at(point.w, point.b, point.margins),
        problem.dual_at(alpha, combined=scale * dual.d, near=point.w),
    )


def best_scale(problem: Problem, last: Outcome, ratio: float) -> float:
    """The factor t ≤ ratio on α of the largest D, for weights `ratio` times as large.

    D(tα) = tΣα_i − ½t²L with L = ‖w(α)‖² + λ_b b². It is the ratio where all samples
    are at their bounds, and 1 where none is: then a larger C changes nothing.
    """
    square = _square(problem, last)
    total = last.dual.value + 0.5 * square
    return min(total / square, ratio) if square > 0 else ratio


def carried_gap(
    problem: Problem, last: Outcome, ratio: float, scale: float | None = None
) -> float:
    """The relative gap of what `carry` returns, where weights alone differ.

    P(w) grows by (ratio − 1)Σc_i[u_i]_+, and D is as in `best_scale`, at the ratio if
    no scale is given. No vector as long as the rows is touched; what is folded is left
    out of account, so it tells where to look and proves nothing.
    """
    square, scale = _square(problem, last), ratio if scale is None else scale
    primal = last.point.value + (ratio - 1) * last.point.hinge
    value = scale * (last.dual.value + 0.5 * square) - 0.5 * scale * scale * square
    return (primal - value) / max(primal, TINY)


def _square(problem: Problem, last: Outcome) -> float:
    """‖w(α)‖² + λ_b b²."""
    dual = last.dual
    return float(dual.w @ dual.w) + (problem.intercept or 0.0) * dual.b * dual.b


def _at_bounds(problem: Problem, alpha: np.ndarray) -> Outcome:
    """The primal and dual points of α, all of whose entries are at their bounds."""
    dual = problem.dual_at(alpha)
    return Outcome(problem.at(dual.w, dual.b if problem.intercept else None), dual)
