"""What users give per feature: numbers, perhaps labelled by the names of the features.

Series, dicts and frames are used by name, never by position: `labelled_rows` and
`labelled_covariance` take names and numbers apart, `matched` finds the order, `aligned`
does it all, and `feature_names` says what the columns of X are called.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wideberth.problem.covariance import INPUT_ROUNDING
from wideberth.problem.validation import float_array

#: How many names an error lists.
_SHOWN = 10


def feature_names(X) -> list | None:
    """Names of the columns of a frame; None where X has none."""
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns):
        return None
    names = list(columns)
    return names if any(isinstance(name, str) for name in names) else None


def own_names(noise) -> list | None:
    """The names that noise brings along, for those who need no order of features."""
    if isinstance(noise, dict):
        return list(noise)
    names = getattr(noise, "feature_names", None)  # of correlated noise
    rows = None if isinstance(noise, str) else _labels(getattr(noise, "index", None))
    return names or feature_names(noise) or rows


def labelled_rows(values) -> tuple[list | None, np.ndarray]:
    """Names and numbers of a Series, a dict or a frame's rows; no names for others."""
    if isinstance(values, dict):
        return list(values), float_array(list(values.values()), "noise")
    return _labels(getattr(values, "index", None)), float_array(values, "noise")


def labelled_covariance(values) -> tuple[list | None, np.ndarray]:
    """Names and numbers of a covariance, in one order of rows and columns.

    A frame without an index has its rows in the order of its columns.
    """
    matrix, names = float_array(values, "noise"), feature_names(values)
    rows = _labels(getattr(values, "index", None))
    if rows is None or names is None:
        return names or rows, matrix
    if sorted(map(str, rows)) != sorted(map(str, names)):
        raise ValueError(
            f"noise is a frame whose rows ({listed(rows)}) and columns "
            f"({listed(names)}) have other names; a covariance has the same for both."
        )
    return names, matrix[matched(rows, names)]


def aligned(values, names: Sequence | None) -> np.ndarray:
    """Scales, or a covariance, in the order of the features `names`."""
    labelled = labelled_covariance if hasattr(values, "columns") else labelled_rows
    labels, array = labelled(values)
    if labels is None:
        return array
    order = matched(labels, names)
    if array.ndim == 2:
        return check_covariance(array)[np.ix_(order, order)]
    return array[order]


def matched(
    labels: Sequence, names: Sequence | None, what: str = "noise"
) -> np.ndarray:
    """Places at which `labels`, those of `what`, hold each of the feature `names`."""
    if names is None:
        raise ValueError(
            f"{what} is labelled by feature names ({listed(labels)}), but X has no "
            "column names to compare them with. Give X as a frame with these columns, "
            f"or {what} as an array in the order of the features."
        )
    places = {label: place for place, label in enumerate(labels)}
    missing = [name for name in names if name not in places]
    known = set(names)
    unknown = [label for label in labels if label not in known]
    if missing or unknown:
        parts = [f"has none for {listed(missing)}"] if missing else []
        parts += [f"names {listed(unknown)}, not in X"] if unknown else []
        raise ValueError(
            f"{what} {' and '.join(parts)}; give one for every feature of X, "
            f"{listed(names)}, and no other (0 for a feature without noise)."
        )
    if len(places) < len(labels):
        twice = [label for place, label in enumerate(labels) if places[label] != place]
        raise ValueError(f"{what} names {listed(twice)} more than once; give one each.")
    return np.array([places[name] for name in names], dtype=np.intp)


def check_covariance(noise: np.ndarray) -> np.ndarray:
    """A finite, square matrix, symmetric up to rounding, made symmetric."""
    square = noise.ndim == 2 and noise.shape[0] == noise.shape[1]
    if not square or not np.isfinite(noise).all():
        raise ValueError(
            f"noise has shape {noise.shape}; as a matrix it must be a finite "
            "covariance, one row and one column per feature."
        )
    largest = float(np.abs(noise).max(initial=0.0))
    if not np.abs(noise - noise.T).max(initial=0.0) <= INPUT_ROUNDING * largest:
        raise ValueError("noise is not symmetric; as a matrix it must be a covariance.")
    return 0.5 * noise + 0.5 * noise.T


def _labels(index) -> list | None:
    """Labels of a pandas index; None where it only counts, or is something else."""
    if index is None or callable(index):
        return None
    labels = list(index)
    return None if labels == list(range(len(labels))) else labels


def listed(names: Sequence) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(map(repr, names[:_SHOWN]))
    left = len(names) - _SHOWN
    return f"{shown} and {left} more" if left > 0 else shown
