"""CSV and its relatives: any encoding, any delimiter, decimal point or comma.

pyarrow cuts the text into cells, of which `Numbers` makes numbers. What it lacks is
done here: finding out how a file is written, and telling the row, the line and the
column of what is wrong with it; for the line Python's reader cuts the text again.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from wideberth.data.columnar import require_pyarrow, table_of, texts_of
from wideberth.data.dates import day_numbers, not_a_date
from wideberth.data.errors import DataError, quoted
from wideberth.data.names import Names
from wideberth.data.numbers import NULLS, Numbers, is_word, looks_like_number
from wideberth.data.quotes import Quotes, watched
from wideberth.data.streams import HEAD, File, explained, lines_of
from wideberth.data.table import Format, Plan, Reader, Request, Table, check_names

#: Bytes of text that pyarrow parses at a time; 200 000 × 20 numbers took it 0.27 s of
#: processor time with 1 MB, 0.43 s with 4 MB and 0.59 s with 32 MB; less was not tried.
_BLOCK = 1 << 20
_CANDIDATES = "\t;,|"
_SIGNS = {",": "comma", ";": "semicolon", ".": "point", "\t": "tab", " ": "blanks"}
#: Stands before the number of a column that the header gives no name.
_UNNAMED = "#"
_UNDECODED = re.compile("[\udc80-\udcff]")
_Row = tuple[int, list[str]]
#: Names, the line they end in, the delimiter, and whether pyarrow can read the file.
_Header = tuple[list[str], int, str, bool]


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
                headers.append(_begin(own, kind, form)[0])
            if headers[-1] != headers[0]:
                raise DataError(
                    f"{own.name} has other columns, or another sign between them, than "
                    f"{self.files[0].name}; files of one table must have the same "
                    "first line."
                )
        names, self.line, self.delimiter, self.plain = headers[0]
        self.names = Names(names)
        if form.header:
            numbered = enumerate(names, 1)
            self.unnamed = tuple(n for k, n in numbered if n == f"{_UNNAMED}{k}")
        self.details = {"delimiter": _SIGNS.get(self.delimiter, self.delimiter)}
        self._types: dict[str, Any] = {}
        self._strict: set[File] = set()  # odd quotes, but Python's reader takes them

    @property
    def paths(self):
        return [file.path for file in self.files if file.path != "-"]

    def plan(self, request: Request) -> Plan:
        """Columns may go by the same name as long as they are dropped."""
        check_names(self.names, self.name, request.dropped)
        return super().plan(request)

    def text_columns(self, names):
        """By the first value of each; read until all have one."""
        at = {name: k for k, name in enumerate(self.names)}
        left, found = {name: at[name] for name in names}, []
        for file in self.files:
            for _, row in self._rows(file) if left else ():
                cells = {n: row[k].strip() for n, k in left.items() if k < len(row)}
                told = [
                    n for n, cell in cells.items() if not self.form.is_missing(cell)
                ]
                found += [name for name in told if is_word(cells[name])]
                left = {name: k for name, k in left.items() if name not in told}
                if not left:
                    break
        return [name for name in names if name in found]

    def tables(self, plan, size, native=False):
        import pyarrow as pa

        n = 0
        for file in self.files:
            numbers, row = Numbers(self.form, partial(self._lines, file)), 0
            with explained(file.name):
                try:
                    for batch in self._batches(file, plan, size, native):
                        table = self._table(batch, plan, file, row, native, numbers)
                        row += table.n
                        if not numbers.troubles:
                            yield table
                except pa.ArrowInvalid as error:
                    raise self._explanation(file, error) from None
                self.details["decimal sign"] = _SIGNS[numbers.finish(file.name)]
            n += row
        if n == 0:
            raise DataError(f"{self.name} has a header but no rows below it.")

    def _batches(self, file: File, plan: Plan, size: int, native: bool):
        """Batches of pyarrow: cells as bytes, or with `native` labels in their type."""
        import pyarrow as pa
        import pyarrow.csv as pc

        form = self.form
        at = {name: str(k) for k, name in enumerate(self.names)}
        labels = [at[n] for n in plan.texts]
        cells = [at[n] for n in (*plan.features, *plan.numbers, *plan.empty)]
        types = dict.fromkeys(cells, pa.binary())
        types |= self._types if native else dict.fromkeys(labels, pa.binary())
        block = _BLOCK + 16 * sum(map(len, self.names))
        quotes = Quotes(self.delimiter)
        if self.plain:
            pieces = watched(file, block, quotes)
        else:
            pieces = _rewritten(self._rows(file))
        with pc.open_csv(
            io.BufferedReader(_Stream(pieces), block),
            pc.ReadOptions(  # columns go by their numbers, as names may be there twice
                column_names=list(map(str, range(len(self.names)))),
                skip_rows=self.line if form.header and self.plain else 0,
                block_size=block,
            ),
            pc.ParseOptions(
                delimiter=self.delimiter if self.plain else ",",
                newlines_in_values=True,
                invalid_row_handler=_skip_blank_line,
            ),
            pc.ConvertOptions(
                column_types=types,
                include_columns=list(dict.fromkeys([*types, *labels])),
                null_values=[*NULLS, *form.missing],
                decimal_point=form.decimal or ".",
            ),
        ) as blocks:
            while some := list(itertools.islice(blocks, max(size // block, 1))):
                schema = some[0].schema
                if native:  # as the first rows have it
                    self._types = {n: schema.field(n).type for n in labels}
                whole = pa.Table.from_batches(some).combine_chunks()
                names = [self.names[int(n)] for n in schema.names]
                yield from whole.rename_columns(names).to_batches()
        if not quotes.finish() and file not in self._strict:
            for _ in self._rows(file):
                pass  # Python's reader refuses what is wrong about them
            self._strict.add(file)

    def _table(
        self, batch, plan: Plan, file: File, row: int, native: bool, numbers: Numbers
    ) -> Table:
        """Columns of a batch that starts in this row."""

        def floats(name: str, column) -> np.ndarray:
            if name not in plan.dates:
                return numbers.read(name, column, row)
            days, bad = day_numbers(texts(name, column))
            if bad is not None:
                line, cell = self._lines(file)[row + bad], _decoded(column[bad].as_py())
                place = f"row {row + bad + 1} (line {line}), column {quoted(name)}: "
                raise DataError(f"{file.name}, {place}{not_a_date(quoted(cell))}")
            return days

        def text(cell: bytes) -> str | None:
            stripped = cell.decode().strip()
            return None if self.form.is_missing(stripped) else stripped

        def texts(name: str, column) -> np.ndarray:
            try:
                return texts_of(column, text)
            except UnicodeDecodeError:
                bad = (_UNDECODED.search(_decoded(c)) for c in column.to_pylist())
                k = row + next(k for k, found in enumerate(bad) if found)
                line = self._lines(file)[k]
                place = f"row {k + 1} (line {line}), column {quoted(name)}"
                raise _not_utf8(file.name, place) from None

        for name in plan.empty:
            if any(_decoded(cell).strip() for cell in batch.column(name).to_pylist()):
                raise DataError(
                    f"{file.name}: column {name[1:]} has no name in the header; if it "
                    f"numbers the rows leave it out with --drop '{name}' (`columns` in "
                    "Python), else give it a name."
                )
        table = table_of(batch, plan, file.name, floats, None if native else texts)
        if len(self.files) == 1:
            table.find_lines = partial(self._lines, file)
        return table

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
        return np.array([line for line, _ in self._rows(file)])

    def _rows(self, file: File) -> Iterator[_Row]:
        return _begin(file, self.kind, self.form)[1]


def _skip_blank_line(row) -> str:
    """What pyarrow is to do about a row of too many or too few cells; see `_split`."""
    return "skip" if row.actual_columns == 1 and row.text.isspace() else "error"


class _Stream(io.RawIOBase):
    """What an iterator of bytes yields, as a stream."""

    def __init__(self, pieces: Iterator[bytes]):
        self.pieces, self.rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        self.rest = self.rest or next(self.pieces, b"")
        size = min(len(buffer), len(self.rest))
        buffer[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


def _rewritten(rows: Iterator[_Row]) -> Iterator[bytes]:
    """Rows of cells as UTF-8 text with commas between them.

    Below an empty line: pyarrow would take a mark of order off the first cell.
    """
    yield b"\n"
    while some := [row for _, row in itertools.islice(rows, 1000)]:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(some)
        yield text.getvalue().encode("utf-8", "surrogateescape")


# -- how a file is written -------------------------------------------------------------


def _begin(file: File, kind: str, form: Format) -> tuple[_Header, Iterator[_Row]]:
    """The header, and the rows below it, each with the line that it ends in."""
    stream = _opened(file, form)
    encoding = stream.encoding.lower().replace("_", "-")
    lines, head = lines_of(stream, file.name), []
    for line in itertools.islice(lines, 50):
        head.append(line)
        if sum(map(len, head)) > HEAD and len(head) > 2:
            break
    if any("\0" in line for line in head):
        raise DataError(
            f"{file.name} is not a table of text; say what it is with --format."
        )
    delimiter = form.delimiter or ("\t" if kind == "tsv" else _find_delimiter(head))
    rows = _split(itertools.chain(head, lines), delimiter, file.name)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{file.name} is empty.")
    names = _names(*first, file.name, form.header)
    plain = encoding.startswith("utf-8") and delimiter != " " and delimiter.isascii()
    plain = plain and len(names) > 1  # else pyarrow takes lines of blanks for cells
    rows = rows if form.header else itertools.chain([first], rows)
    return (names, first[0], delimiter, plain), rows


def _opened(file: File, form: Format) -> TextIO:
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
        stream.close()
        raise DataError(
            f"--encoding {encoding} is not known; utf-8, utf-16, latin-1 and cp1252 "
            "are common."
        ) from None


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


def _split(lines: Iterable[str], delimiter: str, where: str) -> Iterator[_Row]:
    """Rows that are not blank, each with the number of its last line.

    A pair of quotes alone is a row, of one cell that is empty.
    """
    reader = _cut(lines, delimiter)
    number = 0
    try:
        for number, row in enumerate(reader, 1):
            if row and not (len(row) == 1 and row[0].isspace()):
                yield getattr(reader, "line_num", number), row
    except csv.Error as error:
        line, told = getattr(reader, "line_num", number), str(error)
        if told == "unexpected end of data":
            told = "a cell starts with a quote that is never closed"
        raise DataError(f"{where}, line {line}: {told}.") from None


def _names(line: int, first: list[str], where: str, header: bool) -> list[str]:
    """Names from the first row, or numbers of columns where there is no header."""
    if not header:
        return [str(k) for k in range(1, len(first) + 1)]
    names = [name.strip() for name in first]
    if _UNDECODED.search("".join(names)):
        raise _not_utf8(where, f"line {line}")
    if all(map(looks_like_number, names)):
        raise DataError(
            f"{where}: line {line} holds only numbers where the names of the columns "
            "should be; give them names, or say --no-header and name columns by "
            "number, such as --target 1."
        )
    return [name or f"{_UNNAMED}{k}" for k, name in enumerate(names, 1)]


def _decoded(cell: bytes) -> str:
    """A cell as text; what is not UTF-8 becomes what `_UNDECODED` finds."""
    return cell.decode("utf-8", "surrogateescape")


def _not_utf8(where: str, place: str) -> DataError:
    return DataError(
        f"{where}, {place} is not UTF-8 text; say what it is, for example --encoding "
        "latin-1."
    )
