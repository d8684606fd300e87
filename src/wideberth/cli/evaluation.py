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
from dataclasses import dataclass, field, replace
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
from wideberth.noise import ErrorBars

#: Number of rows beyond which C of an ordinary SVM is tuned on a sample of so many. Of
#: 100 000 rows of covtype it finds a C that is as accurate on others as that from all
#: rows, to 0.01 percentage points, in an eighth of the time.
_SAMPLED = 10_000
#: Confidence at which one model is said to be ahead of another.
_CONFIDENCE = 0.95


@dataclass
class Held:
    """What one model says of rows left out; radii are certified ones, if any are.

    `sure` are rows with a certain verdict, of models that give verdicts.
    """

    labels: np.ndarray
    radii: np.ndarray | None = None
    sure: np.ndarray | None = None

    def over(self, n: int) -> Held:
        """Room for n rows."""
        parts = (self.labels, self.radii, self.sure)
        return Held(*(p if p is None else np.empty(n, p.dtype) for p in parts))

    def put(self, rows: np.ndarray, other: Held) -> None:
        """Enter what is said of some rows."""
        for own, said in zip(vars(self).values(), vars(other).values(), strict=True):
            if own is not None:
                own[rows] = said

    def take(self, rows: np.ndarray) -> Held:
        """What is said of some rows."""
        return Held(*(p if p is None else p[rows] for p in vars(self).values()))


@dataclass
class Contest:
    """Models that predict the same rows, each left out once.

    `fold` tells where each row is left out; the first of `models` is that asked for.
    `rows` are those left out before an interrupt, None if there was none.
    """

    y: np.ndarray
    fold: np.ndarray
    n_folds: int
    measure: str = "accuracy"
    models: dict[str, Held] = field(default_factory=dict)
    rows: np.ndarray | None = None

    @classmethod
    def announced(cls, options: FitOptions, y: np.ndarray) -> Contest | None:
        """Folds as the options want them; None where there are to be, or can be, none.

        A class may have too few rows.
        """
        folds = fold_count(y, options.folds) if options.folds else 0
        if not folds:
            return None
        splitter = StratifiedKFold(folds, shuffle=True, random_state=options.seed)
        fold = np.zeros(len(y), dtype=int)
        for k, (_, test) in enumerate(splitter.split(np.zeros(len(y)), y)):
            fold[test] = k
        return cls(y, fold, folds, measure(options))

    def hold(
        self,
        name: str,
        own: Callable[[np.ndarray, np.ndarray], tuple[Held, float]],
        ordinary: Callable[[float, np.ndarray, np.ndarray], Held],
        tuned: TunedC | None,
        progress: Progress,
    ) -> None:
        """Train and predict in every fold.

        `own` is the procedure, which also tells the C it took. The others enter where
        one is `tuned`. An interrupt ends it with the folds that are done, of which
        there must be two.
        """
        progress.begin((1 if tuned is None else 3) * self.n_folds)
        for k in range(self.n_folds):
            train, test = np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)
            where = f"cross-validating, fold {k + 1} of {self.n_folds}"
            try:
                with progress.step(where):
                    said, C = own(train, test)
                found = {name: said}
                others = {} if tuned is None else {"ordinary": C, "tuned": tuned.Cs[k]}
                for other, price in others.items():
                    with progress.step(where):
                        found[other] = ordinary(price, train, test)
            except KeyboardInterrupt:
                if k < 2:
                    raise
                return self._keep(k)
            for called, said in found.items():
                self.models.setdefault(called, said.over(len(self.y))).put(test, said)

    def _keep(self, folds: int) -> None:
        """Forget all rows but those of the first folds."""
        self.rows, self.n_folds = np.flatnonzero(self.fold < folds), folds
        self.y, self.fold = self.y[self.rows], self.fold[self.rows]
        self.models = {name: own.take(self.rows) for name, own in self.models.items()}

    def evaluated(self, noise: Any, tuned: TunedC | None) -> Evaluation:
        """Accuracies and gains, as measured and under the worst noise of this radius.

        `noise` is one radius, one for each row, or None where nothing is certified.
        """
        if self.rows is not None and np.ndim(noise):
            noise = noise[self.rows]
        right = {name: own.labels == self.y for name, own in self.models.items()}
        sure, radii = dict.fromkeys(right), None
        if noise is not None:
            reach = {name: own.radii for name, own in self.models.items()}
            sure = {name: certain(right[name], r, noise) for name, r in reach.items()}
            all_reach = np.concatenate(list(reach.values()))
            radii = curve_radii(all_reach, float(np.median(noise)))
        first, *others = right
        counts = np.unique(self.y, return_counts=True)[1]
        balanced = self.measure != "accuracy"
        share = 1 / len(counts) if balanced else counts.max() / counts.sum()
        return Evaluation(
            folds=self.n_folds,
            interrupted=self.rows is not None,
            measure=self.measure,
            majority=float(share),
            radii=None if radii is None else radii.tolist(),
            models={
                name: self._accuracies(right[name], sure[name], name, radii)
                for name in right
            },
            confusion=self._confusion(self.models[first].labels),
            gains={
                name: Gains(
                    self._gain(right[first], right[name]),
                    None if noise is None else self._gain(sure[first], sure[name]),
                )
                for name in others
            },
            tuned=tuned,
            verdicts=self._verdicts(right[first], self.models[first].sure),
        )

    @property
    def _group(self) -> np.ndarray:
        """The class that each row counts for; one for all in plain accuracy."""
        if self.measure == "accuracy":
            return np.zeros(len(self.y), dtype=int)
        return np.unique(self.y, return_inverse=True)[1]

    def _gain(self, own: np.ndarray, other: np.ndarray) -> Gain:
        return paired_gain(own, other, self.fold, self._group)

    def _shares(self, right: np.ndarray) -> FoldShares:
        """Of rows that are right, in each fold."""
        each = shares(right, self.fold, self._group)
        return FoldShares(float(each.mean()), float(each.std(ddof=1)), each.tolist())

    def _accuracies(self, right, sure, name: str, radii) -> Accuracies:
        """Those of one model, with their spread over folds, and within classes."""
        curve, groups = None, self._group
        if radii is not None:
            reach = self.models[name].radii
            hits = (certain(right, reach, radius) for radius in radii)
            drawn = np.array([shares(hit, self.fold, groups) for hit in hits])
            ends = (drawn.mean(axis=1), drawn.min(axis=1), drawn.max(axis=1))
            curve = AccuracyCurve(*(end.tolist() for end in ends))

        def within(label) -> ClassAccuracy:
            own = self.y == label
            safe = None if sure is None else float(sure[own].mean())
            return ClassAccuracy(float(right[own].mean()), safe)

        return Accuracies(
            accuracy=self._shares(right),
            certified=None if sure is None else self._shares(sure),
            curve=curve,
            classes={str(label): within(label) for label in np.unique(self.y).tolist()},
        )

    def _confusion(self, labels: np.ndarray) -> dict[str, dict[str, int]]:
        classes, given = np.unique(self.y, return_inverse=True)
        pairs = len(classes) * given + np.searchsorted(classes, labels)
        counts = np.bincount(pairs, minlength=len(classes) ** 2).tolist()
        names = list(map(str, classes.tolist()))
        rows = (counts[k * len(names) :] for k in range(len(names)))
        return {
            name: dict(zip(names, own, strict=False))
            for name, own in zip(names, rows, strict=True)
        }

    def _verdicts(self, right, sure) -> dict[str, VerdictAccuracy] | None:
        """How right certain and doubtful verdicts are."""
        if sure is None:
            return None
        kinds = {"certain": right[sure], "doubtful": right[~sure]}
        return {
            kind: VerdictAccuracy(len(own), float(own.mean()) if own.size else None)
            for kind, own in kinds.items()
        }


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
    contest = Contest.announced(options, rows.y)
    if contest is None:
        return None
    X, y = rows.X, rows.y

    def predict(asked: FitOptions, radius, train, test) -> tuple[Held, float]:
        own = radius[train] if np.ndim(radius) else radius
        learnt, seen = _taken(given.bars, train), _taken(given.bars, test)
        learnt = learnt if np.any(np.asarray(own) > 0) else None
        weights = rows.weights_of(train)
        model, choice, _ = fit_model(
            asked, given, X[train], y[train], own, learnt, weights
        )
        said = Held(model.predict(X[test]), model.certified_radius(X[test], seen))
        return said, choice.C if choice else asked.one_C

    robust, tuned = asks_for_more(options, given), None
    if robust:
        progress.show("tuning C of the ordinary SVM")
        tuned = tuned_Cs(options, given, rows, contest)
    contest.hold(
        "robust" if robust else "ordinary",
        lambda train, test: predict(options, given.radius, train, test),
        lambda C, train, test: predict(options.ordinary(C), 0.0, train, test)[0],
        tuned,
        progress,
    )
    return contest.evaluated(asked_radius(options, given, trained), tuned)


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
    options: FitOptions, given: Uncertainty, data: PreparedRows, contest: Contest
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
    rows = _sampled(y, contest.fold, options.seed)
    share, fold = len(rows) / len(y), contest.fold[rows]
    if share < 1:
        X, y, bars = X[rows], y[rows], _taken(bars, rows)
        weights = data.weights_of(rows)
        radius = radius[rows] if np.ndim(radius) else radius
    splits = [
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k))
        for k in range(contest.n_folds)
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
    return TunedC(Cs[elsewhere.argmax(axis=0)].tolist(), len(rows), len(contest.y))


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
