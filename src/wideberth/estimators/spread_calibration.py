"""Probabilities of classes from decision values that know their spread.

Were the true decision value t of an object known, its class would be the second with
probability Φ(at + b): labels have a doubt of their own. Given its measurement t is a
mixture of N(f_c, σ_c²) with shares γ_c, over which the probability averages to

    P = Σ_c γ_c Φ((a f_c + b) / √(1 + a²σ_c²)) .

a ≥ 0 and b maximise the likelihood of labels that were left out, held a little away
from 0 and 1 as Platt does, so that a stays finite where all of them are on their side.

N labels of a class that were left out cannot tell a chance of error below 1/(N + 2)
from none (Laplace's rule, as in Platt's targets). So the smaller of P and 1 − P, q say,
is raised to √(q² + 1/(N + 2)²), with the N of the likelier class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr

from wideberth.estimators.denoised import Scores
from wideberth.problem.limits import EPS


@dataclass(frozen=True)
class SpreadCalibration:
    """a and b of one binary problem."""

    slope: float
    shift: float
    floors: tuple[float, float] = (0.0, 0.0)  # 1/(N + 2) of the two classes

    @classmethod
    def fit(cls, scores: Scores, positive: np.ndarray, weights) -> SpreadCalibration:
        """By maximum likelihood, from objects that were left out in training."""
        ahead = np.sum(weights * positive)
        behind = np.sum(weights) - ahead
        floors = float(1 / (behind + 2)), float(1 / (ahead + 2))
        targets = np.where(positive, 1 - floors[1], floors[0])
        size = float(np.sqrt(np.mean(scores.values**2 + scores.spreads**2))) or 1.0
        unit = Scores(scores.shares, scores.values / size, scores.spreads / size)

        def loss(point):
            value, slopes = _with_slopes(unit, *point)
            value = np.clip(value, EPS, 1 - EPS)
            likelihood = targets * np.log(value) + (1 - targets) * np.log1p(-value)
            pull = weights * (targets - value) / (value * (1 - value))
            return -np.sum(weights * likelihood), -(slopes @ pull)

        bounds = [(0.0, None), (None, None)]
        found = minimize(loss, [1.0, 0.0], jac=True, bounds=bounds)
        return cls(float(found.x[0]) / size, float(found.x[1]), floors)

    def probability(self, scores: Scores) -> np.ndarray:
        """P of each object."""
        found = _with_slopes(scores, self.slope, self.shift)[0]
        second = found > 0.5
        error = np.where(second, 1 - found, found)
        error = np.minimum(np.hypot(error, np.where(second, *self.floors[::-1])), 0.5)
        return np.where(second, 1 - error, error)


def _with_slopes(scores: Scores, a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """P, and its derivatives by a and b."""
    root = np.sqrt(1 + (a * scores.spreads) ** 2)
    t = (a * scores.values + b) / root
    density = np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)
    by_a = scores.values / root - t * a * scores.spreads**2 / root**2
    terms = np.array([ndtr(t), density * by_a, density / root])
    value, *slopes = np.sum(scores.shares.T * terms, axis=1)
    return value, np.array(slopes)
