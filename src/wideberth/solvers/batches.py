"""The rows of a problem in batches, and the questions that a pass puts to each of them.

`Batches` is all that the driver knows of the data: rows in memory are one batch, files
and clusters have several. One call of `ask` is one pass. A batch answers a question
with sums over its rows and with the rows that it hands over; it may be forgotten once
it has answered, for nothing as long as the data is kept:

* `FirstPass` hands over a sample of the rows, or all of them;
* `Gather` evaluates the objective at a point, hands over the rows near the margin there
  and folds the others (theory §3), each taken to be at the bound on its side;
* `Decide` says at the end what the certificate proves of every row.

A `Proof` is a dual point of all rows. It holds no α of folded rows: that is computed
again, when it is asked for, from the point at which they were folded.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace

import numpy as np

from wideberth.noise.sets import Noise, Sets
from wideberth.problem import DualPoint, Folded, Pair, PrimalPoint, Problem
from wideberth.problem.arrays import (
    Array,
    concat,
    fill,
    host,
    like,
    masked,
    namespace,
    pick,
    scatter,
)
from wideberth.problem.limits import LITTLE
from wideberth.problem.merge import Grouping, Groups
from wideberth.problem.rows import Passes, as_rows
from wideberth.screening import Partition, decide, screen_at_hand
from wideberth.solvers.blocks import LEAST_DISTANCE, NoiseModel
from wideberth.solvers.sampling import SamplingError, draw

#: Groups of similar targets for each batch, by which the loss of the best constant is
#: known to about its 10⁻⁶ (a bin of quantiles is 1/1024 of the rows).
_TARGETS = 1024


class Batches(ABC):
    """The rows of a problem in batches; `ask` puts a question to each of them.

    A question is called with the number of the batch and the problem on its rows.
    """

    #: Rows, where that is known before the first pass, and features.
    n: int | None
    d: int
    #: The sets within which samples move; only their kind, where chunks bring them.
    sets: Sets
    intercept: float | None
    #: Rows that may be handed over at a time.
    capacity: int
    #: Whether all rows are one batch in memory, so that points keep their margins.
    in_memory = False
    #: Whether a read costs a product and no more: in memory, on a device or a cluster.
    stays = False
    #: s₀ of a norm penalty, which every problem made of the rows has, and samples
    #: that are folded beside them.
    penalty: float = 0.0
    folded: Folded | None = None
    #: Least number that gaps are relative to (`Problem.least_scale`).
    least_scale = 0.0
    #: q of the quantile loss, where the first pass hands over rows with all their noise
    #: (`Problem.hinges`); 0 elsewhere.
    tilt: float = 0.0
    #: Most roundings in weights that are those of equal samples (`Problem.chain`).
    chain = 0.0

    @abstractmethod
    def ask(self, question) -> Iterator:
        """Answers of all batches; one pass."""

    def grouping(self, n: int) -> Grouping:
        """How to group n rows that cannot be held; not asked where all fit."""
        raise NotImplementedError

    def spares(self, size: int) -> bool:
        """Whether so many bytes may be held for numbers per row."""
        return True

    def per_row(self, n: int) -> MutableMapping[int, Array]:
        """What keeps numbers of n rows, batch by batch."""
        return {}

    def counter(self, n: int) -> Passes:
        """What products over n rows that were handed over are counted by."""
        return Passes(n)


class InMemory(Batches):
    """All rows of a problem as one batch."""

    in_memory = stays = True

    def __init__(self, problem: Problem):
        self.problem = problem
        self.n = self.capacity = problem.n
        self.d, self.sets = problem.rows.d, problem.noise.sets
        self.intercept, self.penalty = problem.intercept, problem.penalty
        self.folded, self.chain = problem.folded, problem.chain
        self.least_scale = problem.least_scale

    def ask(self, question):
        """Ask the one batch."""
        yield question(0, self.problem)

    def counter(self, n):
        """Products count as those with the rows they were taken from."""
        return self.problem.rows.passes


@dataclass(frozen=True)
class Piece:
    """Rows of one batch that are handed over."""

    problem: Problem  # of these rows alone
    indices: Array  # their places in the batch
    chance: Array  # that each had to be drawn
    alpha: Array | None = None  # in the last proof, where that is asked for

    @classmethod
    def of(cls, problem: Problem, chosen, alpha=None) -> Piece:
        """The rows of a mask; no copy is made of all rows."""
        indices = namespace(chosen).nonzero(chosen)[0]
        if indices.shape[0] < problem.n:
            problem = problem.take(indices)
            alpha = None if alpha is None else pick(alpha, indices)
        chance = fill(problem.y, problem.n, 1.0)
        return cls(replace(problem, folded=None), indices, chance, alpha)

    @property
    def n(self) -> int:
        """Rows."""
        return self.indices.shape[0]

    def sampled(self, share: float, seed: tuple[int, ...]) -> Piece:
        """About this share of the rows."""
        k = math.ceil(share * self.n)
        if k >= self.n:
            return self
        J, chance = draw(self.problem.rows, self.problem.weights, k, seed)
        alpha = None if self.alpha is None else pick(self.alpha, J)
        before = pick(self.chance, J)
        return Piece(
            self.problem.take(J), pick(self.indices, J), before * chance, alpha
        )


@dataclass(frozen=True)
class Answer:
    """What one batch holds at a point."""

    number: int
    n: int
    hinge: float
    rounding: float
    #: The point with its margins, in memory.
    point: PrimalPoint | None = None
    #: How many rows are near the margin, and places of those that crossed it.
    near: int = 0
    crossed: Array | None = None
    #: Rows that are handed over, singly or in groups, and those taken to be at α = c.
    piece: Piece | None = None
    groups: Groups | None = None
    fold: Folded | None = None
    #: What stands for the noise of folded rows that each have a set.
    model: NoiseModel | None = None
    #: How many rows of each class there are, in the first pass.
    classes: tuple[int, int] = (0, 0)
    #: Under the quantile loss, in the first pass: groups of rows of similar targets.
    targets: Problem | None = None
    #: Noise outside the hinges, of which chunks have no sum, at the point.
    noise: float = 0.0


@dataclass(frozen=True)
class FirstPass:
    """At w = 0: hand over a share of all rows that have a weight."""

    w: np.ndarray
    share: float
    seed: int
    in_memory: bool

    b, most, grouping = 0.0, math.inf, None

    def __call__(self, number: int, problem: Problem) -> Answer:
        """Answer for one batch."""
        upper = int(namespace(problem.y).count_nonzero(problem.y > 0))
        point = evaluated(problem, self.w, self.b)
        piece = Piece.of(problem, problem.weights > 0)
        return Answer(
            number,
            problem.n,
            point.hinge,
            point.rounding,
            point if self.in_memory else None,
            piece.n,
            piece=piece.sampled(self.share, (self.seed, number)),
            fold=None if self.in_memory else problem.folded,
            classes=(upper, problem.n - upper),
            targets=None if self.in_memory or problem.m is None else _coarse(problem),
        )


def _coarse(problem: Problem) -> Problem:
    """Groups of rows of similar targets, without features.

    By convexity no constant loses more on them than on the rows themselves.
    """
    m, weights = host(problem.m), host(problem.weights)
    used = np.flatnonzero(weights > 0)
    order = used[np.argsort(m[used])]
    starts = np.unique(np.linspace(0, order.size, _TARGETS, False, dtype=np.int64))
    if not order.size:
        starts = np.empty(0, dtype=np.int64)
    sums = np.add.reduceat(weights[order], starts) if order.size else np.empty(0)
    means = np.add.reduceat((weights * m)[order], starts) / sums if order.size else sums
    rows = as_rows(np.empty((sums.size, 0)), np.full(sums.size, float(problem.y[0])))
    noise = Noise(problem.noise.sets.take(slice(0)), np.zeros(sums.size))
    return Problem(rows, sums, noise, problem.intercept, m=means)


@dataclass(frozen=True)
class Gather:
    """Evaluate at (w,b); hand over the rows near the margin, fold the others.

    Near are the rows within the `band` of the margin, those `pinned`, by batch, and
    those on different sides of it at (w,b) and at `other`. Of the last, rows outside
    the last working set, `members`, are said to have crossed. With a `grouping` all
    rows are handed over, far ones in groups of one ratio α/c: that in `ratios`, or the
    bound on their side of the margin at `other`.
    """

    w: np.ndarray
    b: float
    #: Distance within which rows are near, and a factor on it.
    band: float | SamplingError = math.inf
    widening: float = 1.0
    other: PrimalPoint | None = None
    pinned: Mapping[int, Array] | None = None
    members: Mapping[int, Array] | None = None
    #: The point with its margins, where these are known.
    known: PrimalPoint | None = None
    #: Whether there is one batch in memory, whose point is kept.
    in_memory: bool = False
    #: Least number of rows to hand over, of one batch in memory.
    least: int = 0
    #: Numbers of near rows, and of rows that crossed the margin, beyond which none is
    #: handed over; with 0 none is looked for.
    most: float = math.inf
    most_crossed: float = math.inf
    #: Share of the near rows that is handed over, as a sample with this seed.
    share: float = 1.0
    seed: int = 0
    grouping: Grouping | None = None
    ratios: Mapping[int, Array] | None = None
    #: For sets per sample: whose α the rows near the margin bring along, and where
    #: the noise of folded rows is modelled if w = 0, the kink of all sets.
    proof: Proof | None = None
    about: np.ndarray | None = None
    #: Whether that model is to lie above the noise (`NoiseModel.of`).
    majorised: bool = False

    def __call__(self, number: int, problem: Problem) -> Answer:
        """Answer for one batch."""
        point = self.known or evaluated(problem, self.w, self.b)
        answer = Answer(number, problem.n, point.hinge, point.rounding)
        if self.in_memory:
            answer = replace(answer, point=point)
        elif problem.folded is not None:
            answer = replace(answer, noise=problem.outside.support(self.w))
        if self.most == 0:
            return answer
        if self.grouping is not None:
            groups = self._grouped(number, problem, point.slack)
            return replace(answer, groups=groups)
        near, crossed = self._near(number, problem, point.slack)
        xp = namespace(near)
        count, across = int(xp.count_nonzero(near)), xp.nonzero(crossed)[0]
        answer = replace(answer, near=count, crossed=across)
        if count > self.most or across.shape[0] > self.most_crossed:
            return answer
        active = ~near & (point.slack > LEAST_DISTANCE)
        alpha = None if self.proof is None else self.proof.alpha(number, problem)
        piece = Piece.of(problem, near, alpha)
        piece = piece.sampled(self.share, (self.seed, number))
        fold = problem.fold(active)
        if self.in_memory or problem.noise.proportional:
            return replace(answer, piece=piece, fold=fold)
        fold = fold if problem.folded is None else problem.folded + fold
        about = self.w if self.about is None else self.about
        answer = replace(answer, piece=piece, fold=fold)
        return _condensed(answer, about, self.majorised)

    def _near(self, number: int, problem: Problem, slack) -> tuple[Array, Array]:
        """Masks of the rows to hand over, and of those that crossed the margin."""
        xp, used = namespace(slack), problem.weights > 0
        near, crossed = used & (xp.abs(slack) <= self._distances(problem, slack)), None
        if self.other is not None:
            crossed = used & ((slack_of(problem, self.other) > 0) != (slack > 0))
            near = near | crossed
            if self.members:
                scatter(crossed, self.members[number], False)
        if self.pinned:
            scatter(near, self.pinned[number], True)
        if self.in_memory:
            near = self._plenty(near, slack)
        return near, ~used & used if crossed is None else crossed

    def _plenty(self, near: np.ndarray, slack: np.ndarray) -> np.ndarray:
        """At least the `least` nearest rows; all rows, where nearly all are near."""
        count, n = int(np.count_nonzero(near)), near.size
        if count < min(self.least, n):
            nearest = np.argpartition(np.abs(slack), min(self.least, n) - 1)
            near[nearest[: self.least]] = True
        if (1 - LITTLE) * n < count < n:  # which takes no copy
            near = np.ones(n, dtype=bool)
        return near

    def _distances(self, problem: Problem, slack):
        """How far from the margin each row is still near."""
        if isinstance(self.band, SamplingError):
            return self.widening * self.band(problem, slack)
        return self.widening * self.band

    def _grouped(self, number: int, problem: Problem, slack: np.ndarray) -> Groups:
        """All rows; single ones are those whose α/c seems to be about to change."""
        problem, slack = problem.on_host(), host(slack)
        there = slack if self.other is None else slack_of(problem, self.other)
        ratio = np.where(there > 0, 1.0, 0.0)
        if self.ratios is not None:
            ratio = host(self.ratios[number])
        units = self._distances(problem, slack)
        if self.other is not None:  # moves of margins so far, and the usual one
            move = np.abs(slack - there)
            units = move + 0.5 * np.sqrt(np.mean(move * move))
        units = np.where(np.isfinite(units) & (units > 0), units, 1.0)
        return Groups.of(problem, slack, ratio, np.abs(slack) / units)


def _condensed(answer: Answer, w: np.ndarray, majorised: bool) -> Answer:
    """The answer, with a model at w in place of the ellipsoids of folded rows."""
    fold = answer.fold
    if fold is None or fold.noise is None or not fold.noise.parts:
        return answer
    model = NoiseModel.of(fold.noise, w, majorised=majorised)
    return replace(answer, fold=replace(fold, noise=None), model=model)


# -- α of all rows, and what is proven of them ----------------------------------------


@dataclass(frozen=True)
class Proof:
    """A dual point of the whole problem, without α of the folded rows.

    At the point `rule` these were above the margin, α_i = 0, or below it, α_i = c_i.
    `members` has the places and α of the others, by batch; or `ratios` has α/c of all
    rows.
    """

    dual: DualPoint
    rule: PrimalPoint
    members: Mapping[int, tuple[Array, Array]] | None = None
    ratios: Mapping[int, Array] | None = None

    def alpha(self, number: int, problem: Problem):
        """α of the rows of one batch."""
        if self.ratios is not None:
            return like(self.ratios[number], problem.weights) * problem.weights
        fixed = slack_of(problem, self.rule) > LEAST_DISTANCE
        alpha = masked(fixed, problem.weights)
        if self.members is not None:
            scatter(alpha, *self.members[number])
        return alpha


@dataclass(frozen=True)
class Decided:
    """What is known of rows at the end, of a batch or of all.

    Arrays are None where they do not fit in memory.
    """

    counts: tuple[int, ...]  # free, saturated, removed
    alpha: Array | None = None
    #: Masks of the rows at α* = 0 and at α* = c.
    removed: Array | None = None
    saturated: Array | None = None
    #: For a free b: bounds on margins that leave it out, labels, weights and targets.
    undecided: tuple[Array, ...] = ()


@dataclass(frozen=True)
class Decide:
    """Say what the certificate proves of every row, and what its α is.

    The optimum lies in the `region` of the `pair` of points; a row is decided if its
    robust margin keeps to one side of its target all over it (theory §5). With a free b
    a batch bounds the margins without b, since b takes those of all rows (§4.4).
    """

    pair: Pair
    region: str | None
    arrays: bool
    proof: Proof

    def __call__(self, number: int, problem: Problem) -> Decided:
        """Answer for one batch."""
        decided = Decided((0, 0, 0))
        if self.region is not None:
            known = self._screened(problem, self.region)
            decided = Decided(known.counts)
            if self.arrays and problem.intercept == 0:
                numbers = problem.y, problem.weights, problem.targets
                bounds = known.lower, known.upper, *numbers
                decided = replace(decided, undecided=bounds)
            elif self.arrays:
                decided = Decided(known.counts, None, known.removed, known.saturated)
        if not self.arrays:
            return decided
        return replace(decided, alpha=self.proof.alpha(number, problem))

    def _screened(self, problem: Problem, region: str) -> Partition:
        if problem.intercept == 0:
            problem = replace(problem, intercept=None)
        point = self.pair.point
        here = problem.at(point.w, point.b)
        point = replace(point, margins=here.margins, slack=here.slack)
        return screen_at_hand(problem, Pair(point, self.pair.dual), region)


def decide_rows(batches: Batches, question: Decide) -> Decided:
    """What is known of all rows, by one pass."""
    parts = list(batches.ask(question))
    counts = tuple(map(sum, zip(*(part.counts for part in parts), strict=True)))
    if not question.arrays:
        return Decided(counts)
    alpha = concat([part.alpha for part in parts])
    if question.region is None:
        return Decided(counts, alpha)
    if batches.intercept == 0:
        columns = zip(*(part.undecided for part in parts), strict=True)
        lower, upper, y, c, m = (host(concat(list(column))) for column in columns)
        rows, noise = as_rows(np.empty((y.shape[0], 0)), y), Noise(batches.sets, c)
        problem = Problem(rows, c, noise, 0.0, batches.folded, m=m)
        known = decide(problem, lower, upper)
        masks = like(known.removed, alpha), like(known.saturated, alpha)
        return Decided(known.counts, alpha, *masks)
    removed = concat([part.removed for part in parts])
    return Decided(counts, alpha, removed, concat([p.saturated for p in parts]))


def evaluated(problem: Problem, w: np.ndarray, b: float) -> PrimalPoint:
    """A point of a batch; at w = 0 margins are 0, without a product and rounding."""
    if w.any():
        return problem.at(w, b)
    nothing = fill(problem.weights, problem.n, 0.0)
    return problem.at(w, b, nothing, nothing)


def slack_of(problem: Problem, point: PrimalPoint):
    """The slack of a batch's rows at a point, computed where it is not known."""
    if point.slack.shape[0] == problem.n:
        return point.slack
    return problem.slack(point.w, point.b)


def part_of(question, number: int):
    """A question or a proof with what it holds of one batch alone."""
    parts = {}
    for name, value in vars(question).items():
        if isinstance(value, Mapping):  # an empty batch is no member
            parts[name] = {number: value[number]} if number in value else {}
        elif isinstance(value, Proof):
            parts[name] = part_of(value, number)
    return replace(question, **parts)
