"""Parquet, Arrow and Feather files, and folders of them, through pyarrow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from wideberth.data.errors import DataError, no_numbers, quoted
from wideberth.data.files import explained
from wideberth.data.table import Plan, Reader, Request, Table, as_text, check_names

#: Makes an array of a column, given its name and the column.
_Make = Callable[[str, Any], np.ndarray]
#: Bytes of each column of a Parquet file that are read ahead (a choice; with 1 << 16 a
#: file of 5 000 000 × 20 numbers in row groups of 1 000 000 takes 92 MB to read, where
#: a dataset takes 1.2 GB).
_BUFFER = 1 << 16
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400  # seconds
_POINTS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(.*)", re.ASCII)
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(.*)", re.ASCII)
_YEAR_FIRST = re.compile(r"(\d{4})/(\d{2})/(\d{2})(.*)", re.ASCII)


def require_pyarrow(where: str) -> None:
    """Say what to install where pyarrow is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            f"Reading {where} needs pyarrow: pip install 'wideberth[files]'."
        ) from None


class ColumnarReader(Reader):
    """Columns that have names and types of their own."""

    def __init__(self, path, kind: str):
        super().__init__(path, kind)
        self._form = f"a readable {kind.title()} file"
        require_pyarrow(self.name)
        with explained(self.name, self._form):
            self.fragments, self.schema = self._opened()
            self.names = tuple(self.schema.names)
        check_names(self.names, self.name)
        self._promised: list[int] = []  # rows of each file, as it says
        for origin, fragment in self.fragments:
            with explained(origin, self._form):
                self._promised.append(fragment.count_rows())
        self.n = sum(self._promised)
        if not self.names:
            raise DataError(f"{self.name} has no columns.")

    def _opened(self) -> tuple[list[tuple[str, Any]], Any]:
        """The files with their names, and the schema."""
        import pyarrow.dataset as ds
        from pyarrow.fs import LocalFileSystem

        form = {"parquet": ds.ParquetFileFormat, "arrow": ds.IpcFileFormat}[self.kind]()
        if self.is_folder:
            found = ds.dataset(self.path, format=form)
            return [(str(f.path), f) for f in found.get_fragments()], found.schema
        if self.path == "-":
            only = form.make_fragment(self.seekable())
        else:
            only = form.make_fragment(self.path, LocalFileSystem())
        return [(self.name, only)], only.physical_schema

    @property
    def paths(self):
        return [] if self.path == "-" else [origin for origin, _ in self.fragments]

    def plan(self, request: Request) -> Plan:
        import pyarrow.types as types

        plan = super().plan(request)
        numeric = (  # truth values are 0 and 1
            types.is_integer,
            types.is_floating,
            types.is_boolean,
            types.is_decimal,
            types.is_null,
        )
        wanted = [n for n in (*plan.features, *plan.numbers) if n not in plan.dates]
        kinds = {name: self.schema.field(name).type for name in wanted}
        if text := [n for n in wanted if not any(test(kinds[n]) for test in numeric)]:
            dated = [name for name in text if types.is_temporal(kinds[name])]
            raise DataError(f"{self.name}: {no_numbers(text, dated)}")
        for name in plan.texts:
            if types.is_nested(kind := self._value_type(name)):
                raise DataError(
                    f"{self.name}: column {quoted(name)} holds values of type {kind}; "
                    "it must hold one number or text per row."
                )
        return plan

    def text_columns(self, names):
        import pyarrow.types as types

        kinds = {name: self._value_type(name) for name in names}
        return [
            name
            for name, kind in kinds.items()
            if types.is_string(kind) or types.is_large_string(kind)
        ]

    def _value_type(self, name: str):
        """The type of the values in a column, however they are coded."""
        import pyarrow.types as types

        kind = self.schema.field(name).type
        coded = types.is_dictionary(kind) or types.is_run_end_encoded(kind)
        return kind.value_type if coded else kind

    def tables(self, plan, size, native=False):
        rows = max(size // (8 * max(len(plan.features), 1)), 1)
        texts = None if native else lambda _, column: texts_of(column, as_text)
        files = zip(self.fragments, self._promised, strict=True)
        for (origin, fragment), promised in files:
            with explained(origin, self._form):
                row = 0
                for batch in self._batches(fragment, plan, rows):
                    # Arrow files are used as they are, damaged or not.
                    batch.validate(full=True)
                    floats = partial(_floats, plan.dates, (origin, row))
                    yield table_of(batch, plan, origin, floats, texts)
                    row += batch.num_rows
                if row != promised:
                    raise DataError(
                        f"{origin} is damaged: it promises {promised} rows, and {row} "
                        "can be read. Get or write the file again."
                    )

    def _batches(self, fragment, plan: Plan, rows: int):
        """So many rows of one file at a time.

        A dataset holds whole row groups, which may be as large as the file; a Parquet
        file by itself is read through buffers, one for each column. Files whose columns
        differ from those of the others are left to the dataset, which converts them.
        """
        names = [*plan.features, *plan.numbers, *plan.texts]
        fields = [self.schema.field(name) for name in names]
        stored = list(fragment.physical_schema)
        if self.kind != "parquet" or not all(field in stored for field in fields):
            return fragment.to_batches(
                schema=self.schema,
                columns=names,
                batch_size=rows,
                batch_readahead=1,
                fragment_readahead=1,
            )
        from pyarrow.parquet import ParquetFile

        file = ParquetFile(fragment.open(), pre_buffer=False, buffer_size=_BUFFER)
        return file.iter_batches(rows, columns=names, use_threads=False)


def table_of(batch, plan: Plan, origin: str, floats: _Make, texts: _Make | None):
    """Columns of an Arrow batch: numbers by `floats`, texts by `texts` if given."""
    X = np.empty((batch.num_rows, len(plan.features)))
    for k, name in enumerate(plan.features):
        X[:, k] = floats(name, batch.column(name))
    numbers = {name: floats(name, batch.column(name)) for name in plan.numbers}
    make = texts or (lambda _, column: column.to_numpy(zero_copy_only=False))
    labels = {name: make(name, batch.column(name)) for name in plan.texts}
    return Table(plan.features, X, labels, numbers, origin=origin)


def texts_of(column, as_text: Callable[[Any], str | None]) -> np.ndarray:
    """A column of Arrow as text, by a function that is called for each value once."""
    import pyarrow as pa

    try:
        coded = column.dictionary_encode()
        values, places = coded.dictionary.to_pylist(), coded.indices
        places = places.fill_null(len(values)).to_numpy(zero_copy_only=False)
    except pa.ArrowNotImplementedError:  # runs and the like
        values, places = column.to_pylist(), np.arange(len(column))
    texts = np.empty(len(values) + 1, dtype=object)
    texts[:-1] = [None if value is None else as_text(value) for value in values]
    return texts[places]


def _floats(
    dates: tuple[str, ...], start: tuple[str, int], name: str, column
) -> np.ndarray:
    """A column of Arrow as float64, null as NaN; refused if that would round it.

    Its `start` is a file and a row, for the message about what is no date.
    """
    if name not in dates:
        return column.cast("float64").to_numpy(zero_copy_only=False)
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):  # Python knows no nanoseconds
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)

    def place(k: int) -> str:
        return f"{start[0]}, row {start[1] + k + 1}, column {quoted(name)}"

    return days_of(texts_of(column, as_text), place)


# -- dates -----------------------------------------------------------------------------


def days_of(
    texts: np.ndarray, place: Callable[[int], str], column: Iterable[str | None] = ()
) -> np.ndarray:
    """Dates as days since the start of 1970, NaN where there is none.

    They are read as ISO 8601 writes them (2024-01-31, 2024-01-31 08:30, 2024/01/31) and
    as 31.01.2024. In 01/31/2024 the day or the month may come first: the first cell of
    the whole `column`, or of these texts, that has a number above 12 shows which. What
    is no date is refused by its `place`.
    """
    different, month_first = set(texts.tolist()) - {None}, None
    if any(map(_SLASHES.fullmatch, different)):
        cells = (text and _SLASHES.fullmatch(text) for text in chain(column, different))
        parts = ((int(cell[1]), int(cell[2])) for cell in cells if cell)
        shown = next((one for one in parts if max(one) > 12), None)
        month_first = None if shown is None else shown[1] > 12
    day_of = {text: day_number(text, month_first) for text in different}
    for k, text in enumerate(texts.tolist()):
        if text is not None and day_of[text] is None:
            raise DataError(f"{place(k)}: {quoted(text)} {_no_date(text)}")
    day_of[None] = np.nan
    return np.array([day_of[text] for text in texts.tolist()], dtype=np.float64)


def day_number(text: str, month_first: bool | None = None) -> float | None:
    """Days from the start of 1970 to a date, None of what is none.

    Times without a zone count as UTC. 01/02/2024 needs `month_first`.
    """
    plain = _YEAR_FIRST.sub(r"\1-\2-\3\4", text)
    found = _POINTS.fullmatch(text)
    if found is None and month_first is not None:
        found = _SLASHES.fullmatch(text)
    if found is not None:
        day, month, year, rest = found.groups()
        if month_first and "/" in text:
            day, month = month, day
        plain = f"{year}-{month:0>2}-{day:0>2}{rest}"
    try:
        moment = datetime.fromisoformat(plain)
    except ValueError:
        return None
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (zoned - _EPOCH).total_seconds() / _DAY


def is_date(text: str) -> bool:
    """Whether a cell is a date, in whatever order of day and month."""
    return any(day_number(text, order) is not None for order in (True, False))


def _no_date(text: str) -> str:
    if is_date(text):
        return (
            "does not say whether the day or the month comes first, and no other cell "
            "of the column does; write dates as 2024-01-31."
        )
    return (
        "is not a date; --read dates=… reads 2024-01-31, with a time such as "
        "2024-01-31 08:30 too, 31.01.2024, and 01/31/2024."
    )
