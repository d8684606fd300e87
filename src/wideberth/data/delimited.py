"""CSV and its relatives: any encoding, any delimiter, decimal point or comma.

pyarrow cuts the text into cells. This module finds out how a file is written, makes
numbers of the cells without guessing, and says in which row, line and column something
is wrong; for the line Python's reader cuts the text again.

A decimal comma is recognised, but only on evidence: `0,5` can be nothing else, while
`1,234` alone might be twelve hundred. A table that uses both comma and point, or holds
nothing but cells that could be either, is refused with the cells that say so. Cells
such as `<0.5` are limits of detection: bounds, where a `Request` asks for them.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
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
from wideberth.data.errors import DataError, counted, listed, no_numbers, quoted
from wideberth.data.files import HEAD, File, explained, lines_of
from wideberth.data.table import MISSING, Format, Plan, Reader, Table

#: Bytes of text that pyarrow parses at a time; 200 000 × 20 numbers took it 0.27 s of
#: processor time with 1 MB, 0.43 s with 4 MB and 0.59 s with 32 MB; less was not tried.
_BLOCK = 1 << 20
#: Missing values as pyarrow compares them; `Numbers` knows other cases of letters.
_NULLS = [*MISSING, *map(str.upper, MISSING), "NaN"]
_CANDIDATES = "\t;,|"
_SIGNS = {",": "comma", ";": "semicolon", ".": "point", "\t": "tab", " ": "blanks"}
#: Stands before the number of a column that the header gives no name.
_UNNAMED = "#"
_UNDECODED = re.compile("[\udc80-\udcff]")
_COMMA = r"^[-+]?\d*,\d*([eE][-+]?\d+)?$"
_GROUPED = r"^[-+]?[1-9]\d{0,2},\d{3}$"
_NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_LIMIT = r"^[<>≤≥]=?\s*[-+]?\d*[.,]?\d+([eE][-+]?\d+)?$"
_Row = tuple[int, list[str]]


class _Layout(NamedTuple):
    """How a file is written."""

    names: list[str]
    skipped: int  # lines above the first row
    delimiter: str
    headed: bool  # whether a line names the columns
    encoding: str


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
                    f"{file.name} has other columns, or another sign between them, "
                    f"than {self.files[0].name}; files of one table must have the same "
                    "first line."
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
        delimiter = self.layout.delimiter
        self.details = {"delimiter": _SIGNS.get(delimiter, delimiter)}
        self._types: dict[str, Any] = {}
        self._checked: set[File] = set()

    @property
    def paths(self):
        return [file.path for file in self.files if file.path != "-"]

    def text_columns(self, names):
        """By the first value of each; read until all have one."""
        left, found = {name: self.names.index(name) for name in names}, []
        for _, row in itertools.chain.from_iterable(map(self._rows, self.files)):
            cells = {n: row[k].strip() for n, k in left.items() if k < len(row)}
            for name, cell in cells.items():
                if not self._is_missing(cell):
                    found += [name] if is_word(cell) else []
                    del left[name]
            if not left:
                break
        return [name for name in names if name in found]

    def _is_missing(self, cell: str) -> bool:
        return cell.lower() in MISSING or cell in self.form.missing

    def tables(self, plan, size, native=False):
        import pyarrow as pa

        n = 0
        for file in self.files:
            numbers = Numbers(self.form, partial(self._lines, file), plan.limits)
            row = 0
            with explained(file.name):
                try:
                    self._check_quotes(file)
                    for batch in self._batches(file, plan, size, native):
                        table = self._table(batch, plan, file, row, native, numbers)
                        row += table.n
                        if not numbers.troubles:
                            yield table
                except pa.ArrowInvalid as error:
                    self._refuse(file, error)
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
        blanks = self.layout.delimiter == " "
        stream = self._retabbed(file) if blanks else file.open()
        with pc.open_csv(
            stream,
            pc.ReadOptions(
                column_names=list(map(str, range(len(self.names)))),
                skip_rows=0 if blanks else self.layout.skipped,
                block_size=block,
                encoding="utf-8" if blanks else self.layout.encoding,
            ),
            pc.ParseOptions(
                delimiter="\t" if blanks else self.layout.delimiter,
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

    def _retabbed(self, file: File) -> io.BufferedReader:
        """The rows of a file whose cells stand between blanks, with tabs instead."""
        lines = lines_of(_opened(file, self.form), file.name)
        rows = itertools.islice(lines, self.layout.skipped, None)
        tabbed = ("\t".join(line.split()) + "\n" for line in rows)
        return io.BufferedReader(_Stream(tabbed), _BLOCK)

    def _check_quotes(self, file: File) -> None:
        """Refuse quotes in odd places, of which pyarrow would make something."""
        if self.layout.delimiter != " " and file not in self._checked:
            with file.open() as stream:
                if not quotes_are_right(stream, self.layout.delimiter):
                    for _ in self._rows(file):
                        pass  # Python's reader refuses what is wrong about them
            self._checked.add(file)

    def _table(
        self, batch, plan: Plan, file: File, row: int, native: bool, numbers: Numbers
    ) -> Table:
        """Columns of a batch that starts in this row."""

        def floats(name: str, column) -> np.ndarray:
            if name not in plan.dates:
                return numbers.read(name, column, row)
            cells = texts(name, column)
            return days_of(cells, partial(place, name), self._cells(name))

        def place(name: str, k: int) -> str:
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
                raise _not_utf8(place(name, k)) from None

        for name in plan.empty:
            if any(texts(name, batch.column(name))):
                raise DataError(
                    f"{file.name}: column {name[1:]} has no name in the header; if it "
                    f"numbers the rows leave it out with --drop '{name}' (`columns` in "
                    "Python), else give it a name."
                )
        numbers.bounds = {}
        table = table_of(batch, plan, file.name, floats, None if native else texts)
        table.bounds = numbers.bounds
        if len(self.files) == 1:
            table.find_lines = partial(self._lines, file)
        return table

    def _refuse(self, file: File, error: Exception) -> None:
        """Say which row pyarrow stumbled over; nothing where there are no rows."""
        width, k = len(self.names), 0
        for k, (line, row) in enumerate(self._rows(file), 1):
            if len(row) != width:
                raise DataError(
                    f"{file.name}, row {k} (line {line}) has {len(row)} cells where "
                    f"the first line has {width}; mend it, or say which sign stands "
                    "between the cells with --read delimiter=;."
                ) from None
        if k:
            raise DataError(f"{file.name} cannot be read: {error}") from None

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
    """What pyarrow is to do about a row of too many or too few cells."""
    return "skip" if _is_no_row(row.actual_columns, row.text) else "error"


class _Stream(io.RawIOBase):
    """Lines of text as a stream of UTF-8."""

    def __init__(self, lines: Iterator[str]):
        self.lines, self.rest = lines, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        if not self.rest:
            some = "".join(itertools.islice(self.lines, 1000))
            self.rest = some.encode("utf-8", "surrogateescape")
        size = min(len(buffer), len(self.rest))
        buffer[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


def quotes_are_right(stream, delimiter: str, size: int = _BLOCK) -> bool:
    """Whether quotes stand where they belong; read so many bytes at a time.

    Every second quote opens a cell and has its border before it, the others close one
    and have its border behind them; a quote in place of a border is of a pair.
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


# -- numbers ---------------------------------------------------------------------------


class _Cell(NamedTuple):
    column: str
    text: str
    row: int  # from 1, as people count


class Numbers:
    """Reads the numeric columns of one text file, batch by batch.

    `lines` finds the line that each row of the file ends in, for messages. Limits of
    detection in the columns `limits`, or in all if it is True, are put into `bounds`.
    """

    def __init__(
        self,
        form: Format,
        lines: Callable[[], np.ndarray],
        limits: bool | tuple[str, ...] = False,
    ):
        self.form, self.lines, self.limits = form, lines, limits
        self.troubles: dict[str, _Cell] = {}  # the first of each column
        self.proven: set[str] = set()  # columns with a number in them
        #: The first cell with a decimal point, with a decimal comma, and with a comma
        #: that may separate thousands.
        self.evidence: dict[str, _Cell] = {}
        #: Cells of each column that are limits, and the first of them.
        self.limited: Counter[str] = Counter()
        self.first_limits: dict[str, _Cell] = {}
        self.bounds: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def read(self, column: str, cells, row: int) -> np.ndarray:
        """Return the numbers of an Arrow array of bytes that starts in `row` (from 0).

        Null and what stands for a missing value are NaN.
        """
        import pyarrow.compute as pc

        commas = self.form.decimal == "," or "comma" in self.evidence
        plain = pc.replace_substring(cells, ",", ".") if commas else cells
        values = _finite(plain)
        if values is not None and (commas or "point" not in self.evidence):
            point = pc.match_substring(cells, ".")
            self._note("point", column, cells, point, row)
            if commas and pc.any(point).as_py():
                values = None
        if values is None:
            return self._carefully(column, cells, row)
        if cells.null_count < len(cells):
            self.proven.add(column)
        return values

    def _carefully(self, column: str, cells, row: int) -> np.ndarray:
        """The numbers of cells some of which are not written like plain numbers."""
        import pyarrow.compute as pc

        texts, sign = _trimmed(cells, self.form), self.form.decimal
        point = pc.match_substring(texts, ".")
        limit = pc.match_substring_regex(texts, _LIMIT)
        # As typesetters write a minus; limits as their numbers.
        plain = pc.replace_substring(texts, "\u2212", "-")
        plain = pc.replace_substring_regex(plain, r"^[<>≤≥]=?\s*", "")
        plain = pc.if_else(limit, plain, pc.replace_substring(texts, "\u2212", "-"))
        if sign != ".":
            comma = pc.match_substring_regex(plain, _COMMA)
            grouped = pc.match_substring_regex(plain, _GROUPED)
            self._note("grouped", column, texts, grouped, row)
            self._note("comma", column, texts, pc.and_not(comma, grouped), row)
            plain = pc.if_else(comma, pc.replace_substring(plain, ",", "."), plain)
        good = pc.match_substring_regex(plain, _NUMBER)
        if sign == ",":
            good = pc.and_not(good, point)
        self._note("point", column, texts, pc.and_(point, good), row)
        plain = pc.if_else(good, plain, None)
        values = plain.cast("float64").to_numpy(zero_copy_only=False)
        wrong = texts.is_valid().to_numpy(zero_copy_only=False) & ~np.isfinite(values)
        if wrong.any() and column not in self.troubles:
            k = int(wrong.argmax())
            self.troubles[column] = _Cell(column, str(texts[k]), row + k + 1)
        limited = limit.fill_null(False).to_numpy(zero_copy_only=False) & ~wrong
        if limited.any():
            values = self._bound(column, texts, values, limited, row)
        if np.isfinite(values).any():
            self.proven.add(column)
        return values

    def _bound(self, column: str, texts, values, limited, row: int) -> np.ndarray:
        """Take cells that are limits for bounds: they are NaN among the values."""
        import pyarrow.compute as pc

        k = int(limited.argmax())
        self.limited[column] += int(limited.sum())
        self.first_limits.setdefault(column, _Cell(column, str(texts[k]), row + k + 1))
        above = pc.match_substring_regex(texts, "^[>≥]").fill_null(False)
        above = above.to_numpy(zero_copy_only=False)
        limits = np.where(limited, values, np.nan)
        low = np.where(limited & ~above, -np.inf, limits)
        high = np.where(limited & above, np.inf, limits)
        self.bounds[column] = low, high
        return np.where(limited, np.nan, values)

    def _note(self, what: str, column: str, texts, places, row: int) -> None:
        """Remember the first cell of a kind."""
        import pyarrow.compute as pc

        if what not in self.evidence and (k := pc.index(places, True).as_py()) >= 0:
            text = texts[k].as_py()
            text = text.decode().strip() if isinstance(text, bytes) else text
            self.evidence[what] = _Cell(column, text, row + k + 1)

    def finish(self, where: str) -> str:
        """Refuse what could not be read; return the decimal sign that was found."""
        if self.troubles:
            self._refuse_text(where)
            cell = min(self.troubles.values(), key=lambda cell: cell.row)
            raise DataError(
                f"{where}, {self._shown(cell)}, which is not a finite number; mend it, "
                f"or if it stands for a missing value add --read na={cell.text}."
            )
        for column, cell in self.first_limits.items():
            if self.limits is not True and column not in (self.limits or ()):
                cells = counted(self.limited[column], "cell")
                raise DataError(
                    f"{where}: {cells} of {quoted(column)} "
                    f"{'is a limit' if cells.startswith('1 ') else 'are limits'} of "
                    f"detection such as {quoted(cell.text)} (first: row {cell.row}, "
                    f"line {self._line(cell)}); --limits reads them."
                )
        point, comma, grouped = map(self.evidence.get, ("point", "comma", "grouped"))
        comma = comma or (grouped if self.form.decimal == "," else None)
        if comma and point:
            raise DataError(
                f"{where}: {self._shown(point)} but {self._shown(comma)}; use one "
                "decimal sign throughout, and no separators of thousands."
            )
        if grouped and not comma:
            raise DataError(
                f"{where}, {self._shown(grouped)}, which may mean "
                f"{grouped.text.replace(',', '.')} or {grouped.text.replace(',', '')}; "
                "say --read decimal=, for the first, or take the commas out for the "
                "second."
            )
        return "," if comma or self.form.decimal == "," else "."

    def _refuse_text(self, where: str) -> None:
        """Refuse columns of text, or a line of text above numbers."""
        first = {n: c for n, c in self.troubles.items() if c.row == 1}
        texts = [n for n in self.troubles if n not in self.proven]
        if not self.form.header and first:
            cell = next(iter(first.values()))
            raise DataError(
                f"{where}: line {self._line(cell)} holds text ({quoted(cell.text)}) "
                "where --read header=no promises data; leave that out if these are "
                "names, or turn categories into columns of 0 and 1 with --one-hot auto."
            )
        if texts:
            cell, dates = self.troubles[texts[0]], []
            dates = [n for n in texts if is_date(self.troubles[n].text)]
            example = f"row {cell.row}, line {self._line(cell)}: {quoted(cell.text)}"
            raise DataError(f"{where}: {no_numbers(texts, dates, example)}")
        if first:
            cell = next(iter(first.values()))
            raise DataError(
                f"{where}: line {self._line(cell)} holds text ({quoted(cell.text)}) "
                f"above the numbers of {listed(first)}; if these are units, delete "
                "that line."
            )

    def _line(self, cell: _Cell) -> int:
        return int(self.lines()[cell.row - 1])

    def _shown(self, cell: _Cell) -> str:
        place = f"row {cell.row} (line {self._line(cell)})"
        return f"{place}, column {quoted(cell.column)} holds {quoted(cell.text)}"


def _trimmed(cells, form: Format):
    """Cells as text without blanks around it, null where a value is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        texts = cells.cast("string")
    except pa.ArrowInvalid:  # not UTF-8
        plain = (
            None if c is None else c.decode(errors="replace") for c in cells.to_pylist()
        )
        texts = pa.array(plain, "string")
    texts = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(pc.utf8_lower(texts), pa.array(sorted(MISSING)))
    if form.missing:
        missing = pc.or_(missing, pc.is_in(texts, pa.array(sorted(form.missing))))
    return pc.if_else(missing, None, texts)


def _finite(cells: Any) -> np.ndarray | None:
    """Cells as Arrow reads them, null as NaN; None if one is no finite number."""
    import pyarrow as pa

    try:
        # Arrow is slow where many cells are no numbers, so a few are tried first.
        cells[:100].cast("float64")
        values = cells.cast("float64").to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    there = len(cells) - cells.null_count
    return values if np.isfinite(values).sum() == there else None


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
