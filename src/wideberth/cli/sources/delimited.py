"""CSV and its relatives: any delimiter, decimal point or comma, one pass, few rows
at a time; errors know the row, the line and the column.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from wideberth.cli.errors import UserError, quoted
from wideberth.cli.sources.numbers import Numbers, looks_like_number
from wideberth.cli.sources.room import check_room
from wideberth.cli.sources.streams import Source, open_source
from wideberth.cli.sources.table import Format, Request, Table, check_names

__all__ = ["Header", "read_delimited", "read_header"]

#: Rows, and cells, from which on they are taken in.
_BATCH, _CELLS = 4096, 1 << 20
#: Characters of the start that the delimiter is found from, and of the longest line.
_HEAD, _LONGEST = 1 << 16, 1 << 26
_CANDIDATES = "\t;,|"
_NAMES = {",": "comma", ";": "semicolon", ".": "point", "\t": "tab", " ": "blanks"}
#: Stands before the number of a column that the header gives no name.
_UNNAMED = "#"
_UNDECODED = re.compile("[\udc80-\udcff]")
_Row = tuple[int, list[str]]


@dataclass(frozen=True)
class Header:
    """The names of the columns, the line they end in, and how the file is written."""

    names: list[str]
    line: int
    delimiter: str
    encoding: str

    def refuse_nameless(self, columns: Iterable[str], where: str) -> None:
        """Refuse columns that are to be features but have no name."""
        for k, name in enumerate(self.names, 1):
            if name == f"{_UNNAMED}{k}" and name in columns:
                raise UserError(
                    f"{where}: column {k} has no name in the header; if it numbers the "
                    f"rows leave it out with --drop '{name}', else give it a name."
                )

    @property
    def details(self) -> dict[str, str]:
        """What a report says about it."""
        return {"delimiter": _NAMES.get(self.delimiter, self.delimiter)}


def read_header(path: str, kind: str) -> Header:
    """What the first lines of a file say, for others to read the rest by."""
    with open_source(path) as source:
        source.kind = kind
        return _begin(source, Format())[0]


def read_delimited(source: Source, request: Request, form: Format) -> Table:
    """Read a table of text."""
    header, rows = _begin(source, form)
    check_names(header.names, source.name, request.dropped)
    body = _Body(source.name, header, request, form)
    for batch in _batches(rows):
        body.add(batch)
    table, decimal = body.finish()
    source.details |= header.details | {"decimal sign": _NAMES[decimal]}
    return table


def _begin(source: Source, form: Format) -> tuple[Header, Iterator[_Row]]:
    """The header, and the rows below it."""
    lines = _Lines(_decoded(source, form), source.name)
    delimiter = form.delimiter or ("\t" if source.kind == "tsv" else None)
    delimiter = delimiter or _find_delimiter(lines.head)
    rows = _split(lines, delimiter, source.name)
    first = next(rows, None)
    if first is None:
        raise UserError(f"{source.name} is empty.")
    names = _names(*first, source.name, form.header)
    rows = rows if form.header else itertools.chain([first], rows)
    return Header(names, first[0], delimiter, lines.stream.encoding), rows


def _decoded(source: Source, form: Format) -> TextIO:
    stream = source.bytes()
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
        raise UserError(
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
            raise UserError(
                f"{where} is not a table of text; say what it is with --format."
            )

    def _read(self) -> Iterator[str]:
        while line := self.stream.readline(_LONGEST):
            if len(line) == _LONGEST:
                raise UserError(
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
            counts = [len(row) for row in _cells(head, candidate) if row]
        except csv.Error:
            continue
        # The last line may be cut short by a quoted line break.
        even = len(set(counts[:-1] or counts)) == 1
        if even and counts[0] > most and (candidate != " " or most == 1):
            best, most = candidate, counts[0]
    if most == 1 and head:  # uneven: the header decides, and the rows are complained of
        best = max(_CANDIDATES, key=head[0].count)
    return best


def _cells(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    if delimiter == " ":
        return (line.split() for line in lines)
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _split(lines: _Lines, delimiter: str, where: str) -> Iterator[_Row]:
    """Rows that are not blank, each with the number of its last line."""
    reader = _cells(lines, delimiter)
    number = 0
    try:
        for number, row in enumerate(reader, 1):
            if row and not (len(row) == 1 and not row[0].strip()):
                yield getattr(reader, "line_num", number), row
    except csv.Error as error:
        line = getattr(reader, "line_num", number)
        raise UserError(f"{where}, line {line}: {error}.") from None


def _batches(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    """A few rows at a time, fewer where they are long."""
    batch: list[_Row] = []
    cells = 0
    for row in rows:
        batch.append(row)
        cells += len(row[1])
        if len(batch) == _BATCH or cells > _CELLS:
            yield batch
            batch, cells = [], 0
    if batch:
        yield batch


def _names(line: int, first: list[str], where: str, header: bool) -> list[str]:
    """Names from the first row, or numbers of columns where there is no header."""
    if not header:
        return [str(k) for k in range(1, len(first) + 1)]
    names = [name.strip() for name in first]
    if _UNDECODED.search("".join(names)):
        raise UserError(_not_utf8(where, f"line {line}"))
    if all(map(looks_like_number, names)):
        raise UserError(
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


class _Body:
    """The rows below the header, kept as columns of what was asked for."""

    def __init__(self, where: str, header: Header, request: Request, form: Format):
        self.where, self.header, self.form = where, header, form
        names = header.names
        self.width = len(names)
        plan, at = request.plan(names, where), {name: k for k, name in enumerate(names)}
        unnamed: list[str] = []
        if form.header and request.features is None:
            unnamed = [n for n in plan.features if n == f"{_UNNAMED}{at[n] + 1}"]
        self.unnamed = {n: at[n] for n in unnamed}
        self.features = {n: at[n] for n in plan.features if n not in unnamed}
        self.aside = {n: at[n] for n in plan.numbers}
        self.texts = {n: at[n] for n in plan.texts}
        self.numbers = Numbers(form)
        self.blocks: list[np.ndarray] = []
        self.parts: dict[str, list] = {n: [] for n in (*self.aside, *self.texts)}
        self.lines: list[np.ndarray] = []
        self.words: dict[str, str] = {}  # equal texts share their memory
        self.n = 0

    def add(self, batch: list[_Row]) -> None:
        """Take a few rows."""
        lines = np.array([line for line, _ in batch])
        rows = [row for _, row in batch]
        if set(map(len, rows)) != {self.width}:
            self._refuse_uneven(batch)
        columns = list(zip(*rows, strict=True))
        block = np.empty((len(rows), len(self.features)))
        for j, (name, k) in enumerate(self.features.items()):
            block[:, j] = self.numbers.read(name, columns[k], self.n, lines)
        for name, k in self.aside.items():
            values = self.numbers.read(name, columns[k], self.n, lines)
            self.parts[name].append(values)
        for name, k in self.texts.items():
            self.parts[name].append(self._read_texts(name, columns[k], lines))
        for name, k in self.unnamed.items():
            if "".join(columns[k]).strip():
                self.header.refuse_nameless([name], self.where)
        self.blocks.append(block)
        self.lines.append(lines)
        self.n += len(rows)
        check_room(8 * self.n * (len(self.features) + len(self.parts)), self.where)

    def _read_texts(self, name: str, cells, lines) -> np.ndarray:
        texts = np.empty(len(cells), dtype=object)
        for k, cell in enumerate(cells):
            text = cell.strip()
            if not text.isascii() and _UNDECODED.search(text):
                row = f"row {self.n + k + 1} (line {lines[k]}), column {quoted(name)}"
                raise UserError(_not_utf8(self.where, row))
            missing = self.form.is_missing(text)
            texts[k] = None if missing else self.words.setdefault(text, text)
        return texts

    def _refuse_uneven(self, batch: list[_Row]) -> None:
        k = next(k for k, (_, row) in enumerate(batch) if len(row) != self.width)
        line, row = batch[k]
        raise UserError(
            f"{self.where}, row {self.n + k + 1} (line {line}) has {len(row)} cells "
            f"where the first line has {self.width}; mend it, or say which sign "
            "stands between the cells with --delimiter."
        )

    def finish(self) -> tuple[Table, str]:
        """Put the batches together; return the table and the decimal sign."""
        decimal = self.numbers.finish(self.where)
        if not self.blocks:
            raise UserError(f"{self.where} has a header but no rows below it.")
        table = Table(
            tuple(self.features),
            np.concatenate(self.blocks),
            {name: np.concatenate(self.parts[name]) for name in self.texts},
            {name: np.concatenate(self.parts[name]) for name in self.aside},
            np.concatenate(self.lines),
        )
        return table, decimal
