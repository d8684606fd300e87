"""Batches of data that is read in chunks."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wideberth.data.chunks import Chunk, Terms
from wideberth.data.sources import Source
from wideberth.noise.read_errors import read_errors
from wideberth.problem.ramp import Beyond
from wideberth.solvers.batches import Batches, Draw
from wideberth.solvers.chunks.distinct import TABLE_SHARE, Collapsed, DistinctRows
from wideberth.solvers.merge import Grouping
from wideberth.solvers.work import Work


class Chunks(Batches):
    """Rows of a source, chunk by chunk."""

    def __init__(self, source: Source, terms: Terms, norm_penalty: float = 0.0):
        self.source, self.terms = source, terms
        self.n, self.d, self.stays = source.n, terms.d, source.stays
        self.sets, self.intercept = terms.noise, terms.intercept
        self.capacity = source.capacity()
        if terms.error_shape is not None:  # sets of their kind; chunks have the others
            none = np.zeros((0, self.d))
            self.sets = read_errors(none, terms.error_shape, none.shape)
        self.penalty = norm_penalty
        self.sets.penalty(norm_penalty, self.d)  # or a refusal
        self.beyond: Beyond | None = None
        # Labels and weights per row are kept beside them.
        kept = source.spares(12 * (source.n or 0))
        self.distinct = DistinctRows(TABLE_SHARE * self.capacity, kept)
        self.checked = False  # whether all rows were, by a first read

    def without(self, beyond: Beyond | None) -> Chunks:
        """The same without the rows that the ramp leaves out."""
        chunks = copy(self)
        chunks.beyond = beyond
        return chunks

    def ask(self, question):
        """Put a question to the problem on the rows of each chunk."""
        asked = _Asked(self.terms, question, self.beyond, not self.checked)
        for answer in self.source.map(asked):
            if self.distinct is not None and isinstance(question, Draw):
                self.distinct.add(answer.number, answer.equal)
                answer = replace(answer, equal=None)
            yield answer
        self.checked = True

    def collapsed(self, first: Work) -> Collapsed | None:
        """The problem on few distinct rows, where the first pass found no others."""
        distinct, self.distinct = self.distinct, None  # asked for once
        problem = distinct.problem()
        if problem is None:
            return None
        first.check_classes()
        return Collapsed(self, distinct, problem)

    def grouping(self, n):
        """Half of the room for single rows, a quarter for groups.

        All are in float64, and solved as a whole: two copies do.
        """
        wide = self.source.capacity(2, 8 * self.d)
        capacity = min(wide, self.capacity)
        return Grouping(capacity // 2, 0.25 * capacity / n)

    def spares(self, size):
        """Whether the source leaves room for that."""
        return self.source.spares(size)


@dataclass(frozen=True)
class _Asked:
    """A question to batches as one to chunks."""

    terms: Terms
    question: Any
    beyond: Beyond | None = None
    check: bool = False  # whether the data is read for the first time

    def __call__(self, chunk: Chunk):
        """What the chunk answers."""
        problem = self.terms.problem(chunk, check=self.check)
        if self.beyond is not None:
            problem = self.beyond.rest(problem)
        return self.question(chunk.number, problem)

    def part(self, number: int) -> _Asked:
        """What of this question concerns one chunk."""
        if isinstance(self.question, Draw):
            return self
        return replace(self, question=self.question.part(number))
