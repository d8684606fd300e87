"""Samples at their bound as one linear and one norm term (theory §3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wideberth.noise.sets import SumOfSets
from wideberth.problem.rows import gamma


@dataclass(frozen=True)
class Folded:
    """What saturated samples leave behind.

    Sums over them of c_i z_i, c_i m_i, c_i y_i and c_iρ_iU_i, and what bounds the
    rounding of these: Σc_i|m_i| is the `size` of the total, Σc_i their `weight`.
    """

    d: np.ndarray
    total: float = 0.0
    balance: float = 0.0
    #: How many samples, their Σ c_i ‖z_i‖, and a bound on the error of d.
    n: int = 0
    mass: float = 0.0
    rounding: float = 0.0
    #: Most roundings that a term of these sums went through (`rounding.chain`).
    chain: float = 0.0
    #: The largest ‖z_i‖, and the largest L_i (`Noise.lipschitz`).
    largest_norm: float = 0.0
    largest_lipschitz: float = 0.0
    #: Σ c_iρ_iU_i; None where no sample moves.
    noise: SumOfSets | None = None
    #: Σ c_i|m_i|, Σ c_i and the largest |m_i|.
    size: float = 0.0
    weight: float = 0.0
    largest_target: float = 0.0

    def restricted(self, columns: np.ndarray) -> Folded:
        """The same of some features alone; bounds stay those of all."""
        noise = None if self.noise is None else self.noise.restricted(columns)
        return replace(self, d=self.d[columns], noise=noise)

    def __add__(self, other: Folded) -> Folded:
        noise = [part for part in (self.noise, other.noise) if part is not None]
        return Folded(
            self.d + other.d,
            self.total + other.total,
            self.balance + other.balance,
            self.n + other.n,
            self.mass + other.mass,
            self.rounding + other.rounding + gamma(1) * (self.mass + other.mass),
            max(self.chain, other.chain) + 1,
            max(self.largest_norm, other.largest_norm),
            max(self.largest_lipschitz, other.largest_lipschitz),
            noise[0] + noise[1] if len(noise) == 2 else noise[0] if noise else None,
            self.size + other.size,
            self.weight + other.weight,
            max(self.largest_target, other.largest_target),
        )
