"""What every reader of a format gives: the names of the columns, and their rows.

A reader knows one format. It says which columns there are, and yields the rows of those
that are wanted as tables of some rows each. A table in memory is all of them together;
data that outgrows memory is one of them at a time (`sources.TableSource`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from wideberth.data.errors import DataError
from wideberth.data.streams import File, check_room
from wideberth.data.table import Plan, Request, Table, check_names, refuse_infinite

__all__ = ["AT_ONCE", "Reader"]

#: Bytes that are read at a time where all rows are put together in the end (a choice).
AT_ONCE = 1 << 24


class Reader(File, ABC):
    """One file or folder of a known format.

    Attributes
    ----------
    names : list of str
        Names of all columns.
    kind : str
        The format, one of `kinds.KINDS`.
    n : int or None
        Rows, where that is known before they are read.
    details : dict
        How the file turned out to be written, for a report.
    """

    names: list[str]
    details: dict[str, str]
    n: int | None = None
    #: Whether features without a column are zero, rather than an error.
    sparse = False

    def __init__(self, path, kind: str):
        super().__init__(path)
        self.kind, self.details = kind, {}

    def plan(self, request: Request) -> Plan:
        """The columns to read for a request."""
        check_names(self.names, self.name, request.dropped)
        return request.plan(self.names, self.name, sparse=self.sparse)

    def row_bytes(self, plan: Plan) -> float:
        """Bytes that the features of a row take in memory."""
        return 8 * len(plan.features)

    @abstractmethod
    def tables(
        self, plan: Plan, size: int = AT_ONCE, *, native: bool = False
    ) -> Iterator[Table]:
        """All rows in order, about `size` bytes at a time.

        Columns of text are given as text, or with `native` in the type that they have.
        """

    def read(self, plan: Plan) -> Table:
        """All rows at once."""
        columns = len((*plan.features, *plan.texts, *plan.numbers))
        if self.n is not None and not self.sparse:
            check_room(8 * self.n * columns, self.name)
        parts, size = [], 0
        for part in self.tables(plan):
            size += part.nbytes
            check_room(size, self.name)
            parts.append(part)
        if not sum(part.n for part in parts):
            raise DataError(f"{self.name} holds no rows; there is nothing to work on.")
        table = _joined(parts)
        refuse_infinite(table, self.name)
        return table


def _joined(parts: list[Table]) -> Table:
    """One table of all rows; `parts` is emptied, so that they are not held twice."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    texts = {n: np.concatenate([part.texts[n] for part in parts]) for n in first.texts}
    numbers = {
        n: np.concatenate([part.numbers[n] for part in parts]) for n in first.numbers
    }
    if sp.issparse(first.X):
        X = sp.csr_array(sp.vstack([part.X for part in parts], format="csr"))
    else:
        X = np.empty((sum(part.n for part in parts), first.X.shape[1]), first.X.dtype)
        start = len(X)
        while parts:
            part = parts.pop()
            start -= part.n
            X[start : start + part.n] = part.X
    return Table(first.names, X, texts, numbers, first.find_lines, first.origin)
