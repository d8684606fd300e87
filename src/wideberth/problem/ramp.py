"""The ramp loss: no sample costs more than c_i(1 − a), however wrong its label (§11).

    R(w,b) = ½‖w‖² + ½λ_b b² + s₀Ω(w) + Σ c_i min([1 − ψ_i(w,b)]_+, 1 − a),   a ≤ 0

is not convex. With the samples K left out, at the constant cost c_i(1 − a) each,

    M_K(w,b) = ½‖w‖² + ½λ_b b² + s₀Ω(w) + Σ_{i∉K} c_i [1 − ψ_i(w,b)]_+ + (1−a)Σ_K c_i

is a robust SVM on the others. R ≤ M_K for every K, since R takes the smaller of the two
terms of each sample, with equality at (w,b) for K = {ψ_i(w,b) < a}. So R = min_K M_K:
leaving out the samples beyond a and solving the rest, in turn, never raises R. Every
convex problem on the way is a `Problem` with a certificate of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wideberth.problem.certificate import Certificate, PrimalPoint
from wideberth.problem.problem import Problem
from wideberth.problem.rounding import accurate_sum
from wideberth.problem.rows import gamma


@dataclass(frozen=True)
class Ramp:
    """The ramp of level a on the samples of a problem."""

    problem: Problem
    level: float

    def __post_init__(self) -> None:
        if self.problem.m is not None:
            raise ValueError(
                f"ramp={self.level:g} is for classification, whose targets are all 1; "
                "this problem has targets of its own. Leave ramp out."
            )

    @property
    def most(self) -> float:
        """What a sample of weight 1 costs at most, 1 − a."""
        return 1.0 - self.level

    def left_out(self, slack: np.ndarray) -> np.ndarray:
        """The samples with ψ_i < a and a weight; slacks are 1 − ψ_i."""
        return (slack > self.most) & (self.problem.weights > 0)

    def rest(self, left_out: np.ndarray) -> Problem:
        """The robust SVM on the samples that are not left out."""
        return self.problem.with_weights(np.where(left_out, 0.0, self.problem.weights))

    def cost(self, left_out: np.ndarray) -> float:
        """(1 − a)Σ_K c_i, what samples left out cost."""
        return self.most * accurate_sum(self.problem.weights[left_out])

    def value(self, point: PrimalPoint) -> float:
        """R at a point of the problem, whose margins are known."""
        left_out = self.left_out(point.slack)
        rest = self.rest(left_out).at(point.w, point.b, point.margins)
        return rest.value + self.cost(left_out)


def with_cost(rest: Certificate, cost: float, roundings: float) -> Certificate:
    """The certificate with a constant cost, a sum of terms with so many roundings."""
    rounding = rest.rounding + gamma(roundings) * cost
    return Certificate(rest.primal + cost, rest.dual + cost, rounding)
