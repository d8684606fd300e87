"""Where the time of our own solvers goes; `make bench-profile`.

Whole calls of `wideberth.solve` under Python's profiler. The time of a function is its
own, with that of everything outside the package that it called (NumPy, SciPy, compiled
loops): the rows of a table add up to the run. Passes are exact counts: rows touched by
the kernels that this function called, over the rows of the data. Writes
benchmarks/results/profile.md as well.
"""

from __future__ import annotations

import argparse
import cProfile
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import numpy as np
from threadpoolctl import threadpool_limits

import wideberth
from benchmarks.bench.counting import counting
from benchmarks.bench.machine import describe
from benchmarks.datasets import Missing, covtype, news20
from wideberth import solve

_RESULTS = Path(__file__).parent / "results"
_PACKAGE = Path(wideberth.__file__).parent
#: Files whose private functions are steps of the kernel that calls them.
_KERNELS = ("_arrays.py", "rows.py", "solvers/sweep.py")
#: Functions that read rows without telling `Passes`, by file and name.
_READERS = {("_validation.py", "check_data"), ("solvers/face.py", "_span")}
#: Share of a run from which on a function that reads no rows is pointed out.
_TENTH = 0.1

CASES = (
    ("covtype", "newton", 0.0),
    ("covtype", "newton", covtype.RADIUS),
    ("news20", "coordinate", 0.0),
    ("news20", "coordinate", news20.RADIUS),
)
_SETS = {"covtype": covtype, "news20": news20}


@dataclass
class Line:
    """One function of the package in one run."""

    file: str
    name: str
    calls: int
    seconds: float
    passes: float

    @property
    def reads(self) -> bool:
        """Whether it touches the data."""
        counted = self.passes > 0 or self.file == "rows.py"
        return counted or (self.file, self.name) in _READERS


def profiled(call: Callable, n: int) -> tuple[float, list[Line]]:
    """Seconds of a call under the profiler, and its functions, dearest first."""
    profiler = cProfile.Profile()
    with counting(lambda code: _ours(code) is not None) as counts:
        start = time.perf_counter()
        profiler.runcall(call)
        seconds = time.perf_counter() - start
    entries = {entry.code: entry for entry in profiler.getstats()}
    lines = []
    for code, entry in entries.items():
        file = _ours(code)
        if file is None:
            continue
        own = entry.inlinetime + sum(
            called.totaltime for called in entry.calls or () if not _ours(called.code)
        )
        passes = counts.rows.get(code, 0) / n
        lines.append(Line(file, code.co_name, entry.callcount, own, passes))
    return seconds, sorted(lines, key=lambda line: -line.seconds)


def _ours(code: CodeType | str) -> str | None:
    """The file within the package that a function is from, if it is ours."""
    if isinstance(code, str) or not code.co_filename.startswith(str(_PACKAGE)):
        return None
    file = Path(code.co_filename).relative_to(_PACKAGE).as_posix()
    private = code.co_name.startswith(("_", "<")) and code.co_name[:2] != "__"
    step = file in _KERNELS and (private or file == "_arrays.py")
    return None if step else file


def median_run(call: Callable, repeats: int) -> tuple[float, object]:
    """Seconds of the call by itself, and what it returned."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        found = call()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), found


def product_seconds(X, repeats: int = 7) -> float:
    """One product of the data with a vector, for comparison."""
    w = np.ones(X.shape[1])
    return median_run(lambda: X @ w, repeats)[0]


def report(case: tuple, X, y, repeats: int) -> list[str]:
    """A section of the report: totals, then the functions, then the files."""
    data, solver, radius = case
    options = {"C": _SETS[data].C, "radius": radius, "random_state": 0}

    def call():
        return solve(X, y, solver=solver, **options)

    call()  # compiles
    plain, found = median_run(call, repeats)
    runs = [profiled(call, len(y)) for _ in range(repeats)]
    seconds, lines = sorted(runs, key=lambda run: run[0])[repeats // 2]
    reading = sum(line.seconds for line in lines if line.reads)
    files = Counter()
    for line in lines:
        files[line.file] += 0.0 if line.reads else line.seconds / seconds
    elsewhere = [f"`{file}` {share:.0%}" for file, share in files.most_common(6)]
    return [
        f"## {data}, {solver}, radius {radius:g}",
        "",
        f"{plain:.3f} s ({seconds:.3f} s under the profiler), {found.passes:.1f} "
        f"passes as `Solution.passes` counts, {found.n_iter} iterations, relative gap "
        f"{found.relative_gap:.0e}; as long as {plain / product_seconds(X):.0f} plain "
        f"products X @ w. Reading data: **{reading / seconds:.0%}**; everything else: "
        f"**{1 - reading / seconds:.0%}**, of which {', '.join(elsewhere)}.",
        "",
        *_table(lines, seconds),
        "",
    ]


def _table(lines: list[Line], seconds: float) -> list[str]:
    out = [
        "| function | reads data | calls | passes | seconds | share | |",
        "|---|---|---|---|---|---|---|",
    ]
    shown = [line for line in lines if line.seconds > 0.01 * seconds]
    for line in shown:
        share = line.seconds / seconds
        mark = "more than a tenth" if share > _TENTH and not line.reads else ""
        out.append(
            f"| `{line.file}` {line.name} | {'yes' if line.reads else ''} | "
            f"{line.calls} | {line.passes:.1f} | {line.seconds:.3f} | {share:.1%} | "
            f"{mark} |"
        )
    rest = seconds - sum(line.seconds for line in shown)
    passes = sum(line.passes for line in lines if line not in shown)
    out.append(f"| the rest | | | {passes:.1f} | {rest:.3f} | {rest / seconds:.1%} | |")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data", choices=sorted(_SETS), help="this data set alone")
    parser.add_argument("--out", type=Path, default=_RESULTS / "profile.md")
    options = parser.parse_args()
    text = ["# Where the time goes", "", "`make bench-profile`, one thread; median run"]
    text += [f"of {options.repeats}. {describe()}", ""]
    print("\n".join(text), flush=True)
    loaded: dict = {}
    for case in CASES:
        data = case[0]
        if options.data not in (None, data):
            continue
        try:
            X, y = loaded[data] if data in loaded else _SETS[data].load()
            loaded = {data: (X, y)}
            with threadpool_limits(1):
                section = report(case, X, y, options.repeats)
        except Missing as reason:
            section = [f"## {data}", "", f"Left out: {reason}.", ""]
        print("\n".join(section), flush=True)
        text += section
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text("\n".join(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
