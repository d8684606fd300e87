"""One HTML page that needs nothing else, and the pieces that pages are made of.

Text is escaped here, where it becomes markup; what a function returns is markup.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template

from wideberth.report.figures import Figure


def document(title: str, body: str) -> str:
    """Return the whole page: light and dark, for screen and paper, no requests."""
    here = files(__package__)
    parts = {
        "title": escape(title),
        "style": here.joinpath("page.css").read_text(encoding="utf-8"),
        "script": here.joinpath("page.js").read_text(encoding="utf-8"),
        "body": body,
    }
    shell = here.joinpath("page.html").read_text(encoding="utf-8")
    return Template(shell).substitute(parts)


def items(lines: Iterable[str]) -> str:
    """Return list items of plain text."""
    return "\n".join(f"<li>{escape(line)}</li>" for line in lines)


def definitions(pairs: Iterable[tuple[str, object]]) -> str:
    """Return terms and what they are, for a <dl>."""
    return "\n".join(
        f"<dt>{escape(str(name))}</dt><dd>{escape(str(about))}</dd>"
        for name, about in pairs
    )


def figure(drawing: Figure) -> str:
    """Return a figure: title, caption, legend, panels."""
    legend = "".join(
        f'<li><i style="background: var(--series-{k})"></i>{escape(label)}</li>'
        for k, label in drawing.legend
    )
    return (
        f'<figure id="{drawing.name}"><h3>{escape(drawing.title)}</h3>'
        f"<figcaption>{escape(drawing.caption)}</figcaption>"
        f'<ul class="legend">{legend}</ul>'
        f'<div class="panels{" wide" if drawing.wide else ""}">'
        f"{''.join(drawing.panels)}</div></figure>"
    )


def table(label: str, headings: Iterable[tuple[str, bool]], rows: Iterable) -> str:
    """Return a table that can be sorted by its headings.

    A heading is its text and whether the column holds text; a row is made of `cell`s.
    """
    head = "".join(
        f'<th{_class("text" if text else "")} scope="col"><button type="button">'
        f"{escape(heading)}</button></th>"
        for heading, text in headings
    )
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def cell(shown: str, value: object = None, kind: str = "") -> str:
    """Return a table cell; `value` is what it is sorted by, None goes to the end."""
    key = "" if value is None else str(value)
    return f'<td{_class(kind)} data-value="{escape(key)}">{escape(shown)}</td>'


def bar(value: float, largest: float) -> str:
    """Return a table cell that draws a number as long as it is beside the largest."""
    width = 100 * abs(value) / largest if largest > 0 else 0
    sign = "up" if value >= 0 else "down"
    return (
        f'<td class="drawn" data-value="{value!r}"><span class="bar {sign}" '
        f'style="width: {width:.1f}%"></span></td>'
    )


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
