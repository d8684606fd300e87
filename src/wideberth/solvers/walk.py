"""Newton's method from problem to problem on the same rows: paths in C and in radius.

Neighbouring problems have neighbouring solutions, so each is started from a prediction
and from how wrong predictions of its kind were before: rows whose slack is larger than
that are settled from the start (`newton.py`, working sets). Predicted is

* `still`: the solution before,
* `onward`: the line through the two before, linear in the step taken,
* `beside`: the solution before, moved as a walk under the neighbouring radius moved,
* `subset`: the solution before, moved as a walk over a random subset of the rows moved,
  on tall data. It costs little, and on long strides it knows what a line cannot.

The candidate with the lowest objective wins. Nothing here bears on correctness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wideberth.problem import PrimalPoint, Problem
from wideberth.screening import Partition
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.newton import Guess, Level, nearest_share, rms
from wideberth.solvers.subsample import SamplingError, Subset, subset_sizes

__all__ = ["Place", "Walk"]

#: Rows from which on a walk over a subset pays, and per row of the subset.
_TALL, _SPARSELY = 20_000, 8
#: How much rougher than asked for the walk over a subset may be.
_ROUGHER = 3.0
#: Width of the bands in errors of the steps before, and the most rows they may hold.
_SAFETY, _MOST = 3.0, 0.2
#: Share of an error that is remembered where the next one is smaller.
_MEMORY = 0.5


@dataclass(frozen=True)
class Place:
    """A primal point (w, b) with its margins Zw where they are known; a vector."""

    w: np.ndarray
    b: float
    margins: np.ndarray | None = None

    @classmethod
    def of(cls, point: PrimalPoint) -> Place:
        """Where a point is."""
        return cls(point.w, point.b, point.margins)

    def moved(self, t: float, start: Place, end: Place) -> Place:
        """This place, moved by t times the way from `start` to `end`."""
        here, margins = self.margins, None
        if here is not None and start.margins is not None and end.margins is not None:
            margins = here + t * (end.margins - start.margins)
        w = self.w + t * (end.w - start.w)
        return Place(w, self.b + t * (end.b - start.b), margins)

    def seen(self, problem: Problem) -> tuple[float, np.ndarray]:
        """Objective and slacks of a problem here; reads rows if margins are unknown."""
        margins = self.margins
        if margins is None:
            margins = problem.rows.margins(self.w)
        omega = problem.noise.support(self.w)
        slack = 1.0 - margins
        if omega > 0:
            slack += omega * problem.radii
        penalty = 0.5 * float(self.w @ self.w)
        if problem.intercept is not None:
            slack -= self.b * problem.y
            penalty += 0.5 * problem.intercept * self.b**2
        return penalty + float(problem.weights @ np.maximum(slack, 0.0)), slack


class Walk:
    """Solves problems that differ in weights and radii alone, one after the other."""

    def __init__(self, problem: Problem, region: str | None, rng):
        self.region, self.rng = region, rng
        self.past: list[tuple[float, Place]] = []  # at most two, the last one last
        self.errors: dict[str, np.ndarray] = {}
        self.helper: Walk | None = None
        sizes = [
            size for size in subset_sizes(problem) if _SPARSELY * size <= problem.n
        ]
        if sizes and problem.n > _TALL:
            self.part = Subset(problem, sizes[-1], rng)
            if self.part.usable(problem):
                self.helper = Walk(self.part.of(problem), None, rng)

    def restart(self) -> None:
        """Begin anew, on the same rows."""
        self.past, self.errors = [], {}
        if self.helper is not None:
            self.helper.restart()

    def leap(self, place: Place, at: float) -> None:
        """Take a solution that was found without a step."""
        self.past = [*self.past[-1:], (at, place)]

    def step(
        self,
        problem: Problem,
        control: Control,
        at: float,
        *,
        decided: Partition | None = None,
        beside: tuple[Place | None, Place] | None = None,
    ) -> Outcome:
        """Solve `problem`, which lies `at` on a scale where solutions move evenly.

        `beside` are solutions of another walk: where this one was, and where it goes.
        """
        candidates = self._predict(at, beside)
        if self.helper is not None:
            candidates |= self._ask_helper(problem, control, at)
        views = {kind: place.seen(problem) for kind, place in candidates.items()}
        guess = None
        if views:
            kind = min(views, key=lambda kind: views[kind][0])
            guess = self._guess(candidates[kind], views[kind][1], kind)
        outcome = Level(problem, control, self.region, decided).solve(guess)
        for kind, (_, slack) in views.items():
            self._learn(kind, np.abs(outcome.point.slack - slack))
        self.leap(Place.of(outcome.point), at)
        return outcome

    def _predict(self, at: float, beside) -> dict[str, Place]:
        if not self.past:
            return {} if beside is None else {"beside": beside[1]}
        here, last = self.past[-1]
        candidates = {"still": last}
        if len(self.past) > 1:
            before, start = self.past[0]
            stride = (at - here) / (here - before)
            candidates["onward"] = last.moved(stride, start, last)
        if beside is not None:
            candidates["beside"] = last.moved(1.0, *beside)
        return candidates

    def _ask_helper(self, problem, control: Control, at: float) -> dict[str, Place]:
        """The move of the walk over the subset; at first, where that walk is."""
        helper: Walk = self.helper  # type: ignore[assignment]
        before = helper.past[-1:]
        quiet = control.rougher(max(self.part.accuracy, _ROUGHER * control.tol))
        subset = self.part.of(problem)
        found = helper.step(subset, quiet, at)
        control.steps = quiet.steps
        end = Place(found.point.w, found.point.b)
        if before and self.past:
            return {"subset": self.past[-1][1].moved(1.0, before[0][1], end)}
        doubt = 1 - self.part.chance
        self.sampling = SamplingError(subset, found.point, doubt, self.rng)
        return {"sampled": end}

    def _guess(self, place: Place, slack: np.ndarray, kind: str) -> Guess:
        """A start with bands as wide as the errors of the steps before were."""
        if kind == "sampled":
            return Guess(place.w, place.b, self.sampling)
        error = self.errors.get(kind)
        if error is None:
            return Guess(place.w, place.b, nearest_share(slack))
        band = _SAFETY * (error + rms(error))
        return Guess(place.w, place.b, np.minimum(band, nearest_share(slack, _MOST)))

    def _learn(self, kind: str, error: np.ndarray) -> None:
        """Remember an error; one small error may be luck."""
        if kind in self.errors:
            error = np.maximum(error, _MEMORY * self.errors[kind])
        self.errors[kind] = error
