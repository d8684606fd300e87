"""What screening costs and what it brings; `make bench-screening`.

First, whole calls with screening ÷ without, `removed` and `saturated` read in both: the
paper's 32 configurations, paths of 30, news20, and covtype. Processor time, one thread,
medians of calls in turns, whose order alternates; passes over the data beside. Then
deciding about n = 10⁶ rows whose margins are known, in products X @ w with d = 50, from
poor points and from good ones: by the margins at hand, and by the tests that read rows.
Writes benchmarks/results/screening.md as well.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.bench.clock import in_turns, timed
from benchmarks.bench.machine import describe
from benchmarks.bench.report import Report
from benchmarks.datasets import Missing, breast_cancer, covtype, news20, spambase, tall
from wideberth import path, solve
from wideberth.problem import Pair, Problem
from wideberth.screening import screen_at_hand, screen_points

REGIONS = ("gap", "midpoint", "ellipsoid")
#: Seconds that the repeats of one pair of calls may take, and how many they are.
_SECONDS, _FEWEST, _MOST = 4.0, 5, 101
#: The paper's grid.
_CS, _RADII = (0.01, 0.1, 1.0, 10.0), (0.0, 0.01, 0.02, 0.05)


@dataclass(frozen=True)
class Ratio:
    """Screening on ÷ off."""

    time: float
    passes: float

    @classmethod
    def of(cls, call: Callable, scale: float) -> Ratio:
        """Of a call that is told the region, or None, and reads what is decided."""

        def run(region):
            found = call(region)
            return found.passes, found.removed, found.saturated

        off = float(np.nansum(run(None)[0]))
        seconds, (passes, *_) = timed(lambda: run("ellipsoid"), time.process_time)
        repeats = int(np.clip(scale * _SECONDS / (2 * seconds), _FEWEST, _MOST))
        times: dict = {None: [], "ellipsoid": []}
        for k in range(repeats):
            for region in list(times)[:: 1 if k % 2 else -1]:
                taken, _ = timed(lambda r=region: run(r), time.process_time)
                times[region].append(taken)
        medians = [float(np.median(each)) for each in times.values()]
        return cls(medians[1] / medians[0], float(np.nansum(passes)) / off)


def _mean(values) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _say(report: Report, name: str, ratios: list[Ratio]) -> None:
    times, passes = ([getattr(r, k) for r in ratios] for k in ("time", "passes"))
    report.say(
        f"| {name} | {_mean(times):.3f} | {min(times):.2f} to {max(times):.2f} | "
        f"{_mean(passes):.3f} | {max(passes):.3f} |"
    )


def whole_calls(report: Report, scale: float) -> None:
    """Time and passes with screening ÷ without."""
    report.say("| | time | range | passes | most |\n|---|---|---|---|---|")
    every: list[Ratio] = []
    for name, data in (("Breast Cancer", breast_cancer), ("Spambase", spambase)):
        X, y = data.load()
        grid = [{"C": C, "radius": r} for C in _CS for r in _RADII]
        found = [Ratio.of(_fit(X, y, **point), scale) for point in grid]
        _say(report, f"{name}, 16 configurations", found)
        every += found
    _say(report, "all 32 configurations", every)
    for name, data in (("Breast Cancer", breast_cancer), ("Spambase", spambase)):
        X, y = data.load()
        walks = [_walk(X, y, radius) for radius in (0.0, 0.05)]
        _say(report, f"{name}, paths of 30", [Ratio.of(w, scale) for w in walks])
    for name, data in (("news20", news20), ("covtype", covtype)):
        try:
            X, y = data.load()
        except Missing as reason:
            report.say(f"| {name} | left out: {reason} | | | |")
            continue
        grid = [{"C": C, "radius": r} for C in (0.01, 1.0) for r in (0.0, data.RADIUS)]
        found = [Ratio.of(_fit(X, y, **point), scale) for point in grid]
        _say(report, f"{name}, C 0.01 and 1, radius 0 and {data.RADIUS:g}", found)


def _fit(X, y, **options) -> Callable:
    options |= {"fit_intercept": False, "random_state": 0}
    return lambda region: solve(X, y, screening=region, **options)


def _walk(X, y, radius: float) -> Callable:
    options = {"fit_intercept": False, "random_state": 0, "radii": [radius]}
    return lambda region: path(X, y, Cs=30, screening=region, **options)


def one_screening(report: Report) -> None:
    """Products X @ w that deciding takes, by the margins at hand and by each region."""
    X, y = tall.load(n=1_000_000)
    problem = Problem.from_data(X, y, C=0.01, radius=0.05)
    report.say("| relative gap | test | products | decided |\n|---|---|---|---|")
    for tol in (1e-3, 1e-5, 1e-7):
        solution = solve(
            X, y, C=0.01, radius=0.05, tol=tol, random_state=0, fit_intercept=False
        )
        dual = problem.dual_at(solution.alpha)
        pair = Pair(problem.at(solution.w), dual)
        gap = pair.certificate.relative_gap
        tests = {"at hand": lambda p=pair: screen_at_hand(problem, p, "ellipsoid")}
        for region in REGIONS:
            tests[region] = lambda p=pair, r=region: screen_points(problem, p, region=r)
        times = in_turns([lambda: X @ dual.w, *tests.values()], 7)  # noqa: B023
        for (name, test), seconds in zip(tests.items(), times[1:], strict=True):
            products, share = seconds / times[0], test().share
            report.say(f"| {gap:.1e} | {name} | {products:.2f} | {share:.3f} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of the repeats")
    scale = parser.parse_args().scale
    report = Report()
    report.say(f"# Screening\n\n`make bench-screening`, one thread. {describe()}\n")
    with threadpool_limits(1):
        report.say("## Screening on ÷ off, 1e-6, decisions read\n")
        whole_calls(report, scale)
        report.say("\n## Deciding about 10⁶ rows, in products X @ w\n")
        one_screening(report)
    report.save("screening.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
