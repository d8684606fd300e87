"""The paper's five figures redrawn from a run, and two it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from wideberth._solve import solve
from wideberth.report.page import (
    MARKERS,
    SERIES,
    TEXT,
    Figure,
    draw_panel,
    drawing,
    plain_ticks,
)
from wideberth_paper import CS
from wideberth_paper.methods import METHODS
from wideberth_paper.printed import PRINTED
from wideberth_paper.regions import LEVELS, RULES
from wideberth_paper.report.summary import TITLES, Results

_BARS = (
    "scs",
    "clarabel",
    "as_published",
    "as_printed",
    "repaired",
    "wideberth_ellipsoid",
)


def draw_all(results: Results) -> list[Figure]:
    """Draw the paper's figures 1 to 5, then the two others."""
    with drawing():
        figures = [_geometry()]
        for k, dataset in enumerate(results.datasets):
            figures.append(_times(results, dataset, 2 + 2 * k))
            figures.append(_rates(results, dataset, 3 + 2 * k))
        figures += [_wrong_removals(results), _regions(results)]
    return figures


def _panels(figure: str, lines: Iterable[dict], draw, key="", headings=None):
    """A panel for each radius, and each value of `key` where one is given."""
    groups: dict[tuple[str, float], list[dict]] = {}
    for line in lines:
        groups.setdefault((line.get(key, ""), line["radius"]), []).append(line)
    return [
        draw_panel(
            "-".join(filter(None, (figure, value, f"{radius:g}"))),
            (f"{headings[value]}, " if headings else "") + f"ρ = {radius:g}",
            partial(draw, lines=groups[value, radius]),
        )
        for value, radius in sorted(groups)
    ]


def _curve(axes, k: int, x, y) -> None:
    axes.plot(x, y, color=SERIES[k], marker=MARKERS[k], markersize=4)


def _times(results: Results, dataset: str, number: int) -> Figure:
    rows = results.select(*_BARS, dataset=dataset)
    seconds = [row["seconds"] for row in rows]

    def draw(axes, lines) -> None:
        Cs = sorted({line["C"] for line in lines})
        width = 0.84 / len(_BARS)
        for k, method in enumerate(_BARS):
            times = {r["C"]: r["seconds"] for r in lines if r["method"] == method}
            at = [Cs.index(C) + (k - (len(_BARS) - 1) / 2) * width for C in times]
            axes.bar(at, list(times.values()), width, color=SERIES[k])
        axes.set(yscale="log", ylim=(min(seconds) / 2, max(seconds) * 2))
        axes.set(xlabel="C", ylabel="seconds")
        axes.set_xticks(range(len(Cs)), [f"{C:g}" for C in Cs])
        axes.grid(axis="x", visible=False)
        plain_ticks(axes.yaxis)

    return Figure(
        f"figure-{number}",
        f"Figure {number}. Training time, {TITLES[dataset]}",
        "Processor time from the data to w, the same clock for all, median over the "
        "repeats. The paper shows SCS and its own algorithm, {:g} to {:g} times as "
        "fast.".format(*PRINTED[dataset]["speedup"]),
        _panels(f"f{number}", rows, draw),
        [(k, METHODS[method].label) for k, method in enumerate(_BARS, 1)],
    )


def _rates(results: Results, dataset: str, number: int) -> Figure:
    n = next(
        row["free"] + row["saturated"] + row["removed"]
        for row in results.references
        if row["dataset"] == dataset
    )
    headings = {"as_published": "Published", "repaired": "Repaired"}
    steps = [step for step in results.steps if step["dataset"] == dataset]

    def draw(axes, lines) -> None:
        _draw_iterations(axes, lines, lambda step: 100 * (1 - step["free"] / n))
        axes.set(ylabel="samples decided, %", ylim=(0, 103))

    return Figure(
        f"figure-{number}",
        f"Figure {number}. Screening rate per iteration, {TITLES[dataset]}",
        "The paper's rate, (n − |F|)/n, of Algorithm 1 as published and as "
        "repaired; the paper prints {:g} to {:g} % at the end. It counts wrong "
        "decisions like right ones; Figure A tells them apart.".format(
            *(100 * rate for rate in PRINTED[dataset]["rate_paper"])
        ),
        _panels(
            f"f{number}",
            [step for step in steps if step["method"] in headings],
            draw,
            "method",
            headings,
        ),
        _C_LEGEND,
    )


_C_LEGEND = [(k, f"C = {C:g}") for k, C in enumerate(CS, 1)]


def _draw_iterations(axes, lines, value: Callable[[dict], float]) -> None:
    """One line per C over the iterations."""
    for k, C in enumerate(CS):
        mine = [step for step in lines if step["C"] == C]
        _curve(axes, k, [step["iteration"] for step in mine], list(map(value, mine)))
    axes.set(xlabel="iteration", xticks=range(1, 6), xlim=(0.7, 5.3))


def _wrong_removals(results: Results) -> Figure:
    steps = [step for step in results.steps if step["method"] == "as_published"]

    def draw(axes, lines) -> None:
        _draw_iterations(axes, lines, lambda step: step["wrong_removals"])
        axes.set_ylabel("wrongly removed so far")
        axes.set_ylim(0, None)

    return Figure(
        "figure-a",
        "Figure A. Wrong removals per iteration, Algorithm 1 as published",
        "Samples removed although they carry weight at the optimum (α* > 0). The first "
        "iteration is safe. Later ones train without the samples fixed in S, so the "
        "ball belongs to another problem.",
        _panels("fA", steps, draw, "dataset", TITLES),
        _C_LEGEND,
    )


def _regions(results: Results) -> Figure:
    def draw(axes, lines) -> None:
        for k, (_, region, _) in enumerate(RULES):
            decided = np.array([line[region] for line in lines])
            mean = decided.reshape(-1, len(LEVELS)).mean(axis=0)
            _curve(axes, k, LEVELS, 100 * mean)
        axes.set(xscale="log", xlabel="relative gap", ylabel="samples decided, %")
        axes.set(xticks=LEVELS, ylim=(0, 103))
        axes.invert_xaxis()
        plain_ticks(axes.xaxis)
        axes.tick_params(axis="x", labelsize=8)

    return Figure(
        "figure-b",
        "Figure B. Share screened against the gap, three regions",
        "Samples decided from the same iterates by the paper's rule and by this "
        "library's two regions, mean over C. All decisions are safe; the smaller the "
        "region, the earlier they come.",
        _panels("fB", results.regions, draw, "dataset", TITLES),
        [(k, heading) for k, (heading, _, _) in enumerate(RULES, 1)],
    )


def _geometry() -> Figure:
    """The classical and the robust SVM on separable data in the plane."""
    rng = np.random.default_rng(3)
    y = np.repeat([1, -1], 14)
    X = rng.normal(scale=(0.5, 0.7), size=(28, 2)) + np.outer(y, (1.6, 0.5))
    radius = 0.45

    def panel(name: str, title: str, rho: float) -> str:
        w = solve(X, y, C=100.0, radius=rho, tol=1e-9, fit_intercept=False).w
        return draw_panel(
            name, title, lambda axes: _draw_plane(axes, X, y, w, rho), (3.4, 3.2)
        )

    return Figure(
        "figure-1",
        "Figure 1. The margins of the SVM and of the robust SVM",
        f"Separable data in the plane. The robust SVM keeps the whole disc of radius "
        f"{radius:g} around every sample on its side of the margin (dashed), not the "
        "sample alone.",
        [panel("f1-svm", "SVM, ρ = 0", 0.0),
         panel("f1-robust", f"Robust SVM, ρ = {radius:g}", radius)],
        [(1, "y = +1"), (6, "y = −1")],
    )  # fmt: skip


def _draw_plane(axes, X, y, w, rho: float) -> None:
    from matplotlib.patches import Circle

    colours = np.where(y > 0, SERIES[0], SERIES[5])
    for point, label, colour in zip(X, y, colours, strict=True):
        axes.plot(*point, "o" if label > 0 else "s", color=colour, markersize=4)
        if rho > 0:
            disc = Circle(point, rho, facecolor="none", edgecolor=colour, alpha=0.6)
            axes.add_patch(disc)
    # Lines ⟨w,x⟩ = level: the discs of radius ρ touch those of level ±1.
    across, height = np.array([-w[1], w[0]]), 10.0
    for level, style in ((0.0, "-"), (1.0, "--"), (-1.0, "--")):
        foot = level * w / (w @ w)
        ends = np.array([foot - height * across, foot + height * across])
        axes.plot(*ends.T, style, color=TEXT, linewidth=1.2)
    reach = np.abs(X).max() + 0.6
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="x₁")
    axes.set_ylabel("x₂", rotation=0)
