"""Grids of problems on the same data, each solved from its neighbours.

The data is validated, wrapped and measured once; then C grows for one radius after the
other. Each point begins with what the one before proves (theory §5, sequential): its
dual weights keep their share of the box, α' = (C'/C)α, which is feasible and costs no
read of the data, nor do the margins of w at the new C. At an optimum of C their gap is

    G = ½(C'/C − 1)² (‖w‖² + λ_b b²)

so samples may be decided before anything is solved, and solvers that do not predict
(`Solver.predicted`) do not read these again until the final certificate. Starts are
those of `starts.py`.

With a ramp each point descends (`ramp.py`) from the lower one of two: the point of the
C before, and that of a path with the hinge loss, followed roughly beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from wideberth.problem import Certificate, Pair, Problem
from wideberth.problem.changes import Presolved
from wideberth.problem.endpoints import null_certificate
from wideberth.problem.limits import COPY_SHARE
from wideberth.problem.ramp import Ramp
from wideberth.screening import Partition, screen_at_hand
from wideberth.solvers.attempts import null_pair, prove
from wideberth.solvers.base import Control, Solver
from wideberth.solvers.ramp import ROUGH, Descended, Descent
from wideberth.solvers.starts import Predictor, WarmStart, at_bounds


@dataclass(frozen=True)
class Found:
    """One point of a grid: the answer with its status, and what it took.

    `decided` are the samples that were known before the solve; `proven` computes those
    that the final certificate decides, None where that is not to be asked. With a ramp
    `outcome` is on the samples that are not left out.
    """

    outcome: Pair
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

    `units` is the presolved problem at C = 1 and factor 1 on the radii. `control` has
    the limits of each point, and the deadline of all. Without `proofs` nobody asks
    which samples the final certificates decide.
    """

    def __init__(
        self, units: Presolved, control: Control, solver: Solver, proofs: bool = True
    ):
        if (reason := solver.supports(units.problem)) is not None:
            raise ValueError(reason)
        self.units, self.control, self.proofs = units, control, proofs
        self.solver = solver

    def points(
        self, Cs: np.ndarray, levels: np.ndarray
    ) -> Iterator[tuple[int, int, Found]]:
        """Yield (index of the level, index of C, point) in the order given.

        A level is a factor on the radii, a norm penalty and a ramp. C should ascend.
        Ends early, without the point it was at, when the deadline has passed or the
        callback asks to stop.
        """
        rows = None
        for k, (factor, penalty, ramp) in enumerate(levels.tolist()):
            base = self.units.level(factor, penalty)
            # Once for all C, whose problems keep them.
            _ = base.targets, base.outside, base.largest_norm, base.largest_lipschitz
            if base.rows is rows:
                self.starts.next_radius()
            else:  # lopsided sets have other middles, and other margins, at each radius
                self.starts = Predictor(base, self.solver, self.control.rng)
                rows = base.rows
            # Known for all C at once, where the null model does not depend on C.
            depends = base.intercept or base.penalty > 0
            null, before = None if depends else null_certificate(base), None
            for j, C in enumerate(Cs.tolist()):
                problem = base.times(C)
                control = self._control(C, factor, penalty, ramp)
                convex = control
                if ramp > -np.inf:
                    convex = control.rougher(max(control.tol, ROUGH))
                known = null_pair(problem) if depends else None
                if null is not None:
                    known = null_pair(problem, C * null)
                found = self._point(problem, convex, C, known)
                if ramp > -np.inf:
                    found = self._descend(problem, control, ramp, found, before)
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
        problem: Problem,
        control: Control,
        level: float,
        convex: Found,
        before: Pair | None,
    ) -> Found:
        """Descend from what the hinge loss finds, or the ramp at the C before."""
        passes, control.steps = problem.rows.passes.count, convex.control.steps
        descent = Descent(Ramp(problem, level), control, self.solver)
        begun = {"hinge": convex.outcome}
        if before is not None:
            begun["the C before"] = before
        left = {}
        for name, pair in begun.items():
            point = problem.at(pair.point.w, pair.point.b, pair.point.margins)
            left[name] = descent.beyond(point, pair.dual.alpha)
        name = min(left, key=lambda name: left[name].value)
        descended = descent.go_on(left[name], name)
        spent = problem.rows.passes.count - passes + convex.passes
        outcome = control.judge(descended.found, descended.certificate)
        rest = descent.ramp.rest(descended.left.samples)
        found = self._found(rest, outcome, None, control, spent)
        return replace(found, descended=descended)

    def _found(self, problem, outcome, decided, control, spent: float) -> Found:
        """A point of the grid; `proven` computes the samples that it decides."""
        proven, region = None, self.control.screening
        if region is not None and self.proofs:
            proven = partial(screen_at_hand, problem, outcome, region)
        seconds = time.perf_counter() - control.started
        return Found(outcome, decided, proven, control, spent, seconds)

    def _point(
        self, problem: Problem, control: Control, C: float, known: Pair | None
    ) -> Found:
        """Solve at one C, from the solutions before; the null model may be known."""
        passes, start, decided, first = problem.rows.passes.count, None, None, None
        solver, slack = self.solver, None
        if known is None:
            known = self.starts.known(problem, control.target, C)
        if known is None and solver.quick:
            slack, rows, model = self.starts.foresee(problem, C)
            solver = solver.about(slack, rows, model)
        elif known is None:
            start = self.starts.start(problem, control, C)
            slack = None if start is None else start.point.slack
            decided = self._decide(problem, start, C)
            if decided is not None and not decided.free.any():
                pair = at_bounds(problem, problem.weights * decided.saturated).pair
                known = pair if pair.meets(control.target) else None
                decided = decided if known else None
        if known is None:
            first = partial(self._solve, solver, start=start, decided=decided)
        found = self.units.held(problem, prove(problem, control, known, first))
        outcome = control.judge(found)
        self.starts.accept(outcome, C, slack, control.rows_needed)
        spent = problem.rows.passes.count - passes
        return self._found(problem, outcome, decided, control, spent)

    def _decide(
        self, problem: Problem, start: WarmStart | None, C: float
    ) -> Partition | None:
        """Samples that the start decides, if they are many and the solver uses them."""
        region, nearest = self.control.screening, self.starts.nearest
        if region is None or self.solver.predicted or start is None or nearest is None:
            return None
        if not abs(C / nearest[0] - 1) <= COPY_SHARE:
            return None
        partition = screen_at_hand(problem, start.pair, region)
        return partition if partition.share > 1 - COPY_SHARE else None

    def _solve(
        self,
        solver: Solver,
        problem: Problem,
        control: Control,
        start: WarmStart | None,
        decided: Partition | None,
    ) -> Pair:
        """Solve from what is known of the point."""
        found = solver.solve(problem, control, start=start, decided=decided)
        if solver.predicted:
            return found
        # Afresh: what was folded on the way has left its rounding in d.
        dual = problem.dual_at(found.dual.alpha, near=found.point.w)
        return replace(found, dual=dual)
