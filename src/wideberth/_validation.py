"""Checks of what users pass in; every message names argument, value and remedy."""

from __future__ import annotations

import numbers

import numpy as np
import scipy.sparse as sp

__all__ = [
    "check_data",
    "check_intercept",
    "check_jobs",
    "check_labels",
    "check_per_sample",
    "check_positive",
    "measured_data",
]


def check_data(X, name: str = "X"):
    """Return X as a 2-D float32/float64 NumPy array or canonical CSR, all finite."""
    return measured_data(X, name)[0]


def measured_data(X, name: str = "X"):
    """`check_data`, with ‖X‖ (Frobenius; infinite where its square overflows)."""
    X = _as_matrix(X, name)
    if X.ndim != 2:
        raise ValueError(
            f"{name} has {X.ndim} dimension(s); it must have two: samples × features."
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(
            f"{name} has shape {X.shape}; it needs at least one row and one column."
        )
    values = X.data if sp.issparse(X) else X
    # A sum of squares is finite unless an entry is not (or it overflows), and takes
    # no n×d temporary.
    with np.errstate(all="ignore"):
        square = float(_square(values))
    if not np.isfinite(square):
        if not np.isfinite(values).all():
            raise ValueError(_where_not_finite(X, name))
        square = np.inf
    return X, square**0.5


def _square(values: np.ndarray):
    if values.flags.c_contiguous or values.flags.f_contiguous:
        # Not every BLAS reads numbers that are not aligned, and NumPy asks it to.
        flat = np.require(values.ravel(order="K"), requirements="A")
        return np.vdot(flat, flat)
    return np.einsum("ij,ij->", values, values)


def _as_matrix(X, name):
    if sp.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
    if X.dtype in (np.float32, np.float64):
        return X
    if X.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has dtype {X.dtype}; its entries must be real numbers. "
            "Encode text or categories as numbers first."
        )
    return X.astype(np.float64)


def _where_not_finite(X, name):
    coo = X.tocoo() if sp.issparse(X) else None
    if coo is not None:
        k = np.flatnonzero(~np.isfinite(coo.data))[0]
        row, column, value = coo.row[k], coo.col[k], coo.data[k]
    else:
        row, column = np.argwhere(~np.isfinite(X))[0]
        value = X[row, column]
    return (
        f"{name} contains {value} at row {row}, column {column}; every entry must be "
        "finite. Impute or drop such rows first."
    )


def check_labels(y, n: int) -> np.ndarray:
    """Return y ∈ {−1,+1}ⁿ as float64; both classes must occur."""
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(
            f"y has shape {y.shape}; it must be one label per row of X, shape ({n},)."
        )
    if y.dtype.kind in "if" and np.all(np.abs(y) == 1) and -n < y.sum() < n:
        return y.astype(np.float64)
    classes = np.unique(y)
    if len(classes) == 1:
        raise ValueError(
            f"y holds a single class, {classes[0]!s}; a classifier needs both "
            "−1 and +1."
        )
    shown = ", ".join(map(repr, classes[:5].tolist()))
    raise ValueError(
        f"y holds the labels {shown}{', …' if len(classes) > 5 else ''}; this "
        "function needs exactly −1 and +1. Encode them, for example with "
        "np.where(y == positive_label, 1, -1)."
    )


def check_per_sample(value, n: int, name: str) -> np.ndarray:
    """Return a finite, non-negative number or array as a float64 vector of length n.

    A number is broadcast without using memory.
    """
    try:
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise TypeError
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}={value!r} is not a number or an array of {n} numbers."
        ) from None
    if array.ndim > 0 and array.shape != (n,):
        raise ValueError(
            f"{name} has shape {array.shape}; give one number, or one per row of X, "
            f"shape ({n},)."
        )
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        where = "" if array.ndim == 0 else f" at row {bad[0]}"
        raise ValueError(
            f"{name} is {array.flat[bad[0]]}{where}; it must be finite and ≥ 0."
        )
    return np.broadcast_to(array, (n,))


def check_positive(value, name: str) -> float:
    """Return a finite number > 0 as float."""
    if not isinstance(value, numbers.Real) or not 0 < float(value) < float("inf"):
        raise ValueError(f"{name}={value!r} must be a finite number > 0.")
    return float(value)


def check_jobs(n_jobs) -> None:
    """None, or a whole number as joblib counts them; 0 is none."""
    if n_jobs is not None and (not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs={n_jobs!r} must be None or a whole number other than 0 (−1: all "
            "cores)."
        )


def check_intercept(intercept) -> float | None:
    """None (no intercept), 0 (free) or λ_b > 0 (penalised by ½λ_b b²)."""
    if intercept is None:
        return None
    number = isinstance(intercept, numbers.Real) and not isinstance(intercept, bool)
    if not number or not 0 <= float(intercept) < float("inf"):
        raise ValueError(
            f"intercept={intercept!r} must be None (no intercept), 0 (a free one) or a "
            "finite penalty > 0."
        )
    return float(intercept)
