"""Covariances as factors and axes, with proven bounds on what rounding does to them.

A covariance Σ is read as a factor F, Σ ≈ FFᵀ, so that Ω(w) = √(wᵀΣw) ≈ ‖Fᵀw‖: the
square of a small number is never formed, and rounding F by a share ε of itself changes
Ω(w) by at most ε‖F‖‖w‖, also where Ω(w) is 0. (Rounding Σ so changes it by √ε‖F‖‖w‖.)

`factor_of` finds F. Features are first measured in units (powers of two) in which all
variances are about 1. *Rank rule*: eigenvalues of that matrix at or below 4·d·ε times
the largest, ε = 2⁻⁵², count as none. What eigh leaves is then mended: with B the factor
found, R the matrix, E = R − BBᵀ computed to twice the usual digits, and any δ,

    R = (B+δ)(B+δ)ᵀ − δδᵀ + N,   N = E − Bδᵀ − δBᵀ,
    |√(uᵀRu) − ‖Bᵀu‖| ≤ (2‖δ‖ + √‖N‖) ‖u‖ ,

and the δ chosen leaves of E in N what lies off the range of B.

`principal_axes` turns F into axes Q and scales τ, F ≈ Q diag(τ) Pᵀ. Let Q₀ be the
orthogonal matrix nearest to Q. Rows turned by Q are near Q₀ᵀx, weights turned back near
Q₀v, and ‖τ∘v‖ is near Ω(Q₀v): it returns bounds on both errors, which enter every
certificate.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem.limits import EPS, MOST_STEPS
from wideberth.problem.rows import gamma
from wideberth.problem.validation import (
    feature_names,
    float_array,
    labels_of,
    listed,
    matched,
)

#: Largest eigenvalue that counts as none, in d·ε times the largest one: a choice,
#: several times what eigh leaves where there should be 0.
_RANK = 4.0
#: Largest departure of a matrix from a covariance, as a share of its largest entry or
#: eigenvalue: a choice, by which one that was printed with eight digits is still one.
INPUT_ROUNDING = 1e-8


def labelled_covariance(values) -> tuple[list | None, np.ndarray]:
    """Names and numbers of a covariance, in one order of rows and columns.

    A frame without an index has its rows in the order of its columns.
    """
    matrix, names = float_array(values, "noise"), feature_names(values)
    rows = labels_of(getattr(values, "index", None))
    if rows is None or names is None:
        return names or rows, matrix
    if sorted(map(str, rows)) != sorted(map(str, names)):
        raise ValueError(
            f"noise is a frame whose rows ({listed(rows)}) and columns "
            f"({listed(names)}) have other names; a covariance has the same for both."
        )
    return names, matrix[matched(rows, names)]


def check_covariance(noise: np.ndarray) -> np.ndarray:
    """A finite, square matrix, symmetric up to rounding, made symmetric."""
    square = noise.ndim == 2 and noise.shape[0] == noise.shape[1]
    if not square or not np.isfinite(noise).all():
        raise ValueError(
            f"noise has shape {noise.shape}; as a matrix it must be a finite "
            "covariance, one row and one column per feature."
        )
    largest = float(np.abs(noise).max(initial=0.0))
    if not np.abs(noise - noise.T).max(initial=0.0) <= INPUT_ROUNDING * largest:
        raise ValueError("noise is not symmetric; as a matrix it must be a covariance.")
    return 0.5 * noise + 0.5 * noise.T


def factor_of(covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """F with Σ ≈ FFᵀ, and a bound on |√(wᵀΣw) − ‖Fᵀw‖| ÷ ‖w‖.

    Negative eigenvalues that rounding does not explain are left out; the noise is then
    that of F, exactly.
    """
    d = len(covariance)
    units = _feature_units(covariance)
    matrix = covariance / units[:, None] / units
    values, vectors = np.linalg.eigh(matrix)
    largest = max(float(values[-1]), 0.0)
    if not values[0] >= -INPUT_ROUNDING * largest:
        raise ValueError(
            f"noise has the negative eigenvalue {values[0]:.3g} beside "
            f"{values[-1]:.3g}, with features scaled to a variance of about 1; as a "
            "matrix it must be a covariance, positive semidefinite. If rounding made "
            "it so, give a factor of it (wideberth.Correlated.from_factor)."
        )
    kept = values > _RANK * d * EPS * largest
    factor, error = _mended(matrix, np.where(kept, values, 0.0), vectors)
    if values[0] < -_RANK * d * EPS * largest:
        error = 0.0
    return units[:, None] * factor, error * float(units.max(initial=0.0))


def _feature_units(covariance: np.ndarray) -> np.ndarray:
    """Powers of two near the standard deviations; one for all where those mislead.

    They mislead where some |Σ_ij| > √(Σ_ii Σ_jj), as in no covariance.
    """
    deviations = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    allowed = (1 + INPUT_ROUNDING) * np.outer(deviations, deviations)
    exponents = np.frexp(deviations)[1]
    largest = np.frexp(np.sqrt(np.abs(covariance).max(initial=0.0)))[1]
    if not np.all(np.abs(covariance) <= allowed):
        return np.full(len(covariance), np.ldexp(1.0, largest))
    return np.ldexp(1.0, np.where(deviations > 0, exponents, largest))


def _mended(matrix, values, vectors) -> tuple[np.ndarray, float]:
    """B of eigh, without eigh's errors, and the bound of the module's first formula.

    In the basis of the eigenvectors, Bδᵀ + δBᵀ = E has the smallest solution
    δ_ij = E_ij √λ_j/(λ_i+λ_j), but for E between directions without noise.
    """
    basis, lengths = vectors[:, values > 0], np.sqrt(values[values > 0])
    gains = lengths / (values[:, None] + lengths**2)
    factor = basis * lengths
    best, bound = factor, np.inf
    for _ in range(MOST_STEPS):  # each squares the error: three reach the end
        residual, rest = product_residual(matrix, factor)
        step = vectors @ (gains * (vectors.T @ residual @ basis))
        size, moved = _norm(factor), _norm(step)
        left = residual - factor @ step.T - step @ factor.T
        width = 2 * factor.shape[1] + 4
        rest += gamma(width) * (_norm(residual) + 2 * size * moved)
        error = float(2 * moved + np.sqrt(_spectral_bound(left) + rest))
        if not error < bound:
            break
        best, bound = factor, error
        if moved <= _RANK * EPS * size:
            break
        factor = factor + step
    return best, bound


def product_residual(matrix: np.ndarray, factor: np.ndarray) -> tuple:
    """R − BBᵀ to about twice the usual digits, and a bound on its error (Frobenius).

    Or of many matrices, along the first axis.
    B is cut into slices so short that sums of k products of them are exact in float64,
    whatever their order, and what is left over is too small for its rounding to matter.
    """
    k = factor.shape[-1]
    bits = (53 - int(np.ceil(np.log2(max(k, 1))))) // 2 - 1
    slices, rest = [], factor
    unit = float(np.ldexp(1.0, np.frexp(np.abs(factor).max(initial=0.0))[1]))
    for number in (1, 2, 3):
        step = unit * 2.0 ** (-bits * number)
        slices.append(np.round(rest / step) * step)
        rest = rest - slices[-1]
    total, low = matrix.copy(), np.zeros_like(matrix)
    spread = np.zeros_like(matrix)
    for i, left in enumerate(slices):
        for j, right in enumerate(slices[: i + 1]):
            product = left @ _transposed(right)
            for term in (product,) if i == j else (product, _transposed(product)):
                total, error = _two_sum(total, -term)
                low += error
                spread += np.abs(error)
    kept = factor - rest
    low -= kept @ _transposed(rest) + rest @ _transposed(factor)
    result = total + low
    bound = gamma(1) * _norm(result) + gamma(12) * _norm(spread)
    return result, bound + 2 * gamma(2 * k + 16) * _norm(factor) * _norm(rest)


def _two_sum(a, b) -> tuple[np.ndarray, np.ndarray]:
    """a + b as rounded, and what rounding took from it, exactly."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def principal_axes(
    factor: np.ndarray, error: float
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Axes Q and scales τ of Ω(w) = ‖Fᵀw‖, itself known up to `error`·‖w‖; T and H.

    Turning rows to Q and weights back changes ⟨w,x⟩ by at most T‖w‖‖x‖, and for the
    weights w that v is turned back to, |‖τ∘v‖ − Ω(w)| ≤ H‖v‖. Singular values at or
    below max(d,k)·ε times the largest count as none.
    """
    d, k = factor.shape
    if not factor.any():
        return np.eye(d), np.zeros(d), 0.0, error
    unit = float(np.ldexp(1.0, np.frexp(np.abs(factor).max())[1]))
    scaled = factor / unit
    Q, lengths, other = np.linalg.svd(scaled, full_matrices=k < d)
    lengths = np.where(lengths > max(d, k) * EPS * lengths[0], lengths, 0.0)
    scales = np.zeros(d)
    scales[: len(lengths)] = lengths
    image = np.zeros((k, d))
    image[:, : len(lengths)] = other.T[:, : len(lengths)] * lengths
    off, size = _departure(Q), _norm(scaled)
    turned = gamma(d + 2) * _norm(Q)
    support = _norm(scaled.T @ Q - image) + turned * size
    support += gamma(4) * size + float(lengths[0]) * _departure(other.T) + size * off
    once = turned + off
    support += once * (float(lengths[0]) + support)
    # Rows and the weights turned back are each off once; half as much again on top
    # leaves room for the second order, and for the rounding of these bounds.
    return Q, unit * scales, 2.5 * once, 1.25 * (unit * support + error)


def _departure(Q: np.ndarray) -> float:
    """Bound on the distance of Q from the nearest matrix with orthonormal columns."""
    residual, rest = product_residual(np.eye(Q.shape[1]), Q.T)
    return _norm(residual) + rest


def _norm(matrix: np.ndarray):
    """Frobenius norm, which bounds ‖·‖₂."""
    return np.linalg.norm(matrix, axis=(-2, -1))


def _transposed(matrix: np.ndarray) -> np.ndarray:
    return matrix.swapaxes(-1, -2)


def _spectral_bound(symmetric: np.ndarray) -> float:
    """Bound on ‖·‖₂ of a matrix that is symmetric up to rounding."""
    size = _norm(symmetric)
    values = np.linalg.eigvalsh(0.5 * (symmetric + symmetric.T))
    largest = float(np.abs(values).max(initial=0.0))
    error = gamma(8 * len(symmetric)) * size
    return min(size, largest + error)
