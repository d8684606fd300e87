"""What screening costs and what it brings; `make bench-screening`.

First, screening n = 10⁶ rows whose margins and norms are known, against one product
X @ w with d = 50, from poor points and from good ones. Then whole calls with screening
and without, on news20. One thread, calls in turns. Writes
benchmarks/results/screening.md as well.
"""

from __future__ import annotations

import sys

from threadpoolctl import threadpool_limits

from benchmarks.bench.clock import in_turns
from benchmarks.bench.machine import describe
from benchmarks.bench.report import Report
from benchmarks.datasets import Missing, news20, tall
from wideberth import Problem, solve
from wideberth.problem import Pair
from wideberth.screening.partition import screen_points

REGIONS = ("gap", "midpoint", "ellipsoid")


def cost(report: Report) -> None:
    """Products X @ w that one screening takes."""
    X, y = tall.load(n=1_000_000)
    problem = Problem.from_data(X, y, C=0.01, radius=0.05)
    report.say("| relative gap | region | products | decided |\n|---|---|---|---|")
    for tol in (1e-3, 1e-5, 1e-7):
        solution = solve(
            X, y, C=0.01, radius=0.05, tol=tol, random_state=0, fit_intercept=False
        )
        dual = problem.dual_at(solution.alpha)
        point = problem.at(dual.w)
        gap = problem.certificate(point, dual).relative_gap
        for region in REGIONS:

            def screen(point=point, dual=dual, region=region):
                return screen_points(problem, Pair(point, dual), region=region)

            product, screening = in_turns([lambda: X @ dual.w, screen], 7)  # noqa: B023
            report.say(
                f"| {gap:.1e} | {region} | {screening / product:.2f} | "
                f"{screen().share:.3f} |"
            )


def gain(report: Report) -> None:
    """Whole calls to 1e-6, screening on ÷ off."""
    X, y = news20.load()
    report.say("| C | radius | off, s | on ÷ off | screened |\n|---|---|---|---|---|")
    for C in (0.1, 1.0, 10.0):
        for radius in (0.0, news20.RADIUS):

            def run(region, C=C, radius=radius):
                options = {"C": C, "radius": radius, "solver": "coordinate"}
                return solve(X, y, screening=region, random_state=0, **options)

            calls = [lambda run=run, r=region: run(r) for region in (None, "ellipsoid")]
            off, on = in_turns(calls, 5)
            free = run("ellipsoid").trace[-1]["free"]
            report.say(
                f"| {C:g} | {radius:g} | {off:.3f} | {on / off:.2f} | "
                f"{1 - free / len(y):.0%} |"
            )


def main() -> int:
    report = Report()
    report.say(f"# Screening\n\n`make bench-screening`, one thread. {describe()}\n")
    with threadpool_limits(1):
        report.say("## One screening of 10⁶ rows, in products X @ w\n")
        cost(report)
        report.say("\n## Time with screening ÷ without, news20, 1e-6\n")
        try:
            gain(report)
        except Missing as reason:
            report.say(f"Left out: {reason}.")
    report.save("screening.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
