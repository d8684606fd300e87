"""The certificates of `certify` as methods of fitted estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wideberth import certify
from wideberth.problem.arrays import host
from wideberth.problem.labels import class_numbers
from wideberth.problem.validation import check_per_sample

if TYPE_CHECKING:
    from wideberth.estimators.svc import RobustLinearSVC

__all__ = ["CertifiedMixin"]


class CertifiedMixin:
    """What a fitted model promises about samples that are off; see `certify`."""

    def certified_radius(self, X) -> np.ndarray:
        """Return how far each sample may move before its prediction can change.

        Exact, in units of the noise shape: with `noise="l2"` a Euclidean distance, with
        per-feature scales a distance after division by them.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            Infinite where no noise of this shape can change the prediction.
        """
        values, _, coef, noise = self._judge(X)
        return certify.certified_radius(values, coef, noise)

    def robust_score(self, X, y, radius=None, sample_weight=None) -> float:
        """Return the accuracy under the worst perturbation of every sample.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            True labels; those that are not in `classes_` count as wrong.
        radius : float, dict or array of shape (n_samples,), optional
            How far samples may be off; by default as far as in training. A model
            that was trained with one radius per sample asks for them.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
            The share of samples that every move within the radius leaves right.
        """
        values, classifier, coef, noise = self._judge(X)
        labels = class_numbers(y, classifier.classes_, len(values))
        radii = classifier._radii(y, radius)
        known = np.maximum(labels, 0)
        right = certify.robust_correct(values, known, coef, radii, noise)
        weights = None
        if sample_weight is not None:
            weights = check_per_sample(sample_weight, len(values), "sample_weight")
            if not weights.any():
                raise ValueError("sample_weight is 0 for every sample; give some > 0.")
        return float(np.average(right & (labels >= 0), weights=weights))

    def worst_case(self, X, y, radius=None) -> np.ndarray:
        """Return the perturbation of each sample that hurts most.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            True labels, all of them in `classes_`.
        radius : float, dict or array of shape (n_samples,), optional
            How far samples may be off; by default as far as in training. A model
            that was trained with one radius per sample asks for them.

        Returns
        -------
        array of shape (n_samples, n_features)
            To be added to X.
        """
        values, classifier, coef, noise = self._judge(X)
        labels = class_numbers(y, classifier.classes_, len(values))
        if labels.min(initial=0) < 0:
            unknown = host(y)[labels < 0][0]
            raise ValueError(
                f"y holds the label {unknown!s}, unknown to this model; its classes "
                f"are {classifier.classes_.tolist()}."
            )
        radii = classifier._radii(y, radius)
        return certify.worst_case(values, labels, coef, radii, noise)

    def _judge(self, X) -> tuple:
        """Decision values of samples, and what `_robust_model` returns."""
        values = host(self.decision_function(X))  # type: ignore[attr-defined]
        return values, *self._robust_model()

    def _robust_model(self) -> tuple[RobustLinearSVC, np.ndarray, object]:
        """The fitted classifier, and its weights and noise shape in units of X."""
        raise NotImplementedError
