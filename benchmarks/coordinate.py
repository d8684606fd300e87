"""What the tunables of the coordinate solver are worth, in passes over the data.

    python -m benchmarks.coordinate [_BLOCK_ROWS=50 _LEAST_SCREENED=0.1 …]

solves sparse and wide problems with the numbers of `solvers/sweeps.py` as they are and
with those named, and prints the ratios of passes, problem by problem, and their
geometric mean.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from itertools import product

import numpy as np

from benchmarks.datasets import a9a, news20, news20_counts, tall, wide
from wideberth.problem import Problem
from wideberth.solvers import sweeps
from wideberth.solvers.base import Control, Random

#: Seconds after which a problem counts as unsolved.
_LIMIT = 30.0


def _copies(n=4000, d=6000, words=12):
    """Sparse rows of very different norm, some of them twice, with opposite labels."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    X = sp.random_array((n, d), density=words / d, format="csr", random_state=rng)
    X.data = np.ceil(30 * X.data**4)
    X = X.tolil()
    X[1::20] = X[::20]
    X = sp.csr_array(X.tocsr())
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    y[1::20] = -y[::20]
    return X, y


def _dense(n=600, d=3000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, :20].sum(axis=1) + 5 * rng.normal(size=n) > 0, 1, -1)


def problems() -> Iterator[tuple[str, Problem]]:
    """Every problem with its name."""
    grids = [
        ("wide", wide.load(n=3000, d=10_000), (0.1, 1, 10, 100), (0, 0.05)),
        ("copies", _copies(), (0.1, 1, 100), (0, 0.5)),
        ("dense", _dense(), (1e-3, 0.1), (0.1,)),
        ("tall", tall.load(n=20_000, d=60), (1e-4, 1e-2), (0.02,)),
        ("news20", news20.load(), (1, 30), (0, 0.02)),
        ("news20 counts", news20_counts.load(), (0.01, 1), (0, 0.02)),
        ("a9a", a9a.load(), (0.01, 1), (0, 0.02)),
    ]
    for name, (X, y), Cs, radii in grids:
        for C, radius, intercept in product(Cs, radii, (None, 0.0)):
            label = f"{name}, C={C:g}, radius={radius:g}, intercept={intercept}"
            options = {"C": C, "radius": radius, "intercept": intercept}
            yield label, Problem.from_data(X, y, **options)


def passes(problem: Problem, numbers: dict[str, float]) -> float:
    """Passes to a relative gap of 1e-6; infinite where they do not get there."""
    for name, value in numbers.items():
        setattr(sweeps, name, value)
    problem.rows.norms()  # which are kept: a pass for whoever asks first
    before, deadline = problem.rows.passes.count, time.perf_counter() + _LIMIT
    control = Control(1e-6, deadline=deadline, random=Random(0))
    found = sweeps.Coordinate().solve(problem, control)
    spent = problem.rows.passes.count - before
    return spent if found.status == "solved" else np.inf


def main(arguments: list[str]) -> None:
    """Compare the settings named with those as they are."""
    named = {name: float(value) for name, value in (a.split("=") for a in arguments)}
    usual = {name: getattr(sweeps, name) for name in named}
    other = {name: type(usual[name])(value) for name, value in named.items()}
    ratios = []
    for label, problem in problems():
        usually = passes(problem, usual)
        ratios.append(passes(problem, other) / usually if named else 1.0)
        print(f"{label:55s} {usually:8.1f} passes {ratios[-1]:8.2f}", flush=True)
    solved = [ratio for ratio in ratios if np.isfinite(ratio)]
    mean = np.exp(np.mean(np.log(solved)))
    print(f"{mean:.3f} on average; {len(ratios) - len(solved)} unsolved")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
