"""What the tunables of Newton's method are worth, in passes and kernel calls.

    python -m benchmarks.newton [wideberth.problem.limits.LITTLE=0.03 …]

solves problems and paths with the constants as they are and with those named, and
prints the ratios of passes and of calls, problem by problem, with their geometric
means. A constant of a module is replaced wherever it was imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

import numpy as np
from sklearn.datasets import load_digits, load_wine
from threadpoolctl import threadpool_limits

from benchmarks.bench.counting import counting
from benchmarks.datasets import a9a, breast_cancer, spambase, tall
from wideberth import RobustLinearSVC, path, solve


def _solved(load: Callable, **options) -> Callable[[], int]:
    def run() -> int:
        X, y = load()
        solve(X, y, solver="newton", random_state=0, **options)
        return len(y)

    return run


def _walked(load: Callable, **options) -> Callable[[], int]:
    def run() -> int:
        X, y = load()
        path(X, y, Cs=10, solver="newton", random_state=0, **options)
        return len(y)

    return run


def _classes(load: Callable, **options) -> Callable[[], int]:
    """One class against the rest, each from one estimate for all of them."""

    def run() -> int:
        X, y = load(return_X_y=True)
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1.0)
        RobustLinearSVC(**options).fit(X, y)
        return len(y)

    return run


def _tall(n: int) -> Callable:
    return lambda: tall.load(n=n, d=20)


PROBLEMS = {
    "breast cancer": _solved(breast_cancer.load, radius=0.05),
    "breast cancer, C=100, 1e-12": _solved(breast_cancer.load, C=100, tol=1e-12),
    "spambase": _solved(spambase.load, radius=0.02),
    "spambase, C=1000": _solved(spambase.load, C=1000),
    "spambase, path": _walked(spambase.load, radii=[0.02]),
    "a9a": _solved(a9a.load, C=0.1),
    "a9a, radius 0.02": _solved(a9a.load, radius=0.02, fit_intercept=False),
    "a9a, path": _walked(a9a.load, radii=[0.02]),
    "tall 3 000": _solved(_tall(3_000), radius=0.05),
    "tall 60 000": _solved(_tall(60_000), radius=0.05),
    "tall 60 000, path": _walked(_tall(60_000), radii=[0.05]),
    "tall 400 000": _solved(_tall(400_000), radius=0.05),
    "digits, classes, C=0.01": _classes(load_digits, C=0.01),
    "digits, classes, C=1": _classes(load_digits, radius=0.1),
    "wine, classes": _classes(load_wine),
}


def count() -> np.ndarray:
    """Passes and calls of every problem."""
    found = []
    for run in PROBLEMS.values():
        with threadpool_limits(1), counting() as counts:
            n = run()
        found.append((counts.passes(n), counts.calls))
    return np.array(found)


def change(name: str, value: str) -> None:
    """Set a constant of a module."""
    module, _, last = name.rpartition(".")
    before = getattr(import_module(module), last)
    for loaded in list(sys.modules.values()):
        if loaded.__name__.startswith("wideberth") and hasattr(loaded, last):
            setattr(loaded, last, type(before)(float(value)))


def main(arguments: list[str]) -> None:
    """Compare the settings named with those as they are."""
    usual = count()
    for text in arguments:
        change(*text.split("="))
    other = count() if arguments else usual
    for name, before, ratio in zip(PROBLEMS, usual, other / usual, strict=True):
        print(
            f"{name:30s} {before[0]:8.1f} passes {ratio[0]:6.2f}"
            f" {before[1]:8.0f} calls {ratio[1]:6.2f}"
        )
    passes, calls = np.exp(np.mean(np.log(other / usual), axis=0))
    print(f"on average passes {passes:.3f}, calls {calls:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
