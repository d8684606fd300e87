"""Values and errors for `fit(X, y, X_err=…)`, from replicates, limits and the like.

>>> from wideberth import errors
>>> X, X_err = errors.from_replicates([[[1.0], [3.0]], [[7.0], [9.0], [8.0]]])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from wideberth.measurement.population import read_variances
from wideberth.noise.reading import check_error_shape, in_order_of
from wideberth.problem.validation import (
    feature_names,
    float_array,
    is_missing,
    short,
)

__all__ = [
    "columns",
    "fill",
    "from_imputations",
    "from_limits",
    "from_quantities",
    "from_replicates",
    "from_sides",
]

_POOLING = ("moderated", "all")


def from_replicates(
    replicates, *, pooling="moderated"
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard errors of objects from repeated measurements.

    Parameters
    ----------
    replicates : array of shape (n_samples, r, n_features) or list of arrays (r_i, d)
        Readings of each object, NaN for missing ones. Objects with a single reading are
        allowed.
    pooling : {"moderated", "all"}, default="moderated"
        How to combine the variances of the objects. "moderated": the variance of an
        object is shrunk towards that of all objects, the more, the more similar these
        are (Smyth, 2004). "all": all objects have the same variance for each feature.

    Returns
    -------
    means : array of shape (n_samples, n_features)
        NaN if an object has no reading.
    errors : array of the same shape
        Standard errors of the means. The standard deviation of the difference between
        one more reading and the mean is √(r + 1) times as large.

    Examples
    --------
    >>> from wideberth import errors
    >>> X, X_err = errors.from_replicates([[[1.0], [3.0]], [[7.0], [9.0], [8.0]]])
    >>> X.ravel().tolist()
    [2.0, 8.0]
    >>> X_err.round(2).ravel().tolist()
    [0.82, 0.67]
    """
    if not isinstance(pooling, str) or pooling not in _POOLING:
        raise ValueError(
            f"pooling={short(pooling)} is not known; choose one of {_POOLING}."
        )
    groups, _ = _read_tables(
        replicates, "replicates", "replicates of sample", gaps=True
    )
    for i, group in enumerate(groups):
        if group.ndim != 2 or not len(group) or group.shape[1] != groups[0].shape[1]:
            raise ValueError(
                f"replicates of sample {i} have shape {group.shape}; give readings of "
                "all features, shape (r, n_features)."
            )
    counts = np.array([(~np.isnan(group)).sum(axis=0) for group in groups])
    sums = np.array([np.nansum(group, axis=0) for group in groups])
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    pairs = zip(groups, means, strict=True)
    squares = np.array(
        [np.nansum((group - mean) ** 2, axis=0) for group, mean in pairs]
    )
    freedom = np.maximum(counts - 1, 0)
    features = zip(squares.T, freedom.T, strict=True)
    found = [_variances(*column, pooling, j) for j, column in enumerate(features)]
    variances = np.column_stack(found) / np.maximum(counts, 1)
    return means, np.where(counts > 0, np.sqrt(variances), np.nan)


def _variances(squares, freedom, pooling: str, column: int) -> np.ndarray:
    """Variance of a reading of one feature for each object."""
    if not freedom.any():
        raise ValueError(
            f"replicates have no object with two readings of feature {column}, so "
            "nothing is known of its error; give errors for it in another way."
        )
    middle, strength = squares.sum() / freedom.sum(), np.inf
    if pooling == "moderated":
        middle, strength = _moderated(squares, freedom, middle)
    if strength == np.inf:
        return np.full(len(squares), middle)
    return (strength * middle + squares) / (strength + freedom)


def _moderated(squares, freedom, pooled: float) -> tuple[float, float]:
    """s₀² and d₀ from log variances; those that are 0 tell of rounding and are not."""
    told = (freedom > 0) & (squares > 0)
    if told.sum() < 2:
        return pooled, np.inf
    half = freedom[told] / 2
    logs = np.log(squares[told] / freedom[told]) - digamma(half) + np.log(half)
    excess = logs.var(ddof=1) - polygamma(1, half).mean()
    if not excess > 0:
        return pooled, np.inf
    strength = 2 * _inverse_trigamma(excess)
    middle = np.exp(logs.mean() + digamma(strength / 2) - np.log(strength / 2))
    return float(middle), strength


def _inverse_trigamma(value: float) -> float:
    """x with ψ′(x) = value; 1/x < ψ′(x) < 1/x + 1/x² brackets it."""
    low, high = 1 / value, 1 / value + 1 / np.sqrt(value)
    return float(brentq(lambda x: polygamma(1, x) - value, low, high))


def from_imputations(imputations, X_err=None) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard errors from several imputed tables.

    By Rubin's rules the value is the mean over the m tables, and the squared error of
    an imputed cell is (1 + 1/m)B, where B is the variance between the tables. Measured
    cells are the same in all tables and keep their own error.

    Parameters
    ----------
    imputations : array of shape (m, n_samples, n_features) or list of m tables
        At least two imputed versions of the same data, drawn at random as in multiple
        imputation. Without random draws they do not show the uncertainty.
    X_err : array of shape (n_samples, n_features), optional
        Standard errors of measured cells; NaN or 0 in the others.

    Returns
    -------
    means : array of shape (n_samples, n_features)
    errors : array of the same shape

    Examples
    --------
    >>> from wideberth import errors
    >>> X, X_err = errors.from_imputations([[[5.0, 1.0]], [[5.0, 2.0]], [[5.0, 3.0]]])
    >>> X.tolist(), X_err.round(3).tolist()
    ([[5.0, 2.0]], [[0.0, 1.155]])
    """
    given, names = _read_tables(imputations, "imputations", "imputation")
    shapes = sorted({table.shape for table in given})
    if len(shapes) > 1 or len(shapes[0]) != 2:
        raise ValueError(
            f"imputations has tables of shape {', '.join(map(str, shapes))}; give m "
            "tables of the same shape (n_samples, n_features)."
        )
    tables, m = np.stack(given), len(given)
    if m < 2:
        raise ValueError(
            f"imputations={short(imputations)} is one table; at least two are needed "
            "to see how far they differ."
        )
    means = tables.mean(axis=0)
    off = tables - means
    between = (1 + 1 / m) / (m - 1)
    measured = np.zeros_like(means)
    if X_err is not None:
        # Cells without an error are those that were filled in.
        bare = np.isnan(np.asarray(X_err, dtype=np.float64))
        measured, _ = read_variances(X_err, np.where(bare, np.nan, means), names)
    return means, np.sqrt(between * (off**2).sum(axis=0) + measured)


def _read_tables(
    tables, name: str, each: str, gaps: bool = False
) -> tuple[list[np.ndarray], list | None]:
    """Tables of numbers with the same features, and the names of those, if any.

    Numbers must be finite, but for NaN if there may be `gaps`.
    """
    given = list(tables)
    if not given:
        raise ValueError(f"{name} is empty; give at least one table of numbers.")
    names = feature_names(given[0])
    read = [_check_table(t, names, f"{each} {k}", gaps) for k, t in enumerate(given)]
    return read, names


def _check_table(table, names: list | None, what: str, gaps=False) -> np.ndarray:
    """Finite numbers; the columns of a frame in the order of `names`."""
    own = feature_names(table)
    if own is not None and own != names:
        if names is None or sorted(map(str, own)) != sorted(map(str, names)):
            raise ValueError(
                f"{what} has the columns {own}, not those of the first table, {names}; "
                "give the same features everywhere."
            )
        table = table[names]
    values = float_array(table, what)
    bad = np.argwhere(~(np.isfinite(values) | (gaps & np.isnan(values))))
    if bad.size:
        place = ", ".join(map(str, bad[0].tolist()))
        raise ValueError(
            f"{what}: the entry [{place}] is {values[tuple(bad[0])]}, not finite; "
            "leave that measurement out, or complete it first."
        )
    return values


def fill(X_err, rule, X=None):
    """Fill missing errors (NaN) by an explicit rule.

    Parameters
    ----------
    X_err : array or frame of shape (n, d)
        Errors, NaN if missing.
    rule : {"exact", "median"} or float
        "exact": the error is 0. "median": the median error of the column. A number:
        this fraction of the value, for which X is needed.
    X : array or frame of shape (n, d), optional
        The values.

    Returns
    -------
    array of shape (n, d), or a frame where one was given
    """
    X_err = X_err if X is None else in_order_of(X_err, X)
    errors = float_array(X_err, "X_err").astype(np.float64)
    missing = np.isnan(errors)
    if isinstance(rule, str) and rule == "exact":
        filled = np.zeros_like(errors)
    elif isinstance(rule, str) and rule == "median":
        none = missing.all(axis=0)
        if none.any():
            raise ValueError(
                f"Column {int(np.flatnonzero(none)[0])} of X_err has no error at all, "
                "and no median; fill it by another rule."
            )
        filled = np.broadcast_to(np.nanmedian(errors, axis=0), errors.shape)
    elif (
        isinstance(rule, bool)
        or not isinstance(rule, int | float)
        or not 0 <= rule < np.inf
    ):
        raise ValueError(
            f"rule={short(rule)} is not known; choose 'exact', 'median' or a share of "
            "the value such as 0.05."
        )
    elif X is None:
        raise ValueError(f"rule={rule} is a share of the value; give X, too.")
    else:
        filled = rule * np.abs(float_array(X, "X"))
        if filled.shape != errors.shape:
            raise ValueError(
                f"X has shape {filled.shape}; it must have a value for every cell of "
                f"X_err, {errors.shape}."
            )
    whole = np.where(missing, filled, errors)
    if hasattr(X_err, "columns") and hasattr(X_err, "index"):
        return type(X_err)(whole, columns=X_err.columns, index=X_err.index)
    return whole


def from_limits(
    X, X_err=None, *, censored, low, high, error_shape="ellipsoid"
) -> tuple[np.ndarray, np.ndarray]:
    """Return values and errors if some cells are only known to lie in an interval.

    For example, a signal below the limit of detection lies between 0 and the limit. The
    value of such a cell is the middle of the interval. With `error_shape="box"` its
    error is half the width of the interval, which is exact. With "ellipsoid" it is the
    standard deviation of a uniform distribution, width/√12. That is an approximation:
    all values in the interval count as equally likely, and `TrueFeatures` assumes a
    Gaussian error, so it does not exclude values outside the interval.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Measurements; the content of censored cells is ignored.
    X_err : array of shape (n_samples, n_features) or float, optional
        Errors of the other cells; by default they are exact.
    censored : array of bool of shape (n_samples, n_features)
        Cells that are only known by their interval.
    low, high : float or array that broadcasts to the shape of X
        Ends of the intervals, such as 0 and the limit of detection of each feature.
        Both must be finite.
    error_shape : {"ellipsoid", "box"}, default="ellipsoid"
        The `error_shape` for which the errors will be used.

    Returns
    -------
    X, X_err : arrays of shape (n_samples, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import errors
    >>> X = np.array([[3.1], [0.5], [2.2]])  # 0.5 stands for "below 0.5"
    >>> X, X_err = errors.from_limits(X, 0.1, censored=X <= 0.5, low=0.0, high=0.5)
    >>> X.ravel().tolist(), X_err.round(3).ravel().tolist()
    ([3.1, 0.25, 2.2], [0.1, 0.144, 0.1])
    """
    check_error_shape(error_shape)
    values = float_array(X, "X").astype(np.float64)
    mask = np.asarray(censored)
    if mask.dtype != bool or mask.shape != values.shape:
        raise ValueError(
            f"censored has shape {mask.shape} and dtype {mask.dtype}; it must be a "
            f"table of True and False, one for every cell of X, {values.shape}."
        )
    errors = np.broadcast_to(
        0.0 if X_err is None else float_array(X_err, "X_err"), values.shape
    )
    ends = []
    for name, end in {"low": low, "high": high}.items():
        try:
            ends.append(np.broadcast_to(float_array(end, name), values.shape)[mask])
        except ValueError:
            raise ValueError(
                f"{name} has shape {np.shape(end)}; it must be a number, one for each "
                f"feature, or one for every cell of X, {values.shape}."
            ) from None
    bottom, top = ends
    wrong = ~(np.isfinite(bottom) & np.isfinite(top) & (bottom <= top))
    if wrong.any():
        row, column = np.argwhere(mask)[int(np.flatnonzero(wrong)[0])]
        raise ValueError(
            f"The cell at row {row}, column {column} lies between low="
            f"{bottom[wrong][0]:g} and high={top[wrong][0]:g}; both ends must be "
            "finite, and the lower one first. Give the least and the largest value "
            "that are possible."
        )
    values, errors = values.copy(), errors.astype(np.float64)
    values[mask] = 0.5 * (bottom + top)
    width = top - bottom
    errors[mask] = width / 2 if error_shape == "box" else width / np.sqrt(12)
    return values, errors


def from_sides(X, down, up) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard errors from asymmetric errors, x −down +up.

    Such a triple is taken for a split normal distribution: half a Gaussian on each side
    of the most likely value x. Its mean is x + √(2/π)(up − down), and its variance is
    (1 − 2/π)(up − down)² + up·down; the mean and the root of the variance are returned.
    For boxes it is not needed: `error_shape="box"` takes the pair (down, up).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The most likely values, NaN if missing.
    down, up : array of shape (n_samples, n_features), or a number
        Lower and upper errors. Lower ones may be negative, as in some catalogues.

    Returns
    -------
    X, X_err : arrays of shape (n_samples, n_features)

    Examples
    --------
    >>> from wideberth import errors
    >>> X, X_err = errors.from_sides([[2.0, 5.0]], [[0.1, 0.3]], [[0.1, 0.6]])
    >>> X.round(3).tolist(), X_err.round(3).tolist()
    ([[2.0, 5.239]], [[0.1, 0.461]])
    """
    values = float_array(X, "X")
    sides = []
    for name, side in {"down": down, "up": up}.items():
        own = float_array(side, name)
        if own.ndim and own.shape != values.shape:
            raise ValueError(
                f"{name} has shape {own.shape}; it must be a number, or have one error "
                f"for every cell of X, {values.shape}."
            )
        sides.append(own)
    low, high = np.abs(sides[0]), sides[1]
    if (high < 0).any():
        raise ValueError(
            f"up holds {np.nanmin(high):g}; an upper error must not be negative."
        )
    skew = high - low
    variance = (1 - 2 / np.pi) * skew**2 + low * high
    return values + np.sqrt(2 / np.pi) * skew, np.sqrt(variance + 0 * values)


def from_quantities(X, X_err=None) -> tuple[np.ndarray, np.ndarray]:
    """Return values and standard errors of quantities with errors or units.

    Parameters
    ----------
    X : array or frame of numbers of `uncertainties`, or a quantity of astropy
        Arrays of `ufloat`, where plain numbers are exact and None or NaN are missing;
        or quantities with a unit. Errors are taken as independent; correlations that
        `uncertainties` stores are ignored.
    X_err : quantity, optional
        Errors of quantities, in any unit of the same kind.

    Returns
    -------
    values, errors : arrays of the shape of X
        In the unit of X.

    Examples
    --------
    >>> from types import SimpleNamespace  # stands for uncertainties.ufloat
    >>> from wideberth import errors
    >>> mass = SimpleNamespace(nominal_value=5.0, std_dev=0.2)
    >>> X, X_err = errors.from_quantities([[mass, 1.0]])
    >>> X.tolist(), X_err.tolist()
    ([[5.0, 1.0]], [[0.2, 0.0]])
    """
    if X_err is not None:
        unit = getattr(X, "unit", None)
        if unit is None:
            raise ValueError(
                f"X is a {type(X).__name__} without a unit, so X_err beside it needs "
                "no conversion; give both to fit as they are."
            )
        parts = (v.to_value(unit) if hasattr(v, "to_value") else v for v in (X, X_err))
        values, errors = (float_array(np.asarray(part), "X") for part in parts)
        return values, errors
    cells = np.asarray(X, dtype=object)
    pairs = [_pair(cell) for cell in cells.ravel()]
    if not any(hasattr(cell, "nominal_value") for cell in cells.ravel()):
        raise ValueError(
            f"X is a {type(X).__name__} whose numbers carry no errors; give numbers of "
            "the package uncertainties, or X_err beside a quantity."
        )
    values, errors = np.array(pairs).T
    return values.reshape(cells.shape), errors.reshape(cells.shape)


def _pair(cell) -> tuple[float, float]:
    if hasattr(cell, "nominal_value"):
        return float(cell.nominal_value), float(cell.std_dev)
    if cell is None or is_missing(cell):
        return np.nan, np.nan
    return float(cell), 0.0


#: Words for lower and upper errors.
_SIDES = (
    *(("min", "max"), ("lower", "upper"), ("low", "high")),
    *(("minus", "plus"), ("down", "up"), ("neg", "pos")),
)
_PAIRS = (
    *(f"suffix:_{w}_{d},_{w}_{u}" for w, (d, u) in product(("err", "error"), _SIDES)),
    "suffix:err2,err1",
)
_ENDS = ("err", "error", "stderr", "se", "sem", "std", "sd", "sigma", "unc")
_STARTS = ("e", "err", "error", "se", "std", "sd", "sigma", "unc")
#: Patterns that tables are known to use; the first that fits a column counts.
_KNOWN = (
    *_PAIRS,
    *(f"suffix:_{word}" for word in (*_ENDS, "uncertainty")),
    *(f"prefix:{word}_" for word in (*_STARTS, "uncertainty")),
    *("infix:_err", "infix:_error", "infix:err"),
)
_PLACES = ("suffix", "prefix", "infix")


def columns(
    names: Iterable[str], pattern: str = "auto"
) -> dict[str, str | tuple[str, str]]:
    """Find the columns that hold the errors of other columns, by their names.

    Parameters
    ----------
    names : iterable of str
        The columns of a table.
    pattern : str, default="auto"
        How error columns are named: `"suffix:_err"`, `"prefix:e_"` or `"infix:_err"`.
        Two marks with a comma are for lower and upper errors:
        `"suffix:_error_min,_error_max"`. "auto" tries the usual names. Upper and lower
        case are not distinguished.

    Returns
    -------
    dict of str to str, or to a pair (down, up) of them
        Value columns and their error columns, in the order of `names`.
        `wideberth.solve` takes it as `X_err` for a table in a file.

    Examples
    --------
    >>> from wideberth import errors
    >>> errors.columns(["flux", "flux_err", "mag_g", "mag_err_g", "class"])
    {'flux': 'flux_err', 'mag_g': 'mag_err_g'}
    >>> errors.columns(["x", "x_lo", "x_hi"], "suffix:_lo,_hi")
    {'x': ('x_lo', 'x_hi')}
    """
    columns = list(names)
    by_name = {name.casefold(): name for name in columns}
    text = "\n".join(by_name)
    found: dict[str, str | tuple[str, str]] = {}
    taken: set[str] = set()
    for one in _KNOWN if pattern == "auto" else (pattern,):
        place, marks = _read(one)
        if any(mark not in text for mark in marks):
            continue  # at once, where millions of features are only numbers
        for name in columns:
            if name in found or name in taken:
                continue
            for marked in _marked(name.casefold(), place, marks):
                errors = [by_name[own] for own in marked if own in by_name]
                free = taken.isdisjoint(errors) and found.keys().isdisjoint(errors)
                if len(errors) == len(marks) and free:
                    found[name] = (
                        errors[0] if len(errors) == 1 else (errors[0], errors[1])
                    )
                    taken.update(errors)
                    break
    return {name: found[name] for name in columns if name in found}


def _read(pattern) -> tuple[str, list[str]]:
    """The place of the marks in names, and one mark or two."""
    place, _, rest = pattern.partition(":") if isinstance(pattern, str) else ("",) * 3
    marks = rest.casefold().split(",")
    plain = all(marks) and len(set(marks)) == len(marks) <= 2
    if place not in _PLACES or not plain:
        raise ValueError(
            f"pattern={short(pattern)} does not say how error columns are named; give "
            "'auto', 'suffix:_err', 'prefix:e_', 'infix:_err', or two marks of lower "
            "and upper errors, 'suffix:_error_min,_error_max'."
        )
    return place, marks


def _marked(name: str, place: str, marks: list[str]) -> Iterator[list[str]]:
    """The names that the error columns of a column may have."""
    if place == "suffix":
        yield [name + mark for mark in marks]
    elif place == "prefix":
        yield [mark + name for mark in marks]
    else:
        for k in range(1, len(name)):
            yield [name[:k] + mark + name[k:] for mark in marks]
