"""CSV and its relatives: any encoding, any delimiter, decimal point or comma.

pyarrow reads the numbers. Where it fails, every cell is looked at: what is no number is
refused by row, line and column, or it turns out how the numbers are written, and
reading goes on.

A decimal comma is recognised, but only on evidence: `0,5` can be nothing else, while
`1,234` alone might be twelve hundred. A table that uses both comma and point, or holds
nothing but cells that could be either, is refused with the cells that say so. Cells
such as `<0.5` are limits of detection: bounds, where a `Request` asks for them.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wideberth.data.columnar import (
    days_of,
    is_date,
    require_pyarrow,
    table_of,
    texts_of,
)
from wideberth.data.errors import DataError, agree, counted, listed, no_numbers, quoted
from wideberth.data.files import HEAD, MISSING, File, Format, explained, lines_of
from wideberth.data.table import Plan, Reader, Table

#: Bytes of text that pyarrow parses at a time; 200 000 × 20 numbers took it 0.27 s of
#: processor time with 1 MB, 0.43 s with 4 MB and 0.59 s with 32 MB; less was not tried.
_BLOCK = 1 << 20
#: Missing values as pyarrow compares them.
_NULLS = [*MISSING, *map(str.upper, MISSING), "NaN"]
#: Rows at the start of a file that tell how it is written.
_FIRST = 50
_CANDIDATES = "\t;,|"
_SIGNS = {",": "comma", ";": "semicolon", ".": "point", "\t": "tab", " ": "blanks"}
#: Stands before the number of a column that the header gives no name.
_UNNAMED = "#"
_UNDECODED = re.compile("[\udc80-\udcff]")
_COMMA = re.compile(r"[-+]?\d*,\d*([eE][-+]?\d+)?", re.ASCII)
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}", re.ASCII)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(
    r"[-+]?\d{1,3}(,\d{3})+\.\d*|[-+]?\d{1,3}(\.\d{3})+,\d*", re.ASCII
)
_LIMIT = re.compile(r"([<>≤≥])=?\s*([^<>≤≥=]+)")
_Row = tuple[int, list[str]]


class _Layout(NamedTuple):
    """How a file is written."""

    names: list[str]
    skipped: int  # lines above the first row
    delimiter: str
    headed: bool  # whether a line names the columns
    encoding: str


@dataclass(frozen=True)
class Spelling:
    """How the numbers of a file are written."""

    sign: str  # decimal point or comma
    nulls: frozenset[str] = frozenset()  # cells that hold no value, as they stand
    odd: frozenset[str] = frozenset()  # columns with numbers that pyarrow cannot read
    checked: bool = False  # whether every cell was looked at


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
        layouts = []
        for file in self.files:
            with explained(file.name):
                layouts.append(_begin(file, kind, form)[0])
            if layouts[-1] != layouts[0]:
                raise DataError(
                    f"{file.name} and {self.files[0].name} have different first lines; "
                    "files of one table must have the same columns and delimiter."
                )
        self.layout, given = layouts[0], layouts[0].names
        names = _distinct(given)
        if repeated := [k for k, name in enumerate(names) if name != given[k]]:
            self.remarks.append(
                f"{self.name} has more than one column called "
                f"{listed(dict.fromkeys(given[k] for k in repeated))}; they are read "
                f"as {listed(names[k] for k in repeated)}."
            )
        self.names = tuple(names)
        if self.layout.headed:
            numbered = enumerate(names, 1)
            self.unnamed = tuple(n for k, n in numbered if n == f"{_UNNAMED}{k}")
            if self.unnamed:
                self.remarks.append(
                    f"{self.name}: {listed(self.unnamed)} "
                    f"{agree(len(self.unnamed), 'has', 'have')} no name in the header "
                    f"and {agree(len(self.unnamed), 'is', 'are')} left out."
                )
        delimiter = self.layout.delimiter
        self.details = {"delimiter": _SIGNS.get(delimiter, delimiter)}
        self._types: dict[str, Any] = {}  # of labels, as the first rows have them
        self._known: dict[File, tuple[Plan, Spelling]] = {}

    @property
    def paths(self):
        return [file.path for file in self.files if file.path != "-"]

    def text_columns(self, names):
        """By the first value of each; read until all have one."""
        left, found = {name: self.names.index(name) for name in names}, []
        for _, row in itertools.chain.from_iterable(map(self._rows, self.files)):
            cells = {n: row[k].strip() for n, k in left.items() if k < len(row)}
            for name, cell in cells.items():
                if not self.form.is_missing(cell):
                    found += [name] if is_word(cell) else []
                    del left[name]
            if not left:
                break
        return [name for name in names if name in found]

    def tables(self, plan, size, native=False):
        n = 0
        for file in self.files:
            with explained(file.name):
                for table in self._tables(file, plan, size, native):
                    n += table.n
                    yield table
        if n == 0:
            raise DataError(f"{self.name} has a header but no rows below it.")

    def _tables(self, file: File, plan: Plan, size: int, native: bool):
        """Tables of one file; where reading fails, in another way from there on."""
        import pyarrow as pa

        known, spelling = self._known.get(file, (None, None))
        if spelling is None or known != plan:
            spelling = self._guess(file, plan)
        done, row = 0, -1  # rows handed over, and rows read
        while row < done:
            row = 0
            try:
                for batch in self._batches(file, plan, size, native, spelling):
                    row += batch.num_rows
                    if row > done:
                        new = batch.slice(done + batch.num_rows - row)
                        yield self._table(new, plan, file, done, native, spelling)
                        done = row
            except pa.ArrowInvalid as error:
                if spelling.checked:
                    raise DataError(f"{file.name} cannot be read: {error}") from None
                spelling, row = self._looked_at(file, plan), -1
        self._known[file] = plan, spelling
        self.details["decimal sign"] = _SIGNS[spelling.sign]

    def _guess(self, file: File, plan: Plan) -> Spelling:
        """How the numbers seem to be written, by the first rows and all quotes."""
        blanks, sign = self.layout.delimiter == " ", self.form.decimal
        if sign is None:
            places = self._places(plan).values()
            rows = itertools.islice(self._rows(file), _FIRST)
            cells = (row[k].strip() for _, row in rows for k in places if k < len(row))
            comma = any(
                _COMMA.fullmatch(c) and not _GROUPED.fullmatch(c) for c in cells
            )
            sign = "," if comma else "."
        if not blanks:
            with file.open() as stream:
                if not quotes_are_right(stream, self.layout.delimiter):
                    for _ in self._rows(file):
                        pass  # Python's reader refuses what is wrong about them
        # pyarrow fails where it shows such a row to `_skip_blank_or_comment`.
        if self.layout.encoding.startswith("utf-8") and not _is_utf8(file):
            return self._looked_at(file, plan)
        return Spelling(sign)

    def _places(self, plan: Plan) -> dict[str, int]:
        """Where columns of numbers are in a row."""
        wanted = (n for n in (*plan.features, *plan.numbers) if n not in plan.dates)
        return {name: self.names.index(name) for name in wanted}

    def _looked_at(self, file: File, plan: Plan) -> Spelling:
        """How numbers are written, by all cells; what cannot be read is refused."""
        places = self._places(plan)
        cells = Cells(self.form, file.name, list(places))
        texts = {n: self.names.index(n) for n in (*plan.texts, *plan.dates)}
        width, nulls, odd, number = len(self.names), set(), set(), 0
        for number, (line, row) in enumerate(self._rows(file), 1):
            if len(row) != width:
                raise DataError(
                    f"{file.name}, row {number} (line {line}) has {len(row)} cells "
                    f"where the first line has {width}; correct it, or give the sign "
                    "between the cells with --read delimiter=;."
                )
            for name, k in texts.items():
                if _UNDECODED.search(row[k]):
                    raise _not_utf8(_Cell(name, row[k], number, line).place(file.name))
            for name, k in places.items():
                if self.form.is_missing(text := row[k].strip()):
                    nulls.add(row[k])
                else:
                    cells.look(_Cell(name, text, number, line))
                    if row[k].strip(" \t") != _plain(text):
                        odd.add(name)
        if not number:
            raise DataError(f"{file.name} has a header but no rows below it.")
        odd.update(cells.limits)
        return Spelling(
            cells.finish(plan.limits), frozenset(nulls), frozenset(odd), checked=True
        )

    def _batches(
        self, file: File, plan: Plan, size: int, native: bool, spelling: Spelling
    ) -> Iterator[Any]:
        """Batches of pyarrow; with `native` labels in the type that they have."""
        import pyarrow as pa
        import pyarrow.csv as pc

        at = {name: str(k) for k, name in enumerate(self.names)}
        types = {at[name]: pa.float64() for name in self._places(plan)}
        types |= {at[name]: pa.string() for name in (*plan.dates, *spelling.odd)}
        labels = [at[name] for name in plan.texts]
        types |= self._types if native else dict.fromkeys(labels, pa.string())
        block = _BLOCK + 16 * sum(map(len, self.names))
        blanks = self.layout.delimiter == " "
        rewritten = blanks or spelling.checked
        reading = pc.ReadOptions(
            column_names=list(at.values()),
            skip_rows=0 if rewritten else self.layout.skipped,
            block_size=block,
            encoding="utf-8" if rewritten else self.layout.encoding,
        )
        parsing = pc.ParseOptions(
            delimiter="\t" if blanks else self.layout.delimiter,
            quote_char=False if blanks else '"',
            newlines_in_values=True,
            invalid_row_handler=_skip_blank_or_comment,
        )
        converting = pc.ConvertOptions(
            column_types=types,
            include_columns=list(dict.fromkeys([*types, *labels])),
            null_values=[*_NULLS, *self.form.missing, *spelling.nulls],
            strings_can_be_null=True,
            decimal_point=spelling.sign,
        )
        with (
            self._rewritten(file) if rewritten else file.open() as stream,
            pc.open_csv(stream, reading, parsing, converting) as blocks,
        ):
            while some := list(itertools.islice(blocks, max(size // block, 1))):
                schema = some[0].schema
                if native:
                    self._types = {n: schema.field(n).type for n in labels}
                whole = pa.Table.from_batches(some).combine_chunks()
                names = [self.names[int(n)] for n in schema.names]
                yield from whole.rename_columns(names).to_batches()

    def _rewritten(self, file: File) -> io.BufferedReader:
        """The rows of a file as UTF-8; where cells stand between blanks, with tabs."""
        lines = lines_of(_opened(file, self.form), file.name)
        rows: Iterator[str] = itertools.islice(lines, self.layout.skipped, None)
        if self.layout.delimiter == " ":
            rows = ("\t".join(line.split()) + "\n" for line in rows)
        return io.BufferedReader(_Stream(rows), _BLOCK)

    def _table(
        self, batch, plan: Plan, file: File, row: int, native: bool, spelling: Spelling
    ) -> Table:
        """Columns of a batch that starts in this row."""
        bounds = {}

        def floats(name: str, column) -> np.ndarray:
            if name in plan.dates:
                cells = texts(name, column)
                return days_of(cells, partial(place, name), self._cells(name))
            if name not in spelling.odd:
                return column.to_numpy(zero_copy_only=False)
            values, low, high = _numbers(texts(name, column), spelling.sign)
            if not np.isnan(low).all():
                bounds[name] = low, high
            return values

        def place(name: str, k: int) -> str:
            line = int(self._lines(file)[row + k])
            return _Cell(name, "", row + k + 1, line).place(file.name)

        def texts(name: str, column) -> np.ndarray:
            return texts_of(column, text)

        def text(cell: str) -> str | None:
            stripped = cell.strip()
            return None if self.form.is_missing(stripped) else stripped

        table = table_of(batch, plan, file.name, floats, None if native else texts)
        table.bounds = bounds
        if len(self.files) == 1:
            table.find_lines = partial(self._lines, file)
        return table

    def _cells(self, name: str) -> Iterator[str]:
        """All cells of a column, as text."""
        k = self.names.index(name)
        for file in self.files:
            yield from (row[k].strip() for _, row in self._rows(file) if k < len(row))

    def _lines(self, file: File) -> np.ndarray:
        return np.array([line for line, _ in self._rows(file)])

    def _rows(self, file: File) -> Iterator[_Row]:
        return _begin(file, self.kind, self.form)[1]


class _Stream(io.RawIOBase):
    """Lines of text as a stream of UTF-8, with ? for what could not be decoded."""

    def __init__(self, lines: Iterator[str]):
        self.lines, self.rest = lines, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        if not self.rest:
            some = "".join(itertools.islice(self.lines, 1000))
            self.rest = some.encode("utf-8", "replace")
        size = min(len(buffer), len(self.rest))
        buffer[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


def _skip_blank_or_comment(row) -> str:
    """What pyarrow is to do about a row of too many or too few cells."""
    return "skip" if _is_no_row(row.actual_columns, row.text) else "error"


def _is_utf8(file: File) -> bool:
    try:
        with io.TextIOWrapper(file.open(), "utf-8") as text:
            while text.read(_BLOCK):
                pass
    except UnicodeDecodeError:
        return False
    return True


def quotes_are_right(stream, delimiter: str, size: int = _BLOCK) -> bool:
    """Whether quotes stand where they belong; read so many bytes at a time.

    Every second quote opens a cell and has its border before it, the others close one
    and have its border behind them; a quote in place of a border is of a pair. pyarrow
    makes something of others.
    """
    border = np.zeros(256, dtype=bool)
    border[list(f'{delimiter}\r\n"'.encode())] = True
    last, count = b"\n", 0
    pieces = iter(partial(stream.read, size), b"")
    first = next(pieces, b"").removeprefix(BOM_UTF8)
    for piece in itertools.chain([first], pieces, [b"\n"]):
        data = last + piece
        last = data[-2:]  # the last byte waits for its neighbour
        if b'"' in data:
            letters = np.frombuffer(data, np.uint8)
            quotes = np.flatnonzero(letters[1:-1] == ord('"')) + 1
            opens = (count + np.arange(len(quotes))) % 2 == 0
            if not border[letters[np.where(opens, quotes - 1, quotes + 1)]].all():
                return False
            count += len(quotes)
    return count % 2 == 0


# -- cells -----------------------------------------------------------------------------


class _Cell(NamedTuple):
    column: str
    text: str
    row: int  # from 1, as people count
    line: int

    def place(self, where: str) -> str:
        """Where it is."""
        return (
            f"{where}, row {self.row} (line {self.line}), column {quoted(self.column)}"
        )

    def __str__(self) -> str:
        return self.place("")[2:] + f" holds {quoted(self.text)}"


class Cells:
    """Looks at the cells of numeric columns of a file, and says what is wrong."""

    def __init__(self, form: Format, where: str, columns: list[str]):
        self.form, self.where, self.columns = form, where, columns
        #: The first cell of each column that is no number.
        self.troubles: dict[str, _Cell] = {}
        self.proven: set[str] = set()  # columns with a number in them
        #: The first cell with a decimal point, with a decimal comma, and with a comma
        #: that may separate thousands.
        self.evidence: dict[str, _Cell] = {}
        #: Limits of detection in each column: how many, and the first.
        self.counts: Counter[str] = Counter()
        self.limits: dict[str, _Cell] = {}

    def look(self, cell: _Cell) -> None:
        """Note what kind of cell this is."""
        limit = _LIMIT.fullmatch(cell.text)
        text = _plain(limit[2] if limit else cell.text)
        if _COMMA.fullmatch(text) and self.form.decimal != ".":
            grouped = _GROUPED.fullmatch(text) is not None
            self.evidence.setdefault("grouped" if grouped else "comma", cell)
            number = _number(text, ",")
        else:
            number = _number(text, self.form.decimal or ".")
            if number is not None and "." in text:
                self.evidence.setdefault("point", cell)
        if number is None:
            self.troubles.setdefault(cell.column, cell)
        elif limit:
            self.counts[cell.column] += 1
            self.limits.setdefault(cell.column, cell)
        else:
            self.proven.add(cell.column)

    def finish(self, limits: bool | tuple[str, ...]) -> str:
        """Refuse what is wrong, and limits not asked for; return the decimal sign."""
        known = self.limits if limits is True else limits or ()
        unread = [cell for column, cell in self.limits.items() if column not in known]
        asked = " ".join(map(self._limited, unread))
        if self.troubles:
            raise DataError(f"{self._no_number()} {asked}".strip())
        if asked:
            raise DataError(f"{self.where}: {asked}")
        point, comma, grouped = map(self.evidence.get, ("point", "comma", "grouped"))
        comma = comma or (grouped if self.form.decimal == "," else None)
        if comma and point:
            raise DataError(
                f"{self.where}: {point} but {comma}; use one decimal sign in the "
                "whole file, and no thousands separators."
            )
        if grouped and not comma:
            raise DataError(
                f"{self.where}, {grouped}. If that means "
                f"{grouped.text.replace(',', '.')}, add --read decimal=, and if it "
                f"means {grouped.text.replace(',', '')}, remove the commas from the "
                "file."
            )
        return "," if comma or self.form.decimal == "," else "."

    def _limited(self, cell: _Cell) -> str:
        """What to say of a column of limits, of which this is the first."""
        n = self.counts[cell.column]
        return (
            f"{counted(n, 'cell')} of {quoted(cell.column)} "
            f"{agree(n, 'is a limit', 'are limits')} of detection such as "
            f"{quoted(cell.text)} (first: row {cell.row}, line {cell.line}); --limits "
            f"reads {agree(n, 'it', 'them')}."
        )

    def _no_number(self) -> str:
        """What to say of cells that are no numbers."""
        for cell in self.troubles.values():
            if _THOUSANDS.fullmatch(_plain(cell.text)):
                return (
                    f"{self.where}, {cell}, which has thousands separators; remove "
                    "them from the file."
                )
        first = {name: cell for name, cell in self.troubles.items() if cell.row == 1}
        wrong = [name for name in self.columns if name in self.troubles]
        texts = [name for name in wrong if name not in self.proven]
        for cell in first.values():
            above = f"{self.where}: line {cell.line} holds text ({quoted(cell.text)})"
            if not self.form.header:
                return (
                    f"{above}, and --read header=no says that it is data. Leave that "
                    "out if the line holds column names, or turn categories into "
                    "columns of 0 and 1 with --one-hot auto."
                )
            if not texts:
                return (
                    f"{above} above the numbers of {listed(first)}; if these are "
                    "units, delete that line."
                )
        if texts:
            cell = self.troubles[texts[0]]
            dates = [n for n in texts if is_date(self.troubles[n].text)]
            example = f"row {cell.row}, line {cell.line}: {quoted(cell.text)}"
            return f"{self.where}: {no_numbers(texts, dates, example)}"
        cell = min(self.troubles.values(), key=lambda cell: cell.row)
        return (
            f"{self.where}, {cell}, which is not a finite number; correct it, or if it "
            f"means a missing value, add --read na={quoted(cell.text)}."
        )


def number_of(text: str) -> float | None:
    """The number that a text is, with point or comma; None where that is not sure."""
    plain = _plain(text)
    if _GROUPED.fullmatch(plain):
        return None
    return _number(plain, "," if "," in plain else ".")


def _plain(text: str) -> str:
    return text.strip().replace("\u2212", "-")  # a minus as typesetters write it


def _number(text: str, sign: str) -> float | None:
    """The finite number that a text is with this decimal sign, or None."""
    if sign == ",":
        text = "" if "." in text else text.replace(",", ".")
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def _numbers(texts: np.ndarray, sign: str) -> np.ndarray:
    """Values, and lower and upper bounds of limits, of cells that were looked at."""
    found = np.full((3, len(texts)), np.nan)
    for k, text in enumerate(texts.tolist()):
        if text is None:
            continue
        if limit := _LIMIT.fullmatch(text):
            end = _number(_plain(limit[2]), sign)
            found[1:, k] = (-np.inf, end) if limit[1] in "<≤" else (end, np.inf)
        else:
            found[0, k] = _number(_plain(text), sign)
    return found


def is_word(text: str) -> bool:
    """Whether a cell is text for certain: it has letters, and is no number."""
    return any(map(str.isalpha, text)) and not looks_like_number(text)


def looks_like_number(text: str) -> bool:
    """Whether a piece of text might be a number, with whatever decimal sign."""
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


# -- how a file is written -------------------------------------------------------------


def _begin(file: File, kind: str, form: Format) -> tuple[_Layout, Iterator[_Row]]:
    """How a file is written, and its rows, each with the line that it ends in."""
    stream = _opened(file, form)
    encoding = "utf-8" if stream.errors == "surrogateescape" else stream.encoding
    lines, head = lines_of(stream, file.name), []
    size = rows_seen = 0
    for line in lines:
        head.append(line)
        size, rows_seen = size + len(line), rows_seen + (not _is_comment(line))
        if rows_seen == _FIRST or (size > HEAD and len(head) > 2):
            break
    if any("\0" in line for line in head):
        raise DataError(
            f"{file.name} is not a text table; give its format with --read format=…."
        )
    # Lines above the first one that is no comment; none where all look like comments.
    top = next((k for k, line in enumerate(head) if not _is_comment(line)), 0)
    delimiter = form.delimiter or ("\t" if kind == "tsv" else _delimiter(head[top:]))
    if not delimiter.isascii():
        raise DataError(f"--read delimiter={delimiter} must be an ASCII character.")
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
    first = next((row for row in rows if row[1] and any(map(str.strip, row[1]))), None)
    if first is None:
        raise DataError(f"{file.name} is empty.")
    line, cells = first
    if ".data" in Path(file.path).suffixes:  # such files keep their names elsewhere
        headed = headed and not any(map(looks_like_number, cells))
    names = [str(k) for k in range(1, len(cells) + 1)]
    if headed:
        names = _names(line, cells, file.name)
    layout = _Layout(names, line if headed else top, delimiter, headed, encoding)
    data = rows if headed else itertools.chain([first], rows)
    width = len(names)
    return layout, (
        (line, row)
        for line, row in data
        if len(row) == width or not _is_no_row(len(row), row[0])
    )


def _is_comment(line: str) -> bool:
    return line.isspace() or line.lstrip().startswith("#")


def _is_no_row(cells: int, start: str) -> bool:
    """Whether a line with too many or too few cells is blank, or a comment."""
    return (cells == 1 and start.isspace()) or start.lstrip().startswith("#")


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


def _opened(file: File, form: Format) -> io.TextIOWrapper:
    """The text of a file.

    What is not UTF-8 in a file that should be travels along ("surrogateescape") until
    its row and column are known.
    """
    stream = file.open()
    encoding = form.encoding
    if encoding is None:
        start = stream.peek(4)[:4]  # type: ignore[attr-defined]
        utf16 = start.startswith((b"\xff\xfe", b"\xfe\xff"))
        encoding = "utf-16" if utf16 else "utf-8-sig"
    plain = encoding.lower().replace("_", "-").startswith("utf-8")
    try:
        return io.TextIOWrapper(
            stream, encoding, "surrogateescape" if plain else "strict", newline=""
        )
    except LookupError:
        stream.close()
        raise DataError(
            f"--read encoding={encoding} is not known; common ones are utf-8, "
            "utf-16, latin-1 and cp1252."
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
    """Rows of at least one cell, each with the number of its last line.

    A pair of quotes alone is a row, of one cell that is empty.
    """
    reader = _cut(lines, delimiter)
    number = 0
    try:
        for number, row in enumerate(reader, 1):
            if row:
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
            "should be; add such a line, or add --read header=no and give columns by "
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


def _not_utf8(place: str) -> DataError:
    return DataError(
        f"{place} is not UTF-8 text; give its encoding, for example --read "
        "encoding=latin-1."
    )
