"""The rows of a problem in batches, and what a batch answers to a question.

`Batches` is what a search needs of the data: all rows in memory are one batch, files
and clusters have many (`chunks/chunked.py`). The questions are those of `passes.py`,
and of `proofs.py` at the end.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wideberth.noise.sets import Noise, Sets
from wideberth.problem import Folded, PrimalPoint, Problem
from wideberth.problem.arrays import fill, namespace, pick
from wideberth.problem.equal_rows import EqualRows
from wideberth.problem.layouts import as_rows
from wideberth.problem.rows import Passes
from wideberth.solvers.blocks import NoiseModel
from wideberth.solvers.tall.aggregate import Grouping, Groups
from wideberth.solvers.tall.cells import Cells
from wideberth.solvers.tall.subsample import draw


class Batches(ABC):
    """The rows of a problem in batches; `map` puts a question to each of them.

    A question is called with the number of the batch and the problem on its rows.
    """

    #: Rows, where that is known before the first pass, and features.
    n: int | None
    d: int
    #: The sets within which samples move; of a kind, where chunks bring their own.
    sets: Sets
    intercept: float | None
    #: Rows that may be handed over at a time.
    capacity: int
    #: What products over rows in memory, which are one batch, are counted by.
    counter: Passes | None = None
    #: s₀ of a norm penalty, which every problem made of the rows has, and samples
    #: that are folded beside them.
    penalty: float = 0.0
    folded: Folded | None = None
    #: Most roundings in weights that are those of equal samples (`Problem.chain`).
    chain = 0.0
    #: Whether the first pass asks for distinct rows.
    distinct: Any = None
    #: Whether rows stay where they are, so that a read costs a product and no more.
    stays = False

    @abstractmethod
    def map(self, question) -> Iterator:
        """Answers of all batches; one pass."""

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
        self.d, self.sets = problem.rows.d, problem.noise.sets
        self.intercept, self.counter = problem.intercept, problem.rows.passes
        self.penalty, self.folded = problem.penalty, problem.folded
        self.chain = problem.chain

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
    noise: Noise
    indices: Any  # their places in the batch
    chance: Any
    alpha: Any = None  # in the last proof, where that is asked for

    @classmethod
    def of(cls, problem: Problem, near, alpha=None) -> Piece:
        """The rows `near`, a mask; no copy is made of all rows."""
        indices = namespace(near).nonzero(near)[0]
        parts, noise = [problem.rows.X, problem.y, problem.weights], problem.noise
        if indices.shape[0] < problem.n:
            parts = [pick(part, indices) for part in parts]
            noise = noise.take(indices)
        X, y, weights = parts
        alpha = None if alpha is None else pick(alpha, indices)
        chance = fill(y, indices.shape[0], 1.0)
        return cls(X, y, weights, noise, indices, chance, alpha)

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
        parts = self.X, self.y, self.weights, self.indices, self.chance
        X, y, weights, indices, before = (pick(part, J) for part in parts)
        noise = self.noise.take(J)
        alpha = None if self.alpha is None else pick(self.alpha, J)
        return Piece(X, y, weights, noise, indices, before * chance, alpha)


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
    model: NoiseModel | None = None
    groups: Groups | None = None
    #: All rows folded, by class where there is an intercept, and how many of each class
    #: there are; the first pass over many batches only.
    sides: tuple[Folded, ...] = ()
    classes: tuple[int, int] = (0, 0)
    #: The distinct rows of a batch, where those are asked for and few.
    equal: EqualRows | None = None
