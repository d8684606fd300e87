"""Accuracy on rows a model has not seen: as measured, and under the worst noise.

A prediction counts as certified at radius r if it is right and no move of that size in
the shape of the noise could change it (`wideberth.certify`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wideberth.cli.uncertainty import Uncertainty

__all__ = ["Scores", "certain", "certified_curve", "cross_validate", "curve_radii"]

_POINTS = 61


@dataclass
class Scores:
    """Of every row, when it was not trained on: fold, whether right, how certain."""

    fold: np.ndarray
    right: np.ndarray
    reach: np.ndarray  # certified radius

    def certain(self, radius) -> np.ndarray:
        """Which rows are right whatever noise of this radius (or of these) does."""
        return certain(self.right, self.reach, radius)

    def accuracy(self, radius=0.0) -> np.ndarray:
        """Share of each fold that is."""
        counts = self.certain(radius)
        return np.bincount(self.fold, counts) / np.bincount(self.fold)

    def curve(self, radii) -> np.ndarray:
        """Accuracy for each radius (rows) and fold (columns)."""
        return np.array([self.accuracy(radius) for radius in radii])


def certain(right: np.ndarray, reach: np.ndarray, radius) -> np.ndarray:
    """Which right predictions no move within the radius, one or one each, can change.

    Without noise that is all of them, those on the boundary too.
    """
    return right & ((reach > radius) | (np.asarray(radius) == 0))


def cross_validate(
    fit: Callable, X, y, uncertainty: Uncertainty, folds: int, seed: int, tick: Callable
) -> Scores:
    """Train on all folds but one, in turn, and look at the one."""
    from sklearn.model_selection import StratifiedKFold

    scores = Scores(
        np.zeros(len(y), dtype=int), np.zeros(len(y), dtype=bool), np.zeros(len(y))
    )
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for k, (train, test) in enumerate(splits.split(np.zeros(len(y)), y)):
        tick(k)
        model = fit(X[train], y[train], uncertainty.of(train)).model
        scores.fold[test] = k
        scores.right[test] = model.predict(X[test]) == y[test]
        scores.reach[test] = model.certified_radius(X[test])
    return scores


def curve_radii(reach: np.ndarray, radius: float) -> np.ndarray:
    """Radii to draw: from 0 to where hardly a row is certified.

    But not so far that this radius, which is marked, could no longer be made out.
    """
    finite = reach[np.isfinite(reach)]
    end = float(np.quantile(finite, 0.98)) if finite.size else 0.0
    if radius > 0:
        end = float(np.clip(end, 1.5 * radius, 10 * radius))
    return np.linspace(0, end if end > 0 else 1.0, _POINTS)


def certified_curve(right: np.ndarray, reach: np.ndarray, radii) -> np.ndarray:
    """Share of rows that are right under every move within each radius."""
    one_fold = Scores(np.zeros(len(right), dtype=int), right, reach)
    return one_fold.curve(radii)[:, 0]
