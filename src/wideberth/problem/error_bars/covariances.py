"""A covariance for every sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wideberth.problem.error_bars.sets import (
    Factors,
    SmoothBars,
    smooth_tangents,
    squares,
)
from wideberth.problem.error_bars.sums import ratio
from wideberth.problem.layouts import as_rows
from wideberth.problem.limits import EPS
from wideberth.problem.rows import Passes, gamma


@dataclass(frozen=True)
class Covariances(SmoothBars):
    """A positive semidefinite matrix for every sample.

    The sets are U_i = {F_iq : ‖q‖ ≤ 1} with S_i = F_iF_iᵀ up to rounding: r_i = ‖F_iᵀw‖
    keeps its digits where w is next to the null space of S_i, and √(wᵀS_iw) would not.
    What is proven is proven of these sets. The F_i come of correlations, so that units
    of the features do not matter: (F_iF_iᵀ)_jk is S_jk within rounding of √(S_jjS_kk).
    """

    matrices: np.ndarray  # S_i, (n, d, d)
    roots: np.ndarray  # F_i, likewise
    passes: Passes | None = None
    name = "covariance"

    @classmethod
    def of(cls, matrices: np.ndarray, passes: Passes | None = None) -> Covariances:
        """From symmetric matrices.

        Eigenvalues of their correlations that are within rounding of 0 count as 0.
        """
        scales = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
        inverse = ratio(1.0, scales)
        values, vectors = np.linalg.eigh(
            inverse[:, :, None] * matrices * inverse[:, None, :]
        )
        least = matrices.shape[1] * EPS * values[:, -1:]
        roots = np.sqrt(np.where(values > least, values, 0.0))
        roots = scales[:, :, None] * vectors * roots[:, None, :]
        return cls(matrices, roots, passes)

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

    def support_errors(self, w):
        return self._off(w, self._widths)

    def _off(self, w, widths):
        return gamma(2 * self.d + 16) * float(np.linalg.norm(w)) * widths

    def lipschitz(self):
        return self._widths

    @cached_property
    def _widths(self) -> np.ndarray:
        return np.sqrt(np.square(self.roots).sum(axis=(1, 2)))

    def pull(self, a, w, sizes):
        parts = ratio(a, sizes)[:, None] * self._parts(w)
        return np.einsum("ijk,ik->j", self.roots, parts)

    @property
    def pull_rounding(self):
        return gamma(self.n + 4 * self.d + 16)

    def gradients(self, w, sizes, rows=slice(None)):
        roots = self.roots[rows]
        return _lifted(roots, (w @ roots) * ratio(1.0, sizes)[:, None])

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
        return type(self)(self.matrices[J], self.roots[J], self.passes)

    def scaled(self, factor):
        square = factor * factor
        return type(self)(self.matrices * square, self.roots * factor, self.passes)

    def carried(self, linear):
        A = linear.toarray()
        return type(self).of(A @ self.matrices @ A.T)

    def joined(self, other):
        matrices = np.concatenate((self.matrices, other.matrices))
        roots = np.concatenate((self.roots, other.roots))
        return type(self)(matrices, roots, self.passes)

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

    def gram(self, a):
        scaled = self.factors * np.sqrt(a)[:, None, None]
        return np.einsum("ijk,ilk->jl", scaled, scaled, optimize=True)


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(squares(rows))


def _lifted(roots: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """F_ip_i, one in a row."""
    return np.matmul(roots, parts[:, :, None])[:, :, 0]
