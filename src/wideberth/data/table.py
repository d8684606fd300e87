"""What is asked of a file, what reads it, and what comes of it.

A `Reader` knows one format. It says which columns there are, and yields the rows of
those that a `Request` wants as `Table`s of some rows each. A table in memory is all of
them together; data that outgrows memory is one at a time (`sources.TableSource`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from wideberth.data.errors import DataError, counted, listed, no_columns, quoted
from wideberth.data.files import File, check_room

#: Numbers that stand for a missing value in many files.
_CODES = [sign * nines for nines in (99.0, 999.0, 9999.0, 99999.0) for sign in (1, -1)]
#: Bytes that are read at a time where all rows are put together in the end (a choice).
AT_ONCE = 1 << 24


@dataclass(frozen=True)
class Request:
    """Which columns are wanted, and as what.

    `texts` and `numbers` come apart from the features. `features` of None are all the
    columns that are left once those and `dropped` are taken out; a list of names leaves
    out whatever it does not name. Those of them in `dates` hold dates, which are read
    as days. In `limits` (columns, or True for all) cells such as <0.5 are read as
    bounds; elsewhere they are refused. Names in `optional` may be absent.
    """

    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    features: Sequence[str] | None = None
    dates: tuple[str, ...] = ()
    limits: bool | tuple[str, ...] = False
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plan(Request):
    """A request all of whose columns are there, and whose features are known."""

    features: Sequence[str] = ()


@dataclass
class Table:
    """Rows of a data source: features, and the columns asked for apart from them.

    A missing number is NaN, a missing text None. Cells that are limits of detection are
    NaN, and have a lower and an upper bound among the `bounds` of their column: −inf
    and 0.5 for <0.5, 100 and inf for >100; the bounds of all other cells are NaN.
    `find_lines` says where each row ends
    in a text file; `origin` is what messages about these rows start with.
    """

    names: Sequence[str]
    X: np.ndarray | sp.csr_array
    texts: dict[str, np.ndarray] = field(default_factory=dict)
    numbers: dict[str, np.ndarray] = field(default_factory=dict)
    bounds: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    find_lines: Callable[[], np.ndarray] | None = None
    origin: str = "the data"
    start: int = 0  # the place of the first row among all rows

    @property
    def n(self) -> int:
        """Rows."""
        return self.X.shape[0]

    @cached_property
    def lines(self) -> np.ndarray | None:
        """The line of the file that each row ends in, where it is text."""
        lines = None if self.find_lines is None else self.find_lines()
        stop = self.start + self.n
        return None if lines is None or len(lines) < stop else lines[self.start : stop]

    def where(self, row: int) -> str:
        """Name a row (counted from 0 here, from 1 for people)."""
        line = "" if self.lines is None else f" (line {self.lines[row]})"
        return f"row {self.start + row + 1}{line}"


class Reader(File, ABC):
    """One file or folder of a known format.

    Attributes
    ----------
    names : tuple of str
        Names of all columns.
    kind : str
        The format, one of `files.KINDS`.
    n : int or None
        Rows, where that is known before they are read.
    details : dict
        How the file turned out to be written, for a report.
    remarks : list
        What the user should know about how the file is read.
    """

    names: tuple[str, ...]
    n: int | None = None
    #: Columns that the file gives no name: no features unless somebody asks for them.
    unnamed: tuple[str, ...] = ()
    #: Whether features without a column are zero, rather than an error.
    sparse = False
    #: Called with the rows that are read, of how many if that is known.
    watch: Callable[[int, int | None], None] | None = None

    def __init__(self, path, kind: str):
        super().__init__(path)
        self.kind = kind
        self.details: dict[str, str] = {}
        self.remarks: list[str] = []

    @property
    def paths(self) -> list[str]:
        """Files that every read opens anew."""
        return [] if self.path == "-" else [self.path]

    def plan(self, request: Request) -> Plan:
        """The columns to read for a request."""
        names, features = set(self.names), request.features
        aside = (*request.texts, *request.numbers, *request.dropped)
        optional = request.optional.difference(features or ())
        limits = () if isinstance(request.limits, bool) else request.limits
        wanted = [
            *aside,
            *request.dates,
            *limits,
            *(() if self.sparse else features or ()),
        ]
        known = names | optional
        absent = [name for name in dict.fromkeys(wanted) if name not in known]
        if absent:
            raise DataError(no_columns(self.name, absent, self.names))
        if features is None:
            features = self.others(aside)
            if not features:
                more = self.unnamed and f"; name {listed(self.unnamed)} in its header"
                raise DataError(
                    f"{self.name} has no column left to be a feature{more or ''}."
                )
        return Plan(
            texts=tuple(n for n in dict.fromkeys(request.texts) if n in names),
            numbers=tuple(n for n in dict.fromkeys(request.numbers) if n in names),
            features=features,
            dates=tuple(name for name in request.dates if name in features),
            limits=request.limits,
        )

    def others(self, aside: Collection[str]) -> tuple[str, ...]:
        """The columns that are features where nobody says which are."""
        gone = {*aside, *self.unnamed}
        return tuple(name for name in self.names if name not in gone)

    def text_columns(self, names: Iterable[str]) -> list[str]:
        """Those of some columns that hold words: text that starts unlike a number."""
        return []

    def row_bytes(self, plan: Plan) -> float:
        """Bytes that the features of a row take in memory."""
        return 8 * len(plan.features)

    @abstractmethod
    def tables(self, plan: Plan, size: int, native: bool = False) -> Iterator[Table]:
        """All rows in order, about `size` bytes at a time.

        Columns of text are given as text, or with `native` in the type that they have.
        """

    def read(self, plan: Plan) -> Table:
        """All rows at once."""
        columns = len(plan.features) + len((*plan.texts, *plan.numbers))
        if self.n is not None and not self.sparse:
            check_room(8 * self.n * columns, self.name)
        parts, size, n = [], 0, 0
        for part in self.parts(plan, AT_ONCE):
            X = part.X.data if sp.issparse(part.X) else part.X
            size += X.nbytes + 8 * part.n * len((*plan.texts, *plan.numbers))
            check_room(size, self.name)
            parts.append(part)
            n += part.n
            if self.watch is not None:
                self.watch(n, self.n)
        return _joined(parts)

    def parts(self, plan: Plan, size: int) -> Iterator[Table]:
        """All rows in order, about `size` bytes at a time; there must be some."""
        n = 0
        for table in self.tables(plan, size):
            table.start = n
            _refuse_infinite(table, self.name)
            if table.n:
                yield table
            n += table.n
        if not n:
            raise DataError(f"{self.name} holds no rows; there is nothing to work on.")


def _joined(parts: list[Table]) -> Table:
    """One table of all rows; `parts` is emptied, so that they are not held twice."""
    first, n = parts[0], sum(part.n for part in parts)
    if len(parts) == 1:
        return first
    texts = {k: np.concatenate([part.texts[k] for part in parts]) for k in first.texts}
    numbers = {
        k: np.concatenate([part.numbers[k] for part in parts]) for k in first.numbers
    }
    bounds = {}
    for name in dict.fromkeys(name for part in parts for name in part.bounds):
        none = {part.start: np.full((2, part.n), np.nan) for part in parts}
        each = [part.bounds.get(name, none[part.start]) for part in parts]
        bounds[name] = (
            np.concatenate([b[0] for b in each]),
            np.concatenate([b[1] for b in each]),
        )
    if sp.issparse(first.X):
        X = sp.csr_array(sp.vstack([part.X for part in parts], format="csr"))
    else:
        X = np.empty((n, first.X.shape[1]), first.X.dtype)
        while parts:
            part = parts.pop()
            X[part.start : part.start + part.n] = part.X
    return replace(first, X=X, texts=texts, numbers=numbers, bounds=bounds)


def _refuse_infinite(table: Table, where: str) -> None:
    """Name the first infinite number, if there is one."""
    if sp.issparse(table.X):
        entries = sp.coo_array(table.X)
        rows, columns = (part[np.isinf(entries.data)] for part in entries.coords)
    else:
        rows, columns = np.nonzero(np.isinf(table.X))
    found = [(table.names[column], rows) for column in columns[:1]]
    found += [(n, np.flatnonzero(np.isinf(own))) for n, own in table.numbers.items()]
    for name, places in found:
        if places.size:
            raise DataError(
                f"{where}, {table.where(int(places[0]))}, column {quoted(name)} is "
                "infinite; correct it, or leave it empty if it is missing."
            )


def gap_codes(table: Table, reader: Reader) -> list[str]:
    """Remarks on numbers such as −999 that seem to stand for missing values.

    They are farther from all other values of their column than those are apart.
    """
    if sp.issparse(table.X):
        return []
    ends = np.fmin.reduce(table.X), np.fmax.reduce(table.X)
    found: list[tuple[str, float, int]] = []
    for j in np.flatnonzero(np.isin(ends, _CODES).any(axis=0)).tolist():
        column = table.X[:, j]
        others = column[~np.isnan(column) & ~np.isin(column, _CODES)]
        spread = np.ptp(others) if others.size else np.inf
        found += [
            (table.names[j], code, int((column == code).sum()))
            for code in sorted({ends[0][j], ends[1][j]} & set(_CODES))
            if np.abs(others - code).min(initial=np.inf) > spread
        ]
    codes = " ".join(f"na={code:g}" for code in dict.fromkeys(c for _, c, _ in found))
    remedy = f"add --read {codes}, written as in the file"
    if reader.kind not in ("csv", "tsv"):
        remedy = "write null or NaN in its place"
    return [
        f"{reader.name}: column {quoted(name)} holds {code:g} in "
        f"{counted(count, 'row')}, far from all other values; if it means a "
        f"missing value, {remedy}."
        for name, code, count in found
    ]


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse names that do not tell columns apart."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(
                f"{where} has more than one column called {quoted(name)}; give each "
                "another name."
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
