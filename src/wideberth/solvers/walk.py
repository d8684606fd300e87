"""Newton's method from problem to problem on the same rows: paths in C and in radius.

Neighbouring problems have neighbouring solutions, so each is started from a prediction
and from how wrong predictions of its kind were at the step before: rows whose slack is
larger than that are settled from the start (`newton.py`, working sets). Predicted is

* `still`: the solution before,
* `onward`: the line through the two before, linear in the step taken,
* `beside`: the solution before, moved as another walk moved: that over the neighbouring
  radius, or, on tall data, one over a random subset of the rows, which costs little and
  knows what a line cannot.

The candidate with the lowest objective wins. Nothing here bears on correctness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wideberth.problem import PrimalPoint, Problem
from wideberth.screening import Partition
from wideberth.solvers.control import Control, Outcome
from wideberth.solvers.newton import Guess, Level, nearest_share, rms
from wideberth.solvers.subsample import SamplingError, Subset, subset_sizes

__all__ = ["Place", "Walk"]

#: Rows from which on a walk over a subset pays.
_TALL = 20_000
#: Width of the bands in errors of the step before.
_SAFETY = 3.0


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
        known = (self.margins, start.margins, end.margins)
        margins = None
        if all(part is not None for part in known):
            margins = self.margins + t * (end.margins - start.margins)
        w = self.w + t * (end.w - start.w)
        return Place(w, self.b + t * (end.b - start.b), margins)


class Walk:
    """Solves problems that differ in weights and radii alone, one after the other."""

    def __init__(self, problem: Problem, region: str | None, rng):
        self.region, self.rng = region, rng
        self.past: list[tuple[float, Place]] = []  # at most two, the last one last
        self.errors: dict[str, np.ndarray] = {}
        self.part, self.helper = None, None
        sizes = [size for size in subset_sizes(problem) if 8 * size <= problem.n]
        if sizes and problem.n > _TALL:
            self.part = Subset(problem, sizes[-1], rng)
            if self.part.usable(problem):
                self.helper = Walk(self.part.of(problem), None, rng)

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
        points = {
            kind: problem.at(place.w, place.b, place.margins)
            for kind, place in candidates.items()
        }
        guess = None
        if points:
            kind = min(points, key=lambda kind: points[kind].value)
            guess = self._guess(problem, points[kind], kind, at)
        outcome = Level(problem, control, self.region, decided).solve(guess)
        for kind, point in points.items():
            self.errors[kind] = np.abs(outcome.point.slack - point.slack)
        self.past = [*self.past[-1:], (at, Place.of(outcome.point))]
        return outcome

    def leap(self, place: Place, at: float) -> None:
        """Take a solution that was found without a step."""
        self.past = [*self.past[-1:], (at, place)]

    def restart(self) -> None:
        """Begin anew, on the same rows."""
        self.past, self.errors = [], {}
        if self.helper is not None:
            self.helper.restart()

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

    def _ask_helper(self, problem: Problem, control: Control, at: float):
        """The move of the walk over the subset; at first, where that walk is."""
        helper, before = self.helper, self.helper.past[-1:]
        quiet = control.rougher(self.part.accuracy)
        subset = self.part.of(problem)
        found = helper.step(subset, quiet, at)
        control.steps = quiet.steps
        end = Place(found.point.w, found.point.b)
        if before and self.past:
            return {"subset": self.past[-1][1].moved(1.0, before[0][1], end)}
        self.sampling = SamplingError(
            subset, found.point, 1 - self.part.chance, self.rng
        )
        return {"sampled": end}

    def _guess(self, problem: Problem, point: PrimalPoint, kind: str, at: float):
        """A start with bands as wide as the errors of the last step were."""
        if kind == "sampled":
            return Guess(point.w, point.b, self.sampling)
        error = self.errors.get(kind)
        if error is None:
            return Guess(point.w, point.b, nearest_share(point))
        return Guess(point.w, point.b, _SAFETY * (error + rms(error)))
