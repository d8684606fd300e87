"""Errors for cells that have none: by a rule, or from multiple imputations (Rubin)."""

from __future__ import annotations

import numpy as np

from wideberth.measurement.radius import read_imputations
from wideberth.measurement.tables import read_variances
from wideberth.noise.reading import in_order_of
from wideberth.problem.validation import float_array, short


def errors_from_imputations(
    imputations, X_err=None, *, covariance=False
) -> tuple[np.ndarray, np.ndarray]:
    """Mean of several completed tables, and how far the truth may be from it.

    Rubin's rules: with m tables the mean x̄ is the value, and (1 + 1/m)B the squared
    error of a cell that was filled in, B the variance between the tables; cells that
    were measured are the same in all, and have the error that they were measured with.

    Parameters
    ----------
    imputations : array of shape (m, n_samples, n_features) or list of m tables
        Completed versions of the same data, drawn as multiple imputation draws them;
        at least two. Versions that are all the best guess have no spread to tell of.
    X_err : array of shape (n_samples, n_features), optional
        Standard errors of the cells that were measured; NaN or 0 in others.
    covariance : bool, default=False
        Whether to return covariances instead: cells of a row that were filled in
        together are off together.

    Returns
    -------
    means : array of shape (n_samples, n_features)
    errors : array of the same shape, or (n_samples, n_features, n_features)
        Standard errors, or covariances.

    Examples
    --------
    >>> from wideberth import errors_from_imputations
    >>> X, X_err = errors_from_imputations([[[5.0, 1.0]], [[5.0, 2.0]], [[5.0, 3.0]]])
    >>> X.tolist(), X_err.round(3).tolist()
    ([[5.0, 2.0]], [[0.0, 1.155]])
    """
    tables, names = read_imputations(imputations)
    m = len(tables)
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
    if not covariance:
        spread = between * (off**2).sum(axis=0)
        return means, np.sqrt(spread + measured)
    matrices = between * np.einsum("mni,mnj->nij", off, off)
    return means, matrices + measured[:, :, None] * np.eye(means.shape[1])


def fill_errors(X_err, rule, X=None):
    """Errors for cells that have none (NaN), by an explicit rule.

    Parameters
    ----------
    X_err : array or frame of shape (n, d)
        Errors, NaN where there is none.
    rule : {"exact", "median"} or float
        Such values are exact; or have the median error of their column; or one that is
        this share of the value, which takes X.
    X : array or frame of shape (n, d), optional
        The values, for a share of them.

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
        raise ValueError(f"rule={rule} is a share of the value, which takes X.")
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
