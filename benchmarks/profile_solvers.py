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
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import numpy as np
from threadpoolctl import threadpool_limits

import wideberth
from benchmarks.bench.clock import in_turns, timed
from benchmarks.bench.counting import counting
from benchmarks.bench.machine import describe
from benchmarks.bench.report import Report
from benchmarks.datasets import Missing, covtype, news20
from wideberth import solve

_PACKAGE = Path(wideberth.__file__).parent
#: Files whose private functions are steps of the kernel that calls them.
_PRODUCTS = ("problem/rows.py",)
_KERNELS = ("problem/arrays.py", *_PRODUCTS)
#: Functions that read rows without telling `Passes`, by file and name.
_READERS = {
    ("problem/validation.py", "_square"),
    ("solvers/second_order.py", "_span"),
}
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
        counted = self.passes > 0 or self.file in _PRODUCTS
        return counted or (self.file, self.name) in _READERS


def profiled(call: Callable, n: int) -> tuple[float, list[Line]]:
    """Seconds of a call under the profiler, and its functions, dearest first."""
    profiler = cProfile.Profile()
    with counting(lambda code: _ours(code) is not None) as counts:
        seconds, _ = timed(lambda: profiler.runcall(call))
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
    step = file in _KERNELS and (private or file == "problem/arrays.py")
    return None if step else file


def describe_case(report: Report, case: tuple, X, y, repeats: int) -> None:
    """A section of the report: totals, then the functions."""
    data, solver, radius = case
    options = {"C": _SETS[data].C, "radius": radius, "random_state": 0}

    def call():
        return solve(X, y, solver=solver, **options)

    found, w = call(), np.ones(X.shape[1])
    plain, product = in_turns([call, lambda: X @ w], repeats)
    runs = [profiled(call, len(y)) for _ in range(repeats)]
    seconds, lines = sorted(runs, key=lambda run: run[0])[repeats // 2]
    reading = sum(line.seconds for line in lines if line.reads)
    files = Counter()
    for line in lines:
        files[line.file] += 0.0 if line.reads else line.seconds / seconds
    elsewhere = [f"`{file}` {share:.0%}" for file, share in files.most_common(6)]
    report.say(f"## {data}, {solver}, radius {radius:g}\n")
    report.say(
        f"{plain:.3f} s ({seconds:.3f} s under the profiler), {found.passes:.1f} "
        f"passes as `Solution.passes` counts, {found.n_iter} iterations, relative gap "
        f"{found.relative_gap:.0e}; as long as {plain / product:.0f} plain "
        f"products X @ w. Reading data: **{reading / seconds:.0%}**; everything else: "
        f"**{1 - reading / seconds:.0%}**, of which {', '.join(elsewhere)}.\n"
    )
    _table(report, lines, seconds)


def _table(report: Report, lines: list[Line], seconds: float) -> None:
    report.say("| function | reads data | calls | passes | seconds | share | |")
    report.say("|---|---|---|---|---|---|---|")
    shown = [line for line in lines if line.seconds > 0.01 * seconds]
    for line in shown:
        share = line.seconds / seconds
        mark = "more than a tenth" if share > _TENTH and not line.reads else ""
        report.say(
            f"| `{line.file}` {line.name} | {'yes' if line.reads else ''} | "
            f"{line.calls} | {line.passes:.1f} | {line.seconds:.3f} | {share:.1%} | "
            f"{mark} |"
        )
    rest = seconds - sum(line.seconds for line in shown)
    passes = sum(line.passes for line in lines if line not in shown)
    share = rest / seconds
    report.say(f"| the rest | | | {passes:.1f} | {rest:.3f} | {share:.1%} | |\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data", choices=sorted(_SETS), help="this data set alone")
    options = parser.parse_args()
    report = Report()
    report.say(
        "# Where the time goes\n\n`make bench-profile`, one thread; median run of "
        f"{options.repeats}. {describe()}\n"
    )
    for data, module in _SETS.items():
        if options.data not in (None, data):
            continue
        try:
            X, y = module.load()
        except Missing as reason:
            report.say(f"## {data}\n\nLeft out: {reason}.\n")
            continue
        with threadpool_limits(1):
            for case in (case for case in CASES if case[0] == data):
                describe_case(report, case, X, y, options.repeats)
    if options.data is None:
        report.save("profile.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
