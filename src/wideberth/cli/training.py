"""From rows with radii to a model, and what is certain of its predictions."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from wideberth.cli.errors import UserError, blamed_on_data
from wideberth.cli.options import FitOptions, TrainingOptions
from wideberth.cli.prepare import PreparedNumbers
from wideberth.cli.result import Choice
from wideberth.cli.uncertainty import Uncertainty
from wideberth.estimators import RobustLinearSVC, RobustLinearSVCCV
from wideberth.estimators.moves import linear_steps
from wideberth.estimators.pipeline import (
    RobustPipeline,
    carry_noise,
    make_robust_pipeline,
)
from wideberth.estimators.scoring import robust_scorer
from wideberth.noise import ErrorBars

#: Number of values of C that --C auto chooses from.
POINTS = 12
#: Number of folds to choose by where --folds asks for none.
FOLDS = 5
#: Said where there is nothing to choose by.
FEW_ROWS = "choosing by cross-validation needs at least two rows of every class."
#: Number of radii at which a curve of certified accuracy is drawn.
_RADII = 61


def _steps(options: TrainingOptions, given: Uncertainty, X) -> list:
    """What is done to the rows before they reach the classifier."""
    fill, scale = options.missing == "median", options.standardize
    if beside := given.n_indicators:
        return [PreparedNumbers(beside, fill, scale)] if fill or scale else []
    steps: list = []
    if fill and not sp.issparse(X):
        steps.append(PreparedNumbers(fill=True))
    if scale:
        steps.append(StandardScaler(with_mean=not sp.issparse(X)))
    return steps


def preparation(options: TrainingOptions, given: Uncertainty, X) -> Pipeline:
    """Return the steps before the classifier as one transformer, fitted to the rows."""
    steps = _steps(options, given, X) or [FunctionTransformer()]
    return make_pipeline(*steps).fit(X)


def fit_model(
    options: FitOptions,
    given: Uncertainty,
    X,
    y,
    radius,
    bars: ErrorBars | None = None,
    weights=None,
    verbose: bool = False,
) -> tuple[RobustPipeline, Choice | None, list[str]]:
    """Fit to rows with one radius, or one each, and error bars and weights if any.

    Data in pieces brings y, radii and weights.

    Returns the model, how it was chosen, and what the solver had to say.
    """
    with blamed_on_data(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        choice, C, penalty = None, options.one_C, options.norm_penalty[0]
        ramp = options.ramp[0] if options.ramp else None
        if options.chooses:
            choice = _choose(options, given, X, y, radius, bars, weights)
            caught.clear()  # of models that are not chosen
            C, radius = choice.C, choice.factor * radius
            penalty, ramp = choice.norm_penalty, choice.ramp
        each = radius is None or np.ndim(radius) > 0
        classifier = RobustLinearSVC(
            C=C,
            radius=0.0 if each else float(radius),
            noise=given.noise,
            error_shape=options.error_shape,
            norm_penalty=penalty,
            ramp=ramp,
            class_weight=options.class_weight,
            tol=options.tol,
            solver_options={"random_state": options.seed, "verbose": int(verbose)},
        )
        if y is None:
            model = RobustPipeline.around(classifier.fit(X))
        else:
            model = make_robust_pipeline(*_steps(options, given, X), classifier)
            own = {"radius": radius if each else None, "X_err": bars}
            own["sample_weight"] = weights
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
    weights,
) -> Choice:
    """C, norm penalty, ramp and a factor on the radii, by cross-validation."""
    folds = fold_count(y, options.folds or FOLDS)
    if not folds:
        raise UserError(FEW_ROWS)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=options.seed)
    Cs = options.C or POINTS
    search = search_grid(options, given, X, y, radius, bars, weights, splitter, Cs)
    scores = search.scores_
    if options.ramp:
        scores = scores[search.ramps_.tolist().index(search.ramp_)]
    chosen = search.norm_penalties_.tolist().index(search.norm_penalty_)
    return Choice(
        C=float(search.C_),
        factor=float(search.radius_),
        score=float(search.best_score_),
        Cs=search.Cs_.tolist(),
        factors=search.radii_.tolist(),
        scores=scores[chosen].mean(axis=-1).tolist(),
        folds=folds,
        measure=measure(options),
        unit="radius" if given.unit_radius else "radius ×",
        norm_penalty=float(search.norm_penalty_),
        norm_penalties=search.norm_penalties_.tolist(),
        ramp=float(search.ramp_) if options.ramp else None,
        ramps=search.ramps_.tolist() if options.ramp else [],
    )


def search_grid(
    options: FitOptions,
    given: Uncertainty,
    X,
    y,
    radius,
    bars: ErrorBars | None,
    weights,
    cv,
    Cs,
) -> RobustLinearSVCCV:
    """Score models over C, and over what else the options leave open, in folds."""
    prepare = preparation(options, given, X)
    balanced = options.class_weight == "balanced"
    search = RobustLinearSVCCV(
        Cs=Cs,
        radii=given.factors if np.any(radius) else [1.0],
        norm_penalties=options.norm_penalty,
        ramps=options.ramp or None,
        noise=given.noise if bars else carry_noise(given.noise, prepare, X),
        error_shape=options.error_shape,
        class_weight=options.class_weight,
        cv=cv,
        scoring=robust_scorer(options.score_radius or 0.0, balanced=balanced),
        tol=options.tol,
        solver_options={"random_state": options.seed, "refit": False},
    )
    carried = None if bars is None else bars.carried(linear_steps(prepare, X)[0])
    return search.fit(prepare.transform(X), y, weights, radius=radius, X_err=carried)


def measure(options: TrainingOptions) -> str:
    """What models are judged and chosen by."""
    return "balanced accuracy" if options.class_weight else "accuracy"


def fold_count(y: np.ndarray, wanted: int) -> int:
    """As many folds as every class has samples for; 0 where it cannot be done."""
    folds = min(wanted, int(np.unique(y, return_counts=True)[1].min()))
    return folds if folds >= 2 else 0


# -- what is certain of predictions ----------------------------------------------------


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
