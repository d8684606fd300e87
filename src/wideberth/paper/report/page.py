"""`report.html`: one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template

from wideberth.paper.methods import METHODS
from wideberth.paper.report.figures import Figure
from wideberth.paper.report.findings import findings, scope
from wideberth.paper.report.summary import COLUMNS, TITLES, Check, Results

__all__ = ["page"]

_PERCENT = frozenset(name for name in COLUMNS if name.endswith("accuracy")) | {
    "rate_paper",
    "rate_honest",
}
_OVERVIEW = tuple(
    name
    for name in COLUMNS
    if name not in ("dataset", "C", "radius", "free", "saturated", "removed", "repeats")
)
#: Columns shown first, or in the heading of a table.
_IN_FRONT = ("dataset", "method")
_REFERENCE_COLUMNS = {
    "C": "C",
    "radius": "ρ",
    "objective": "objective",
    "relative_gap": "relative gap",
    "relative_rounding": "rounding",
    "w_error_bound": "error of w, at most",
    "free": "ψ* = 1",
    "saturated": "ψ* < 1",
    "removed": "ψ* > 1",
}


def page(results: Results, figures: list[Figure]) -> str:
    """Return the whole document; everything that is not markup is escaped."""
    here = files(__package__)
    parts = {
        "title": "The robust SVM screening paper, reproduced",
        "style": here.joinpath("page.css").read_text(encoding="utf-8"),
        "script": here.joinpath("page.js").read_text(encoding="utf-8"),
        "scope": escape(scope(results)),
        "findings": "\n".join(f"<li>{escape(line)}</li>" for line in findings(results)),
        "checks": "\n".join(map(_check, results.checks())),
        "failures": _failures(results),
        "overview": "\n".join(_overview(results, d) for d in results.datasets),
        "methods": _definitions((m.label, m.about) for m in METHODS.values()),
        "figures": "\n".join(map(_figure, figures)),
        "tables": "\n".join(_configurations(results, d) for d in results.datasets),
        "references": "\n".join(_references(results, d) for d in results.datasets),
        "columns": _definitions(COLUMNS.values()),
        "environment": _definitions(
            (name, value)
            for kind in ("versions", "machine")
            for name, value in results.environment[kind].items()
        ),
    }
    template = here.joinpath("page.html").read_text(encoding="utf-8")
    return Template(template).substitute(parts)


def _check(check: Check) -> str:
    state = "" if check.holds else ' class="fails"'
    claim, detail = escape(check.claim), escape(check.detail)
    return f"<li{state}>{claim} <span>({detail})</span></li>"


def _failures(results: Results) -> str:
    if not results.failures:
        return ""
    return f"<h3>Failed</h3><dl>{_definitions(results.failures.items())}</dl>"


def _definitions(pairs: Iterable[tuple[str, object]]) -> str:
    return "\n".join(
        f"<dt>{escape(str(name))}</dt><dd>{escape(str(about))}</dd>"
        for name, about in pairs
    )


def _figure(figure: Figure) -> str:
    legend = "".join(
        f'<li><i style="background: var(--series-{k})"></i>{escape(label)}</li>'
        for k, label in figure.legend
    )
    return (
        f'<figure id="{figure.name}"><h3>{escape(figure.title)}</h3>'
        f"<figcaption>{escape(figure.caption)}</figcaption>"
        f'<ul class="legend">{legend}</ul>'
        f'<div class="panels">{"".join(figure.panels)}</div></figure>'
    )


def _overview(results: Results, dataset: str) -> str:
    headings = [(name, COLUMNS[name][0]) for name in _OVERVIEW]
    lines = [line for line in results.overview() if line["dataset"] == dataset]
    return f"<h3>{escape(TITLES[dataset])}</h3>{_table(headings, lines)}"


def _configurations(results: Results, dataset: str) -> str:
    order = ("method", *(name for name in COLUMNS if name not in _IN_FRONT))
    headings = [(name, COLUMNS[name][0]) for name in order]
    table = _table(headings, results.select(dataset=dataset))
    return (
        f"<details><summary>{escape(TITLES[dataset])}, every configuration and method"
        f"</summary>{table}</details>"
    )


def _references(results: Results, dataset: str) -> str:
    rows = [row for row in results.references if row["dataset"] == dataset]
    table = _table(list(_REFERENCE_COLUMNS.items()), rows)
    return (
        f"<details><summary>{escape(TITLES[dataset])}, references</summary>{table}"
        "</details>"
    )


def _table(headings: list[tuple[str, str]], rows: list[dict]) -> str:
    """A sortable table; a pair of numbers is shown as a range, sorted by its end."""
    head = "".join(
        f'<th{_side(name)} scope="col"><button type="button">{escape(label)}'
        "</button></th>"
        for name, label in headings
    )
    body = "".join(
        "<tr>" + "".join(_cell(name, row.get(name)) for name, _ in headings) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _side(name: str) -> str:
    return ' class="text"' if name == "method" else ""


def _cell(name: str, value) -> str:
    if value is None:
        return f'<td{_side(name)} data-value="">–</td>'
    if name == "method":
        shown = METHODS[value].label
        return f'<td class="text" data-value="{escape(shown)}">{escape(shown)}</td>'
    wrong = ' class="wrong"' if name.startswith("wrong_") and value > 0 else ""
    if isinstance(value, tuple):
        low, high = (_shown(name, end) for end in value)
        shown, value = (low if low == high else f"{low} … {high}"), value[1]
    else:
        shown = _shown(name, value)
    return f'<td{wrong} data-value="{value!r}">{escape(shown)}</td>'


def _shown(name: str, value: float) -> str:
    """Write a number of a column for people."""
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ")
    if name in _PERCENT:
        return f"{100 * value:.1f} %"
    if name == "seconds":
        return f"{value:.3f}"
    if name == "speedup":
        return f"{value:.3g}"
    if name in ("C", "radius"):
        return f"{value:g}"
    if name == "objective":
        return f"{value:.8g}"
    return f"{value:.1e}"
