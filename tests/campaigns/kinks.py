"""Problems whose optimum lies on a kink of the noise; part of `make torture`.

Regression under error bars of which some cells are exact, features that do not matter,
radii next to the critical one, few rows, constant targets. Every problem must converge.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

import numpy as np

from wideberth import critical_radius, solve

#: X, t and the arguments of `solve`.
Problem = tuple[np.ndarray, np.ndarray, dict]


def table(seed: int, n: int, d: int, exact: float):
    """Rows of which the first feature alone matters, and their standard errors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    errors = rng.uniform(0.1, 1, size=(n, d)) * (rng.random((n, d)) >= exact)
    return X, X[:, 0] + 0.5 * rng.normal(size=n), errors


def covariances(seed: int, n: int, d: int) -> np.ndarray:
    """A random covariance for each row."""
    roots = 0.3 * np.random.default_rng(seed).normal(size=(n, d, d))
    return roots @ roots.transpose(0, 2, 1)


def irrelevant_features(seed: int) -> Iterator[Problem]:
    """Some cells exact, one to 39 features without a part in t."""
    sizes = (100, 2), (1000, 2), (300, 3), (1000, 5), (60, 40), (5000, 5)
    for k, (n, d) in enumerate(sizes):
        for exact in (0.2, 0.4, 0.8):
            X, t, errors = table(seed, n, d, exact)
            q, C = (0.5, 0.9, 0.1, 0.5)[(k + seed) % 4], (1.0, 0.1, 100.0)[seed % 3]
            yield X, t, {"X_err": errors, "quantile": q, "C": C}


def boxes(seed: int) -> Iterator[Problem]:
    """Targets that are large and hardly scatter beside the noise."""
    X, _, errors = table(seed, 300, 60, 0.0)
    t = X @ np.arange(1, 61)
    for C in (1.0, 30.0, 300.0):
        for sizes in (errors, errors * (errors < 0.6)):
            yield X, t, {"X_err": sizes, "error_shape": "box", "C": C}


def next_to_the_null_model(seed: int) -> Iterator[Problem]:
    """Radii just below the critical one."""
    for n, d in ((300, 60), (40, 3)):
        X, t, errors = table(seed, n, d, 0.0)
        for sizes in (errors, covariances(seed, n, d)):
            stated = {"X_err": sizes, "loss": "quantile"}
            limit = critical_radius(X, t, **stated).lower
            yield X, t, {"X_err": sizes, "radius": 0.999 * limit}


def few_rows(seed: int) -> Iterator[Problem]:
    """Fewer rows than features."""
    for n, d in ((1, 6), (2, 6), (2, 40), (15, 40)):
        X, t, errors = table(seed, n, d, 0.5)
        for sizes in (errors, errors + 0.1, covariances(seed, n, d)):
            yield X, t, {"X_err": sizes, "C": 100.0 ** (seed % 2)}


def constant_targets(seed: int) -> Iterator[Problem]:
    """A constant is best, at an objective of 0."""
    X, _, errors = table(seed, 20, 2, 0.5)
    for sizes in (errors, covariances(seed, 20, 2), 1e6 * covariances(seed, 20, 2)):
        yield X, np.full(20, 7.3), {"X_err": sizes}


FAMILIES = (
    irrelevant_features,
    boxes,
    next_to_the_null_model,
    few_rows,
    constant_targets,
)


def main() -> int:
    """Solve all problems; 1 if one of them does not converge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    seeds, left = parser.parse_args().seeds, 0
    print(f"{'family':<26}{'problems':>10}{'not converged':>15}{'seconds':>10}")
    for family in FAMILIES:
        started, ends = time.process_time(), []
        for seed in range(seeds):
            for X, t, stated in family(seed):
                found = solve(X, t, loss="quantile", quiet=True, **stated)
                ends.append(found.converged)
        name, open_, spent = family.__name__, ends.count(False), time.process_time()
        print(f"{name:<26}{len(ends):>10}{open_:>15}{spent - started:>10.1f}")
        left += open_
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
