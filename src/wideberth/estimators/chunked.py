"""`RobustLinearSVC.fit` for data that is read in chunks, wherever it lives."""

from __future__ import annotations

import numbers
import time
from collections.abc import Iterable

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from wideberth.data.chunks import Classes
from wideberth.data.opening import is_small, names_values, open_data
from wideberth.data.sources import Source
from wideberth.estimators.linear import notes_of, per_class, remembered_radius
from wideberth.problem.arrays import host, is_foreign, like, namespace, pick
from wideberth.problem.labels import distinct, refuse_mixture, uniform
from wideberth.problem.validation import check_positive, check_size, refuse_masked
from wideberth.solution import Solution
from wideberth.solvers.chunked import solve_source

__all__ = ["fit_elsewhere", "fit_source"]


def fit_elsewhere(model, X, y, sample_weight, radius) -> list[Warning]:
    """Fit in place to an array of another library; what is fitted lies beside it."""
    xp = namespace(X)
    if y is None:
        raise ValueError(
            "y is None; RobustLinearSVC requires y to be passed, one label per row."
        )
    y = _moved_to(y, X)
    X, y = validate_data(model, X, y, dtype=[xp.float64, xp.float32])
    check_classification_targets(y)
    rest = (_moved_to(sample_weight, X), _moved_to(radius, X))
    if not is_small(X):
        return fit_source(model, X, y, *rest)
    here = [host(part) if is_foreign(part) else part for part in rest]
    notes = model._fit_here(host(X), host(y), *here)
    for name, value in vars(model).items():
        fitted = name.endswith("_") and isinstance(value, np.ndarray)
        if fitted and value.dtype.kind in "biuf":
            setattr(model, name, like(value, X))
    return notes


def fit_source(model, X, y, sample_weight, radius) -> list[Warning]:
    """Fit in place, one class against the rest after the other."""
    each = np.ndim(radius) > 0 or names_values(X, radius)
    own = model._radius_to_train_with(radius)
    if not each and not isinstance(own, dict):  # before anything is read
        check_size(own, "radius")
    source = open_data(
        X,
        y,
        sample_weight=sample_weight,
        radius=radius if each else None,
    )
    if not is_foreign(X):
        _note_features(model, source)
    radius = own
    labels, totals = _labels(source.labels())
    notes = model._unknown_classes(labels, radius)
    weights = model._class_factors(labels, totals)
    radii, given = None, radius
    if isinstance(radius, dict):
        radii, radius = per_class(radius, labels, "radius"), 0.0
    noise, seconds = model._noise(), model.max_seconds
    seeds = check_random_state(model.random_state).randint(2**31, size=len(labels))
    deadline = np.inf
    if seconds is not None:
        deadline = time.monotonic() + check_positive(seconds, "max_seconds")
    solutions = []
    for k in [1] if len(labels) == 2 else range(len(labels)):
        left = None if deadline == np.inf else max(deadline - time.monotonic(), 1e-9)
        found = solve_source(
            source,
            radius=0.0 if each else radius,
            noise=noise,
            max_seconds=left,
            callback=None,
            random_state=int(seeds[k]),
            verbose=bool(model.verbose),
            classes=Classes(labels, k, weights, radii),
            **model._options(),
        )
        solutions.append(found)
    _keep(model, solutions, labels, X, y)
    model.noise_ = noise
    per_row = each or (source.brings_radii and radii is None)
    model.radius_ = None if per_row else remembered_radius(given)
    return notes + notes_of(solutions, labels)


def _moved_to(values, X):
    """Per-row values where the rows are; numbers and text stay as they are."""
    if values is None or isinstance(values, str | numbers.Real | dict):
        return values
    refuse_masked(values, "an array beside X")
    values = values if is_foreign(values) else np.asarray(values)
    if not is_foreign(values) and values.dtype.kind not in "biuf":
        return values
    return like(values, X)


def _note_features(model, source: Source) -> None:
    model.n_features_in_ = source.d
    vars(model).pop("feature_names_in_", None)
    if source.names is not None:
        model.feature_names_in_ = np.array(source.names, dtype=object)


def _labels(parts: Iterable) -> tuple[np.ndarray, np.ndarray]:
    """All labels that occur with a weight, and the weight of each."""
    totals: dict = {}
    for y, weight in parts:
        y = y if is_foreign(y) else uniform(np.asarray(y))
        xp = namespace(y)
        for label in distinct(y):
            mask = y == label
            share = mask if weight is None else xp.where(mask, weight, 0.0)
            total = xp.count_nonzero(share) if weight is None else xp.sum(share)
            totals[label] = totals.get(label, 0.0) + float(total)
    refuse_mixture(list(totals))
    present = sorted(name for name, total in totals.items() if total > 0)
    if len(present) < 2:
        shown = ", ".join(map(str, list(totals)[:5]))
        raise ValueError(
            f"y holds {len(totals)} class(es) ({shown}), {len(present)} of non-zero "
            "weight; a classifier needs at least two classes. Check y, sample_weight "
            "and class_weight."
        )
    return np.array(present), np.array([totals[name] for name in present])


def _keep(model, solutions: list[Solution], labels, X, y) -> None:
    """Set the fitted attributes; per-row ones where there was memory for them."""
    coef = np.vstack([found.w for found in solutions])
    intercept = np.array([found.b for found in solutions])
    proofs = [found.certificate for found in solutions]
    facts = {
        "objective_": np.array([proof.primal for proof in proofs]),
        "dual_gap_": np.array([proof.gap for proof in proofs]),
        "relative_gap_": np.array([proof.relative_gap for proof in proofs]),
        "converged_": np.array([found.converged for found in solutions]),
    }
    for name in ("support_", "dual_coef_"):
        vars(model).pop(name, None)
    model.classes_ = labels
    if is_foreign(X):
        model.classes_ = _moved_to(labels, X)
        coef, intercept = like(coef, X), like(intercept, X)
        facts = {name: like(value, X) for name, value in facts.items()}
    model.coef_, model.intercept_ = coef, intercept
    vars(model).update(facts)
    steps = np.array([found.n_iter for found in solutions])
    model.n_iter_ = like(steps, X) if is_foreign(X) else steps
    model.screening_ = []
    for found in solutions:
        free, saturated, removed = found.counts
        n = free + saturated + removed
        shares = {"removed": removed / n, "saturated": saturated / n}
        ended = {"trace": found.trace, "converged": found.converged}
        model.screening_.append(shares | ended)
    if is_foreign(X):
        _keep_support(model, solutions, y)


def _keep_support(model, solutions: list[Solution], y) -> None:
    """Indices and signed α of the samples that push, on the device."""
    xp, labels = namespace(solutions[0].alpha), host(model.classes_).tolist()
    used = solutions[0].alpha != solutions[0].alpha
    for found in solutions:
        used = used | ((found.alpha > 0) & ~found.removed)
    model.support_ = xp.nonzero(used)[0]
    place = model.support_ if is_foreign(y) else host(model.support_)
    own, signed = pick(y, place), []
    for k, found in enumerate(solutions):
        label = labels[1] if len(solutions) == 1 else labels[k]
        alpha = pick(found.alpha, model.support_)
        mask = like(own == label, alpha)
        signed.append(xp.where(mask, alpha, -alpha))
    model.dual_coef_ = xp.stack(signed)
