"""What every benchmark prints and stores: tables, the machine, median times."""

from __future__ import annotations

import platform
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"


class Report:
    """Lines for the terminal and for the Markdown file."""

    def __init__(self):
        self.lines = []

    def say(self, line: str = "") -> None:
        print(line, flush=True)
        self.lines.append(line)

    def save(self, name: str) -> None:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / name).write_text("\n".join(self.lines) + "\n")


def machine() -> str:
    names = ("wideberth", "numpy", "scipy", "scikit-learn", "cvxpy", "clarabel", "scs")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    cpu = platform.processor() or platform.machine()
    model = Path("/proc/cpuinfo")
    if model.exists():
        for line in model.read_text().splitlines():
            if line.startswith("model name"):
                cpu = line.split(":")[1].strip()
                break
    return f"{cpu}; Python {platform.python_version()}; {versions}"


def median_seconds(call, repeats: int) -> tuple[float, object]:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), result
