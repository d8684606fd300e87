"""One HTML page that needs nothing else, and figures in its colours (extra `cli`).

Pages are templates that extend `base.html` and use the macros of `parts.html`. A figure
is a legend and a list of panels, each an SVG of its own, so that a narrow screen can
stack what a wide one shows side by side. Colours are names that the page defines for
light and for dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from markupsafe import Markup

MARKERS = "osD^vP"
# Colours stand for the page's variables: matplotlib draws with the left, CSS says what
# the right is.
TEXT, GRID = "#010203", "#040506"
SERIES = tuple(f"#0a0b{k:02x}" for k in range(1, 7))
_VARIABLES = {
    TEXT: "var(--ink)",
    GRID: "var(--grid)",
    **{colour: f"var(--series-{k})" for k, colour in enumerate(SERIES, 1)},
}
#: A cell of a table: its start, and what it shows.
_CELL = re.compile(r"(<td[^>]*)>(.*?)</td>")
#: Widths of characters that are not as wide as a digit, in digits (DejaVu Sans).
_WIDTHS = {" ": 0.5, ".": 0.5, "±": 1.3, "%": 1.5}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "wideberth",  # the same figure has the same ids
    "font.size": 9,
    "text.color": TEXT,
    "text.parse_math": False,
    "axes.labelcolor": TEXT,
    "axes.edgecolor": GRID,
    "axes.titlesize": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
}


@dataclass(frozen=True)
class Figure:
    """Panels (SVG) under one legend: (number of its colour, what it shows)."""

    name: str
    title: str
    caption: str
    panels: list[str]
    legend: list[tuple[int, str]]
    wide: bool = False  # a single panel that deserves more room


def drawing():
    """Return a context in which panels are drawn."""
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def plain_ticks(axis) -> None:
    """Write the ticks of a logarithmic axis as decimal numbers."""
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter("")


def draw_panel(
    name: str, title: str, draw: Callable, size=(3.4, 2.6), label: str | None = None
) -> str:
    """Draw one axes as inline SVG, in the page's colours, with ids of its own.

    `label` tells those who cannot see it what it shows; by default the title.
    """
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=size, layout="constrained")
    axes = canvas.subplots()
    axes.set_title(title)
    draw(axes)
    stream = io.StringIO()
    canvas.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\g<1>#{name}-", svg)
    svg = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font: \1 system-ui, sans-serif", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    described = escape(title if label is None else label)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{described}" ', 1)


def tails(column: Sequence[str]) -> list[str]:
    """What follows the place at which the numbers of a column are aligned.

    That is their ± if one of them has it, else their %, else the decimal point. What is
    no number has the longest of all tails.
    """
    marks = [" ±", " %"]
    if not any(mark in text for text in column for mark in marks):
        marks = ["."]

    def tail(text: str) -> str:
        found = (text[text.index(mark) :] for mark in marks if mark in text)
        return next(found, "")

    own = [tail(text) if re.match(r"[+−]?\d", text) else None for text in column]
    longest = max(filter(None, own), key=len, default="")
    return [longest if one is None else one for one in own]


def align(rows: str) -> Markup:
    """Rows of a table whose numbers stand one below the other, and break at no unit."""
    lines = [_CELL.findall(line) for line in rows.split("</tr>")]
    shown = [[text for _, text in line] for line in lines if line]
    if len({*map(len, shown)}) != 1:
        return Markup(rows)
    columns = [
        [_width(tail) for tail in tails(column)] for column in zip(*shown, strict=True)
    ]
    lacks = iter(
        max(column) - width
        for widths in zip(*columns, strict=True)
        for column, width in zip(columns, widths, strict=True)
    )

    def aligned(cell: re.Match) -> str:
        lack, (start, text) = next(lacks), cell.groups()
        style = f' style="--lack: {lack:g}ch"' if lack and "class" not in start else ""
        text = re.sub("± .*|[^ ]+ %", r"<span>\g<0></span>", text)
        return f"{start}{style}>{text}</td>"

    return Markup(_CELL.sub(aligned, rows))


def _width(text: str) -> float:
    """About how wide a text is, in digits."""
    return sum(_WIDTHS.get(character, 1.0) for character in text)


def render(
    package: str,
    template: str,
    filters: dict[str, Callable],
    finalize: Callable | None = None,
    **shown,
) -> str:
    """The template of a package as a page: light and dark, screen and paper.

    `finalize` is what every value becomes before it is written.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=ChoiceLoader(
            [PackageLoader(package, ""), PackageLoader(__package__, "")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"align": align, **filters}
    here = files(__package__)
    style, script = (
        Markup(here.joinpath(name).read_text(encoding="utf-8"))
        for name in ("page.css", "page.js")
    )
    return pages.get_template(template).render(style=style, script=script, **shown)
