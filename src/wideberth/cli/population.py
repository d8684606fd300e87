"""`--model measured`: from values with errors and gaps to a model and its worth.

A population is learned behind the values, and a classifier on what they probably were
(`MeasuredSVC`). Knowing the errors is worth the difference in accuracy to ordinary SVMs
that ignore them (`evaluation.py`).
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from sklearn.model_selection import StratifiedKFold

from wideberth.cli.errors import UserError, blamed_on_data
from wideberth.cli.evaluation import FoldAnswers, assign_folds, compare, tuned_Cs
from wideberth.cli.options import FitOptions
from wideberth.cli.output import Progress
from wideberth.cli.prepare import PreparedRows
from wideberth.cli.result import Choice, Evaluation
from wideberth.cli.training import FEW_ROWS, FOLDS, fit_model, fold_count, measure
from wideberth.cli.uncertainty import Uncertainty
from wideberth.data.errors import quoted
from wideberth.estimators.folds import Split
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.measurement.goodness import lacks


def fit_measured(
    options: FitOptions, given: Uncertainty, X, y, cells, weights=None
) -> tuple[MeasuredSVC, Choice | None, list[str]]:
    """Fit to values with standard errors, if they have any, and gaps.

    Returns the model, how it was chosen, and what it had to say on the way.
    """
    folds = fold_count(y, options.folds or FOLDS)
    if options.chooses and not folds:
        raise UserError(FEW_ROWS)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=options.seed)
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
        model.fit(X, y, X_err=cells, sample_weight=weights)
    notes = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    if not options.chooses:
        return model, None, notes
    scores = model.cv_scores_.mean(axis=-1).T
    choice = Choice(
        C=model.C_,
        factor=factors[int(np.argmax(np.equal(model.radii, model.radius_)))],
        score=float(scores.max()),
        Cs=list(model.Cs),
        factors=factors,
        scores=scores.tolist(),
        folds=folds,
        measure=measure(options),
        unit="radius" if given.unit_radius else "radius ×",
    )
    model.cv = None  # splitters are no part of a model file
    return model, choice, notes


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
) -> Evaluation | None:
    """Cross-validated accuracy, and that of SVMs which ignore errors.

    Gaps count as medians there. None where no folds are wanted, or some class has too
    few rows.
    """
    fold = assign_folds(options, rows.y)
    if fold is None:
        return None
    X, y, cells = rows.X, rows.y, given.cells
    plain = replace(options, model="robust", missing="median", standardize=True)
    ignored = Uncertainty(0.0, "l2", "")
    progress.show("tuning C of the ordinary SVM")
    tuned = tuned_Cs(plain, ignored, rows, fold)

    def models(split: Split) -> dict[str, FoldAnswers]:
        train, test, weights = split.train, split.test, rows.weights_of(split.train)
        _check_values(X[train], rows)
        learnt, seen = (None, None) if cells is None else (cells[train], cells[test])
        model, choice, _ = fit_measured(
            options, given, X[train], y[train], learnt, weights
        )
        verdict = model.verdict(X[test], X_err=seen)
        found = {"measured": FoldAnswers(verdict.label, sure=verdict.certain)}
        same = choice.C if choice else options.one_C
        for name, C in {"ordinary": same, "tuned": tuned.Cs[split.number]}.items():
            rival, *_ = fit_model(
                plain.ordinary(C), ignored, X[train], y[train], 0.0, None, weights
            )
            found[name] = FoldAnswers(rival.predict(X[test]))
        return found

    return compare(models, y, fold, measure(options), None, tuned, progress)


def _check_values(X: np.ndarray, rows: PreparedRows) -> None:
    """Refuse a fold in which a column has no value."""
    empty = np.isnan(X).all(axis=0)
    if empty.any():
        name = rows.columns.features[int(empty.argmax())]
        raise UserError(
            f"column {quoted(name)} has so few values that a fold of the "
            f"cross-validation has none; leave it out with --drop {quoted(name)}, "
            "or do without the folds, --folds 0."
        )
