"""The coordinate solver beside LIBLINEAR and Newton; `make bench-coordinate`.

Ratios from one run on one thread: wall time of the whole call after a warm-up call, at
equal primal suboptimality on the full problem, measured by one function against a
reference certified to 1e-9. Every solver may use the loosest of its own tolerances that
reaches the target. First calls in fresh processes are in a table of their own. Writes
benchmarks/results/coordinate.md as well.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable

import numpy as np
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import data
from report import Report, machine
from wideberth import Problem, solve

CS = (0.1, 1.0, 10.0)
TARGETS = (1e-4, 1e-6)
#: A peer that needs longer than this for one setting is not tried at tighter ones.
PATIENCE = 40.0


def seconds(call: Callable) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def interleaved(calls: list[Callable], repeats: int) -> list[float]:
    """Median times, the calls taking turns so that a slow phase hits all of them."""
    times = [[seconds(call) for call in calls] for _ in range(repeats)]
    return np.median(times, axis=0).tolist()


def loosest(fit: Callable[[float], np.ndarray], tols: Iterable[float], off: Callable):
    """First of the tolerances whose result is good enough, or None; and its error."""
    error = np.inf
    for tol in tols:
        start = time.perf_counter()
        error = off(fit(tol))
        if error <= 0:
            return tol, error
        if time.perf_counter() - start > PATIENCE:
            break
    return None, error


def against_liblinear(report: Report, name: str, loaded, repeats: int, epochs: int):
    """Time to 1e-4 and 1e-6 in every cell of C, radius 0."""
    if loaded is None:
        report.say(f"| {name} | skipped: the data set is not there |||||||")
        return
    X, y = loaded
    for C in CS:
        problem = Problem.from_data(X, y, C=C)
        optimum = solve(X, y, C=C, tol=1e-9, random_state=0).dual
        for target in TARGETS:
            cell(report, name, X, y, C, target, problem, optimum, repeats, epochs)


def cell(report, name, X, y, C, target, problem, optimum, repeats, epochs):
    def off(w):
        return problem.at(w).value / optimum - 1 - target

    def peer(tol):
        model = LinearSVC(
            C=C, loss="hinge", fit_intercept=False, tol=tol, max_iter=epochs
        )
        model.set_params(random_state=0).fit(X, y)
        peer.epochs = model.n_iter_
        return model.coef_[0]

    def ours(tol, solver="coordinate"):
        ours.found = solve(X, y, C=C, tol=tol, solver=solver, random_state=0)
        return ours.found.w

    tol, _ = loosest(ours, [10 * target, 3 * target, target], off)
    peer_tol, error = loosest(peer, 10.0 ** -np.arange(0.5, 6.5, 0.5), off)
    peer_epochs = peer.epochs
    calls = [lambda: ours(tol), lambda: ours(tol, "auto")]
    if peer_tol is not None:
        calls.append(lambda: peer(peer_tol))
    times = interleaved(calls, repeats)
    automatic = ours.found.solver
    ours(tol)
    if peer_tol is None:
        theirs = f"{error + target:.0e} off after {peer_epochs} epochs | – "
    else:
        theirs = f"{times[2]:.3f} ({peer_epochs}) | {times[2] / times[0]:.1f}× "
        theirs += f"(auto, {automatic}: {times[2] / times[1]:.1f}×)"
    report.say(
        f"| {name} | {C:g} | {target:.0e} | {times[0]:.3f} ({ours.found.n_iter}) | "
        f"{ours.found.relative_gap:.0e} | {theirs} |"
    )


def noise(report: Report, X, y, repeats: int) -> None:
    """What noise does to the time: radius 0.02, uniform and random, against 0."""
    rng = np.random.default_rng(0)
    radii = {"0.02": 0.02, "random, mean 0.02": rng.uniform(0, 0.04, size=len(y))}
    for C in CS:
        for tol in TARGETS:

            def run(radius, C=C, tol=tol):
                options = {"C": C, "tol": tol, "solver": "coordinate"}
                return solve(X, y, radius=radius, random_state=0, **options)

            calls = [lambda run=run: run(0.0)]
            calls += [lambda run=run, r=radius: run(r) for radius in radii.values()]
            times = interleaved(calls, repeats)
            ratios = " | ".join(f"{t / times[0]:.2f}" for t in times[1:])
            report.say(f"| {C:g} | {tol:.0e} | {times[0]:.3f} | {ratios} |")


def screening(report: Report, X, y, repeats: int) -> None:
    """Screening on against off, to 1e-6."""
    for C in CS:
        for radius in (0.0, 0.02):

            def run(region, C=C, radius=radius):
                options = {"C": C, "radius": radius, "solver": "coordinate"}
                return solve(X, y, screening=region, random_state=0, **options)

            calls = [lambda run=run, r=region: run(r) for region in (None, "ellipsoid")]
            times = interleaved(calls, repeats)
            free = run("ellipsoid").trace[-1]["free"]
            report.say(
                f"| {C:g} | {radius:g} | {times[0]:.3f} | {times[1] / times[0]:.2f} | "
                f"{1 - free / len(y):.0%} |"
            )


def choice(report: Report, repeats: int) -> None:
    """Newton against coordinate over shapes: what `solver="auto"` is made of."""
    cases = {
        f"text {n:,}×{d:,}, {words} words": data.text(n, d, words)
        for n, d, words in (
            (2_000, 1_000, 30),
            (20_000, 300, 15),
            (20_000, 1_000, 30),
            (20_000, 3_000, 30),
            (100_000, 300, 15),
            (100_000, 1_000, 30),
        )
    }
    shapes = ((5_000, 50), (5_000, 300), (2_000, 1_000), (500, 2_000), (500, 20_000))
    for n, d in shapes:
        cases[f"dense {n:,}×{d:,}"] = data.tall(n, d)
    for name, (X, y) in cases.items():
        for C in (0.1, 10.0):
            options = {"C": C, "random_state": 0}
            chosen = solve(X, y, **options).solver
            calls = [
                lambda s=solver, X=X, y=y, o=options: solve(X, y, solver=s, **o)
                for solver in ("newton", "coordinate")
            ]
            newton, coordinate = interleaved(calls, min(repeats, 2))
            report.say(
                f"| {name} | {C:g} | {newton:.3f} | {coordinate:.3f} | "
                f"{newton / coordinate:.2f} | {chosen} |"
            )


COLD = """
import sys, time
start = time.perf_counter()
import numpy as np, scipy.sparse as sp
X = sp.random_array((2000, 5000), density=0.01, format="csr", rng=0)
y = np.where(np.arange(2000) % 2, 1, -1)
from wideberth import solve
loaded = time.perf_counter()
solve(X, y, solver="coordinate", random_state=0)
first = time.perf_counter()
solve(X, y, solver="coordinate", random_state=0)
print(first - loaded - (time.perf_counter() - first))
"""


def cold(report: Report, repeats: int) -> None:
    """Overhead of the first call in a fresh process, the kernels being on disk."""
    runs = []
    for _ in range(repeats + 1):
        process = subprocess.run([sys.executable, "-c", COLD], stdout=-1, check=True)
        runs.append(float(process.stdout))
    report.say(
        "First call in a fresh process, kernels compiled before: "
        f"{min(runs[1:]):.2f} s at best, {np.median(runs[1:]):.2f} s median overhead."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=3000, help="most, of LIBLINEAR")
    parts = ["liblinear", "noise", "screening", "choice", "cold"]
    parser.add_argument("--only", nargs="*", default=parts, choices=parts)
    options = parser.parse_args()
    report, repeats = Report(), options.repeats
    report.say("# The coordinate solver, measured")
    report.say()
    report.say(f"`{' '.join(['python', *sys.argv])}`, one thread.")
    report.say(machine())
    warnings.simplefilter("ignore")
    unit = data.news20(unit_rows=True)
    with threadpool_limits(1):
        if "liblinear" in options.only:
            report.say("\n## Against LIBLINEAR, radius 0\n")
            report.say(
                "| data | C | target | s (epochs) | certified gap | "
                "LIBLINEAR s (epochs) | ratio |\n|---|---|---|---|---|---|---|"
            )
            sets = {
                "news20, unit rows": unit,
                "news20, raw counts": data.news20(unit_rows=False),
                "a9a": data.a9a(),
            }
            for name, loaded in sets.items():
                against_liblinear(report, name, loaded, repeats, options.epochs)
        if "noise" in options.only and unit is not None:
            report.say("\n## Time with noise ÷ without, news20, unit rows\n")
            report.say("| C | gap | radius 0, s | radius 0.02 | random radii |")
            report.say("|---|---|---|---|---|")
            noise(report, *unit, repeats)
        if "screening" in options.only and unit is not None:
            report.say("\n## Time with screening ÷ without, news20, unit rows, 1e-6\n")
            report.say("| C | radius | off, s | on ÷ off | screened |")
            report.say("|---|---|---|---|---|")
            screening(report, *unit, repeats)
        if "choice" in options.only:
            report.say("\n## Newton against coordinate, 1e-6\n")
            report.say("| data | C | Newton, s | coordinate, s | ratio | auto takes |")
            report.say("|---|---|---|---|---|---|")
            choice(report, repeats)
        if "cold" in options.only:
            report.say("\n## Cold start\n")
            cold(report, repeats)
    if options.only == parts:
        report.save("coordinate.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
