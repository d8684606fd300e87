"""Accuracy on rows a model has not seen: as measured, and under the worst noise.

A prediction counts as certified at radius r if it is right and no move of that size in
the shape of the noise could change it (`wideberth.certify`).
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold

from wideberth.cli.commands import FitOptions
from wideberth.cli.output import Progress
from wideberth.cli.prepare import Rows
from wideberth.cli.training import fit_model, fold_count
from wideberth.cli.uncertainty import Uncertainty

__all__ = ["certain", "curve_radii", "evaluate"]

#: Number of radii at which a curve of certified accuracy is drawn.
_POINTS = 61


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
    end = float(np.quantile(finite, 0.98)) if finite.size else 0.0
    if radius > 0:
        end = float(np.clip(end, 1.5 * radius, 10 * radius))
    return np.linspace(0, end if end > 0 else 1.0, _POINTS)


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
    robust = np.any(np.asarray(trained.radius) > 0)
    trials = {"robust" if robust else "ordinary": given.radius}
    trials.setdefault("ordinary", 0.0)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=options.seed)
    splits = list(splitter.split(np.zeros(len(y)), y))
    fold = np.zeros(len(y), dtype=int)
    scores = {name: (np.zeros(len(y), bool), np.zeros(len(y))) for name in trials}
    for t, (name, radius) in enumerate(trials.items()):
        right, certified_radius = scores[name]
        for k, (train, test) in enumerate(splits):
            step = f"{t * folds + k + 1} of {folds * len(trials)}"
            progress.show(f"cross-validating, {step}")
            own = radius[train] if np.ndim(radius) else radius
            model, *_ = fit_model(options, given, X[train], y[train], own)
            fold[test] = k
            right[test] = model.predict(X[test]) == y[test]
            certified_radius[test] = model.certified_radius(X[test])
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
    }


def _described(
    right, certified_radius, fold, radii: np.ndarray, radius, y: np.ndarray
) -> dict:
    """Accuracies with their spread over the folds, and within each class."""

    def shares(radius) -> np.ndarray:
        """Of each fold."""
        return np.bincount(
            fold, certain(right, certified_radius, radius)
        ) / np.bincount(fold)

    def spread(values: np.ndarray) -> dict:
        mean, std = float(values.mean()), float(values.std(ddof=1))
        return {"mean": mean, "std": std, "folds": values.tolist()}

    curve = np.array([shares(r) for r in radii])
    sure = certain(right, certified_radius, radius)
    return {
        "accuracy": spread(shares(0.0)),
        "certified": spread(shares(radius)),
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
