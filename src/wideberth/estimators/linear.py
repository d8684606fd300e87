"""What the linear classifiers of this package share: prediction, weights and radii."""

from __future__ import annotations

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from wideberth import certify
from wideberth.estimators.certified import CertifiedMixin
from wideberth.problem.arrays import host, is_dask, is_foreign, like, namespace, pick
from wideberth.problem.labels import class_labels, class_numbers, uniform
from wideberth.problem.noise import align_noise
from wideberth.problem.validation import (
    as_array,
    check_per_sample,
    refuse_chunks,
    refuse_text,
)

__all__ = [
    "DTYPES",
    "LinearClassifier",
    "dispatched",
    "notes_of",
    "per_class",
    "read_data",
    "remembered_radius",
    "weighted_classes",
]

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
        _check_same_place(X, self, "decision_function")
        if dispatched(X):
            dtypes = [namespace(X).float64, X.dtype]
        else:
            X, dtypes = _read_rows(X), DTYPES
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

    def _numbers(self, y, n: int) -> np.ndarray:
        """Class numbers of n labels, −1 for labels the model does not know."""
        return class_numbers(y, self.classes_, n)

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
        table = self._class_factors(labels, np.bincount(numbers, weights))
        return weights * table[numbers]

    def _class_factors(self, labels, totals: np.ndarray) -> np.ndarray:
        """Factors on C by class; `totals` are the weights of the classes."""
        if self.class_weight is None:
            return np.ones(len(labels))
        if isinstance(self.class_weight, dict):
            return per_class(self.class_weight, labels, "class_weight", default=1.0)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            present = totals > 0
            table = np.zeros(len(labels))
            table[present] = totals.sum() / (present.sum() * totals[present])
            return table
        raise ValueError(
            f"class_weight={self.class_weight!r} is not known; give None, "
            "'balanced' or a dict of class label to weight."
        )

    def _unknown_classes(self, labels, radius) -> list[Warning]:
        """What to say of `class_weight` and `radius` for labels that do not occur."""
        tables = {"class_weight": self.class_weight, "radius": radius}
        notes = [
            note_unknown(table, labels, name)
            for name, table in tables.items()
            if isinstance(table, dict)
        ]
        return [note for note in notes if note is not None]

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
        if isinstance(radius, dict):
            labels, numbers = np.unique(y, return_inverse=True)
            return per_class(radius, labels, "radius")[numbers]
        return radius

    def _trained_radius(self):
        """The number or dict trained with; None where every sample had its own."""
        raise NotImplementedError

    def _noise(self):
        """The noise to train against; a pipeline may carry it here from raw units."""
        if hasattr(self, "_carried_noise"):
            return self._carried_noise()
        return align_noise(self.noise, getattr(self, "feature_names_in_", None))


def note_unknown(table: dict, labels, name: str) -> Warning | None:
    """Refuse, or else note, entries of a dict for labels that do not occur.

    As in scikit-learn they are an error where a class has no entry: then one of them is
    probably meant for it. Where every class has one they may be for classes that a fold
    of a cross-validation happens to lack, and a warning says so.
    """
    known = host(labels).tolist()
    unknown = [label for label in table if label not in known]
    if not unknown:
        return None
    said = f"{name} has entries for {unknown!r}, which do not occur in y"
    if any(label not in table for label in known):
        raise ValueError(
            f"{said}; its classes are {known!r}. Name classes as y does; where folds "
            "may lack a class, give every class an entry."
        )
    return UserWarning(f"{said}; its classes are {known!r}.")


def notes_of(solutions: list, labels) -> list[Warning]:
    """Warnings of all binary problems; where there are more, each names its class."""
    if len(solutions) == 1:
        return list(solutions[0].notes)
    return [
        type(note)(f"{label!s} against the rest: {note}")
        for label, solution in zip(labels, solutions, strict=True)
        for note in solution.notes
    ]


def dispatched(X) -> bool:
    """Whether X is an array of another library and scikit-learn is told to keep it."""
    return get_config()["array_api_dispatch"] and is_foreign(X)


def _check_same_place(X, model, method: str) -> None:
    """A model fitted in one namespace predicts there, as scikit-learn has it."""
    if get_config()["array_api_dispatch"]:
        try:
            from sklearn.utils._array_api import check_same_namespace
        except ImportError:  # scikit-learn before 1.8
            return
        check_same_namespace(X, model, attribute="coef_", method=method)


def _read_rows(X):
    """Rows to predict, less what scikit-learn would misread: paths, masks, text."""
    if is_dask(X):
        return X
    refuse_chunks(X, "prediction")
    X = host(X) if is_foreign(X) else X
    refuse_text(X)
    return X


def read_data(model, X, y) -> tuple:
    """X and y in memory as scikit-learn checks them, after what it lets pass.

    Masks, text and dates that it would turn into numbers are refused, and labels that
    are objects become what they are.
    """
    refuse_chunks(X, type(model).__name__)
    X = host(X) if is_foreign(X) else X
    refuse_text(X)
    if y is not None:
        labels, n = as_array(y, "y"), _num_samples(X)
        if labels.shape[:1] != (n,):
            raise ValueError(
                f"y has shape {labels.shape}; it must be one label per row of X, "
                f"shape ({n},)."
            )
        y = uniform(labels) if labels.dtype.kind == "O" and labels.ndim == 1 else y
        y = labels if is_foreign(y) else y
    X, y = validate_data(model, X, y, accept_sparse="csr", dtype=DTYPES)
    check_classification_targets(y)
    return X, y


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


def remembered_radius(radius):
    """What a fitted model keeps of the radius it was trained with, as `radius_`.

    A number or a dict of class label to number; None where every sample had its own.
    """
    if isinstance(radius, dict):
        return dict(radius)
    return None if np.ndim(radius) > 0 else float(radius)


def per_class(table: dict, labels, name: str, default=None) -> np.ndarray:
    """Read a dict of class label to number as an array in the order of `labels`."""
    values = [table.get(label, default) for label in labels.tolist()]
    if any(value is None for value in values):
        missing = labels[[value is None for value in values].index(True)]
        raise ValueError(
            f"{name}={table!r} has no entry for the class {missing!s}; give one for "
            "every class."
        )
    return check_per_sample(values, len(labels), f"{name} per class")
