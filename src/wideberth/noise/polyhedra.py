"""Polyhedra of noise: boxes and cross-polytopes, with one scale per feature or alike.

They are the shapes of data sheets and of tolerances, and they select features: where
the noise of a feature outweighs what it tells, its weight is 0 to the last digit.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import scipy.sparse as sp

from wideberth.noise.shape import ROUNDING, Scaled
from wideberth.problem.validation import labelled_rows


class _Polyhedron(Scaled):
    """The unit ball of the 1- or ∞-norm, its features multiplied by scales."""

    #: What users call one of the scales.
    called = "scale"

    def __init__(self, scales):
        self.feature_names, self.scales = labelled_rows(scales)
        self._check_scales(self.called)

    @abstractmethod
    def with_scales(self, scales: np.ndarray) -> _Polyhedron:
        """The shape of this kind with one scale per feature."""

    def reordered(self, order: np.ndarray):
        """The same noise with its features in another order, and without names."""
        return self if self.alike else self.with_scales(self.scales[order])

    def restricted(self, columns):
        return self.reordered(columns)

    def divided(self, factor):
        return self if self.alike else self.with_scales(self.scales / factor)

    def carried(self, A):
        """The shape behind x ↦ Ax, which may scale features, not mix or copy them."""
        A = sp.csr_array(A)
        A.eliminate_zeros()
        sizes = abs(A)
        rounding = ROUNDING * sizes.max() if A.nnz else 0.0
        used = sizes > rounding
        if np.any(used.sum(axis=1) > 1) or np.any(used.sum(axis=0) > 1):
            raise ValueError(
                f"noise={self.name!r} in raw units is no longer of that shape behind "
                "these steps, which mix or copy features; steps that scale, pick or "
                "order them keep it. Give one noise scale per feature instead (an "
                "ellipsoid), or use a plain Pipeline with noise in transformed units."
            )
        # At most one entry in a row, but for rounding, which is added to be safe.
        scales = sizes @ np.broadcast_to(self.scales, (A.shape[1],))
        same = self.alike and np.all(np.abs(scales - 1) <= ROUNDING)
        return self if same else self.with_scales(scales)

    def as_parameter(self):
        return self.name if self.alike else self

    def __repr__(self):
        return f"{type(self).__name__}({'' if self.alike else repr(self.scales)})"


class Box(_Polyhedron):
    """Box: feature j off by up to ρτ_j, whatever the others; Ω(w) = Σ τ_j|w_j|.

    What data sheets state as tolerances. The more of them there are to pay for, the
    fewer features keep a weight.

    Parameters
    ----------
    tolerances : array or Series of shape (d,)
        τ_j ≥ 0; a feature of tolerance 0 is exact. A Series is aligned with the
        columns of X by name.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import Box, solve
    >>> X = np.array([[2.0, 0.1], [1.5, -0.1], [-2.0, 0.1], [-1.5, -0.1]])
    >>> solution = solve(X, [1, 1, 0, 0], radius=1.0, noise=Box([0.1, 0.5]))
    >>> np.flatnonzero(solution.w)
    array([0])
    """

    name, order, dual_order = "box", np.inf, 1.0
    called, separable = "tolerance", True

    def __init__(self, tolerances):
        super().__init__(tolerances)

    def with_scales(self, scales):
        return Box(scales)

    def support(self, w):
        return float(np.sum(self.scales * np.abs(w)))

    def maximizer(self, w):
        return self.scales * np.sign(w)

    def prox(self, d, s):
        return np.sign(d) * np.maximum(np.abs(d) - s * self.scales, 0.0)

    def left_out(self, w):
        return (w == 0) & (self.scales > 0)

    def dual_norm(self, d):
        return float(self._in_scales(np.abs(d)).max(initial=0.0))

    def lipschitz(self, n_features):
        return float(np.linalg.norm(np.broadcast_to(self.scales, (n_features,))))

    def inscribed(self, n_features):
        return float(self.scales.min(initial=np.inf)) if n_features else np.inf

    def conic(self, cp, w):
        return cp.norm1(cp.multiply(np.broadcast_to(self.scales, w.shape), w))


class CrossPolytope(_Polyhedron):
    """Cross-polytope: errors whose Σ|δ_j|/τ_j is at most ρ; Ω(w) = max τ_j|w_j|.

    A budget of error that may fall on one feature or be shared out.

    Parameters
    ----------
    scales : array or Series of shape (d,)
        τ_j ≥ 0, how far a feature is off that takes the whole budget of 1; 0 where it
        is exact. A Series is aligned with the columns of X by name.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import CrossPolytope
    >>> CrossPolytope([1.0, 2.0]).support(np.array([3.0, 1.0]))
    3.0
    """

    name, order, dual_order = "cross-polytope", 1.0, np.inf

    def with_scales(self, scales):
        return CrossPolytope(scales)

    def support(self, w):
        return float((self.scales * np.abs(w)).max(initial=0.0))

    def maximizer(self, w):
        delta, sizes = np.zeros_like(w), self.scales * np.abs(w)
        if w.size:
            j = np.argmax(sizes)
            delta[j] = np.sign(w[j]) * np.broadcast_to(self.scales, w.shape)[j]
        return delta

    def prox(self, d, s):
        """Clip sizes at θ/τ_j, with θ so that ``Σ(|d_j| − θ/τ_j)_+ / τ_j`` is s."""
        if s <= 0:
            return np.array(d, dtype=np.float64)
        scales = np.broadcast_to(self.scales, d.shape)
        noisy = scales > 0
        sizes, tau = np.abs(d[noisy]), scales[noisy]
        limits = np.full(d.shape, np.inf)
        if np.sum(sizes / tau) <= s:
            limits[noisy] = 0.0
        else:
            descending = np.argsort(-(tau * sizes))
            sizes, tau_sorted = sizes[descending], tau[descending]
            levels = np.cumsum(sizes / tau_sorted) - s
            levels /= np.cumsum(tau_sorted**-2.0)
            clipped = np.flatnonzero(tau_sorted * sizes >= levels)
            theta = levels[clipped.max(initial=0)]  # the first is, but for rounding
            limits[noisy] = theta / tau
        return np.clip(d, -limits, limits)

    def dual_norm(self, d):
        return float(np.sum(self._in_scales(np.abs(d))))

    def lipschitz(self, n_features):
        return float(np.max(self.scales, initial=0.0)) if n_features else 0.0

    def inscribed(self, n_features):
        scales = np.broadcast_to(self.scales, (n_features,))
        if not scales.all():
            return 0.0
        return float(1 / np.linalg.norm(1 / scales)) if n_features else np.inf

    def conic(self, cp, w):
        return cp.norm_inf(cp.multiply(np.broadcast_to(self.scales, w.shape), w))


class Linf(Box):
    """Box of one tolerance: every feature off by up to ρ; Ω(w) = ‖w‖₁."""

    name, default_radius, alike = "linf", 0.0, True

    def __init__(self):
        super().__init__(1.0)


class L1(CrossPolytope):
    """Cross-polytope: absolute errors summing to at most ρ; Ω(w) = ‖w‖∞."""

    name, default_radius, alike = "l1", 0.0, True

    def __init__(self):
        super().__init__(1.0)
