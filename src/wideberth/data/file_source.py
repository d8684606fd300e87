"""Chunks of the rows of a file: features in columns, and what is beside them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from wideberth.data.chunks import Chunk
from wideberth.data.errors import DataError, agree, listed
from wideberth.data.sources import ROLES, Source, per_row
from wideberth.data.table import Plan, Reader


class TableSource(Source):
    """Rows of a file, or of a memory map: features in columns, the rest beside them.

    Labels, weights and radii are names of columns, or vectors of one value per row.
    Labels of columns have the type that the file gives them; with `texts` they are
    text, which `values`, once it is filled, says the values of.
    """

    #: Whether nobody said which columns are features.
    guessed = False

    def __init__(
        self, reader: Reader, plan: Plan, beside: dict, memory=None, *, texts=False
    ):
        super().__init__(memory)
        self.reader, self.plan, self.texts = reader, plan, texts
        self._what = f"{reader.kind}, {reader.name}"
        self.values: dict[str, Any] = {}
        self.n, self.d = reader.n, len(plan.features)
        self.row_bytes = reader.row_bytes(plan)
        named = reader.kind not in ("npy", "libsvm")
        self.names = list(plan.features) if named and not texts else None
        aside = (*plan.texts, *plan.numbers)
        self.beside = {}
        for role, name in ROLES.items():
            value = beside.get(role)
            if not (isinstance(value, str) and value in aside):  # a column
                value = per_row(value, self.n, name)
            self.beside[role] = value
        self.brings_radii = self.beside["radius"] is not None
        self.labelled = self.beside["y"] is not None

    def require_labels(self):
        if not self.labelled:
            raise no_labels(self.reader)

    def labels(self):
        y, weight = self.beside["y"], self.beside["weight"]
        if not any(isinstance(part, str) for part in (y, weight)):
            yield y, weight
            return
        numbers = tuple(n for n in self.plan.numbers if n == weight)
        for chunk in self.chunks(Plan(self.plan.texts, numbers, ())):
            yield chunk.y, chunk.weight

    def chunks(self, plan: Plan | None = None) -> Iterator[Chunk]:
        """All chunks, with the features of this plan if not of all."""
        start, number, plan = 0, 0, plan or self.plan
        for table in self.reader.tables(plan, self.chunk_bytes, not self.texts):
            if not table.n:
                continue
            rows = slice(start, start + table.n)
            columns = table.texts | table.numbers
            vectors = []
            for part in self.beside.values():
                if isinstance(part, str):
                    vectors.append(columns.get(part))
                else:
                    vectors.append(None if part is None else np.array(part[rows]))
            chunk = Chunk.of(table.X, vectors, number, table.origin)
            self._check_complete(chunk, plan)
            if self.guessed and plan is self.plan:
                self._warn_of_numbers(chunk)
            yield self._with_values(chunk) if self.texts else chunk
            start, number = rows.stop, number + 1

    def _warn_of_numbers(self, chunk: Chunk) -> None:
        """Remark, once, on columns that number the rows and were not asked for."""
        self.guessed = False
        if sp.issparse(chunk.X) or chunk.n < 3:
            return
        steps = np.all(chunk.X[1:] - chunk.X[:-1] == 1, axis=0)
        if steps.any():
            names = [self.plan.features[k] for k in np.flatnonzero(steps).tolist()]
            numbers = agree(len(names), "numbers the rows and is used as a feature",
                            "number the rows and are used as features")  # fmt: skip
            warnings.warn(
                f"{self.reader.name}: {listed(names)} {numbers}; say which columns "
                "are features: open_data(path, y, columns=[...]).",
                stacklevel=2,
            )

    def _check_complete(self, chunk: Chunk, plan: Plan) -> None:
        """Name the place of the first value that is missing or infinite."""
        if self.gaps or sp.issparse(chunk.X) or np.isfinite(chunk.X.sum()):
            return
        wrong = np.argwhere(~np.isfinite(chunk.X))
        if wrong.size:
            row, column = wrong[0]
            what = "no value" if np.isnan(chunk.X[row, column]) else "no finite number"
            raise chunk.error(
                f"row {row} has {what} in column {plan.features[column]!r}; impute or "
                "drop such rows first."
            )

    def _with_values(self, chunk: Chunk) -> Chunk:
        """The chunk with values for labels of text, where these are known."""
        texts = chunk.y.tolist()
        if None in texts:
            raise chunk.error(
                f"row {texts.index(None)} has no label; leave such rows out of the "
                "file, or leave out --memory."
            )
        if not self.values:
            return chunk
        if not self.values.keys() >= set(texts):
            raise chunk.error("its labels changed since they were first read.")
        return replace(chunk, y=np.array([self.values[text] for text in texts]))


def no_labels(reader: Reader, y=None) -> DataError:
    """An error that says how to give the labels of a file."""
    if reader.kind == "npy":
        return DataError(f"y is missing; give the labels that go with {reader.name}.")
    return DataError(
        f"y={y!r} must be the name of the column of {reader.name} that holds the "
        f"labels; there are {listed(reader.names, 8)}."
    )
