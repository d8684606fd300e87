"""Pieces that pages are made of: sections, and tables whose columns have kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from wideberth.cli.gain import tell_points
from wideberth.cli.output import (
    number,
    percent,
    small_share,
    whole,
    with_error,
    with_minus,
)
from wideberth.report import html
from wideberth.report.figures import Figure, draw_panel, drawing

#: Number of features that are shown; the others follow folded up.
SHOWN = 25
#: Number of features beyond which the page leaves them out, lest it grow unwieldy.
FOLDED = 1000
#: How values of a column are written, by what they are.
_WRITTEN: dict[str, Callable[..., str]] = {
    "text": str,
    "number": number,
    "count": whole,
    "share": percent,
    "objective": "{:.6g}".format,
    "gap": small_share,
    "iterations": str,
    "points": lambda share: with_minus(f"{100 * share:+.1f}"),
    "ratio": "{:.2f}".format,
}


def section(heading: str, inside: str) -> str:
    """A section that is there only if something is in it."""
    return f"<section>\n<h2>{heading}</h2>\n{inside}\n</section>\n" if inside else ""


def side_by_side(*parts: str) -> str:
    """Parts in columns where there is room for them; empty ones take none."""
    inside = "\n".join(f"<div>\n{part}\n</div>" for part in parts if part)
    return f'<div class="columns">\n{inside}\n</div>\n' if inside else ""


def draw_figure(name, title, caption, draw, label, legend) -> str:
    """A figure of one panel."""
    with drawing():
        panel = draw_panel(name, "", draw, (4.8, 3.1), label)
    return html.figure(Figure(name, title, caption, [panel], legend, wide=True))


def _cell(kind: str, value) -> str:
    """A value of a column; a dict is the mean of shares with their spread."""
    if kind == "bar":
        return html.bar(*value)
    if kind == "limit":
        return html.cell(*value)
    if value is None:
        return html.cell("–")
    if kind == "gain":
        return html.cell(tell_points(value), value["mean"])
    if isinstance(value, dict):
        mean, error = with_error(100 * value["mean"], 100 * value["std"])
        shown = f"{mean} ± {error} %"
        return html.cell(shown, value["mean"])
    return html.cell(_WRITTEN[kind](value), value, "text" if kind == "text" else "")


def table(label: str, columns: dict[str, str], lines: Iterable[Sequence]) -> str:
    """A table whose columns have a heading and a kind of values."""
    headings = [(name, kind in ("text", "bar")) for name, kind in columns.items()]
    return html.table(
        label, headings, (map(_cell, columns.values(), line) for line in lines)
    )


def folded(heading: str, count: int, columns: dict, lines: Iterable) -> str:
    """A table that is folded up, under a heading that says if it lacks features."""
    heading += f" (the first {FOLDED} of {count})" if count > FOLDED else ""
    inside = table(heading, columns, lines)
    return f"<details><summary>{heading}</summary>\n{inside}\n</details>"
