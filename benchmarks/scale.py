"""Out of core and on Dask beside the same data in memory; `make bench-scale`.

Every case runs in a process of its own, which reports its time and the largest memory
it ever held. Data is generated into a temporary folder, which goes when it is done.
Writes the tables to benchmarks/results/scale.md as well.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.bench.child import peak_memory
from benchmarks.bench.machine import describe
from benchmarks.bench.report import Report

PROBLEM = {
    "C": 0.01,
    "radius": 0.05,
    "tol": 1e-4,
    "random_state": 0,
    "fit_intercept": False,
}
FEATURES = 50
MEMORY = 10**9


def generate(folder: Path, n: int, block: int = 500_000) -> None:
    """Gaussian features in float32, labels from a noisy hyperplane; .npy files."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal(FEATURES, dtype=np.float32) / np.sqrt(FEATURES)
    shape = {"X.npy": (n, FEATURES), "y.npy": (n,)}
    files = {
        name: np.lib.format.open_memmap(folder / name, "w+", np.float32, size)
        for name, size in shape.items()
    }
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        X = rng.standard_normal((rows.stop - start, FEATURES), dtype=np.float32)
        noise = 0.5 * rng.standard_normal(len(X), dtype=np.float32)
        files["X.npy"][rows] = X
        files["y.npy"][rows] = np.where(X @ normal + noise > 0, 1, -1)
    for file in files.values():
        file.flush()


def out_of_core(folder: Path) -> dict:
    from wideberth import solve

    return timed(
        lambda: solve(folder / "X.npy", folder / "y.npy", memory=MEMORY, **PROBLEM)
    )


def in_memory(folder: Path) -> dict:
    from wideberth import solve

    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    return timed(lambda: solve(X, y, **PROBLEM))


def on_dask(folder: Path) -> dict:
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from wideberth import solve

    def load(name: str):
        """A file, split by rows; every worker reads its own part."""
        shape = np.load(folder / name, mmap_mode="r").shape
        rows = -(-shape[0] // 8)
        parts = []
        for start in range(0, shape[0], rows):
            stop = min(start + rows, shape[0])
            part = dask.delayed(read)(folder / name, start, stop)
            size = (stop - start, *shape[1:])
            parts.append(da.from_delayed(part, size, np.float32))
        return da.concatenate(parts)

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as own,
        Client(own),
    ):
        data = [load(name).persist() for name in ("X.npy", "y.npy")]
        wait(data)
        solve(*(part[:20_000] for part in data), **PROBLEM)  # workers import
        return timed(lambda: solve(*data, **PROBLEM))


def read(path: Path, start: int, stop: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def timed(run) -> dict:
    """Run once; time, reads, accuracy, and the most memory the process ever held."""
    started = time.perf_counter()
    found = run()
    return {
        "seconds": time.perf_counter() - started,
        "passes": found.passes,
        "gap": found.relative_gap,
        "objective": found.primal,
        "resident": peak_memory(),
    }


CASES = {case.__name__: case for case in (out_of_core, in_memory, on_dask)}


def apart(case: str, folder: Path, repeats: int) -> dict:
    """The median run of a case, each in a fresh process."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.scale",
        "--case",
        case,
        "--folder",
        str(folder),
    ]
    runs = []
    for _ in range(repeats):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return sorted(runs, key=lambda run: run["seconds"])[len(runs) // 2]


def compare(report: Report, n: int, case: str, repeats: int) -> None:
    """One line per way of solving the same data."""
    size = n * FEATURES * 4
    with tempfile.TemporaryDirectory(prefix="wideberth-bench-") as name:
        free = shutil.disk_usage(name).free
        if free < 1.2 * size:
            report.say(
                f"{n} rows need {size / 1e9:.1f} GB on disk; {free / 1e9:.1f} "
                "are free. Left out."
            )
            return
        generate(Path(name), n)
        runs = {way: apart(way, Path(name), repeats) for way in ("in_memory", case)}
    report.say(f"{n} × {FEATURES} float32, {size / 1e9:.0f} GB")
    report.say()
    report.say("| | seconds | ratio | passes | most memory, GB | gap | objective |")
    report.say("|---|---|---|---|---|---|---|")
    base = runs["in_memory"]
    for way, run in runs.items():
        report.say(
            f"| {way.replace('_', ' ')} | {run['seconds']:.1f} "
            f"| {run['seconds'] / base['seconds']:.2f} | {run['passes']:.1f} "
            f"| {run['resident'] / 1e9:.2f} | {run['gap']:.1e} "
            f"| {run['objective'] / base['objective'] - 1:+.1e} |"
        )
    report.say()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, help="run one case, print JSON")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    if given.case:
        print(json.dumps(CASES[given.case](given.folder)))
        return
    report = Report()
    report.say("# Out of core and on Dask")
    report.say()
    report.say(describe())
    report.say()
    report.say(
        f"{PROBLEM}; memory allowed out of core: {MEMORY / 1e9:.0f} GB for the "
        "whole process. Passes out of core and on Dask are reads of all rows; in "
        "memory they are products, rows that were screened not counted."
    )
    report.say()
    compare(report, given.rows, "out_of_core", given.repeats)
    compare(report, given.rows // 4, "on_dask", given.repeats)
    report.save("scale.md")


if __name__ == "__main__":
    main()
