"""Side by side with what users would pick instead: `make bench`, `make bench-full`.

Every solver climbs a ladder of its own tolerances on every problem; what counts is the
time of the loosest one that reaches a given primal suboptimality, relative to a
reference certified to 1e-10. Every cell has a process and a time limit of its own; runs
of different solvers take turns; one thread each. Results are written as they come.

A plan may have so many hours. A cell then has four times its even share of the time
left, for most take far less; when none is left the rest waits for `--resume`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from dataclasses import replace
from math import inf
from pathlib import Path

from benchmarks.bench.cell import Cell, Limits
from benchmarks.bench.plan import PLANS, Plan, Planned
from benchmarks.bench.records import COMPLETE, Records
from benchmarks.bench.reference import GOAL, optima
from benchmarks.bench.report import RESULTS
from benchmarks.bench.settings import Setting, cases_of, plugins, read, store
from benchmarks.bench.show import heading_of, show
from benchmarks.datasets import Missing

#: File beside the results that says what they are results of.
_ABOUT = "about.txt"
#: Time that a cell may take, in even shares of the time left: a choice.
_SHARES = 4.0


def measure(setting: Setting, solvers: list[str], limits: Limits, tell) -> None:
    """All cells of one problem: explored one by one, then repeated in turns."""
    try:
        arrays = store(setting)
    except Missing as reason:
        row = setting.row | {"solver": "", "event": "no data"}
        tell(row | {"note": str(reason)})
        return
    cases = cases_of(setting, *read(arrays))
    known = optima(setting, cases)
    gap = max(optimum["gap"] for optimum in known)
    row = setting.row | {"solver": "reference", "event": "reference", "off": gap}
    tell(row | {"note": "" if gap <= GOAL else f"certified to {gap:.0e} only"})
    cells = [Cell(setting, solver, limits, tell) for solver in solvers]
    try:
        for cell in cells:
            cell.explore(arrays, cases, known)
        for _ in range(limits.repeats - 1):
            for cell in cells:
                cell.repeat()
    finally:
        for cell in cells:
            cell.close()


class Progress:
    """Writes results down and says what is going on."""

    def __init__(self, records: Records, total: int):
        self.records, self.total, self.done = records, total, 0
        self.started = time.monotonic()
        #: The least suboptimality of each solver that ran on the present problem.
        self.best: dict[str, float] = {}

    def problem(self, setting: Setting) -> None:
        """The next problem begins."""
        self.done += 1
        self.best = {}
        minutes = (time.monotonic() - self.started) / 60
        head = f"[{self.done}/{self.total}, {minutes:.1f} min]"
        print(f"{head} {setting.task}, {setting.name}", flush=True)

    def behind(self, target: float) -> set[str]:
        """Solvers that ran on the present problem and did not get there."""
        return {solver for solver, best in self.best.items() if best > target}

    def __call__(self, row: dict) -> None:
        self.records.add(row)
        if row["event"] in ("ladder", "time limit"):
            best = self.best.get(row["solver"], inf)
            self.best[row["solver"]] = min(best, row.get("off", inf))
        if row["event"] == "repeat":
            return
        text, tol = row.get("note", ""), row.get("tol", "")
        if "memory" in row:
            text = f"{row['wall']:.3f} s, off by {row['off']:.0e}"
        tol = f"{tol:.2g}" if isinstance(tol, float) else tol
        words = f"{row['solver']:22s} {row['event']:10s} {tol!s:8s} {text}"
        print(f"    {words}", flush=True)


def run(plan: Plan, solvers: list[str], records: Records, done: set) -> None:
    """Measure the problems of a plan that are not done; what was measured stays."""
    todo = [p for p in plan.problems if _key(p) not in done]
    progress = Progress(records, len(todo))
    share_of_plan = len(todo) / max(len(plan.problems), 1)
    end = time.monotonic() + 3600 * plan.hours * share_of_plan
    #: Solvers that missed the target at some size, by series.
    slow: dict[tuple, set[str]] = defaultdict(set)
    for k, problem in enumerate(todo):
        cells = sum(len(later.solvers(solvers)) for later in todo[k:])
        left = end - time.monotonic()
        if left <= 0:
            print(f"the time is over: --resume measures {len(todo) - k} more problems")
            return
        progress.problem(problem.setting)
        names = problem.solvers(solvers)
        limits = problem.limits(plan.limits, _SHARES * left / max(cells, 1))
        behind = slow[problem.series] if problem.series else set()
        tried = [name for name in names if name not in behind]
        measure(problem.setting, tried, limits, progress)
        for name in behind:
            row = problem.setting.row | {"solver": name, "event": "left out"}
            progress(row | {"note": "did not reach the target at a smaller size"})
        behind |= progress.behind(limits.targets[-1])
        records.add(problem.setting.row | {"event": COMPLETE})


def _key(problem: Planned) -> tuple[str, str]:
    return problem.setting.task, problem.setting.name


def _shard(text: str) -> tuple[int, int]:
    """Read "2/4"."""
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is not like 2/4")
    return int(number), int(count)


def _all_records(out: Path, plan: Plan) -> list[dict]:
    """What all processes that share a run have written, in the order of the plan."""
    rows = [row for path in out.glob("runs*.csv") for row in Records(path, fresh=False)]
    order = {_key(problem): k for k, problem in enumerate(plan.problems)}
    return sorted(rows, key=lambda r: order.get((r["task"], r["data"]), len(order)))


def _measure_all(plan: Plan, options: argparse.Namespace) -> None:
    """Run what is asked for, from the start or from where an earlier run ended."""
    out, name = options.out, "runs.csv"
    if options.shard is not None:
        name = "runs-{}-of-{}.csv".format(*options.shard)
    if not options.resume:  # those of a run that was shared otherwise
        for path in out.glob("runs.csv" if options.shard else "runs-*-of-*.csv"):
            path.unlink()
    records = Records(out / name, fresh=not options.resume)
    done = records.keep_complete()
    if not (options.resume and (out / _ABOUT).exists()):
        (out / _ABOUT).write_text(heading_of(plan.command, plan.limits) + "\n")
    if options.shard is not None:
        plan = plan.sharded(*options.shard)
    run(plan, options.solver or plugins("solvers"), records, done)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plan", choices=PLANS, default="short")
    parser.add_argument("--data", nargs="*", help="these data sets alone")
    parser.add_argument("--task", nargs="*", help="these tasks alone")
    parser.add_argument("--solver", nargs="*", help="these solvers alone")
    parser.add_argument("--seconds", type=float, help="time limit of a run")
    parser.add_argument("--first", type=float, help="time limit of a first call")
    parser.add_argument("--repeats", type=int, help="runs of a cell")
    parser.add_argument("--hours", type=float, help="time of the whole run")
    parser.add_argument(
        "--shard", type=_shard, help="k/n: the k-th of n processes that share a run"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on where a run was interrupted"
    )
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument("--show", action="store_true", help="earlier results, again")
    parser.add_argument("--readme", action="store_true", help="write README's table")
    options = parser.parse_args()
    if options.out is None:
        options.out = RESULTS / "full" if options.plan == "full" else RESULTS
    plan = PLANS[options.plan].narrowed(
        options.data,
        options.task,
        seconds=options.seconds,
        first=options.first,
        repeats=options.repeats,
    )
    if plan != PLANS[options.plan] or options.solver:
        plan = replace(plan, command=" ".join(["benchmarks.run", *sys.argv[1:]]))
    if options.hours is not None:
        plan = replace(plan, hours=options.hours)
    if not options.show:
        try:
            _measure_all(plan, options)
        except KeyboardInterrupt:
            print("\ninterrupted: these are the results so far", flush=True)
    heading = (options.out / _ABOUT).read_text().strip()
    readme = Path("README.md") if options.readme else None
    show(_all_records(options.out, plan), heading, options.out, readme)
    return 0


if __name__ == "__main__":
    sys.exit(main())
