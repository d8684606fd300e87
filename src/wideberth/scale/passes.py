"""The two questions put to every chunk: `Look`, and `Settle` at the end.

A look evaluates the objective at a point, folds the rows that are settled there and
hands over those that are not. The chunk is forgotten once it has answered: nothing as
long as the data is kept, neither here nor with the chunks. At which bound a row was
settled is computed again, when it is asked for, from the point it was settled at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wideberth._arrays import like, namespace, pick, scatter
from wideberth.problem import Folded, PrimalPoint, Problem
from wideberth.regions import Region
from wideberth.rows import gamma
from wideberth.scale.chunks import Chunk, Terms
from wideberth.screening import fold_samples

__all__ = ["Answer", "Look", "Piece", "Settle", "Settled", "thin"]


#: How close to the margin a row is near it, however little the point moves.
_LEAST_MOVE = 1e-5


@dataclass(frozen=True)
class Piece:
    """Rows of one chunk that are handed over, each drawn with the same chance."""

    X: Any
    y: Any
    weights: Any
    radii: Any
    #: Their places in the chunk.
    indices: Any
    chance: float

    @classmethod
    def of(cls, problem: Problem, indices, chance: float) -> Piece:
        """Copy rows out of a chunk."""
        vectors = problem.y, problem.weights, problem.radii
        parts = (pick(part, indices) for part in (problem.rows.X, *vectors))
        return cls(*parts, indices, chance)


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
    #: Rows on the other side of the margin than at the point before.
    crossed: int
    #: All rows of either class folded; the first look only.
    sides: tuple[Folded, Folded] | None


@dataclass(frozen=True)
class Look:
    """Evaluate at (w,b); hand over the rows near the margin, fold the others.

    Near are the rows within `caution` times the `band` of the margin; where a point
    `before` is given those whose margin moved far enough since to cross it soon, and
    those that did; else all. The share `chance` of them is handed over.
    """

    terms: Terms
    w: np.ndarray
    b: float
    band: Callable[[Problem], Any] | None = None
    before: tuple[np.ndarray, float] | None = None
    caution: float = 1.0
    chance: float = 1.0
    seed: int = 0
    first: bool = False

    def __call__(self, chunk: Chunk) -> Answer:
        """Answer for one chunk."""
        problem = self.terms.problem(chunk, check=self.first)
        point = problem.at(self.w, self.b)
        xp = namespace(point.slack)
        near, crossed = self._near(problem, point)
        indices = xp.nonzero(near)[0]
        indices, chance = thin(indices, self.chance, (self.seed, chunk.number))
        sides = None
        if self.first:
            upper = problem.y > 0
            sides = fold_samples(problem, upper), fold_samples(problem, ~upper)
        return Answer(
            chunk.number,
            problem.n,
            point.hinge,
            point.rounding,
            fold_samples(problem, ~near & (point.slack >= 0)),
            Piece.of(problem, indices, chance),
            crossed,
            sides,
        )

    def _near(self, problem: Problem, point: PrimalPoint):
        """Which rows may still cross the margin, and how many just did."""
        slack, xp = point.slack, namespace(point.slack)
        if self.before is None:
            if self.band is None:
                return slack == slack, 0
            return xp.abs(slack) <= self.caution * self.band(problem), 0
        earlier = problem.at(*self.before).slack
        move = xp.abs(slack - earlier)
        typical = math.sqrt(float(xp.mean(move * move)))
        crossed = (earlier > 0) != (slack > 0)
        near = xp.abs(slack) <= self.caution * (move + 0.25 * typical + _LEAST_MOVE)
        return near | crossed, int(xp.sum(xp.astype(crossed, xp.int64)))


def thin(indices, chance: float, seed: tuple[int, ...]) -> tuple[Any, float]:
    """Draw a share of some rows, one from each of equally long stretches."""
    n = indices.shape[0]
    k = min(math.ceil(n * chance), n)
    if k == n:
        return indices, 1.0
    start = np.arange(k) + np.random.default_rng(seed).random(k)
    places = np.minimum((start * (n / k)).astype(np.int64), n - 1)
    return pick(indices, like(places, indices)), k / n


@dataclass(frozen=True)
class Settled:
    """What is proven of the rows of a chunk, and their α; arrays where asked for."""

    number: int
    n_removed: int
    n_saturated: int
    removed: Any = None
    saturated: Any = None
    alpha: Any = None


@dataclass(frozen=True)
class Settle:
    """Say what the final certificate proves of every row, and what its α is.

    The optimum lies in a ball; a row is decided if its robust margin keeps to one side
    of 1 all over it (theory §5, the separable test). The radius is infinite with a free
    intercept, which no ball bounds. Rows were settled at the point `rule`, but for
    `members`, whose α is given.
    """

    terms: Terms
    ball: Region
    radius: float
    rule: tuple[np.ndarray, float]
    members: dict[int, tuple[Any, Any]]
    arrays: bool

    def __call__(self, chunk: Chunk) -> Settled:
        """Answer for one chunk."""
        problem = self.terms.problem(chunk)
        xp = namespace(problem.weights)
        removed = saturated = problem.weights != problem.weights  # nothing is proven
        if self.radius < np.inf:
            lower, upper = self._bounds(problem)
            removed = (lower > 1) | (problem.weights == 0)
            saturated = (upper < 1) & ~removed
        counts = int(xp.count_nonzero(removed)), int(xp.count_nonzero(saturated))
        if not self.arrays:
            return Settled(chunk.number, *counts)
        slack = problem.at(*self.rule).slack
        alpha = xp.where(slack >= 0, problem.weights, 0.0)
        if chunk.number in self.members:
            scatter(alpha, *self.members[chunk.number])
        return Settled(chunk.number, *counts, removed, saturated, alpha)

    def _bounds(self, problem: Problem):
        """Range of each robust margin over the ball, rounding included."""
        noise, rows, xp = problem.noise, problem.rows, namespace(problem.weights)
        ball, radius, extra = self.ball, self.radius, 0.0
        lipschitz, omega = noise.lipschitz(rows.d), noise.support(ball.w)
        norms, spread = rows.norms(), radius * lipschitz
        margins = rows.margins(ball.w)
        if problem.intercept:
            margins = margins + problem.y * ball.b
            extra = 1 / problem.intercept
        shift = abs(ball.b) + radius * math.sqrt(extra)
        swing = radius * xp.sqrt(norms * norms + extra)
        swing += gamma(4 * rows.d + 64) * (
            ball.reach * (norms + problem.radii * lipschitz) + shift
        )
        return (
            margins - swing - problem.radii * (omega + spread),
            margins + swing - problem.radii * max(omega - spread, 0.0),
        )
