"""CSV and its relatives: any delimiter, decimal point or comma.

pyarrow cuts the text into cells and reads plain numbers. What it lacks is done here:
finding out how a file is written, and telling the row, the line and the column of what
is wrong with it. Columns whose cells are no plain numbers are read by `Numbers`.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from wideberth.data.columnar import require_pyarrow, texts_of
from wideberth.data.dialect import SIGNS, UNDECODED, UNNAMED, Row, begin, not_utf8
from wideberth.data.errors import DataError, quoted
from wideberth.data.numbers import Numbers
from wideberth.data.reader import AT_ONCE, Reader
from wideberth.data.streams import File, explained
from wideberth.data.table import MISSING, Format, Plan, Request, Table

__all__ = ["DelimitedReader"]

#: Bytes of text that pyarrow parses at a time; 200 000 × 20 numbers took it 0.27 s of
#: processor time with 1 MB, 0.43 s with 4 MB and 0.59 s with 32 MB; less was not tried.
_BLOCK = 1 << 20
#: Missing values as pyarrow compares them; `Numbers` knows other cases of letters.
_NULLS = [*MISSING, *map(str.upper, MISSING), "NaN"]


class DelimitedReader(Reader):
    """A table of text, or a folder of them that all have the same first line."""

    def __init__(self, path, kind: str, form: Format):
        super().__init__(path, kind)
        require_pyarrow(self.name)
        self.form = form
        self.files: list[File] = [self]
        if self.is_folder:
            found = sorted(f for f in Path(path).rglob("*") if f.is_file())
            self.files = [File(file) for file in found]
        if not self.files:
            raise DataError(f"{self.name} holds no files.")
        headers = []
        for own in self.files:
            with explained(own.name):
                headers.append(begin(own, kind, form)[0])
            if headers[-1] != headers[0]:
                raise DataError(
                    f"{own.name} has other columns, or another sign between them, than "
                    f"{self.files[0].name}; files of one table must have the same "
                    "first line."
                )
        self.header, self.names = headers[0], headers[0].names
        sign = self.header.delimiter
        self.details = {"delimiter": SIGNS.get(sign, sign)}
        self._unnamed: list[str] = []
        self._types: dict[str, Any] = {}

    def plan(self, request: Request) -> Plan:
        """Columns without a name are no features; they must be empty, see `_table`."""
        plan = super().plan(request)
        if self.form.header and request.features is None:
            at = self._at
            unnamed = [n for n in plan.features if n == f"{UNNAMED}{at[n] + 1}"]
            features = tuple(n for n in plan.features if n not in unnamed)
            self._unnamed, plan = unnamed, Plan(plan.texts, plan.numbers, features)
        return plan

    @cached_property
    def _at(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    def tables(self, plan, size=AT_ONCE, *, native=False) -> Iterator[Table]:
        n = 0
        for file in self.files:
            with explained(file.name):
                for table in self._tables_of(file, plan, size, native):
                    n += table.n
                    yield table
        if n == 0:
            raise DataError(f"{self.name} has a header but no rows below it.")

    def _tables_of(self, file: File, plan: Plan, size: int, native: bool):
        """Rows of one file: as pyarrow reads them, for as long as it can."""
        import pyarrow as pa

        done = row = 0
        try:
            for batch in self._batches(file, plan, size, native, pa.float64()):
                table = self._table(batch, plan, file, row, native)
                if table is None:
                    break
                yield table
                done, row = done + 1, row + table.n
            else:
                self.details["decimal sign"] = SIGNS[self.form.decimal or "."]
                return
        except pa.ArrowInvalid:
            pass
        numbers, row = Numbers(self.form), 0
        try:
            batches = self._batches(file, plan, size, native, pa.binary())
            for k, batch in enumerate(batches):
                table = self._table(batch, plan, file, row, native, numbers)
                row += batch.num_rows
                if k >= done and not numbers.troubles:
                    yield table
        except pa.ArrowInvalid as error:
            raise self._explanation(file, error) from None
        self.details["decimal sign"] = SIGNS[numbers.finish(file.name)]

    def _batches(self, file: File, plan: Plan, size: int, native: bool, number):
        """Batches of pyarrow; columns go by their numbers."""
        import pyarrow as pa
        import pyarrow.csv as pc

        header, form, at = self.header, self.form, self._at
        types = {str(at[n]): number for n in (*plan.features, *plan.numbers)}
        types |= {str(at[n]): pa.binary() for n in self._unnamed}
        labels = [str(at[n]) for n in plan.texts]
        types |= self._types if native else dict.fromkeys(labels, pa.binary())
        block = _BLOCK + 16 * sum(map(len, self.names))
        stream: _Watched | _Rewritten = _Rewritten(self._rows(file))
        if header.plain:
            stream = _Watched(file.open(), header.delimiter)
        with pc.open_csv(
            io.BufferedReader(stream, block),
            pc.ReadOptions(
                column_names=list(map(str, range(len(self.names)))),
                skip_rows=header.line if form.header and header.plain else 0,
                block_size=block,
            ),
            pc.ParseOptions(
                delimiter=header.delimiter if header.plain else ",",
                newlines_in_values=True,
                invalid_row_handler=_skip_blank,
            ),
            pc.ConvertOptions(
                column_types=types,
                include_columns=list(dict.fromkeys([*types, *labels])),
                null_values=[*_NULLS, *form.missing],
                decimal_point=form.decimal or ".",
            ),
        ) as blocks:
            while some := list(itertools.islice(blocks, max(size // block, 1))):
                if native:  # as the first rows have it
                    self._types = {n: some[0].schema.field(n).type for n in labels}
                whole = pa.Table.from_batches(some).combine_chunks()
                yield from whole.to_batches()
        if stream.suspect:
            for _ in self._rows(file):
                pass  # Python's reader refuses text after a closing quote

    def _table(
        self,
        batch,
        plan: Plan,
        file: File,
        row: int,
        native: bool,
        careful: Numbers | None = None,
    ) -> Table | None:
        """Columns of a batch; None if a number is not plain and nobody is careful."""
        lines = _LineNumbers(partial(self._lines, file), row)

        def column(name: str):
            return batch.column(str(self._at[name]))

        def numbers(name: str) -> np.ndarray | None:
            if careful is None:
                return _plain_numbers(column(name))
            return careful.read(name, _cells(column(name)), row, lines)

        for name in self._unnamed:
            if "".join(_cells(column(name))).strip():
                raise DataError(
                    f"{file.name}: column {name[1:]} has no name in the header; if it "
                    f"numbers the rows leave it out with --drop '{name}', else give it "
                    "a name."
                )
        X = np.empty((batch.num_rows, len(plan.features)))
        beside: dict[str, np.ndarray] = {}
        for k, name in enumerate((*plan.features, *plan.numbers)):
            values = numbers(name)
            if values is None:
                return None
            if k < len(plan.features):
                X[:, k] = values
            else:
                beside[name] = values
        texts = {}
        for name in plan.texts:
            if native:
                texts[name] = column(name).to_numpy(zero_copy_only=False)
            else:
                texts[name] = self._texts(column(name), name, file, row, lines)
        find = partial(self._lines, file) if len(self.files) == 1 else None
        return Table(plan.features, X, texts, beside, find, file.name)

    def _texts(self, column, name: str, file: File, row: int, lines) -> np.ndarray:
        def text(cell: bytes) -> str | None:
            stripped = cell.decode().strip()
            return None if self.form.is_missing(stripped) else stripped

        try:
            return texts_of(column, text)
        except UnicodeDecodeError:
            bad = map(UNDECODED.search, _cells(column))
            k = next(k for k, found in enumerate(bad) if found)
            place = f"row {row + k + 1} (line {lines[k]}), column {quoted(name)}"
            raise DataError(not_utf8(file.name, place)) from None

    def _explanation(self, file: File, error: Exception) -> DataError:
        """Say which row pyarrow stumbled over."""
        width = len(self.names)
        for k, (line, row) in enumerate(self._rows(file), 1):
            if len(row) != width:
                return DataError(
                    f"{file.name}, row {k} (line {line}) has {len(row)} cells where "
                    f"the first line has {width}; mend it, or say which sign stands "
                    "between the cells with --delimiter."
                )
        return DataError(f"{file.name} cannot be read: {error}")

    def _lines(self, file: File) -> np.ndarray:
        """The line that each row ends in."""
        return np.array([line for line, _ in self._rows(file)])

    def _rows(self, file: File) -> Iterator[Row]:
        """The rows below the header, and the line that each ends in."""
        return begin(file, self.kind, self.form)[1]


class _LineNumbers:
    """Lines of the rows of a batch, found out when one is asked for."""

    def __init__(self, find, start: int):
        self.find, self.start = find, start

    def __getitem__(self, k: int) -> int:
        return int(self.find()[self.start + k])


class _Watched(io.RawIOBase):
    """Bytes of a file; notes a quote within a cell, which pyarrow does not mind."""

    def __init__(self, stream, delimiter: str):
        self.stream, self.suspect = stream, False
        self.inside = np.ones(256, dtype=bool)
        self.inside[list(f'{delimiter}\r\n"'.encode())] = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        data = self.stream.read(len(buffer))
        if b'"' in data and not self.suspect:
            letters = np.frombuffer(data, np.uint8)
            quotes = np.flatnonzero(letters[1:-1] == ord('"'))
            around = self.inside[letters[quotes]] & self.inside[letters[quotes + 2]]
            self.suspect = bool(around.any())
        buffer[: len(data)] = data
        return len(data)


class _Rewritten(io.RawIOBase):
    """Rows of cells as UTF-8 text with commas between them."""

    suspect = False

    def __init__(self, rows: Iterator[Row]):
        self.rows, self.rest = rows, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        if not self.rest:
            text = io.StringIO()
            some = itertools.islice(self.rows, 1000)
            csv.writer(text, lineterminator="\n").writerows(row for _, row in some)
            self.rest = text.getvalue().encode("utf-8", "surrogateescape")
        size = min(len(buffer), len(self.rest))
        buffer[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


def _skip_blank(row) -> str:
    return "error" if row.text.strip() else "skip"


def _plain_numbers(column) -> np.ndarray | None:
    """A column as pyarrow read it, missing values as NaN; None if one is infinite."""
    values = column.to_numpy(zero_copy_only=False)
    there = len(values) - column.null_count
    return values if np.isfinite(values).sum() == there else None


def _cells(column) -> list[str]:
    """Cells as text; what is not UTF-8 becomes what `UNDECODED` finds."""
    return [cell.decode("utf-8", "surrogateescape") for cell in column.to_pylist()]
