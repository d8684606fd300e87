"""What the batches hand over in one pass, put together as one problem in memory."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np

from wideberth.noise.sets import Noise
from wideberth.problem import DualPoint, Folded, PrimalPoint, Problem
from wideberth.problem.arrays import Array, concat, host, namespace
from wideberth.problem.limits import LITTLE
from wideberth.problem.merge import Groups, join, ratios
from wideberth.problem.rows import as_rows, gamma
from wideberth.solvers.batches import Answer, Batches, FirstPass, Gather, Piece, Proof
from wideberth.solvers.blocks import NoiseModel


class Work:
    """The sum of all answers to a question, with the rows that were handed over.

    Where a first pass hands over more rows than fit, a sample of them is kept, with
    weights scaled up. Where another pass finds more than `most` rows near the margin,
    none is kept. `exact` says whether its dual points are some of the whole problem.
    """

    def __init__(self, batches: Batches, question: FirstPass | Gather, n: int = 0):
        self.batches, self.question = batches, question
        self._labels = batches.per_row(n)  # the group of each row
        self.first = isinstance(question, FirstPass)
        self.grouping, self.most = question.grouping, question.most
        self.n, self.near, self.exact = 0, 0, True
        self.members: dict[int, Array] = {}  # by batch; see `problem`
        self.crossed: dict[int, Array] = {}  # places of rows that crossed, by batch
        self._point: PrimalPoint | None = None  # in memory, with its margins
        self.fold: Folded | None = batches.folded
        self.model: NoiseModel | None = None
        self.alpha: np.ndarray | None = None  # of the rows held, in the last proof
        self._share = 1.0  # of the rows of a first pass that is kept
        self._hinges: list[float] = []
        self._noise: list[float] = []
        self._rounding = 0.0
        self._pieces: dict[int, Piece] = {}
        self._groups: dict[int, Groups] = {}
        self._last = np.inf  # place in the order of groups beyond which rows are merged

    def add(self, answer: Answer) -> None:
        """Take in what one batch answered."""
        self.n += answer.n
        self.near += answer.near
        self._point = answer.point
        self._hinges.append(answer.hinge)
        self._noise.append(answer.noise)
        self._rounding += answer.rounding
        if answer.crossed is not None:
            self.crossed[answer.number] = answer.crossed
        if answer.fold is not None:
            self.fold = answer.fold if self.fold is None else self.fold + answer.fold
        if answer.model is not None:
            known = self.model
            self.model = answer.model if known is None else known + answer.model
        if answer.groups is not None:
            self._add_groups(answer.number, answer.groups)
        elif answer.piece is not None:
            self._add_piece(answer.number, answer.piece, answer.near)

    @functools.cached_property
    def rows(self) -> int:
        """Rows held, and groups; counted when the pass is over."""
        return self._held()

    def _held(self) -> int:
        pieces = sum(piece.n for piece in self._pieces.values())
        return pieces + sum(groups.n for groups in self._groups.values())

    @property
    def folded_rows(self) -> int:
        """Rows that are folded: not held, and below the margin."""
        return 0 if self.fold is None else self.fold.n

    @property
    def across(self) -> int:
        """Rows that crossed the margin."""
        return sum(places.shape[0] for places in self.crossed.values())

    @property
    def overfull(self) -> bool:
        """Whether more rows are near the margin than may be held, so that none is."""
        return self.near > self.most

    def _add_piece(self, number: int, piece: Piece, near: int) -> None:
        if self.overfull:
            self._pieces = {}
            return
        capacity = self.batches.capacity
        piece = piece.sampled(self._share, (number,))
        self._pieces[number] = piece
        certain = not piece.n or bool(namespace(piece.chance).all(piece.chance == 1))
        self.exact &= certain and piece.n == near
        if (held := self._held()) <= max(capacity, len(self._pieces)):
            return
        share = (1 - LITTLE) * capacity / held
        self._share, self.exact = self._share * share, False
        for name, part in self._pieces.items():
            self._pieces[name] = part.sampled(share, (name, self.n))

    def _add_groups(self, number: int, groups: Groups) -> None:
        """Take in the groups of a batch; keep those single rows that come first."""
        assert self.grouping is not None
        groups = groups.within(self.grouping).coarser(self._last, self.grouping.share)
        self._labels[number] = groups.label
        each = np.arange(groups.n, dtype=np.int32)
        self._groups[number] = replace(groups, label=each)
        orders = [part.order[part.single] for part in self._groups.values()]
        singles = self.grouping.singles
        if sum(map(len, orders)) > singles:
            # A fifth fewer than may be, so that not every batch asks for it again.
            k = int(0.8 * singles)
            self._last = float(np.partition(np.concatenate(orders), k)[k])
            for name, part in self._groups.items():
                self._groups[name] = part.coarser(self._last, self.grouping.share)

    def balances(self) -> bool:
        """Whether the rows held can balance the folded ones, as a free b demands."""
        if self.batches.intercept != 0 or self.fold is None:
            return True
        need, mass = self.fold.balance, 0.0
        for piece in self._pieces.values():
            y, weights = piece.problem.y, piece.problem.weights / piece.chance
            xp, other = namespace(y), y < 0 if need > 0 else y > 0
            mass += float(xp.sum(xp.where(other, weights, 0.0)))
        return abs(need) < (1 - LITTLE) * mass or need == 0

    @property
    def point(self) -> PrimalPoint:
        """The objective at (w,b) of the question; in memory with all margins."""
        if self._point is not None:
            return self._point
        hinge, rest = math.fsum(self._hinges), self._without_rows
        noise = math.fsum(self._noise)
        value, rounding = hinge + noise + rest.value, self._rounding + rest.rounding
        rounding += gamma(4) * (hinge + noise + abs(rest.value))
        scale = max(value, self.batches.least_scale)
        return replace(rest, hinge=hinge, value=value, rounding=rounding, scale=scale)

    @functools.cached_property
    def _without_rows(self) -> PrimalPoint:
        """The objective at (w,b) but for the hinges of all rows."""
        batches, none = self.batches, np.empty(0)
        problem = Problem(
            as_rows(np.empty((0, batches.d)), none),
            none,
            Noise(batches.sets, none),
            batches.intercept,
            batches.folded,
            penalty=batches.penalty,
        )
        return problem.at(self.question.w, self.question.b)

    @functools.cached_property
    def problem(self) -> Problem:
        """The rows held, and those below the margin folded.

        It takes the place of the parts, and leaves the `members` of each batch, the
        places of its rows or its groups, and of a sample the `chance` of each row.
        """
        _ = self.rows
        if self._groups:
            groups, self._groups = self._groups, {}
            self.members = {k: part.label for k, part in groups.items()}
            self._sizes = {k: part.n for k, part in groups.items()}
            problem = Groups.joined(list(groups.values()))
        else:
            pieces, self._pieces = self._pieces, {}
            self.members = {k: piece.indices for k, piece in pieces.items()}
            parts = list(pieces.values())
            problem = join([piece.problem for piece in parts])
            self.chance = concat([piece.chance for piece in parts])
            if not self.exact:
                problem = replace(problem, weights=problem.weights / self.chance)
            if all(piece.alpha is not None for piece in parts):
                self.alpha = concat([piece.alpha for piece in parts])
            fold = self.fold if self.folded_rows else self.batches.folded
            if self.first and self.batches.tilt:
                problem, fold = self._first_quantiles(problem)
            problem = replace(problem, folded=fold, chain=self.batches.chain)
        if self.grouping is not None and (outside := self.batches.folded) is not None:
            known = problem.folded
            folded = outside if known is None else outside + known
            problem = replace(problem, folded=folded)
        least = self.batches.least_scale
        problem = replace(problem, penalty=self.batches.penalty, least_scale=least)
        problem.rows.passes = self.batches.counter(self.n)
        return problem

    def _first_quantiles(self, problem: Problem) -> tuple[Problem, Folded | None]:
        """The hinges of rows with all their noise, and what is folded beside them.

        A sample folds itself alone: hinges of few rows and the fold of all would not
        cancel, as they do in the loss.
        """
        tilt, fold = self.batches.tilt, self.batches.folded
        hinges = problem.hinges(tilt)
        if not self.exact:
            return hinges, problem.tilt_of(tilt)
        kept = hinges.folded
        return hinges, fold if kept is None or fold is None else fold + kept

    def proof(self, dual: DualPoint) -> Proof:
        """A dual point of the rows held as one of all rows, fixed at `point`.

        The members of a group have its ratio α/c.
        """
        alpha, start = dual.alpha, 0
        if self.grouping is None:
            parts: dict[int, tuple[Array, Array]] = {}
            for number, places in self.members.items():
                stop = start + places.shape[0]
                parts[number], start = (places, alpha[start:stop]), stop
            return Proof(dual, self.point, parts)
        ratio, dealt = ratios(alpha, self.problem.weights), self.batches.per_row(self.n)
        for number, labels in self.members.items():
            dealt[number] = ratio[start + host(labels)[host(self._labels[number])]]
            start += self._sizes[number]
        return Proof(dual, self.point, ratios=dealt)
