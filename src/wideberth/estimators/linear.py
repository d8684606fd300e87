"""What the linear classifiers of this package share: prediction, certificates, noise.

`CertifiedMixin` has the certificates of `certify` as methods; pipelines take it too.
"""

from __future__ import annotations

import warnings
from copy import copy

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from wideberth import certify
from wideberth.estimators.one_vs_rest import radii_of
from wideberth.estimators.training_data import dispatched, read_rows
from wideberth.problem.arrays import host, is_dask, is_foreign, like, namespace, pick
from wideberth.problem.labels import class_labels, class_numbers
from wideberth.problem.noise import align_noise
from wideberth.problem.validation import check_per_sample


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

    def _robust_model(self) -> tuple[LinearClassifier, np.ndarray, object]:
        """The fitted classifier, and its weights and noise shape in units of X."""
        raise NotImplementedError


class LinearClassifier(CertifiedMixin, ClassifierMixin, BaseEstimator):
    """A classifier by `coef_`, `intercept_`, `classes_`, trained against `noise_`."""

    def decision_function(self, X) -> np.ndarray:
        """Return the score of each class, or of the second class where there are two.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes), float64
        """
        check_is_fitted(self, "coef_")
        _check_same_place(X, self, "decision_function")
        if dispatched(X):
            dtypes = [namespace(X).float64, X.dtype]
        else:
            X = X if is_dask(X) else read_rows(X, "prediction")
            dtypes = [np.float64, np.float32]
        X = validate_data(self, X, accept_sparse="csr", dtype=dtypes, reset=False)
        return certify.decision_values(X, host(self.coef_), host(self.intercept_))

    def predict(self, X) -> np.ndarray:
        """Return the label with the highest score for each sample.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self, "coef_")
        _check_same_place(X, self, "predict")
        values = self.decision_function(X)
        xp = namespace(values)
        if values.ndim == 1:
            numbers = xp.where(values > 0, xp.ones_like(values, dtype=xp.int64), 0)
        else:
            numbers = xp.argmax(values, axis=1)
        classes = self.classes_
        if not is_foreign(classes) and classes.dtype.kind not in "biuf":
            return classes[host(numbers)]
        return pick(like(classes, values), numbers)

    def score(self, X, y, sample_weight=None):
        """Return the accuracy on samples with labels.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            True labels; those that are not in `classes_` count as wrong.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self, "coef_")
        if not is_foreign(y):
            y = class_labels(y, self.classes_, _num_samples(X))
        return super().score(X, y, sample_weight)

    def _robust_model(self):
        return self, host(self.coef_), self.noise_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Where the question mark of the HTML representation leads.
    _doc_link_module = "wideberth"
    _doc_link_template = (
        "https://wideberth.readthedocs.io/en/stable/api/{estimator_name}.html"
    )

    def _radii(self, y, radius):
        """What `solve` takes for `radius`: one number or one per sample.

        Where none is given it is the one trained with, which must be one number or one
        per class: radii of the training samples say nothing about those of others.
        """
        if radius is None:
            radius = self._trained_radius()
            if radius is None:
                raise ValueError(
                    "radius must be given: this model was trained with one radius per "
                    "sample, and it does not know those of these samples. Give "
                    "radius=... , an array with one per row of X or one number for all."
                )
        return radii_of(radius, y)

    def _trained_radius(self):
        """The number or dict trained with; None where every sample had its own."""
        model = getattr(self, "best_estimator_", self)
        if not hasattr(model, "radius_"):
            raise ValueError(
                "radius must be given: this model was saved by a version that did not "
                "keep the radius it was trained with. Give radius=... ."
            )
        return model.radius_

    def _fit_or_stay(self, *data):
        """Fit; a fit that fails or is interrupted leaves what was fitted before."""
        fitted = copy(self)
        for note in fitted._fit(*data):
            warnings.warn(note, stacklevel=3)
        self.__dict__ = fitted.__dict__
        return self

    def _fit(self, *data) -> list[Warning]:
        """Fit in place; return the warnings to issue."""
        raise NotImplementedError

    def _noise(self):
        """The noise to train against; a pipeline may carry it here from raw units."""
        if hasattr(self, "_carried_noise"):
            return self._carried_noise()
        return align_noise(self.noise, getattr(self, "feature_names_in_", None))


def _check_same_place(X, model, method: str) -> None:
    """A model fitted in one namespace predicts there, as scikit-learn has it."""
    if get_config()["array_api_dispatch"]:
        try:
            from sklearn.utils._array_api import check_same_namespace
        except ImportError:  # scikit-learn before 1.8
            return
        check_same_namespace(X, model, attribute="coef_", method=method)
