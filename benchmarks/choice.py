"""What "auto" chooses, beside every solver that it may choose; `make bench-choice`.

Whole calls on one thread, in processor time, medians of calls in turns: "newton",
"coordinate" and "auto" on tables of many shapes, C from 0.01 to 100, to relative gaps
of 1e-2, 1e-4 and 1e-6. The quicker of the two ÷ "auto" is 1 where "auto" is as quick as
the better choice. With `--peers` LIBLINEAR, Snap ML and ReHLine join, each at the
loosest tolerance of its own that gets as near to the optimum. Then "auto" under ten
seeds, and at a looser tolerance. Writes benchmarks/results/choice.md as well. Three
tables are held back from tuning (`--held-back`).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.bench.clock import timed
from benchmarks.bench.machine import describe
from benchmarks.bench.report import Report
from benchmarks.datasets import tall, wide
from wideberth import solve
from wideberth.datasets import load_galaxies

CS = (0.01, 1.0, 100.0)
TOLS = (1e-2, 1e-4, 1e-6)
OWN = ("newton", "coordinate")
PEERS = ("liblinear", "snapml", "rehline")
#: Seconds that repeats of one call may take, and most of them.
_TURN, _MOST = 0.3, 7


def standard(X):
    """Columns of mean 0 and deviation 1."""
    deviation = X.std(axis=0)
    return np.ascontiguousarray(
        (X - X.mean(axis=0)) / np.where(deviation, deviation, 1)
    )


def ruled(X, noise: float, rng):
    """Labels by a random linear rule, blurred by noise times its deviation."""
    score = X @ rng.normal(size=X.shape[1])
    score = score - np.median(score)
    return np.where(
        score + noise * score.std() * rng.normal(size=score.size) > 0, 1, -1
    )


def from_sklearn(name: str, positive: Callable):
    data = getattr(import_module("sklearn.datasets"), f"load_{name}")
    X, y = data(return_X_y=True)
    return standard(X), np.where(positive(y), 1, -1)


def heavy_tails():
    rng = np.random.default_rng(1)
    X = standard(rng.standard_t(4, size=(19_020, 10)) @ rng.normal(size=(10, 10)))
    return X, ruled(np.tanh(X), 0.8, rng)


def unbalanced():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(50_000, 22))
    score = X @ rng.normal(size=22) + 2 * X[:, 0] * X[:, 1]
    return X, np.where(score + rng.normal(size=len(X)) > np.quantile(score, 0.9), 1, -1)


def binary():
    rng = np.random.default_rng(3)
    X = (rng.random((200_000, 39)) < rng.uniform(0.02, 0.6, 39)).astype(float)
    return X, ruled(X, 1.0, rng)


def scales():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(8_000, 40)) * np.exp(1.5 * rng.normal(size=40))
    return X, ruled(X, 0.5, rng)


def more_columns():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3_000))
    return X, ruled(X[:, :30], 0.5, rng)


def correlated():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(3_000, 5)) @ rng.normal(size=(5, 100))
    X = standard(X + 0.1 * rng.normal(size=X.shape))
    return X, ruled(X, 0.3, rng)


def sparse(n: int, d: int, density: float, noise: float):
    rng = np.random.default_rng(7)
    X = sp.random_array((n, d), density=density, format="csr", random_state=rng)
    return X, ruled(X, noise, rng)


def one_hot():
    rng, n, sizes = np.random.default_rng(9), 30_000, (3, 12, 30, 5, 8, 20, 4, 15)
    first = np.cumsum((0, *sizes))
    columns = [first[k] + rng.integers(size, size=n) for k, size in enumerate(sizes)]
    places = np.stack(columns, axis=1).ravel().astype(np.int32)
    ends = np.arange(0, places.size + 1, len(sizes), dtype=np.int32)
    X = sp.csr_array((np.ones(places.size), places, ends), shape=(n, first[-1]))
    return X, ruled(X, 1.0, rng)


def separable():
    rng = np.random.default_rng(11)
    y = np.where(rng.random(20_000) < 0.5, 1, -1)
    X = rng.normal(size=(20_000, 30))
    X[:, :5] += 1.5 * y[:, None]
    return X, y


def decaying():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(12_000, 300)) * np.linspace(1, 0.05, 300)
    return X, ruled(X, 0.5, rng)


def iris():
    return from_sklearn("iris", lambda y: y == 1)  # which no plane separates


def rare_words():
    rng, n, d = np.random.default_rng(13), 40_000, 2_000
    X = sp.random_array((n, d), density=0.01, format="csr", random_state=rng)
    X.data[:] = 1.0 + rng.poisson(0.3, size=X.nnz)
    return X, ruled(X, 0.3, rng)


def galaxies():
    sky = load_galaxies()
    seen = np.isfinite(sky.data).all(axis=1)
    return standard(sky.data[seen]), sky.target[seen]


def spectra():
    rng, n, d = np.random.default_rng(14), 1_500, 400
    X = np.cumsum(rng.normal(size=(n, d)), axis=1)  # neighbours are alike
    return standard(X), ruled(standard(X), 0.4, rng)


def counts():
    rng, n, d = np.random.default_rng(15), 20_000, 100
    X = np.log1p(rng.poisson(np.exp(rng.normal(size=d)), size=(n, d)))
    return standard(X), ruled(X, 0.7, rng)


def loaded(name: str, **sizes):
    return import_module(f"benchmarks.datasets.{name}").load(**sizes)


TABLES = {
    "wine": lambda: from_sklearn("wine", lambda y: y == 0),
    "Breast Cancer": lambda: from_sklearn("breast_cancer", lambda y: y == 0),
    "digits": lambda: from_sklearn("digits", lambda y: y % 2 == 0),
    "Spambase": lambda: loaded("spambase"),
    "more columns": more_columns,
    "correlated": correlated,
    "noisy labels": lambda: tall.load(5_000, 60),
    "scales": scales,
    "sparse 112": lambda: sparse(8_000, 112, 0.1, 0.5),
    "heavy tails": heavy_tails,
    "unbalanced": unbalanced,
    "one-hot": one_hot,
    "text": lambda: wide.load(8_000, 20_000, 50),
    "separable": separable,
    "sparse 300": lambda: sparse(50_000, 300, 0.05, 0.7),
    "tall": lambda: tall.load(60_000, 50),
    "decaying": decaying,
    "binary": binary,
    "iris": iris,
    "rare words": rare_words,
    "galaxies": galaxies,
    "spectra": spectra,
    "counts": counts,
    "a9a": lambda: loaded("a9a"),
    "news20": lambda: loaded("news20"),
    "MNIST": lambda: loaded("mnist"),
    "covtype": lambda: loaded("covtype"),
}


#: Tables that no constant was chosen by: look at them once, when all else is done.
HELD_BACK = ("galaxies", "spectra", "counts")


@dataclass
class Case:
    """What the solvers of `benchmarks.solvers` take."""

    X: object
    y: np.ndarray
    C: float

    def objective(self, w) -> float:
        margins = self.y * (self.X @ w)
        return 0.5 * float(w @ w) + self.C * float(np.maximum(1 - margins, 0).sum())


def own(case: Case, solver: str, tol: float, seed: int = 0):
    """A call of `solve`."""
    options = {"fit_intercept": False, "random_state": seed, "quiet": True}
    return solve(case.X, case.y, C=case.C, tol=tol, solver=solver, **options)


def peer(name: str, case: Case, least: float, tol: float) -> Callable | None:
    """The call at the loosest tolerance that comes within `tol` of the optimum."""
    module = import_module(f"benchmarks.solvers.{name}")
    started = time.process_time()
    for rung in module.LADDER:
        try:
            w = np.ravel(module.solve(case, rung))
        except Exception:
            return None
        if case.objective(w) <= least * (1 + tol):
            return lambda: module.solve(case, rung)
        if time.process_time() - started > 20:
            return None
    return None


def medians(calls: dict[str, Callable]) -> dict[str, float]:
    """Processor time of each call, medians of calls in turns."""
    first = {name: timed(call, time.process_time)[0] for name, call in calls.items()}
    times = {name: [second] for name, second in first.items()}
    for turn in range(_MOST):
        for name, call in calls.items():
            if first[name] * (turn + 1) <= _TURN:
                times[name].append(timed(call, time.process_time)[0])
    # The first call of each may find cold caches.
    return {k: float(np.median(v[1:] if len(v) > 1 else v)) for k, v in times.items()}


def compare(report: Report, name: str, peers: bool) -> list[dict[str, float]]:
    """Every C and tolerance of one table."""
    X, y = TABLES[name]()
    rows = []
    for C in CS:
        case = Case(X, y, C)
        least = own(case, "auto", 1e-9).dual
        for tol in TOLS:
            calls = {s: partial(own, case, s, tol) for s in (*OWN, "auto")}
            others = {p: peer(p, case, least, tol) for p in PEERS if peers}
            calls |= {p: call for p, call in others.items() if call is not None}
            found = medians(calls)
            rows.append(found)
            chosen, auto = own(case, "auto", tol).solver, found["auto"]
            ratios = [min(found[s] for s in OWN) / auto]
            ratios += [found.get(p, np.inf) / auto for p in PEERS if peers]
            cells = [f"{1e3 * found[s]:.2f}" for s in (*OWN, "auto")]
            cells += [f"{r:.2f}" for r in ratios]
            report.say(f"| {name} | {C:g} | {tol:g} | {' | '.join(cells)} | {chosen} |")
    return rows


def steadiness(report: Report, name: str) -> None:
    """Seeds, and a looser tolerance."""
    X, y = TABLES[name]()
    for C in CS:
        case = Case(X, y, C)
        calls = {str(s): partial(own, case, "auto", 1e-4, s) for s in range(10)}
        times = medians(calls).values()
        passes = [own(case, "auto", tol).passes for tol in (1e-1, 1e-4)]
        spread, looser = max(times) / min(times), passes[0] / passes[1]
        report.say(f"| {name} | {C:g} | {spread:.2f} | {looser:.2f} |")


def summary(report: Report, rows: list[dict[str, float]], peers: bool) -> None:
    best = np.array([min(row[s] for s in OWN) / row["auto"] for row in rows])
    mean = np.exp(np.mean(np.log(best)))
    low = np.quantile(best, 0.05)
    report.say(f"\nBest of ours ÷ auto: 5th percentile {low:.2f}, mean {mean:.2f}")
    for p in PEERS if peers else ():
        ratio = np.array([row[p] / row["auto"] for row in rows if p in row])
        if ratio.size:
            mean = np.exp(np.mean(np.log(ratio)))
            low = f"least {ratio.min():.2f}, below 1: {np.mean(ratio < 1):.0%}"
            report.say(
                f"{p} ÷ auto: {low}, mean {mean:.2f}, {ratio.size} of {len(rows)}"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", action="store_true", help="other solvers, too")
    seen = ",".join(name for name in TABLES if name not in HELD_BACK)
    parser.add_argument("--tables", default=seen, help="some of them")
    parser.add_argument("--held-back", action="store_true", help=str(HELD_BACK))
    parser.add_argument("--no-seeds", action="store_true", help="leave seeds out")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names, report, rows = options.tables.split(","), Report(), []
    names = [*HELD_BACK] if options.held_back else names
    others = [f"{p} ÷ auto" for p in PEERS if options.peers]
    report.say(
        f"# What auto chooses\n\n`make bench-choice`, one thread. {describe()}\n"
    )
    head = ["data", "C", "tol", *(f"{s}, ms" for s in (*OWN, "auto")), "best ÷ auto"]
    head += [*others, "auto ends with"]
    report.say(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    with threadpool_limits(1):
        for name in names:
            rows += compare(report, name, options.peers)
        summary(report, rows, options.peers)
        if not options.no_seeds:
            report.say("\n| data | C | largest ÷ smallest of 10 seeds | 1e-1 ÷ 1e-4 |")
            report.say("|---|---|---|---|")
            for name in names:
                steadiness(report, name)
    if options.tables == seen and not options.held_back:
        report.save("choice.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
