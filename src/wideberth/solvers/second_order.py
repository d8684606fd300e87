"""Second-order steps of dual coordinate ascent, for where it is slow (theory §6.2).

Coordinate ascent converges at the pace of the flattest direction of D. Two kinds of
flat directions occur in practice; each has a step of its own, and both only raise D.

* *A few rows that keep moving*: near-copies with opposite labels (cross-posted texts,
  repeated measurements) whose α must rise to the bound together, while a single step is
  1/‖z_i‖². `maximise_block` maximises D over the rows that moved most, all others
  fixed, by the interior-point method in the span of those rows.
* *An ill-conditioned face of the box*: `newton_on_face` takes a Newton step over all
  rows strictly between their bounds, by conjugate gradients on

      −D''_JJ = ω(Z_JZ_Jᵀ − mmᵀ) + (m−ρ)(m−ρ)ᵀ + yyᵀ/λ_b,
      ω = ‖w‖/‖d‖,  m = Z_J d/‖d‖

  preconditioned by its diagonal, and clips the result to the box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem import Folded, Problem
from wideberth.problem.limits import EPS, LITTLE, MOST_STEPS, TINY
from wideberth.problem.rounding import accurate_sum
from wideberth.problem.rows import DenseRows, Rows
from wideberth.solvers.algebra import conjugate_gradients
from wideberth.solvers.interior import InteriorPoint


@dataclass
class DualIterate:
    """A dual point of a problem with d, s and Σα_i y_i, folded samples included."""

    alpha: np.ndarray
    d: np.ndarray
    s: float
    balance: float

    @classmethod
    def first(cls, problem: Problem) -> DualIterate:
        """α = 0; under the quantile loss α = qc, where no sample pulls at w."""
        fold, s = problem.folded, problem.outside.scale
        if problem.tilt and fold is not None:
            alpha = problem.tilt * problem.weights
            # d = 0 unless samples have left, beside whom what is folded weighs more.
            whole = fold.weight == problem.tilt * accurate_sum(problem.weights)
            return cls.of(problem, alpha, np.zeros(problem.rows.d) if whole else None)
        if fold is None:
            return cls(np.zeros(problem.n), np.zeros(problem.rows.d), s, 0.0)
        return cls(np.zeros(problem.n), fold.d.copy(), s, fold.balance)

    @classmethod
    def of(cls, problem: Problem, alpha: np.ndarray, d=None) -> DualIterate:
        """Evaluate d, by one product where it is not known, s and the balance at α."""
        if d is None:
            d = problem.rows.combine(alpha)
            d = d if problem.folded is None else d + problem.folded.d
        s = float(alpha @ problem.radii) + problem.outside.scale
        balance = float(alpha @ problem.y)
        if problem.folded is not None:
            balance += problem.folded.balance
        return cls(alpha, d, s, balance)

    def moved(self, problem: Problem, rows: Rows, J, alpha_J) -> DualIterate:
        """The iterate with other α on J, whose rows are `rows`."""
        change = alpha_J - self.alpha[J]
        alpha = self.alpha.copy()
        alpha[J] = alpha_J
        return DualIterate(
            alpha,
            self.d + rows.combine(change),
            max(self.s + float(change @ problem.radii[J]), 0.0),
            self.balance + float(change @ rows.y),
        )

    def value(self, problem: Problem) -> float:
        """D(α) less what folded samples add to Σα_im_i."""
        length = max(math.sqrt(self.d @ self.d) - self.s, 0.0)
        # Products, for powers of Python's floats raise errors where they overflow.
        penalty = inverse_penalty(problem) * self.balance * self.balance
        return float(self.alpha @ problem.targets) - 0.5 * (length * length + penalty)


def inverse_penalty(problem: Problem) -> float:
    """1/λ_b of a penalised intercept, 0 without one."""
    return 1.0 / problem.intercept if problem.intercept else 0.0


def newton_on_face(
    problem: Problem, at: DualIterate
) -> tuple[DualIterate | None, bool]:
    """One Newton step on the rows strictly between their bounds.

    Returns the new point, or None if D would not rise, and whether the step was cut
    short at the box: then some direction is so flat that its Newton step leaves the box
    by far.
    """
    J = np.flatnonzero((at.alpha > 0) & (at.alpha < problem.weights))
    size, penalty = float(np.linalg.norm(at.d)), inverse_penalty(problem)
    length = size - at.s
    if not J.size or length <= 0:
        return None, True
    rows, alpha, weights = problem.rows.take(J), at.alpha[J], problem.weights[J]
    m, omega = rows.margins(at.d) / size, length / size
    lift = m - problem.radii[J]
    gradient = problem.targets[J] - penalty * at.balance * rows.y - length * lift

    def curvature(v: np.ndarray) -> np.ndarray:
        out = omega * rows.margins(rows.combine(v))
        out += lift * float(lift @ v) - m * (omega * float(m @ v))
        return out + rows.y * (penalty * float(rows.y @ v)) if penalty else out

    diagonal = omega * np.maximum(rows.norms() ** 2 - m**2, 0.0) + lift**2 + penalty
    step, cut_short = _step_inside(
        curvature, gradient, np.maximum(diagonal, TINY), -alpha, weights - alpha
    )
    new = at.moved(problem, rows, J, np.clip(alpha + step, 0.0, weights))
    return new if new.value(problem) > at.value(problem) else None, cut_short


def _step_inside(curvature, right, diagonal, low, high) -> tuple[np.ndarray, bool]:
    """Solve `curvature(x) = right` by conjugate gradients, scaled by the diagonal.

    Ends early, with True, once the part of x outside the box weighs as much as the step
    gains.
    """
    x = np.zeros_like(right)
    for ahead in conjugate_gradients(curvature, right, lambda r: r / diagonal):
        outside = ahead - np.clip(ahead, low, high)
        if float(outside @ (diagonal * outside)) > float(right @ ahead) / 2:
            return x, True
        x = ahead
    return x, False


def maximise_block(
    problem: Problem, at: DualIterate, B: np.ndarray
) -> DualIterate | None:
    """Maximise D over the rows B, the others fixed; None if D did not rise."""
    rows = problem.rows.take(B)
    weights, alpha = problem.weights[B], at.alpha[B]
    rest = at.d - rows.combine(alpha)
    coordinates, folded = _span(rows, rest)
    small = replace(
        problem,
        rows=DenseRows(coordinates, rows.y),
        weights=weights,
        noise=problem.noise.take(B),
        m=problem.targets[B],
        penalty=max(at.s - float(alpha @ problem.radii[B]), 0.0),
        folded=Folded(
            d=folded,
            total=float(at.alpha @ problem.targets - alpha @ problem.targets[B]),
            balance=at.balance - float(alpha @ rows.y),
            n=1,
        ),
    )
    w = small.noise.shape.prox(small.rows.combine(alpha) + folded, at.s)
    point = small.at(w, inverse_penalty(problem) * at.balance)
    engine = InteriorPoint(small, point, alpha / weights)
    value = small.dual_at(alpha).value
    for _ in range(MOST_STEPS):
        gained = engine.primal - engine.gap - value
        if engine.gap <= LITTLE * gained or not engine.step():
            break
    new = at.moved(problem, rows, B, engine.share * weights)
    return new if new.value(problem) > at.value(problem) else None


def _span(rows: Rows, extra: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of the rows and of one more vector in a basis of their span."""
    m = rows.n
    gram = np.empty((m + 1, m + 1))
    product = rows.X @ rows.X.T
    gram[:m, :m] = product if isinstance(product, np.ndarray) else product.toarray()
    gram[m, :m] = gram[:m, m] = rows.y * rows.margins(extra)
    gram[m, m] = extra @ extra
    values, vectors = np.linalg.eigh(gram)
    kept = values > len(gram) * EPS * values[-1]
    coordinates = vectors[:, kept] * np.sqrt(values[kept])
    return np.ascontiguousarray(coordinates[:m]), coordinates[m].copy()
