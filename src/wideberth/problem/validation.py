"""Checks of what users pass in; every message names argument, value and remedy.

Labels have a module of their own, `labels`.
"""

from __future__ import annotations

import numbers
import os
import sys
from collections.abc import Sequence
from decimal import Decimal
from os import PathLike

import numpy as np
import scipy.sparse as sp

from wideberth.problem.arrays import host, is_dask, is_foreign

_LARGEST = sys.float_info.max
#: How many names an error lists.
_SHOWN = 10


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


def float_array(values, name: str) -> np.ndarray:
    """Real numbers as a float64 array."""
    return real_array(values, name).astype(np.float64, copy=False)


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


def refuse_text(X) -> None:
    """Refuse what scikit-learn would turn into numbers silently: text, dates, masks.

    Complex numbers too; gaps are left to scikit-learn.
    """
    refuse_masked(X, "X")
    if sp.issparse(X):
        _refuse_kind(X.dtype, "X")
        return
    parts = [("", X)]
    if hasattr(X, "columns"):
        named = zip(X.columns, getattr(X, "dtypes", X.columns), strict=True)
        odd = [column for column, dtype in named if not _plain(dtype)]
        parts = [(f" in column {column!r}", X[column]) for column in odd]
    texts = []
    for where, part in parts:
        array = part if isinstance(part, np.ndarray) else as_array(part, "X")
        if array.dtype.kind != "O":
            _refuse_kind(array.dtype, "X", where)
            continue
        found = (value for value in array.flat if _is_text(value))
        value = next(found, None)
        if value is not None and _kind(value) != "U":
            raise _not_real("X", f"holds {value!r}{where}", _kind(value))
        if value is not None:
            texts.append((where, value))
    if texts:
        raise _not_real("X", _said(texts), "U")


def _is_text(value) -> bool:
    return isinstance(value, str | bytes) or hasattr(value, "toordinal")


def _said(texts: list) -> str:
    """Where text is: all columns of it, and an example."""
    where, value = texts[0]
    if len(texts) == 1:
        return f"holds {value!r}{where}"
    names = ", ".join(where.removeprefix(" in column ") for where, _ in texts)
    return f"holds text, such as {value!r}, in the columns {names}"


def holds_numbers(column) -> bool:
    """Whether a column of a frame, or an array of objects, holds real numbers alone.

    Cells may be missing. Categories are no numbers, even if they look like some.
    """
    dtype = getattr(column, "dtype", None)
    if _plain(dtype) or getattr(dtype, "kind", "O") != "O":
        return _plain(dtype)
    if not isinstance(dtype, np.dtype):  # of pandas: text or categories
        return False
    return all(
        isinstance(value, numbers.Real | Decimal) or is_missing(value)
        for value in np.asarray(column).flat
    )


def _plain(dtype) -> bool:
    """Whether a column of this dtype, of pandas or polars, holds numbers."""
    if hasattr(dtype, "is_numeric"):
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
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
    """`check_data`, with ‖X‖ (Frobenius; infinite where its square overflows)."""
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
    values = X if isinstance(X, np.ndarray) else X.data
    # A sum of squares is finite unless an entry is not (or it overflows), and takes
    # no n×d temporary.
    with np.errstate(all="ignore"):
        if values.flags.c_contiguous or values.flags.f_contiguous:
            # Not every BLAS reads numbers that are not aligned, and NumPy asks it to.
            flat = np.require(values.ravel(order="K"), requirements="A")
            square = float(np.vdot(flat, flat))
        else:
            square = float(np.einsum("ij,ij->", values, values))
    if not np.isfinite(square):
        if not np.isfinite(values).all():
            raise ValueError(_where_not_finite(X))
        square = np.inf
    return X, square**0.5


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
            refuse_text(X)  # which names all columns of it
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
    """Return a finite, non-negative number or array as a float64 vector of length n.

    A number is broadcast without using memory.
    """
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
        raise ValueError(
            f"{name} has shape {array.shape}; give one number, or one per row of X, "
            f"shape ({n},)."
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
    """The radius, or where none is given the one that goes with the noise stated."""
    return default_radius(noise, X_err) if radius is None else radius


def default_radius(noise, X_err=None) -> float:
    """The radius where none is given: 1 where the user states scales, 0 otherwise.

    Scales are tables, arrays and dicts, and whatever shape or error bars hold them; a
    name such as "l2" has none. Shapes and error bars say it as `default_radius`.
    """
    if X_err is None and isinstance(noise, str):
        return 0.0
    statement = noise if X_err is None else X_err
    return getattr(type(statement), "default_radius", 1.0)


class NotFiniteError(ValueError, FloatingPointError):
    """An array with numbers that are none.

    Wrong where a user gives it; where a solver does, its arithmetic has failed.
    """


def check_vector(value, length: int, name: str, finite: bool = True) -> np.ndarray:
    """Return a float64 vector of this length, as it is where it is one already."""
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

    `wanted` says in an error what it must be, where there is more to say about it.
    """
    if getattr(value, "ndim", None) == 0:
        value = as_array(value, name)[()]
    kind, least = numbers.Integral if whole else numbers.Real, int(whole)
    number = type(value) is int or (type(value) is float and not whole)
    if not number:  # slower to tell
        number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if not number or not least <= value <= _LARGEST or (positive and value == 0):
        words = "a finite number > 0" if positive else "one finite number ≥ 0"
        wanted = wanted or ("a whole number ≥ 1" if whole else words)
        raise ValueError(f"{name}={short(value)} must be {wanted}.")
    return float(value)


def check_jobs(n_jobs) -> None:
    """None, or a whole number as joblib counts them; 0 is none."""
    if n_jobs is not None and not (isinstance(n_jobs, numbers.Integral) and n_jobs):
        raise ValueError(
            f"n_jobs={short(n_jobs)} must be None or a whole number other than 0 (−1: "
            "all cores)."
        )


def jobs(n_jobs) -> int:
    """How many threads that is; negative numbers count back from all cores, −1."""
    cores = os.cpu_count() or 1
    return 1 if n_jobs is None else max(n_jobs if n_jobs > 0 else cores + 1 + n_jobs, 1)


def short(value) -> str:
    """A value in words, cut where it would fill a screen."""
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
