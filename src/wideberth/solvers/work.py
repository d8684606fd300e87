"""What the chunks hand over at one look, put together as one problem in memory."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import replace
from typing import Any

import numpy as np

from wideberth.data.chunks import Terms
from wideberth.problem import Folded, Problem
from wideberth.problem.arrays import concat, namespace
from wideberth.problem.limits import LITTLE
from wideberth.problem.rows import Passes, as_rows, gamma
from wideberth.solvers.aggregate import Groups
from wideberth.solvers.passes import Answer, Piece

__all__ = ["Work"]


class Work:
    """The sum of all answers, with at most `capacity` rows.

    If more rows than that are near the margin a sample of them stands for all, weighted
    up. Then `exact` is False, and no dual point of the whole problem comes of it.
    `problem` leaves behind the `members` of each chunk, the `weights` c of its rows and
    the `chance` each had; c/chance·chance would not be c to the last bit.
    """

    def __init__(self, terms: Terms, capacity: int, seed: int, aggregate=None):
        self.aggregate = aggregate
        self.terms, self.capacity, self.seed = terms, capacity, seed
        self.n, self.exact = 0, True
        self.grouped = aggregate is not None
        self._share = 1.0
        self._rest: Folded | None = None
        self.fold: Folded | None = None
        self.sides: list[Folded] = []
        self.classes: tuple[int, ...] = (0, 0)
        self._hinges: list[float] = []
        self._rounding = 0.0
        self._pieces: dict[int, Piece] = {}
        self._groups: dict[int, Groups] = {}
        self.members: dict[int, Any] = {}
        self._most = np.inf  # distance beyond which rows are merged

    def add(self, answer: Answer) -> None:
        """Take in what one chunk answered."""
        self.n += answer.n
        self._hinges.append(answer.hinge)
        self._rounding += answer.rounding
        self.fold = _plus(self.fold, answer.fold)
        if answer.rest is not None:
            self._rest = _plus(self._rest, answer.rest)
        before: list = self.sides or [None] * len(answer.sides)
        self.sides = [_plus(*pair) for pair in zip(before, answer.sides, strict=True)]
        self.classes = tuple(map(operator.add, self.classes, answer.classes))
        if answer.groups is not None:
            self._group(answer.number, answer.groups)
            return
        self._pieces[answer.number] = self._thinned(answer.number, answer.piece)
        while self.rows > max(self.capacity, len(self._pieces)):
            share = 0.9 * self.capacity / self.rows
            self._share, self.exact = self._share * share, False
            for number, piece in self._pieces.items():
                self._pieces[number] = self._thin(number, piece, share)

    @property
    def rows(self) -> int:
        """Rows held."""
        pieces = sum(piece.n for piece in self._pieces.values())
        return pieces + sum(groups.n for groups in self._groups.values())

    def _group(self, number: int, groups: Groups) -> None:
        """Take in the groups of a chunk; keep the single rows nearest of all."""
        singles, share, _ = self.aggregate
        self._groups[number] = groups.coarser(self._most, share)
        distances = [part.distance[part.single] for part in self._groups.values()]
        if sum(map(len, distances)) > singles:
            # A fifth fewer than may be, so that not every chunk asks for it again.
            k = int(0.8 * singles)
            self._most = float(np.partition(np.concatenate(distances), k)[k])
            for name, part in self._groups.items():
                self._groups[name] = part.coarser(self._most, share)

    def balances(self) -> bool:
        """Whether the rows held can balance the folded ones, as a free b demands."""
        if self.terms.intercept != 0 or self.fold is None:
            return True
        need, mass = self.fold.balance, 0.0
        for piece in self._pieces.values():
            xp, weights = namespace(piece.weights), piece.weights / piece.chance
            other = piece.y < 0 if need > 0 else piece.y > 0
            mass += float(xp.sum(xp.where(other, weights, 0.0)))
        return abs(need) < (1 - LITTLE) * mass or need == 0

    def loss(self) -> tuple[float, float]:
        """Σ c_i [u_i]_+ over all rows at the point of the look, and its rounding."""
        hinge = math.fsum(self._hinges)
        return hinge, self._rounding + gamma(4) * hinge

    def problem(self) -> Problem:
        """The rows held, the settled ones folded. The pieces are given up for it."""
        if self._groups:
            parts = list(self._groups.values())
            self.members = {
                k: (part.labels, part.n) for k, part in self._groups.items()
            }
            problem = Groups.problem(parts, self.terms)
            problem.rows.passes = Passes(self.n)
            self._shared, self._groups = problem.weights, {}
            return problem
        pieces = list(self._pieces.values())
        self.members = {k: piece.indices for k, piece in self._pieces.items()}
        self._pieces = {}
        X, y = concat([piece.X for piece in pieces]), concat([p.y for p in pieces])
        weights = concat([piece.weights / piece.chance for piece in pieces])
        radii = concat([piece.radii for piece in pieces])
        self.chance = concat([piece.chance for piece in pieces])
        self.weights = concat([piece.weights for piece in pieces])
        rows = as_rows(X, y)
        rows.passes = Passes(self.n)
        noise, intercept = self.terms.noise, self.terms.intercept
        fold = self.fold if self.fold is not None and self.fold.n else None
        return Problem(rows, weights, radii, noise, intercept, fold)

    def classes_as_rows(self) -> Problem:
        """Each class, or all rows where there is no b, as one group of rows.

        On the face A where the null model is decided (`endpoints`) the members of a
        group share one ratio α_i/c_i, so it is decided for the whole problem.
        """
        sides, y = self.sides, np.array([1.0, -1.0])[: len(self.sides)]
        total = np.array([side.total for side in sides])
        scale = 1.0 / np.where(total > 0, total, 1.0)
        X = (y * scale)[:, None] * np.array([side.d for side in sides])
        radii = scale * np.array([side.s for side in sides])
        known = functools.reduce(operator.add, sides)
        known = replace(
            known,
            d=np.zeros(self.terms.d),
            s=0.0,
            total=0.0,
            balance=0.0,
            rounding=known.rounding + gamma(4) * known.mass,
            chain=known.chain + 8,
        )
        noise, intercept = self.terms.noise, self.terms.intercept
        return Problem(as_rows(X, y), total, radii, noise, intercept, known)

    def settled(self, problem: Problem) -> Problem | None:
        """The problem with the rows that were not drawn settled, like those far away.

        Its dual points are points of the whole problem. None at the first look, where
        all rows are near and nothing is known of them.
        """
        if self.sides or self._rest is None:
            return None
        folded = _plus(self.fold, self._rest)
        return replace(problem, weights=self.weights, folded=folded)

    def split(self, alpha) -> dict[int, tuple[Any, Any]]:
        """Places and values of α, chunk by chunk."""
        parts, start = {}, 0
        if self.grouped:
            used = self._shared > 0
            share = np.divide(alpha, self._shared, out=np.zeros(alpha.size), where=used)
            for number, (labels, n) in self.members.items():
                if labels is not None:
                    own = np.minimum(share[start : start + n], 1.0)
                    parts[number] = None, own[labels]
                start += n
            return parts
        for number, indices in self.members.items():
            stop = start + indices.shape[0]
            parts[number] = indices, alpha[start:stop]
            start = stop
        return parts

    def _thinned(self, number: int, piece: Piece) -> Piece:
        """The piece as it would be had it been there when others were thinned out."""
        whole = piece.n == 0 or float(namespace(piece.chance).min(piece.chance)) == 1
        self.exact = self.exact and whole and self._share == 1
        return piece if self._share == 1 else self._thin(number, piece, self._share)

    def _thin(self, number: int, piece: Piece, share: float) -> Piece:
        kept, left = piece.thinned(share, (self.seed, number), self.terms)
        if left is not None:
            self._rest = _plus(self._rest, left)
        return kept


def _plus(a: Folded | None, b: Folded) -> Folded:
    return b if a is None else a + b
