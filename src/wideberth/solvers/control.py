"""What every solver is told and what it hands back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from wideberth.problem import DualPoint, PrimalPoint, Problem

__all__ = ["Control", "Outcome"]


@dataclass
class Control:
    """When to stop, whom to tell, and what was spent.

    `tol` is the relative gap asked for; `aim` one to go on to where that is cheap.
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

    @property
    def target(self) -> float:
        """The relative gap at which to stop."""
        return min(self.tol, self.aim)

    def exhausted(self) -> bool:
        """Whether no further step may be taken."""
        late = time.perf_counter() > self.deadline
        return self.stopped or late or self.steps >= self.max_iter

    def record(self, problem: Problem, certificate, counts) -> None:
        """Note a certified point; the callback may ask to stop by returning True."""
        entry = {
            "iteration": self.steps,
            "seconds": time.perf_counter() - self.started,
            "passes": problem.rows.passes.count,
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
    """Points of the original problem: the best found, evaluated on all rows."""

    point: PrimalPoint
    dual: DualPoint
