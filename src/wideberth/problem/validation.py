"""Checks of what users pass in; every message names argument, value and remedy.

Labels have a module of their own, `labels`.
"""

from __future__ import annotations

import numbers
from decimal import Decimal
from os import PathLike

import numpy as np
import scipy.sparse as sp

from wideberth.problem.arrays import host, is_dask, is_foreign

__all__ = [
    "as_array",
    "check_data",
    "check_flag",
    "check_intercept",
    "check_jobs",
    "check_per_sample",
    "check_positive",
    "check_size",
    "check_vector",
    "check_whole",
    "is_missing",
    "measured_data",
    "read_intercept",
    "real_array",
    "refuse_chunks",
    "refuse_masked",
    "refuse_text",
    "short",
]


# -- arrays of numbers ---------------------------------------------------------------


def refuse_masked(values, name: str) -> None:
    """Refuse arrays with masked entries: NumPy would use what lies under the mask."""
    if np.ma.is_masked(values):
        count = int(np.ma.getmaskarray(values).sum())
        raise ValueError(
            f"{name} is a masked array with {count} masked entries, which have no "
            f"value. Fill them in ({name}.filled(...)), or drop these rows first."
        )


def real_array(values, name: str) -> np.ndarray:
    """A NumPy array of real numbers; text, dates, gaps and complex are refused."""
    array = as_array(values, name)
    if array.dtype.kind == "O":
        return _unboxed(array, name, getattr(values, "columns", None))
    _refuse_kind(array.dtype, name)
    return array


def as_array(values, name: str) -> np.ndarray:
    """A NumPy array of anything that has one shape and no masked entries."""
    refuse_masked(values, name)
    if is_foreign(values):
        return host(values)
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(
            f"{name} is a {type(values).__name__} whose parts differ in length; every "
            "row must hold as many numbers."
        ) from None


_DATES = "Turn dates into numbers first, such as days since a fixed one."
#: What to do about entries of a kind, in NumPy's letters; text where none is known.
_REMEDIES = {
    "missing": "Impute or drop such rows first.",
    "M": _DATES,
    "m": _DATES,
    "c": "Complex data not supported: take the real part or the modulus.",
    "U": "Encode text or categories as numbers first.",
}


def _not_real(name: str, what: str, kind: str) -> ValueError:
    remedy = _REMEDIES.get(kind, _REMEDIES["U"])
    return ValueError(f"{name} {what}; its entries must be real numbers. {remedy}")


def _refuse_kind(dtype, name: str, where: str = "") -> None:
    """Refuse arrays of a dtype that is none of real numbers."""
    if dtype.kind not in "biuf":
        what = f"holds {dtype}{where}" if where else f"has dtype {dtype}"
        raise _not_real(name, what, dtype.kind)


def is_missing(value) -> bool:
    """Whether an object stands for no value: None, NaN, pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _unboxed(array: np.ndarray, name: str, columns=None) -> np.ndarray:
    """float64 from an array of Python objects, all of which must be real numbers."""
    for place, value in enumerate(array.flat):
        # NaN is left to those who ask for finite numbers.
        if not isinstance(value, numbers.Real | Decimal):
            where = _where(np.unravel_index(place, array.shape), columns)
            what = f"holds {value!r}, a {type(value).__name__}, {where}"
            raise _not_real(name, what, _kind(value))
    return array.astype(np.float64)


def _kind(value) -> str:
    """The key of `_REMEDIES` for an object that is no real number."""
    if is_missing(value):
        return "missing"
    if isinstance(value, complex):
        return "c"
    return "M" if hasattr(value, "toordinal") else "U"


def _where(place: tuple, columns=None) -> str:
    """Words for a place in an array; columns by name where they have one."""
    words = [f"at row {place[0]}"] if place else ["there"]
    if len(place) > 1:
        column = place[1] if columns is None else repr(columns[place[1]])
        words.append(f"column {column}")
    return ", ".join(words)


def refuse_text(X, name: str = "X") -> None:
    """Refuse what scikit-learn would turn into numbers silently: text, dates, masks.

    Complex numbers too; gaps are left to scikit-learn.
    """
    refuse_masked(X, name)
    if sp.issparse(X):
        _refuse_kind(X.dtype, name)
        return
    parts = [("", X)]
    if hasattr(X, "columns"):
        named = zip(X.columns, getattr(X, "dtypes", X.columns), strict=True)
        odd = [column for column, dtype in named if not _plain(dtype)]
        parts = [(f" in column {column!r}", X[column]) for column in odd]
    for where, part in parts:
        array = part if isinstance(part, np.ndarray) else as_array(part, name)
        if array.dtype.kind != "O":
            _refuse_kind(array.dtype, name, where)
            continue
        for value in array.flat:
            if isinstance(value, str | bytes) or hasattr(value, "toordinal"):
                raise _not_real(name, f"holds {value!r}{where}", _kind(value))


def _plain(dtype) -> bool:
    """Whether a column of this dtype, of pandas or polars, holds numbers."""
    if hasattr(dtype, "is_numeric"):
        return bool(dtype.is_numeric())
    return getattr(dtype, "kind", "?") in "biuf"


def refuse_chunks(X, who: str) -> None:
    """Refuse data that is read in chunks, for who needs all of it in memory."""
    remedy = "Load it into one array first"
    if isinstance(X, str | PathLike):
        kind = f"the path {str(X)!r}"
    elif is_dask(X):
        kind, remedy = "a Dask collection", "Bring it into memory first (X.compute())"
    elif type(X).__module__.startswith("wideberth.data"):
        kind = "open data that is read in chunks"
    elif callable(X) or hasattr(X, "__next__") or _are_chunks(X):
        kind = "chunks of rows"
    else:
        return
    raise ValueError(
        f"X is {kind}; {who} needs the data in memory, as one array, sparse matrix or "
        f"frame. {remedy}, or take a sample of its rows; solve and RobustLinearSVC "
        "read such data in chunks."
    )


def _are_chunks(X) -> bool:
    """Whether a list holds (X, y) pairs."""
    if not isinstance(X, list | tuple) or not X or not isinstance(X[0], tuple):
        return False
    return bool(X[0]) and getattr(X[0][0], "ndim", 0) == 2


# -- X -------------------------------------------------------------------------------


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
        _refuse_kind(X.dtype, name)
    else:
        refuse_chunks(X, "this function")
        X = real_array(X, name)
    if X.dtype in (np.float32, np.float64):
        return X
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


# -- numbers per sample, and single ones -----------------------------------------------


def check_per_sample(value, n: int, name: str) -> np.ndarray:
    """Return a finite, non-negative number or array as a float64 vector of length n.

    A number is broadcast without using memory.
    """
    array = as_array(value, name)
    if array.ndim == 0:
        if not _is_number(array[()]):
            raise _not_per_sample(value, n, name)
    elif array.dtype.kind not in "biuf":
        try:
            array = real_array(array, name)
        except ValueError as error:
            raise _not_per_sample(value, n, name, f" ({error})") from None
    array = array.astype(np.float64, copy=False)
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


def _not_per_sample(value, n: int, name: str, why: str = "") -> ValueError:
    many = "" if n == 1 else f" or an array of {n} numbers"
    return ValueError(
        f"{name}={short(value)} is not a number{many}; it must be finite and ≥ 0.{why}"
    )


def check_vector(value, length: int, name: str) -> np.ndarray:
    """Return a finite float64 vector of this length."""
    array = real_array(value, name).astype(np.float64, copy=False)
    wanted = f"{name} must be a finite array of shape ({length},)"
    if array.shape != (length,):
        raise ValueError(f"{wanted}; received shape {array.shape}.")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise ValueError(f"{wanted}; entry {bad[0]} is {array[bad[0]]}.")
    return array


def _require(holds, value, name: str, wanted: str) -> None:
    if not holds:
        raise ValueError(f"{name}={short(value)} must be {wanted}.")


def check_positive(value, name: str) -> float:
    """Return a finite number > 0 as float."""
    positive = _is_number(value) and 0 < float(value) < float("inf")
    _require(positive, value, name, "a finite number > 0")
    return float(value)


def check_size(value, name: str) -> float:
    """Return one finite number ≥ 0 as float."""
    _require(np.ndim(value) == 0, value, name, "one number ≥ 0")
    return float(check_per_sample(value, 1, name)[0])


def check_whole(value, name: str) -> int:
    """Return a whole number ≥ 1 as int."""
    whole = _is_number(value) and isinstance(value, numbers.Integral)
    _require(whole and value >= 1, value, name, "a whole number ≥ 1")
    return int(value)


def check_flag(value, name: str) -> bool:
    """Return True or False; text such as "no" would count as True."""
    known = isinstance(value, bool | np.bool_ | numbers.Integral) and value in (0, 1)
    _require(known, value, name, "True or False")
    return bool(value)


def check_jobs(n_jobs) -> None:
    """None, or a whole number as joblib counts them; 0 is none."""
    known = n_jobs is None or (isinstance(n_jobs, numbers.Integral) and n_jobs != 0)
    wanted = "None or a whole number other than 0 (−1: all cores)"
    _require(known, n_jobs, "n_jobs", wanted)


def check_intercept(intercept) -> float | None:
    """None (no intercept), 0 (free) or λ_b > 0 (penalised by ½λ_b b²)."""
    if intercept is None:
        return None
    known = _is_number(intercept) and 0 <= float(intercept) < float("inf")
    wanted = "None (no intercept), 0 (a free one) or a finite penalty > 0"
    _require(known, intercept, "intercept", wanted)
    return float(intercept)


def read_intercept(fit_intercept, intercept_penalty) -> float | None:
    """None, 0 or λ_b from what the user says about the intercept."""
    fit_intercept = check_flag(fit_intercept, "fit_intercept")
    penalty = check_size(intercept_penalty, "intercept_penalty")
    if not fit_intercept and penalty:
        raise ValueError(
            f"intercept_penalty={intercept_penalty!r} needs fit_intercept=True."
        )
    return penalty if fit_intercept else None


def _is_number(value) -> bool:
    """Whether this is one real number; True and False are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def short(value) -> str:
    """A value in words, cut where it would fill a screen."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
