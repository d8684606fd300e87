"""Radii from standard deviations.

The errors δ are assumed to be Gaussian, with covariance σ²I if `noise` is a name,
σ² diag(τ²) if it gives scales τ, and σ²Σ if it gives a matrix. `covers` says what a
radius ρ guarantees:

* ``covers="margin"``, the default: for every w that does not depend on δ, such as that
  of a trained model and a new sample, P(⟨w,δ⟩ ≥ −ρΩ(w)) is at least the confidence. So
  the margin falls by no more than training allowed for. The radius does not grow with
  d.
* ``covers="sample"``: P(δ ∈ ρU) is at least the confidence. The whole error lies in the
  noise set, so the guarantee holds for all models at once. The radius grows like √d.

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

import numpy as np
from scipy import stats

from wideberth.noise import as_shape
from wideberth.problem.validation import (
    check_number,
    check_per_sample,
    own_names,
    short,
)

_COVERS = ("margin", "sample")


def radius_from_std(
    std, n_features, *, confidence=0.95, noise="l2", covers="margin"
) -> float | np.ndarray:
    """Return the radius for errors of known standard deviation.

    Parameters
    ----------
    std : float or array of shape (n_samples,)
        Standard deviation of every feature; one for each sample if instruments differ.
        If `noise` gives scales, it is a factor on them: 1 if the scales are the
        standard deviations.
    n_features : int
    confidence : float, default=0.95
        Probability with which the guarantee holds for a sample.
    noise : {"l2", "linf", "l1"}, scales, covariance or Correlated, default="l2"
        Shape of the noise, as for `RobustLinearSVC`. A covariance counts with as many
        degrees of freedom as its rank.
    covers : {"margin", "sample"}, default="margin"
        What is guaranteed. "margin": the margin of a new sample falls by no more than
        the model allows for. "sample": the whole error lies in the noise set; this
        takes a much larger radius.

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
    check_confidence(confidence)
    if covers not in _COVERS:
        raise ValueError(f"covers={covers!r} is not known; choose one of {_COVERS}.")
    std = check_per_sample(std, np.size(std), "std").reshape(np.shape(std))
    n_features = int(check_number(n_features, "n_features", whole=True))
    shape = as_shape(noise, n_features, own_names(noise))
    if covers == "margin":
        quantile = max(stats.norm.ppf(confidence), 0.0)
    elif shape.order == np.inf:
        quantile = stats.norm.ppf(0.5 * (1 + confidence ** (1 / n_features)))
    else:
        quantile = stats.chi.ppf(confidence, max(shape.degrees(n_features), 1))
    # The least a such that a times the cross-polytope holds the ball is √d.
    factor = np.sqrt(n_features) if shape.order == 1 else 1.0
    radius = std * (quantile * factor)
    return float(radius) if np.ndim(radius) == 0 else radius


def check_confidence(confidence) -> None:
    """Refuse what is no probability between 0 and 1."""
    if not isinstance(confidence, numbers.Real) or not 0 < float(confidence) < 1:
        raise ValueError(
            f"confidence={short(confidence)} must be a probability between 0 and 1, "
            "such as 0.95."
        )


def noise_from_replicates(replicates, confidence=0.95) -> tuple[np.ndarray, np.ndarray]:
    """Noise scale of each feature and radius of each sample, one precision for all.

    The variance of a reading is pooled over the samples, τ² = Σ_i Σ_r (x_ir − x̄_i)² / ν
    with ν = Σ_i (r_i − 1), which is unbiased. A model is trained on means of r readings
    and meets single ones: that displacement has 1 + 1/r times this variance.

    Parameters
    ----------
    replicates : array of shape (n_samples, r, n_features) or list of arrays (r_i, d)
        Readings of each sample; some were read twice or more.
    confidence : float, default=0.95
        As in `radius_from_std`, which radii cover margins by.

    Returns
    -------
    scales : array of shape (n_features,)
        For `noise=`.
    radii : array of shape (n_samples,)
        In units of the scales.
    """
    groups = [np.asarray(group, dtype=np.float64) for group in replicates]
    counts = np.array([len(group) for group in groups])
    squares = sum(((group - group.mean(axis=0)) ** 2).sum(axis=0) for group in groups)
    scales = np.sqrt(squares / (counts - 1).sum())
    radius = radius_from_std(1.0, len(scales), confidence=confidence)
    return scales, radius * np.sqrt(1 + 1 / counts)
