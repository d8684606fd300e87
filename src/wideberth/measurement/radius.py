"""Radii from what people know: standard deviations, replicates, imputations.

Unless they say otherwise the helpers assume Gaussian noise δ of covariance σ²I where
`noise` is a name, σ² diag(τ²) where it gives scales τ and σ²Σ where it gives a matrix.
What a radius ρ promises is one of two things, the first of them by default:

* ``covers="margin"``: P(⟨w,δ⟩ ≥ −ρΩ(w)) is at least the confidence for every w that
  does not depend on δ, such as a trained model facing a new sample. The margin under
  noise falls below the one trained on no more often. No price in d.
* ``covers="sample"``: P(δ ∈ ρU) is at least the confidence. The whole displacement lies
  in the uncertainty set; then whatever the model, the loss trained on bounds the true
  one. The price grows like √d.

With q the quantile of the standard normal distribution at the confidence κ, q_d that of
the χ distribution with d degrees of freedom (d noisy features, or the rank of Σ), and σ
known::

    noise         covers="margin"              covers="sample"
    "l2", τ, Σ    σ q     exact                σ q_d                    exact
    "linf"        σ q     ‖w‖₁ ≥ ‖w‖₂          σ Φ⁻¹((1 + κ^{1/d})/2)   exact
    "l1"          σ √d q  ‖w‖∞ ≥ ‖w‖₂/√d       σ √d q_d                 ‖δ‖₁ ≤ √d‖δ‖₂

"exact" means that the probability equals κ; the others are at least κ, by the
inequality given.
"""

from __future__ import annotations

import numbers
from fractions import Fraction
from functools import cache
from math import ceil

import numpy as np
from scipy import stats

from wideberth.noise import Shape, as_shape
from wideberth.problem.validation import (
    check_number,
    check_per_sample,
    feature_names,
    float_array,
    own_names,
)

_COVERS = ("margin", "sample")
#: Variance of a displacement, as a multiple of one reading's, after r of them.
_VARIANCES = {
    "mean and truth": lambda r: 1 / r,
    "reading and truth": lambda r: 1.0,
    "mean and reading": lambda r: 1 + 1 / r,
}
#: Quantiles, computed once for samples with as many measurements.
_student, _fisher = cache(stats.t.ppf), cache(stats.f.ppf)


def radius_from_std(
    std, n_features, *, confidence=0.95, noise="l2", covers="margin"
) -> float | np.ndarray:
    """Radius for an instrument of known standard deviation.

    Parameters
    ----------
    std : float or array of shape (n_samples,)
        Standard deviation of every feature; one per sample where instruments differ.
        With per-feature `noise` scales it is a factor on them: 1 if the scales are the
        standard deviations themselves.
    n_features : int
    confidence : float, default=0.95
        Probability with which the promise holds for a sample.
    noise : {"l2", "linf", "l1"}, scales, covariance or Correlated, default="l2"
        Shape of the noise, as for `RobustLinearSVC`. A covariance counts with as many
        degrees of freedom as its rank.
    covers : {"margin", "sample"}, default="margin"
        What is promised: that a new sample's score changes by no more than the model
        allows for, or that its whole displacement lies in the uncertainty set, which
        takes far larger radii; see the module's documentation.

    Returns
    -------
    float or array of shape (n_samples,)

    Examples
    --------
    >>> round(radius_from_std(0.1, n_features=30), 3)
    0.164
    >>> round(radius_from_std(0.1, n_features=30, covers="sample"), 3)
    0.662
    """
    confidence, covers = _check_confidence(confidence), _check_covers(covers)
    std = check_per_sample(std, np.size(std), "std").reshape(np.shape(std))
    n_features = int(check_number(n_features, "n_features", whole=True))
    shape = as_shape(noise, n_features, own_names(noise))
    if covers == "margin":
        quantile = max(stats.norm.ppf(confidence), 0.0)
    elif shape.order == np.inf:
        quantile = stats.norm.ppf(0.5 * (1 + confidence ** (1 / n_features)))
    else:
        quantile = stats.chi.ppf(confidence, max(shape.degrees(n_features), 1))
    radius = std * (quantile * _euclidean_factor(shape, n_features))
    return float(radius) if np.ndim(radius) == 0 else radius


def radius_from_replicates(
    replicates,
    *,
    confidence=0.95,
    noise="l2",
    covers="margin",
    between="mean and truth",
) -> np.ndarray:
    """Radius of each sample from repeated measurements of it alone.

    Every sample has its own unknown noise level σ_i. With r measurements of d features
    the pooled variance s² has ν = d(r−1) degrees of freedom and is independent of the
    displacement δ between what the model is trained on and what is to be covered, of
    variance v²σ_i² per feature. So ‖δ‖²/(d v²s²) follows F(d, ν) and ⟨w,δ⟩/(‖w‖vs)
    Student's t(ν)::

        covers="margin": ρ = v s t_κ(ν)      covers="sample": ρ = v s √(d F_κ(d,ν))

    both exact, for "l2" and for scales (all in units of τ); for "linf" at least κ, and
    for "l1" with a factor √d at least κ, as in the module's table.

    Parameters
    ----------
    replicates : array of shape (n_samples, r, n_features) or list of arrays (r_i, d)
        At least two measurements of each sample.
    confidence : float, default=0.95
    noise : {"l2", "linf", "l1"} or array of shape (n_features,), default="l2"
    covers : {"margin", "sample"}, default="margin"
        As in `radius_from_std`.
    between : str, default="mean and truth"
        What δ is. "mean and truth": the rows trained on are means of the replicates,
        v² = 1/r. "reading and truth": they are one further measurement each, v² = 1.
        "mean and reading": they are means, and the model will see single measurements,
        v² = 1 + 1/r.

    Returns
    -------
    array of shape (n_samples,)
    """
    confidence, covers = _check_confidence(confidence), _check_covers(covers)
    if not isinstance(between, str) or between not in _VARIANCES:
        raise ValueError(
            f"between={between!r} is not known; choose one of {sorted(_VARIANCES)}."
        )
    groups, names = _read_replicates(replicates)
    d = groups[0].shape[1]
    shape = as_shape(noise, d, names)
    factor = _euclidean_factor(shape, d)
    radii = np.empty(len(groups))
    for i, group in enumerate(groups):
        r, freedom = len(group), d * (len(group) - 1)
        spread = shape.standardised(group - group.mean(axis=0))
        s = np.sqrt(np.sum(spread**2) / freedom)
        if covers == "margin":
            quantile = max(_student(confidence, freedom), 0.0)
        else:
            quantile = np.sqrt(d * _fisher(confidence, d, freedom))
        radii[i] = factor * s * quantile * np.sqrt(_VARIANCES[between](r))
    return radii


def scales_from_replicates(replicates, *, confidence=None) -> np.ndarray:
    """Noise scale of each feature from repeated measurements of some samples.

    One level σ_j per feature, the same for all samples. The pooled variance
    τ_j² = Σ_i Σ_r (x_irj − x̄_ij)² / ν, ν = Σ_i (r_i − 1), is unbiased: E τ_j² = σ_j².

    Parameters
    ----------
    replicates : array of shape (n_samples, r, n_features) or list of arrays (r_i, d)
        At least two measurements of each sample.
    confidence : float, optional
        Return upper confidence bounds instead: P(σ_j ≤ τ_j) = confidence for each
        feature, exactly, since ντ_j²/σ_j² follows χ²(ν).

    Returns
    -------
    array of shape (n_features,)
        For `noise=`, with a radius from `radius_from_std(1.0, n_features)`.
    """
    groups, _ = _read_replicates(replicates)
    freedom = sum(len(group) - 1 for group in groups)
    squares = sum(((group - group.mean(axis=0)) ** 2).sum(axis=0) for group in groups)
    divisor = float(freedom)
    if confidence is not None:
        divisor = stats.chi2.ppf(1 - _check_confidence(confidence), freedom)
    return np.sqrt(squares / divisor)


def radius_from_imputations(
    imputations, *, confidence=0.95, noise="l2", covers="margin", center=None
) -> np.ndarray:
    """Radius of each sample from how far its imputations spread.

    covers="margin": along a direction w the m imputations have a mean and a variance
    s_w², and for Gaussian draws of one law the truth is off their mean by s_w√(1 + 1/m)
    times Student's t(m−1), exactly. With λ² the largest variance of a row's imputations
    along any direction, in units of the noise shape (for "linf" of any one feature),
    s_w is at most λΩ(w), so::

        ρ = λ √(1 + 1/m) t_κ(m−1)  (+ the distance from their mean to `center`)

    keeps its promise with at least the confidence κ; "l1" has the smaller of λ√d and
    the sum of the standard deviations, over the d features that were filled in.

    covers="sample": with the imputations at distances D_1 … D_m from the row the model
    is trained on, the radius is the k-th smallest, k = ⌈κ(m+1)⌉. No distribution is
    assumed: if the truth and the imputations are draws from the same law, independent
    of `center`, the truth lies within the radius with probability k/(m+1) ≥ κ. For the
    default `center`, their mean, this holds as m grows.

    One number per row lets all directions be as uncertain as the worst one. Where some
    features are known and others guessed, `errors.from_imputations` says it cell by
    cell, for `X_err`, and asks for far less.

    Parameters
    ----------
    imputations : array of shape (m, n_samples, n_features) or list of m tables
        Completed versions of the same data, from multiple imputation; at least two.
    confidence : float, default=0.95
        With covers="sample" at most m/(m+1).
    noise : {"l2", "linf", "l1"} or array, default="l2"
    covers : {"margin", "sample"}, default="margin"
        As in `radius_from_std`.
    center : array of shape (n_samples, n_features), optional
        The rows the model is trained on; by default the mean of the imputations.

    Returns
    -------
    array of shape (n_samples,)
        0 for samples in which nothing was missing.
    """
    tables, names = read_imputations(imputations)
    m, n, d = tables.shape
    confidence, covers = _check_confidence(confidence), _check_covers(covers)
    shape, mean = as_shape(noise, d, names), tables.mean(axis=0)
    middle = mean
    if center is not None:
        middle = _check_table(center, names, "center")
        if middle.shape != (n, d):
            raise ValueError(
                f"center has shape {middle.shape}; give the rows trained on, one per "
                f"sample: shape {(n, d)}, like each imputation."
            )
    if covers == "sample":
        k = _rank(confidence, m)
        off = shape.standardised(tables - middle)
        distances = np.linalg.norm(off, shape.order, axis=2)
        return np.partition(distances, k - 1, axis=0)[k - 1]
    if m < 2:
        raise ValueError(
            "imputations holds one table; at least two are needed to see how far they "
            "differ."
        )
    spread = _largest_spread(shape.standardised(tables - mean), shape.order)
    quantile = max(_student(confidence, m - 1), 0.0) * np.sqrt(1 + 1 / m)
    moved = np.linalg.norm(shape.standardised(mean - middle), shape.order, axis=1)
    return spread * quantile + moved


def _rank(confidence: float, m: int) -> int:
    """Which of m distances covers a further one so surely."""
    k = ceil(Fraction(repr(confidence)) * (m + 1))  # of 0.9, not of its nearest double
    if k > m:
        raise ValueError(
            f"confidence={confidence!r} needs more than the {m} imputations given to "
            f"cover samples; take {ceil(confidence / (1 - confidence))} or more of "
            f"them, or a confidence of at most {m / (m + 1):.3f}."
        )
    return k


def _largest_spread(off: np.ndarray, order: float) -> np.ndarray:
    """The largest s_w/Ω(w) over all w, of each row, or a bound on it.

    `off` are deviations from the mean, of shape (m, n, d), in units of the noise.
    """
    freedom = len(off) - 1
    single = np.sqrt(np.sum(off**2, axis=0) / freedom)
    if order == np.inf:
        return single.max(axis=1, initial=0.0)
    rows = off.transpose(1, 0, 2)
    few = rows if rows.shape[1] <= rows.shape[2] else rows.transpose(0, 2, 1)
    variances = np.linalg.eigvalsh(few @ few.transpose(0, 2, 1) / freedom)[:, -1]
    spread = np.sqrt(np.maximum(variances, 0.0))
    if order != 1:
        return spread
    return np.minimum(spread * np.sqrt((single > 0).sum(axis=1)), single.sum(axis=1))


def _euclidean_factor(shape: Shape, n_features: int) -> float:
    """The least a such that aU holds the Euclidean ball, in `standardised` units."""
    return float(np.sqrt(n_features)) if shape.order == 1 else 1.0


def _read_replicates(replicates) -> tuple[list[np.ndarray], list | None]:
    """Measurements of each sample, and the names of the features, if any."""
    groups, names = read_tables(replicates, "replicates", "replicates of sample")
    for i, group in enumerate(groups):
        if group.ndim != 2 or len(group) < 2 or group.shape[1:] != groups[0].shape[1:]:
            raise ValueError(
                f"replicates of sample {i} have shape {group.shape}; give at least two "
                "measurements of all features, shape (r, n_features). A sample "
                "measured once says nothing of its noise."
            )
    return groups, names


def read_imputations(imputations) -> tuple[np.ndarray, list | None]:
    """Completed tables, (m, n, d), and the names of the features, if any."""
    given, names = read_tables(imputations, "imputations", "imputation")
    shapes = sorted({table.shape for table in given})
    if len(shapes) > 1 or len(shapes[0]) != 2:
        raise ValueError(
            f"imputations has tables of shape {', '.join(map(str, shapes))}; give m "
            "tables of the same shape (n_samples, n_features)."
        )
    return np.stack(given), names


def read_tables(
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


def _check_confidence(value, name="confidence") -> float:
    if not isinstance(value, numbers.Real) or not 0 < float(value) < 1:
        raise ValueError(f"{name}={value!r} must be a probability between 0 and 1.")
    return float(value)


def _check_covers(covers) -> str:
    if covers not in _COVERS:
        raise ValueError(f"covers={covers!r} is not known; choose one of {_COVERS}.")
    return covers
