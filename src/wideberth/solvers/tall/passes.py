"""The questions put to every batch of rows: `Sample` and `Gather`.

The first pass takes a sample. Gathering evaluates the objective at a point, folds the
rows that are settled there (theory §3) and hands over those that are not. A batch may
be forgotten once it has answered: nothing as long as the data is kept. At which bound a
row was settled is computed again, when it is asked for, from the point it was settled
at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.arrays import fill, host, namespace, scatter
from wideberth.problem.equal_rows import merge_chunk
from wideberth.problem.limits import LITTLE
from wideberth.screening import fold_samples
from wideberth.solvers.blocks import NoiseModel
from wideberth.solvers.newton.settings import SETTINGS
from wideberth.solvers.tall.aggregate import Grouping, Groups
from wideberth.solvers.tall.batches import Answer, Piece
from wideberth.solvers.tall.cells import Kinds, Merging, merge
from wideberth.solvers.tall.line_search import pulled_back
from wideberth.solvers.tall.proofs import Proof, part_of, slack_of
from wideberth.solvers.tall.subsample import SamplingError, chances, lucky


@dataclass(frozen=True)
class Sample:
    """The first pass, at w = 0: hand over a share of all rows.

    `sides` says whether to fold each class, which decides about the null model; it is
    decided already for rows in memory, which are one batch.
    """

    w: np.ndarray
    share: float
    seed: int
    sides: bool
    #: Whether there is one batch of all rows, whose point is kept.
    whole: bool
    #: Whether to hand over the distinct rows.
    distinct: bool = False

    b = 0.0

    def __call__(self, number: int, problem: Problem) -> Answer:
        """Answer for one batch."""
        margins, upper = fill(problem.weights, problem.n, 0.0), problem.y > 0
        point = problem.at(self.w, self.b, margins)
        every, above = upper | ~upper, int(namespace(upper).count_nonzero(upper))
        classes = [every] if problem.intercept is None else [upper, ~upper]
        piece, seed = Piece.of(problem, every), (self.seed, number)
        return Answer(
            number,
            problem.n,
            point.hinge,
            point.rounding,
            point if self.whole else None,
            problem.n,
            piece=piece.sampled(self.share, seed, problem.rows),
            sides=tuple(fold_samples(problem, c) for c in classes if self.sides),
            classes=(above, problem.n - above),
            equal=merge_chunk(problem) if self.distinct else None,
        )


@dataclass(frozen=True)
class Gather:
    """Evaluate at (w,b); hand over the rows near the margin, fold the others.

    Near are the rows within the `band` of the margin, and where a point `before` is
    given those that crossed it since, or without a band moved far enough to do so soon.
    Without either all are. `pinned` are rows that are near in any case, by batch. With
    a `grouping` all rows are handed over, those far away in groups of the same share
    α/c: `shares` has them, else rows were settled at `before`.
    """

    w: np.ndarray
    b: float
    band: SamplingError | None = None
    before: PrimalPoint | None = None
    #: Factor on all distances within which rows are near.
    widening: float = 1.0
    pinned: Mapping[int, Any] | None = None
    #: Number of near rows beyond which none is handed over; with 0 none is looked for.
    most: float = math.inf
    #: Share of the near rows that is handed over, as a sample with this seed.
    share: float = 1.0
    seed: int = 0
    #: Share of the rows that would be near which are; the others are merged.
    picked: float = 1.0
    grouping: Grouping | None = None
    shares: Mapping[int, Any] | None = None
    #: For sets per sample: whose α the rows near the margin bring along.
    proof: Proof | None = None
    #: How the other rows are told apart, where they are merged and not folded; of one
    #: batch of all rows.
    kinds: Kinds | None = None
    #: For one batch of all rows, whose point is kept: whether it is good enough, so
    #: that nothing need be gathered.
    good: Callable[[PrimalPoint], bool] | None = None

    def __call__(self, number: int, problem: Problem) -> Answer:
        """Answer for one batch."""
        if self._reads_once(problem):
            return self._in_one_read(number, problem)
        point, early = problem.at(self.w, self.b), None
        if self.good is not None and self.before is not None:
            held = sum(map(len, (self.pinned or {}).values()))
            point, early = pulled_back(problem, self.before, point, held)
        answer = Answer(number, problem.n, point.hinge, point.rounding)
        if self.good is not None:
            answer = replace(answer, point=point)
            if self.good(point):
                return answer
        if self.most == 0:
            return answer
        if self.grouping is not None:
            groups = self._grouped(number, problem, point.slack)
            return replace(answer, groups=groups)
        near = self._near(problem, point.slack)
        if (chosen := self._chosen(number, problem)) is not None:
            near = near & chosen
        near = near if early is None else near | early
        if self.pinned is not None:
            scatter(near, self.pinned[number], True)
        count = int(namespace(near).count_nonzero(near))
        if self.good is not None and count > (1 - LITTLE) * problem.n:
            near, count = point.slack == point.slack, problem.n  # which takes no copy
        answer = replace(answer, near=count)
        if count > self.most:
            return answer
        if self.kinds is not None:
            cells = merge(problem, self.kinds, point.slack, ~near)
            return self._handed_over(problem, replace(answer, cells=cells), near)
        active = point.slack > SETTINGS.least_distance
        fold = fold_samples(problem, ~near & active)
        answer = self._handed_over(problem, replace(answer, fold=fold), near)
        return answer if problem.noise.proportional else _condensed(answer, self.w)

    def _handed_over(self, problem: Problem, answer: Answer, near) -> Answer:
        """The answer with the rows `near`, or a sample of them."""
        number = answer.number
        alpha = None if self.proof is None else self.proof.alpha(number, problem)
        piece = Piece.of(problem, near, alpha)
        piece = piece.sampled(self.share, (self.seed, number))
        return replace(answer, piece=piece)

    def _reads_once(self, problem: Problem) -> bool:
        """Whether all that is asked is known of a row as soon as it is read."""
        if self.band is None or self.kinds is None or self.most == 0:
            return False
        plain = self.before is None and self.pinned is None and self.grouping is None
        return plain and self.band.known

    def _in_one_read(self, number: int, problem: Problem) -> Answer:
        """Margins, what is near and the cells of the rest, while rows are in cache."""
        assert self.band is not None
        assert self.kinds is not None
        margins, near = np.empty(problem.n), np.empty(problem.n, dtype=bool)
        beyond = 1.0 + problem.noise.supports(self.w)
        if problem.intercept is not None:
            beyond = beyond - self.b * problem.y
        merging = Merging(problem, self.kinds)
        chosen = self._chosen(number, problem)
        for rows, block in problem.rows.one_read():
            margins[rows] = (block @ self.w) * problem.y[rows]
            slack = beyond[rows] - margins[rows]
            band = self.band.of_block(block, problem.weights[rows], slack)
            near[rows] = np.abs(slack) <= self.widening * band
            if chosen is not None:
                near[rows] &= chosen[rows]
            merging.add(rows, block, slack, ~near[rows])
        point = problem.at(self.w, self.b, margins)
        count = int(np.count_nonzero(near))
        answer = Answer(number, problem.n, point.hinge, point.rounding, near=count)
        if self.good is not None:
            answer = replace(answer, point=point)
            if self.good(point):
                return answer
        if count > self.most:
            return answer
        answer = replace(answer, cells=merging.finish())
        return self._handed_over(problem, answer, near)

    def wider(self, wrong: PrimalPoint) -> Gather:
        """The same with more rows near: those that cross on the way to a wrong point.

        Where rows were near for their last move it is their distances that grow.
        """
        if self.band is None:
            return replace(self, widening=3 * self.widening)
        return replace(self, before=wrong, picked=min(2 * self.picked, 1.0))

    def _chosen(self, number: int, problem: Problem):
        """Which rows may be near where only some are picked; None where all may be."""
        if self.picked == 1:
            return None
        chance = chances(problem.rows, problem.weights, self.picked * problem.n)
        return lucky(problem.y, chance, (self.seed, number))

    def narrower(self) -> Gather:
        """The same with fewer rows near, but for those that crossed the margin."""
        return replace(self, widening=LITTLE * self.widening)

    def part(self, number: int) -> Gather:
        """What of this question concerns one batch."""
        proof = None if self.proof is None else part_of(self.proof, number)
        return replace(part_of(self, number), proof=proof)

    def _near(self, problem: Problem, slack):
        """Which rows may still cross the margin."""
        xp = namespace(slack)
        if self.before is None and self.band is None:
            return slack == slack
        near = xp.abs(slack) <= self._distances(problem, slack)
        if self.before is None:
            return near
        return near | ((slack_of(problem, self.before) > 0) != (slack > 0))

    def _distances(self, problem: Problem, slack):
        """How far each row may still move."""
        xp = namespace(slack)
        if self.band is not None:
            return self.widening * self.band(problem, slack)
        distance = SETTINGS.least_band * (1 + float(xp.mean(xp.abs(slack))))
        if self.before is not None:
            move = xp.abs(slack - slack_of(problem, self.before))
            typical = math.sqrt(float(xp.mean(move * move)))
            distance = distance + SETTINGS.next_move * (move + 0.5 * typical)
        return self.widening * distance

    def _grouped(self, number: int, problem: Problem, slack: np.ndarray) -> Groups:
        """All rows; single ones are those whose share seems to be about to change."""
        problem, slack = problem.on_host(), host(slack)
        if self.shares is not None:
            share = self.shares[number]
        else:
            settled = slack
            if self.before is not None:
                settled = slack_of(problem, self.before)
            share = np.where(settled > 0, 1.0, 0.0)
        units = self._distances(problem, slack)
        units = np.where(np.isfinite(units), units, 1.0)
        return Groups.of(problem, slack, share, np.abs(slack) / units)


def _condensed(answer: Answer, w: np.ndarray) -> Answer:
    """The answer with a model at w for the ellipsoids of folded rows."""
    fold = answer.fold
    if fold is None or fold.noise is None or not fold.noise.parts:
        return answer
    model = NoiseModel.of(fold.noise, w)
    return replace(answer, fold=replace(fold, noise=None), model=model)
