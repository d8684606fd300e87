"""Passes over tall data with rare classes: `python -m benchmarks.passes [seed]`.

Each class of covtype against the rest, and a9a dense and standardised, to a relative
gap of 10⁻⁴. Beside the counts is the most that is wanted of each.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import Missing, a9a, covtype, shared
from wideberth import solve

#: Most passes wanted of one problem: covtype's classes, class 2 at C=1 with the radii
#: 0 and 0.05, and a9a.
_CLASSES, _SECOND, _A9A = 25, {0.0: 16, 0.05: 11}, 30


def _standardised(X: np.ndarray) -> np.ndarray:
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def _problems():
    """Name, X and y of every data set that is there."""
    X, _ = covtype.load()
    with np.load(shared("covtype.npz")) as data:
        classes = data["y"]
    for k in range(1, 8):
        yield f"covtype {k}", X, np.where(classes == k, 1, -1)
    X, y = a9a.load()
    yield "a9a", _standardised(X.toarray()), y


def main() -> None:
    """Print a line for each problem."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    print(f"{'data':12}{'C':>6}{'radius':>8}{'passes':>8}{'steps':>7}{'wanted':>8}")
    try:
        for name, X, y in _problems():
            for C, radius in product((0.01, 1.0), (0.0, 0.05)):
                wanted = _A9A if name == "a9a" else _CLASSES
                if name == "covtype 2" and C == 1:
                    wanted = _SECOND[radius]
                options = {"C": C, "radius": radius, "tol": 1e-4, "random_state": seed}
                with threadpool_limits(1):
                    found = solve(X, y, solver="newton", **options)
                counts = f"{found.passes:8.0f}{found.n_iter:7}{wanted:8}"
                print(f"{name:12}{C:6g}{radius:8g}{counts}", flush=True)
    except Missing as reason:
        print(f"skipped: {reason}")


if __name__ == "__main__":
    main()
