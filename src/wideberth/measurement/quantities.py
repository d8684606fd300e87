"""Values and errors out of numbers that carry them: `uncertainties`, astropy.

Nothing is imported: objects are known by what they have. A number of `uncertainties`
has `nominal_value` and `std_dev`; astropy's NDData has `data` and `uncertainty`, its
distributions have `pdf_mean` and `pdf_std`, and its quantities `unit` and `to_value`.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem.validation import float_array, is_missing


def errors_from_quantities(X, X_err=None) -> tuple[np.ndarray, np.ndarray]:
    """Values and standard errors of numbers that carry their errors or their unit.

    Parameters
    ----------
    X : array or frame of numbers of `uncertainties`, or an astropy object
        Arrays of `ufloat`, where plain numbers count as exact and None or NaN as
        missing; astropy's NDData with an uncertainty, its distributions; or quantities
        with a unit. Errors are taken as independent of each other; what `uncertainties`
        knows of common origins is not looked at.
    X_err : quantity, optional
        Beside quantities: their errors, in any unit of the same kind.

    Returns
    -------
    values, errors : arrays of the shape of X
        In the unit of X.

    Examples
    --------
    >>> from types import SimpleNamespace  # stands for uncertainties.ufloat
    >>> from wideberth import errors_from_quantities
    >>> mass = SimpleNamespace(nominal_value=5.0, std_dev=0.2)
    >>> X, X_err = errors_from_quantities([[mass, 1.0]])
    >>> X.tolist(), X_err.tolist()
    ([[5.0, 1.0]], [[0.2, 0.0]])
    """
    unit = getattr(X, "unit", None)
    if callable(getattr(X, "pdf_mean", None)):
        return _plain(X.pdf_mean(), unit), _plain(X.pdf_std(), unit)
    if getattr(X, "uncertainty", None) is not None and hasattr(X, "data"):
        return float_array(np.asarray(X.data), "X"), _deviation(X.uncertainty)
    if X_err is not None:
        if unit is None:
            raise ValueError(
                f"X is a {type(X).__name__} without a unit, so X_err beside it needs "
                "no conversion; give both to fit as they are."
            )
        errors = X_err.to_value(unit) if hasattr(X_err, "to_value") else X_err
        return _plain(X, unit), float_array(errors, "X_err")
    cells = np.asarray(X, dtype=object)
    pairs = [_pair(cell) for cell in cells.ravel()]
    if not any(hasattr(cell, "nominal_value") for cell in cells.ravel()):
        raise ValueError(
            f"X is a {type(X).__name__} whose numbers carry no errors; give numbers of "
            "the package uncertainties, an astropy object with an uncertainty, or "
            "X_err beside a quantity."
        )
    values, errors = np.array(pairs).T
    return values.reshape(cells.shape), errors.reshape(cells.shape)


def _plain(values, unit) -> np.ndarray:
    if unit is not None and hasattr(values, "to_value"):
        values = values.to_value(unit)
    return float_array(np.asarray(values), "X")


def _deviation(uncertainty) -> np.ndarray:
    """Standard deviations, whichever of the three kinds of astropy they are."""
    kind = getattr(uncertainty, "uncertainty_type", "std")
    array = float_array(np.asarray(uncertainty.array), "the uncertainty of X")
    if kind == "std":
        return array
    if kind == "var":
        return np.sqrt(array)
    if kind == "ivar":
        with np.errstate(divide="ignore"):
            return 1 / np.sqrt(array)
    raise ValueError(
        f"The uncertainty of X is of type {kind!r}; it must be one of 'std', 'var' and "
        "'ivar', from which standard errors follow."
    )


def _pair(cell) -> tuple[float, float]:
    if hasattr(cell, "nominal_value"):
        return float(cell.nominal_value), float(cell.std_dev)
    if cell is None or is_missing(cell):
        return np.nan, np.nan
    return float(cell), 0.0
