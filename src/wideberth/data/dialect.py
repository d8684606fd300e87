"""How a table of text is written: encoding, delimiter, names of the columns.

Rows are cut into cells here, too, for who wants to know the line that a row ends in.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

from wideberth.data.errors import DataError
from wideberth.data.numbers import looks_like_number
from wideberth.data.streams import HEAD, LONGEST_LINE, File
from wideberth.data.table import Format

__all__ = ["SIGNS", "UNDECODED", "UNNAMED", "Header", "Row", "begin", "not_utf8"]

_CANDIDATES = "\t;,|"
SIGNS = {",": "comma", ";": "semicolon", ".": "point", "\t": "tab", " ": "blanks"}
#: Stands before the number of a column that the header gives no name.
UNNAMED = "#"
UNDECODED = re.compile("[\udc80-\udcff]")
Row = tuple[int, list[str]]


@dataclass(frozen=True)
class Header:
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


def begin(file: File, kind: str, form: Format) -> tuple[Header, Iterator[Row]]:
    """The header, and the rows below it, each with the line that it ends in."""
    lines = _Lines(_decoded(file, form), file.name)
    delimiter = form.delimiter or ("\t" if kind == "tsv" else None)
    delimiter = delimiter or _find_delimiter(lines.head)
    rows = _split(lines, delimiter, file.name)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{file.name} is empty.")
    names = _names(*first, file.name, form.header)
    rows = rows if form.header else itertools.chain([first], rows)
    return Header(names, first[0], delimiter, lines.stream.encoding), rows


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
            if length > HEAD and len(self.head) > 2:
                break
        if any("\0" in line for line in self.head):
            raise DataError(
                f"{where} is not a table of text; say what it is with --format."
            )

    def _read(self) -> Iterator[str]:
        while line := self.stream.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                raise DataError(
                    f"{self.where} has a line of more than {LONGEST_LINE} characters; "
                    "it does not seem to be a table of text."
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


def _split(lines: _Lines, delimiter: str, where: str) -> Iterator[Row]:
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
    if UNDECODED.search("".join(names)):
        raise DataError(not_utf8(where, f"line {line}"))
    if all(map(looks_like_number, names)):
        raise DataError(
            f"{where}: line {line} holds only numbers where the names of the columns "
            "should be; give them names, or say --no-header and name columns by "
            "number, such as --target 1."
        )
    return [name or f"{UNNAMED}{k}" for k, name in enumerate(names, 1)]


def not_utf8(where: str, place: str) -> str:
    """What is said about text that is not UTF-8."""
    return (
        f"{where}, {place} is not UTF-8 text; say what it is, for example "
        "--encoding latin-1."
    )
