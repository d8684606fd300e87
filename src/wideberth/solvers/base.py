"""What every solver is told and what it hands back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from wideberth.problem import Certificate, DualPoint, PrimalPoint
from wideberth.screening import Screener

__all__ = ["Best", "Control", "Outcome", "Status"]

#: How a run ended: the tolerance is proven, or what kept it from being proven.
Status = Literal["solved", "stopped", "out of time", "out of steps", "out of precision"]


@dataclass
class Control:
    """When to stop, whom to tell, and what was spent.

    `tol` is the relative gap asked for; `aim` one to go on to where that is cheap.
    `screening` names the safe region that decides about samples, or is None; `rng` is
    the only source of random numbers.
    """

    tol: float = 1e-6
    max_iter: int = 10_000
    deadline: float = np.inf
    callback: Callable[[dict], bool | None] | None = None
    steps: int = 0
    trace: list[dict] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    stopped: bool = False
    aim: float = np.inf
    screening: str | None = "ellipsoid"
    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    @property
    def target(self) -> float:
        """The relative gap at which to stop."""
        return min(self.tol, self.aim)

    def rougher(self, tol: float) -> Control:
        """The same limits for a helper problem of its own accuracy, and silent."""
        return Control(tol, self.max_iter, self.deadline, steps=self.steps)

    def exhausted(self) -> bool:
        """Whether no further step may be taken."""
        return self.interrupted() or self.steps >= self.max_iter

    def interrupted(self) -> bool:
        """Whether the callback or the clock put an end to it."""
        return self.stopped or time.perf_counter() > self.deadline

    def status(self, certificate: Certificate) -> Status:
        """The word for how a run stands that has this certificate."""
        if certificate.proves(self.tol):
            return "solved"
        if self.stopped:
            return "stopped"
        if self.interrupted():
            return "out of time"
        return "out of steps" if self.exhausted() else "out of precision"

    def judge(self, found: Outcome) -> Outcome:
        """What was found, with the word for how the run ended."""
        return replace(found, status=self.status(found.certificate))

    def record(self, passes: float, certificate, counts) -> None:
        """Note a certified point; the callback may ask to stop by returning True."""
        entry = {
            "iteration": self.steps,
            "seconds": time.perf_counter() - self.started,
            "passes": passes,
            "primal": certificate.primal,
            "dual": certificate.dual,
            "gap": certificate.gap,
            "free": counts[0],
            "saturated": counts[1],
            "removed": counts[2],
        }
        self.trace.append(entry)
        if self.callback is not None and self.callback(entry):
            self.stopped = True


@dataclass(frozen=True)
class Outcome:
    """Points of the original problem: the best found, evaluated on all rows.

    `status` is None of points that nobody has judged yet (`Control.judge`).
    """

    point: PrimalPoint
    dual: DualPoint
    status: Status | None = None

    @cached_property
    def certificate(self) -> Certificate:
        """What the two points prove."""
        return Certificate.of(self.point, self.dual)

    @property
    def gap(self) -> float:
        """P − D of the two points."""
        return self.point.value - self.dual.value

    def meets(self, tol: float) -> bool:
        """Whether a solver may stop here; see `Certificate.meets`."""
        return self.certificate.meets(tol)


class Best:
    """The best primal and the best dual point of a run that screens while it goes.

    Screening never raises a primal value, so points of earlier, larger problems may
    only look worse than they are.
    """

    def __init__(self, screener: Screener):
        self.screener = screener
        self.found: Outcome = None  # type: ignore[assignment]  # set by the first point

    def keep(self, point: PrimalPoint, dual: DualPoint) -> None:
        """Take in points of the problem as screened now."""
        whole = self.screener.reduction.unfold(dual.alpha)
        new = Outcome(point, replace(dual, alpha=whole))
        old = new if self.found is None else self.found
        self.found = Outcome(
            min(old.point, new.point, key=lambda point: point.value),
            max(old.dual, new.dual, key=lambda dual: dual.value),
        )

    def certified(self, tol: float) -> bool:
        """Whether the best points meet the tolerance on all rows of the problem."""
        return self.found.meets(tol) and self.finish().meets(tol)

    def finish(self) -> Outcome:
        """Evaluate the best points on all rows, those screened before included."""
        full, found = self.screener.reduction.full, self.found
        if found.point.margins.size != full.n:
            self.found = Outcome(full.at(found.point.w, found.point.b), found.dual)
        return self.found
