"""The two questions put to every chunk: `Look`, and `Settle` at the end.

A look evaluates the objective at a point, folds the rows that are settled there and
hands over those that are not. The chunk is forgotten once it has answered: nothing as
long as the data is kept, neither here nor with the chunks. At which bound a row was
settled is computed again, when it is asked for, from the point it was settled at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from wideberth.data.chunks import Chunk, Terms
from wideberth.problem import Folded, PrimalPoint, Problem
from wideberth.problem.arrays import fill, like, namespace, pick, scatter
from wideberth.problem.limits import TINY
from wideberth.problem.rows import as_rows
from wideberth.screening import fold_samples
from wideberth.screening.bounds import separable
from wideberth.screening.regions import Region
from wideberth.solvers.aggregate import Groups

__all__ = ["Aggregate", "Answer", "Look", "Piece", "Settle", "Settled", "draw"]


#: Slack up to which a row is taken to be at the margin rather than beyond it.
_TOUCHING = 1e-9
#: How many times the mean pull of a row makes it a heavy one.
_HEAVY = 8.0
#: Share of the last move of a margin that its next move may have: a choice.
_OF_MOVE = 0.5
#: Least distance from the margin within which rows are handed over, in mean distances
#: of all rows: a choice.
_LEAST_REACH = 1e-5


@dataclass(frozen=True)
class Piece:
    """Rows of one chunk that are handed over, and the chance each had to be drawn."""

    X: Any
    y: Any
    weights: Any
    radii: Any
    #: Their places in the chunk, and whether they are beyond the margin.
    indices: Any
    active: Any
    chance: Any

    @classmethod
    def of(
        cls, problem: Problem, near, active, share: float, seed: tuple[int, ...]
    ) -> Piece:
        """Copy a share of the rows `near`, a mask, out of a chunk; see `draw`."""
        indices = namespace(near).nonzero(near)[0]
        n = indices.shape[0]
        chance, k = fill(problem.weights, n, 1.0), math.ceil(share * n)
        if k < n:
            pull = problem.weights * problem.rows.norms() ** 2
            y, pull = pick(problem.y, indices), pick(pull, indices)
            J, chance = draw(y, pull, k, seed)
            indices = pick(indices, J)
        everything = problem.rows.X, problem.y, problem.weights, problem.radii
        X, y, weights, radii = (pick(part, indices) for part in everything)
        return cls(X, y, weights, radii, indices, pick(active, indices), chance)

    @property
    def n(self) -> int:
        """Rows."""
        return self.indices.shape[0]

    def thinned(
        self, share: float, seed: tuple[int, ...], terms: Terms
    ) -> tuple[Piece, Folded | None]:
        """A share of these rows (see `draw`), and the others folded."""
        k = math.ceil(share * self.n)
        if k >= self.n:
            return self, None
        rows = as_rows(self.X, self.y)
        J, chance = draw(self.y, self.weights * rows.norms() ** 2, k, seed)
        own = Problem(rows, self.weights, self.radii, terms.noise, terms.intercept)
        left = fold_samples(own, _without(self.active, J))
        everything = self.X, self.y, self.weights, self.radii, self.indices, self.active
        X, y, weights, radii, indices, active = (pick(part, J) for part in everything)
        chance = pick(self.chance, J) * chance
        return Piece(X, y, weights, radii, indices, active, chance), left


@dataclass(frozen=True)
class Answer:
    """What a look found in one chunk."""

    number: int
    n: int
    hinge: float
    rounding: float
    #: Rows taken to be at α = c.
    fold: Folded
    piece: Piece
    #: Rows near the margin that were not drawn, taken to be at α = c where they are
    #: on that side; not at the first look.
    rest: Folded | None
    #: All rows folded, by class where there is an intercept, and how many of each class
    #: there are; the first look only.
    sides: list[Folded]
    classes: tuple[int, int]
    #: All rows in groups, in place of the fold and the piece, where that was asked for.
    groups: Groups | None = None


class Aggregate(NamedTuple):
    """How rows are grouped: most single rows, groups per row, whether to say which."""

    singles: int
    share: float
    labels: bool


@dataclass(frozen=True)
class Look:
    """Evaluate at (w,b); hand over the rows near the margin, fold the others.

    Near are the rows within `caution` times the `band` of the margin, and where a point
    `before` is given those that crossed it since, or moved far enough to do so soon.
    Without either all are. `pinned` are rows that are near in any case, by chunk. The
    share `chance` of them is handed over.
    """

    terms: Terms
    w: np.ndarray
    b: float
    band: Callable[[Problem], Any] | None = None
    before: tuple[np.ndarray, float] | None = None
    caution: float = 1.0
    wider: float = 1.0
    pinned: dict[int, Any] | None = None
    chance: float = 1.0
    seed: int = 0
    first: bool = False
    aggregate: Aggregate | None = None

    def __call__(self, chunk: Chunk) -> Answer:
        """Answer for one chunk."""
        problem = self.terms.problem(chunk, check=self.first)
        point = problem.at(self.w, self.b)
        xp = namespace(point.slack)
        if self.aggregate is not None:
            return self._grouped(chunk.number, problem, point)
        near = self._near(problem, point)
        if self.pinned is not None:
            scatter(near, self.pinned[chunk.number], True)
        active = point.slack > _TOUCHING
        seed = self.seed, chunk.number
        piece = Piece.of(problem, near, active, self.chance, seed)
        rest = None
        if self.chance < 1 and not self.first:
            rest = fold_samples(problem, _without(near & active, piece.indices))
        sides, upper = [], problem.y > 0
        if self.first:
            groups = (
                [upper, ~upper] if problem.intercept is not None else [upper | ~upper]
            )
            sides = [fold_samples(problem, group) for group in groups]
        above = int(xp.count_nonzero(upper))
        return Answer(
            chunk.number,
            problem.n,
            point.hinge,
            point.rounding,
            fold_samples(problem, ~near & active),
            piece,
            rest,
            sides,
            (above, problem.n - above),
        )

    def _grouped(self, number: int, problem: Problem, point: PrimalPoint) -> Answer:
        """All rows, those far from the margin in groups."""
        bounds = self._reach(problem, point)
        bounds = np.where(np.isfinite(bounds), np.maximum(bounds, TINY), 1.0)
        distance = np.abs(point.slack) / bounds
        if self.before is not None:
            crossed = (problem.slack(*self.before) > 0) != (point.slack > 0)
            distance = np.where(crossed, 1e-6 * distance, distance)
        assert self.aggregate is not None
        singles, share, labels = self.aggregate
        groups = Groups.of(problem, point.slack, distance, labels)
        most = np.inf
        if problem.n > singles:
            most = float(np.partition(distance, singles)[singles])
        groups = groups.coarser(most, share)
        nothing = fold_samples(problem, problem.weights != problem.weights)
        empty = Piece.of(problem, point.slack != point.slack, point.slack > 0, 1.0, ())
        return Answer(
            number,
            problem.n,
            point.hinge,
            point.rounding,
            nothing,
            empty,
            None,
            [],
            (0, 0),
            groups,
        )

    def part(self, number: int) -> Look:
        """What of this question concerns one chunk."""
        if self.pinned is None:
            return self
        return replace(self, pinned={number: self.pinned[number]})

    def _near(self, problem: Problem, point: PrimalPoint):
        """Which rows may still cross the margin."""
        slack, xp = point.slack, namespace(point.slack)
        if self.before is None and self.band is None:
            return slack == slack
        near = xp.abs(slack) <= self._reach(problem, point)
        if self.before is None:
            return near
        return near | ((problem.slack(*self.before) > 0) != (slack > 0))

    def _reach(self, problem: Problem, point: PrimalPoint):
        """How far each row may still move."""
        slack, xp = point.slack, namespace(point.slack)
        typical = float(xp.mean(xp.abs(slack)))
        reach = self.wider * _LEAST_REACH * (1 + typical)
        if self.band is not None:
            reach = reach + self.wider * self.caution * self.band(problem)
        if self.before is None:
            return reach
        move = xp.abs(slack - problem.slack(*self.before))
        typical = math.sqrt(float(xp.mean(move * move)))
        return reach + self.wider * _OF_MOVE * (move + 0.5 * typical)


def draw(y, pull, k: int, seed: tuple[int, ...]) -> tuple[Any, Any]:
    """Places of about k rows, and the chance each had.

    Rows that pull much harder than others (`pull`: by weight and length) and those of
    the rarer class are drawn more often; else few would stand for many.
    """
    xp = namespace(y)
    heavy = pull > _HEAVY * float(xp.mean(pull))
    strata = [heavy, ~heavy & (y > 0), ~heavy & (y < 0)]
    parts = [xp.nonzero(stratum)[0] for stratum in strata]
    sizes = [part.shape[0] for part in parts]
    wanted = [min(sizes[0], k // 3), 0, 0]
    left = k - wanted[0]
    wanted[1] = min(sizes[1], max(left // 2, left - sizes[2]))
    wanted[2] = min(sizes[2], left - wanted[1])
    drawn, chances = [], []
    for number, (part, n, count) in enumerate(zip(parts, sizes, wanted, strict=True)):
        places = _spread(n, count, (*seed, number))
        drawn.append(pick(part, like(places, part)))
        chances.append(fill(y, places.size, places.size / max(n, 1)))
    return xp.concat(drawn), xp.concat(chances)


def _without(mask, J):
    """The mask but for the places J."""
    xp = namespace(mask)
    left = xp.asarray(mask, copy=True)
    scatter(left, J, False)
    return left


def _spread(n: int, k: int, seed: tuple[int, ...]) -> np.ndarray:
    """Places of about k of n rows, one from each of equally long stretches.

    Where neighbouring stretches share a row it may be drawn for both, but comes once.
    """
    start = np.arange(k) + np.random.default_rng(seed).random(k)
    places = np.minimum((start * (n / max(k, 1))).astype(np.int64), n - 1)
    return places[np.diff(places, prepend=-1) > 0]


@dataclass(frozen=True)
class Settled:
    """What is proven of the rows of a chunk, and their α; arrays where asked for."""

    #: How many are saturated, and removed.
    counts: tuple[int, int]
    removed: Any = None
    saturated: Any = None
    alpha: Any = None


@dataclass(frozen=True)
class Settle:
    """Say what the final certificate proves of every row, and what its α is.

    The optimum lies in a ball; a row is decided if its robust margin keeps to one side
    of 1 all over it (theory §5, the separable test). Without a ball nothing is decided.
    Rows were settled at the point `rule`, at these `shares` of their weight where y > 0
    and y < 0, but for `members`, whose α is given.
    """

    terms: Terms
    ball: Region | None
    rule: tuple[np.ndarray, float]
    shares: tuple[float, float]
    members: dict[int, tuple[Any, Any]]
    arrays: bool

    def __call__(self, chunk: Chunk) -> Settled:
        """Answer for one chunk."""
        problem = self.terms.problem(chunk)
        xp = namespace(problem.weights)
        removed = saturated = problem.weights != problem.weights  # nothing is proven
        if self.ball is not None:
            ball = replace(self.ball, margins=problem.rows.margins(self.ball.w))
            lower, upper = separable(problem, ball)(slice(None))
            removed = (lower > 1) | (problem.weights == 0)
            saturated = (upper < 1) & ~removed
        counts = int(xp.count_nonzero(saturated)), int(xp.count_nonzero(removed))
        if not self.arrays:
            return Settled(counts)
        slack = problem.slack(*self.rule)
        upper, lower = (share * problem.weights for share in self.shares)
        alpha = xp.where(slack > _TOUCHING, xp.where(problem.y > 0, upper, lower), 0.0)
        if chunk.number in self.members:
            indices, values = self.members[chunk.number]
            if indices is None:  # the share of every row
                alpha = values * problem.weights
            else:
                scatter(alpha, indices, values)
        return Settled(counts, removed, saturated, alpha)

    def part(self, number: int) -> Settle:
        """What of this question concerns one chunk."""
        own = {k: pair for k, pair in self.members.items() if k == number}
        return replace(self, members=own)
