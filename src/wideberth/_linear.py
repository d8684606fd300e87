"""What the linear classifiers of this package share: prediction, weights and radii."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from wideberth import certify
from wideberth._certified import CertifiedMixin
from wideberth._validation import check_per_sample

__all__ = ["DTYPES", "LinearClassifier", "weighted_classes"]

DTYPES = [np.float64, np.float32]


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
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, reset=False)
        return certify.decision_values(X, self.coef_, self.intercept_)

    def predict(self, X) -> np.ndarray:
        """Return the label with the highest score for each sample.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(int)]
        return self.classes_[values.argmax(axis=1)]

    def _robust_model(self):
        return self, self.coef_, self.noise_

    def _numbers(self, y) -> np.ndarray:
        """Class numbers of labels, −1 for labels the model does not know."""
        y = np.asarray(y)
        numbers = np.searchsorted(self.classes_, y)
        found = self.classes_[np.minimum(numbers, len(self.classes_) - 1)] == y
        return np.where(found, numbers, -1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Where the question mark of the HTML representation leads.
    _doc_link_module = "wideberth"
    _doc_link_template = (
        "https://wideberth.readthedocs.io/en/stable/api/{estimator_name}.html"
    )

    def _weights(self, y, sample_weight) -> np.ndarray:
        """Factors on C: sample weights times class weights."""
        given = 1.0 if sample_weight is None else sample_weight
        weights = check_per_sample(given, len(y), "sample_weight")
        if self.class_weight is None:
            return weights
        labels, numbers = np.unique(y, return_inverse=True)
        if isinstance(self.class_weight, dict):
            table = _per_class(self.class_weight, labels, "class_weight", default=1.0)
        elif isinstance(self.class_weight, str) and self.class_weight == "balanced":
            totals = np.bincount(numbers, weights)
            present = totals > 0
            table = np.zeros(len(labels))
            table[present] = totals.sum() / (present.sum() * totals[present])
        else:
            raise ValueError(
                f"class_weight={self.class_weight!r} is not known; give None, "
                "'balanced' or a dict of class label to weight."
            )
        return weights * table[numbers]

    def _radii(self, y, radius):
        """What `solve` takes for `radius`: one number or one per sample."""
        if radius is None:
            radius = self._own_radius()
            if not isinstance(radius, dict) and np.ndim(radius) > 0:
                raise ValueError(
                    f"radius has shape {np.shape(radius)}; as a parameter it must be "
                    "one number or a dict of class label to number. Give one radius "
                    "per sample to fit: fit(X, y, radius=...)."
                )
        if isinstance(radius, dict):
            labels, numbers = np.unique(y, return_inverse=True)
            return _per_class(radius, labels, "radius")[numbers]
        return radius

    def _own_radius(self):
        """The radius that stands where none is given."""
        raise NotImplementedError

    def _noise(self):
        """The noise to train against; a pipeline may carry it here from raw units."""
        return self._carried_noise() if hasattr(self, "_carried_noise") else self.noise


def weighted_classes(y, weights) -> tuple[np.ndarray, np.ndarray]:
    """Labels of positive weight, and the number of each sample's (−1 for others)."""
    labels, numbers = np.unique(y, return_inverse=True)
    present = np.bincount(numbers, weights) > 0
    if present.sum() < 2:
        shown = ", ".join(map(str, labels[:5].tolist()))
        raise ValueError(
            f"y holds {len(labels)} class(es) ({shown}), {present.sum()} of non-zero "
            "weight; a classifier needs at least two classes. Check y, sample_weight "
            "and class_weight."
        )
    renumbered = np.where(present, np.cumsum(present) - 1, -1)
    return labels[present], renumbered[numbers]


def _per_class(table: dict, labels, name: str, default=None) -> np.ndarray:
    """Read a dict of class label to number as an array in the order of `labels`."""
    values = [table.get(label, default) for label in labels.tolist()]
    if None in values:
        missing = labels[values.index(None)]
        raise ValueError(
            f"{name}={table!r} has no entry for the class {missing!s}; give one for "
            "every class."
        )
    return check_per_sample(values, len(labels), f"{name} per class")
