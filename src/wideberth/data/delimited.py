"""CSV and its relatives: any encoding, any delimiter, decimal point or comma.

pyarrow cuts the text into cells, of which `Numbers` makes numbers. This module finds
out how a file is written, and the row, line and column of what is wrong with it; for
the line Python's reader cuts the text again.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from wideberth.data.columnar import require_pyarrow, table_of, texts_of
from wideberth.data.errors import DataError, listed, quoted
from wideberth.data.files import HEAD, File, explained, lines_of
from wideberth.data.numbers import (
    Numbers,
    day_numbers,
    is_word,
    looks_like_number,
    not_a_date,
)
from wideberth.data.table import MISSING, Format, Plan, Reader, Table

#: Bytes of text that pyarrow parses at a time; 200 000 × 20 numbers took it 0.27 s of
#: processor time with 1 MB, 0.43 s with 4 MB and 0.59 s with 32 MB; less was not tried.
_BLOCK = 1 << 20
#: Missing values as Arrow compares them; `Numbers` knows other cases of letters.
_NULLS = [*MISSING, *map(str.upper, MISSING), "NaN"]
_CANDIDATES = "\t;,|"
_SIGNS = {",": "comma", ";": "semicolon", ".": "point", "\t": "tab", " ": "blanks"}
#: Stands before the number of a column that the header gives no name.
_UNNAMED = "#"
_UNDECODED = re.compile("[\udc80-\udcff]")
_Row = tuple[int, list[str]]


class _Start(NamedTuple):
    """How a file begins."""

    names: list[str]
    skipped: int  # lines above the first row
    delimiter: str
    plain: bool  # whether pyarrow can read its bytes as they are
    headed: bool  # whether a line names the columns


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
        for file in self.files:
            with explained(file.name):
                start, _ = _begin(file, kind, form)
            if file is self.files[0]:
                self.start = start
            elif start != self.start:
                raise DataError(
                    f"{file.name} has other columns, or another sign between them, "
                    f"than {self.files[0].name}; files of one table must have the same "
                    "first line."
                )
        names = _distinct(self.start.names)
        if repeated := [k for k, name in enumerate(names) if name != start.names[k]]:
            self.remarks.append(
                f"{self.name} has more than one column called "
                f"{listed(dict.fromkeys(start.names[k] for k in repeated))}; they are "
                f"read as {listed(names[k] for k in repeated)}."
            )
        self.names = tuple(names)
        if self.start.headed:
            numbered = enumerate(names, 1)
            self.unnamed = tuple(n for k, n in numbered if n == f"{_UNNAMED}{k}")
        delimiter = self.start.delimiter
        self.details = {"delimiter": _SIGNS.get(delimiter, delimiter)}
        self._types: dict[str, Any] = {}
        self._checked: set[File] = set()  # odd quotes, but Python's reader takes them

    @property
    def paths(self):
        return [file.path for file in self.files if file.path != "-"]

    def text_columns(self, names):
        """By the first value of each; read until all have one."""
        at = {name: k for k, name in enumerate(self.names)}
        left, found = {name: at[name] for name in names}, []
        for file in self.files:
            for _, row in self._rows(file) if left else ():
                cells = {n: row[k].strip() for n, k in left.items() if k < len(row)}
                known = [n for n, cell in cells.items() if not self._is_missing(cell)]
                found += [name for name in known if is_word(cells[name])]
                left = {name: k for name, k in left.items() if name not in known}
                if not left:
                    break
        return [name for name in names if name in found]

    def _is_missing(self, cell: str) -> bool:
        return cell.lower() in MISSING or cell in self.form.missing

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

        at = {name: str(k) for k, name in enumerate(self.names)}
        labels = [at[n] for n in plan.texts]
        cells = [at[n] for n in (*plan.features, *plan.numbers, *plan.empty)]
        types = dict.fromkeys(cells, pa.binary())
        types |= self._types if native else dict.fromkeys(labels, pa.binary())
        block = _BLOCK + 16 * sum(map(len, self.names))
        blanks = self.start.delimiter == " "
        delimiter = "\t" if blanks else self.start.delimiter
        quotes = _Quotes(delimiter)
        pieces = quotes.watch(self._pieces(file, block))
        with pc.open_csv(
            io.BufferedReader(_Stream(pieces), block),
            pc.ReadOptions(
                column_names=list(map(str, range(len(self.names)))),
                skip_rows=self.start.skipped if self.start.plain else 0,
                block_size=block,
            ),
            pc.ParseOptions(
                delimiter=delimiter,
                quote_char=False if blanks else '"',
                newlines_in_values=True,
                invalid_row_handler=_skip_blank_or_comment,
            ),
            pc.ConvertOptions(
                column_types=types,
                include_columns=list(dict.fromkeys([*types, *labels])),
                null_values=[*_NULLS, *self.form.missing],
                strings_can_be_null=True,
                decimal_point=self.form.decimal or ".",
            ),
        ) as blocks:
            while some := list(itertools.islice(blocks, max(size // block, 1))):
                schema = some[0].schema
                if native:  # as the first rows have it
                    self._types = {n: schema.field(n).type for n in labels}
                whole = pa.Table.from_batches(some).combine_chunks()
                names = [self.names[int(n)] for n in schema.names]
                yield from whole.rename_columns(names).to_batches()
        if not (blanks or quotes.right) and file not in self._checked:
            for _ in self._rows(file):
                pass  # Python's reader refuses what is wrong about them
            self._checked.add(file)

    def _pieces(self, file: File, size: int) -> Iterator[bytes]:
        """The text of a file as UTF-8; the lines above the first row only if `plain`.

        The last line ends, for pyarrow skips no header without an end.
        """
        if self.start.plain:
            with file.open() as stream:
                while data := stream.read(size):
                    yield data
        else:
            lines = lines_of(_opened(file, self.form), file.name)
            rows = itertools.islice(lines, self.start.skipped, None)
            yield b"\n"  # pyarrow would take a mark of order off the first cell
            while some := list(itertools.islice(rows, 1000)):
                if self.start.delimiter == " ":
                    some = ["\t".join(line.split()) + "\n" for line in some]
                elif len(self.names) == 1:  # pyarrow takes lines of blanks for cells
                    some = [line for line in some if not line.isspace()]
                yield "".join(some).encode("utf-8", "surrogateescape")
        yield b"\n"

    def _table(
        self, batch, plan: Plan, file: File, row: int, native: bool, numbers: Numbers
    ) -> Table:
        """Columns of a batch that starts in this row."""

        def floats(name: str, column) -> np.ndarray:
            if name not in plan.dates:
                return numbers.read(name, column, row)
            days, bad = day_numbers(texts(name, column), self._cells(name))
            if bad is not None:
                cell = _decoded(column[bad].as_py())
                raise DataError(f"{place(bad, name)}: {not_a_date(cell.strip())}")
            return days

        def place(k: int, name: str) -> str:
            line = self._lines(file)[row + k]
            return (
                f"{file.name}, row {row + k + 1} (line {line}), column {quoted(name)}"
            )

        def text(cell: bytes) -> str | None:
            stripped = cell.decode().strip()
            return None if self._is_missing(stripped) else stripped

        def texts(name: str, column) -> np.ndarray:
            try:
                return texts_of(column, text)
            except UnicodeDecodeError:
                cells = (_decoded(cell or b"") for cell in column.to_pylist())
                k = next(k for k, cell in enumerate(cells) if _UNDECODED.search(cell))
                raise _not_utf8(place(k, name)) from None

        for name in plan.empty:
            if any(texts(name, batch.column(name))):
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
                    "between the cells with --read delimiter=;."
                )
        return DataError(f"{file.name} cannot be read: {error}")

    def _cells(self, name: str) -> Iterator[str]:
        """All cells of a column, as text."""
        k = self.names.index(name)
        for file in self.files:
            yield from (row[k].strip() for _, row in self._rows(file) if k < len(row))

    def _lines(self, file: File) -> np.ndarray:
        return np.array([line for line, _ in self._rows(file)])

    def _rows(self, file: File) -> Iterator[_Row]:
        return _begin(file, self.kind, self.form)[1]


def _skip_blank_or_comment(row) -> str:
    """What pyarrow is to do about a row of too many or too few cells; see `_split`."""
    blank = row.actual_columns == 1 and row.text.isspace()
    return "skip" if blank or row.text.lstrip().startswith("#") else "error"


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


class _Quotes:
    """Looks whether quotes are where they belong, which pyarrow does not mind.

    Every second quote opens a cell and has its border before it, the others close one
    and have its border behind them; a quote in place of a border is of a pair.
    """

    def __init__(self, delimiter: str):
        self.border = np.zeros(256, dtype=bool)
        self.border[list(f'{delimiter}\r\n"'.encode())] = True
        self.right = True
        self.last, self.count = b"\n", 0

    def watch(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The same pieces of a file; `right` is known when they end."""
        for piece in pieces:
            self._look(piece if self.count else piece.removeprefix(BOM_UTF8))
            yield piece
        self._look(b"\n")
        self.right = self.right and self.count % 2 == 0

    def _look(self, piece: bytes) -> None:
        """Look at the next bytes; the last one waits for its neighbour."""
        data = self.last + piece
        self.last = data[-2:]
        if self.right and b'"' in data:
            letters = np.frombuffer(data, np.uint8)
            quotes = np.flatnonzero(letters[1:-1] == ord('"')) + 1
            opens = (self.count + np.arange(len(quotes))) % 2 == 0
            beside = letters[np.where(opens, quotes - 1, quotes + 1)]
            self.right = bool(self.border[beside].all())
            self.count += len(quotes)


# -- how a file is written -------------------------------------------------------------


def _begin(file: File, kind: str, form: Format) -> tuple[_Start, Iterator[_Row]]:
    """How a file begins, and its rows, each with the line that it ends in."""
    stream = _opened(file, form)
    encoding = stream.encoding.lower().replace("_", "-")
    lines, head = lines_of(stream, file.name), []
    size = rows_seen = 0
    for line in lines:
        head.append(line)
        size, rows_seen = size + len(line), rows_seen + (not _is_comment(line))
        if rows_seen == 50 or (size > HEAD and len(head) > 2):
            break
    if any("\0" in line for line in head):
        raise DataError(
            f"{file.name} is not a table of text; say what it is with --read format=…."
        )
    # Lines above the first one that is no comment; none where all look like comments.
    top = next((k for k, line in enumerate(head) if not _is_comment(line)), 0)
    delimiter = form.delimiter or ("\t" if kind == "tsv" else _delimiter(head[top:]))
    if not delimiter.isascii():
        raise DataError(f"--read delimiter={delimiter} is no ASCII character.")
    headed = form.header
    while top:  # a line that fits the rows below it is a row, or names the columns
        line = _fitting(head[top - 1], head[top:], delimiter, headed)
        if line is None and not head[top - 1].isspace():
            break
        top -= 1
        head[top] = line or "\n"
        if line is not None and headed:
            break
    head[:top] = ["\n"] * top
    rows = _split(itertools.chain(head, lines), delimiter, file.name)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{file.name} is empty.")
    line, cells = first
    if ".data" in Path(file.path).suffixes:  # such files keep their names elsewhere
        headed = headed and not any(map(looks_like_number, cells))
    names = [str(k) for k in range(1, len(cells) + 1)]
    if headed:
        names = _names(line, cells, file.name)
    plain = encoding.startswith("utf-8") and delimiter != " "
    start = _Start(
        names, line if headed else top, delimiter, plain and len(names) > 1, headed
    )
    data = rows if headed else itertools.chain([first], rows)
    return start, (row for row in data if not _is_remark(row[1], len(names)))


def _is_comment(line: str) -> bool:
    return line.isspace() or line.lstrip().startswith("#")


def _is_remark(row: list[str], width: int) -> bool:
    """Whether a row is a comment: it starts like one, and has not the cells of one."""
    return len(row) != width and row[0].lstrip().startswith("#")


def _fitting(line: str, body: list[str], delimiter: str, names: bool) -> str | None:
    """A line that looks like a comment, if it has as many cells as the rows below it.

    Where it might be the `names` of columns these must hold numbers, and it may fit
    without its #, too.
    """
    texts = [line, line.lstrip().removeprefix("#").lstrip()] if names else [line]
    with suppress(csv.Error):  # `_split` will say what is wrong
        row = next((row for row in _cut(body, delimiter) if row), [])
        if any(map(looks_like_number, row)):
            for text in texts:
                if len(next(iter(_cut([text], delimiter)), [])) == len(row):
                    return text
    return None


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
            f"--read encoding={encoding} is not known; utf-8, utf-16, latin-1 and "
            "cp1252 are common."
        ) from None


def _delimiter(head: list[str]) -> str:
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
        line, why = getattr(reader, "line_num", number), str(error)
        if why == "unexpected end of data":
            why = "a cell starts with a quote that is never closed"
        raise DataError(f"{where}, line {line}: {why}.") from None


def _names(line: int, cells: list[str], where: str) -> list[str]:
    """The names in the first row; numbers of the columns that have none."""
    names = [name.strip() for name in cells]
    if _UNDECODED.search("".join(names)):
        raise _not_utf8(f"{where}, line {line}")
    if all(map(looks_like_number, names)):
        raise DataError(
            f"{where}: line {line} holds only numbers where the names of the columns "
            "should be; give them names, or say --read header=no and name columns by "
            "number, such as --target 1."
        )
    return [name or f"{_UNNAMED}{k}" for k, name in enumerate(names, 1)]


def _distinct(names: list[str]) -> list[str]:
    """Names that tell columns apart: those that occur twice are numbered."""
    often, seen, distinct = Counter(names), Counter(names), []
    for name in names:
        new, number = name, 1
        while often[name] > 1 and (new == name or seen[new]):
            new, number = f"{name}.{number}", number + 1
        seen[new] += new != name
        distinct.append(new)
    return distinct


def _decoded(cell: bytes) -> str:
    """A cell as text; what is not UTF-8 becomes what `_UNDECODED` finds."""
    return cell.decode("utf-8", "surrogateescape")


def _not_utf8(place: str) -> DataError:
    return DataError(
        f"{place} is not UTF-8 text; say what it is, for example with --read "
        "encoding=latin-1."
    )
