"""What users give per feature: numbers, perhaps labelled by the names of the features.

Series, dicts and frames are used by name, never by position: `labelled_rows` takes
names and numbers apart, `matched` finds the order, and `feature_names` says what the
columns of X are called.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
    rows = None if isinstance(noise, str) else labels_of(getattr(noise, "index", None))
    return names or feature_names(noise) or rows


def labelled_rows(values) -> tuple[list | None, np.ndarray]:
    """Names and numbers of a Series, a dict or a frame's rows; no names for others."""
    if isinstance(values, dict):
        return list(values), float_array(list(values.values()), "noise")
    return labels_of(getattr(values, "index", None)), float_array(values, "noise")


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


def labels_of(index) -> list | None:
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
