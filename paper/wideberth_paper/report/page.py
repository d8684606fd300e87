"""`report.html`: one page that needs nothing else."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from wideberth.report.figures import Figure
from wideberth.report.html import cell, definitions, document, figure, items, table
from wideberth_paper.methods import METHODS
from wideberth_paper.report.findings import findings, scope
from wideberth_paper.report.summary import COLUMNS, TITLES, Check, Results

__all__ = ["page"]

_TITLE = "The robust SVM screening paper, reproduced"

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
    parts = {
        "title": _TITLE,
        "scope": escape(scope(results)),
        "findings": items(findings(results)),
        "checks": "\n".join(map(_check, results.checks())),
        "failures": _failures(results),
        "overview": "\n".join(_overview(results, d) for d in results.datasets),
        "methods": definitions((m.label, m.about) for m in METHODS.values()),
        "figures": "\n".join(map(figure, figures)),
        "tables": "\n".join(_configurations(results, d) for d in results.datasets),
        "references": "\n".join(_references(results, d) for d in results.datasets),
        "columns": definitions(COLUMNS.values()),
        "environment": definitions(
            (name, value)
            for kind in ("versions", "machine")
            for name, value in results.environment[kind].items()
        ),
    }
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    return document(_TITLE, Template(template).substitute(parts))


def _check(check: Check) -> str:
    state = "" if check.holds else ' class="fails"'
    claim, detail = escape(check.claim), escape(check.detail)
    return f"<li{state}>{claim} <span>({detail})</span></li>"


def _failures(results: Results) -> str:
    if not results.failures:
        return ""
    return f"<h3>Failed</h3><dl>{definitions(results.failures.items())}</dl>"


def _overview(results: Results, dataset: str) -> str:
    headings = [(name, COLUMNS[name][0]) for name in _OVERVIEW]
    lines = [line for line in results.overview() if line["dataset"] == dataset]
    title = TITLES[dataset]
    return f"<h3>{escape(title)}</h3>{_table(title, headings, lines)}"


def _configurations(results: Results, dataset: str) -> str:
    order = ("method", *(name for name in COLUMNS if name not in _IN_FRONT))
    headings = [(name, COLUMNS[name][0]) for name in order]
    title = f"{TITLES[dataset]}, every configuration and method"
    return _details(title, headings, results.select(dataset=dataset))


def _references(results: Results, dataset: str) -> str:
    rows = [row for row in results.references if row["dataset"] == dataset]
    title = f"{TITLES[dataset]}, references"
    return _details(title, list(_REFERENCE_COLUMNS.items()), rows)


def _details(title: str, headings: list[tuple[str, str]], rows: list[dict]) -> str:
    inside = _table(title, headings, rows)
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def _table(label: str, headings: list[tuple[str, str]], rows: list[dict]) -> str:
    """A pair of numbers is shown as a range, sorted by its end."""
    return table(
        label,
        [(heading, name == "method") for name, heading in headings],
        ([_cell(name, row.get(name)) for name, _ in headings] for row in rows),
    )


def _cell(name: str, value) -> str:
    if name == "method":
        return cell(METHODS[value].label, METHODS[value].label, "text")
    if value is None:
        return cell("–")
    wrong = "wrong" if name.startswith("wrong_") and value > 0 else ""
    if isinstance(value, tuple):
        low, high = (_shown(name, end) for end in value)
        return cell(low if low == high else f"{low} … {high}", repr(value[1]), wrong)
    return cell(_shown(name, value), repr(value), wrong)


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
