"""The questions put to every batch of rows: `Sample` and `Gather`.

The first pass takes a sample. Gathering evaluates the objective at a point, folds the
rows that are settled there (theory §3) and hands over those that are not. A batch may
be forgotten once it has answered: nothing as long as the data is kept. At which bound a
row was settled is computed again, when it is asked for, from the point it was settled
at.

`Batches` is what a search needs of the data: all rows in memory are one batch, files
and clusters have many (`chunked.py`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wideberth.problem import Folded, PrimalPoint, Problem
from wideberth.problem.arrays import (
    fill,
    host,
    namespace,
    pick,
    scatter,
)
from wideberth.problem.equal_rows import EqualRows, merge_chunk
from wideberth.problem.error_bars import NO_PUSHES
from wideberth.problem.layouts import as_rows
from wideberth.problem.limits import LITTLE
from wideberth.problem.noise import Noise
from wideberth.problem.rows import Passes
from wideberth.screening import fold_samples
from wideberth.solvers.aggregate import Grouping, Groups
from wideberth.solvers.cells import Cells, Kinds, Merging, merge
from wideberth.solvers.measured_engine import Model
from wideberth.solvers.newton_settings import SETTINGS
from wideberth.solvers.proofs import Proof, part_of, slack_of
from wideberth.solvers.subsample import SamplingError, chances, draw, lucky

#: Number of times that a third of a way is thrown away, which leaves a fifth of it (a
#: choice).
_THIRDS = 4


class Batches(ABC):
    """The rows of a problem in batches; `map` puts a question to each of them.

    A question is called with the number of the batch and the problem on its rows.
    """

    #: Rows, where that is known before the first pass, and features.
    n: int | None
    d: int
    noise: Noise
    intercept: float | None
    #: Rows that may be handed over at a time.
    capacity: int
    #: What products over rows in memory, which are one batch, are counted by.
    counter: Passes | None = None
    #: A norm penalty, which every problem made of the rows has.
    penalty: Folded | None = None
    #: Most roundings in weights that are those of equal samples (`Problem.chain`).
    chain = 0.0
    #: Whether the first pass asks for distinct rows.
    distinct: Any = None
    #: Whether rows stay where they are, so that a read costs a product and no more.
    stays = False

    @abstractmethod
    def map(self, question) -> Iterator:
        """Answers of all batches; one pass."""

    #: Whether all rows share one shape of noise; others are not put in groups.
    shared = True

    @abstractmethod
    def grouping(self, n: int) -> Grouping:
        """How to group n rows that cannot be held."""

    @abstractmethod
    def spares(self, size: int) -> bool:
        """Whether so many bytes may be held for numbers per row."""


class InMemory(Batches):
    """All rows of a problem as one batch; points keep their margins."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.n = self.capacity = problem.n
        self.d, self.noise = problem.rows.d, problem.noise
        self.shared = problem.shared
        self.intercept, self.counter = problem.intercept, problem.rows.passes
        self.penalty, self.chain = problem.folded, problem.chain

    def map(self, question):
        """Ask the one batch."""
        yield question(0, self.problem)

    def grouping(self, n):
        """There is room for all rows."""
        raise NotImplementedError

    def spares(self, size):
        """There is room for numbers per row, too."""
        return True


@dataclass(frozen=True)
class Piece:
    """Rows of one batch that are handed over, and the chance each had to be drawn."""

    X: Any
    y: Any
    weights: Any
    radii: Any
    indices: Any  # their places in the batch
    chance: Any
    bars: Any = None  # sets of their own, where there are
    alpha: Any = None  # in the last proof, where that is asked for

    @classmethod
    def of(cls, problem: Problem, near, alpha=None) -> Piece:
        """The rows `near`, a mask; no copy is made of all rows."""
        indices = namespace(near).nonzero(near)[0]
        parts = [problem.rows.X, problem.y, problem.weights, problem.radii]
        if indices.shape[0] < problem.n:
            parts = [pick(part, indices) for part in parts]
        X, y, weights, radii = parts
        bars = None if problem.shared else problem.noise.take(indices)
        alpha = None if alpha is None else pick(alpha, indices)
        chance = fill(y, indices.shape[0], 1.0)
        return cls(X, y, weights, radii, indices, chance, bars, alpha)

    @property
    def n(self) -> int:
        """Rows."""
        return self.indices.shape[0]

    def sampled(self, share: float, seed: tuple[int, ...], rows=None) -> Piece:
        """About this share of the rows, which are `rows` where those are at hand."""
        k = math.ceil(share * self.n)
        if k >= self.n:
            return self
        rows = as_rows(self.X, self.y) if rows is None else rows
        J, chance = draw(rows, self.weights, k, seed)
        parts = self.X, self.y, self.weights, self.radii, self.indices, self.chance
        X, y, weights, radii, indices, before = (pick(part, J) for part in parts)
        bars = None if self.bars is None else self.bars.take(J)
        alpha = None if self.alpha is None else pick(self.alpha, J)
        return Piece(X, y, weights, radii, indices, before * chance, bars, alpha)


@dataclass(frozen=True)
class Answer:
    """What one batch holds at a point."""

    number: int
    n: int
    hinge: float
    rounding: float
    #: The point with its margins, where that was asked for.
    point: PrimalPoint | None = None
    #: How many rows are near the margin.
    near: int = 0
    #: Rows taken to be at α = c, or all that are far, in cells; and those handed over,
    #: singly or in groups.
    fold: Folded | None = None
    cells: Cells | None = None
    piece: Piece | None = None
    #: What stands for the noise of folded rows that have sets of their own.
    model: Model | None = None
    groups: Groups | None = None
    #: All rows folded, by class where there is an intercept, and how many of each class
    #: there are; the first pass over many batches only.
    sides: tuple[Folded, ...] = ()
    classes: tuple[int, int] = (0, 0)
    #: The distinct rows of a batch, where those are asked for and few.
    equal: EqualRows | None = None


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
            point, early = self._pulled_back(problem, self.before, point)
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
        return answer if problem.shared else _condensed(answer, problem, self.w)

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
        beyond = 1.0 + problem.sample_noise.supports(self.w)
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

    def _pulled_back(self, problem: Problem, best: PrimalPoint, point: PrimalPoint):
        """A point, or a better one on the way to it; and which rows cross first then.

        Rows that were settled wrongly hold nothing back, so that a solution may be far
        off and worse than the best point. The objective is convex: halving the way
        finds a lower one. The rows that cross the margin up to twice as far, and more
        until the working set has grown by a tenth, are those that were missed.
        """
        if not point.value > best.value:
            return point, None
        asked, t = point, self._way(problem, best, point)
        if t > 0:  # margins that are a mean round otherwise than the certificate allows
            w, b = best.w + t * (asked.w - best.w), best.b + t * (asked.b - best.b)
            point = problem.at(w, b)
        point = point if t > 0 and point.value < best.value else best
        crossed = (best.slack > 0) != (asked.slack > 0)
        xp = namespace(crossed)
        move = xp.where(crossed, best.slack - asked.slack, 1.0)
        way = xp.where(crossed, best.slack / move, math.inf)
        held = 0 if self.pinned is None else sum(map(len, self.pinned.values()))
        least = min(int(LITTLE * held), problem.n - 1)
        return point, crossed & (way <= max(2 * t, float(xp.sort(way)[least])))

    def _way(self, problem: Problem, best: PrimalPoint, asked: PrimalPoint) -> float:
        """How far to go from one point towards another: to the least of a few values.

        No row is read for that: margins in between are means. The objective is convex,
        so halving the way can stop where values rise again, and thirds of what is left
        about the lowest one can be thrown away.
        """

        def value(t):
            w, b = best.w + t * (asked.w - best.w), best.b + t * (asked.b - best.b)
            margins = best.margins + t * (asked.margins - best.margins)
            return problem.at(w, b, margins).value

        t, low, here = 0.5, value(0.5), best.value
        while t > SETTINGS.least_way and not (low < here and value(0.5 * t) > low):
            t *= 0.5
            low = value(t)
        if not low < here:
            return 0.0
        left, right = 0.5 * t, 2.0 * t
        for _ in range(_THIRDS):
            if value(2 / 3 * left + right / 3) < value(left / 3 + 2 / 3 * right):
                right = left / 3 + 2 / 3 * right
            else:
                left = 2 / 3 * left + right / 3
        return 0.5 * (left + right)

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


def _condensed(answer: Answer, problem: Problem, w: np.ndarray) -> Answer:
    """The answer with a model at w, or one box, for the sets of folded rows."""
    assert answer.fold is not None
    fold, pushes = answer.fold, answer.fold.pushes
    if not pushes.parts:
        return answer
    if not problem.noise.smooth:
        return replace(
            answer, fold=replace(fold, pushes=problem.noise.condensed(pushes))
        )
    fold = replace(fold, pushes=NO_PUSHES)
    return replace(answer, fold=fold, model=Model.of(pushes, w))
