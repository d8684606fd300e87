"""What is run, and what is measured of it.

The experiment is a list of cells; a cell is one configuration (data set, C, radius),
one method, and one of

* `fit`: train on all samples against the clock, and judge the result; one per repeat.
* `fold`: train on four fifths of the samples, test on the rest; one per fold.

or, without a method,

* `reference`: the near-exact solution the others are held against.
* `regions`: how much each safe region screens at given gaps.

Fits are timed one after the other in processor time, each on one thread; methods take
turns, so that a slow minute of the machine hits them all alike. The other cells are not
timed and may share the machine. `run` keeps every cell in a `Store` as it finishes, and
skips those already there.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cache

import numpy as np
from threadpoolctl import threadpool_limits

from wideberth.datasets import paper_preprocess
from wideberth_paper import CS, DATASETS, configurations, load
from wideberth_paper.methods import METHODS
from wideberth_paper.reference import Reference, accuracies
from wideberth_paper.regions import RULES, shares
from wideberth_paper.store import Store

FOLDS = 5
#: Processor time, which other programs hardly change. On Windows its steps of 16 ms are
#: longer than some fits: there it is wall clock.
_clock = time.perf_counter if sys.platform == "win32" else time.process_time

Configuration = tuple[str, float, float]


@dataclass(frozen=True)
class Cell:
    """One piece of the experiment."""

    dataset: str
    C: float
    radius: float
    kind: str
    method: str = ""
    index: int = 0

    @property
    def key(self) -> str:
        """Name under which the result is stored."""
        return (
            f"{self.dataset}/C={self.C:g}/radius={self.radius:g}/{self.kind}"
            f"/{self.method}/{self.index}"
        )

    @property
    def title(self) -> str:
        """What the progress display says."""
        name = METHODS[self.method].label if self.method else self.kind
        return f"{self.dataset} C={self.C:g} ρ={self.radius:g} · {name}"

    @property
    def effort(self) -> float:
        """Rough cost, for the progress display alone."""
        size = 1.0 if self.dataset == "spambase" else 0.15
        hard = 3.0 if self.C >= 10 and self.method in _ON_SCS else 1.0
        cost = METHODS[self.method].effort if self.method else 0.3
        return size * hard * cost


#: Methods that slow down as C grows.
_ON_SCS = ("scs", "as_published", "as_printed", "repaired")


@dataclass(frozen=True)
class Plan:
    """Which configurations to run, and how thoroughly."""

    name: str
    configurations: tuple[Configuration, ...]
    #: Those also cross-validated.
    validated: tuple[Configuration, ...]
    repeats: int

    @property
    def timed(self) -> list[Cell]:
        """Fits; a whole round over all methods and configurations before the next."""
        return [
            Cell(*configuration, "fit", method, repeat)
            for repeat in range(self.repeats)
            for configuration in self.configurations
            for method in METHODS
        ]

    @property
    def untimed(self) -> list[Cell]:
        """References, regions and folds; the long ones first, to share cores well."""
        alone = [
            Cell(*configuration, kind)
            for kind in ("reference", "regions")
            for configuration in self.configurations
        ]
        folds = [
            Cell(*configuration, "fold", method, fold)
            for configuration in self.validated
            for method in METHODS
            for fold in range(FOLDS)
        ]
        return alone + sorted(folds, key=lambda cell: -cell.effort)


def full_plan(repeats: int = 3) -> Plan:
    """The paper's whole grid, every configuration cross-validated."""
    everything = tuple(configurations())
    return Plan("full", everything, everything, repeats)


def quick_plan(repeats: int = 1) -> Plan:
    """A part of the grid that takes one to three minutes."""
    small = tuple(("breast_cancer", C, radius) for radius in (0.0, 0.05) for C in CS)
    large = tuple(("spambase", C, 0.05) for C in (0.1, 1.0))
    validated = (*small[len(CS) :], large[-1])
    return Plan("quick", small + large, validated, repeats)


def run(
    plan: Plan,
    store: Store,
    jobs: int = 1,
    started: Callable[[Cell], None] = lambda cell: None,
    finished: Callable[[Cell], None] = lambda cell: None,
) -> dict[str, str]:
    """Run what the store does not hold yet; returns the failures as {cell: why}.

    Fits run one at a time; the rest on `jobs` processes at once. `started` and
    `finished` are told of every cell that is run.
    """
    failures: dict[str, str] = {}
    for cells, workers in ((plan.timed, 1), (plan.untimed, jobs)):
        missing = [cell for cell in cells if cell.key not in store.results]
        for cell, result in _measured(missing, workers, started):
            if "failure" in result:
                failures[cell.key] = result["failure"]
            else:
                store.add(cell.key, result)
            finished(cell)
    return failures


def _measured(cells: list[Cell], jobs: int, started) -> Iterator[tuple[Cell, dict]]:
    """Measure cells in other processes, yielding results as they come.

    In processes of their own because SCS takes Ctrl-C for itself, and because a solver
    that crashes should not take the run along.
    """
    if not cells:
        return
    # Threads of a progress display must not be forked.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=_prepare_worker) as pool:
        waiting = list(reversed(cells))
        running: dict[Future, Cell] = {}
        while waiting or running:
            while waiting and len(running) < jobs:
                cell = waiting.pop()
                started(cell)
                running[pool.submit(measure, cell)] = cell
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()


def _prepare_worker() -> None:
    """Warm up, and end without a word on Ctrl-C or when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    X, y = _load("breast_cancer")
    with threadpool_limits(1):  # every method imports and compiles what it needs
        for method in METHODS.values():
            method.run(X[:100], y[:100], 1.0, 0.01)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def measure(cell: Cell) -> dict:
    """Run one cell; a method that breaks down yields {"failure": why}."""
    with threadpool_limits(1):
        if cell.kind == "reference":
            return _reference(cell.dataset, cell.C, cell.radius).summary()
        if cell.kind == "regions":
            return _measure_regions(cell)
        try:
            return _measure_fold(cell) if cell.kind == "fold" else _measure_fit(cell)
        except (RuntimeError, ValueError, ArithmeticError) as error:
            return {"failure": f"{type(error).__name__}: {error}"}


def _measure_fit(cell: Cell) -> dict:
    X, y = _load(cell.dataset)
    start = _clock()
    fit = METHODS[cell.method].run(X, y, cell.C, cell.radius)
    seconds = _clock() - start
    if cell.index > 0:  # the methods are deterministic: later repeats only add a time
        return {"seconds": seconds}
    reference = _reference(cell.dataset, cell.C, cell.radius)
    return {"seconds": seconds, **reference.judge(fit, y)}


def _measure_fold(cell: Cell) -> dict:
    train, y_train, test, y_test = _fold(cell.dataset, cell.index)
    fit = METHODS[cell.method].run(train, y_train, cell.C, cell.radius)
    accuracy, robust = accuracies(test, y_test, fit.w, cell.radius)
    return {"test_accuracy": accuracy, "robust_test_accuracy": robust}


def _measure_regions(cell: Cell) -> dict:
    problem = _reference(cell.dataset, cell.C, cell.radius).problem
    names = [region for _, region, _ in RULES]
    return {
        "levels": [
            {"relative_gap": gap} | dict(zip(names, decided, strict=True))
            for gap, decided in shares(problem)
        ]
    }


_load = cache(load)


@cache
def _reference(dataset: str, C: float, radius: float) -> Reference:
    return Reference.of(*_load(dataset), C, radius)


@cache
def _fold(dataset: str, index: int) -> tuple[np.ndarray, ...]:
    """Training and test part of a fold, scaled by the training part alone."""
    from sklearn.model_selection import StratifiedKFold

    X, y = DATASETS[dataset]()
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y)
    train, test = list(folds)[index]
    return (
        paper_preprocess(dataset, X[train]),
        y[train],
        paper_preprocess(dataset, X[test], fitted_on=X[train]),
        y[test],
    )
