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

_TITLE = "The robust SVM screening paper, reproduced"

_PERCENT = ("accuracy", "rate_paper", "rate_honest")
#: Columns that the overview leaves out.
_OF_ONE = ("C", "radius", "free", "saturated", "removed", "repeats")
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
    titles = {name: TITLES[name] for name in results.datasets}
    headings = {name: heading for name, (heading, _) in COLUMNS.items()}
    del headings["dataset"]  # it is in the title of a table
    columns = {"method": headings["method"]} | headings
    overview = {name: columns[name] for name in columns if name not in _OF_ONE}
    failures = definitions(results.failures.items())
    parts = {
        "title": _TITLE,
        "scope": escape(scope(results)),
        "findings": items(findings(results)),
        "checks": "\n".join(map(_check, results.checks())),
        "failures": f"<h3>Failed</h3><dl>{failures}</dl>" if failures else "",
        "overview": "\n".join(
            f"<h3>{escape(title)}</h3>{_table(title, overview, results.overview(name))}"
            for name, title in titles.items()
        ),
        "methods": definitions((m.label, m.about) for m in METHODS.values()),
        "figures": "\n".join(map(figure, figures)),
        "tables": "\n".join(
            _details(
                f"{title}, every configuration and method",
                columns,
                results.select(dataset=name),
            )
            for name, title in titles.items()
        ),
        "references": "\n".join(
            _details(
                f"{title}, references",
                _REFERENCE_COLUMNS,
                [row for row in results.references if row["dataset"] == name],
            )
            for name, title in titles.items()
        ),
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


def _details(title: str, columns: dict[str, str], rows: list[dict]) -> str:
    inside = _table(title, columns, rows)
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def _table(label: str, columns: dict[str, str], rows: list[dict]) -> str:
    return table(
        label,
        [(heading, name == "method") for name, heading in columns.items()],
        ([_cell(name, row.get(name)) for name in columns] for row in rows),
    )


def _cell(name: str, value) -> str:
    """A pair of numbers is shown as a range, sorted by its end."""
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
    if name.endswith(_PERCENT):
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
