"""Numbers from text, without guessing.

A decimal comma is recognised, but only on evidence: `0,5` can be nothing else, while
`1,234` alone might be twelve hundred. A table that uses both comma and point, or holds
nothing but cells that could be either, is refused with the cells that say so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wideberth.data.errors import DataError, listed, quoted
from wideberth.data.table import Format

__all__ = ["Numbers", "looks_like_number"]

_WITH_COMMA = re.compile(r"[-+]?\d*,\d*(?:[eE][-+]?\d+)?")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")


@dataclass(frozen=True)
class _Cell:
    column: str
    text: str
    row: int
    lines: Any  # of its batch, found out only for a message
    k: int

    @property
    def line(self) -> int:
        return self.lines[self.k]

    def __str__(self):
        return (
            f"row {self.row} (line {self.line}), column {quoted(self.column)} holds "
            f"{quoted(self.text)}"
        )


class Numbers:
    """Reads the numeric columns of one text file, batch by batch."""

    def __init__(self, form: Format):
        self.form = form
        self.troubles: dict[str, _Cell] = {}  # the first of each column
        self.texts: list[str] = []  # columns that started with it
        self.proven: set[str] = set()  # columns with a number in them
        self.point: _Cell | None = None
        self.comma: _Cell | None = None
        self.grouped: _Cell | None = None

    def read(self, column: str, cells: Sequence[str], row: int, lines) -> np.ndarray:
        """Return the numbers of a batch whose first row has number `row` (from 0).

        `lines[k]` is the line that cell k stands in.
        """
        if column in self.troubles:
            return np.full(len(cells), np.nan)
        values = self._at_once(cells)
        if values is not None:
            self.proven.add(column)
            return values
        stripped = (cell.strip() for cell in cells)
        return np.array(
            [
                self._one(_Cell(column, text, row + k + 1, lines, k))
                for k, text in enumerate(stripped)
            ]
        )

    def _at_once(self, cells: Sequence[str]) -> np.ndarray | None:
        """All cells by one call, if they are finite numbers; None where it takes more.

        The first cell that shows a decimal sign is looked at alone.
        """
        joined, sign = "".join(cells), self.form.decimal
        if not joined.isascii() or "_" in joined or self.form.missing:
            return None
        if "," in joined:
            if "." in joined or sign == "." or not self.comma:
                return None
            cells = [cell.replace(",", ".") for cell in cells]
        elif "." in joined and (sign == "," or not self.point):
            return None
        try:
            values = np.array(list(map(float, cells)))
        except ValueError:
            return None
        return values if np.isfinite(values).all() else None

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
        value = _as_float(plain)
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
                f"{where}, {cell}, which is not a finite number; mend it, or if it "
                f"stands for a missing value add --na {quoted(cell.text)}."
            )
        comma = self.comma or (self.grouped if self.form.decimal == "," else None)
        if comma and self.point:
            raise DataError(
                f"{where}: {self.point} but {comma}; use one decimal sign throughout, "
                "and no separators of thousands."
            )
        if self.grouped and not comma:
            raise DataError(
                f"{where}, {self.grouped}, which may mean "
                f"{self.grouped.text.replace(',', '.')} or "
                f"{self.grouped.text.replace(',', '')}; say --decimal , for the first, "
                "or take the commas out for the second."
            )
        return "," if comma or self.form.decimal == "," else "."

    def _refuse_text(self, where: str, columns: list[str]) -> None:
        cell = self.troubles[columns[0]]
        if not self.form.header and cell.row == 1:
            raise DataError(
                f"{where}: line {cell.line} holds text ({quoted(cell.text)}) where "
                "--no-header promises data; leave that option out if these are names."
            )
        several = len(columns) > 1
        names = " ".join(_argument(name) for name in columns[:5])
        raise DataError(
            f"{where}: column{'s' if several else ''} {listed(columns)} "
            f"{'hold' if several else 'holds'} text (row {cell.row}, line {cell.line}: "
            f"{quoted(cell.text)}), and features must be numbers; leave "
            f"{'them' if several else 'it'} out with --drop {names} (`columns` in "
            f"Python), or turn "
            f"{'them' if several else 'it'} into columns of 0 and 1 with --one-hot "
            f"{names}."
        )


def looks_like_number(text: str) -> bool:
    """Whether a piece of text might be a number, with whatever decimal sign."""
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _as_float(text: str) -> float:
    if not text.isascii() or "_" in text:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def _argument(name: str) -> str:
    """A column name as it is typed in a shell."""
    return name if re.fullmatch(r"[\w.-]+", name) else quoted(name)
