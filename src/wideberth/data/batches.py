"""Data that is read in chunks, as batches of a solver.

`Chunks` are the batches. Data of few distinct rows takes one read, and all else is in
memory (theory §12): the first pass asks every chunk for its distinct rows.
`DistinctRows` puts them into one table, in which rows of different chunks are merged in
turn, and gives up once that is too large. Where it holds all rows in the end
`FewDistinct` solves the problem on it, and deals out α and what is proven.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wideberth.data.errors import DataError
from wideberth.data.files import ScratchFolder
from wideberth.data.samples import Samples, Terms
from wideberth.data.sources import Source
from wideberth.noise import L2
from wideberth.noise.reading import read_errors
from wideberth.noise.sets import Noise
from wideberth.problem import Pair, Problem
from wideberth.problem.arrays import concat
from wideberth.problem.limits import COPY_SHARE
from wideberth.problem.merge import Grouping, Merged, distinct, join
from wideberth.problem.ramp import Beyond, Ramp
from wideberth.problem.rows import Passes, as_rows
from wideberth.screening import screen_at_hand
from wideberth.solvers.attempts import prove
from wideberth.solvers.base import Control
from wideberth.solvers.batches import (
    Answer,
    Batches,
    Decide,
    Decided,
    FirstPass,
    Gather,
    part_of,
)
from wideberth.solvers.newton import Newton
from wideberth.solvers.ramp import Descended, DescentInMemory

#: Share of the rows that fit in memory that a table of distinct rows may hold: a
#: choice; it is there beside a sample of as many rows as fit.
TABLE_SHARE = 0.25


class Chunks(Batches):
    """Rows of a source, chunk by chunk."""

    def __init__(self, source: Source, terms: Terms, norm_penalty: float = 0.0):
        self.source, self.terms = source, terms
        self.n, self.d, self.stays = source.n, terms.d, source.stays
        self.sets, self.intercept = terms.noise, terms.intercept
        self.tilt = terms.tilt
        self.capacity = source.capacity()
        if terms.error_shape is not None:  # sets of their kind; chunks have the others
            none = np.zeros((0, self.d))
            self.sets = read_errors(none, terms.error_shape, none.shape)
        self.penalty = norm_penalty
        self.sets.penalty(norm_penalty, self.d)  # or a refusal
        self.beyond: Beyond | None = None
        # Labels and weights per row are kept beside them.
        kept = source.spares(12 * (source.n or 0))
        self.distinct: DistinctRows | None = DistinctRows(
            TABLE_SHARE * self.capacity, kept
        )
        self.checked = False  # whether all rows were, by a first read
        self._targets: list[Problem] = []

    def without(self, beyond: Beyond | None) -> Chunks:
        """The same without the rows that the ramp leaves out."""
        chunks = copy(self)
        chunks.beyond = beyond
        return chunks

    def ask(self, question):
        """Put a question to the problem on the rows of each chunk."""
        asked = _Asked(self.terms, question, self.beyond, not self.checked)
        first, counts = isinstance(question, FirstPass), np.zeros(2, dtype=int)
        for answer in self.source.map(asked):
            if first:
                counts += answer.classes
                answer = self._without_tilt(answer)
            if first and self.distinct is not None:
                self.distinct.add(answer.number, answer.equal)
                answer = replace(answer, equal=None)
            yield answer
        self.checked = True
        if first and not self.terms.tilt:
            _check_classes(counts)
        elif first:
            self.least_scale = constant_scale(self._targets, self.terms)

    def _without_tilt(self, answer: Answer) -> Answer:
        """Keep what a chunk's quantile losses have beside hinges; it is folded."""
        if answer.fold is not None and answer.targets is not None:
            known = self.folded
            self.folded = answer.fold if known is None else known + answer.fold
            self._targets.append(answer.targets)
        return replace(answer, fold=None, targets=None)

    def collapsed(self) -> FewDistinct | None:
        """The problem on few distinct rows, where the first pass found no others."""
        distinct, self.distinct = self.distinct, None  # asked for once
        problem = None if distinct is None else distinct.problem()
        if distinct is None or problem is None:
            return None
        return FewDistinct(self, distinct, problem)

    def grouping(self, n):
        """Half of the capacity for single rows, a quarter for groups.

        All are in float64, and solved as a whole: two copies do.
        """
        wide = self.source.capacity(2, 8 * self.d)
        capacity = min(wide, self.capacity)
        return Grouping(capacity // 2, 0.25 * capacity / n)

    def spares(self, size):
        """Whether the source leaves memory for that."""
        return self.source.spares(size)

    def per_row(self, n):
        """In memory, where labels of groups and ratios of n rows fit while both change.

        Else in a scratch folder.
        """
        return PerRow(self.spares(30 * n))


def _check_classes(counts: np.ndarray) -> None:
    """Refuse data of one class, given how many rows of each there are."""
    for count, label in zip(counts, ("+1", "−1"), strict=True):
        if count == 0:
            raise DataError(
                f"No row of the data has the label {label}; a classifier needs both −1 "
                "and +1."
            )


def constant_scale(parts: list[Problem], terms: Terms) -> float:
    """What gaps are relative to: the loss of the best constant, or a little less."""
    problem = join(parts)
    rows = as_rows(np.empty((problem.n, 0)), problem.y)
    noise = Noise(L2(), np.zeros(problem.n))
    return replace(problem, rows=rows, noise=noise).tilted(terms.tilt).least_scale


@dataclass(frozen=True)
class _Asked:
    """A question to batches as one to chunks."""

    terms: Terms
    question: Any
    beyond: Beyond | None = None
    check: bool = False  # whether the data is read for the first time

    def __call__(self, chunk: Samples):
        """What the chunk answers."""
        problem, tilt = self.terms.problem(chunk, check=self.check), self.terms.tilt
        if tilt and isinstance(self.question, FirstPass):
            fold = problem.tilt_of(tilt)
            if fold.noise is not None and fold.noise.parts:  # rows bring it along
                fold = replace(fold, noise=None)
            problem = replace(problem, folded=fold)
        elif tilt:
            problem = problem.hinges(tilt)
            if not isinstance(self.question, Gather):  # it asks of rows one by one
                problem = replace(problem, folded=None)
        if self.beyond is not None:
            problem = self.beyond.rest(problem)
        return self.question(chunk.number, problem)

    def part(self, number: int) -> _Asked:
        """What of this question concerns one chunk."""
        return replace(self, question=part_of(self.question, number))


class PerRow(UserDict):
    """Numbers per row, batch by batch: in memory, or else in a scratch folder."""

    def __init__(self, in_memory: bool):
        super().__init__()
        self._in_memory = in_memory
        self._folder: ScratchFolder | None = None

    def __setitem__(self, number: int, values: np.ndarray) -> None:
        if self._in_memory:
            self.data[number] = values
            return
        if self._folder is None:
            self._folder = ScratchFolder()
        self.data[number] = self._folder.path / f"{number}.npy"
        np.save(self.data[number], values)

    def __getitem__(self, number: int) -> np.ndarray:
        kept = self.data[number]
        return kept if self._in_memory else np.load(kept)


class DistinctRows:
    """The distinct rows of the chunks so far, and which of them every row is.

    `most` of them are held; numbers per row are kept `in_memory` or in scratch files.
    """

    def __init__(self, most: float, in_memory: bool):
        self.most, self.given_up, self.n = most, False, 0
        self._parts: list[Problem] = []
        self._labels, self._weights = PerRow(in_memory), PerRow(in_memory)
        self._places: dict[int, np.ndarray] = {}  # of a chunk's rows in the table

    def add(self, number: int, equal: Merged | None) -> None:
        """Take in the distinct rows of a chunk; None where it has too many."""
        if equal is None or self.given_up:
            self._give_up()
            return
        start = sum(part.n for part in self._parts)
        self._places[number] = np.arange(start, start + equal.problem.n)
        self._parts.append(equal.problem)
        self._labels[number], self._weights[number] = equal.label, equal.weights
        self.n += equal.n
        if start + equal.problem.n > self.most:
            self._merge()
            # A table that stays nearly full would be merged again with every chunk.
            if self._parts[0].n > COPY_SHARE * self.most:
                self._give_up()

    def problem(self) -> Problem | None:
        """The problem on all of them; None where it was given up, or is no smaller."""
        if self.given_up or not self._parts:
            return None
        self._merge()
        if self._parts[0].n > COPY_SHARE * self.n:
            return None
        return self._parts[0]

    def rows(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each chunk the place of its rows in the table, and their weights."""
        for number in sorted(self._places):
            yield self._places[number][self._labels[number]], self._weights[number]

    def _merge(self) -> None:
        found = distinct(join(self._parts), share=1.0)
        assert found is not None
        self._parts = [found.problem]
        self._places = {k: found.label[place] for k, place in self._places.items()}

    def _give_up(self) -> None:
        self.given_up = True
        self._parts, self._places = [], {}
        self._labels, self._weights = PerRow(True), PerRow(True)


class FewDistinct(Batches):
    """Data of few distinct rows, which one read has put into one problem.

    `solved` is the problem whose solution is asked about in the end.
    """

    reads = 0

    def __init__(self, chunks: Chunks, distinct: DistinctRows, problem: Problem):
        self.n, self.d, self.capacity = distinct.n, chunks.d, distinct.n
        self.sets, self.penalty = chunks.sets, chunks.penalty
        self.chunks, self.rows = chunks, distinct
        self.intercept = None  # `ask` decides with b, whatever it is
        folded = chunks.folded
        if chunks.tilt:
            problem = replace(problem, folded=None).hinges(chunks.tilt)
            if problem.folded is not None and folded is not None:
                folded = folded + problem.folded
        self.problem = replace(
            problem,
            penalty=chunks.penalty,
            folded=folded,
            least_scale=chunks.least_scale,
            tilt=chunks.tilt,
        )
        self.problem.rows.passes = Passes(self.n, self.n)  # the read that found them
        self.solved = self.problem

    def solve(self, control: Control) -> Pair:
        """Solve the problem."""
        with np.errstate(all="ignore"):  # what overflows is certified, or not
            return prove(self.problem, control, None, Newton().solve)

    def descend(self, control: Control, level: float, starts: int) -> Descended[Pair]:
        """Descend on the ramp loss instead."""
        ramp = Ramp(self.problem, level)
        with np.errstate(all="ignore"):
            found = DescentInMemory(ramp, control, Newton()).run(starts)
        left, mask = found.left, None
        self.solved = ramp.rest(left.samples)
        if self.spares(2 * self.rows.n):
            mask = concat([rows.marked(left.samples) for rows in self._merged()])
        return replace(found, left=replace(left, mask=mask))

    def ask(self, question: Decide):
        """What is proven of the rows of every chunk, by the distinct ones."""
        known = None
        if question.region is not None:
            known = screen_at_hand(self.solved, question.pair, question.region)
        for rows in self._merged():
            decided = Decided((0, 0, 0))
            if known is not None:
                removed, saturated = rows.decided(known.removed, known.saturated)
                sizes = int(saturated.sum()), int(removed.sum())
                decided = Decided((rows.n - sum(sizes), *sizes))
                if question.arrays:
                    decided = replace(decided, removed=removed, saturated=saturated)
            if question.arrays:
                alpha = rows.dealt(question.pair.dual.alpha)
                decided = replace(decided, alpha=alpha)
            yield decided

    def spares(self, size):
        """Whether the source leaves memory for that."""
        return self.chunks.spares(size)

    def _merged(self) -> Iterator[Merged]:
        for label, weights in self.rows.rows():
            yield Merged(self.problem, label, weights)
