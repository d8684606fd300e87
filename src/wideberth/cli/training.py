"""From rows with radii to a model, and what is certain of its predictions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import KFold, StratifiedKFold

from wideberth.cli.errors import UserError, blamed_on_data
from wideberth.cli.options import FitOptions
from wideberth.cli.prepare import PreparedNumbers, PreparedRows
from wideberth.cli.result import Choice, ToldProof
from wideberth.cli.uncertainty import Uncertainty
from wideberth.estimators import (
    RobustKernelSVC,
    RobustLinearRegressor,
    RobustLinearRegressorCV,
    RobustLinearSVC,
    RobustLinearSVCCV,
)
from wideberth.estimators.measured_regressor import MeasuredRegressor
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.estimators.pipeline import RobustPipeline, make_robust_pipeline
from wideberth.estimators.proving import ProvenChoice
from wideberth.estimators.scoring import BALANCED, robust_scorer

#: Number of values of C that --C auto chooses from.
POINTS = 12
#: Values of C that --C auto chooses from behind a kernel, whose features have a length
#: of 1 at most, so that none is needed beyond (a choice).
KERNEL_CS = tuple(10 ** (k / 2) for k in range(-4, 7))
#: Number of folds to choose by where --folds asks for none.
FOLDS = 5
#: Number of radii at which a curve under worst noise is drawn.
RADII = 61


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collect what the library remarks on; users can mend what it refuses."""
    notes: list[str] = []
    with blamed_on_data(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += [str(w.message) for w in caught if issubclass(w.category, UserWarning)]


def steps(options: FitOptions, rows: PreparedRows) -> list:
    """What is done to the rows before they reach the model."""
    scale, curved = options.standardize, options.kernel is not None
    dense, beside = not sp.issparse(rows.X), rows.columns.n_indicators
    fill = options.missing == "median" and (dense or beside > 0)
    if not (fill or scale or curved):
        return []
    centre = curved or (scale and dense and not beside)
    return [PreparedNumbers(beside, fill, scale, centre)]


def fit_model(
    options: FitOptions,
    given: Uncertainty,
    data: PreparedRows,
    **steering,
) -> tuple[RobustPipeline, Choice | None, list[str]]:
    """Fit to rows with one radius, or one each, and error bars and weights if any.

    Data in pieces, a source, brings y, radii and weights itself. `steering` are
    `solver_options`.

    Returns the model, how it was chosen, and what the solver had to say.
    """
    if options.kernel is not None:
        return _fit_curved(options, given, data, steering)
    choice, C, penalty = None, options.one_C, options.norm_penalty[0]
    ramp = options.ramp[0] if options.ramp else None
    if options.chooses:
        with noted():  # of models that are not chosen
            choice = _choose(options, given, data)
        C, data = choice.C, replace(data, radius=choice.factor * data.radius)
        penalty, ramp = choice.norm_penalty, choice.ramp
    with noted() as notes:
        each = data.radius is None or np.ndim(data.radius) > 0
        shared: dict[str, Any] = {
            "C": C,
            "radius": 0.0 if each else float(data.radius),
            "noise": given.noise,
            "error_shape": options.error_shape,
            "norm_penalty": penalty,
            "tol": options.tol,
            "solver_options": {"random_state": options.seed, **steering},
        }
        last: RobustLinearSVC | RobustLinearRegressor
        if options.numbers:
            last = RobustLinearRegressor(options.quantile, **shared)
        else:
            shared |= {"ramp": ramp, "class_weight": options.class_weight}
            last = RobustLinearSVC(**shared)
        if data.y is None:
            model = RobustPipeline.around(last.fit(data.X))
        else:
            model = _trained(options, last, data)
    return model, choice, notes


def _trained(options: FitOptions, last, data: PreparedRows) -> RobustPipeline:
    """A pipeline fitted to rows, with what is known of each of them."""
    model = make_robust_pipeline(*steps(options, data), last)
    # Searches take factors on the radius that they are given, others have their own.
    searches = hasattr(last, "radii")
    each = data.radius if searches or np.ndim(data.radius) > 0 else None
    own = {"radius": each, "X_err": data.X_err, "sample_weight": data.weight}
    name = model.steps[-1][0]
    own = {f"{name}__{n}": value for n, value in own.items() if value is not None}
    return model.fit(data.X, data.y, **own)


def fit_measured(
    options: FitOptions, given: Uncertainty, data: PreparedRows
) -> tuple[MeasuredSVC | MeasuredRegressor, Choice | None, list[str]]:
    """Fit to values with standard errors, if they have any, and gaps.

    Returns the model, how it was chosen, and what it had to say on the way.
    """
    if options.numbers:
        line = MeasuredRegressor()
        with noted() as notes:
            line.fit(data.X, data.y, X_err=data.X_err, y_err=data.y_err)
        return line, None, notes
    factors = list(given.factors)
    model = MeasuredSVC(
        C=options.one_C,
        radius=given.radius,
        cv=folds_to_choose(options, data.y),
        **({"Cs": list(options.C)} if options.C else {}),
        radii=[given.radius * factor for factor in factors],
        confidence=options.confidence or MeasuredSVC().confidence,
        class_weight=options.class_weight,
        random_state=options.seed,
    )
    with noted() as notes:
        model.fit(data.X, data.y, data.weight, X_err=data.X_err)
    if not options.chooses:
        return model, None, notes
    scores = model.cv_scores_.mean(axis=-1).T
    choice = Choice(
        C=model.C_,
        factor=factors[int(np.argmax(np.equal(model.radii, model.radius_)))],
        score=float(scores.max()),
        Cs=model._Cs,
        factors=factors,
        scores=scores.tolist(),
        folds=model.cv_scores_.shape[-1],
        measure=measure(options),
        unit=given.factor_name,
    )
    model.cv = None  # splitters are no part of a model file
    return model, choice, notes


def _fit_curved(
    options: FitOptions, given: Uncertainty, data: PreparedRows, steering: dict
) -> tuple[RobustPipeline, Choice | None, list[str]]:
    """The same behind a kernel, whose machines choose C, γ and radius themselves."""
    if sp.issparse(data.X):
        raise UserError(
            "--kernel needs distances between rows, and these are sparse. Leave it "
            "out, or give a table with all its cells (CSV, Parquet)."
        )
    radius = data.radius
    each, factors = np.ndim(radius) > 0, list(given.factors if np.any(radius) else [])
    last = kernel_machine(options, given, **steering)
    last.cv = folds_to_choose(options, data.y)
    last.radius = None if each else [factor * radius for factor in factors] or 0.0
    with noted() as notes:
        model = _trained(options, last, data)
    last, choice = model[-1], None
    if last.cv_scores_ is not None:
        each_fold = np.asarray(last.cv_scores_)
        scores = each_fold.mean(axis=-1)
        best = np.unravel_index(int(np.nanargmax(scores)), scores.shape)
        factors = factors or [1.0]
        choice = Choice(
            C=last.C_,
            factor=factors[best[2]],
            score=float(scores[best]),
            Cs=list(last.C),
            factors=factors,
            scores=scores[:, best[1]].T.tolist(),
            folds=each_fold.shape[-1],
            measure=measure(options),
            unit=given.factor_name,
            gamma=last.gamma_,
            gammas=list(options.gammas),
        )
    last.C, last.radius = last.C_, last.radius_ if not each else None
    if options.gammas:
        last.gamma = last.gamma_
    last.cv = last.scoring = None  # what only chose is no part of a model file
    return model, choice, notes


def kernel_machine(
    options: FitOptions, given: Uncertainty, Cs=None, **steering
) -> RobustKernelSVC:
    """As the options say it, with lists of what is to be chosen."""
    kernel = options.kernel
    assert kernel is not None
    balanced = options.class_weight == "balanced"
    scoring: Any = BALANCED if balanced else None
    if options.score_radius is not None:
        scoring = robust_scorer(options.score_radius, balanced=balanced)
    return RobustKernelSVC(
        list(Cs or options.C or KERNEL_CS),
        0.0,
        gamma=list(kernel.gammas) or "scale",
        n_components=kernel.landmarks or "auto",
        noise=given.noise,
        error_shape=options.error_shape,
        class_weight=options.class_weight,
        scoring=scoring,
        tol=options.tol,
        solver_options={"random_state": options.seed, **steering},
    )


def fit_search(
    options: FitOptions, given: Uncertainty, data: PreparedRows, cv, Cs
) -> RobustKernelSVC:
    """A kernel machine without noise that has scored these C, and γ, in folds."""
    search = kernel_machine(options, given, Cs)
    search.cv = cv
    return _trained(options, search, replace(data, radius=0.0))[-1]


def _choose(options: FitOptions, given: Uncertainty, data: PreparedRows) -> Choice:
    """C, norm penalty, ramp and a factor on the radii, by cross-validation."""
    splitter, Cs = folds_to_choose(options, data.y), options.C or POINTS
    if options.prove is not None:
        Cs = options.proven_range
    search = search_grid(options, given, data, splitter, Cs)
    # Scores of numbers are pinball losses, negated.
    unit = -loss_unit(options) if options.numbers else 1.0
    if options.prove is not None:
        means = np.asarray(search.cv_results_["mean_test_score"])
        order = np.argsort(np.asarray(search.cv_results_["param_C"], dtype=float))
        scores = [(unit * means[order]).tolist()]
    else:
        grid = search.scores_
        if options.ramp:
            grid = grid[search.ramps_.tolist().index(search.ramp_)]
        chosen = search.norm_penalties_.tolist().index(search.norm_penalty_)
        scores = (unit * grid[chosen].mean(axis=-1)).tolist()
    return Choice(
        C=float(search.C_),
        factor=float(search.radius_),
        score=unit * float(search.best_score_),
        Cs=search.Cs_.tolist(),
        factors=search.radii_.tolist(),
        scores=scores,
        folds=search.n_splits_,
        measure=measure(options),
        unit=given.factor_name,
        norm_penalty=float(search.norm_penalty_),
        norm_penalties=search.norm_penalties_.tolist(),
        ramp=float(search.ramp_) if options.ramp else None,
        ramps=search.ramps_.tolist() if options.ramp else [],
        proof=None if options.prove is None else _proof(search.choice_, abs(unit)),
    )


def _proof(choice: ProvenChoice, unit: float) -> ToldProof:
    """What a search proved, in the unit that errors are told in."""
    return ToldProof(
        low=choice.low,
        high=choice.high,
        error=unit * choice.error,
        lower_bound=unit * choice.lower_bound,
        within=unit * choice.within,
        proven=choice.proven,
        edges=choice.edges.tolist(),
        bounds=(unit * choice.bounds).tolist(),
    )


def search_grid(
    options: FitOptions,
    given: Uncertainty,
    data: PreparedRows,
    cv,
    Cs,
) -> RobustLinearSVCCV | RobustLinearRegressorCV:
    """Score models over C, and over what else the options leave open, in folds."""
    shared: dict[str, Any] = {
        "Cs": Cs,
        "radii": given.factors if np.any(data.radius) else [1.0],
        "norm_penalties": options.norm_penalty,
        "noise": given.noise,
        "error_shape": options.error_shape,
        "cv": cv,
        "tol": options.tol,
        "prove": options.prove,
        "solver_options": {"random_state": options.seed, "refit": False},
    }
    search: RobustLinearSVCCV | RobustLinearRegressorCV
    if options.numbers:
        search = RobustLinearRegressorCV(options.quantile, **shared)
    else:
        balanced = options.class_weight == "balanced"
        search = RobustLinearSVCCV(
            ramps=options.ramp or None,
            class_weight=options.class_weight,
            scoring=robust_scorer(options.score_radius or 0.0, balanced=balanced),
            **shared,
        )
    return _trained(options, search, data)[-1]


def measure(options: FitOptions) -> str:
    """What models are judged and chosen by."""
    if options.numbers:
        return "mean absolute error" if options.quantile == 0.5 else "mean pinball loss"
    return "balanced accuracy" if options.class_weight else "accuracy"


def loss_unit(options: FitOptions) -> float:
    """What pinball losses are multiplied by: at the median they are half the errors."""
    return 2.0 if options.quantile == 0.5 else 1.0


def losses(residuals: np.ndarray, options: FitOptions) -> np.ndarray:
    """The absolute errors, or the pinball losses, of numbers less predictions."""
    above = loss_unit(options) * options.quantile
    below = loss_unit(options) * (1 - options.quantile)
    return np.maximum(above * residuals, -below * residuals)


def folds_of(
    options: FitOptions, y: np.ndarray, wanted: int
) -> KFold | StratifiedKFold | None:
    """Random folds, each with rows of every class; None where there are too few."""
    if not wanted:
        return None
    if options.numbers:
        kind, most = KFold, len(y)
    else:
        kind, most = StratifiedKFold, int(np.unique(y, return_counts=True)[1].min())
    folds = min(wanted, most)
    if folds < 2:
        return None
    return kind(folds, shuffle=True, random_state=options.seed)


def folds_to_choose(
    options: FitOptions, y: np.ndarray
) -> KFold | StratifiedKFold | None:
    """The folds by which to choose what is left open; None where nothing is."""
    if not options.chooses:
        return None
    splitter = folds_of(options, y, options.folds or FOLDS)
    if splitter is None:
        raise UserError(
            "choosing by cross-validation needs at least two rows of every class."
        )
    return splitter


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
    return np.linspace(0, end if end > 0 else 1.0, RADII)
