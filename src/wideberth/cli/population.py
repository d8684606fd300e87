"""`--model measured`: from values with errors and gaps to a model and its worth.

A population is learned behind the values, and a classifier on what they probably were
(`MeasuredSVC`), or with the target a line through the true values
(`MeasuredRegressor`). Knowing the errors is worth the difference to ordinary models
that ignore them (`evaluation.py`).
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from wideberth.cli.errors import UserError, blamed_on_data
from wideberth.cli.evaluation import (
    COVERAGES,
    FoldAnswers,
    assign_folds,
    compare,
    constant_answers,
    judge_of,
    tuned_Cs,
)
from wideberth.cli.options import FitOptions
from wideberth.cli.output import Progress
from wideberth.cli.prepare import PreparedRows
from wideberth.cli.result import Choice, ClassEvaluation, NumberEvaluation
from wideberth.cli.training import FEW_ROWS, FOLDS, fit_model, folds_of, measure
from wideberth.cli.uncertainty import Uncertainty
from wideberth.data.errors import quoted
from wideberth.estimators.folds import Split
from wideberth.estimators.measured_regressor import MeasuredRegressor
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.measurement.goodness import lacks


def fit_measured(
    options: FitOptions, given: Uncertainty, data: PreparedRows
) -> tuple[MeasuredSVC | MeasuredRegressor, Choice | None, list[str]]:
    """Fit to values with standard errors, if they have any, and gaps.

    Returns the model, how it was chosen, and what it had to say on the way.
    """
    if options.numbers:
        line = MeasuredRegressor()
        with blamed_on_data(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            line.fit(data.X, data.y, X_err=data.X_err, y_err=data.y_err)
        return line, None, _notes(caught)
    splitter = folds_of(options, data.y, options.folds or FOLDS)
    if options.chooses and splitter is None:
        raise UserError(FEW_ROWS)
    factors = list(given.factors)
    model = MeasuredSVC(
        C=options.one_C,
        radius=given.radius,
        cv=splitter if options.chooses else None,
        **({"Cs": list(options.C)} if options.C else {}),
        radii=[given.radius * factor for factor in factors],
        confidence=options.confidence or MeasuredSVC().confidence,
        class_weight=options.class_weight,
        random_state=options.seed,
    )
    with blamed_on_data(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data.X, data.y, data.weight, X_err=data.X_err)
    notes = _notes(caught)
    if not options.chooses or splitter is None:
        return model, None, notes
    scores = model.cv_scores_.mean(axis=-1).T
    choice = Choice(
        C=model.C_,
        factor=factors[int(np.argmax(np.equal(model.radii, model.radius_)))],
        score=float(scores.max()),
        Cs=model._Cs,
        factors=factors,
        scores=scores.tolist(),
        folds=splitter.n_splits,
        measure=measure(options),
        unit="radius" if given.unit_radius else "radius ×",
    )
    model.cv = None  # splitters are no part of a model file
    return model, choice, notes


def _notes(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(w.message) for w in caught if issubclass(w.category, UserWarning)]


def misfit_of(model, names) -> str:
    """What a population lacks that the values have; empty where there is none."""
    if not isinstance(model, MeasuredSVC):
        return ""
    return lacks(model._denoised.features.misfit_, names)


def raw_weights(model: MeasuredSVC) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercepts of true values, in the units of the data."""
    parts = model._denoised
    coef, intercept = parts.weights
    origin = np.zeros((1, parts.linear.shape[1]))
    if parts.before is not None:
        origin = parts.before.transform(origin)
    return coef @ parts.linear, intercept + coef @ origin[0]


def evaluate_measured(
    options: FitOptions, rows: PreparedRows, given: Uncertainty, progress: Progress
) -> ClassEvaluation | NumberEvaluation | None:
    """Cross-validated scores, and those of ordinary models, which ignore errors.

    Gaps count as medians there. None where no folds are wanted, or some class has too
    few rows.
    """
    fold = assign_folds(options, rows.y)
    if fold is None:
        return None
    plain = replace(options, model="robust", missing="median", standardize=True)
    ignored = Uncertainty(0.0, "l2", "")
    progress.show("tuning C of the ordinary model")
    tuned = tuned_Cs(plain, ignored, rows, fold)

    def models(split: Split) -> dict[str, FoldAnswers]:
        learnt, unseen = rows.take(split.train), rows.take(split.test)
        _refuse_empty(learnt)
        model, choice, _ = fit_measured(options, given, learnt)
        if isinstance(model, MeasuredRegressor):
            answers = _interval_answers(model, unseen)
        else:
            verdict = model.verdict(unseen.X, X_err=unseen.X_err)
            answers = FoldAnswers(verdict.label, sure=verdict.certain)
        found = {"measured": answers}
        same = choice.C if choice else options.one_C
        for name, C in {"ordinary": same, "tuned": tuned.Cs[split.number]}.items():
            rival, *_ = fit_model(plain.ordinary(C), ignored, learnt.plain())
            found[name] = FoldAnswers(rival.predict(unseen.X))
        return found | constant_answers(options, learnt, unseen.n)

    return compare(models, judge_of(options, rows, fold), None, tuned, progress)


def _interval_answers(model: MeasuredRegressor, unseen: PreparedRows) -> FoldAnswers:
    """Predictions, and sizes of intervals that hold what will be measured.

    The errors of the target widen an interval by as much as the spread. A share that
    so few rows cannot tell has no interval.
    """
    X, X_err = unseen.X, unseen.X_err
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
            "or do without the folds, --folds 0."
        )
