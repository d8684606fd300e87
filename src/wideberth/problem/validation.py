"""Checks of what users pass in, but for labels (`labels.py`).

Every message names the argument, its value, what is allowed and what to do.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Sequence
from decimal import Decimal
from os import PathLike

import numpy as np
import scipy.sparse as sp

from wideberth.kernels import sparse, sums
from wideberth.problem.arrays import constant, host, is_dask, is_foreign

_LARGEST = sys.float_info.max
#: How many names an error lists.
_SHOWN = 10


# -- arrays of numbers ---------------------------------------------------------------


def refuse_masked(values, name: str) -> None:
    """Refuse arrays with masked entries: NumPy would use the values under the mask."""
    if np.ma.is_masked(values):
        count = int(np.ma.getmaskarray(values).sum())
        raise ValueError(
            f"{name} is a masked array with {count} masked entries, which have no "
            f"value. Fill them in ({name}.filled(...)), or drop these rows first."
        )


def real_array(values, name: str) -> np.ndarray:
    """Real numbers as a NumPy array; text, dates, None and complex are refused."""
    array = as_array(values, name)
    if array.dtype.kind == "O":
        return _unboxed(array, name, getattr(values, "columns", None))
    _refuse_kind(array.dtype, name)
    return array


def float_array(values, name: str) -> np.ndarray:
    """Real numbers as a float64 array."""
    return real_array(values, name).astype(np.float64, copy=False)


def as_array(values, name: str) -> np.ndarray:
    """Values of any kind as a NumPy array; masks and ragged lists are refused."""
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
#: What to do about entries of a kind, by NumPy's letter for it; else as for text, "U".
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
    """Refuse a dtype that is not one of real numbers; `where` names a column."""
    if dtype.kind not in "biuf":
        what = f"holds {dtype}{where}" if where else f"has dtype {dtype}"
        raise _not_real(name, what, dtype.kind)


def is_missing(value) -> bool:
    """Whether an object stands for a missing value: None, NaN, pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _unboxed(array: np.ndarray, name: str, columns=None) -> np.ndarray:
    """An array of Python objects, which must be real numbers, as float64."""
    for place, value in enumerate(array.flat):
        # NaN is a float; callers that need finite numbers refuse it.
        if not isinstance(value, numbers.Real | Decimal):
            where = _where(np.unravel_index(place, array.shape), columns)
            what = f"holds {value!r}, a {type(value).__name__}, {where}"
            raise _not_real(name, what, _kind(value))
    return array.astype(np.float64)


def _kind(value) -> str:
    """The key in `_REMEDIES` of an object that is not a real number."""
    if is_missing(value):
        return "missing"
    if isinstance(value, complex):
        return "c"
    return "M" if hasattr(value, "toordinal") else "U"


def _where(place: tuple, columns=None) -> str:
    """A place in an array in words, with the column's name where it has one."""
    words = [f"at row {place[0]}"] if place else ["there"]
    if len(place) > 1:
        column = place[1] if columns is None else repr(columns[place[1]])
        words.append(f"column {column}")
    return ", ".join(words)


def refuse_text(X) -> None:
    """Refuse text, dates, complex and masked entries, which scikit-learn would convert.

    Missing values are left to scikit-learn. A frame's error names all columns of text.
    """
    refuse_masked(X, "X")
    if sp.issparse(X):
        _refuse_kind(X.dtype, "X")
        return
    parts = [("", X)]
    if hasattr(X, "columns"):
        named = zip(X.columns, getattr(X, "dtypes", X.columns), strict=True)
        odd = [column for column, dtype in named if not is_numeric(dtype)]
        parts = [(repr(column), X[column]) for column in odd]
    texts = []
    for column, part in parts:
        where = f" in column {column}" if column else ""
        array = part if isinstance(part, np.ndarray) else as_array(part, "X")
        if array.dtype.kind != "O":
            _refuse_kind(array.dtype, "X", where)
            continue
        for value in array.flat:
            if isinstance(value, str | bytes):
                texts.append((column, value, where))
                break
            if hasattr(value, "toordinal"):
                raise _not_real("X", f"holds {value!r}{where}", _kind(value))
    if len(texts) == 1:
        _, value, where = texts[0]
        raise _not_real("X", f"holds {value!r}{where}", "U")
    if texts:
        columns, value = ", ".join(column for column, *_ in texts), texts[0][1]
        what = f"holds text, such as {value!r}, in the columns {columns}"
        raise _not_real("X", what, "U")


def is_numeric(dtype) -> bool:
    """Whether a column of this dtype, of NumPy, pandas or polars, holds numbers."""
    if hasattr(dtype, "is_numeric"):
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "?") in "biuf"


def refuse_chunks(X, who: str) -> None:
    """Refuse data that is read in chunks, where `who` needs all of it in memory."""
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
        f"frame. {remedy}, or take a sample of its rows, open_data(...).sample(100_000)"
        "; solve and RobustLinearSVC read such data in chunks."
    )


def _are_chunks(X) -> bool:
    """Whether a list holds (X, y) pairs."""
    if not isinstance(X, list | tuple) or not X or not isinstance(X[0], tuple):
        return False
    return bool(X[0]) and getattr(X[0][0], "ndim", 0) == 2


# -- X -------------------------------------------------------------------------------


def check_data(X):
    """Return X as a 2-D float32/float64 NumPy array or canonical CSR, all finite."""
    return measured_data(X)[0]


def measured_data(X):
    """`check_data`, with ‖X‖ (Frobenius) and ‖x_i‖ of its rows.

    They are infinite where their square overflows.
    """
    if type(X) is not np.ndarray or X.dtype not in (np.float32, np.float64):
        X = _as_matrix(X)
    if X.ndim != 2:
        raise ValueError(
            f"X has shape {X.shape}; it must have two dimensions: samples × features."
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(
            f"X has shape {X.shape}; it needs at least one row and one column."
        )
    # The sum of squares is finite unless an entry is not, or it overflows; unlike
    # isfinite, it needs no array of n×d flags.
    if isinstance(X, np.ndarray):
        X = X if X.flags.aligned else np.require(X, requirements="A")
        values, norms = X, sums.row_norms(X)
    else:
        values = np.require(X.data, requirements=("A", "C"))
        norms = sparse.row_norms(values, X.indptr)
    square = sums.product(norms, norms)
    if not math.isfinite(square):
        if not np.isfinite(values).all():
            raise ValueError(_where_not_finite(X))
        square = math.inf
    return X, square**0.5, norms


def _as_matrix(X):
    if sp.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        _refuse_kind(X.dtype, "X")
    else:
        refuse_chunks(X, "this function")
        if hasattr(X, "columns"):
            refuse_text(X)  # which names all columns of text
        X = real_array(X, "X")
    if X.dtype in (np.float32, np.float64):
        return X
    return X.astype(np.float64)


def _where_not_finite(X):
    if sp.issparse(X):
        X = X.tocoo()
        k = np.flatnonzero(~np.isfinite(X.data))[0]
        place, value = (X.row[k], X.col[k]), X.data[k]
    else:
        place = tuple(np.argwhere(~np.isfinite(X))[0])
        value = X[place]
    return (
        f"X contains {value} {_where(place)}; every entry must be finite. Impute "
        "or drop such rows first."
    )


# -- numbers per sample, and single ones -----------------------------------------------


def check_per_sample(value, n: int, name: str) -> np.ndarray:
    """Return finite numbers ≥ 0, one or n of them, as a float64 vector of length n.

    One number is broadcast, which takes no memory.
    """
    if type(value) is float and 0 <= value < np.inf:
        return constant(value, n)
    plain = type(value) in (float, int, np.ndarray)
    array = np.asarray(value) if plain else as_array(value, name)
    if array.ndim == 0:
        number = isinstance(array[()], numbers.Real)
        if not number or array.dtype == bool:
            raise _not_per_sample(value, n, name)
    elif array.dtype.kind not in "biuf":
        try:
            array = real_array(array, name)
        except ValueError as error:
            raise _not_per_sample(value, n, name, f" ({error})") from None
    array = array.astype(np.float64, copy=False)
    if array.ndim > 0 and array.shape != (n,):
        errors = " Errors of every cell are given by name: fit(X, y, X_err=...)."
        raise ValueError(
            f"{name} has shape {array.shape}; give one number, or one per row of X, "
            f"shape ({n},).{errors if array.ndim > 1 else ''}"
        )
    if not np.logical_and.reduce((array >= 0) & (array < np.inf)):
        bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
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


def radius_or_default(radius, noise, X_err=None):
    """The radius; where it is None, the default beside this noise."""
    return default_radius(noise, X_err) if radius is None else radius


def default_radius(noise, X_err=None) -> float:
    """The radius where none is given: 1 beside scales or error bars, 0 otherwise.

    Scales are tables, arrays and dicts; a name such as "l2" has none. Objects of noise
    and error bars have an attribute `default_radius`.
    """
    if X_err is None and isinstance(noise, str):
        return 0.0
    statement = noise if X_err is None else X_err
    return getattr(type(statement), "default_radius", 1.0)


class NotFiniteError(ValueError, FloatingPointError):
    """An array with NaN or infinite entries.

    A ValueError where a user passes it, a FloatingPointError where a solver's
    arithmetic has failed.
    """


def check_vector(value, length: int, name: str, finite: bool = True) -> np.ndarray:
    """Return a float64 vector of this length; the same object if it is one already."""
    if type(value) is not np.ndarray or value.dtype != np.float64:
        value = float_array(value, name)
    wanted = f"{name} must be a finite array of shape ({length},)"
    if value.shape != (length,):
        raise ValueError(f"{wanted}; received shape {value.shape}.")
    if finite and not np.isfinite(value).all():
        bad = np.flatnonzero(~np.isfinite(value))
        raise NotFiniteError(f"{wanted}; entry {bad[0]} is {value[bad[0]]}.")
    return value


def check_number(
    value, name: str, wanted: str = "", *, positive: bool = False, whole: bool = False
) -> float:
    """Return one finite number ≥ 0 as float: > 0 if `positive`, ≥ 1 if `whole`.

    `wanted` replaces what an error says is allowed.
    """
    if getattr(value, "ndim", None) == 0:
        value = as_array(value, name)[()]
    kind, least = numbers.Integral if whole else numbers.Real, int(whole)
    number = type(value) is int or (type(value) is float and not whole)
    if not number:  # isinstance with abstract classes is slower
        number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if not number or not least <= value <= _LARGEST or (positive and value == 0):
        words = "a finite number > 0" if positive else "one finite number ≥ 0"
        wanted = wanted or ("a whole number ≥ 1" if whole else words)
        raise ValueError(f"{name}={short(value)} must be {wanted}.")
    return float(value)


def check_jobs(n_jobs) -> None:
    """Refuse an n_jobs that joblib does not take: anything but None and ±1, ±2, …"""
    if n_jobs is not None and not (isinstance(n_jobs, numbers.Integral) and n_jobs):
        raise ValueError(
            f"n_jobs={short(n_jobs)} must be None or a whole number other than 0 (−1: "
            "all cores)."
        )


def short(value) -> str:
    """The repr of a value in one line of at most 80 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


# -- numbers per feature, perhaps labelled by the names of the features ----------------


def feature_names(X) -> list | None:
    """Names of the columns of a frame; None where X has none."""
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns):
        return None
    names = list(columns)
    return names if any(isinstance(name, str) for name in names) else None


def own_names(noise) -> list | None:
    """Names of features in labelled noise, in its own order; None without labels."""
    if isinstance(noise, dict):
        return list(noise)
    names = getattr(noise, "feature_names", None)  # of correlated noise
    rows = None if isinstance(noise, str) else labels_of(getattr(noise, "index", None))
    return names or feature_names(noise) or rows


def labelled_rows(values) -> tuple[list | None, np.ndarray]:
    """Names and numbers of a Series, a dict or a frame's rows; None for no names."""
    if isinstance(values, dict):
        return list(values), float_array(list(values.values()), "noise")
    return labels_of(getattr(values, "index", None)), float_array(values, "noise")


def matched(
    labels: Sequence, names: Sequence | None, what: str = "noise"
) -> np.ndarray:
    """For each of the feature `names` its place in `labels`, which are those of `what`.

    Labelled values are matched by name, never by position.
    """
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
    """Labels of a pandas index; None where it only counts, or is no index."""
    if index is None or callable(index):
        return None
    labels = list(index)
    return None if labels == list(range(len(labels))) else labels


def listed(names: Sequence) -> str:
    """The first names in words, and how many more there are."""
    shown = ", ".join(map(repr, names[:_SHOWN]))
    left = len(names) - _SHOWN
    return f"{shown} and {left} more" if left > 0 else shown
