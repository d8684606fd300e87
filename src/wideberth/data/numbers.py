"""Numbers and dates from text, without guessing.

A decimal comma is recognised, but only on evidence: `0,5` can be nothing else, while
`1,234` alone might be twelve hundred. A table that uses both comma and point, or holds
nothing but cells that could be either, is refused with the cells that say so.

Dates become days since the start of 1970, with the time of day as a fraction. They are
read as ISO 8601 writes them (2024-01-31, 2024-01-31 08:30, 2024/01/31) and as
31.01.2024. In 01/31/2024 the day or the month may come first; a cell with a number
above 12 shows which, and a column without such a cell is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from wideberth.data.errors import DataError, listed, no_numbers, quoted
from wideberth.data.table import MISSING, Format

_COMMA = r"^[-+]?\d*,\d*([eE][-+]?\d+)?$"
_GROUPED = r"^[-+]?[1-9]\d{0,2},\d{3}$"
_NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_LIMIT = re.compile(r"[<>≤≥]\s*[-+]?[\d.,]+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400  # seconds
_POINTS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(.*)", re.ASCII)
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(.*)", re.ASCII)
_YEAR_FIRST = re.compile(r"(\d{4})/(\d{2})/(\d{2})(.*)", re.ASCII)


class _Cell(NamedTuple):
    column: str
    text: str
    row: int  # from 1, as people count


class Numbers:
    """Reads the numeric columns of one text file, batch by batch.

    `lines` finds the line that each row of the file ends in, for messages.
    """

    def __init__(self, form: Format, lines: Callable[[], np.ndarray]):
        self.form, self.lines = form, lines
        self.troubles: dict[str, _Cell] = {}  # the first of each column
        self.texts: list[str] = []  # columns whose first value is no number
        self.proven: set[str] = set()  # columns with a number in them
        #: The first cell with a decimal point, with a decimal comma, and with a comma
        #: that may separate thousands.
        self.evidence: dict[str, _Cell] = {}

    def read(self, column: str, cells, row: int) -> np.ndarray:
        """Return the numbers of an Arrow array of bytes that starts in `row` (from 0).

        Null and what stands for a missing value are NaN.
        """
        import pyarrow.compute as pc

        if column in self.troubles:
            return np.full(len(cells), np.nan)
        values, texts, sign = _finite(cells), cells, self.form.decimal
        if values is None:
            texts = _trimmed(cells, self.form)
            values = _finite(texts)
        if values is not None and sign != "," and "point" in self.evidence:
            if texts.null_count < len(texts):
                self.proven.add(column)
            return values
        point = pc.match_substring(texts, ".")
        has_point = bool(pc.any(point).as_py())
        if values is None and "comma" in self.evidence and not has_point:
            values = _finite(pc.replace_substring(texts, ",", "."))
        if values is not None and not (sign == "," and has_point):
            self._note("point", column, texts, point, row)
            if texts.null_count < len(texts):
                self.proven.add(column)
            return values
        plain = pc.replace_substring(texts, "\u2212", "-")  # as typesetters write it
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
        there = np.isfinite(values)
        if wrong.any():
            k = int(wrong.argmax())
            self.troubles[column] = _Cell(column, str(texts[k]), row + k + 1)
            if column not in self.proven and not there[:k].any():
                self.texts.append(column)
        if there.any():
            self.proven.add(column)
        return values

    def _note(self, what: str, column: str, texts, places, row: int) -> None:
        """Remember the first cell of a kind."""
        import pyarrow.compute as pc

        if what not in self.evidence and (k := pc.index(places, True).as_py()) >= 0:
            text = texts[k].as_py()
            text = text.decode().strip() if isinstance(text, bytes) else text
            self.evidence[what] = _Cell(column, text, row + k + 1)

    def finish(self, where: str) -> str:
        """Refuse what could not be read; return the decimal sign that was found."""
        if self.texts:
            self._refuse_text(where, self.texts)
        if self.troubles:
            cell = min(self.troubles.values(), key=lambda cell: cell.row)
            limit = "a limit, not a number" if _LIMIT.fullmatch(cell.text) else ""
            raise DataError(
                f"{where}, {self._shown(cell)}, which is "
                f"{limit or 'not a finite number'}; mend it, or if it stands for a "
                f"missing value add --read na={quoted(cell.text)}."
                + (limit and " In Python errors.from_limits gives limits an error.")
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

    def _line(self, cell: _Cell) -> int:
        return int(self.lines()[cell.row - 1])

    def _shown(self, cell: _Cell) -> str:
        place = f"row {cell.row} (line {self._line(cell)})"
        return f"{place}, column {quoted(cell.column)} holds {quoted(cell.text)}"

    def _refuse_text(self, where: str, columns: list[str]) -> None:
        cell = self.troubles[columns[0]]
        line = self._line(cell)
        if not self.form.header and cell.row == 1:
            raise DataError(
                f"{where}: line {line} holds text ({quoted(cell.text)}) where "
                "--read header=no promises data; leave that out if these are names, or "
                "turn categories into columns of 0 and 1 with --one-hot auto."
            )
        limits = all(_LIMIT.fullmatch(self.troubles[n].text) for n in columns)
        above = all(self.troubles[n].row == 1 and n in self.proven for n in columns)
        if above and not limits:
            raise DataError(
                f"{where}: line {line} holds text ({quoted(cell.text)}) above the "
                f"numbers of {listed(columns)}; if these are units, delete that line."
            )
        if not limits:
            dates = [n for n in columns if is_date(self.troubles[n].text)]
            example = f"row {cell.row}, line {line}: {quoted(cell.text)}"
            raise DataError(f"{where}: {no_numbers(columns, dates, example)}")


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


# -- dates -----------------------------------------------------------------------------


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


def day_numbers(
    texts: np.ndarray, column: Iterable[str | None] = ()
) -> tuple[np.ndarray, int | None]:
    """Dates as days, NaN where there is none; and the first row that holds no date.

    Where day and month are separated by slashes the first cell of the whole `column`,
    or of these texts, that has a number above 12 shows which comes first.
    """
    different = set(texts.tolist()) - {None}
    month_first = None
    if any(map(_SLASHES.fullmatch, different)):
        cells = (text and _SLASHES.fullmatch(text) for text in chain(column, different))
        parts = ((int(cell[1]), int(cell[2])) for cell in cells if cell)
        shown = next((one for one in parts if max(one) > 12), None)
        month_first = None if shown is None else shown[1] > 12
    day_of = {text: day_number(text, month_first) for text in different}
    days = [np.nan if text is None else day_of[text] for text in texts.tolist()]
    bad = next((k for k, day in enumerate(days) if day is None), None)
    return np.array(days, dtype=np.float64), bad


def not_a_date(text: str) -> str:
    """What to say of it."""
    if is_date(text):
        return (
            f"{quoted(text)} does not say whether the day or the month comes first, "
            "and no other cell of the column does; write dates as 2024-01-31."
        )
    return (
        f"{quoted(text)} is not a date; --read dates=… reads 2024-01-31, with a time "
        "such as 2024-01-31 08:30 too, 31.01.2024, and 01/31/2024."
    )
