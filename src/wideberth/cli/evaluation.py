"""How right a model is on rows it has not seen, and how far it is ahead of others.

Every row is predicted once by each of three models that have not seen it, trained in
the same folds: by the procedure that was asked for, by an ordinary SVM with the same C,
and by an ordinary SVM whose C is tuned (`tuned_Cs`). Ordinary is radius 0, no norm
penalty, and every label trusted. A prediction counts as certified at radius r if it is
right and no move of that size in the shape of the noise could change it
(`wideberth.certify`).

Two models predict the same n rows, so each row has a difference d_i = −1, 0 or 1
between right and wrong. The gain is the mean of d_i, and its standard error √(var d/n),
over rows and paired: predictions that agree count for nothing, as in McNemar's test. In
balanced accuracy each of K classes counts the same: the gain is the mean of the means
m_k of its classes, with standard error √(Σ_k var_k d/n_k)/K and the degrees of freedom
of Welch and Satterthwaite. One class, K = 1, is the plain case.

As an interval for the difference of the models of the folds it is valid for
cross-validation of procedures that depend little on any single row, in the limit of
many rows (Bayle, Bayle, Janson and Mackey 2020, Cross-validation confidence intervals
for test error); the limit is taken by Student's t.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats
from sklearn.model_selection import StratifiedKFold

from wideberth.cli.errors import blamed_on_data
from wideberth.cli.options import FitOptions
from wideberth.cli.output import Progress
from wideberth.cli.prepare import PreparedRows
from wideberth.cli.result import (
    Accuracies,
    AccuracyCurve,
    ClassAccuracy,
    Evaluation,
    FoldShares,
    Gain,
    Gains,
    TunedC,
    VerdictAccuracy,
)
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
from wideberth.estimators.folds import Split, run_folds
from wideberth.noise import ErrorBars

#: Number of rows beyond which C of an ordinary SVM is tuned on a sample of so many. Of
#: 100 000 rows of covtype it finds a C that is as accurate on others as that from all
#: rows, to 0.01 percentage points, in an eighth of the time.
_SAMPLED = 10_000
#: Confidence at which one model is said to be ahead of another.
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class FoldAnswers:
    """What one model says of rows left out; radii are certified ones, if any are.

    `sure` are rows with a certain verdict, of models that give verdicts.
    """

    labels: np.ndarray
    radii: np.ndarray | None = None
    sure: np.ndarray | None = None

    @classmethod
    def joined(cls, parts: list[FoldAnswers]) -> FoldAnswers:
        """What a model says of the rows of several folds."""
        known = (name for name, own in vars(parts[0]).items() if own is not None)
        return cls(**{n: np.concatenate([getattr(p, n) for p in parts]) for n in known})


def assign_folds(options: FitOptions, y: np.ndarray) -> np.ndarray | None:
    """The fold that leaves each row out; None where there are to be, or can be, none.

    A class may have too few rows.
    """
    folds = fold_count(y, options.folds) if options.folds else 0
    if not folds:
        return None
    splitter = StratifiedKFold(folds, shuffle=True, random_state=options.seed)
    fold = np.zeros(len(y), dtype=int)
    for k, (_, test) in enumerate(splitter.split(np.zeros(len(y)), y)):
        fold[test] = k
    return fold


def _splits(fold: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    every = range(int(fold.max()) + 1)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in every]


def evaluate(
    options: FitOptions,
    rows: PreparedRows,
    given: Uncertainty,
    trained: Uncertainty,
    progress: Progress,
) -> Evaluation | None:
    """Cross-validated accuracy of a procedure and of ordinary SVMs beside it.

    The procedure starts from the radii `given`, and chooses anew in every fold what it
    chooses. None where no folds are wanted, or some class has too few rows.
    """
    fold = assign_folds(options, rows.y)
    if fold is None:
        return None
    X, y, tuned = rows.X, rows.y, None
    if asks_for_more(options, given):
        progress.show("tuning C of the ordinary SVM")
        tuned = tuned_Cs(options, given, rows, fold)

    def predict(asked: FitOptions, radius, split: Split) -> tuple[FoldAnswers, float]:
        train, test = split.train, split.test
        own = radius[train] if np.ndim(radius) else radius
        learnt, seen = _taken(given.bars, train), _taken(given.bars, test)
        learnt = learnt if np.any(np.asarray(own) > 0) else None
        weights = rows.weights_of(train)
        model, choice, _ = fit_model(
            asked, given, X[train], y[train], own, learnt, weights
        )
        said = FoldAnswers(
            model.predict(X[test]), model.certified_radius(X[test], seen)
        )
        return said, choice.C if choice else asked.one_C

    def models(split: Split) -> dict[str, FoldAnswers]:
        said, C = predict(options, given.radius, split)
        if tuned is None:
            return {"ordinary": said}
        Cs = {"ordinary": C, "tuned": tuned.Cs[split.number]}
        return {"robust": said} | {
            name: predict(options.ordinary(C), 0.0, split)[0] for name, C in Cs.items()
        }

    noise = asked_radius(options, given, trained)
    return compare(models, y, fold, measure(options), noise, tuned, progress)


def compare(
    models: Callable[[Split], dict[str, FoldAnswers]],
    y: np.ndarray,
    fold: np.ndarray,
    judged_by: str,
    noise: float | np.ndarray | None,
    tuned: TunedC | None,
    progress: Progress,
) -> Evaluation:
    """Accuracies and gains of the models of every fold, that asked for first.

    `noise` is one radius, one for each row, or None where nothing is certified. An
    interrupt ends it with the folds that are done, of which there must be two.
    """
    splits = _splits(fold)

    def shown(split: Split) -> dict[str, FoldAnswers]:
        where = f"cross-validating, fold {split.number + 1} of {len(splits)}"
        progress.show(where, split.number, len(splits))
        return models(split)

    done = run_folds(shown, splits, keep=2)
    rows = np.concatenate([test for _, test in splits[: len(done)]])
    held = {name: FoldAnswers.joined([one[name] for one in done]) for name in done[0]}
    judge = _Judge(y[rows], fold[rows], judged_by != "accuracy")
    right = {name: own.labels == judge.y for name, own in held.items()}
    certified: dict[str, np.ndarray] = {}
    radii = None
    if noise is not None:
        noise = noise[rows] if isinstance(noise, np.ndarray) and noise.ndim else noise
        reach = {n: own.radii for n, own in held.items() if own.radii is not None}
        certified = {n: certain(right[n], own, noise) for n, own in reach.items()}
        every = np.concatenate(list(reach.values()))
        radii = curve_radii(every, float(np.median(noise)))
    first, *others = held
    counts = np.unique(judge.y, return_counts=True)[1]
    share = 1 / len(counts) if judge.balanced else counts.max() / counts.sum()
    return Evaluation(
        folds=len(done),
        interrupted=len(done) < len(splits),
        measure=judged_by,
        majority=float(share),
        radii=None if radii is None else radii.tolist(),
        models={
            name: Accuracies(
                accuracy=judge.shares(right[name]),
                certified=judge.shares(certified[name]) if certified else None,
                curve=judge.curve(right[name], held[name].radii, radii),
                classes=judge.classes(right[name], certified.get(name)),
            )
            for name in held
        },
        confusion=judge.confusion(held[first].labels),
        gains={
            name: Gains(
                judge.gain(right[first], right[name]),
                judge.gain(certified[first], certified[name]) if certified else None,
            )
            for name in others
        },
        tuned=tuned,
        verdicts=_verdicts(right[first], held[first].sure),
    )


@dataclass(frozen=True)
class _Judge:
    """The classes of rows, and the folds that leave them out."""

    y: np.ndarray
    fold: np.ndarray
    balanced: bool  # whether every class counts the same

    @property
    def group(self) -> np.ndarray:
        """The class that each row counts for; one for all in plain accuracy."""
        if not self.balanced:
            return np.zeros(len(self.y), dtype=int)
        return np.unique(self.y, return_inverse=True)[1]

    def gain(self, own: np.ndarray, other: np.ndarray) -> Gain:
        return paired_gain(own, other, self.fold, self.group)

    def shares(self, right: np.ndarray) -> FoldShares:
        """Of rows that are right, in each fold."""
        each = shares(right, self.fold, self.group)
        return FoldShares(float(each.mean()), float(each.std(ddof=1)), each.tolist())

    def curve(
        self, right: np.ndarray, reach: np.ndarray | None, radii: np.ndarray | None
    ) -> AccuracyCurve | None:
        """Certified accuracy over radii."""
        if reach is None or radii is None:
            return None
        hits, group = (certain(right, reach, radius) for radius in radii), self.group
        drawn = np.array([shares(hit, self.fold, group) for hit in hits])
        ends = (drawn.mean(axis=1), drawn.min(axis=1), drawn.max(axis=1))
        return AccuracyCurve(*(end.tolist() for end in ends))

    def classes(
        self, right: np.ndarray, sure: np.ndarray | None
    ) -> dict[str, ClassAccuracy]:
        """Shares within every class."""
        found = {}
        for label in np.unique(self.y).tolist():
            own = self.y == label
            safe = None if sure is None else float(sure[own].mean())
            found[str(label)] = ClassAccuracy(float(right[own].mean()), safe)
        return found

    def confusion(self, labels: np.ndarray) -> dict[str, dict[str, int]]:
        """Rows by their class, and within it by the class predicted."""
        classes, given = np.unique(self.y, return_inverse=True)
        names, k = [str(label) for label in classes.tolist()], len(classes)
        pairs = k * given + np.searchsorted(classes, labels)
        counts = np.bincount(pairs, minlength=k**2).reshape(k, k).tolist()
        return {
            name: dict(zip(names, own, strict=True))
            for name, own in zip(names, counts, strict=True)
        }


def _verdicts(
    right: np.ndarray, sure: np.ndarray | None
) -> dict[str, VerdictAccuracy] | None:
    """How right certain and doubtful verdicts are."""
    if sure is None:
        return None
    kinds = {"certain": right[sure], "doubtful": right[~sure]}
    return {
        kind: VerdictAccuracy(len(own), float(own.mean()) if own.size else None)
        for kind, own in kinds.items()
    }


def asks_for_more(options: FitOptions, given: Uncertainty) -> bool:
    """Whether more is asked for than an ordinary SVM, with or without tuning of C."""
    noisy = np.any(np.asarray(given.radius) > 0) and any(given.factors)
    return bool(noisy) or any(options.norm_penalty) or bool(options.ramp)


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
    options: FitOptions, given: Uncertainty, data: PreparedRows, fold: np.ndarray
) -> TunedC:
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
    rows = _sampled(y, fold, options.seed)
    share, splits = len(rows) / len(y), _splits(fold[rows])
    if share < 1:
        X, y, bars = X[rows], y[rows], _taken(bars, rows)
        weights = data.weights_of(rows)
        radius = radius[rows] if np.ndim(radius) else radius
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
    return TunedC(Cs[elsewhere.argmax(axis=0)].tolist(), len(rows), len(fold))


def _sampled(y: np.ndarray, fold: np.ndarray, seed: int) -> np.ndarray:
    """Row numbers: all, or of each class in each fold the same share, at least one."""
    share = _SAMPLED / len(y)
    if share >= 1:
        return np.arange(len(y))
    order = np.random.default_rng(seed).permutation(len(y))
    number = np.unique(y, return_inverse=True)[1]
    cell = (number * (int(fold.max()) + 1) + fold)[order]
    parts = (order[cell == one] for one in np.unique(cell))
    return np.sort(np.concatenate([p[: int(np.ceil(share * len(p)))] for p in parts]))


def _taken(bars: ErrorBars | None, rows: np.ndarray) -> ErrorBars | None:
    return None if bars is None else bars.take(rows)


# -- shares and gains ------------------------------------------------------------------


def shares(right: np.ndarray, fold: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Of rows that are right, in each fold: the mean over the groups of their shares.

    `group` and `fold` number those of each row from 0; every fold has rows of each.
    """
    shape = int(fold.max()) + 1, int(group.max()) + 1
    cell = np.ravel_multi_index((fold, group), shape)
    count = np.prod(shape)
    each = np.bincount(cell, right, count) / np.bincount(cell, minlength=count)
    return each.reshape(shape).mean(axis=1)


def paired_gain(
    own: np.ndarray, other: np.ndarray, fold: np.ndarray, group: np.ndarray
) -> Gain:
    """Mean difference, its standard error, and an interval of `_CONFIDENCE` for it.

    `own` and `other` say which rows each model has right, `fold` where they were left
    out and `group` which class they count for, from 0; all are of one group in plain
    accuracy.
    """
    difference = own.astype(float) - other
    parts = [difference[group == k] for k in range(int(group.max()) + 1)]
    mean = float(np.mean([part.mean() for part in parts]))
    squares = np.array([part.var(ddof=1) / len(part) for part in parts])
    error = float(np.sqrt(squares.sum()) / len(parts))
    half = 0.0
    if error > 0:
        each = np.array([len(part) - 1 for part in parts])
        freedom = squares.sum() ** 2 / np.sum(squares**2 / each)
        half = error * float(stats.t.isf((1 - _CONFIDENCE) / 2, freedom))
    folds = shares(difference, fold, group).tolist()
    return Gain(mean, error, mean - half, mean + half, _CONFIDENCE, folds)
