"""This checkout beside another: `python -m benchmarks.compare OTHER_CHECKOUT`.

Both solve the problems of `make bench` in turns, each in a process of its own and on
one thread, by `wideberth.solve` and `wideberth.path` as they are. Printed are the
median times to relative gaps of 1e-4 and 1e-6, their ratios, and the geometric mean of
these: below 1 this checkout is the faster one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.bench.plan import PLANS
from benchmarks.bench.reference import optima
from benchmarks.bench.settings import Setting, cases_of, read, store
from benchmarks.datasets import Missing

_ROOT = Path(__file__).resolve().parents[1]
_TOLERANCES = (1e-4, 1e-6)
#: Seconds of a run up to which it is repeated as often as asked for, else three times.
_QUICK = 1.0


class Contender:
    """A checkout's library, which solves one problem as often as it is told to."""

    def __init__(self, checkout: Path, job: dict):
        threads = ("OMP", "OPENBLAS", "MKL")
        environment = os.environ | {f"{name}_NUM_THREADS": "1" for name in threads}
        path = [str(checkout.resolve() / "src"), str(_ROOT)]
        environment["PYTHONPATH"] = os.pathsep.join(
            [*path, os.environ.get("PYTHONPATH", "")]
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.bench.child"],
            env=environment,
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._send(job)

    def _send(self, message) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def seconds(self, tol: float) -> float:
        """Wall-clock seconds of one run."""
        self._send(tol)
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline())
        if "wall" not in answer:
            raise RuntimeError(str(answer))
        return answer["wall"]

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compare(setting: Setting, checkouts: list[Path], repeats: int) -> list[dict]:
    """Median times of all checkouts on one problem, run in turns."""
    arrays = store(setting)
    job = {
        "task": setting.task,
        "data": setting.data,
        "sizes": setting.sizes,
        "factor": setting.factor,
        "solver": "wideberth_auto",
        "arrays": str(arrays),
        "optima": optima(setting, cases_of(setting, *read(arrays))),
    }
    contenders = [Contender(checkout, job) for checkout in checkouts]
    try:
        lines = []
        for tol in _TOLERANCES:
            first = [contender.seconds(tol) for contender in contenders]  # may compile
            rounds = repeats if max(first) < _QUICK else min(repeats, 3)
            times = [[c.seconds(tol) for c in contenders] for _ in range(rounds)]
            middle = [median(column) for column in zip(*times, strict=True)]
            lines.append(setting.row | {"tol": tol, "seconds": middle})
        return lines
    finally:
        for contender in contenders:
            contender.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the checkout to compare with")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--data", nargs="*", help="these data sets alone")
    options = parser.parse_args()
    plan = PLANS["short"].narrowed(options.data, None)
    logarithms = []
    print(
        "| task | data | tol | other, s | this, s | ratio |\n|---|---|---|---|---|---|"
    )
    for problem in plan.problems:
        try:
            lines = compare(problem.setting, [options.other, _ROOT], options.repeats)
        except Missing as reason:
            print(f"no data: {reason}", file=sys.stderr)
            continue
        for line in lines:
            before, now = line["seconds"]
            logarithms.append(math.log(now / before))
            print(
                f"| {line['task']} | {line['data']} | {line['tol']:g} | {before:.4f} "
                f"| {now:.4f} | {now / before:.2f} |",
                flush=True,
            )
    mean = math.exp(sum(logarithms) / len(logarithms))
    print(f"\ngeometric mean of {len(logarithms)} ratios: {mean:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
