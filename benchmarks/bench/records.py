"""Results on disk, one line per run as it ends, and what they come to.

Everything shown is computed from these files: tables and figures can be made again from
them, and an interrupted benchmark shows what it had, and goes on from there.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.bench.cell import TARGETS, chosen

__all__ = ["COLUMNS", "COMPLETE", "Records", "Summary", "Timing", "grows", "summaries"]

#: The event that ends the lines of a problem.
COMPLETE = "complete"
COLUMNS = (
    *("task", "data", "C", "radius", "solver", "event"),
    *("tol", "wall", "cpu", "memory", "off", "note"),
)


class Records:
    """A CSV file that grows."""

    def __init__(self, path: Path, fresh: bool = True):
        self.path = path
        if fresh or not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(",".join(COLUMNS) + "\n")

    def add(self, row: dict) -> None:
        """Write one line, now."""
        with self.path.open("a", newline="") as stream:
            csv.DictWriter(stream, COLUMNS).writerow(row)

    def keep_complete(self) -> set[tuple[str, str]]:
        """Drop the problem that was interrupted; which ones (task, data) are there."""
        rows = [row for row in self if None not in row.values()]  # a line cut short
        done = {_problem(row) for row in rows if row["event"] == COMPLETE}
        with self.path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            writer.writeheader()
            writer.writerows(row for row in rows if _problem(row) in done)
        return done

    def __iter__(self) -> Iterator[dict]:
        with self.path.open(newline="") as stream:
            yield from csv.DictReader(stream)


def _problem(row: dict) -> tuple[str, str]:
    return row["task"], row["data"]


@dataclass(frozen=True)
class Timing:
    """Runs at one tolerance: medians, and the range of the wall time."""

    tol: str
    wall: float
    low: float
    high: float
    cpu: float
    runs: int


@dataclass
class Summary:
    """What one cell came to."""

    task: str
    data: str
    solver: str
    first: float | None = None
    memory: float = 0.0
    #: (tolerance, seconds, suboptimality), in the order of the ladder.
    rungs: list[tuple[str, float, float]] = field(default_factory=list)
    times: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    #: How it ended before its time, and why.
    ending: str = ""
    note: str = ""
    #: Seconds after which it was stopped.
    spent: float | None = None

    @property
    def best(self) -> float:
        """The least suboptimality reached."""
        return min((off for _, _, off in self.rungs), default=np.inf)

    def timing(self, target: float) -> Timing | None:
        """The runs at the loosest tolerance that met the target, if any did."""
        tol = chosen(self.rungs, TARGETS).get(target)
        if tol is None:
            return None
        wall, cpu = np.array(self.times[tol]).T
        return Timing(
            tol, np.median(wall), wall.min(), wall.max(), np.median(cpu), len(wall)
        )


def grows(data: str) -> bool:
    """Whether a problem, by the name of its data, serves the figures of growth."""
    return " n=" in data or " d=" in data


def summaries(records) -> dict[tuple[str, str], dict[str, Summary]]:
    """Cells by problem (task, data) and solver, in the order they were run."""
    problems: dict[tuple[str, str], dict[str, Summary]] = {}
    for row in records:
        if row["event"] == COMPLETE:
            continue
        cells = problems.setdefault(_problem(row), {})
        names = row["task"], row["data"], row["solver"]
        cell = cells.setdefault(row["solver"], Summary(*names))
        _take(cell, row)
    return problems


def _take(cell: Summary, row: dict) -> None:
    if row["event"] not in ("first", "ladder", "repeat"):
        cell.ending, cell.note = row["event"], row["note"]
        cell.spent = float(row["wall"]) if row["wall"] else None
        return
    tol, wall, off = row["tol"], float(row["wall"]), float(row["off"])
    cell.memory = max(cell.memory, float(row["memory"]))
    if row["event"] == "first":
        cell.first = wall
        return
    if row["event"] == "ladder":
        cell.rungs.append((tol, wall, off))
    cell.times.setdefault(tol, []).append((wall, float(row["cpu"])))
