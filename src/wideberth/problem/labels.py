"""Class labels: checks, the classes that occur, and −1 and +1 for two of them.

As in scikit-learn, classes are sorted, and the second of two is the positive one.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection

import numpy as np

from wideberth.problem.arrays import host, is_foreign, namespace
from wideberth.problem.validation import (
    NotFiniteError,
    as_array,
    float_array,
    is_missing,
)

#: Number of distinct labels above which numbers look like measurements: a choice.
_MANY = 20


def check_labels(y, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels as −1.0 and +1.0, and the two classes that these stand for."""
    y = label_vector(y, n)
    if y.dtype.kind in "biuf":  # mostly two numbers, which need no sorting
        low, high = np.minimum.reduce(y), np.maximum.reduce(y)
        positive = y == high
        others = np.count_nonzero(y == low)
        if low < high and np.count_nonzero(positive) + others == n:
            return 2.0 * positive - 1.0, np.array([low, high])
    if y.dtype.kind in "fcO":
        y = uniform(y)
    labels, numbers = np.unique(y, return_inverse=True)
    classes = labels if labels.size == 2 else two_classes(labels.tolist())
    return np.where(numbers == 1, 1.0, -1.0), classes


def check_targets(y, n: int) -> np.ndarray:
    """Numbers to predict, one per row, as float64."""
    y = label_vector(y, n, "number")
    if y.dtype.kind not in "biuf":
        y = float_array(y, "y")
    targets = np.asarray(y, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(targets))
    if bad.size:
        raise NotFiniteError(
            f"y is {targets[bad[0]]} in row {bad[0]}; {bad.size} of {n} rows have no "
            "finite number to predict. Drop them."
        )
    return targets


def label_vector(y, n: int, what: str = "label") -> np.ndarray:
    """One label, or number to predict, per row, as a NumPy vector."""
    if y is None:
        raise ValueError(f"y is None; give one {what} per row of X.")
    y = y if type(y) is np.ndarray else as_array(y, "y")
    if y.shape == (n, 1):
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            f"y is a column, shape ({n}, 1), where a vector of shape ({n},) was "
            "expected; it is taken for that. Change it with y.ravel().",
            DataConversionWarning,
            stacklevel=2,
        )
        y = y[:, 0]
    if y.shape != (n,):
        raise ValueError(
            f"y has shape {y.shape}; it must be one {what} per row of X, shape ({n},)."
        )
    return y


def uniform(y: np.ndarray) -> np.ndarray:
    """The same labels as an array of one type.

    Objects become numbers, text or booleans. Missing labels, and a mixture of types,
    which has no order, are refused.
    """
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise _no_label(np.nan, int(np.flatnonzero(np.isnan(y))[0]))
    if y.dtype.kind == "c":
        raise ValueError(f"y has dtype {y.dtype}; labels are real numbers or text.")
    if y.dtype.kind != "O":
        return y
    values = y.tolist()
    for place, value in enumerate(values):
        if is_missing(value):
            raise _no_label(value, place)
        if _is_collection(value):
            raise ValueError(
                f"y holds an object of type {type(value).__name__} at row {place} "
                f"({value!r}); a label is one number or text."
            )
    refuse_mixture(values)
    return np.array(values) if values else y


def _is_collection(value) -> bool:
    """Whether this is a list, a dict or an array; text is one value."""
    if isinstance(value, str | bytes) or not isinstance(value, Collection):
        return False
    return getattr(value, "ndim", 1) > 0


def _no_label(value, place: int) -> ValueError:
    return ValueError(
        f"y has no label at row {place} ({value!r}); drop rows without one first."
    )


def refuse_mixture(labels: list) -> None:
    """Refuse labels of different types, such as text and numbers: they do not sort."""
    first: dict[str, object] = {}
    for label in labels:
        first.setdefault(_kind(label), label)
    if len(first) > 1:
        shown = " and ".join(
            f"{kind} ({label!r})" for kind, label in list(first.items())[:2]
        )
        raise ValueError(
            f"y mixes {shown}; labels must be all of one type. Convert them, for "
            "example with y.astype(str)."
        )


def _kind(label) -> str:
    if isinstance(label, str | bytes):
        return "text"
    try:
        float(label)
    except (TypeError, ValueError):
        return f"objects of type {type(label).__name__}"
    return "numbers"


def distinct(y) -> list:
    """The labels that occur in a vector of any library, as Python objects."""
    if is_foreign(y):
        labels = [host(label).item() for label in namespace(y).unique_values(y)]
    else:
        labels = np.unique(uniform(np.asarray(y))).tolist()
    for label in labels:
        if is_missing(label):
            raise ValueError("y holds NaN; drop rows without a label first.")
    return labels


def two_classes(labels: list) -> np.ndarray:
    """The classes of a binary problem, sorted; an error unless there are two."""
    refuse_mixture(labels)
    labels = sorted(labels)
    if len(labels) == 2:
        return np.array(labels)
    if len(labels) == 1:
        raise ValueError(
            f"y holds a single class, {labels[0]!s}; a classifier needs two. Check y."
        )
    shown = ", ".join(map(repr, labels[:5]))
    advice = "RobustLinearSVC takes any number of classes."
    if len(labels) > _MANY and all(isinstance(label, float) for label in labels):
        advice = f"These look like measurements; a classifier needs classes. {advice}"
    raise ValueError(
        f"y holds {len(labels)} classes ({shown}{', …' if len(labels) > 5 else ''}); "
        f"this function needs exactly two. {advice}"
    )


def class_labels(y, classes, n: int) -> np.ndarray:
    """The true labels of n samples, to compare with a model's `classes`.

    Text where the classes are numbers, or the reverse, is refused: no label would be
    among the classes.
    """
    y, known = uniform(label_vector(y, n)), host(classes).tolist()
    if n and _kind(first := y[:1].tolist()[0]) != _kind(known[0]):
        raise ValueError(
            f"y holds {_kind(first)} such as {first!r}, but the classes of this model "
            f"are {_kind(known[0])}: {known}. Give labels as they were given to fit."
        )
    return y


def class_numbers(y, classes, n: int) -> np.ndarray:
    """The place of each of n labels in the sorted `classes`, −1 if it is not there."""
    labels, numbers = np.unique(class_labels(y, classes, n), return_inverse=True)
    places = {label: place for place, label in enumerate(host(classes).tolist())}
    found = [places.get(label, -1) for label in labels.tolist()]
    return np.array(found, dtype=int)[numbers]
