"""From rows with radii to a model, and how right it is on rows it has not seen."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from wideberth.cli.commands import FitOptions
from wideberth.cli.errors import UserError, blamed_on_data
from wideberth.cli.output import Progress
from wideberth.cli.prepare import (
    Rows,
)
from wideberth.cli.training_options import TrainingOptions
from wideberth.cli.uncertainty import (
    Uncertainty,
)
from wideberth.estimators import RobustLinearSVC, RobustLinearSVCCV
from wideberth.estimators.affine import linear_map
from wideberth.estimators.carrying import carry_noise
from wideberth.estimators.pipeline import RobustPipeline, make_robust_pipeline
from wideberth.problem.error_bars import ErrorBars

#: Number of values of C that --cv chooses from.
_POINTS = 12
#: Number of folds that --cv chooses by where --folds asks for none.
FOLDS = 5
#: Number of radii at which a curve of certified accuracy is drawn.
_RADII = 61


def _steps(options: TrainingOptions, X) -> list:
    """What is done to the rows before they reach the classifier."""
    sparse = sp.issparse(X)
    steps: list = []
    if options.missing == "median" and not sparse:
        steps.append(SimpleImputer(strategy="median"))
    if options.standardize:
        steps.append(StandardScaler(with_mean=not sparse))
    return steps


def preparation(options: TrainingOptions, X) -> Pipeline:
    """Return the steps before the classifier as one transformer, fitted to the rows."""
    return make_pipeline(*(_steps(options, X) or [FunctionTransformer()])).fit(X)


def fit_model(
    options: FitOptions,
    given: Uncertainty,
    X,
    y,
    radius,
    bars: ErrorBars | None = None,
    verbose: bool = False,
) -> tuple[RobustPipeline, dict | None, list[str]]:
    """Fit to rows with one radius, or one each, and error bars if they have any.

    Data in pieces brings y and radii.

    Returns the model, how it was chosen, and what the solver had to say.
    """
    with blamed_on_data(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        choice, C, penalty = None, options.C, options.norm_penalty
        ramp = options.ramp
        if options.cv:
            choice = _choose(options, given, X, y, radius, bars)
            caught.clear()  # of models that are not chosen
            C, radius = choice["C"], choice["factor"] * radius
            penalty = choice["norm_penalty"]
            ramp = choice["ramp"] if options.label_noise else ramp
        each = radius is None or np.ndim(radius) > 0
        classifier = RobustLinearSVC(
            C=C,
            radius=0.0 if each else float(radius),
            noise=given.noise,
            error_shape=options.error_shape,
            norm_penalty=penalty,
            loss=options.loss,
            ramp=ramp,
            starts=options.starts,
            class_weight=options.class_weight,
            tol=options.tol,
            random_state=options.seed,
            verbose=int(verbose),
        )
        if y is None:
            classifier.set_params(checkpoint=options.checkpoint).fit(X)
            model = RobustPipeline.around(classifier.set_params(checkpoint=None))
        else:
            model = make_robust_pipeline(*_steps(options, X), classifier)
            own = {"radius": radius if each else None, "X_err": bars}
            own = {name: value for name, value in own.items() if value is not None}
            model.fit(X, y, **{f"robustlinearsvc__{n}": v for n, v in own.items()})
    notes = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    return model, choice, notes


def _choose(
    options: FitOptions,
    given: Uncertainty,
    X,
    y,
    radius,
    bars: ErrorBars | None,
) -> dict:
    """C, norm penalty, ramp and a factor on the radii, by cross-validation."""
    prepare, folds = preparation(options, X), fold_count(y, options.folds or FOLDS)
    if not folds:
        raise UserError("--cv needs at least two rows of every class.")
    search = RobustLinearSVCCV(
        Cs=_POINTS,
        radii=options.radii if options.radii and np.any(radius) else [1.0],
        norm_penalties=options.norm_penalties or [options.norm_penalty],
        loss=options.loss,
        ramps=(options.ramps or [options.ramp]) if options.label_noise else None,
        starts=options.starts,
        noise=given.noise if bars else carry_noise(given.noise, prepare, X),
        error_shape=options.error_shape,
        class_weight=options.class_weight,
        cv=StratifiedKFold(folds, shuffle=True, random_state=options.seed),
        scoring_radius=options.score_radius,
        tol=options.tol,
        random_state=options.seed,
        refit=False,
    )
    carried = None if bars is None else bars.carried(linear_map(prepare, X))
    search.fit(prepare.transform(X), y, radius=radius, X_err=carried)
    scores = search.scores_
    if options.label_noise:
        scores = scores[search.ramps_.tolist().index(search.ramp_)]
    chosen = search.norm_penalties_.tolist().index(search.norm_penalty_)
    return {
        "C": float(search.C_),
        "factor": float(search.radius_),
        "norm_penalty": float(search.norm_penalty_),
        "ramp": float(search.ramp_) if options.label_noise else None,
        "score": float(search.best_score_),
        "Cs": search.Cs_.tolist(),
        "factors": search.radii_.tolist(),
        "norm_penalties": search.norm_penalties_.tolist(),
        "ramps": search.ramps_.tolist() if options.label_noise else [],
        "scores": scores[chosen].mean(axis=-1).tolist(),
        "folds": folds,
        "unit": "radius" if given.unit_radius else "radius ×",
    }


def fold_count(y: np.ndarray, wanted: int) -> int:
    """As many folds as every class has samples for; 0 where it cannot be done."""
    folds = min(wanted, int(np.unique(y, return_counts=True)[1].min()))
    return folds if folds >= 2 else 0


# -- accuracy on rows a model has not seen ---------------------------------------------
#
# A prediction counts as certified at radius r if it is right and no move of that size
# in the shape of the noise could change it (`wideberth.certify`).


def certain(right: np.ndarray, certified_radius: np.ndarray, radius) -> np.ndarray:
    """Which right predictions no move within the radius, one or one each, can change.

    Without noise that is all of them, those on the boundary too.
    """
    return right & ((certified_radius > radius) | (np.asarray(radius) == 0))


def curve_radii(certified_radius: np.ndarray, radius) -> np.ndarray:
    """Radii to draw: from 0 to where hardly a row is certified.

    But not so far that this radius, which is marked, could no longer be made out.
    """
    finite = certified_radius[np.isfinite(certified_radius)]
    end = 0.0
    if finite.size:
        end = float(np.quantile(finite, 0.98, overwrite_input=True))
    if radius > 0:
        end = float(np.clip(end, 1.5 * radius, 10 * radius))
    return np.linspace(0, end if end > 0 else 1.0, _RADII)


def evaluate(
    options: FitOptions,
    rows: Rows,
    given: Uncertainty,
    trained: Uncertainty,
    progress: Progress,
) -> dict | None:
    """Cross-validated accuracy of a procedure and of the ordinary SVM beside it.

    The procedure starts from the radii `given`, and chooses anew in every fold what it
    chooses; noise is that which the model was `trained` for. None where no folds are
    wanted, or some class has too few rows.
    """
    folds = fold_count(rows.y, options.folds) if options.folds else 0
    if not folds:
        return None
    X, y = rows.X, rows.y
    plain = options.ordinary()
    robust = np.any(np.asarray(trained.radius) > 0) or plain != options
    trials = {"robust" if robust else "ordinary": (options, given.radius)}
    trials.setdefault("ordinary", (plain, 0.0))
    splitter = StratifiedKFold(folds, shuffle=True, random_state=options.seed)
    splits = list(splitter.split(np.zeros(len(y)), y))
    fold = np.zeros(len(y), dtype=int)
    scores = {name: (np.zeros(len(y), bool), np.zeros(len(y))) for name in trials}
    for t, (name, (asked, radius)) in enumerate(trials.items()):
        right, certified_radius = scores[name]
        for k, (train, test) in enumerate(splits):
            step = f"{t * folds + k + 1} of {folds * len(trials)}"
            progress.show(f"cross-validating, {step}")
            own = radius[train] if np.ndim(radius) else radius
            learnt, seen = _taken(given.bars, train), _taken(given.bars, test)
            learnt = learnt if np.any(np.asarray(own) > 0) else None
            model, *_ = fit_model(asked, given, X[train], y[train], own, learnt)
            fold[test] = k
            right[test] = model.predict(X[test]) == y[test]
            certified_radius[test] = model.certified_radius(X[test], seen)
    radii = curve_radii(
        np.concatenate([found[1] for found in scores.values()]), trained.median
    )
    counts = np.unique(y, return_counts=True)[1]
    return {
        "folds": folds,
        "majority": float(counts.max() / counts.sum()),
        "radii": radii.tolist(),
        "models": {
            name: _described(*found, fold, radii, trained.radius, y)
            for name, found in scores.items()
        },
        "gain": None,
        "verdicts": None,
    }


def spread_over_folds(values: np.ndarray) -> dict:
    """What each fold gives, their mean and standard deviation."""
    mean, std = float(values.mean()), float(values.std(ddof=1))
    return {"mean": mean, "std": std, "folds": values.tolist()}


def _taken(bars: ErrorBars | None, rows: np.ndarray) -> ErrorBars | None:
    return None if bars is None else bars.take(rows)


def _described(
    right, certified_radius, fold, radii: np.ndarray, radius, y: np.ndarray
) -> dict:
    """Accuracies with their spread over the folds, and within each class."""

    def shares(radius) -> np.ndarray:
        """Of each fold."""
        return np.bincount(
            fold, certain(right, certified_radius, radius)
        ) / np.bincount(fold)

    curve = np.array([shares(r) for r in radii])
    sure = certain(right, certified_radius, radius)
    return {
        "accuracy": spread_over_folds(shares(0.0)),
        "certified": spread_over_folds(shares(radius)),
        "curve": {
            "mean": curve.mean(axis=1).tolist(),
            "low": curve.min(axis=1).tolist(),
            "high": curve.max(axis=1).tolist(),
        },
        "classes": {
            str(label): {
                "accuracy": float(right[y == label].mean()),
                "certified": float(sure[y == label].mean()),
            }
            for label in np.unique(y).tolist()
        },
    }
