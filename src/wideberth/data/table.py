"""What is asked of a data source, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from wideberth.data.errors import DataError, listed, quoted

__all__ = [
    "MISSING",
    "Format",
    "Plan",
    "Request",
    "Table",
    "as_numbers",
    "as_text",
    "as_texts",
    "check_names",
    "refuse_infinite",
]

#: Cells that mean "no value", in any case of letters.
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "?"})


@dataclass(frozen=True)
class Format:
    """How a file is to be read; None is found out from the file."""

    kind: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool = True
    missing: frozenset[str] = frozenset()

    def is_missing(self, text: str) -> bool:
        """Whether a cell, stripped of blanks, stands for a missing value."""
        return text.lower() in MISSING or text in self.missing


@dataclass(frozen=True)
class Request:
    """Which columns are wanted, and as what.

    `texts` and `numbers` come apart from the features. `features` of None are all the
    columns that are left once those and `dropped` are taken out; a list of names leaves
    out whatever it does not name. Names in `optional` may be absent.
    """

    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None
    optional: frozenset[str] = frozenset()

    def plan(self, names: list[str], where: str, *, sparse: bool = False) -> Plan:
        """Find the columns in a table that has these names.

        In sparse data a feature without a column is zero everywhere.
        """
        known, aside = set(names), (*self.texts, *self.numbers)
        wanted = [*aside, *self.dropped, *(() if sparse else self.features or ())]
        optional = self.optional.difference(self.features or ())
        absent = [n for n in wanted if n not in known and n not in optional]
        if absent:
            raise DataError(
                f"{where} has no column {listed(dict.fromkeys(absent))}; its columns "
                f"are {listed(names, 12)}."
            )
        if self.features is None:
            others = {*aside, *self.dropped}
            features = [name for name in names if name not in others]
            if not features:
                raise DataError(f"{where} has no column left to be a feature.")
        else:
            features = list(self.features)
        return Plan(
            tuple(n for n in dict.fromkeys(self.texts) if n in known),
            tuple(n for n in dict.fromkeys(self.numbers) if n in known),
            tuple(features),
        )


@dataclass(frozen=True)
class Plan:
    """The columns to read, all of them present."""

    texts: tuple[str, ...]
    numbers: tuple[str, ...]
    features: tuple[str, ...]


@dataclass
class Table:
    """Rows of a data source: features, and the columns asked for apart from them.

    A missing number is NaN, a missing text None. `find_lines` says where each row ends
    in a text file; `origin` is what messages about these rows start with.
    """

    names: tuple[str, ...]
    X: np.ndarray | sp.csr_array
    texts: dict[str, np.ndarray] = field(default_factory=dict)
    numbers: dict[str, np.ndarray] = field(default_factory=dict)
    find_lines: Callable[[], np.ndarray] | None = None
    origin: str = "the data"

    @property
    def n(self) -> int:
        """Rows."""
        return self.X.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes that the rows take, text apart."""
        X = self.X.data if sp.issparse(self.X) else self.X
        return X.nbytes + 8 * self.n * (len(self.texts) + len(self.numbers))

    @cached_property
    def lines(self) -> np.ndarray | None:
        """The line of the file that each row ends in, where it is text."""
        lines = None if self.find_lines is None else self.find_lines()
        return lines if lines is not None and len(lines) == self.n else None

    def where(self, row: int) -> str:
        """Name a row (counted from 0 here, from 1 for people)."""
        line = "" if self.lines is None else f" (line {self.lines[row]})"
        return f"row {row + 1}{line}"


def check_names(names: Iterable[str], where: str, dropped: Collection[str]) -> None:
    """Refuse names that do not tell columns apart."""
    seen: set[str] = set()
    for name in names:
        if name in seen and name not in dropped:
            raise DataError(
                f"{where} has more than one column called {listed([name])}; give each "
                "a name of its own."
            )
        seen.add(name)


def as_texts(values: np.ndarray) -> np.ndarray:
    """Values of any type as text; whole numbers without a point, missing as None."""
    if values.dtype.kind in "biufSU":
        distinct, places = np.unique(values, return_inverse=True)
        if distinct.size < values.size:
            return as_texts(distinct)[places]
    texts = np.empty(len(values), dtype=object)
    texts[:] = [as_text(value) for value in values.tolist()]
    return texts


def as_text(value) -> str | None:
    """Return one such value as text."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def as_numbers(values: np.ndarray, name: str, where: str) -> np.ndarray:
    """A column of numbers as float64."""
    if values.dtype.kind not in "biuf":
        raise DataError(
            f"{where}: column {quoted(name)} is of type {values.dtype}; it must hold "
            "numbers."
        )
    return values.astype(np.float64)


def refuse_infinite(table: Table, where: str) -> None:
    """Name the first infinite number, if there is one."""
    if sp.issparse(table.X):
        entries = sp.coo_array(table.X)
        rows, columns = (part[np.isinf(entries.data)] for part in entries.coords)
    else:
        rows, columns = np.nonzero(np.isinf(table.X))
    if rows.size:
        _refuse(table, where, int(rows[0]), table.names[columns[0]])
    for name, values in table.numbers.items():
        for row in np.flatnonzero(np.isinf(values))[:1].tolist():
            _refuse(table, where, row, name)


def _refuse(table: Table, where: str, row: int, name: str) -> None:
    raise DataError(
        f"{where}, {table.where(row)}, column {quoted(name)} is infinite; mend it, or "
        "leave it empty if it is missing."
    )
