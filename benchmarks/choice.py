"""Newton against coordinate over shapes; `make bench-choice`.

What `solver="auto"` is made of: whole calls to 1e-6 on one thread, in turns, on data of
many shapes and densities. Writes benchmarks/results/choice.md as well.
"""

from __future__ import annotations

import argparse
import sys

from threadpoolctl import threadpool_limits

from benchmarks.bench.clock import in_turns
from benchmarks.bench.machine import describe
from benchmarks.bench.report import Report
from benchmarks.datasets import tall, wide
from wideberth import solve

TEXTS = (
    (2_000, 1_000, 30),
    (20_000, 300, 15),
    (20_000, 1_000, 30),
    (20_000, 3_000, 30),
    (100_000, 300, 15),
    (100_000, 1_000, 30),
)
DENSE = ((5_000, 50), (5_000, 300), (2_000, 1_000), (500, 2_000), (500, 20_000))


def compare(report: Report, name: str, X, y, repeats: int) -> None:
    for C in (0.1, 10.0):
        calls = [
            lambda s=solver, C=C: solve(
                X, y, C=C, solver=s, random_state=0, fit_intercept=False
            )
            for solver in ("newton", "coordinate")
        ]
        newton, coordinate = in_turns(calls, repeats)
        chosen = solve(X, y, C=C, random_state=0, fit_intercept=False).solver
        report.say(
            f"| {name} | {C:g} | {newton:.3f} | {coordinate:.3f} | "
            f"{newton / coordinate:.2f} | {chosen} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    report = Report()
    report.say(
        f"# Newton or coordinate\n\n`make bench-choice`, one thread. {describe()}"
    )
    report.say("\n| data | C | Newton, s | coordinate, s | ratio | auto takes |")
    report.say("|---|---|---|---|---|---|")
    with threadpool_limits(1):
        for n, d, words in TEXTS:
            name = f"text {n:,}×{d:,}, {words} words"
            compare(report, name, *wide.load(n, d, words), options.repeats)
        for n, d in DENSE:
            name = f"dense {n:,}×{d:,}"
            compare(report, name, *tall.load(n, d), options.repeats)
    report.save("choice.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
