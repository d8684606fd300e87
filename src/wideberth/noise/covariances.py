"""A covariance for every sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from wideberth.noise.covariance import product_residual
from wideberth.noise.error_bars import (
    Factors,
    SmoothBars,
    keeps_apart,
    smooth_tangents,
    squares,
)
from wideberth.noise.sums import ratio
from wideberth.problem.limits import CACHED_ENTRIES, EPS
from wideberth.problem.rows import Passes, as_rows, gamma


@dataclass(frozen=True)
class Covariances(SmoothBars):
    """A positive semidefinite matrix for every sample.

    The support function is κ_i(w) = √(wᵀS_iw). Computed is r_i(w) = ‖F_iᵀw‖ of a
    factor, S_i ≈ F_iF_iᵀ, which keeps its digits where w is next to the null space of
    S_i. How far apart they are is known, for scales t_ij ≥ √S_ijj of the features:

        |κ_i(w)² − r_i(w)²| ≤ ε_i‖t_i∘w‖²,  so  |κ_i(w) − r_i(w)| ≤ min(√ε_i‖t_i∘w‖,
        ε_i‖t_i∘w‖²/r_i(w)) ,

    and certificates count it (theory §8.3). The F_i come of correlations, so that units
    of the features do not matter.
    """

    matrices: np.ndarray  # S_i, (n, d, d)
    roots: np.ndarray  # F_i, likewise
    scales: np.ndarray  # t_i, (n, d)
    residuals: np.ndarray  # ε_i, (n,)
    #: Numbers with r_i(w)² ≥ least_i‖t_i∘w‖², 0 where S_i may be singular, (n,).
    least: np.ndarray
    passes: Passes | None = None
    name = "covariance"

    @classmethod
    def of(
        cls, matrices: np.ndarray, passes: Passes | None = None, rounded: int = 2
    ) -> Covariances:
        """From symmetric matrices, entries of which are off by γ_`rounded`√(S_jjS_kk).

        Eigenvalues of their correlations that are within rounding of 0 count as 0 in
        F_i, and in ε_i as what they are. Where S_i has negative ones beyond that, no
        set belongs to it, and the sample's is by definition that of F_i.
        """
        n, d = matrices.shape[:2]
        scales = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
        roots, residuals, least = np.empty_like(matrices), np.empty(n), np.empty(n)
        size = max(CACHED_ENTRIES // max(d * d, 1), 1)
        for rows in (slice(k, k + size) for k in range(0, n, size)):
            found = _factored(matrices[rows], scales[rows])
            roots[rows], residuals[rows], least[rows] = found
        return cls(
            matrices, roots, scales, residuals + gamma(rounded) * d, least, passes
        )

    @classmethod
    def of_factors(cls, roots: np.ndarray) -> Covariances:
        """The sets of factors F_i as given."""
        scales, none = np.sqrt(np.square(roots).sum(axis=2)), np.zeros(len(roots))
        return cls(roots @ roots.transpose(0, 2, 1), roots, scales, none, none)

    def conic(self, cp, w):
        return cp.hstack([cp.norm(root.T @ w) for root in self.roots])

    def tangents(self, z, radii, w, rows):
        roots, reach = self.roots[rows], self._widths[rows]
        parts = w @ roots
        off = self._off(w, reach)
        return smooth_tangents(
            z, radii, _lifted(roots, parts), _norms(parts), reach, off
        )

    @property
    def n(self) -> int:
        """Samples."""
        return self.matrices.shape[0]

    @property
    def d(self) -> int:
        """Features."""
        return self.matrices.shape[1]

    def _parts(self, w):
        """F_iᵀw of every sample, one in a row."""
        self.visited()
        return w @ self.roots

    def supports(self, w):
        return _norms(self._parts(w))

    def size_errors(self, w):
        return self._off(w, self._widths)

    def support_errors(self, w):
        return self.size_errors(w) + self.open_errors(w, 0.0)

    def open_errors(self, w, radius):
        if not self.residuals.any():
            return np.zeros(self.n)
        length, up = float(np.linalg.norm(w)), 1 + gamma(2 * self.d + 16)
        sizes = self.supports(w) - self.size_errors(w) - self._widths * radius
        sides = np.linalg.norm(self.scales * w, axis=1) + self._largest_scales * radius
        most = np.sqrt(self.residuals) * sides * up
        share = np.divide(most, sizes, out=np.ones(self.n), where=sizes > most)
        return np.minimum(most * share, self.axes_errors() * (length + radius)) * up

    def _off(self, w, widths):
        return gamma(2 * self.d + 16) * float(np.linalg.norm(w)) * widths

    def axes_errors(self):
        relative = np.sqrt(self.residuals)
        ratios = np.sqrt(ratio(self.residuals, self.least))
        relative *= np.where(self.least > 0, np.minimum(ratios, 1.0), 1.0)
        return relative * self._largest_scales * (1 + gamma(64))

    @cached_property
    def _largest_scales(self) -> np.ndarray:
        return self.scales.max(axis=1, initial=0.0)

    def lipschitz(self, n_features):
        return self._widths + self.axes_errors()

    @cached_property
    def _widths(self) -> np.ndarray:
        return np.sqrt(np.square(self.roots).sum(axis=(1, 2)))

    def pull(self, a, w, sizes):
        parts = ratio(a, sizes)[:, None] * self._parts(w)
        return np.einsum("ijk,ik->j", self.roots, parts)

    @property
    def pull_rounding(self):
        return gamma(self.n + 4 * self.d + 16)

    def images(self, w):
        return _lifted(self.roots, self._parts(w))

    def along(self, w, u, sizes):
        return np.einsum("ij,j->i", self.images(w), u) * ratio(1.0, sizes)

    def factors(self, used):
        return _Matrices(self.roots * used[:, None, None])

    def pressure(self, a, sizes):
        weights = ratio(a, sizes)
        flat = self.matrices.reshape(self.n, self.d * self.d)
        return (weights @ flat).reshape(self.d, self.d)

    def curvature(self, a, w, sizes):
        images = self.images(w)
        images *= np.sqrt(ratio(a, sizes * sizes * sizes))[:, None]
        return self.pressure(a, sizes) - images.T @ images

    def count_with(self, passes):
        object.__setattr__(self, "passes", passes)

    def visited(self):
        if self.passes is not None:
            self.passes.add(self.n)

    def tables(self):
        flat = (part.reshape(self.n, -1) for part in (self.matrices, self.roots))
        return [as_rows(part, np.ones(self.n)) for part in flat]

    def take(self, J):
        return replace(self, **{name: part[J] for name, part in self._arrays.items()})

    @property
    def _arrays(self) -> dict[str, np.ndarray]:
        names = "matrices", "roots", "scales", "residuals", "least"
        return {name: getattr(self, name) for name in names}

    def scaled(self, factor):
        return replace(
            self,
            matrices=self.matrices * factor * factor,  # whose square may overflow
            roots=self.roots * factor,
            scales=self.scales * factor,
        )

    def carried(self, linear):
        """From AF_i, so that no digit is lost that F_i has.

        Behind A the scales are t'_j = Σ_k|A_jk|t_ik, or more. AF_i and its products are
        off by roundings of these, and ‖t_i∘Aᵀw‖ ≤ √d‖t'∘w‖.
        """
        A = linear.toarray()
        found = type(self).of(Covariances.of_factors(A @ self.roots).matrices)
        scales = np.maximum(self.scales @ np.abs(A).T, found.scales)
        outputs = 1 if keeps_apart(linear) else len(A)
        grown = scales * ratio(1.0, found.scales)
        return replace(
            found,
            scales=scales * (1 + gamma(self.d + 8)),
            residuals=found.residuals
            + gamma(2 * self.d + 16) * len(A)
            + outputs * self.residuals,
            least=found.least * ratio(1.0, np.square(grown).max(axis=1, initial=1.0)),
        )

    def joined(self, other):
        pairs = zip(self._arrays.items(), other._arrays.values(), strict=True)
        parts = {name: np.concatenate((own, more)) for (name, own), more in pairs}
        return replace(self, passes=self.passes, **parts)

    @property
    def largest(self):
        diagonals = np.diagonal(self.matrices, axis1=1, axis2=2)
        return float(np.sqrt(diagonals.max(initial=0.0)))


class Posteriors(Covariances):
    """What is left open about true features, as `TrueFeatures` hands it on.

    The posterior means allow for the errors already, so that no radius is needed.
    """

    default_radius = 0.0


@dataclass(frozen=True)
class _Matrices(Factors):
    """Any F_i."""

    factors: np.ndarray

    def images(self, w):
        return w @ self.factors

    def lifted(self, parts):
        return _lifted(self.factors, parts)


def _factored(
    matrices: np.ndarray, scales: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F_i, ε_i and what r_i(w)² is at least, per ‖t_i∘w‖².

    In units of powers of two, in which all variances are about 1 and no digit changes.
    """
    n, d = scales.shape
    exponents = np.frexp(scales)[1]
    units = np.where(scales > 0, np.ldexp(1.0, exponents), 0.0)
    inverse = np.where(scales > 0, np.ldexp(1.0, -exponents), 0.0)
    plain = inverse[:, :, None] * matrices * inverse[:, None, :]
    values, vectors = np.linalg.eigh(plain)
    least = d * EPS * np.maximum(values[:, -1:], 0.0)
    lengths = np.sqrt(np.where(values > least, values, 0.0))
    roots = vectors * lengths[:, None, :]
    rest, error = product_residual(plain, roots)
    beyond = np.where(values < -least, values, 0.0)
    if beyond.any():
        rest -= (vectors * beyond[:, None, :]) @ vectors.transpose(0, 2, 1)
        error = error + gamma(d + 4) * np.abs(beyond).sum(axis=1)
    shares = units * ratio(1.0, scales)  # from 1 to 2
    rest *= shares[:, :, None] * shares[:, None, :]
    residuals = np.linalg.norm(rest, axis=(1, 2)) + 4 * error
    # Eigenvalues of features that do not vary are 0, and come first.
    first = np.minimum((scales == 0).sum(axis=1), d - 1)
    smallest = values[np.arange(n), first]
    whole = (smallest > least[:, 0]) & (values[:, 0] >= -least[:, 0])
    smallest = np.where(whole, 0.5 * smallest, 0.0)  # half is more than eigh's rounding
    return units[:, :, None] * roots, residuals * (1 + gamma(64)), smallest


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(squares(rows))


def _lifted(roots: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """F_ip_i, one in a row."""
    return np.matmul(roots, parts[:, :, None])[:, :, 0]
