"""Columns of a table that noise does not move: text, and what is encoded as categories.

A category is what it is: no small move leads from one to another. So steps may do with
such columns what they like, and in everything else must be affine, in the same way
whatever the categories (`affine.py`): A of x' = Ax + c has a column of zeros for each
of them, and c depends on them. Noise has no level there, or 0.
"""

from __future__ import annotations

import numbers
from decimal import Decimal

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from wideberth.noise import align_noise, as_shape
from wideberth.problem.validation import (
    feature_names,
    is_missing,
    is_numeric,
    listed,
    own_names,
)

_ENCODERS = (OneHotEncoder, OrdinalEncoder, TargetEncoder)
#: How scikit-learn and this package say that they met text.
_MET_TEXT = ("could not convert string", "must be real numbers")


def exact_columns(steps: list, X) -> np.ndarray:
    """A mask of the columns that do not move, before fitted steps.

    `steps` are pairs of a name and a transformer. Of columns that hold numbers these
    are the ones that a ColumnTransformer, as the first of them, hands to encoders of
    categories alone.
    """
    exact = text_columns(X)
    first = steps[0][1] if steps else None
    if isinstance(first, ColumnTransformer):
        encoded, measured = np.zeros_like(exact), np.zeros_like(exact)
        for name, part, _ in first.transformers_:
            inputs = np.asarray(first._transformer_to_input_indices[name], dtype=int)
            kind = encoded if _encodes(part) else measured
            if part != "drop":
                kind[inputs] = True
        exact |= encoded & ~measured
    return exact


def text_columns(X) -> np.ndarray:
    """A mask of the columns whose entries are not numbers; none of what is no table."""
    if hasattr(X, "columns"):
        columns = [X[name] for name in X.columns]
        if hasattr(X, "iloc"):  # names may occur twice
            columns = [X.iloc[:, j] for j in range(X.shape[1])]
        return np.array([not _holds_numbers(column) for column in columns], dtype=bool)
    array = X if sp.issparse(X) else np.asarray(X)
    if sp.issparse(X) or array.ndim != 2 or array.dtype.kind != "O":
        return np.zeros(array.shape[1] if array.ndim == 2 else 0, dtype=bool)
    return np.array([not _holds_numbers(column) for column in array.T], dtype=bool)


def _holds_numbers(column) -> bool:
    """Whether a column of a frame, or an array of objects, holds real numbers alone.

    Cells may be missing. Categories are no numbers, even if they look like some.
    """
    dtype = getattr(column, "dtype", None)
    if is_numeric(dtype) or getattr(dtype, "kind", "O") != "O":
        return is_numeric(dtype)
    if not isinstance(dtype, np.dtype):  # of pandas: text or categories
        return False
    return all(
        isinstance(value, numbers.Real | Decimal) or is_missing(value)
        for value in np.asarray(column).flat
    )


def _encodes(part) -> bool:
    if isinstance(part, Pipeline):
        return any(_encodes(step) for _, step in part.steps)
    return isinstance(part, _ENCODERS)


def raw_noise(noise, X, exact: np.ndarray):
    """`noise` in the order of the columns of X, without any on the exact ones.

    Labelled noise need not name those.
    """
    names = feature_names(X)
    if not exact.any():
        return align_noise(noise, names)
    kept, own = np.flatnonzero(~exact), None
    if names is not None and not isinstance(noise, str):
        own = own_names(noise)
    if own is not None and names is not None and not {*own} >= {*names}:
        kinds = _named(names, exact)
        stated = [name for name in kinds if name in own]
        if stated:
            raise ValueError(
                f"noise names {listed(stated)} and not all of {listed(kinds)}, which "
                "are categories: leave them all out, or give 0 for each."
            )
        shape = as_shape(noise, kept.size, _named(names, ~exact))
    elif isinstance(noise, str):
        shape = as_shape(noise, kept.size)
    else:
        noise = align_noise(noise, names)
        _refuse_levels(as_shape(noise, exact.size).support, exact, names)
        return noise
    into = sp.eye_array(exact.size, format="csr")[:, kept]
    return shape.carried(sp.csr_array(into)).as_parameter()


def refuse_errors(bars, X, exact: np.ndarray) -> None:
    """Refuse error bars on columns that do not move."""

    def largest(unit):
        return bars.carried(sp.csr_array(unit[None])).largest

    _refuse_levels(largest, exact, feature_names(X), "X_err")


def naming_text(X, error: ValueError) -> ValueError:
    """The error of a step that met text, with all columns of it named and a remedy."""
    text = text_columns(X)
    met = any(words in str(error) for words in _MET_TEXT)
    if not met or not text.any():
        return error
    names = feature_names(X) or list(range(text.size))
    return ValueError(
        f"X holds text in {listed(_named(names, text))}, and a step before the "
        f"classifier, or the classifier, takes numbers only ({error}). Encode them in "
        "the first step: ColumnTransformer([('measured', StandardScaler(), "
        "[...]), ('categories', OneHotEncoder(handle_unknown='ignore'), [...])])."
    )


def refuse_categories(X) -> None:
    """Refuse columns of text where the population of all columns is asked for."""
    text = text_columns(X)
    if text.any():
        names = feature_names(X) or list(range(text.size))
        raise ValueError(
            f"X holds text in {listed(_named(names, text))}; TrueFeatures describes "
            "measurements, and categories are none. Leave these columns out, or use a "
            "pipeline without TrueFeatures."
        )


def with_exact(X_err, X):
    """A frame of error bars with 0 for columns of text that it does not name."""
    names, own = feature_names(X), feature_names(X_err)
    if names is None or own is None or not text_columns(X).any():
        return X_err
    missing = [name for name in _named(names, text_columns(X)) if name not in own]
    zeros = np.zeros((len(X_err), len(missing)))
    if hasattr(X_err, "iloc"):
        return X_err.join(type(X_err)(zeros, columns=missing, index=X_err.index))
    return X_err.hstack(type(X_err)(zeros, schema=missing))


def _refuse_levels(support, exact: np.ndarray, names, what: str = "noise") -> None:
    units = np.eye(exact.size)[exact]
    moved = [
        k
        for k, unit in zip(np.flatnonzero(exact), units, strict=True)
        if support(unit) > 0
    ]
    if moved:
        said = listed([k if names is None else names[k] for k in moved])
        raise ValueError(
            f"{what} gives a level above 0 to {said}: text, or what the pipeline "
            "encodes as categories, which small moves do not change. Give 0 there, or "
            "leave such columns out where noise goes by name."
        )


def _named(names: list, mask: np.ndarray) -> list:
    return [name for name, chosen in zip(names, mask, strict=True) if chosen]
