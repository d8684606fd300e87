"""`report.html`: one page that needs nothing else."""

from __future__ import annotations

from wideberth.report.page import Figure, render
from wideberth_paper.methods import METHODS
from wideberth_paper.report.findings import findings, scope
from wideberth_paper.report.summary import (
    COLUMNS,
    COMPARED,
    QUANTITIES,
    TITLES,
    Results,
)

_TITLE = "The robust SVM screening paper, reproduced"

_PERCENT = ("accuracy", "rate_paper", "rate_honest")
#: Columns that the overview leaves out, which fits on a screen of 1280 pixels.
_OF_ONE = (
    "C", "radius", "free", "saturated", "removed", "repeats",
    "excess_kept", "robust_train_accuracy", "robust_test_accuracy",
)  # fmt: skip
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
    headings = {name: heading for name, (heading, _) in COLUMNS.items()}
    del headings["dataset"]  # it is in the title of a table
    columns = {"method": headings["method"]} | headings
    return render(
        __package__,
        "page.html",
        {},
        title=_TITLE,
        results=results,
        figures=figures,
        scope=scope(results),
        findings=findings(results),
        checks=results.checks(),
        titles={name: TITLES[name] for name in results.datasets},
        columns=columns,
        overview={n: columns[n] for n in columns if n not in _OF_ONE},
        compared=COMPARED,
        quantities=QUANTITIES,
        reference_columns=_REFERENCE_COLUMNS,
        methods=[(method.label, method.about) for method in METHODS.values()],
        all_columns=COLUMNS.values(),
        environment=[
            pair
            for kind in ("versions", "machine")
            for pair in results.environment[kind].items()
        ],
        cell_of=_cell,
    )


def _cell(name: str, value) -> tuple[str, str, str]:
    """What a cell shows, what it is sorted by, and its kind.

    A pair of numbers is shown as a range, sorted by its end.
    """
    if name == "method":
        return METHODS[value].label, METHODS[value].label, "text"
    if value is None:
        return "–", "", ""
    wrong = "wrong" if name.startswith("wrong_") and value > 0 else ""
    if isinstance(value, tuple):
        low, high = (shorten(name, end) for end in value)
        shown = low if low == high else f"{low.removesuffix(' %')} … {high}"
        return shown, repr(value[1]), wrong
    return shorten(name, value), repr(value), wrong


def shorten(name: str, value: float) -> str:
    """Write a number of a column for people."""
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ")
    if name.endswith(_PERCENT):
        return f"{100 * value:.1f} %"
    if name.endswith("_lost"):
        return f"{value:.1f}".replace("-0.0", "0.0")
    if name == "seconds":
        return f"{value:.3f}"
    if name == "speedup":
        return f"{value:.2f}" if value < 20 else f"{value:.3g}"
    if name in ("C", "radius"):
        return f"{value:g}"
    if name == "objective":
        return f"{value:.8g}"
    return f"{value:.1e}"
