"""Means and their errors from repeated measurements of the same objects.

Few readings of an object tell its mean, but hardly its error. The readings of all the
others help: variances of a feature are taken as draws from a scaled inverse χ² law with
d₀ degrees of freedom about s₀², which are found by the moments of log s² (Smyth, 2004,
"moderated" variances), and an object with ν = r − 1 gets

    s̃² = (d₀ s₀² + ν s²) / (d₀ + ν),  and its mean the squared error s̃²/r .

If variances scatter no more than those of equal objects would, d₀ = ∞: all have s₀².
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from wideberth.measurement.radius import read_tables
from wideberth.problem.limits import TINY
from wideberth.problem.validation import short

_POOLING = ("moderated", "all", "none")


def errors_from_replicates(
    replicates, *, pooling="moderated", covariance=False
) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each object and its standard errors, from repeated measurements.

    Parameters
    ----------
    replicates : array of shape (n_samples, r, n_features) or list of arrays (r_i, d)
        Readings of each object, NaN where there is none. An object that was read once
        is welcome unless `pooling` is "none".
    pooling : {"moderated", "all", "none"}, default="moderated"
        What other objects say of the error of a reading. "moderated": as much as the
        scatter of variances between objects allows for, by the rule of Smyth (2004).
        "all": readings of a feature have one variance, whatever the object. "none":
        nothing; errors of objects with few readings are far off then.
    covariance : bool, default=False
        Whether to return covariances instead. Their correlations are those of all
        readings about the means of their objects: few readings cannot tell them.

    Returns
    -------
    means : array of shape (n_samples, n_features)
        NaN where an object has no reading at all.
    errors : array of the same shape, or (n_samples, n_features, n_features)
        Of the means; that of one more reading is √(r + 1) times as far from a mean.

    Examples
    --------
    >>> from wideberth import errors_from_replicates
    >>> X, X_err = errors_from_replicates([[[1.0], [3.0]], [[7.0], [9.0], [8.0]]])
    >>> X.ravel().tolist()
    [2.0, 8.0]
    >>> X_err.round(2).ravel().tolist()
    [0.82, 0.67]
    """
    if not isinstance(pooling, str) or pooling not in _POOLING:
        raise ValueError(
            f"pooling={short(pooling)} is not known; choose one of {_POOLING}."
        )
    groups, _ = read_tables(replicates, "replicates", "replicates of sample", gaps=True)
    for i, group in enumerate(groups):
        if group.ndim != 2 or not len(group) or group.shape[1] != groups[0].shape[1]:
            raise ValueError(
                f"replicates of sample {i} have shape {group.shape}; give readings of "
                "all features, shape (r, n_features)."
            )
    counts = np.array([(~np.isnan(group)).sum(axis=0) for group in groups])
    sums = np.array([np.nansum(group, axis=0) for group in groups])
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    residuals = [group - mean for group, mean in zip(groups, means, strict=True)]
    squares = np.array([np.nansum(part**2, axis=0) for part in residuals])
    freedom = np.maximum(counts - 1, 0)
    columns = zip(squares.T, freedom.T, strict=True)
    found = [_variances(*column, pooling, j) for j, column in enumerate(columns)]
    variances = np.column_stack(found) / np.maximum(counts, 1)
    errors = np.where(counts > 0, np.sqrt(variances), np.nan)
    if not covariance:
        return means, errors
    correlation = _correlation(np.concatenate(residuals))
    return means, errors[:, :, None] * correlation * errors[:, None, :]


def _variances(squares, freedom, pooling: str, column: int) -> np.ndarray:
    """Variance of a reading of one feature for each object."""
    if pooling == "none":
        if not (freedom > 0).all():
            i = int(np.flatnonzero(freedom < 1)[0])
            raise ValueError(
                f"replicates of sample {i} have fewer than two readings of feature "
                f"{column}, which say nothing of its error; choose "
                "pooling='moderated' or 'all'."
            )
        return squares / freedom
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


def _correlation(residuals: np.ndarray) -> np.ndarray:
    """Of readings about their means, positive semidefinite; gaps count as 0."""
    residuals = np.nan_to_num(residuals)
    scatter = residuals.T @ residuals
    size = np.sqrt(np.maximum(np.diag(scatter), TINY))
    correlation = scatter / (size[:, None] * size)
    np.fill_diagonal(correlation, 1.0)
    return correlation
