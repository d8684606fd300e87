"""Measured objects with labels, and folds: what is trained on, what is left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from wideberth.estimators.cv import RobustLinearSVCCV
from wideberth.estimators.denoised import Scores
from wideberth.estimators.pipeline import RobustPipeline, make_robust_pipeline
from wideberth.estimators.svc import RobustLinearSVC


@dataclass(frozen=True)
class MeasuredRows:
    """Objects with labels, errors or None, and weights."""

    X: np.ndarray
    y: np.ndarray
    E: np.ndarray | None
    weights: np.ndarray

    def take(self, rows) -> MeasuredRows:
        """Some of them."""
        E = None if self.E is None else self.E[rows]
        return MeasuredRows(self.X[rows], self.y[rows], E, self.weights[rows])

    @property
    def heavy(self) -> MeasuredRows:
        """Those whose weight is not 0: others might as well be absent."""
        return self.take(self.weights > 0)

    @property
    def weighted(self) -> dict:
        """The weights, as the pipeline takes them."""
        return {"robustlinearsvc__sample_weight": self.weights}


@dataclass(frozen=True)
class Fold:
    """A part to train on, a part left out, and the pipeline fitted to the first."""

    train: MeasuredRows
    test: MeasuredRows
    fitted: RobustPipeline

    def scores(self, search: RobustLinearSVCCV) -> np.ndarray:
        """Accuracy on the part left out, of shape (n_Cs, n_radii)."""
        parts = self.fitted.denoised_
        rows = [self.train, self.test]
        found = [parts.posterior(part.X, part.E) for part in rows]
        n, m = (len(part.y) for part in rows)
        search = clone(search).set_params(cv=[(np.arange(n), np.arange(n, n + m))])
        search.fit(
            np.concatenate([one.mean for one in found]),
            np.concatenate([part.y for part in rows]),
            sample_weight=np.concatenate([part.weights for part in rows]),
            X_err=np.concatenate([one.covariance for one in found]),
        )
        return search.scores_[:, :, 0].T

    def left_out(self, classifier: RobustLinearSVC) -> Scores:
        """Decision values of the part left out, under a classifier with settings."""
        data, parts = self.train, self.fitted.denoised_
        behind = make_robust_pipeline(classifier)
        trained = parts.trained(behind, data.X, data.y, data.E, data.weighted)
        return trained.scores(self.test.X, self.test.E)
