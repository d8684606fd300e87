"""CSV and its relatives: any delimiter, decimal point or comma.

pyarrow cuts the text into cells and reads plain numbers. What it lacks is done here:
finding out how a file is written, and telling the row, the line and the column of what
is wrong with it. Columns whose cells are no plain numbers are read by `Numbers`.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from wideberth.data.columnar import require_pyarrow, texts_of
from wideberth.data.errors import DataError, quoted
from wideberth.data.numbers import Numbers, looks_like_number
from wideberth.data.reader import Reader
from wideberth.data.streams import File, explained
from wideberth.data.table import MISSING, Format, Plan, Request, Table

__all__ = ["DelimitedReader"]

#: Characters of the start of a file that the delimiter is found from.
_HEAD = 1 << 16
#: Characters of the longest line that is taken for a line of a table.
_LONGEST = 1 << 26
#: Bytes of text that pyarrow parses at a time; more of them leave the processor's caches
#: (200 000 × 20 numbers take 0.27 s at 1 MB, 0.4 s at 4 MB, 0.6 s at 32 MB).
_BLOCK = 1 << 20
_CANDIDATES = "\t;,|"
_NAMES = {",": "comma", ";": "semicolon", ".": "point", "\t": "tab", " ": "blanks"}
#: Stands before the number of a column that the header gives no name.
_UNNAMED = "#"
_UNDECODED = re.compile("[\udc80-\udcff]")
#: Missing values in all cases of letters, since pyarrow compares cells as they are.
_NULLS = sorted(
    "".join(letters)
    for text in MISSING
    for letters in itertools.product(*({c, c.upper()} for c in text))
)
_Row = tuple[int, list[str]]


@dataclass(frozen=True)
class _Header:
    """The names of the columns, the line they end in, and how the file is written."""

    names: list[str]
    line: int
    delimiter: str
    encoding: str

    @property
    def plain(self) -> bool:
        """Whether pyarrow can read the file as it is."""
        utf8 = self.encoding.lower().replace("_", "-").startswith("utf-8")
        return utf8 and self.delimiter != " " and self.delimiter.isascii()


class DelimitedReader(Reader):
    """A table of text, or a folder of them that all have the same first line."""

    def __init__(self, file: File, kind: str, form: Format):
        super().__init__(file, kind)
        require_pyarrow(self.name)
        self.form, self.files = form, [file]
        if file.is_folder:
            found = sorted(f for f in Path(file.path).rglob("*") if f.is_file())
            self.files = [File(path) for path in found]
        if not self.files:
            raise DataError(f"{self.name} holds no files.")
        headers = []
        for own in self.files:
            with explained(own.name):
                headers.append(self._begin(own)[0])
            if headers[-1] != headers[0]:
                raise DataError(
                    f"{own.name} has other columns, or another sign between them, than "
                    f"{self.files[0].name}; files of one table must have the same "
                    "first line."
                )
        self.header, self.names = headers[0], headers[0].names
        sign = self.header.delimiter
        self.details = {"delimiter": _NAMES.get(sign, sign)}
        self._unnamed: list[str] = []
        self._types: dict[str, Any] = {}

    def plan(self, request: Request) -> Plan:
        """Columns without a name are no features; they must be empty, see `_table`."""
        plan = super().plan(request)
        if self.form.header and request.features is None:
            at = self._at
            unnamed = [n for n in plan.features if n == f"{_UNNAMED}{at[n] + 1}"]
            features = tuple(n for n in plan.features if n not in unnamed)
            self._unnamed, plan = unnamed, Plan(plan.texts, plan.numbers, features)
        return plan

    @cached_property
    def _at(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    def tables(self, plan, size=1 << 24, *, native=False) -> Iterator[Table]:
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
                self.details["decimal sign"] = _NAMES[self.form.decimal or "."]
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
        self.details["decimal sign"] = _NAMES[numbers.finish(file.name)]

    def _batches(self, file: File, plan: Plan, size: int, native: bool, number):
        """Batches of pyarrow; columns go by their numbers."""
        import pyarrow as pa
        import pyarrow.csv as pc

        header, form, at = self.header, self.form, self._at
        types = {str(at[n]): number for n in (*plan.features, *plan.numbers)}
        types |= {str(at[n]): pa.binary() for n in self._unnamed}
        labels = [str(at[n]) for n in plan.texts]
        types |= self._types if native else dict.fromkeys(labels, pa.binary())
        block = max(_BLOCK, 16 * sum(map(len, self.names)))
        stream: BinaryIO = file.open()
        if not header.plain:
            stream = io.BufferedReader(_Rewritten(self._rows(file)))  # type: ignore[type-var]
        with pc.open_csv(
            stream,
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

    def _table(
        self,
        batch,
        plan: Plan,
        file: File,
        row: int,
        native: bool,
        careful: Numbers | None = None,
    ) -> Table | None:
        """Columns of a batch; None where a number is not plain and nobody is careful."""
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
            bad = map(_UNDECODED.search, _cells(column))
            k = next(k for k, found in enumerate(bad) if found)
            place = f"row {row + k + 1} (line {lines[k]}), column {quoted(name)}"
            raise DataError(_not_utf8(file.name, place)) from None

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

    def _rows(self, file: File) -> Iterator[_Row]:
        """The rows below the header, and the line that each ends in."""
        return self._begin(file)[1]

    def _begin(self, file: File) -> tuple[_Header, Iterator[_Row]]:
        """The header, and the rows below it."""
        form = self.form
        lines = _Lines(_decoded(file, form), file.name)
        delimiter = form.delimiter or ("\t" if self.kind == "tsv" else None)
        delimiter = delimiter or _find_delimiter(lines.head)
        rows = _split(lines, delimiter, file.name)
        first = next(rows, None)
        if first is None:
            raise DataError(f"{file.name} is empty.")
        names = _names(*first, file.name, form.header)
        rows = rows if form.header else itertools.chain([first], rows)
        return _Header(names, first[0], delimiter, lines.stream.encoding), rows


class _LineNumbers:
    """Lines of the rows of a batch, found out when one is asked for."""

    def __init__(self, find, start: int):
        self.find, self.start = find, start

    def __getitem__(self, k: int) -> int:
        return int(self.find()[self.start + k])


class _Rewritten(io.RawIOBase):
    """Rows of cells as UTF-8 text with commas between them."""

    def __init__(self, rows: Iterator[_Row]):
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
    """A column as pyarrow read it, missing values as NaN; None if some is not finite."""
    values = column.to_numpy(zero_copy_only=False)
    there = len(values) - column.null_count
    return values if np.isfinite(values).sum() == there else None


def _cells(column) -> list[str]:
    """Cells as text; what is not UTF-8 becomes what `_UNDECODED` finds."""
    return [cell.decode("utf-8", "surrogateescape") for cell in column.to_pylist()]


def _decoded(file: File, form: Format) -> TextIO:
    stream = file.open()
    encoding = form.encoding
    if encoding is None:
        start = stream.peek(4)[:4]  # type: ignore[attr-defined]
        utf16 = start.startswith((b"\xff\xfe", b"\xfe\xff"))
        encoding = "utf-16" if utf16 else "utf-8-sig"
    # What cannot be decoded travels along until its row and column are known.
    errors = "surrogateescape" if encoding.startswith("utf-8") else "strict"
    try:
        return io.TextIOWrapper(stream, encoding, errors, newline="")
    except LookupError:
        raise DataError(
            f"--encoding {encoding} is not known; utf-8, utf-16, latin-1 and cp1252 "
            "are common."
        ) from None


class _Lines:
    """Lines of a stream, none of them endless, the first of them seen in advance."""

    def __init__(self, stream: TextIO, where: str):
        self.stream, self.where = stream, where
        self.head: list[str] = []
        length = 0
        for line in itertools.islice(self._read(), 50):
            self.head.append(line)
            length += len(line)
            if length > _HEAD and len(self.head) > 2:
                break
        if any("\0" in line for line in self.head):
            raise DataError(
                f"{where} is not a table of text; say what it is with --format."
            )

    def _read(self) -> Iterator[str]:
        while line := self.stream.readline(_LONGEST):
            if len(line) == _LONGEST:
                raise DataError(
                    f"{self.where} has a line of more than {_LONGEST} characters; it "
                    "does not seem to be a table of text."
                )
            yield line

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self.head, self._read())


def _find_delimiter(head: list[str]) -> str:
    """The one that cuts the first lines into the most cells, equally many in each."""
    best, most = ",", 1
    for candidate in (*_CANDIDATES, " "):
        try:
            counts = [len(row) for row in _cut(head, candidate) if row]
        except csv.Error:
            continue
        # The last line may be cut short by a quoted line break.
        even = len(set(counts[:-1] or counts)) == 1
        if even and counts[0] > most and (candidate != " " or most == 1):
            best, most = candidate, counts[0]
    if most == 1 and head:  # uneven: the header decides, and the rows are complained of
        best = max(_CANDIDATES, key=head[0].count)
    return best


def _cut(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    if delimiter == " ":
        return (line.split() for line in lines)
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _split(lines: _Lines, delimiter: str, where: str) -> Iterator[_Row]:
    """Rows that are not blank, each with the number of its last line."""
    reader = _cut(lines, delimiter)
    number = 0
    try:
        for number, row in enumerate(reader, 1):
            if row and not (len(row) == 1 and not row[0].strip()):
                yield getattr(reader, "line_num", number), row
    except csv.Error as error:
        line = getattr(reader, "line_num", number)
        raise DataError(f"{where}, line {line}: {error}.") from None


def _names(line: int, first: list[str], where: str, header: bool) -> list[str]:
    """Names from the first row, or numbers of columns where there is no header."""
    if not header:
        return [str(k) for k in range(1, len(first) + 1)]
    names = [name.strip() for name in first]
    if _UNDECODED.search("".join(names)):
        raise DataError(_not_utf8(where, f"line {line}"))
    if all(map(looks_like_number, names)):
        raise DataError(
            f"{where}: line {line} holds only numbers where the names of the columns "
            "should be; give them names, or say --no-header and name columns by "
            "number, such as --target 1."
        )
    return [name or f"{_UNNAMED}{k}" for k, name in enumerate(names, 1)]


def _not_utf8(where: str, place: str) -> str:
    return (
        f"{where}, {place} is not UTF-8 text; say what it is, for example "
        "--encoding latin-1."
    )
