"""What users give as noise: a shape that all samples share, or error bars beside X.

A shape is given by a name, scales, a covariance or a `Shape`; error bars are a table
beside X, a pair of tables, or a covariance per sample.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from wideberth.noise.error_bars import Boxes, Covariances, Ellipsoids, ErrorBars
from wideberth.noise.factors import (
    INPUT_ROUNDING,
    check_covariance,
    labelled_covariance,
)
from wideberth.noise.sets import Sets
from wideberth.noise.shapes import L1, L2, Correlated, Ellipsoid, Linf, Shape
from wideberth.problem.arrays import host, is_dask, is_foreign, like, namespace
from wideberth.problem.rows import Passes
from wideberth.problem.validation import (
    feature_names,
    float_array,
    labelled_rows,
    matched,
    short,
)

_BY_NAME: dict[str, type[Shape]] = {"l2": L2, "linf": Linf, "l1": L1}
SHAPES = ("ellipsoid", "box")
#: Largest number whose square is within float64.
_SQUARED = float(np.sqrt(np.finfo(np.float64).max))
#: Least number whose square has all digits of a float64.
_NORMAL = float(np.sqrt(np.finfo(np.float64).tiny))


#: How errors reach models that scikit-learn fits; ends messages that ask for them.
IN_SEARCHES = (
    "If a search or a cross-validation of scikit-learn calls this model, call "
    "sklearn.set_config(enable_metadata_routing=True), give the errors to the search "
    "(fit(..., X_err=...) or params={'X_err': ...}), and use its default scorer or "
    "scoring=wideberth.estimators.measured_scorer(...). For other estimators around "
    "this one call set_fit_request(X_err=True) and set_score_request(X_err=True)."
)


def as_noise(noise: object, n_features: int, names=None) -> Shape:
    """`as_shape` for a `Problem`, which takes no correlated noise."""
    shape = as_shape(noise, n_features, names)
    if shape.axes is not None:
        raise ValueError(
            "noise is a covariance; a Problem takes such noise in its principal axes "
            "only. Use solve, which rotates X to them, or with shape = wideberth."
            "Correlated(covariance) give X @ shape.axes and noise=shape.principal."
        )
    return shape


def as_shape(noise: object, n_features: int, names=None) -> Shape:
    """Read what a user may give for `noise`: a name, scales, a covariance or a shape.

    `names` are those of the features, where they have any; see `align_noise`.
    """
    if isinstance(noise, str):
        if noise not in _BY_NAME:
            raise ValueError(
                f"noise={noise!r} is not a known shape; choose one of "
                f"{sorted(_BY_NAME)}, or give an array of {n_features} non-negative "
                "noise scales, one per feature."
            )
        return _BY_NAME[noise]()
    shape = align_noise(noise, names)
    if not isinstance(shape, Shape):
        shape = Correlated(shape) if shape.ndim == 2 else Ellipsoid(shape)
    shape.check_features(n_features)
    return shape


def align_noise(noise, names):
    """`noise` in the order of the features `names`, without names of its own.

    Series, dicts and frames are labelled; arrays, lists and Series of polars, which
    have no labels, are in the order of the features already. Labels are compared with
    `names`, and refused where there are none to compare with.
    """
    if isinstance(noise, Shape) and noise.feature_names is not None:
        return noise.reordered(matched(noise.feature_names, names))
    return noise if isinstance(noise, str | Shape) else _aligned(noise, names)


def _aligned(values, names: Sequence | None) -> np.ndarray:
    """Scales, or a covariance, in the order of the features `names`."""
    labelled = labelled_covariance if hasattr(values, "columns") else labelled_rows
    labels, array = labelled(values)
    if labels is None:
        return array
    order = matched(labels, names)
    if array.ndim == 2:
        return check_covariance(array)[np.ix_(order, order)]
    return array[order]


def is_covariance(noise) -> bool:
    """Whether `noise`, as `align_noise` returns it, correlates features."""
    if isinstance(noise, Shape):
        return noise.axes is not None
    return not isinstance(noise, str) and np.ndim(noise) == 2


# -- error bars ------------------------------------------------------------------------


def in_order_of(X_err, X):
    """X_err with its rows in the order of those of X, by the labels of both.

    A table, or a pair of them. Only frames of pandas label their rows; others are taken
    in the order given.
    """
    if isinstance(X_err, tuple | list) and len(X_err) == 2:
        pair = [in_order_of(part, X) for part in X_err]
        return pair if isinstance(X_err, list) else tuple(pair)
    if not (_labels_rows(X) and _labels_rows(X_err)):
        return X_err
    rows, own = X.index, X_err.index
    if rows.equals(own) or len(rows) != len(own):  # other shapes are refused later
        return X_err
    remedy = (
        "Give both the same labels, or X_err as an array in the order of X: "
        "X_err.to_numpy()."
    )
    if not (rows.isin(own).all() and own.isin(rows).all()):
        strange = [*own[~own.isin(rows)][:3], *rows[~rows.isin(own)][:3]]
        shown = ", ".join(map(repr, strange))
        raise ValueError(
            "X_err is a frame whose rows are labelled otherwise than those of X: some "
            f"labels are in the index of only one of them ({shown} …). {remedy}"
        )
    if not (rows.is_unique and own.is_unique):
        raise ValueError(
            "X_err is a frame whose rows are in another order than those of X, and "
            "some labels occur more than once, so that the order cannot be told. "
            f"{remedy}"
        )
    return X_err.iloc[own.get_indexer(rows)]


def _labels_rows(table) -> bool:
    """Whether it is a frame of pandas; those of Dask are read in chunks."""
    return hasattr(table, "iloc") and not is_dask(table)


def check_error_shape(error_shape) -> None:
    """Refuse what names no shape of error bars."""
    if not isinstance(error_shape, str) or error_shape not in SHAPES:
        raise ValueError(
            f"error_shape={short(error_shape)} is not known; choose one of {SHAPES}."
        )


def check_errors_alone(noise, error_shape) -> None:
    """Refuse a shape of noise beside error bars, and unknown shapes of theirs."""
    check_error_shape(error_shape)
    if not isinstance(noise, str) or noise != "l2":
        raise ValueError(
            "X_err and noise both say how far values may be off; give one of them. "
            "With X_err leave noise at its default, 'l2'."
        )


def in_the_middle(X, bars: Sets, radii):
    """X in the middle of sets of these radii: x_i + ρ_i(e⁺_i − e⁻_i)/2 of boxes."""
    if bars.offsets is None:
        return X
    X = X.toarray() if sp.issparse(X) else X
    return X + like(host(radii)[:, None] * bars.offsets, X)


def errors_beside(X, X_err, error_shape: str, names=None, noise="l2") -> ErrorBars:
    """The sets of samples, where X is if it is an array of another library."""
    check_errors_alone(noise, error_shape)
    if is_foreign(X_err) and not is_foreign(X):
        X_err = host(X_err)
    return read_errors(X_err, error_shape, X.shape, names)


def read_errors(X_err, error_shape: str, shape, names=None) -> ErrorBars:
    """The sets of samples, beside X of this shape.

    `names` are those of the features, where X has any; frames are used by name. Sets
    that have been read before are taken as they are.
    """
    if isinstance(X_err, ErrorBars):
        if (X_err.n, X_err.d) != tuple(shape):
            raise ValueError(
                f"X_err holds {X_err.n} sets of {X_err.d} features; X has shape "
                f"{tuple(shape)}."
            )
        return X_err
    check_error_shape(error_shape)
    passes = Passes(shape[0])
    if is_foreign(X_err):
        _check_foreign(X_err)
        return (Boxes if error_shape == "box" else Ellipsoids).of(X_err, passes)
    pair = _pair(X_err, error_shape, shape)
    if pair is not None:
        down, up = (read_table(part, shape, names) for part in pair)
        down, up = (p.toarray() if sp.issparse(p) else p for p in (down, up))
        return Boxes.lopsided(np.stack([down, up]).astype(np.float64), passes)
    if not sp.issparse(X_err) and np.ndim(X_err) == 3:
        return Covariances.of(read_covariances(X_err, shape), passes)
    table = read_table(X_err, shape, names)
    if error_shape == "box":
        return Boxes.of(table, passes)
    check_squares(table)
    _refuse_tiny(table)
    return Ellipsoids.of(table, passes)


def _check_foreign(errors) -> None:
    """Refuse errors of another library that are negative, infinite or missing."""
    xp = namespace(errors)
    smallest, largest = (float(part) for part in (xp.min(errors), xp.max(errors)))
    if not (smallest >= 0 and largest <= _SQUARED):
        raise ValueError(
            f"X_err reaches from {smallest:.3g} to {largest:.3g}; errors must be "
            "finite and not negative, and their squares within float64. Drop or fill "
            "such cells."
        )


def _pair(X_err, error_shape: str, shape):
    """The tables (down, up) of lopsided boxes, where they are given; else None.

    They are two tables, in a tuple or a list, or one array of shape (n, d, 2), which
    has a row for each sample and so can be sliced. Beside ellipsoids three dimensions
    are a covariance per sample, and a list of as many d × d tables as samples is that.
    """
    two = isinstance(X_err, tuple | list) and len(X_err) == 2 and np.ndim(X_err[0]) == 2
    if two and error_shape == "box":
        return X_err
    square = [(shape[1], shape[1])] * shape[0]
    if two and (isinstance(X_err, tuple) or list(map(np.shape, X_err)) != square):
        raise ValueError(
            "X_err is a pair (down, up), which is for error_shape='box'; an "
            "ellipsoid has one standard error for each cell."
        )
    if error_shape != "box" or sp.issparse(X_err) or np.ndim(X_err) != 3:
        return None
    tables = float_array(X_err, "X_err")
    if tables.shape != (*shape, 2):
        raise ValueError(
            f"X_err has shape {tables.shape}; with error_shape='box' three dimensions "
            f"are the errors down and up of every cell, {(*shape, 2)}: "
            "np.stack([down, up], axis=-1). A covariance per sample is for "
            "error_shape='ellipsoid'."
        )
    return tables[..., 0], tables[..., 1]


def read_table(X_err, shape, names, missing=None):
    """Errors of all cells, dense or CSR, finite and not negative.

    Where cells are `missing` they have none, whatever X_err says of them.
    """
    own = feature_names(X_err)
    order = None if own is None or names is None else matched(own, names, "X_err")
    if sp.issparse(X_err):
        table = X_err.tocsr()
        table.sum_duplicates()
        values = table.data
    else:
        table = values = float_array(X_err, "X_err")
        if order is not None:
            table = values = values[:, order]
    if missing is not None and sp.issparse(table):
        table = values = table.toarray()
    if table.ndim != 2 or table.shape != tuple(shape):
        raise ValueError(
            f"X_err has shape {table.shape}; it must have one error for every cell of "
            f"X, {tuple(shape)}."
        )
    if missing is not None:
        table = values = np.where(missing, 0.0, values)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        raise ValueError(_where_bad(table, bad, names))
    return table


def check_squares(table) -> None:
    """Refuse errors whose squares are out of the range of float64."""
    largest = float(table.max()) if table.size else 0.0
    if largest > _SQUARED:
        raise ValueError(
            f"X_err reaches {largest:.3g}, whose square is out of the range of "
            "float64; scale X and X_err down, or drop that cell."
        )


def _refuse_tiny(table) -> None:
    """Refuse errors that are not 0 and whose squares lose digits, or are 0.

    Beside errors that are far larger they are taken for 0.
    """
    values = table.data if sp.issparse(table) else table
    largest = float(values.max(initial=0.0))
    least = float(values.min(initial=np.inf, where=values > 0))
    if least < _NORMAL and largest < _NORMAL * 2.0**100:
        raise ValueError(
            f"X_err holds {least:.3g}, whose square is below the range of float64; "
            "scale X and X_err up, give 0 where a value is exact, or "
            "error_shape='box'."
        )


def _where_bad(table, bad, columns) -> str:
    if sp.issparse(table):
        k, coo = int(np.flatnonzero(bad)[0]), table.tocoo()
        row, column, value = int(coo.row[k]), int(coo.col[k]), float(coo.data[k])
    else:
        row, column = map(int, np.argwhere(bad)[0])
        value = float(table[row, column])
    name = column if columns is None else repr(columns[column])
    where = f"at row {row}, column {name}"
    if np.isnan(value):
        return (
            f"X_err has no error {where}, where X has a value. Say what is meant: "
            "wideberth.errors.fill(X_err, rule) fills such cells as exact, with the "
            "column's median error, or with a share of the value."
        )
    return (
        f"X_err is {value:g} {where}; an error is a finite number ≥ 0 (a lower error "
        "of a pair is a magnitude, too)."
    )


def read_covariances(X_err, shape) -> np.ndarray:
    """A covariance for every sample of X of this shape, made symmetric."""
    matrices = float_array(X_err, "X_err").astype(np.float64)
    n, d = shape
    if matrices.shape != (n, d, d) or not np.isfinite(matrices).all():
        raise ValueError(
            f"X_err has shape {matrices.shape}; as covariances it must be finite, one "
            f"matrix per sample: ({n}, {d}, {d})."
        )
    matrices = 0.5 * (matrices + matrices.transpose(0, 2, 1))
    values = np.linalg.eigvalsh(matrices)
    wrong = values[:, 0] < -INPUT_ROUNDING * np.maximum(values[:, -1], 0.0)
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"X_err at row {k} has the eigenvalue {values[k, 0]:.3g}; a covariance "
            "has none below 0."
        )
    return matrices
