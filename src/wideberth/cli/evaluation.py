"""Accuracy on rows a model has not seen: as measured, and under the worst noise.

A prediction counts as certified at radius r if it is right and no move of that size in
the shape of the noise could change it (`wideberth.certify`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import StratifiedKFold

from wideberth.cli.prepare import Rows
from wideberth.cli.recipe import Recipe, fold_count
from wideberth.cli.uncertainty import Uncertainty

__all__ = ["certain", "certified_curve", "curve_radii", "evaluate"]

#: Number of radii at which a curve of certified accuracy is drawn.
_POINTS = 61


def certain(right: np.ndarray, reach: np.ndarray, radius) -> np.ndarray:
    """Which right predictions no move within the radius, one or one each, can change.

    Without noise that is all of them, those on the boundary too.
    """
    return right & ((reach > radius) | (np.asarray(radius) == 0))


def certified_curve(right: np.ndarray, reach: np.ndarray, radii) -> np.ndarray:
    """Share of rows that are right under every move within each radius."""
    return np.array([certain(right, reach, radius).mean() for radius in radii])


def curve_radii(reach: np.ndarray, radius: float) -> np.ndarray:
    """Radii to draw: from 0 to where hardly a row is certified.

    But not so far that this radius, which is marked, could no longer be made out.
    """
    finite = reach[np.isfinite(reach)]
    end = float(np.quantile(finite, 0.98)) if finite.size else 0.0
    if radius > 0:
        end = float(np.clip(end, 1.5 * radius, 10 * radius))
    return np.linspace(0, end if end > 0 else 1.0, _POINTS)


def evaluate(
    recipe: Recipe,
    rows: Rows,
    given: Uncertainty,
    trained: Uncertainty,
    tick: Callable[[int, int], None],
) -> dict | None:
    """Cross-validated accuracy of a procedure and of the ordinary SVM beside it.

    The procedure starts from the radii `given`, and chooses anew in every fold what it
    chooses; noise is that which the model was `trained` for. None where some class has
    too few rows.
    """
    folds = fold_count(rows.y, recipe.options.folds)
    if not folds:
        return None
    trials = {"ordinary": replace(given, radius=0.0)}
    if np.any(np.asarray(trained.radius) > 0):
        trials = {"robust": given} | trials
    else:
        trials["ordinary"] = given
    scores = {}
    for number, (name, trial) in enumerate(trials.items()):

        def progress(k: int, before: int = number * folds) -> None:
            tick(before + k + 1, folds * len(trials))

        scores[name] = _Scores.of(recipe, rows, trial, folds, progress)
    reach = np.concatenate([s.reach for s in scores.values()])
    radii = curve_radii(reach, trained.median())
    counts = np.unique(rows.y, return_counts=True)[1]
    return {
        "folds": folds,
        "majority": float(counts.max() / counts.sum()),
        "radii": radii.tolist(),
        "models": {
            name: s.described(radii, trained.radius, rows.y)
            for name, s in scores.items()
        },
    }


@dataclass
class _Scores:
    """Of every row, when it was not trained on: fold, whether right, how certain."""

    fold: np.ndarray
    right: np.ndarray
    reach: np.ndarray  # certified radius

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        rows: Rows,
        uncertainty: Uncertainty,
        folds: int,
        tick: Callable[[int], None],
    ) -> _Scores:
        """Train on all folds but one, in turn, and look at the one."""
        X, y = rows.X, rows.y
        scores = cls(np.zeros(len(y), int), np.zeros(len(y), bool), np.zeros(len(y)))
        splits = StratifiedKFold(folds, shuffle=True, random_state=recipe.options.seed)
        for k, (train, test) in enumerate(splits.split(np.zeros(len(y)), y)):
            tick(k)
            model = recipe.fit(X[train], y[train], uncertainty.of(train)).model
            scores.fold[test] = k
            scores.right[test] = model.predict(X[test]) == y[test]
            scores.reach[test] = model.certified_radius(X[test])
        return scores

    def accuracy(self, radius=0.0) -> np.ndarray:
        """Share of each fold that is right whatever noise of this radius does."""
        counts = certain(self.right, self.reach, radius)
        return np.bincount(self.fold, counts) / np.bincount(self.fold)

    def described(self, radii: np.ndarray, radius, y: np.ndarray) -> dict:
        """Return accuracies with their spread over the folds, and within each class."""
        curve = np.array([self.accuracy(r) for r in radii])
        certified = certain(self.right, self.reach, radius)
        return {
            "accuracy": _spread(self.accuracy()),
            "certified": _spread(self.accuracy(radius)),
            "curve": {
                "mean": curve.mean(axis=1).tolist(),
                "low": curve.min(axis=1).tolist(),
                "high": curve.max(axis=1).tolist(),
            },
            "classes": {
                str(label): {
                    "accuracy": float(self.right[y == label].mean()),
                    "certified": float(certified[y == label].mean()),
                }
                for label in np.unique(y).tolist()
            },
        }


def _spread(values: np.ndarray) -> dict:
    return {
        "mean": float(values.mean()),
        "std": float(values.std(ddof=1)),
        "folds": values.tolist(),
    }
