"""Rows that repeat, beside rows that do not: `python -m benchmarks.ties`.

Categorical and rounded tables have few distinct rows, which are solved as one each. The
time of a solve is told in products X @ w of the same run, medians of processor time; so
is that of looking for equal rows, where most of them differ. One thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.bench.report import Report
from benchmarks.datasets import covtype, shared
from wideberth import path, solve
from wideberth.problem import Problem
from wideberth.problem.merge import merge_equal_rows


class Table(NamedTuple):
    """A problem, and the tolerance asked for."""

    name: str
    X: Any
    y: np.ndarray
    C: float
    tol: float = 1e-6


def standardised(X: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and deviation 1."""
    return np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))


def rounded(X: np.ndarray, levels: int) -> np.ndarray:
    """Every column in bins of equal width, numbered."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.minimum(np.floor(levels * (X - low) / (high - low)), levels - 1)


def ranked(X: np.ndarray, levels: int) -> np.ndarray:
    """Every column in bins of about as many rows, numbered."""
    shares = np.arange(1, levels) / levels
    bins = [np.searchsorted(np.quantile(column, shares), column) for column in X.T]
    return np.column_stack(bins).astype(np.float64)


def one_hot(X: np.ndarray) -> sp.csr_array:
    """A column for every value of a column."""
    parts = [sp.csr_array(column[:, None] == np.unique(column)) for column in X.T]
    return sp.hstack(parts, format="csr", dtype=np.float64)


def tables() -> Iterator[Table]:
    """Those that repeat, then those that do not."""
    with np.load(shared("covtype.npz")) as data:
        X, y = data["X"], np.where(data["y"] == 2, 1, -1)
    binary = np.ascontiguousarray(X[:, 10:], dtype=np.float64)
    numeric = X[:, :10].astype(np.float64)
    yield Table("44 binary columns", binary, y, 1.0)
    yield Table("44 binary columns, CSR", sp.csr_array(binary), y, 1.0)
    for C in (0.01, 1.0):
        yield Table("10 columns, 5 levels", standardised(rounded(numeric, 5)), y, C)
    for C in (0.01, 1.0):
        yield Table("10 columns, 5 ranks", standardised(ranked(numeric, 5)), y, C)
    few = rounded(numeric, 5)
    yield Table("10 columns, 5 levels, one-hot", one_hot(few), y, 1.0)
    rng = np.random.default_rng(0)
    few = rng.normal(size=(48_771, 10))
    labels = np.where(few @ rng.normal(size=10) + rng.normal(size=48_771) > 0, 1, -1)
    J = rng.integers(48_771, size=600_000)
    yield Table("600 000×10, 48 771 distinct", few[J], labels[J], 0.01)
    yield Table("its distinct rows", few, labels, 0.01 * 600_000 / 48_771)
    X = rng.normal(size=(600_000, 10))
    labels = np.where(X @ rng.normal(size=10) + rng.normal(size=600_000) > 0, 1, -1)
    yield Table("600 000×10, all distinct", X, labels, 0.01)
    yield Table("covtype", *covtype.load(), 1.0, 1e-4)


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """Processor time, the median of some."""
    spent = []
    for _ in range(repeats):
        started = time.process_time()
        call()
        spent.append(time.process_time() - started)
    return float(np.median(spent))


def measure(table: Table, repeats: int) -> str:
    """A line of the report."""
    name, X, y, C, tol = table
    product = seconds(lambda: X @ np.ones(X.shape[1]), 9)
    options = {"tol": tol, "quiet": True, "random_state": 0}
    found = solve(X, y, C=C, **options)
    solved = seconds(lambda: solve(X, y, C=C, **options), repeats)
    problem = Problem.from_data(X, y, intercept=0.0)
    looked = seconds(lambda: merge_equal_rows(problem), repeats)
    equal = merge_equal_rows(problem)
    distinct = "" if equal is None else f"{equal.problem.n}"
    Cs = np.geomspace(0.1 * C, C, 5)
    along = seconds(lambda: path(X, y, Cs=Cs, **options), 1)
    return (
        f"| {name} | {X.shape[0]}×{X.shape[1]} | {distinct} | {C:.3g} | "
        f"{1e3 * product:.1f} | {solved / product:.1f} | {looked / product:.2f} | "
        f"{along / product:.0f} | {found.passes:.1f} | {found.relative_gap:.0e} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="tables whose names hold all of them")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    report = Report()
    report.say("# Rows that repeat; times in products X @ w")
    report.say()
    report.say(
        "| data | shape | distinct | C | product, ms | solve | of it looking for equal "
        "rows | path of 5 | passes | gap |"
    )
    report.say("|" + 10 * "---|")
    for table in tables():
        if all(word in table.name for word in given.words):
            report.say(measure(table, given.repeats))
    if not given.words:
        report.save("ties.md")


if __name__ == "__main__":
    main()
