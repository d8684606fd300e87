"""Every table of docs/paper.md, and its sentences with numbers, are the stored run's."""

import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median

import pytest

from wideberth_paper import CS, RADII, load
from wideberth_paper.methods import METHODS, OURS
from wideberth_paper.printed import PRINTED
from wideberth_paper.regions import LEVELS
from wideberth_paper.report.summary import COMPARED, TITLES, Results
from wideberth_paper.stored import FILE, stored

PAGE = Path(__file__).parents[2] / "docs" / "paper.md"
NAMES = list(TITLES)


def span(values, write: Callable[[float], str], unit: str = "") -> str:
    low, high = write(min(values)), write(max(values))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def ratio(value: float) -> str:
    return f"{value:.2f}" if value < 20 else f"{value:.0f}"


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def excess(value: float) -> str:
    """A percentage with two digits, or as a whole number; rounding errors are 0."""
    if value < 1e-12:
        return "0"
    return f"{100 * value:.2g}" if value < 0.1 else f"{100 * value:.0f}"


def points(value: float) -> str:
    return f"{value:.1f}".replace("-0.0", "0.0")


def column(rows: list[dict], name: str) -> list[float]:
    return [row[name] for row in rows if name in row]


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


# -- tables ------------------------------------------------------------------------


def comparison(run: Results):
    yield line("", "figure", *COMPARED.values())
    writes = {
        "speedup": ("times as fast as SCS", ratio, ""),
        "rate_paper": ("screening rate", percent, " %"),
        "wrong_removals": ("samples removed wrongly", None, ""),
        "train_lost": ("training accuracy lost, points", points, ""),
        "test_lost": ("test accuracy lost, points", points, ""),
    }
    for name in NAMES:
        for found in run.comparison(name):
            words, write, unit = writes[found["quantity"]]
            cells = []
            for source in COMPARED:
                value = found.get(source)
                if value is None or write is None:
                    cells.append("–" if value is None else str(value))
                else:
                    cells.append(span(value, write, unit))
            yield line(f"{TITLES[name]}: {words}", found["figure"] or "–", *cells)


def wrong(run: Results):
    for method in ("as_published", "as_printed", "repaired"):
        by_name = [run.select(method, dataset=name) for name in NAMES]
        cells = [
            " + ".join(str(sum(column(rows, kind))) for rows in by_name)
            for kind in ("wrong_removals", "wrong_saturations")
        ]
        affected = [
            str(sum(value > 0 for value in column(rows, "wrong_removals")))
            for rows in by_name
        ]
        yield "| " + " | ".join([*cells, f"{' + '.join(affected)} of 16 + 16"]) + " |"


def damage(run: Results):
    for name in NAMES:
        for C in CS:
            bad, good = (
                [row for row in run.select(method, dataset=name) if row["C"] == C]
                for method in ("as_published", "wideberth_ellipsoid")
            )
            cells = [
                span(column(bad, kind), excess, " %")
                for kind in ("excess", "excess_kept")
            ] + [
                f"{span(column(bad, kind), percent, ' %')} "
                f"({span(column(good, kind), percent)})"
                for kind in ("train_accuracy", "test_accuracy")
            ]
            yield line(TITLES[name], f"{C:g}", *cells)


def speed(run: Results):
    for method in list(METHODS)[1:]:
        ratios = [column(run.select(method, dataset=n), "speedup") for n in NAMES]
        cells = [f"{span(v, ratio)} (median {ratio(median(v))})" for v in ratios]
        yield line(METHODS[method].label, *cells)


def regions(run: Results):
    for name in NAMES:
        for radius in (RADII[0], RADII[-1]):
            here = [
                row
                for row in run.regions
                if (row["dataset"], row["radius"]) == (name, radius)
            ]
            for k, level in enumerate(LEVELS[:3]):
                rows = here[k :: len(LEVELS)]
                assert len(rows) == len(CS)
                cells = [
                    f"{percent(fmean(column(rows, region)))} %"
                    for region in ("gap", "midpoint", "ellipsoid")
                ]
                yield line(TITLES[name], f"{radius:g}", f"≤ {level:g}", *cells)


TABLES = (comparison, wrong, damage, speed, regions)


# -- sentences ---------------------------------------------------------------------


def sentences(run: Results):
    """What the text says in numbers, without line breaks."""
    yield from about_the_run(run)
    yield from about_the_paper()
    yield from about_rounds(run)
    yield from about_models(run)
    yield from about_times(run)
    yield from about_machines(run)


def about_the_run(run: Results):
    versions, machine = run.environment["versions"], run.environment["machine"]
    named = {
        "python": "Python", "numpy": "NumPy", "scipy": "SciPy",
        "scikit-learn": "scikit-learn", "cvxpy": "CVXPY", "scs": "SCS",
        "clarabel": "Clarabel",
    }  # fmt: skip
    *most, last = (f"{words} {versions[key]}" for key, words in named.items())
    yield f"{', '.join(most)} and {last}"
    yield f"{machine['processor']} processor with {machine['cores']} cores"


def about_the_paper():
    (low, high), (low2, high2) = (PRINTED[name]["speedup"] for name in NAMES)
    yield (
        f"{low:g} to {high:g} times as fast (Breast Cancer) and {low2:g} to {high2:g} "
        "times (Spambase)"
    )
    first, second = (PRINTED[name]["rate_paper"] for name in NAMES)
    yield f"{span(first, percent, ' %')} and {span(second, percent, ' %')}"


def about_rounds(run: Results):
    balls = run.balls("as_published")
    missed, rounds = balls[False]
    yield f"it contains the optimum: {rounds - missed} of {rounds} rounds"
    missed, rounds = balls[True]
    yield f"the ball misses the optimum in {missed} of {rounds}."
    sizes = {name: len(load(name)[1]) for name in NAMES}
    latest = {
        (step["dataset"], step["C"], step["radius"]): 1
        - step["free"] / sizes[step["dataset"]]
        for step in run.steps
        if step["method"] == "as_published" and step["iteration"] <= 2
    }
    assert len(latest) == 32
    yield f"at least {percent(min(latest.values()))} % in every configuration"
    rows = run.select("as_published")
    kinds = ("wrong_removals", "wrong_saturations")
    wrong = sum(any(row[kind] for kind in kinds) for row in rows)
    yield f"it makes a wrong decision in {wrong} of 32"
    worst = max(column(run.references, "relative_gap"))
    rounding = max(column(run.references, "relative_rounding"))
    yield f"relative gap of at most {worst:.1e}"
    yield f"proven bound of {rounding:.1e}, relative"
    rates = [
        percent(median(column(run.select(method), "rate_paper")))
        for method in ("as_printed", "repaired")
    ]
    yield f"rate is {rates[0]} %, against {rates[1]} % for the repair"
    honest = [
        span(column(run.select("as_published", dataset=name), "rate_honest"), percent)
        for name in NAMES
    ]
    yield f"that is {honest[0]} % (Breast Cancer) and {honest[1]} % (Spambase)"
    repaired = run.select("repaired")
    decided = sum(row["saturated"] + row["removed"] for row in repaired)
    yield f"{decided:,} decisions".replace(",", " ")


def published(run: Results, dataset: str, C: float, radius: float) -> dict:
    """The row of the published algorithm in one configuration."""
    (row,) = (
        row
        for row in run.select("as_published", dataset=dataset)
        if (row["C"], row["radius"]) == (C, radius)
    )
    return row


def about_models(run: Results):
    row = published(run, "spambase", 1.0, 0.02)
    last = row["excess"] - row["excess_kept"]
    yield f"accounts for {excess(last)} of {excess(row['excess'])} %"
    rows = [row for row in run.select("as_published", dataset="spambase")
            if row["C"] == 0.01]  # fmt: skip
    assert all(row["excess_kept"] < 1e-12 for row in rows)
    yield f"at most {excess(max(column(rows, 'excess')))} %"
    slow = run.select("scs")
    gaps = column(slow, "relative_gap")
    yield f"above 1e-6 in {sum(gap > 1e-6 for gap in gaps)} of 32 configurations"
    yield f"reaches {max(gaps):.0e}"
    yield f"error of its w reaches {100 * max(column(slow, 'w_error')):.2g} %"
    ours = max(column(run.select(*OURS), "relative_gap"))
    yield f"certified relative gap of at most {ours:.1e}"


def about_times(run: Results):
    speedups = column(run.select("as_published"), "speedup")
    faster = sum(value > 1 for value in speedups)
    yield f"the published algorithm is faster in {faster} of 32 configurations"
    pairs = zip(run.select("clarabel"), run.select("as_published"), strict=True)
    first = [a["dataset"] for a, b in pairs if a["seconds"] < b["seconds"]]
    yield (
        f"faster than the published algorithm in {len(first)} of 32: "
        f"{first.count('breast_cancer')} of Breast Cancer and "
        f"{first.count('spambase')} of Spambase"
    )
    times, without = [], []
    for name in NAMES:
        ours = column(run.select("wideberth_ellipsoid", dataset=name), "seconds")
        plain = column(run.select("wideberth", dataset=name), "seconds")
        times.append(span([1000 * value for value in ours], "{:.0f}".format))
        without.append(median(b / a for a, b in zip(ours, plain, strict=True)))
    yield f"{times[0]} ms (Breast Cancer) and {times[1]} ms (Spambase)"
    yield f"{without[0]:.2f} times as long on Breast Cancer and {without[1]:.2f} times"


def about_machines(run: Results):
    yield f"ended {excess(published(run, 'breast_cancer', 1.0, 0.05)['excess'])} % above"
    row = published(run, "spambase", 10.0, 0.0)
    yield (
        f"{percent(row['rate_paper'])} % of the samples were decided, and "
        f"{row['wrong_removals']} were removed wrongly"
    )
    removed = [
        column(run.select("as_published", dataset=name), "wrong_removals")
        for name in NAMES
    ]
    affected = sum(value > 0 for values in removed for value in values)
    yield (f"(this page) | {sum(removed[0])} + {sum(removed[1])} | {affected} of 32 |")


@pytest.fixture(scope="module")
def run():
    return stored()


def test_the_stored_run_is_small_and_of_the_whole_grid(run):
    assert FILE.stat().st_size <= 100_000
    assert len(run.rows) == 32 * len(METHODS)
    assert all(check.holds for check in run.checks())
    compared = run.select("scs", *list(COMPARED)[1:])
    assert all("test_accuracy" in row for row in compared)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_tables_of_the_page_are_those_of_the_stored_run(run, table):
    page = PAGE.read_text("utf-8").splitlines()
    for expected in table(run):
        assert any(written.endswith(expected) for written in page), expected


def test_sentences_of_the_page_have_the_numbers_of_the_stored_run(run):
    page = re.sub(r"\s+", " ", PAGE.read_text("utf-8"))
    missing = [words for words in sentences(run) if words not in page]
    assert not missing
