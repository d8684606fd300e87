"""From results to what is read: the ratio table, Markdown, README, figures."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.bench.cell import TARGETS, Limits
from benchmarks.bench.machine import describe
from benchmarks.bench.plots import draw_curves, draw_growth
from benchmarks.bench.records import Summary, grows, summaries
from benchmarks.bench.settings import plugin, solver_name

__all__ = ["cell_text", "fill", "heading_of", "ratio_table", "show"]

OURS = "wideberth_auto"
_BEGIN, _END = "<!-- benchmark: begin -->", "<!-- benchmark: end -->"
#: The target that README shows.
_SHOWN = 1e-4
Problems = dict[tuple[str, str], dict[str, Summary]]


def show(records, heading: str, out: Path, readme: Path | None) -> None:
    """Print the ratio table; write the tables and figures; fill README's table."""
    problems = summaries(records)
    ratios = "\n\n".join(
        f"Time ÷ wideberth's, to a suboptimality of {target:.0e}\n\n"
        + ratio_table(problems, target)
        for target in TARGETS
    )
    print(f"\n{ratios}\n\n{_legend()}")
    sections = [f"# Side by side\n\n{heading}\n\n{_legend()}\n\n{ratios}"]
    sections += [_section(key, cells) for key, cells in problems.items()]
    (out / "table.md").write_text("\n\n".join(sections) + "\n")
    draw_curves(problems, out)
    draw_growth(problems, out)
    if readme is not None:
        block = f"{heading}\n\n{ratio_table(problems, _SHOWN, peers_only=True)}"
        readme.write_text(fill(readme.read_text(), block))
    print(f"\nwritten: {out / 'table.md'} and the figures beside it", flush=True)


def fill(text: str, block: str) -> str:
    """`text` with what is between the markers replaced."""
    before, found, rest = text.partition(_BEGIN)
    _, ended, after = rest.partition(_END)
    if not (found and ended):
        raise ValueError(f"no {_BEGIN} … {_END} to write the table between")
    return f"{before}{_BEGIN}\n{block}\n{_END}{after}"


def heading_of(command: str, limits: Limits) -> str:
    """Command, date, limits, machine and versions of a run that begins now."""
    return (
        f"`{command}`, {date.today():%d %B %Y}; one thread per solver; at most "
        f"{limits.seconds:g} s a run; medians of {limits.repeats} runs taken in turns, "
        f"more of quick and fewer of long ones. {describe()}."
    )


def _legend() -> str:
    return (
        "A number is a solver's time over that of `wideberth.solve` on the same "
        "problem, each at the loosest of its own tolerances that gets there: above 1 "
        'wideberth is quicker. "off …" ended that far from the optimum at its '
        'tightest tolerance, "> …" had not got there at the time limit, "–" cannot '
        "solve this problem; the sections below say why, and so they do of what is "
        "not installed, failed or was left out."
    )


def _fits(problems: Problems) -> Problems:
    """Without problems that only serve the figures of growth."""
    return {key: cells for key, cells in problems.items() if not grows(key[1])}


def ratio_table(problems: Problems, target: float, peers_only: bool = False) -> str:
    """Problems down, solvers across; ours in seconds."""
    problems = _fits(problems)
    solvers = _ordered(name for cells in problems.values() for name in cells)
    if peers_only:
        kept = [name for name in solvers if not name.startswith("wideberth")]
        solvers = [OURS, *kept]
    heads = " | ".join(map(solver_name, solvers))
    lines = [f"| | {heads} |", f"|---{'|---' * len(solvers)}|"]
    for (task, data), cells in problems.items():
        row = ["no data"] * len(solvers)
        if "" not in cells:
            ours = cells.get(OURS)
            row = [cell_text(cells.get(name), ours, target) for name in solvers]
        lines.append(f"| {data}, {task} | ".replace("_", " ") + " | ".join(row) + " |")
    return "\n".join(lines)


def _ordered(names: Iterable[str]) -> list[str]:
    """Solvers, ours first."""
    solvers = dict.fromkeys(name for name in names if name not in ("", "reference"))
    return sorted(solvers, key=lambda name: (name != OURS, "wideberth" not in name))


def cell_text(cell: Summary | None, ours: Summary | None, target: float) -> str:
    """One entry of the ratio table; in seconds where it is ours, or ours is missing."""
    if cell is None:
        return "not run"
    timing, base = cell.timing(target), ours and ours.timing(target)
    if timing is not None:
        if cell is ours:
            return _seconds(timing.wall)
        return _times(timing.wall / base.wall) if base else _seconds(timing.wall)
    if cell.spent is not None and base is not None:
        return f"> {_times(cell.spent / base.wall)}"
    if cell.ending == "not comparable":
        return "–"
    return cell.ending or f"off {cell.best:.0e}"


def _seconds(value: float) -> str:
    return f"{1e3 * value:.1f} ms" if value < 1 else f"{value:.2f} s"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}×" if ratio >= 20 else f"{ratio:.1f}×"


def _section(key: tuple[str, str], cells: dict[str, Summary]) -> str:
    """All that is known of one problem."""
    task, data = key
    about = plugin("datasets", data.split()[0]).__doc__.splitlines()[0]
    lines = [f"## {data}, {task}".replace("_", " "), "", about]
    lines[-1] += f" {plugin('tasks', task).__doc__.splitlines()[0]}"
    if "" in cells:
        return "\n".join([*lines, "", f"No data: {cells[''].note}."])
    if cells["reference"].note:
        lines[-1] += f" Reference {cells['reference'].note}."
    heads = " | ".join(f"to {target:.0e}: wall (range), cpu" for target in TARGETS)
    lines += ["", f"| solver | first call | memory | {heads} | |", "|---" * 7 + "|"]
    for solver in _ordered(cells):
        cell = cells[solver]
        first = "" if cell.first is None else _seconds(cell.first)
        memory = f"{cell.memory / 1e6:.0f} MB" if cell.memory else ""
        times = " | ".join(_timing_text(cell, target) for target in TARGETS)
        row = solver_name(solver), first, memory, times, _remark(cell)
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def _timing_text(cell: Summary, target: float) -> str:
    timing = cell.timing(target)
    if timing is None:
        return ""
    spread = f"{_seconds(timing.low)}–{_seconds(timing.high)}, " * (timing.runs > 1)
    runs = f"{timing.runs} run{'s' * (timing.runs > 1)}"
    return f"{_seconds(timing.wall)} ({spread}{runs}), {_seconds(timing.cpu)}"


def _remark(cell: Summary) -> str:
    if cell.ending:
        best = f"; best {cell.best:.0e}" if np.isfinite(cell.best) else ""
        return f"{cell.ending}: {cell.note}{best}"
    if cell.best > TARGETS[-1]:
        return f"not converged: off by {cell.best:.0e} at its tightest tolerance"
    return ""
