"""Reads that data from a file takes under a cap on memory: `python -m benchmarks.caps`.

Each of covtype's seven classes against the rest, standardised, in float32 from a .npy
file. Every case runs in a process of its own. A cap is told for a clean process of
224 MB, with every optional library loaded; one that holds less is filled up to that, so
that the rows have the same room on every machine: 56 MB under a cap of 280 MB. With
`--jobs N`, N cases run at a time: reads, gaps and memory stay, seconds do not.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.bench.child import peak_memory
from benchmarks.datasets import shared

CLASSES, PENALTIES, RADII, CAPS = range(1, 8), (0.01, 1.0), (0.0, 0.05), (280, 400)
TOLERANCE, CLEAN = 1e-4, 224


def generate(folder: Path) -> None:
    """Write the features and the labels of every task."""
    with np.load(shared("covtype.npz")) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    np.save(folder / "X.npy", X.astype(np.float32, order="C"))
    for k in CLASSES:
        np.save(folder / f"y{k}.npy", np.where(y == k, 1, -1).astype(np.int8))


def one(folder: Path, k: int, C: float, radius: float, cap: int, options: dict) -> dict:
    """Solve one case in this process."""
    import sklearn.exceptions  # noqa: F401  # for warnings, after all is done

    from wideberth import solve
    from wideberth.data.files import resident
    from wideberth.solvers import chunked  # noqa: F401  # before it is measured

    ballast = np.ones(max(CLEAN * 10**6 - resident(), 0), dtype=np.int8)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = solve(
            folder / "X.npy",
            folder / f"y{k}.npy",
            C=C,
            radius=radius,
            memory=cap * 10**6,
            tol=TOLERANCE,
            random_state=0,
            **options,
        )
    return {
        "seconds": time.perf_counter() - started,
        "reads": found.passes,
        "gap": found.relative_gap,
        "converged": found.converged,
        "objective": found.primal,
        "resident": peak_memory(),
        "ballast": ballast.nbytes,
        "steps": [
            (entry["passes"], entry["gap"] / entry["primal"], entry["free"])
            for entry in found.trace
        ],
    }


def apart(folder: Path, case: tuple, options: dict) -> dict:
    """Solve one case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.caps", "--folder", str(folder)]
    command += ["--case", json.dumps([*case, options])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def table(folder: Path, cases, options: dict, jobs: int) -> None:
    """One line per case, so many of them at a time, and the summary."""
    print("| class | C | radius | cap, MB | reads | gap | seconds | most memory, MB |")
    print("|---|---|---|---|---|---|---|---|")
    runs = []
    with ThreadPoolExecutor(jobs) as pool:
        coming = pool.map(lambda case: apart(folder, case, options), cases)
        for (k, C, radius, cap), run in zip(cases, coming, strict=True):
            runs.append(run)
            print(
                f"| {k} | {C:g} | {radius:g} | {cap} | {run['reads']:.0f} "
                f"| {run['gap']:.1e} | {run['seconds']:.1f} "
                f"| {run['resident'] / 1e6:.0f} |",
                flush=True,
            )
    reads = [run["reads"] for run in runs]
    failed = sum(not run["converged"] for run in runs)
    most = [case[-1] * 10**6 for case in cases]
    over = sum(run["resident"] > cap for run, cap in zip(runs, most, strict=True))
    print(
        f"\n{len(runs)} cases, {failed} unproven, {over} over the cap, reads "
        f"{np.median(reads):.0f} in the median and {max(reads):.0f} at most, "
        f"{sum(run['seconds'] for run in runs):.0f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=json.loads, help="run one case, print JSON")
    parser.add_argument("--folder", type=Path, help="where the files are or will be")
    parser.add_argument("--classes", type=int, nargs="+", default=CLASSES)
    parser.add_argument("--caps", type=int, nargs="+", default=CAPS)
    parser.add_argument("--options", type=json.loads, default={}, help="for solve")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    given = parser.parse_args()
    if given.case:
        *case, options = given.case
        print(json.dumps(one(given.folder, *case, options)))
        return
    cases = list(itertools.product(given.classes, PENALTIES, RADII, given.caps))
    with tempfile.TemporaryDirectory(prefix="wideberth-bench-") as name:
        folder = given.folder or Path(name)
        if not (folder / "X.npy").exists():
            generate(folder)
        table(folder, cases, given.options, given.jobs)


if __name__ == "__main__":
    main()
