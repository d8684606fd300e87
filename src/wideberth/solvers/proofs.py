"""A dual point of all rows, and what the certificate proves of each of them.

A `Proof` holds no α of rows that were settled: it is computed again, when it is asked
for, from the point they were settled at. `Decide` asks every batch for that, and for
what the certificate proves of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wideberth.noise.sets import Noise, Sets
from wideberth.problem import DualPoint, Pair, PrimalPoint, Problem
from wideberth.problem.arrays import (
    Array,
    concat,
    host,
    like,
    masked,
    namespace,
    scatter,
)
from wideberth.problem.rows import as_rows
from wideberth.screening import Partition, decide, screen_at_hand
from wideberth.solvers.blocks import LEAST_DISTANCE

if TYPE_CHECKING:
    from wideberth.solvers.batches import Batches


@dataclass(frozen=True)
class Proof:
    """A dual point of the whole problem, without α of the rows that were settled.

    They were at the point `rule`: above the margin at 0, below it at their weight, or
    at these ratios `by_class` of it where y > 0 and y < 0. `members`, by batch, are the
    places and α of the others; or all rows have `ratios` α/c.
    """

    dual: DualPoint
    rule: PrimalPoint
    members: Mapping[int, tuple[Array, Array]] | None = None
    ratios: Mapping[int, Array] | None = None
    by_class: tuple[float, float] = (1.0, 1.0)

    def alpha(self, number: int, problem: Problem):
        """α of the rows of one batch."""
        if self.ratios is not None:
            return like(self.ratios[number], problem.weights) * problem.weights
        slack, (upper, lower) = slack_of(problem, self.rule), self.by_class
        alpha = masked(slack > LEAST_DISTANCE, problem.weights)
        if upper != lower:
            alpha *= namespace(slack).where(problem.y > 0, upper, lower)
        elif upper != 1:
            alpha *= upper
        if self.members is not None:
            scatter(alpha, *self.members[number])
        return alpha


@dataclass(frozen=True)
class Decided:
    """What is known of rows at the end, a batch or all; arrays where there is room."""

    counts: tuple[int, int, int]  # free, saturated, removed
    alpha: Array | None = None
    #: Masks of the rows at α* = 0 and at α* = c.
    removed: Array | None = None
    saturated: Array | None = None
    #: For a free b: bounds on margins that leave it out, labels and weights.
    undecided: tuple[Array, ...] = ()


@dataclass(frozen=True)
class Decide:
    """Say what the certificate proves of every row, and what its α is.

    The optimum lies in the `region` of the `pair` of points; a row is decided if its
    robust margin keeps to one side of 1 all over it (theory §5). Bounds on it leave out
    a free b: that takes those of all rows.
    """

    pair: Pair
    region: str | None
    arrays: bool
    proof: Proof

    def __call__(self, number: int, problem: Problem) -> Decided:
        """Answer for one batch."""
        known, counts = None, (0, 0, 0)
        if self.region is not None:
            known = self._screened(problem, self.region)
            counts = known.counts
        if not self.arrays:
            return Decided(counts)
        alpha = self.proof.alpha(number, problem)
        if known is None:
            return Decided(counts, alpha)
        if problem.intercept != 0:
            return Decided(counts, alpha, known.removed, known.saturated)
        parts = known.lower, known.upper, problem.y, problem.weights
        return Decided(counts, alpha, undecided=parts)

    def _screened(self, problem: Problem, region: str) -> Partition:
        if problem.intercept == 0:
            problem = replace(problem, intercept=None)
        point = self.pair.point
        here = problem.at(point.w, point.b)
        point = replace(point, margins=here.margins, slack=here.slack)
        return screen_at_hand(problem, Pair(point, self.pair.dual), region)

    def part(self, number: int) -> Decide:
        """What of this question concerns one batch."""
        return replace(self, proof=part_of(self.proof, number))


def decide_rows(batches: Batches, question: Decide) -> Decided:
    """What is known of all rows, by one pass.

    With a free b decisions take bounds on all margins at once (theory §4.4).
    """
    parts = list(batches.ask(question))
    counts = tuple(sum(part.counts[k] for part in parts) for k in range(3))
    if not question.arrays:
        return Decided(counts)
    alpha = concat([part.alpha for part in parts])
    if question.region is None:
        return Decided(counts, alpha)
    if batches.intercept == 0:
        known = with_intercept(parts, batches.sets)
        return Decided(known.counts, alpha, known.removed, known.saturated)
    removed = concat([part.removed for part in parts])
    saturated = concat([part.saturated for part in parts])
    return Decided(counts, alpha, removed, saturated)


def with_intercept(parts: list[Decided], sets: Sets) -> Partition:
    """What is proven of the rows of all batches, a free intercept included."""
    columns = zip(*(part.undecided for part in parts), strict=True)
    lower, upper, y, weights = (concat(list(column)) for column in columns)
    rows, own = as_rows(np.empty((y.shape[0], 0)), host(y)), host(weights)
    problem = Problem(rows, own, Noise(sets, own), 0.0)
    found = decide(problem, host(lower), host(upper))
    masks = like(found.removed, y), like(found.saturated, y)
    return Partition(*masks, lower, upper)


def slack_of(problem: Problem, point: PrimalPoint):
    """The slack of a batch's rows at a point, computed where it is not known."""
    if point.slack.shape[0] == problem.n:
        return point.slack
    return problem.slack(point.w, point.b)


def part_of(question, number: int):
    """A question or a proof with what it holds of one batch alone."""
    names = {"pinned", "ratios", "members"} & vars(question).keys()
    own = {name: getattr(question, name) for name in names}
    own = {
        k: {number: v[number]} if number in v else {}  # an empty batch is no member
        for k, v in own.items()
        if v is not None
    }
    return replace(question, **own)
