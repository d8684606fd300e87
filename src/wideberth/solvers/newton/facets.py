"""Cones of polyhedral noise in the interior-point method: linear inequalities.

The constraint t ≥ Ω(w) of `interior.py` is, with one scale τ_j per feature,

* under boxes t = Στ_ju_j with u_j + w_j ≥ 0 and u_j − w_j ≥ 0;
* under cross-polytopes t + τ_jw_j ≥ 0 and t − τ_jw_j ≥ 0.

A pair of inequalities k_j ≥ 0 has multipliers h_j ≥ 0, and k·h → μ. All that belongs to
a feature alone is eliminated: the u_j and their equations h⁺_j + h⁻_j = στ_j, which
leave a diagonal and a matrix of rank one in (w,t). So Newton's matrix is as large as
under ellipsoids, and costs the same.

With D = h/k, S = D⁺ + D⁻, M = D⁺ − D⁻ and dh = a − D dk, for boxes

    du = (a⁺ + a⁻ − M dw − τ dσ)/S,     dσ = (Στ(a⁺+a⁻)/S − ⟨m,dw⟩ − dt)/V,
    m = τM/S,  V = Στ²/S,   curvature diag(4D⁺D⁻/S) + (m,1)(m,1)ᵀ/V .
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from wideberth.problem.limits import EPS, TINY
from wideberth.solvers.newton.algebra import Cone
from wideberth.solvers.newton.settings import SETTINGS


class Facets(ABC):
    """Pairs of inequalities with multipliers; k and h have a row for each sign."""

    k: np.ndarray
    h: np.ndarray

    def __init__(self, method):
        self._adopt(method)
        least = EPS * float(method.xp.sum(method.c))
        self._start(method.x, max(-float(method.combined[self.d]), least, TINY))
        self.weight = self.k * self.h / method.mu  # of each product in μ

    def _adopt(self, method) -> None:
        self.d, self.size = method.problem.rows.d, method.x.size
        scales = np.broadcast_to(method.problem.noise.shape.scales, (self.d,))
        self.noisy = np.flatnonzero(scales > 0)
        self.scales = scales[self.noisy].astype(np.float64)

    @abstractmethod
    def _start(self, x: np.ndarray, s: float) -> None:
        """Set k at x, and an h whose products with it are about even."""

    def scale(self, x: np.ndarray) -> None:
        """Compute the curvatures at the current point."""
        self.ratio = self.h / self.k  # D
        self.sum, self.difference = (
            self.ratio[0] + self.ratio[1],
            self.ratio[0] - self.ratio[1],
        )

    def corrected(self, mu: float) -> np.ndarray:
        """The a of dh = a − D dk for k·h → weight·μ, the predictor's error allowed for.

        (That of a predictor, which aims at 0, is −h.)
        """
        return (self.weight * mu - self.dk * self.dh) / self.k - self.h

    @abstractmethod
    def right_side(self, a: np.ndarray) -> np.ndarray:
        """The inequalities' part of the right-hand side (0 in a predictor)."""

    def thin(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The curvature as a diagonal of the features and a row (w,t) more, or None."""
        return None

    @abstractmethod
    def add_curvature(self, matrix: np.ndarray) -> None:
        """Add what the inequalities bend by to Newton's matrix, in place."""

    @abstractmethod
    def _moves(self, dx: np.ndarray, a: np.ndarray) -> np.ndarray:
        """dk that goes with dx."""

    @abstractmethod
    def _adjoint(self, h: np.ndarray) -> np.ndarray:
        """What multipliers h add to Qx = Σα_ie_i, in the order of x."""

    def move(self, dx: np.ndarray, corrected: np.ndarray | None) -> None:
        """Note the moves that go with dx."""
        a = -self.h if corrected is None else corrected
        self.dk = self._moves(dx, a)
        self.dh = a - self.ratio * self.dk

    def longest(self) -> float:
        """Largest step that keeps k and h positive."""
        rates = (self.dk / self.k).min(initial=0.0), (self.dh / self.h).min(initial=0.0)
        fastest = -min(float(rates[0]), float(rates[1]))
        return 1 / fastest if fastest > 0 else np.inf

    def advance(self, t: float) -> np.ndarray:
        """Move k and h by t; returns what the multipliers after a whole step add."""
        full = self._adjoint(self.h + self.dh)
        self.k = np.maximum(self.k + t * self.dk, TINY)
        self.h = np.maximum(self.h + t * self.dh, TINY)
        return full

    def _diagonal(self, matrix: np.ndarray) -> np.ndarray:
        """The diagonal of the features in a matrix, to write into."""
        return matrix.reshape(-1)[: self.d * matrix.shape[0] : matrix.shape[0] + 1]


class SumFacets(Facets):
    """Boxes: Ω(w) = Στ_j|w_j|."""

    def _start(self, x, s):
        w = x[self.noisy]
        excess = float(x[self.d]) - float(self.scales @ np.abs(w))
        room = max(excess, TINY) / (max(w.size, 1) * self.scales)
        self.k = np.stack([np.maximum(w, 0), np.maximum(-w, 0)]) * 2 + room
        # h⁺ + h⁻ = sτ, and the products of both are the same.
        self.h = s * self.scales * self.k[::-1] / (self.k[0] + self.k[1])

    def widen(self, method, places: np.ndarray) -> None:
        """Take in more features, all with w_j = 0: t grows by the room they get.

        Their products are as large as the mean of those before, and h opposes d_j as
        far as it may.
        """
        before = places[self.noisy]
        product = float((self.weight * method.mu).mean())
        force = float(self._adjoint(self.h)[self.d])
        old = np.stack([self.k, self.h, self.weight])
        self._adopt(method)
        kept = np.isin(self.noisy, before)
        limit = force * self.scales
        share = 0.5 + 0.5 * method.combined[self.noisy] / np.maximum(limit, TINY)
        share = np.clip(share, SETTINGS.start_inside, 1 - SETTINGS.start_inside)
        self.h = limit * np.stack([1 - share, share])
        room = 2 * product / np.maximum(limit, TINY)
        self.k = np.stack([room, room])
        self.weight = self.k * self.h / method.mu
        new = ~kept
        self.k[:, kept], self.h[:, kept], self.weight[:, kept] = old
        method.x[self.d] += float(self.scales[new] @ room[new])

    def scale(self, x):
        super().scale(x)
        self.slope = self.scales * self.difference / self.sum  # m
        self.spread = max(float(self.scales @ (self.scales / self.sum)), TINY)  # V

    def _adjoint(self, h):
        out = np.zeros(self.size)
        out[self.noisy] = h[0] - h[1]
        total = h[0] + h[1]
        out[self.d] = float(total.sum()) / max(float(self.scales.sum()), TINY)
        return out

    def right_side(self, a):
        total = a[0] + a[1]
        out = self._adjoint(self.h)
        lead = float(self.scales @ (total / self.sum)) / self.spread
        out[self.noisy] += a[0] - a[1] - self.difference * total / self.sum
        out[self.noisy] += lead * self.slope
        out[self.d] += lead
        return out

    def thin(self):
        bend, lead = np.zeros(self.d), np.zeros(self.d + 1)
        bend[self.noisy] = 4 * self.ratio[0] * (self.ratio[1] / self.sum)
        lead[self.noisy], lead[self.d] = self.slope, 1.0
        return bend, lead / self.spread**0.5

    def add_curvature(self, matrix):
        bend, lead = self.thin()
        matrix[: self.d + 1, : self.d + 1] += np.multiply.outer(lead, lead)
        self._diagonal(matrix)[...] += bend

    def _moves(self, dx, a):
        dw, total = dx[self.noisy], a[0] + a[1]
        rise = float(self.scales @ (total / self.sum)) - float(self.slope @ dw)
        force = (rise - float(dx[self.d])) / self.spread  # dσ
        rest = total - self.scales * force
        # du ± dw, without the cancellation of the two.
        up = (rest + 2 * self.ratio[1] * dw) / self.sum
        down = (rest - 2 * self.ratio[0] * dw) / self.sum
        return np.stack([up, down])


class MaxFacets(Facets):
    """Cross-polytopes: Ω(w) = max τ_j|w_j|."""

    def _start(self, x, s):
        image = self.scales * x[self.noisy]
        t = max(float(x[self.d]), TINY)
        self.k = np.maximum(np.stack([t + image, t - image]), TINY)
        self.h = s / self.k / max(float((1 / self.k).sum()), TINY)

    def _adjoint(self, h):
        out = np.zeros(self.size)
        out[self.noisy], out[self.d] = self.scales * (h[0] - h[1]), float(h.sum())
        return out

    def right_side(self, a):
        return self._adjoint(self.h + a)

    def add_curvature(self, matrix):
        d, cross = self.d, self.scales * self.difference
        self._diagonal(matrix)[self.noisy] += self.scales**2 * self.sum
        matrix[self.noisy, d] += cross
        matrix[d, self.noisy] += cross
        matrix[d, d] += float(self.sum.sum())

    def _moves(self, dx, a):
        image = self.scales * dx[self.noisy]
        return np.stack([dx[self.d] + image, dx[self.d] - image])


#: The cone of t ≥ ‖τ∘w‖_q, by q.
CONES: dict[float, type[Cone] | type[Facets]] = {
    1.0: SumFacets,
    2.0: Cone,
    np.inf: MaxFacets,
}
