"""The tables of a written page: every heading and every cell, as a reader sees them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Cell:
    """What is shown, what it is sorted by, and the length of its bar in percent."""

    value: str
    text: str = ""
    width: float | None = None

    @property
    def number(self) -> float:
        """What it is sorted by, as a number."""
        return float(self.value)


@dataclass
class Table:
    """One table, its label, headings and rows."""

    label: str
    headings: list[str] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)

    def column(self, heading: str) -> list[Cell]:
        """The cells below a heading."""
        place = self.headings.index(heading)
        return [row[place] for row in self.rows]


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tables: list[Table] = []
        self._label = ""
        self._inside = ""

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get("role") == "region":
            self._label = given["aria-label"]
        elif tag == "table":
            self.tables.append(Table(self._label))
        elif tag == "tr":
            self.tables[-1].rows.append([])
        elif tag == "th":
            self._inside = "th"
            self.tables[-1].headings.append("")
        elif tag == "td":
            self._inside = "td"
            self.tables[-1].rows[-1].append(Cell(given["data-value"]))
        elif tag == "span" and self._inside == "td" and "style" in given:
            width = given["style"].removeprefix("width: ").removesuffix("%")
            self.tables[-1].rows[-1][-1].width = float(width)

    def handle_endtag(self, tag):
        if tag in ("th", "td"):
            self._inside = ""

    def handle_data(self, data):
        if self._inside == "th":
            self.tables[-1].headings[-1] += data
        elif self._inside == "td":
            self.tables[-1].rows[-1][-1].text += data


def tables_of(page: str) -> list[Table]:
    """All tables of a page, in order; the row of headings is not among the rows."""
    reader = _Reader()
    reader.feed(page)
    for table in reader.tables:
        assert table.rows.pop(0) == []
        assert all(len(row) == len(table.headings) for row in table.rows), table.label
    return reader.tables
