"""Paths and cross-validation beside cold fits; `make bench-path`.

Ratios from one run, on one thread, timed in turns; medians where there are several.
`--cpu` counts processor time in place of wall time, for a machine that others use.
Writes benchmarks/results/path.md, and the share of rows read at every point of a path
to benchmarks/results/path.png.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import matplotlib
import numpy as np
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

import data
from report import RESULTS, Report, machine
from wideberth import Problem, RobustLinearSVC, RobustLinearSVCCV, path, solve
from wideberth.paper import load
from wideberth.solvers.conic import solve_conic

CLARABEL = {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-7, "tol_feas": 1e-8}
RADII = [0.0, 0.01, 0.02, 0.05]


class Stopwatch:
    """Seconds by the wall or by the processor."""

    def __init__(self, cpu: bool):
        self.now = time.process_time if cpu else time.perf_counter

    def __call__(self, call) -> tuple[float, object]:
        start = self.now()
        result = call()
        return self.now() - start, result

    def in_turns(self, calls: dict, repeats: int) -> tuple[dict, dict]:
        """Median seconds of each call, one after the other, and their last results."""
        times: dict = {name: [] for name in calls}
        results = {}
        for _ in range(repeats):
            for name, call in calls.items():
                taken, results[name] = self(call)
                times[name].append(taken)
        return {name: float(np.median(all_)) for name, all_ in times.items()}, results


def spambase(report: Report, watch: Stopwatch, repeats: int):
    """Thirty values of C, radius 0.02, relative gap 1e-6."""
    X, y = load("spambase")
    Cs = path(X, y, radii=[0.02]).Cs
    calls = {
        "path": lambda: path(X, y, radii=[0.02], random_state=0),
        "cold": lambda: [solve(X, y, C=C, radius=0.02) for C in Cs],
    }
    seconds, results = watch.in_turns(calls, repeats)
    found = results["path"]
    off = max(
        abs(objective / cold.primal - 1)
        for objective, cold in zip(found.objectives[0], results["cold"], strict=True)
    )
    problem = Problem.from_data(X, y, radius=0.02)

    def clarabel():
        for C in Cs:
            solve_conic(problem.with_weights(np.full(problem.n, C)), **CLARABEL)

    conic = watch(clarabel)[0]
    report.say("| Spambase, 30 Cs, radius 0.02, 1e-6 | seconds | ÷ path | passes |")
    report.say("|---|---|---|---|")
    cold_passes = sum(cold.passes for cold in results["cold"])
    report.say(f"| path | {seconds['path']:.3f} | 1.0 | {found.passes.sum():.0f} |")
    ratio = seconds["cold"] / seconds["path"]
    report.say(f"| 30 cold fits | {seconds['cold']:.2f} | {ratio:.1f} "
               f"| {cold_passes:.0f} |")  # fmt: skip
    ratio = conic / seconds["path"]
    report.say(f"| 30 cold Clarabel solves, one run | {conic:.1f} | {ratio:.0f} | |")
    report.say()
    report.say(
        f"C from {Cs[0]:.3g} to {Cs[-1]:.3g}; objectives agree to {off:.0e}; largest "
        f"relative gap {found.relative_gaps.max():.0e}; rows left to the solver: "
        f"median {np.median(found.undecided) / found.n_samples:.0%}."
    )


def cross_validation(report: Report, watch: Stopwatch):
    """30 × 4 models in five folds, against GridSearchCV."""
    X, y = load("spambase")
    search = RobustLinearSVCCV(30, RADII)
    grid = RobustLinearSVCCV(30, RADII, cv=2, refit=False).fit(X, y).Cs_
    cold = GridSearchCV(RobustLinearSVC(), {"C": grid, "radius": RADII})
    calls = {"paths": lambda: search.fit(X, y), "cold": lambda: cold.fit(X, y)}
    seconds, _ = watch.in_turns(calls, 1)
    seconds["paths"] = np.median([seconds["paths"], watch(calls["paths"])[0]])
    same = search.best_params_ == cold.best_params_
    ours, theirs = (s.cv_results_["mean_test_score"] for s in (search, cold))
    report.say("| Spambase, 30 Cs × 4 radii, 5 folds | seconds | ÷ paths |")
    report.say("|---|---|---|")
    report.say(f"| RobustLinearSVCCV | {seconds['paths']:.1f} | 1.0 |")
    report.say(f"| GridSearchCV(RobustLinearSVC) | {seconds['cold']:.1f} | "
               f"{seconds['cold'] / seconds['paths']:.1f} |")  # fmt: skip
    report.say()
    report.say(
        f"The same choice: {'yes' if same else 'NO'}; mean scores differ by at most "
        f"{np.abs(ours - theirs).max():.0e}. Both go on to a relative gap of 1e-9, as "
        "the solver does on data of this size."
    )


def covtype(report: Report, watch: Stopwatch, repeats: int):
    """Ten values of C, relative gap 1e-4, against one cold fit at the largest."""
    loaded = data.covtype()
    if loaded is None:
        report.say("covtype: skipped, the data set is not there")
        return
    X, y = loaded
    report.say("| covtype, 10 Cs, 1e-4 | path, s | cold fit at the largest C, s "
               "| path ÷ cold | passes | cold |")  # fmt: skip
    report.say("|---|---|---|---|---|---|")
    for radius in (0.0, 0.05):
        ratios, times, passes = [], [], []
        for seed in range(repeats):
            walked, found = watch(
                lambda: path(X, y, Cs=10, radii=[radius], tol=1e-4, random_state=seed)  # noqa: B023
            )
            alone, cold = watch(
                lambda: solve(
                    X, y, C=found.Cs[-1], radius=radius, tol=1e-4, random_state=seed  # noqa: B023
                )
            )  # fmt: skip
            assert found.converged.all()
            assert cold.converged
            ratios.append(walked / alone)
            times.append((walked, alone))
            passes.append((found.passes.sum(), cold.passes))
        (walked, alone), (reads, cold_reads) = np.median(times, 0), np.median(passes, 0)
        report.say(
            f"| radius {radius:g} | {walked:.2f} | {alone:.2f} | "
            f"{np.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f}) | "
            f"{reads:.0f} | {cold_reads:.0f} |"
        )
    report.say()
    report.say(f"Medians over {repeats} seeds; C from {found.Cs[0]:.1e} to "
               f"{found.Cs[-1]:.3g}.")  # fmt: skip


def draw(report: Report) -> None:
    """The share of rows read, point by point, on grids of different density."""
    matplotlib.use("agg")
    from matplotlib import pyplot

    X, y = load("spambase")
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for count, style in ((10, "C0.-"), (30, "C1.-"), (120, "C2-")):
        found = path(X, y, Cs=count, radii=[0.02])
        label = f"{count} values of C"
        share = found.undecided[0] / found.n_samples
        axes[0].semilogx(found.Cs, share, style, label=label)
        axes[1].semilogx(found.Cs, found.passes[0], style, label=label)
    axes[0].set(ylim=(0, 1.03), title="left to the solver by the point before")
    axes[0].set(xlabel="C", ylabel="share of rows")
    axes[1].set(xlabel="C", ylabel="passes", title="data-pass equivalents per point")
    axes[1].set_ylim(bottom=0)
    axes[0].legend(frameon=False)
    figure.suptitle("Spambase, radius 0.02, relative gap 1e-6")
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "path.png", dpi=120)
    report.say("![Share of rows read at every point](path.png)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cpu", action="store_true", help="processor time")
    parts = ["spambase", "cv", "covtype", "plot"]
    parser.add_argument("--skip", nargs="*", default=[], choices=parts)
    options = parser.parse_args()
    report, watch = Report(), Stopwatch(options.cpu)
    report.say("# Paths, measured")
    report.say()
    clock = "processor time" if options.cpu else "wall time"
    report.say(f"`{' '.join(['python', *sys.argv])}`, one thread, {clock}.")
    report.say(machine())
    report.say()
    work = {
        "spambase": lambda: spambase(report, watch, options.repeats),
        "cv": lambda: cross_validation(report, watch),
        "covtype": lambda: covtype(report, watch, min(options.repeats, 3)),
        "plot": lambda: draw(report),
    }
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, part in work.items():
            if name not in options.skip:
                part()
                report.say()
    if not options.skip:
        report.save("path.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
