"""One solver on one problem, in a process of its own; driven by `cell.py`.

The first line of standard input says which; every further one asks for a run at some
tolerance. The answers, one JSON object each, go to what was standard output when the
process started; whatever a solver prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

from benchmarks.bench.reference import suboptimality, told
from benchmarks.bench.settings import Setting, cases_of, plugin, read

__all__ = ["measured", "peak_memory", "words"]


class Memory:
    """The most this process holds beyond what it held before a run."""

    def __init__(self):
        with suppress(OSError):  # without it the peak is that of all runs so far
            Path("/proc/self/clear_refs").write_text("5")
        self.before = _status("VmRSS")

    def peak(self) -> int:
        """Bytes."""
        return max(peak_memory() - self.before, 0)


def peak_memory() -> int:
    """The most this process ever held, in bytes; what it forked from is not counted."""
    return _status("VmHWM")


def _status(name: str) -> int:
    """A size that the system tells of this process; 0 where there is none to ask."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return 1024 * int(re.search(rf"{name}:\s+(\d+) kB", text)[1])


def measured(module, cases, tol) -> dict:
    """Solve once: wall and processor time, memory, and how far off the answers are."""

    def one_by_one(cases, tol):
        return [module.solve(case, tol) for case in cases]

    solve_all = getattr(module, "solve_all", one_by_one)
    memory, cpu, wall = Memory(), time.process_time(), time.perf_counter()
    try:
        answers = solve_all(cases, tol)
    except ImportError as error:
        return {"missing": words(error)}
    except Exception as error:
        return {"failed": words(error)}
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = memory.peak()
    off = max(map(suboptimality, cases, answers))
    return {"wall": wall, "cpu": cpu, "memory": peak, "off": off}


def words(error: Exception) -> str:
    """What a cell says of an exception."""
    text = " ".join(str(error).replace("|", "/").split())  # goes into tables
    return f"{type(error).__name__}: {text}"[:300]


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    job = json.loads(sys.stdin.readline())
    sizes = tuple(map(tuple, job["sizes"]))
    setting = Setting(job["task"], job["data"], sizes, job["factor"])
    module = plugin("solvers", job["solver"])
    cases = told(cases_of(setting, *read(Path(job["arrays"]))), job["optima"])
    for line in sys.stdin:
        answers.write(json.dumps(measured(module, cases, json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
