"""How far each sample of a problem may move (theory §1, §8).

Sample i moves inside a set U_i of its own, with the support function
κ_i(w) = max_{δ∈U_i} ⟨w,δ⟩. Here all sets have one shape, U_i = ρ_i U, so that
κ_i(w) = ρ_i Ω(w). A problem and its bounds ask for no more than the methods below:
whoever writes another class with them has sets that differ in more than their size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wideberth.problem.noise import Noise
from wideberth.problem.rounding import accurate_sum

__all__ = ["SharedNoise"]


@dataclass(frozen=True)
class SharedNoise:
    """One shape for all samples, each with its radius ρ_i ≥ 0."""

    shape: Noise
    radii: np.ndarray | np.float64

    def supports(self, w: np.ndarray):
        """κ_i(w) of every sample."""
        return self.radii * self.shape.support(w)

    def lipschitz(self, n_features: int):
        """L_i of every sample: the largest κ_i(w) over ‖w‖₂ ≤ 1."""
        return self.radii * self.shape.lipschitz(n_features)

    def maximizers(self, w: np.ndarray) -> np.ndarray:
        """δ_i ∈ U_i with ⟨w,δ_i⟩ = κ_i(w), as an n×d array."""
        return np.outer(self.radii, self.shape.maximizer(w))

    def gradient(self, alpha, w: np.ndarray) -> np.ndarray:
        """Σα_i∇κ_i(w)."""
        return self.total(alpha) * self.shape.maximizer(w)

    def total(self, alpha) -> float:
        """s = Σα_iρ_i, so that Σα_iκ_i(w) = sΩ(w)."""
        return accurate_sum(alpha * self.radii)

    def prox(self, d: np.ndarray, s: float) -> np.ndarray:
        """The minimiser of ½‖w−d‖² + Σα_iκ_i(w), where s = `total(α)`."""
        return self.shape.prox(d, s)

    def support_errors(self):
        """Bounds on the error of κ_i(w) ÷ ‖w‖ that rotated rows bring along."""
        return self.radii * self.shape.support_error

    def select(self, rows) -> SharedNoise:
        """The noise of some samples; one radius for all stays one number."""
        radii = self.radii
        if isinstance(radii, np.ndarray) and radii.strides == (0,) and radii.size:
            return SharedNoise(self.shape, np.float64(radii[0]))
        return SharedNoise(self.shape, radii[rows])
