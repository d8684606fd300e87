"""The robust SVM on measurements with error bars: a set per sample (theory §8).

    P(w,b) = ½‖w‖² + ½λ_b b² + Σ c_i [1 − y_i(⟨w,x_i⟩+b) + κ_i(w)]_+ ,  κ_i = ρ_i r_i,

with the sets of `error_bars`. The dual has a δ_i ∈ ρ_iU_i for every sample,

    D(α,δ) = Σα_i − ½‖v‖² − …,   v = Σα_i(z_i − δ_i),

and any of them gives a valid value. Under boxes the best v is a soft threshold of
d = Σα_iz_i. Under ellipsoids and covariances it is the limit of

    w_{k+1} = (I + Σβ_iS_i)⁻¹d,   β_i = α_iρ_i/r_i(w_k),

which minimises a majorant of ½‖w−d‖² + Σα_iκ_i(w) that touches it at w_k, so that this
never rises. The dual point of a step has δ_i = ρ_iS_iw_{k+1} divided by the larger of
r_i(w_k) and r_i(w_{k+1}), which is in ρ_iU_i from wherever it started; w_{k+1} itself
need not be a v of this kind.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from wideberth.problem.arrays import fill, host, is_foreign, largest, like
from wideberth.problem.error_bars import NO_PUSHES, Boxes, ErrorBars, OwnNoise, Pushes
from wideberth.problem.layouts import as_rows
from wideberth.problem.limits import TINY
from wideberth.problem.problem import Problem
from wideberth.problem.read_errors import check_error_shape, errors_beside
from wideberth.problem.rounding import (
    NoiseSums,
    balance_rounding,
    totals_rounding,
)
from wideberth.problem.rows import gamma


def check_errors_alone(noise, error_shape) -> None:
    """Refuse a shape of noise beside error bars, and unknown shapes of theirs."""
    check_error_shape(error_shape)
    if not isinstance(noise, str) or noise != "l2":
        raise ValueError(
            "X_err says how far every cell may be off, and noise says it again for "
            "all samples alike; give one of them (leave noise='l2' beside X_err)."
        )


def with_errors(X, X_err, error_shape, noise, names=None):
    """What a problem with error bars is made of: its class and its sets."""
    check_errors_alone(noise, error_shape)
    return MeasuredProblem, errors_beside(X, X_err, error_shape, names)


def in_the_middle(X, bars: ErrorBars, radii):
    """X in the middle of sets of these radii: x_i + ρ_i(e⁺_i − e⁻_i)/2 of boxes."""
    if bars.offsets is None:
        return X
    X = X.toarray() if sp.issparse(X) else X
    return X + like(host(radii)[:, None] * bars.offsets, X)


@dataclass(frozen=True)
class MeasuredProblem(Problem):
    """A problem whose samples have sets of their own, `noise`."""

    noise: ErrorBars

    shared = False

    def __post_init__(self):
        self.noise.count_with(self.rows.passes)

    @classmethod
    def from_matrix(cls, X, y, *, noise, **options):
        """`from_data` for checked X, noise and intercept."""
        problem = super().from_matrix(X, y, noise=noise, **options)
        if noise.offsets is None:
            return problem
        return replace(problem, measured=problem.rows).with_radii(problem.radii)

    def with_radii(self, radii):
        """Return the same samples under other radii, in the middle of their sets."""
        changed = super().with_radii(radii)
        if self.measured is None:
            return changed
        X = in_the_middle(self.measured.X, self.noise, changed.radii)
        rows = as_rows(X, self.measured.y)
        rows.passes = self.rows.passes
        return replace(changed, rows=rows)

    def growing(self):
        """As a `GrowingProblem`, where sets are lopsided."""
        if self.measured is None:
            return self
        names = (field.name for field in fields(self))
        given = {name: getattr(self, name) for name in names}
        given |= {"rows": self.measured, "measured": None}
        return GrowingProblem(**given)

    @cached_property
    def sample_noise(self) -> OwnNoise:
        """How far each sample may move."""
        return OwnNoise(self.noise, self.radii)

    def tables(self):
        """The rows, and those of their sets."""
        moved = [] if self.measured is None else [self.measured]
        return [self.rows, *moved, *self.noise.tables()]

    def take(self, J, **changes):
        """The problem of the samples J."""
        return super().take(J, **{"noise": self.noise.take(J), **changes})

    def on_host(self):
        """The same with rows and errors in NumPy, wherever they live."""
        if not is_foreign(self.y):
            return self
        return replace(super().on_host(), noise=self.noise.on_host())

    def folded_noise(self, w, omega):
        """Σ c_iκ_i(w) of folded samples."""
        return 0.0 if self.folded is None else self.folded.pushes.total(w)

    def _omega(self, w):
        return 0.0  # there is no shape that all samples share

    def worst_case(self, w):
        """δ_i ∈ ρ_iU_i that hurts sample i most under w, as an n×d array."""
        w = np.asarray(w, dtype=np.float64)
        down, up = self.noise.moves(-w), self.noise.moves(w)
        return self.radii[:, None] * np.where(self.y[:, None] > 0, down, up)

    def pushes(self, alpha) -> Pushes:
        """All sets, folded ones too, with α_iρ_i."""
        own = ((self.noise, alpha * self.radii),)
        return Pushes(own if self.folded is None else own + self.folded.pushes.parts)

    @cached_property
    def largest_reach(self) -> float:
        """The largest L_i, folded samples included."""
        own = self.sample_noise.lipschitz(self.rows.d)
        return max(largest(own), self._fold("largest_radius"))

    def axes_error(self, rows=slice(None)):
        """How far ψ_i(w) may be from its value under the sets given, per ‖w‖."""
        return self.radii[rows] * self._factor_errors[rows]

    @cached_property
    def _factor_errors(self) -> np.ndarray:
        return self.noise.factor_errors() + fill(self.y, self.n, 0.0)

    def closest(self, alpha, factor, near=None):
        """w(α) under radii `factor` times as large; `near` is a guess of it."""
        pushes = self.pushes(factor * alpha)
        return self.noise.closest(pushes, self.rows.combine(alpha), near, rough=True)

    def null_bracket(self, alpha, most=np.inf):
        """Bounds on the least t ≥ 0 with Σα_iz_i ∈ tΣα_iρ_iU_i."""
        own = Pushes(((self.noise, alpha * self.radii),))
        fixed = NO_PUSHES if self.folded is None else self.folded.pushes
        return self.noise.gauge(own, self.rows.combine(alpha), most, fixed)

    def null_scale(self, alpha):
        """The largest f with fΣα_iz_i ∈ s₀U + fΣα_iρ_iU_i under boxes and s₀‖w‖₁."""
        assert self.folded is not None
        fixed, zero = self.folded.pushes, np.zeros(self.rows.d)
        own = Pushes(((self.noise, alpha * self.radii),))
        excess = np.abs(self.noise.closest(own, self.rows.combine(alpha), zero))
        return 1 / max(self.noise.gauge(fixed, excess)[1], TINY)

    def _well_inside(self, alpha, d, s, sums, d_error):
        """Whether d ∈ Σα_iρ_iU_i whatever the rounding."""
        pushes = self.pushes(alpha)
        reach = self.largest_norm + self.largest_reach
        moved = d_error + balance_rounding(self, sums) * reach
        g = totals_rounding(self) + gamma(64)
        left = 1 - 4 * g - self.noise.gauge(pushes, d, 1.0)[1]
        return moved <= left * (1 - g) * pushes.inscribed()

    def _nearest(self, alpha, d, near, total):
        pushes = self.pushes(alpha)
        null = near is not None and not near.any()
        if null := null and self.noise.gauge(pushes, d, 1.0)[1] <= 1:
            v = np.zeros_like(d)
        else:
            v = self.noise.closest(pushes, d, near, worth=max(total, 0.0))
        reach, size = pushes.reach(), float(np.linalg.norm(v))
        sums = NoiseSums(
            reach=reach,
            support=reach * size,
            largest_support=self.largest_reach * size,
            largest_reach=self.largest_reach,
            axes=0.0,
            rounding=gamma(self.chain)
            + max(
                totals_rounding(self), *(bars.pull_rounding for bars, _ in pushes.parts)
            ),
            pushes=None if null else pushes,  # bounds are those of the sets as given
        )
        return v, 0.0, sums


@dataclass(frozen=True)
class GrowingNoise(OwnNoise):
    """How far each sample may move, where sets are lopsided about it."""

    bars: Boxes
    y: np.ndarray

    def supports(self, w):
        """max −y_i⟨w,δ⟩ over moves δ of sample i: how far its margin may fall."""
        falls, rises = self.bars.rises(-w), self.bars.rises(w)
        return self.radii * np.where(self.y > 0, falls, rises)

    def lipschitz(self, n_features: int):
        """The largest of them over ‖w‖₂ ≤ 1: at most both sides together."""
        return 2 * self.radii * self.bars.lipschitz()


@dataclass(frozen=True)
class GrowingProblem(MeasuredProblem):
    """Measurements in lopsided boxes, as these grow by a factor t on all radii.

    Rows are the measurements. In the middle of their boxes they are t·`shift` further,
    which is all that depends on t beside the radii: see `critical_scale`.
    """

    noise: Boxes

    @cached_property
    def sample_noise(self) -> GrowingNoise:
        """How far each sample may move."""
        return GrowingNoise(self.noise, self.radii, self.y)

    def shift(self, alpha) -> np.ndarray:
        """Σα_iy_iρ_i of the way to the middle of a box."""
        return (alpha * self.y * self.radii) @ self.noise.offsets

    def closest(self, alpha, factor, near=None):
        """w(α) under radii `factor` times as large: a soft threshold."""
        d = self.rows.combine(alpha) + factor * self.shift(alpha)
        return self.noise.closest(self.pushes(factor * alpha), d, near, rough=True)

    def null_bracket(self, alpha, most=np.inf):
        """Bounds on the least t ≥ 0 with Σα_iz_i + t·shift ∈ tΣα_iρ_iU_i.

        Feature by feature it is |d_j| over how far the boxes reach against d_j.
        """
        d, fixed = self.rows.combine(alpha), np.zeros(self.rows.d)
        if self.folded is not None:
            fixed = self.sample_noise.folded_box(self.folded)
        assert self.noise.sides is not None
        up = np.where(self.y > 0, alpha * self.radii, 0.0)
        parts = np.stack([up, alpha * self.radii - up])
        falls, rises = (
            np.einsum("kn,knd->d", parts, sides)
            for sides in (self.noise.sides, self.noise.sides[::-1])
        )
        t = np.where(d > 0, falls, rises)
        beyond = np.maximum(np.abs(d) - fixed, 0.0)
        ratios = np.divide(beyond, t, out=np.full(d.size, np.inf), where=t > 0)
        found = float(np.where(beyond == 0, 0.0, ratios).max(initial=0.0))
        return found, found
