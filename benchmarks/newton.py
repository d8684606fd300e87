"""The Newton solver beside Clarabel, SCS and LIBLINEAR; `make bench-newton`.

Ratios from one run: every solver's wall time for the whole call, at equal accuracy
(primal suboptimality on the full problem below 1e-6 relative, against a reference of
1e-10). Data passes are exact counts. Writes the tables to benchmarks/results/newton.md
as well.
"""

from __future__ import annotations

import argparse
import sys
import tracemalloc
import warnings

import numpy as np
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import data
from report import Report, machine, median_seconds
from wideberth import Problem, solve
from wideberth.paper import DATASETS, configurations, load
from wideberth.solvers.conic import PAPER_OPTIONS, solve_conic

TARGET = 1e-6


def paper_grid(report: Report) -> None:
    """The paper's 32 configurations against Clarabel and the paper's SCS baseline."""
    report.say("| data | C | radius | ms | Clarabel | SCS (paper) | suboptimality |")
    report.say("|---|---|---|---|---|---|---|")
    sets = {name: load(name) for name in DATASETS}
    ratios: dict[str, list[tuple[float, float]]] = {name: [] for name in DATASETS}
    for name, C, radius in configurations():
        X, y = sets[name]
        problem = Problem.from_data(X, y, C=C, radius=radius)
        optimum = solve(X, y, C=C, radius=radius, tol=1e-10).dual
        ours, found = median_seconds(lambda: solve(X, y, C=C, radius=radius), 9)  # noqa: B023
        tolerances = {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-7, "tol_feas": 1e-8}
        clarabel, _ = median_seconds(lambda: solve_conic(problem, **tolerances), 3)  # noqa: B023
        scs, rough = median_seconds(
            lambda: solve_conic(problem, backend="scs", **PAPER_OPTIONS),  # noqa: B023
            1,
        )
        ratios[name].append((clarabel / ours, scs / ours))
        off = rough.certificate.primal / optimum - 1
        note = "" if off <= TARGET else f" (off by {off:.0e})"
        report.say(
            f"| {name} | {C:g} | {radius:g} | {1e3 * ours:.1f} "
            f"| {clarabel / ours:.1f}× "
            f"| {scs / ours:.0f}×{note} | {found.primal / optimum - 1:.1e} |"
        )
    report.say()
    for name, pairs in ratios.items():
        clarabel, scs = np.array(pairs).T
        report.say(
            f"{name}: Clarabel least {clarabel.min():.1f}×, geometric mean "
            f"{_geometric(clarabel):.1f}×; SCS least {scs.min():.0f}×, geometric mean "
            f"{_geometric(scs):.0f}×"
        )
    everything = np.array([pair[1] for pairs in ratios.values() for pair in pairs])
    report.say(f"SCS, geometric mean over all 32: {_geometric(everything):.0f}×")


def _geometric(values) -> float:
    return float(np.exp(np.mean(np.log(values))))


def covtype(report: Report, epochs: int) -> None:
    """covtype: data passes, and time against LIBLINEAR."""
    loaded = data.covtype()
    if loaded is None:
        report.say("covtype: skipped, the data set is not there")
        return
    X, y = loaded
    report.say("| covtype, C=1 | passes | s, 1 thread | s, 2 threads | relative gap |")
    report.say("|---|---|---|---|---|")
    seconds = {}
    for radius in (0.05, 0.0):
        times = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                taken, found = median_seconds(
                    lambda: solve(X, y, radius=radius, random_state=0),  # noqa: B023
                    3,
                )
                times.append(taken)
        seconds[radius] = times[0]
        report.say(
            f"| radius {radius:g} | {found.passes:.1f} | {times[0]:.2f} | "
            f"{times[1]:.2f} | {found.relative_gap:.1e} |"
        )
    report.say()
    problem = Problem.from_data(X, y)
    optimum = solve(X, y, tol=1e-10, random_state=0).dual
    peer = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-12, max_iter=epochs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken, _ = median_seconds(lambda: peer.fit(X, y), 1)
    off = problem.at(peer.coef_[0]).value / optimum - 1
    bound = "at least " if off > TARGET else ""
    report.say(
        f"LIBLINEAR, {epochs} epochs, radius 0: {taken:.0f} s, suboptimality "
        f"{off:.1e}; ratio {bound}{taken / seconds[0.0]:.0f}×"
    )


def growth(report: Report) -> None:
    """Passes, time and memory as n grows."""
    report.say("| n (d=50, 10 % flipped) | C | passes | seconds | extra memory ÷ X |")
    report.say("|---|---|---|---|---|")
    for n in (10_000, 100_000, 1_000_000):
        X, y = data.tall(n)
        for C in (0.01, 1.0):
            taken, found = median_seconds(lambda: solve(X, y, C=C, random_state=0), 3)  # noqa: B023
            tracemalloc.start()
            solve(X, y, C=C, random_state=0)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            report.say(
                f"| {n:,} | {C:g} | {found.passes:.1f} | {taken:.3f} | "
                f"{peak / X.nbytes:.2f} |"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=300, help="of LIBLINEAR")
    parts = ["grid", "covtype", "growth"]
    parser.add_argument("--skip", nargs="*", default=[], choices=parts)
    options = parser.parse_args()
    report = Report()
    report.say("# The Newton solver, measured")
    report.say()
    report.say(f"`{' '.join(['python', *sys.argv])}`, one thread unless said.")
    report.say(machine())
    report.say()
    with threadpool_limits(1):
        if "growth" not in options.skip:
            growth(report)
            report.say()
        if "covtype" not in options.skip:
            covtype(report, options.epochs)
            report.say()
        if "grid" not in options.skip:
            paper_grid(report)
    if not options.skip:
        report.save("newton.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
