"""How right a model is on rows it has not seen, and how far it is ahead of others.

Every row is predicted once by each of three models that have not seen it, trained in
the same folds: by the procedure that was asked for, by an ordinary SVM with the same C,
and by an ordinary SVM whose C is tuned (`tuned_Cs`). Ordinary is radius 0, no norm
penalty, and every label trusted. What one is ahead of another: `gain.py`.

A prediction counts as certified at radius r if it is right and no move of that size in
the shape of the noise could change it (`wideberth.certify`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from wideberth.cli.errors import blamed_on_data
from wideberth.cli.gain import paired_gain, shares
from wideberth.cli.options import FitOptions
from wideberth.cli.output import Progress
from wideberth.cli.prepare import PreparedRows
from wideberth.cli.training import (
    POINTS,
    certain,
    curve_radii,
    fit_model,
    fold_count,
    measure,
    search_grid,
)
from wideberth.cli.uncertainty import Uncertainty
from wideberth.noise import ErrorBars

#: Number of rows beyond which C of an ordinary SVM is tuned on a sample of so many. Of
#: 100 000 rows of covtype it finds a C that is as accurate on others as that from all
#: rows, to 0.01 percentage points, in an eighth of the time.
_SAMPLED = 10_000

#: Predictions of rows left out, and their certified radii where there are any.
Predicted = tuple[np.ndarray, np.ndarray | None]


@dataclass
class Contest:
    """Models that predict the same rows, each left out once."""

    y: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]]
    fold: np.ndarray  # where each row is left out
    labels: dict[str, np.ndarray]  # by model, that of the procedure asked for first
    radii: dict[str, np.ndarray | None]  # certified ones
    measure: str = "accuracy"  # or balanced accuracy, where every class counts the same
    rows: Any = ...  # those left out so far, where it was interrupted

    @classmethod
    def announced(cls, options: FitOptions, y: np.ndarray) -> Contest | None:
        """Folds as the options want them; None where there are to be, or can be, none.

        A class may have too few rows.
        """
        folds = fold_count(y, options.folds) if options.folds else 0
        if not folds:
            return None
        splitter = StratifiedKFold(folds, shuffle=True, random_state=options.seed)
        splits = list(splitter.split(np.zeros(len(y)), y))
        fold = np.zeros(len(y), dtype=int)
        for k, (_, test) in enumerate(splits):
            fold[test] = k
        return cls(y, splits, fold, {}, {}, measure(options))

    def enter(self, name: str, test: np.ndarray, predicted: Predicted) -> None:
        """Note what a model says of rows left out."""
        labels, radii = predicted
        n = len(self.y)
        if name not in self.labels:
            self.labels[name] = np.empty(n, dtype=self.y.dtype)
            self.radii[name] = None if radii is None else np.empty(n)
        self.labels[name][test] = labels
        if radii is not None:
            self.radii[name][test] = radii  # type: ignore[index]

    def hold(
        self,
        name: str,
        own: Callable[[np.ndarray, np.ndarray], tuple[Predicted, float]],
        ordinary: Callable[[float, np.ndarray, np.ndarray], Predicted],
        Cs: list[float] | None,
        progress: Progress,
    ) -> None:
        """Train and predict in every fold.

        `own` is the procedure, which also tells the C it took. The others enter where
        there are `Cs` for the tuned one. An interrupt ends it with the folds that are
        done, of which there must be two.
        """
        steps = (1 if Cs is None else 3) * len(self.splits)
        progress.begin(steps)
        try:
            for k, (train, test) in enumerate(self.splits):
                where = f"cross-validating, fold {k + 1} of {len(self.splits)}"
                with progress.step(where):
                    predicted, C = own(train, test)
                self.enter(name, test, predicted)
                others = () if Cs is None else (("ordinary", C), ("tuned", Cs[k]))
                for other, price in others:
                    with progress.step(where):
                        predicted = ordinary(price, train, test)
                    self.enter(other, test, predicted)
        except KeyboardInterrupt:
            if k < 2:
                raise
            self._keep(k)

    def _keep(self, folds: int) -> None:
        """Forget all rows but those of the first folds."""
        self.rows = kept = np.flatnonzero(self.fold < folds)
        self.splits = self.splits[:folds]
        self.y, self.fold = self.y[kept], self.fold[kept]
        self.labels = {name: labels[kept] for name, labels in self.labels.items()}
        self.radii = {
            name: None if reach is None else reach[kept]
            for name, reach in self.radii.items()
        }

    def described(self, noise: Any, tuned: dict | None) -> dict:
        """Accuracies and gains, as measured and under the worst noise of this radius.

        `noise` is one radius, one for each row, or None where nothing is certified.
        """
        noise = noise[self.rows] if np.ndim(noise) else noise
        right = {name: labels == self.y for name, labels in self.labels.items()}
        sure = {
            name: None if reach is None else certain(right[name], reach, noise)
            for name, reach in self.radii.items()
        }
        first, *others = right
        radii = None
        if noise is not None:
            reaches = np.concatenate([r for r in self.radii.values() if r is not None])
            radii = curve_radii(reaches, float(np.median(noise)))
        counts = np.unique(self.y, return_counts=True)[1]
        share = 1 / len(counts) if self._balanced else counts.max() / counts.sum()
        return {
            "folds": len(self.splits),
            "interrupted": np.ndim(self.rows) > 0,
            "measure": self.measure,
            "majority": float(share),
            "radii": None if radii is None else radii.tolist(),
            "models": {
                name: self._described(right[name], sure[name], self.radii[name], radii)
                for name in right
            },
            "confusion": self._confusion(self.labels[first]),
            "gains": {
                name: {
                    "accuracy": self._gain(right[first], right[name]),
                    "certified": self._gain(sure[first], sure[name]),
                }
                for name in others
            },
            "tuned": tuned,
            "verdicts": None,
        }

    def _gain(self, own: np.ndarray | None, other: np.ndarray | None) -> dict | None:
        """What one model is ahead of another; None where nothing is certified."""
        if own is None or other is None:
            return None
        return paired_gain(own, other, self.fold, self._group)

    @property
    def _balanced(self) -> bool:
        return self.measure != "accuracy"

    @property
    def _group(self) -> np.ndarray:
        """The class that each row counts for; one for all in plain accuracy."""
        if not self._balanced:
            return np.zeros(len(self.y), dtype=int)
        return np.unique(self.y, return_inverse=True)[1]

    def _shares(self, right: np.ndarray) -> np.ndarray:
        """Of rows that are right, in each fold."""
        return shares(right, self.fold, self._group)

    def _described(self, right, sure, reach, radii) -> dict:
        """Accuracies of one model with their spread over folds, and within classes."""
        curve = None
        if radii is not None:
            drawn = np.array([self._shares(certain(right, reach, r)) for r in radii])
            curve = {
                "mean": drawn.mean(axis=1).tolist(),
                "low": drawn.min(axis=1).tolist(),
                "high": drawn.max(axis=1).tolist(),
            }

        def within(label) -> dict:
            own = self.y == label
            return {
                "accuracy": float(right[own].mean()),
                "certified": None if sure is None else float(sure[own].mean()),
            }

        return {
            "accuracy": _spread_over_folds(self._shares(right)),
            "certified": None
            if sure is None
            else _spread_over_folds(self._shares(sure)),
            "curve": curve,
            "classes": {
                str(label): within(label) for label in np.unique(self.y).tolist()
            },
        }

    def _confusion(self, labels: np.ndarray) -> dict:
        """Numbers of rows, by the class given and the class predicted."""
        classes, given = np.unique(self.y, return_inverse=True)
        counts = np.zeros((len(classes), len(classes)), dtype=int)
        np.add.at(counts, (given, np.searchsorted(classes, labels)), 1)
        return {
            "classes": [str(label) for label in classes.tolist()],
            "counts": counts.tolist(),
        }


def evaluate(
    options: FitOptions,
    rows: PreparedRows,
    given: Uncertainty,
    trained: Uncertainty,
    progress: Progress,
) -> dict | None:
    """Cross-validated accuracy of a procedure and of ordinary SVMs beside it.

    The procedure starts from the radii `given`, and chooses anew in every fold what it
    chooses. None where no folds are wanted, or some class has too few rows.
    """
    contest = Contest.announced(options, rows.y)
    if contest is None:
        return None
    X, y = rows.X, rows.y

    def predict(asked: FitOptions, radius, train, test) -> tuple[Predicted, float]:
        own = radius[train] if np.ndim(radius) else radius
        learnt, seen = _taken(given.bars, train), _taken(given.bars, test)
        learnt = learnt if np.any(np.asarray(own) > 0) else None
        weights = rows.weights_of(train)
        model, choice, _ = fit_model(
            asked, given, X[train], y[train], own, learnt, weights
        )
        said = model.predict(X[test]), model.certified_radius(X[test], seen)
        return said, choice["C"] if choice else asked.one_C

    robust, tuned = asks_for_more(options, given), None
    if robust:
        progress.show("tuning C of the ordinary SVM")
        tuned = tuned_Cs(options, given, rows, contest)
    contest.hold(
        "robust" if robust else "ordinary",
        lambda train, test: predict(options, given.radius, train, test),
        lambda C, train, test: predict(options.ordinary(C), 0.0, train, test)[0],
        tuned["Cs"] if tuned else None,
        progress,
    )
    return contest.described(asked_radius(options, given, trained), tuned)


def asks_for_more(options: FitOptions, given: Uncertainty) -> bool:
    """Whether more is asked for than an ordinary SVM, with or without tuning of C."""
    noisy = np.any(np.asarray(given.radius) > 0) and any(given.factors)
    return bool(noisy) or options.trusting() != options


def asked_radius(options: FitOptions, given: Uncertainty, trained: Uncertainty):
    """The noise to stand: as the options state it, whatever training then chose.

    Where they name radii to choose from and nothing else, that is the one chosen, or
    the largest where none was.
    """
    if options.score_radius is not None:
        return options.score_radius * given.radius
    if not given.unit_radius:
        return given.radius
    return trained.radius if trained.radius > 0 else max(options.radius.values)


def tuned_Cs(
    options: FitOptions, given: Uncertainty, data: PreparedRows, contest: Contest
) -> dict:
    """C of an ordinary SVM for every fold: that which is best on the other folds.

    It is one of those that --C auto tries, or the one in the options. The same folds
    serve for all: rows left out have a part in training the models that are scored
    elsewhere, but are never scored for their own choice. What little that helps, it
    helps the ordinary SVM. Best is by accuracy, balanced where classes are, under the
    worst noise of --score-radius where that is given. C is a price per row: what is
    best for a sample of m of n rows counts as C·m/n for all.
    """
    asked, bars = options.ordinary(), None
    radius: Any = 0.0
    if options.score_radius is not None:
        asked = options.ordinary(score_radius=options.score_radius)
        given = replace(given, factors=(0.0,))
        radius, bars = given.radius, given.bars
    X, y, weights = data.X, data.y, data.weights
    rows = _sampled(y, contest.fold, options.seed)
    share, fold = len(rows) / len(y), contest.fold[rows]
    if share < 1:
        X, y, bars = X[rows], y[rows], _taken(bars, rows)
        weights = data.weights_of(rows)
        radius = radius[rows] if np.ndim(radius) else radius
    splits = [
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k))
        for k in range(len(contest.splits))
    ]
    # Where features are not standardised the usual range may end far below this C.
    grids: tuple = POINTS, [options.one_C / share]
    with blamed_on_data(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of models that are not chosen
        found = [
            search_grid(asked, given, X, y, radius, bars, weights, splits, Cs)
            for Cs in grids
        ]
    Cs = share * np.concatenate([search.Cs_ for search in found])
    scores = np.concatenate([search.scores_[0, 0] for search in found])
    elsewhere = scores.sum(axis=1, keepdims=True) - scores
    best = Cs[elsewhere.argmax(axis=0)].tolist()
    return {"Cs": best, "rows": len(rows), "of": len(contest.y)}


def _sampled(y: np.ndarray, fold: np.ndarray, seed: int) -> np.ndarray:
    """Row numbers: all, or of each class in each fold the same share, at least one."""
    n, share = len(y), _SAMPLED / len(y)
    if share >= 1:
        return np.arange(n)
    order = np.random.default_rng(seed).permutation(n)
    number = np.unique(y, return_inverse=True)[1]
    cell = (number * (int(fold.max()) + 1) + fold)[order]
    by_cell = np.argsort(cell, kind="stable")
    counts = np.bincount(cell)
    rank = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = rank < np.ceil(share * np.repeat(counts, counts))
    return np.sort(order[by_cell[kept]])


def _spread_over_folds(values: np.ndarray) -> dict:
    """What each fold gives, their mean and standard deviation."""
    mean, std = float(values.mean()), float(values.std(ddof=1))
    return {"mean": mean, "std": std, "folds": values.tolist()}


def _taken(bars: ErrorBars | None, rows: np.ndarray) -> ErrorBars | None:
    return None if bars is None else bars.take(rows)
