"""Data that is read in chunks, as batches of a solver."""

from __future__ import annotations

from collections import UserDict
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
from wideberth.problem import Problem
from wideberth.problem.merge import Grouping, join
from wideberth.problem.rows import as_rows
from wideberth.solvers.batches import (
    Answer,
    Batches,
    FirstPass,
    Gather,
    part_of,
)


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
        self.checked = False  # whether all rows were, by a first read
        self._targets: list[Problem] = []

    def ask(self, question):
        """Put a question to the problem on the rows of each chunk."""
        asked = _Asked(self.terms, question, not self.checked)
        first, counts = isinstance(question, FirstPass), np.zeros(2, dtype=int)
        for answer in self.source.map(asked):
            if first:
                counts += answer.classes
                answer = self._without_tilt(answer)
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
