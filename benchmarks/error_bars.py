"""Error bars for every cell: `python -m benchmarks.error_bars`.

Against Clarabel with a cone per sample, called through CVXPY as people call it, its own
solve time beside; against one shared shape on the same data; passes over X and over the
errors; and how much screening decides. One thread, medians of repeats.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from benchmarks.bench.child import peak_memory
from benchmarks.bench.report import Report
from wideberth import path, solve
from wideberth.problem import Pair, Problem
from wideberth.screening import screen_points


def timed(action, repeats: int) -> float:
    """Median processor time; the first call, which may load modules, does not count."""
    action()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return median(times)


def clarabel(X, y, E, C: float) -> tuple[float, float]:
    """Objective and Clarabel's own seconds; y is −1 or +1, b is free."""
    import cvxpy as cp

    w, b = cp.Variable(X.shape[1]), cp.Variable()
    noise = cp.norm(cp.multiply(E, cp.reshape(w, (1, X.shape[1]), order="C")), axis=1)
    hinge = cp.pos(1 - cp.multiply(y, X @ w + b) + noise)
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(hinge)))
    program.solve(solver="CLARABEL")
    return float(program.value), float(program.solver_stats.solve_time or np.nan)


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X, 2.0 * y - 1


def against_clarabel(report: Report, repeats: int) -> None:
    X, y = breast_cancer()
    X = StandardScaler().fit_transform(X)
    rng = np.random.default_rng(0)
    report.say(
        "| level | C | ours, ms | CVXPY, ms | of it Clarabel | ratio | objective |"
    )
    report.say("|---|---|---|---|---|---|---|")
    for level in (0.1, 0.5, 1.0):
        E = level * rng.exponential(size=X.shape)
        for C in (0.01, 0.1, 1.0, 10.0, 100.0):
            ours = timed(lambda: solve(X, y, C=C, X_err=E, tol=1e-6), repeats)  # noqa: B023
            value = solve(X, y, C=C, X_err=E, tol=1e-6).primal
            theirs = timed(lambda: clarabel(X, y, E, C), 3)  # noqa: B023
            objective, own = clarabel(X, y, E, C)
            report.say(
                f"| {level} | {C:g} | {1e3 * ours:.1f} | {1e3 * theirs:.0f} | "
                f"{1e3 * own:.0f} | {theirs / ours:.0f} | "
                f"{value / objective - 1:+.0e} |"
            )


def along_a_path(report: Report, repeats: int) -> None:
    X, y = breast_cancer()
    scale = X[:, :10].std(axis=0)
    X, E = (X[:, :10] - X[:, :10].mean(axis=0)) / scale, X[:, 10:20] / scale
    grid = {"Cs": np.geomspace(0.01, 100, 10), "radii": [0.3, 1.0, 3.0]}
    ours = timed(lambda: path(X, y, X_err=E, quiet=True, **grid), repeats)
    theirs = timed(
        lambda: [clarabel(X, y, r * E, C) for r in grid["radii"] for C in grid["Cs"]], 1
    )
    report.say()
    report.say(
        f"Columns 0–9 with their standard errors 10–19, path of 30: {ours:.3f} s, 30 "
        f"calls of Clarabel {theirs:.2f} s, ratio {theirs / ours:.0f}."
    )


def tall(report: Report, n: int, repeats: int) -> None:
    rng, d = np.random.default_rng(0), 50
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) / d**0.5 + 0.5 * rng.normal(size=n) > 0, 1, -1)
    E = 0.3 * rng.exponential(size=(n, d))
    shape = np.sqrt(np.mean(E * E, axis=0))
    for C in (0.01, 1.0):
        given = {"C": C, "tol": 1e-6, "random_state": 0, "quiet": True}
        ours = timed(lambda: solve(X, y, X_err=E, **given), repeats)  # noqa: B023
        one = timed(lambda: solve(X, y, noise=shape, radius=1.0, **given), repeats)  # noqa: B023
        found = solve(X, y, X_err=E, **given)
        report.say(
            f"{n} × {d}, C = {C:g}: {ours:.2f} s, {ours / one:.1f} times one shared "
            f"ellipsoid; {found.passes:.1f} passes over X and the errors together, "
            f"relative gap {found.relative_gap:.0e}."
        )


def write_arrays(folder: Path, n: int, d: int) -> None:
    """Rows and their errors as two .npy files in float32, and labels."""
    rng = np.random.default_rng(0)
    tables = [
        np.lib.format.open_memmap(folder / name, "w+", np.float32, (n, d))
        for name in ("X.npy", "E.npy")
    ]
    y, w = np.empty(n, np.int8), rng.normal(size=d)
    for start in range(0, n, 250_000):
        rows = slice(start, min(start + 250_000, n))
        X = rng.standard_normal((rows.stop - start, d), dtype=np.float32)
        tables[0][rows] = X
        tables[1][rows] = 0.3 * rng.standard_exponential(X.shape, dtype=np.float32)
        y[rows] = np.where(X @ w / d**0.5 + 0.5 * rng.normal(size=len(X)) > 0, 1, -1)
    np.save(folder / "y.npy", y)


def solve_arrays(folder: str, C: float, shape: str, memory: str) -> tuple:
    """In a process of its own: reads, seconds, the most it held, and the gap."""
    started, there = time.perf_counter(), Path(folder)
    found = solve(
        there / "X.npy", there / "y.npy", X_err=there / "E.npy", C=C, tol=1e-4,
        error_shape=shape, memory=memory, random_state=0, quiet=True,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    return found.passes, seconds, peak_memory(), found.relative_gap


def out_of_core(report: Report, n: int, memory: str) -> None:
    """Errors beside the data on disk, one read for both."""
    with tempfile.TemporaryDirectory() as folder:
        write_arrays(Path(folder), n, 25)
        for C in (0.001, 0.01):
            for shape in ("ellipsoid", "box"):
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    found = pool.apply(solve_arrays, (folder, C, shape, memory))
                reads, seconds, held, gap = found
                report.say(
                    f"{n} × (25 + 25) float32 in .npy files, {memory}, C = {C:g}, "
                    f"{shape}: {reads:.0f} reads, {seconds:.0f} s, at most "
                    f"{held / 1e9:.2f} GB, relative gap {gap:.0e}."
                )


def screened(report: Report) -> None:
    X, y = breast_cancer()
    X = StandardScaler().fit_transform(X)
    E = 0.5 * np.random.default_rng(0).exponential(size=X.shape)
    problem = Problem.from_data(X, y, C=1.0, X_err=E, intercept=0.0)
    report.say()
    report.say("| relative gap | best | GAP ball, separable | ratio |")
    report.say("|---|---|---|---|")
    for target in (1e-3, 1e-4):
        exact = solve(X, y, C=1.0, X_err=E, tol=1e-9)
        low, high = 0.0, 1.0  # a point between, whose gap is the target
        start = problem.at(np.zeros(X.shape[1]))
        for _ in range(60):
            t = 0.5 * (low + high)
            w = exact.w + t * (start.w - exact.w)
            alpha = exact.alpha * (1 - t)
            pair = Pair(problem.at(w), problem.dual_at(alpha, near=w))
            low, high = (low, t) if pair.gap > target * pair.point.value else (t, high)
        shares = {
            (region, test): screen_points(problem, pair, region=region, test=test).share
            for region in ("gap", "midpoint", "ellipsoid")
            for test in ("separable", "tangent")
        }
        best, plain = max(shares.values()), shares["gap", "separable"]
        ratio = best / plain if plain else np.inf
        report.say(f"| {target:.0e} | {best:.3f} | {plain:.3f} | {ratio:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, nargs="*", default=[200_000, 1_000_000])
    parser.add_argument("--out-of-core", type=int, default=5_000_000)
    parser.add_argument("--memory", default="1GB")
    given = parser.parse_args()
    report = Report()
    report.say("# Error bars for every cell")
    report.say()
    against_clarabel(report, given.repeats)
    along_a_path(report, given.repeats)
    report.say()
    for n in given.rows:
        tall(report, n, 1 if n > 300_000 else 3)
    if given.out_of_core:
        report.say()
        out_of_core(report, given.out_of_core, given.memory)
    screened(report)
    report.save("error_bars.md")


if __name__ == "__main__":
    main()
