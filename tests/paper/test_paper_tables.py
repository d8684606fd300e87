"""Every cell of every table of the paper's report is what was measured."""

import numpy as np
import pytest

from html_tables import tables_of
from wideberth import solve
from wideberth_paper import load
from wideberth_paper.experiment import FOLDS, Cell, Plan
from wideberth_paper.methods import METHODS
from wideberth_paper.report.page import page
from wideberth_paper.report.summary import Results

GRID = (
    *(("breast_cancer", C, radius) for C in (0.1, 1.0) for radius in (0.0, 0.05)),
    ("spambase", 1.0, 0.05),
)
PLAN = Plan("quick", GRID, GRID[1:], 3)
SCREENS = [name for name in METHODS if name != "scs"]
#: Headings, where the number is from, and how it is written.
SIZES = {
    "|F|": ("free", "count"),
    "|S|": ("saturated", "count"),
    "|R|": ("removed", "count"),
}
MEASURED = {
    "gap": ("relative_gap", "power"),
    "above optimum": ("excess", "power"),
    "due to removals": ("excess_kept", "power"),
    "error of w": ("w_error", "power"),
    "wrong R": ("wrong_removals", "count"),
    "wrong S": ("wrong_saturations", "count"),
    "rate": ("rate_paper", "percent"),
    "honest rate": ("rate_honest", "percent"),
    "train": ("train_accuracy", "percent"),
    "train, worst case": ("robust_train_accuracy", "percent"),
}
VALIDATED = {
    "test": ("test_accuracy", "percent"),
    "test, worst case": ("robust_test_accuracy", "percent"),
}
REFERENCE = {
    "objective": ("objective", "value"),
    "relative gap": ("relative_gap", "power"),
    "rounding": ("relative_rounding", "power"),
    "error of w, at most": ("w_error_bound", "power"),
    "ψ* = 1": ("free", "count"),
    "ψ* < 1": ("saturated", "count"),
    "ψ* > 1": ("removed", "count"),
}
#: What stands for all configurations of a data set.
OVER = {
    "gap": max, "above optimum": max, "error of w": max,
    "wrong R": sum, "wrong S": sum, "rate": None, "honest rate": None,
    "train": np.mean, "test": np.mean,
}  # fmt: skip
WRITTEN = {
    "count": lambda v: f"{v:,}".replace(",", " "),
    "percent": lambda v: f"{100 * v:.1f} %",
    "power": "{:.1e}".format,
    "seconds": "{:.3f}".format,
    "ratio": lambda v: f"{v:.2f}" if v < 20 else f"{v:.3g}",
    "points": "{:.1f}".format,
    "plain": "{:g}".format,
    "value": "{:.8g}".format,
}


@pytest.fixture(scope="module")
def cells():
    """What a run measures, drawn at random, as it is stored."""
    rng = np.random.default_rng(0)

    def drawn(pairs):
        return {
            key: int(rng.integers(0, 2000)) if kind == "count" else float(rng.random())
            for key, kind in pairs
        }

    made = {}
    for where in GRID:
        made[Cell(*where, "reference").key] = drawn(REFERENCE.values())
        made[Cell(*where, "regions").key] = {"levels": []}
        for method in METHODS:
            asked = {**MEASURED, **SIZES} if method in SCREENS else {
                h: MEASURED[h]
                for h in ("gap", "above optimum", "error of w", "train",
                          "train, worst case")
            }  # fmt: skip
            for repeat in range(PLAN.repeats):
                own = drawn(asked.values()) | {"seconds": float(rng.random() + 0.1)}
                key = Cell(*where, "fit", method, repeat).key
                made[key] = own | {"steps": []}
            for fold in range(FOLDS if where in PLAN.validated else 0):
                key = Cell(*where, "fold", method, fold).key
                made[key] = drawn(VALIDATED.values())
    return made


@pytest.fixture(scope="module")
def tables(cells):
    environment = {"versions": {}, "machine": {"processor": "", "cores": 1}}
    found = Results.of(PLAN, environment, cells, {})
    read = tables_of(page(found, []))
    tables = {table.label: table for table in read}
    assert len(tables) == len(read)
    return tables


def numbers(cells, where, method):
    """What the table says of one configuration and method, by heading."""
    first = cells[Cell(*where, "fit", method, 0).key]
    told = {h: first.get(key) for h, (key, _) in {**MEASURED, **SIZES}.items()}
    seconds = {
        m: np.median(
            [cells[Cell(*where, "fit", m, k).key]["seconds"] for k in range(3)]
        )
        for m in (method, "scs")
    }
    told |= {"seconds": seconds[method], "× SCS": seconds["scs"] / seconds[method]}
    for heading, (key, _) in VALIDATED.items():
        folds = [cells.get(Cell(*where, "fold", method, k).key) for k in range(FOLDS)]
        told[heading] = None if None in folds else np.mean([f[key] for f in folds])
    return told | {"C": where[1], "ρ": where[2], "repeats": 3}


KINDS = {
    **{h: kind for h, (_, kind) in {**MEASURED, **SIZES, **VALIDATED}.items()},
    **{"seconds": "seconds", "× SCS": "ratio", "C": "plain", "ρ": "plain"},
    "repeats": "count",
}


def check(cell, expected, kind):
    if expected is None:
        assert (cell.text, cell.value) == ("–", "")
        return
    assert cell.number == pytest.approx(expected)
    assert cell.text == WRITTEN[kind](int(expected) if kind == "count" else expected)


def check_range(cell, values, kind):
    low, high = map(WRITTEN[kind], (min(values), max(values)))
    low, joined = low.removesuffix(" %"), f"{low.removesuffix(' %')} … {high}"
    assert cell.text == (high if low == high.removesuffix(" %") else joined)
    assert cell.number == pytest.approx(max(values))


def test_the_tables_are_those_computed_here(tables):
    names = ("Breast Cancer", "Spambase")
    assert set(tables) == {
        f"{name}{what}"
        for name in names
        for what in (
            "",
            ", the paper’s numbers",
            ", every configuration and method",
            ", references",
        )
    }


@pytest.mark.parametrize("name", ["Breast Cancer", "Spambase"])
def test_every_configuration_has_what_was_measured(cells, tables, name):
    table = tables[f"{name}, every configuration and method"]
    assert set(table.headings) == {"method", *KINDS}
    dataset = name.lower().replace(" ", "_")
    shown = [(w, m) for w in GRID if w[0] == dataset for m in METHODS]
    for row, (where, method) in zip(table.rows, shown, strict=True):
        told = numbers(cells, where, method)
        for cell, heading in zip(row, table.headings, strict=True):
            if heading == "method":
                assert cell.text == cell.value == METHODS[method].label
            else:
                check(cell, told[heading], KINDS[heading])


@pytest.mark.parametrize("name", ["Breast Cancer", "Spambase"])
def test_the_overview_is_over_all_configurations(cells, tables, name):
    table = tables[name]
    assert set(table.headings) == {"method", "seconds", "× SCS", *OVER}
    here = [w for w in GRID if w[0] == name.lower().replace(" ", "_")]
    for row, method in zip(table.rows, METHODS, strict=True):
        told = [numbers(cells, where, method) for where in here]
        for cell, heading in zip(row, table.headings, strict=True):
            if heading == "method":
                assert cell.text == METHODS[method].label
                continue
            values = [one[heading] for one in told if one[heading] is not None]
            if heading in ("× SCS", "rate", "honest rate") and values:
                check_range(cell, values, KINDS[heading])
                continue
            over = np.median if heading == "seconds" else OVER.get(heading)
            check(cell, over(values) if values else None, KINDS[heading])


#: The paper's ranges as it prints them, and the numbers of the figures.
PRINTED = {
    "Breast Cancer": (["1.07 … 18.96", "96.5 … 98.9 %", "–", "–", "–"], "23A––"),
    "Spambase": (["1.54 … 9.85", "89.3 … 99.8 %", "–", "–", "–"], "45A––"),
}
COMPARED = ("as_published", "repaired", "wideberth_ellipsoid")


@pytest.mark.parametrize("name", PRINTED)
def test_the_comparison_has_the_papers_numbers_and_those_measured(cells, tables, name):
    table, (printed, figures) = tables[f"{name}, the paper’s numbers"], PRINTED[name]
    assert [row[2].text for row in table.rows] == printed
    assert "".join(row[1].text for row in table.rows) == figures
    here = [w for w in GRID if w[0] == name.lower().replace(" ", "_")]
    for k, method in enumerate(COMPARED, 3):
        told = [numbers(cells, where, method) for where in here]
        whole = [numbers(cells, where, "scs") for where in here]
        fast, rate, removed, train, test = (row[k] for row in table.rows)
        check_range(fast, [one["× SCS"] for one in told], "ratio")
        check_range(rate, [one["rate"] for one in told], "percent")
        check(removed, sum(one["wrong R"] for one in told), "count")
        for cell, part in ((train, "train"), (test, "test")):
            pairs = [(a[part], b[part]) for a, b in zip(whole, told, strict=True)]
            lost = [100 * (a - b) for a, b in pairs if a is not None]
            check_range(cell, lost, "points")


@pytest.mark.parametrize("name", ["Breast Cancer", "Spambase"])
def test_references_are_those_stored(cells, tables, name):
    table = tables[f"{name}, references"]
    assert table.headings == ["C", "ρ", *REFERENCE]
    here = [w for w in GRID if w[0] == name.lower().replace(" ", "_")]
    for row, where in zip(table.rows, here, strict=True):
        stored = cells[Cell(*where, "reference").key]
        told = {h: stored[key] for h, (key, _) in REFERENCE.items()}
        check(row[0], where[1], "plain")
        check(row[1], where[2], "plain")
        for cell, heading in zip(row[2:], REFERENCE, strict=True):
            check(cell, told[heading], REFERENCE[heading][1])


def test_a_real_reference_and_its_rivals_are_what_the_data_says(results):
    """The objective by its formula, the partition by the margins of its minimiser."""
    folder = results[1]
    pages = tables_of((folder / "report.html").read_text("utf-8"))
    tables = {table.label: table for table in pages}
    (row,) = tables["Breast Cancer, references"].rows
    cells = dict(zip(tables["Breast Cancer, references"].headings, row, strict=True))
    X, y = load("breast_cancer")
    C, radius = cells["C"].number, cells["ρ"].number
    w = solve(X, y, C=C, radius=radius, tol=1e-12, fit_intercept=False).w
    margins = y * (X @ w) - radius * np.linalg.norm(w)
    objective = 0.5 * w @ w + C * np.maximum(1 - margins, 0).sum()
    assert cells["objective"].number == pytest.approx(objective, rel=1e-9)
    parts = {
        "ψ* = 1": np.abs(margins - 1) <= 1e-5,
        "ψ* < 1": margins < 1 - 1e-5,
        "ψ* > 1": margins > 1 + 1e-5,
    }
    for heading, rows in parts.items():
        assert cells[heading].number == rows.sum()
    every = tables["Breast Cancer, every configuration and method"]
    for row in every.rows:
        told = dict(zip(every.headings, row, strict=True))
        if told["|F|"].value:
            sizes = [told[name].number for name in ("|F|", "|S|", "|R|")]
            assert sum(sizes) == len(y)
            assert told["rate"].number == pytest.approx(1 - sizes[0] / len(y))
        if told["method"].text.startswith("wideberth"):
            exact = np.mean(np.sign(X @ w) == y)
            assert told["train"].number == pytest.approx(exact, abs=0.01)
