"""How right a model is on rows it has not seen, and how far it is ahead of others.

Every row is predicted once by each of three models that have not seen it, trained in
the same folds: by the procedure that was asked for, by an ordinary model with the same
C, and by an ordinary one whose C is tuned (`tuned_Cs`). Ordinary is radius 0, no norm
penalty, and every label trusted; the kernel stays. Beside a kernel stands a straight
boundary: the same procedure without it, whose C is chosen within the rows to train on.
Beside models of numbers stands a constant, the quantile of the rows trained on.

Each row has a score. Of a class it is whether the prediction is right, and under worst
noise of radius r whether it is right and no move of that size in the shape of the noise
could change it (`wideberth.certify`). Of a number it is the error, and under worst
noise the largest error within the `prediction_range` of radius r.

Two models predict the same n rows, so each row has a difference d_i of scores: −1, 0
or 1 between right and wrong, a number between errors. The gain is the mean of d_i, and
its standard error √(var d/n), over rows and paired: predictions that agree count for
nothing, as in McNemar's test. In balanced accuracy each of K classes counts the same:
the gain is the mean of the means m_k of its classes, with standard error
√(Σ_k var_k d/n_k)/K and the degrees of freedom of Welch and Satterthwaite. One class,
K = 1, is the plain case.

As an interval for the difference of the models of the folds it is valid for
cross-validation of procedures that depend little on any single row, in the limit of
many rows (Bayle, Bayle, Janson and Mackey 2020, Cross-validation confidence intervals
for test error); the limit is taken by Student's t.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import stats

from wideberth.cli.errors import UserError, blamed_on_data
from wideberth.cli.options import FitOptions
from wideberth.cli.output import Progress
from wideberth.cli.prepare import PreparedRows
from wideberth.cli.result import (
    Choice,
    ClassShares,
    Coverage,
    Evaluation,
    FoldMeans,
    Gain,
    Gains,
    ModelScores,
    NoiseCurve,
    RadiusGain,
    Residuals,
    TunedC,
    VerdictAccuracy,
)
from wideberth.cli.training import (
    KERNEL_CS,
    POINTS,
    RADII,
    certain,
    curve_radii,
    fit_measured,
    fit_model,
    fit_search,
    folds_of,
    losses,
    measure,
    search_grid,
    steps,
)
from wideberth.cli.uncertainty import Uncertainty
from wideberth.data.errors import quoted
from wideberth.data.files import uninterrupted
from wideberth.estimators.folds import Split, run_folds
from wideberth.estimators.kernel_svc import quick_answers
from wideberth.estimators.measured_regressor import MeasuredRegressor
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.estimators.training import TrainingRows

#: Number of rows beyond which C of an ordinary SVM is tuned on a sample of so many. Of
#: 100 000 rows of covtype it finds a C that is as accurate on others as that from all
#: rows, to 0.01 percentage points, in an eighth of the time.
_SAMPLED = 10_000
#: Shares of true numbers that intervals are tried for.
COVERAGES = (0.5, 0.8, 0.9, 0.95)
#: Most rows whose residuals are drawn and told (a choice: a larger page says no more).
_DRAWN = 1000
#: Least squares, straight and curved: they say whether a kernel may pay, and are not
#: shown.
_QUICK = ("least squares", "quick curve")
#: Confidence at which one model is said to be ahead of another.
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class FoldAnswers:
    """What one model says of rows left out: classes or numbers, in `labels`.

    Classes have certified `radii`, if any; numbers have `moves`, by how much noise of
    size 1 moves them down and up. `sure` are rows with a certain verdict, of models
    that give verdicts; `sizes` are half the widths of the intervals that hold each of
    the shares `COVERAGES`, of models that give intervals, in the errors of the rows.
    """

    labels: np.ndarray
    radii: Any = None
    sure: np.ndarray | None = None
    moves: Any = None
    sizes: np.ndarray | None = None

    @classmethod
    def joined(cls, parts: list[FoldAnswers]) -> FoldAnswers:
        """What a model says of the rows of several folds."""
        known = (name for name, own in vars(parts[0]).items() if own is not None)
        return cls(**{n: np.concatenate([getattr(p, n) for p in parts]) for n in known})


def assign_folds(options: FitOptions, y: np.ndarray) -> np.ndarray | None:
    """The fold that leaves each row out; None where there are to be, or can be, none.

    A class may have too few rows.
    """
    splitter = folds_of(options, y, options.folds)
    if splitter is None:
        return None
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
    """Cross-validated scores of a procedure and of ordinary models beside it.

    The procedure starts from the radii `given`, and chooses anew in every fold what it
    chooses. None where no folds are wanted, or some class has too few rows.
    """
    fold = assign_folds(options, rows.y)
    if fold is None:
        return None
    measured, curved = options.measured, options.kernel is not None
    plain, ignored = options, given  # of ordinary models
    if measured:  # which ignore errors, and take the median of a column for gaps
        plain = replace(options, model="robust", missing="median", standardize=True)
        ignored = Uncertainty(0.0, "l2", "")
    whole, tuned = rows if measured else replace(rows, radius=given.radius), None
    if measured or asks_for_more(options, given):
        progress.show("tuning C of the ordinary model")
        tuned = tuned_Cs(plain, ignored, rows, fold)
    name = "measured" if measured else "kernel" if curved else "robust"

    def models(split: Split) -> dict[str, FoldAnswers]:
        learnt, unseen = whole.take(split.train), whole.take(split.test)
        exact = learnt.plain()
        if not (measured or np.any(learnt.radius)):
            learnt = exact
        said, choice = _predict(options, given, learnt, unseen)
        found = {name if curved or tuned is not None else "ordinary": said}
        if curved:
            straight = replace(options, kernel=None, C=())
            found["line"], _ = _predict(straight, given, learnt, unseen)
        elif not (measured or options.numbers or sp.issparse(learnt.X)):
            found |= quick_curve(options, learnt, unseen.X)
        if tuned is not None:
            k, gammas = split.number, tuned.gammas
            same = (choice.C, choice.gamma) if choice else (options.one_C, None)
            best = tuned.Cs[k], None if gammas is None else gammas[k]
            for rival, (C, gamma) in {"ordinary": same, "tuned": best}.items():
                asked = plain.ordinary(C, gamma=gamma)
                found[rival], _ = _predict(asked, ignored, exact, unseen, not measured)
        return found | constant_answers(options, learnt, len(split.test))

    noise = None if measured else asked_radius(options, given, trained)
    if options.numbers and not np.any(noise):
        noise = None
    kind = NumberJudge if options.numbers else ClassJudge
    judge = kind(options, rows, rows.y, fold, np.arange(len(rows.y)))
    return compare(models, judge, noise, tuned, progress)


def _predict(
    options: FitOptions,
    given: Uncertainty,
    learnt: PreparedRows,
    unseen: PreparedRows,
    certify: bool = True,
) -> tuple[FoldAnswers, Choice | None]:
    """What a model trained on some rows says of others, and how it was chosen."""
    if options.measured:
        _refuse_empty(learnt)
        model, choice, _ = fit_measured(options, given, learnt)
        return _measured_answers(model, unseen), choice
    options, X, bars = options.on_grid(POINTS), unseen.X, unseen.X_err
    model, choice, _ = fit_model(options, given, learnt, screening=None)
    labels = model.predict(X)
    if not certify:
        return FoldAnswers(labels), choice
    if options.numbers:
        ends = model.prediction_range(X, radius=1.0, X_err=bars)
        return FoldAnswers(labels, moves=ends - labels[:, None]), choice
    return FoldAnswers(labels, model.certified_radius(X, bars)), choice


def _measured_answers(
    model: MeasuredSVC | MeasuredRegressor, unseen: PreparedRows
) -> FoldAnswers:
    """Verdicts, or predictions and sizes of intervals that hold what will be measured.

    The errors of the target widen an interval by as much as the spread. A share that
    so few rows cannot tell has no interval.
    """
    X, X_err = unseen.X, unseen.X_err
    if isinstance(model, MeasuredSVC):
        verdict = model.verdict(X, X_err=X_err)
        return FoldAnswers(verdict.label, sure=verdict.certain)
    values, spreads = model.predict(X, X_err=X_err, return_std=True)
    errors = 0.0 if unseen.y_err is None else unseen.y_err
    sizes = np.full((len(values), len(COVERAGES)), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        wider = np.where(spreads > 0, np.hypot(spreads, errors) / spreads, 1.0)
    n = 0 if model.interval_scores_ is None else len(model.interval_scores_)
    for k, share in enumerate(COVERAGES):
        if share * (n + 1) <= n:
            ends = model.predict_interval(X, X_err=X_err, coverage=share)
            sizes[:, k] = 0.5 * (ends[:, 1] - ends[:, 0]) * wider
    return FoldAnswers(values, sizes=sizes)


def _refuse_empty(rows: PreparedRows) -> None:
    """Refuse a fold in which a column has no value."""
    empty = np.isnan(rows.X).all(axis=0)
    if empty.any():
        name = rows.columns.features[int(empty.argmax())]
        raise UserError(
            f"column {quoted(name)} has so few values that a fold of the "
            f"cross-validation has none; leave it out with --drop {quoted(name)}, "
            "or add --folds 0."
        )


def quick_curve(
    options: FitOptions, learnt: PreparedRows, unseen
) -> dict[str, FoldAnswers]:
    """What least squares say of rows left out: on a straight boundary, and on a curve.

    They serve to say whether a kernel may pay, and are no models to be shown.
    """
    X = learnt.X
    for step in steps(options, learnt):
        X, unseen = step.fit(X).transform(X), step.transform(unseen)
    balance = {"class_weight": options.class_weight}
    data = TrainingRows.of(X, learnt.y, learnt.weight, **balance)
    said = quick_answers(data, unseen, options.seed)
    return {n: FoldAnswers(one) for n, one in zip(_QUICK, said, strict=True)}


def constant_answers(
    options: FitOptions, learnt: PreparedRows, n: int
) -> dict[str, FoldAnswers]:
    """What the quantile of the rows trained on says of n others; none of classes."""
    if not options.numbers:
        return {}
    y, weights = learnt.y, learnt.weight
    order = np.argsort(y, kind="stable")
    sums = np.cumsum(np.ones(len(y)) if weights is None else weights[order])
    place = min(int(np.searchsorted(sums, options.quantile * sums[-1])), len(y) - 1)
    labels = np.full(n, y[order[place]])
    return {"constant": FoldAnswers(labels, moves=np.zeros((len(labels), 2)))}


def compare(
    models: Callable[[Split], dict[str, FoldAnswers]],
    judge: Judge,
    noise: float | np.ndarray | None,
    tuned: TunedC | None,
    progress: Progress,
) -> Evaluation:
    """Scores and gains of the models of every fold, that asked for first.

    `noise` is one radius, one for each row, or None where nothing is certified. An
    interrupt ends it with the folds that are done, of which there must be two; one
    that comes after the folds loses none of them.
    """
    splits = _splits(judge.fold)

    def shown(split: Split) -> dict[str, FoldAnswers]:
        where = f"cross-validating, fold {split.number + 1} of {len(splits)}"
        progress.show(where, split.number, len(splits))
        return models(split)

    done = run_folds(shown, splits, keep=2)
    interrupted = len(done) < len(splits)
    try:
        with uninterrupted():  # quick beside the folds, which are not to be lost
            progress.show("comparing the models", len(done), len(splits))
            found = _compared(done, splits, judge, noise, tuned)
    except KeyboardInterrupt:
        interrupted = True
    return replace(found, interrupted=interrupted)


def _compared(
    done: list[dict[str, FoldAnswers]],
    splits: list,
    judge: Judge,
    noise: float | np.ndarray | None,
    tuned: TunedC | None,
) -> Evaluation:
    """Scores and gains over the folds that are done."""
    rows = np.concatenate([test for _, test in splits[: len(done)]])
    held = {name: FoldAnswers.joined([one[name] for one in done]) for name in done[0]}
    if isinstance(noise, np.ndarray) and noise.ndim:
        noise = noise[rows]
    judge = replace(judge, y=judge.y[rows], fold=judge.fold[rows], rows=rows)
    radii = None if noise is None else judge.radii(held, float(np.median(noise)))
    details = judge.details(held)
    held = {name: own for name, own in held.items() if name not in _QUICK}
    return Evaluation(
        folds=len(done),
        planned=len(splits),
        interrupted=False,
        measure=measure(judge.options),
        tuned=tuned,
        radii=None if radii is None else radii.tolist(),
        models={name: judge.judged(own, noise, radii) for name, own in held.items()},
        gains=judge.gains(held, noise),
        **details,
    )


@dataclass(frozen=True)
class Judge(ABC):
    """The labels of rows, and the folds that leave them out; how models are scored."""

    options: FitOptions
    prepared: PreparedRows
    y: np.ndarray
    fold: np.ndarray
    rows: np.ndarray  # their numbers among those prepared

    @property
    def group(self) -> np.ndarray:
        """The class that each row counts for; one for all but in balanced accuracy."""
        return np.zeros(len(self.y), dtype=int)

    @abstractmethod
    def scores(self, answers: FoldAnswers, radius=None) -> np.ndarray:
        """Of every row, as measured or under the worst noise of a radius."""

    @abstractmethod
    def radii(self, held: dict[str, FoldAnswers], asked: float) -> np.ndarray:
        """Those to draw scores under worst noise at."""

    @abstractmethod
    def details(self, held: dict[str, FoldAnswers]) -> dict[str, Any]:
        """What an evaluation has of such labels alone."""

    def judged(self, own: FoldAnswers, noise, radii: np.ndarray | None) -> ModelScores:
        """All scores of a model."""
        measured = self.scores(own)
        noisy = None if noise is None else self.scores(own, noise)
        return ModelScores(
            as_measured=self.means(measured),
            under_noise=None if noisy is None else self.means(noisy),
            curve=None if radii is None else self.curve(own, radii),
            classes=self.classes(measured, noisy),
        )

    def classes(
        self, measured: np.ndarray, noisy: np.ndarray | None
    ) -> dict[str, ClassShares]:
        """Shares within every class."""
        return {}

    def gains(self, held: dict[str, FoldAnswers], noise) -> dict[str, Gains]:
        """Of the first model over the others, as measured and under the noise."""
        first, *others = held.values()
        return {
            name: Gains(
                self._gain(first, other),
                None if noise is None else self._gain(first, other, noise),
            )
            for name, other in zip([*held][1:], others, strict=True)
        }

    def _gain(self, own: FoldAnswers, other: FoldAnswers, radius=None) -> Gain:
        """Of one model over another, as measured or under the worst noise."""
        first, second = (self.scores(one, radius) for one in (own, other))
        return paired_gain(first, second, self.fold, self.group)

    def means(self, scores: np.ndarray) -> FoldMeans:
        """Of scores, in each fold."""
        each = shares(scores, self.fold, self.group)
        return FoldMeans(float(each.mean()), float(each.std(ddof=1)), each.tolist())

    def curve(self, answers: FoldAnswers, radii: np.ndarray) -> NoiseCurve:
        """Scores under the worst noise, over radii."""
        drawn = np.array(
            [shares(self.scores(answers, r), self.fold, self.group) for r in radii]
        )
        ends = (drawn.mean(axis=1), drawn.min(axis=1), drawn.max(axis=1))
        return NoiseCurve(*(end.tolist() for end in ends))


class ClassJudge(Judge):
    """A score is whether the class is right."""

    @property
    def balanced(self) -> bool:
        """Whether every class counts the same."""
        return self.options.class_weight is not None

    @property
    def group(self) -> np.ndarray:
        if not self.balanced:
            return super().group
        return np.unique(self.y, return_inverse=True)[1]

    def scores(self, answers: FoldAnswers, radius=None) -> np.ndarray:
        right = answers.labels == self.y
        return right if radius is None else certain(right, answers.radii, radius)

    def radii(self, held, asked):
        reach = [own.radii for name, own in held.items() if name not in _QUICK]
        return curve_radii(np.concatenate(reach), asked)

    def details(self, held):
        own = next(iter(held.values()))
        counts = np.unique(self.y, return_counts=True)[1]
        share = 1 / len(counts) if self.balanced else counts.max() / counts.sum()
        right, line, noiseless = self.scores(own), held.get("line"), held.get("tuned")
        check, verdicts = None, None
        if curve := held.get("quick curve"):  # beside the best straight boundary
            others = (one for one in held.values() if one is not curve)
            gains = (self._gain(curve, one) for one in others)
            check = min(gains, key=lambda gain: gain.mean)
        if own.sure is not None:
            kinds = {"certain": right[own.sure], "doubtful": right[~own.sure]}
            verdicts = {
                kind: VerdictAccuracy(len(of), float(of.mean()) if of.size else None)
                for kind, of in kinds.items()
            }
        return {
            "majority": float(share),
            "confusion": self._confusion(own.labels),
            "radius_gain": line and radius_gain(own, line, self.y),
            "noiseless_curve": line and noiseless and self._gain(noiseless, line),
            "curve_check": check,
            "verdicts": verdicts,
        }

    def classes(self, measured, noisy):
        found = {}
        for label in np.unique(self.y).tolist():
            own = self.y == label
            safe = None if noisy is None else float(noisy[own].mean())
            found[str(label)] = ClassShares(float(measured[own].mean()), safe)
        return found

    def _confusion(self, labels: np.ndarray) -> dict[str, dict[str, int]]:
        """Rows by their class, and within it by the class predicted."""
        classes, given = np.unique(self.y, return_inverse=True)
        names, k = [str(label) for label in classes.tolist()], len(classes)
        pairs = k * given + np.searchsorted(classes, labels)
        counts = np.bincount(pairs, minlength=k**2).reshape(k, k).tolist()
        return {
            name: dict(zip(names, own, strict=True))
            for name, own in zip(names, counts, strict=True)
        }


class NumberJudge(Judge):
    """A score is the error: the distance, or the pinball loss of other quantiles."""

    def scores(self, answers: FoldAnswers, radius=None) -> np.ndarray:
        residuals = self.y - answers.labels
        if radius is None:
            return losses(residuals, self.options)
        down, up = np.reshape(radius, (-1, 1)).T * answers.moves.T
        ends = (losses(residuals - move, self.options) for move in (down, up))
        return np.maximum(*ends)

    def radii(self, held, asked):
        return np.linspace(0, 3 * asked, RADII)

    def details(self, held):
        own = next(iter(held.values()))
        return {"coverage": self._coverage(own), "residuals": self._residuals(own)}

    def _coverage(self, own: FoldAnswers) -> list[Coverage]:
        """Of intervals, by thirds of their width, or of the rows below predictions."""
        residuals = self.y - own.labels
        if own.sizes is None:
            pairs = [(self.options.quantile, residuals <= 0)]
            order = own.labels
        else:
            held = np.abs(residuals)[:, None] <= own.sizes
            known = np.flatnonzero(~np.isnan(own.sizes).any(axis=0)).tolist()
            pairs = [(COVERAGES[k], held[:, k]) for k in known]
            order = own.sizes[:, 0]
        thirds = np.array_split(np.argsort(order, kind="stable"), 3)
        return [
            Coverage(
                stated=stated,
                observed=float(hit.mean()),
                error=float(np.sqrt(hit.var() / len(hit))),
                thirds=[float(hit[third].mean()) for third in thirds if third.size],
            )
            for stated, hit in pairs
        ]

    def _residuals(self, own: FoldAnswers) -> Residuals:
        """Of all rows, or of so many as can be drawn."""
        rows = np.arange(len(self.y))
        if len(rows) > _DRAWN:
            order = np.random.default_rng(self.options.seed).permutation(rows)
            rows = np.sort(order[:_DRAWN])
        numbers = self.prepared.kept[self.rows[rows]] + 1
        said = own.labels[rows]
        residuals = self.y[rows] - said
        return Residuals(numbers.tolist(), said.tolist(), residuals.tolist())


def asks_for_more(options: FitOptions, given: Uncertainty) -> bool:
    """Whether more is asked for than an ordinary model, with or without tuning of C."""
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
    asked, whole = options.ordinary(), data.plain()
    if options.score_radius is not None:
        asked = options.ordinary(score_radius=options.score_radius)
        given = replace(given, factors=(0.0,))
        whole = replace(data, radius=given.radius)
    rows = _sampled(data.y, fold, options.seed)
    share, splits = len(rows) / len(fold), _splits(fold[rows])
    some = whole.take(rows) if share < 1 else whole
    # Where features are not standardised the usual range may end far below this C.
    grids: tuple = POINTS, [options.one_C / share]
    gammas = None
    with blamed_on_data(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of models that are not chosen
        if options.kernel is not None:
            tried = sorted({*KERNEL_CS, *grids[1]})
            search = fit_search(asked, given, some, splits, tried)
            grid = np.asarray(search.cv_scores_)[:, :, 0]
            gammas = np.tile(options.gammas or [np.nan], len(tried))
            Cs = np.repeat(tried, grid.shape[1])
            scores = grid.reshape(-1, len(splits))
        else:
            found = [search_grid(asked, given, some, splits, Cs) for Cs in grids]
            Cs = np.concatenate([search.Cs_ for search in found])
            scores = np.concatenate([search.scores_[0, 0] for search in found])
    elsewhere = scores.sum(axis=1, keepdims=True) - scores
    best = elsewhere.argmax(axis=0)
    own = None if gammas is None or not options.gammas else gammas[best].tolist()
    return TunedC((share * Cs[best]).tolist(), len(rows), len(fold), own)


def _sampled(y: np.ndarray, fold: np.ndarray, seed: int) -> np.ndarray:
    """Row numbers: all, or of each class in each fold the same share, at least one.

    Numbers are of one class.
    """
    share = _SAMPLED / len(y)
    if share >= 1:
        return np.arange(len(y))
    order = np.random.default_rng(seed).permutation(len(y))
    numbers = y.dtype.kind == "f"
    number = np.zeros(len(y), int) if numbers else np.unique(y, return_inverse=True)[1]
    cell = (number * (int(fold.max()) + 1) + fold)[order]
    parts = (order[cell == one] for one in np.unique(cell))
    return np.sort(np.concatenate([p[: int(np.ceil(share * len(p)))] for p in parts]))


def radius_gain(own: FoldAnswers, line: FoldAnswers, y: np.ndarray) -> RadiusGain:
    """Certified radii beside those of a straight boundary, row by row.

    Wrong rows count as 0. The interval of the median goes from the k-th least to the
    k-th largest difference, k by the binomial distribution: it asks nothing of how the
    differences are distributed, and takes infinite radii.
    """
    reach = [np.where(one.labels == y, one.radii, 0.0) for one in (own, line)]
    with np.errstate(invalid="ignore"):
        apart = np.sort(np.where(reach[0] == reach[1], 0.0, reach[0] - reach[1]))
    n = len(apart)
    k = int(stats.binom.ppf((1 - _CONFIDENCE) / 2, n, 0.5))
    ends = (-np.inf, np.inf) if k < 1 else (apart[k - 1], apart[n - k])
    own_middle, line_middle, middle = (
        float(np.quantile(one, 0.5, method="lower")) for one in (*reach, apart)
    )
    low, high = map(float, ends)
    return RadiusGain(own_middle, line_middle, middle, low, high, _CONFIDENCE)


# -- shares and gains ------------------------------------------------------------------


def shares(right: np.ndarray, fold: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Of scores of rows, in each fold: the mean over the groups of their means.

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
