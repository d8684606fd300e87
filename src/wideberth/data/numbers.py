"""Numbers from text, without guessing.

A decimal comma is recognised, but only on evidence: `0,5` can be nothing else, while
`1,234` alone might be twelve hundred. A table that uses both comma and point, or holds
nothing but cells that could be either, is refused with the cells that say so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wideberth.data.dates import day_number
from wideberth.data.errors import DataError, listed, no_numbers, quoted
from wideberth.data.table import MISSING, Format

#: Missing values as Arrow compares them; `Numbers` knows other cases of letters.
NULLS = [*MISSING, *map(str.upper, MISSING), "NaN"]
#: Cells that are tried before all are, as Arrow is slow where many cells are no numbers
#: (a choice): 200 000 × 20 decimal commas took 5.4 s without and 1.7 s with it.
_PROBE = 100
_WITH_COMMA = re.compile(r"[-+]?\d*,\d*(?:[eE][-+]?\d+)?")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")


class _Cell(NamedTuple):
    column: str
    text: str
    row: int  # from 1, as people count


class Numbers:
    """Reads the numeric columns of one text file, batch by batch.

    `lines` finds the line that each row of the file ends in; messages tell it.
    """

    def __init__(self, form: Format, lines: Callable[[], np.ndarray]):
        self.form, self.lines = form, lines
        self.troubles: dict[str, _Cell] = {}  # the first of each column
        self.texts: list[str] = []  # columns that started with it
        self.proven: set[str] = set()  # columns with a number in them
        self.point: _Cell | None = None
        self.comma: _Cell | None = None
        self.grouped: _Cell | None = None

    def read(self, column: str, cells, row: int) -> np.ndarray:
        """Return the numbers of an Arrow array of bytes that starts in `row` (from 0).

        Cells that Arrow cannot read all at once are looked at one by one.
        """
        if column in self.troubles:
            return np.full(len(cells), np.nan)
        values = self._at_once(column, cells, row)
        if values is not None:
            return values
        values = np.full(len(cells), np.nan)
        for k, cell in enumerate(cells.to_pylist()):
            text = cell.decode("utf-8", "surrogateescape").strip()
            values[k] = self._one(_Cell(column, text, row + k + 1))
            trouble = self.troubles.get(column)
            if trouble is not None and row + k - trouble.row > _PROBE:
                break  # it will be refused; the cells below told if it is a unit
        return values

    def _at_once(self, column: str, cells, row: int) -> np.ndarray | None:
        """All cells if they are finite numbers or missing; None where it takes more.

        The first cells that show a decimal comma are looked at alone.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        def point() -> int:
            return pc.index(pc.match_substring(texts, "."), True).as_py()

        texts, sign = cells, self.form.decimal
        values = None if self.form.missing else _finite(texts)
        if values is None:
            try:
                texts = pc.utf8_trim_whitespace(cells.cast("string"))
            except pa.ArrowInvalid:  # not UTF-8
                return None
            missing = pc.is_in(texts, pa.array([*NULLS, *self.form.missing]))
            texts = pc.if_else(missing, None, texts)
            values = _finite(texts)
        if values is None and self.comma and sign != "." and point() < 0:
            values = _finite(pc.replace_substring(texts, ",", "."))
        if values is None or (sign == "," and point() >= 0):
            return None
        if self.point is None and (k := point()) >= 0:
            text = cells[k].as_py().decode().strip()
            self.point = _Cell(column, text, row + k + 1)
        if texts.null_count < len(texts):
            self.proven.add(column)
        return values

    def _one(self, cell: _Cell) -> float:
        if self.form.is_missing(cell.text):
            return math.nan
        plain = cell.text.replace("\u2212", "-")  # a minus sign as typesetters write it
        if "," in plain:
            usable = self.form.decimal != "." and _WITH_COMMA.fullmatch(plain)
            if usable and _GROUPED.fullmatch(plain):
                self.grouped = self.grouped or cell
            elif usable:
                self.comma = self.comma or cell
            plain = plain.replace(",", ".") if usable else ""
        elif "." in plain:
            self.point = self.point or cell
            plain = "" if self.form.decimal == "," else plain
        plain = plain if plain.isascii() and "_" not in plain else ""
        value = float(plain) if looks_like_number(plain) else math.nan
        if not math.isfinite(value):
            if cell.column not in self.proven | self.troubles.keys():
                self.texts.append(cell.column)
            self.troubles.setdefault(cell.column, cell)
            return math.nan
        self.proven.add(cell.column)
        return value

    def finish(self, where: str) -> str:
        """Refuse what could not be read; return the decimal sign that was found."""
        if self.texts:
            self._refuse_text(where, self.texts)
        if self.troubles:
            cell = min(self.troubles.values(), key=lambda cell: cell.row)
            raise DataError(
                f"{where}, {self._shown(cell)}, which is not a finite number; mend it, "
                f"or if it stands for a missing value add --na {quoted(cell.text)}."
            )
        comma = self.comma or (self.grouped if self.form.decimal == "," else None)
        if comma and self.point:
            raise DataError(
                f"{where}: {self._shown(self.point)} but {self._shown(comma)}; use one "
                "decimal sign throughout, and no separators of thousands."
            )
        if self.grouped and not comma:
            text = self.grouped.text
            raise DataError(
                f"{where}, {self._shown(self.grouped)}, which may mean "
                f"{text.replace(',', '.')} or {text.replace(',', '')}; say --decimal , "
                "for the first, or take the commas out for the second."
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
                "--no-header promises data; leave that option out if these are names."
            )
        if all(self.troubles[n].row == 1 and n in self.proven for n in columns):
            raise DataError(
                f"{where}: line {line} holds text ({quoted(cell.text)}) above the "
                f"numbers of {listed(columns)}; if these are units, delete that line."
            )
        dates = [n for n in columns if day_number(self.troubles[n].text) is not None]
        example = f"row {cell.row}, line {line}: {quoted(cell.text)}"
        raise DataError(f"{where}: {no_numbers(columns, dates, example)}")


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


def _finite(cells: Any) -> np.ndarray | None:
    """Cells as Arrow reads them, null as NaN; None if one is no finite number."""
    import pyarrow as pa

    try:
        cells[:_PROBE].cast("float64")
        values = cells.cast("float64").to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    there = len(cells) - cells.null_count
    return values if np.isfinite(values).sum() == there else None
