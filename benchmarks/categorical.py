"""Tables of categories, one-hot and sparse: `python -m benchmarks.categorical`.

Covtype with every column binned, "yes or no" as one column or as a pair; a9a; and 7
measurements beside 33 categories with noise on the measurements alone. Whole calls of
`solve` to 1e-4 on one thread, in seconds and in products X @ w, with the passes over
the data; and one Gram matrix beside a product.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.bench.machine import describe
from benchmarks.bench.report import Report
from benchmarks.datasets import a9a, one_hot
from wideberth import solve
from wideberth.problem.rows import as_rows


def cases():
    """Names, data and arguments of `solve`."""
    for name, pairs in (("covtype in bins", False), ("the same, in pairs", True)):
        X, y = one_hot.load(pairs)
        for C in (0.01, 1.0):
            yield name, X, y, {"C": C}
    X, y = a9a.load()
    for C in (0.1, 1.0):
        yield "a9a", X, y, {"C": C}
    X, y, scales = one_hot.mixed()
    for C in (0.1, 1.0):
        yield "7 + 33 columns", X, y, {"C": C}
        yield "7 + 33 columns", X, y, {"C": C, "radius": 0.1, "noise": scales}


def timed(action, repeats: int):
    """What it returns, and the median seconds of the processor."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        found = action()
        times.append(time.process_time() - started)
    return found, median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    report = Report()
    report.say(
        f"# Tables of categories\n\n`python -m benchmarks.categorical`, processor "
        f"time, one thread. {describe()}\n"
    )
    report.say(
        "| data | shape | entries of a row | C | radius | solver | seconds "
        "| products X @ w | passes | Gram ÷ product |"
    )
    report.say("|---|---|---|---|---|---|---|---|---|---|")
    with threadpool_limits(1):
        for name, X, y, options in cases():
            rows, ones = as_rows(X, y.astype(np.float64)), np.ones(len(y))
            rows.curvature(ones)  # loads its code
            _, product = timed(lambda: X @ np.ones(X.shape[1]), 5)  # noqa: B023
            _, gram = timed(lambda: rows.curvature(ones), 3)  # noqa: B023
            options |= {"random_state": 0, "tol": 1e-4, "quiet": True}
            found, seconds = timed(lambda: solve(X, y, **options), given.repeats)  # noqa: B023
            report.say(
                f"| {name} | {X.shape[0]}×{X.shape[1]} | {X.nnz / len(y):.0f} "
                f"| {options['C']:g} | {options.get('radius', 0):g} | {found.solver} "
                f"| {seconds:.2f} | {seconds / product:.0f} | {found.passes:.0f} "
                f"| {gram / product:.0f} |"
            )
    report.save("categorical.md")


if __name__ == "__main__":
    main()
