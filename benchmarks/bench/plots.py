"""Figures: suboptimality over time, and time over the size of the data."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import pyplot
from matplotlib.ticker import NullFormatter

from benchmarks.bench.cell import TARGETS
from benchmarks.bench.plan import SCALING_TARGET
from benchmarks.bench.records import Summary, grows
from benchmarks.bench.settings import solver_name

__all__ = ["draw_curves", "draw_growth"]

#: Colour and marker of each solver, the same in every figure; ours stand out.
_STYLES = {
    "wideberth_auto": ("#d62728", "o"),
    "wideberth_newton": ("#ff9896", "^"),
    "wideberth_coordinate": ("#e377c2", "v"),
    "wideberth_cold": ("#f7b6d2", "h"),
    "liblinear": ("#1f77b4", "s"),
    "libsvm": ("#17becf", "D"),
    "rehline": ("#2b8a6e", "1"),
    "snapml": ("#4d4dff", "+"),
    "sgd": ("#7f7f7f", "X"),
    "skglm": ("#2ca02c", "P"),
    "clarabel": ("#9467bd", "<"),
    "qoco": ("#8c564b", ">"),
    "scs": ("#bcbd22", "d"),
    "scs_paper": ("#dbdb8d", "H"),
    "algorithm1": ("#ff7f0e", "*"),
    "dro": ("#000000", "p"),
}
_OTHER = ("0.6", ".")
_FLOOR = 1e-9

matplotlib.use("agg")


def draw_curves(problems, out: Path) -> None:
    """A panel per problem: how far each solver is after how long."""
    shown = {
        key: cells
        for key, cells in problems.items()
        if not grows(key[1]) and any(cell.rungs for cell in cells.values())
    }
    if not shown:
        return
    across = min(3, len(shown))
    down = -(-len(shown) // across)
    figure, axes = pyplot.subplots(
        down,
        across,
        figsize=(4.4 * across, 3.2 * down),
        squeeze=False,
        layout="constrained",
    )
    for panel in axes.flat[len(shown) :]:
        panel.set_visible(False)
    for panel, ((task, data), cells) in zip(axes.flat, shown.items(), strict=False):
        for solver, cell in cells.items():
            _curve(panel, solver, cell)
        for target in TARGETS:
            panel.axhline(target, color="0.85", lw=0.8, zorder=0)
        _logarithmic(panel, "seconds")
        low, high = np.log10(panel.get_xlim())
        panel.set_xlim(10 ** np.floor(low), 10 ** np.ceil(high))
        panel.set_title(f"{data}, {task}".replace("_", " "), fontsize=10)
        panel.set_ylim(_FLOOR / 2, 20)
        panel.spines[["top", "right"]].set_visible(False)
    for row in axes:
        row[0].set_ylabel("relative suboptimality")
    _finish(figure, axes, out / "convergence.png")


def _curve(panel, solver: str, cell: Summary) -> None:
    if not cell.rungs:
        return
    seconds = [np.median(cell.times[tol], axis=0)[0] for tol, _, _ in cell.rungs]
    off = np.clip([off for _, _, off in cell.rungs], _FLOOR, 10.0)
    panel.plot(seconds, off, **_style(solver))


def _style(solver: str) -> dict:
    color, marker = _STYLES.get(solver, _OTHER)
    ours = solver.startswith("wideberth")
    return {
        "color": color,
        "marker": marker,
        "markersize": 4.5 if ours else 4,
        "linewidth": 2.0 if solver == "wideberth_auto" else 1.0,
        "zorder": 3 if ours else 2,
        "label": solver_name(solver),
    }


def draw_growth(problems, out: Path) -> None:
    """Time over n and over d, without and with noise."""
    series: dict = defaultdict(lambda: defaultdict(list))
    for (task, data), cells in problems.items():
        if not grows(data):
            continue
        name, *sizes = data.split()
        axis, size = sizes[-1].split("=")
        fixed = ", ".join(sizes[:-1]).replace("=", " = ")
        for solver, cell in cells.items():
            if cell.timing(SCALING_TARGET) is not None or cell.spent is not None:
                series[name, axis, fixed, task][solver].append((int(size), cell))
    if not series:
        return
    grounds = list(dict.fromkeys(key[:3] for key in series))
    tasks = list(dict.fromkeys(key[3] for key in series))
    figure, axes = pyplot.subplots(
        len(tasks),
        len(grounds),
        figsize=(4.6 * len(grounds), 3.3 * len(tasks)),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for row, task in zip(axes, tasks, strict=True):
        for panel, ground in zip(row, grounds, strict=True):
            _growth_panel(panel, ground, task, series[(*ground, task)])
    for row in axes:
        power = round(np.log10(SCALING_TARGET))
        row[0].set_ylabel(f"seconds to $10^{{{power}}}$ (open: no end by then)")
    _finish(figure, axes, out / "scaling.png")


def _growth_panel(panel, ground, task: str, lines: dict) -> None:
    name, axis, fixed = ground
    for solver, points in lines.items():
        style = _style(solver)
        times = [(size, cell.timing(SCALING_TARGET)) for size, cell in points]
        met = [(size, time) for size, time in times if time is not None]
        if met:
            sizes = [size for size, _ in met]
            panel.plot(sizes, [time.wall for _, time in met], **style)
            low, high = zip(*((time.low, time.high) for _, time in met), strict=True)
            panel.fill_between(sizes, low, high, color=style["color"], alpha=0.15, lw=0)
        stopped = [
            (size, cell.spent)
            for (size, cell), (_, time) in zip(points, times, strict=True)
            if time is None
        ]
        if stopped:
            style |= {"linestyle": "", "markerfacecolor": "white"}
            style |= {"label": "_"} if met else {}
            panel.plot(*zip(*stopped, strict=True), **style)
    label = {"n": "rows n", "d": "features d"}[axis]
    _logarithmic(panel, label)
    panel.set_title(f"{name}, {fixed}, {task.replace('_', ' ')}", fontsize=10)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(color="0.92", lw=0.6)


def _logarithmic(panel, label: str) -> None:
    """Both axes by decades, the lower one labelled by nothing else."""
    panel.set(xscale="log", yscale="log", xlabel=label)
    panel.xaxis.set_minor_formatter(NullFormatter())


def _finish(figure, axes, target: Path) -> None:
    """One legend for all panels, under them, in the order of the styles."""
    handles: dict = {solver_name(solver): None for solver in _STYLES}
    for panel in axes.flat:
        handles |= dict(zip(*panel.get_legend_handles_labels()[::-1], strict=True))
    handles = {label: handle for label, handle in handles.items() if handle}
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=9,
    )
    figure.savefig(target, dpi=130)
    pyplot.close(figure)
