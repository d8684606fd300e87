"""Samples at their bound as one linear and one norm term (theory §3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem.error_bars import NO_PUSHES, Pushes
from wideberth.problem.rows import gamma


@dataclass(frozen=True)
class Folded:
    """What saturated samples leave behind.

    Sums over them of c_i z_i, c_i ρ_i, c_i m_i and c_i y_i, and what bounds the
    rounding of these: Σc_i|m_i| is the `size` of the total, Σc_i their `weight`.
    """

    d: np.ndarray
    s: float
    total: float
    balance: float
    #: How many samples, their Σ c_i ‖z_i‖, and a bound on the error of d.
    n: int
    mass: float
    rounding: float
    #: Most roundings that a term of these sums went through (`rounding.chain`).
    chain: float = 0.0
    #: The largest ‖z_i‖ and ρ_i.
    largest_norm: float = 0.0
    largest_radius: float = 0.0
    #: Sets of samples that do not share one shape, and their c_iρ_i.
    pushes: Pushes = NO_PUSHES
    #: Σ c_i|m_i|, Σ c_i and the largest |m_i|.
    size: float = 0.0
    weight: float = 0.0
    largest_target: float = 0.0

    @classmethod
    def penalty(cls, s: float, d: int, noise=None) -> Folded | None:
        """A norm penalty sΩ(w), or s‖w‖₁ beside boxes per sample, `noise`.

        None where s is 0.
        """
        if s == 0:
            return None
        nothing = cls(np.zeros(d), 0.0, 0.0, 0.0, 0, 0.0, 0.0)
        if noise is None:
            return replace(nothing, s=s)
        return replace(nothing, pushes=noise.penalty(s))

    def restricted(self, columns: np.ndarray) -> Folded:
        """The same of some features alone; bounds stay those of all."""
        return replace(self, d=self.d[columns], pushes=self.pushes.restricted(columns))

    def __add__(self, other: Folded) -> Folded:
        return Folded(
            self.d + other.d,
            self.s + other.s,
            self.total + other.total,
            self.balance + other.balance,
            self.n + other.n,
            self.mass + other.mass,
            self.rounding + other.rounding + gamma(1) * (self.mass + other.mass),
            max(self.chain, other.chain) + 1,
            max(self.largest_norm, other.largest_norm),
            max(self.largest_radius, other.largest_radius),
            self.pushes + other.pushes,
            self.size + other.size,
            self.weight + other.weight,
            max(self.largest_target, other.largest_target),
        )
