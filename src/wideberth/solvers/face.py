"""Second-order steps for the coordinate solver, where single coordinates stall.

Coordinate ascent converges at the pace of the flattest direction of D. Two kinds of
them occur in practice, and each has its remedy; both only ever raise D.

* *A few rows that keep moving*: near-copies with opposite labels (cross-posted texts,
  repeated measurements) whose α must climb to the bound together while each single step
  is 1/‖z_i‖². `solve_block` maximises D over the rows that moved most, all others
  fixed, by the interior-point engine in the span of those rows: their |B|×|B| form
  (theory §6.2).
* *A settled face that is ill-conditioned*: `climb_face` takes a Newton step over all
  rows strictly inside their box, by conjugate gradients on

      −D''_JJ = ω(Z_JZ_Jᵀ − mmᵀ) + (m−ρ)(m−ρ)ᵀ + yyᵀ/λ_b,
      ω = ‖w‖/‖d‖,  m = Z_J d/‖d‖

  preconditioned by its diagonal, and clips the result to the box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem import Folded, Problem
from wideberth.problem.rows import DenseRows, Rows
from wideberth.solvers.interior import InteriorPoint, Start

__all__ = ["Iterate", "bend_of", "climb_face", "solve_block"]

#: Share of what a block gained that may be left to gain when its engine stops.
_BLOCK_GOAL = 0.1
_BLOCK_STEPS = 40
#: α/c closer to a bound than this is put there.
_SNAP = 1e-6
_MOST_PRODUCTS = 100
#: Reduction of the residual at which conjugate gradients stop.
_FORCING = 0.03
#: Products between two looks at how much of a step leaves the box.
_LOOK = 5
_HALVINGS = 5


@dataclass
class Iterate:
    """A dual point of a problem with d, s and Σα_i y_i, folded samples included."""

    alpha: np.ndarray
    d: np.ndarray
    s: float
    balance: float

    @classmethod
    def of(cls, problem: Problem, alpha: np.ndarray, d=None) -> Iterate:
        """Evaluate s, the balance and, if it is not known, d at α, by one product."""
        if d is None:
            d = problem.rows.combine(alpha)
            d = d if problem.folded is None else d + problem.folded.d
        s, balance = float(alpha @ problem.radii), float(alpha @ problem.y)
        if problem.folded is not None:
            s, balance = s + problem.folded.s, balance + problem.folded.balance
        return cls(alpha, d, s, balance)

    def moved(self, problem: Problem, rows: Rows, J, alpha_J) -> Iterate:
        """The iterate with other α on J, whose rows are `rows`."""
        change = alpha_J - self.alpha[J]
        alpha = self.alpha.copy()
        alpha[J] = alpha_J
        return Iterate(
            alpha,
            self.d + rows.combine(change),
            self.s + float(change @ problem.radii[J]),
            self.balance + float(change @ rows.y),
        )

    def value(self, bend: float) -> float:
        """D(α) less what folded samples add to Σα; `bend` is 1/λ_b or 0."""
        length = max(float(np.linalg.norm(self.d)) - self.s, 0.0)
        quadratic = 0.5 * length**2 + 0.5 * bend * self.balance**2
        return float(self.alpha.sum()) - quadratic


def bend_of(problem: Problem) -> float:
    """1/λ_b of a penalised intercept, 0 without one."""
    return 1.0 / problem.intercept if problem.intercept else 0.0


def climb_face(problem: Problem, at: Iterate) -> tuple[Iterate | None, bool]:
    """One Newton step on the rows strictly inside their box.

    Returns the new point, None if D would not rise, and whether the box barred the
    way: then some direction is so flat that its Newton step leaves the box by far.
    """
    J = np.flatnonzero((at.alpha > 0) & (at.alpha < problem.weights))
    size, bend = float(np.linalg.norm(at.d)), bend_of(problem)
    length = size - at.s
    if not J.size or length <= 0:
        return None, True
    rows, radii, alpha = problem.rows.take(J), problem.radii[J], at.alpha[J]
    m, omega = rows.margins(at.d) / size, length / size
    tilt = m - radii
    gradient = 1.0 - bend * at.balance * rows.y - length * tilt

    def curve(v: np.ndarray) -> np.ndarray:
        out = omega * rows.margins(rows.combine(v))
        out += tilt * float(tilt @ v) - m * (omega * float(m @ v))
        return out + rows.y * (bend * float(rows.y @ v)) if bend else out

    diagonal = omega * np.maximum(rows.norms() ** 2 - m**2, 0.0) + tilt**2 + bend
    room = np.array([-alpha, problem.weights[J] - alpha])
    step, barred = _newton_step(curve, gradient, np.maximum(diagonal, 1e-300), room)
    start = at.value(bend)
    for _ in range(_HALVINGS):
        target = np.clip(alpha + step, 0.0, problem.weights[J])
        found = at.moved(problem, rows, J, target)
        gain = 0.1 * float(gradient @ (target - alpha))
        if gain > 0 and found.value(bend) >= start + gain:
            return found, barred
        step *= 0.3
    return None, barred


def _newton_step(curve, right, diagonal, room) -> tuple[np.ndarray, bool]:
    """Solve `curve(x) = right` by conjugate gradients, preconditioned by the diagonal.

    Every few products the part of x outside the box `room` is looked at: once it weighs
    as much as the step gains, the last x inside is returned, and True.
    """
    x, residual, kept = np.zeros_like(right), right.copy(), np.zeros_like(right)
    scaled = residual / diagonal
    direction, size = scaled.copy(), float(residual @ scaled)
    goal = _FORCING**2 * size
    for k in range(1, _MOST_PRODUCTS + 1):
        image = curve(direction)
        bent = float(direction @ image)
        if not bent > 0:
            break
        x += (size / bent) * direction
        residual -= (size / bent) * image
        scaled = residual / diagonal
        before, size = size, float(residual @ scaled)
        if k % _LOOK == 0 or size <= goal:
            outside = x - np.clip(x, room[0], room[1])
            if float(outside @ (diagonal * outside)) > 0.3 * float(right @ x):
                return kept, True
            kept = x.copy()
        if size <= goal:
            break
        direction = scaled + (size / before) * direction
    return kept, False


def solve_block(problem: Problem, at: Iterate, B: np.ndarray) -> Iterate | None:
    """Maximise D over the rows B, the others fixed; None if D did not rise."""
    rows, bend = problem.rows.take(B), bend_of(problem)
    weights, alpha = problem.weights[B], at.alpha[B]
    rest = at.d - rows.combine(alpha)
    coordinates, folded = _span(rows, rest)
    small = replace(
        problem,
        rows=DenseRows(coordinates, rows.y),
        weights=weights,
        radii=problem.radii[B],
        folded=Folded(
            d=folded,
            s=max(at.s - float(alpha @ problem.radii[B]), 0.0),
            total=float(at.alpha.sum() - alpha.sum()),
            balance=at.balance - float(alpha @ rows.y),
            n=1,
            mass=0.0,
            rounding=0.0,
        ),
    )
    w = small.noise.prox(small.rows.combine(alpha) + folded, at.s)
    start = Start(w, bend * at.balance, small.rows.margins(w), alpha / weights)
    engine = InteriorPoint(small, start)
    value = small.dual_at(alpha).value
    for _ in range(_BLOCK_STEPS):
        gained = engine.primal - engine.gap - value
        if engine.gap <= _BLOCK_GOAL * gained or not engine.step():
            break
    share = engine.share
    snapped = np.where(share < _SNAP, 0.0, np.where(share > 1 - _SNAP, 1.0, share))
    found = at.moved(problem, rows, B, snapped * weights)
    return found if found.value(bend) > at.value(bend) else None


def _span(rows: Rows, extra: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of the rows and of one more vector in a basis of their span."""
    m = rows.n
    gram = np.empty((m + 1, m + 1))
    product = rows.X @ rows.X.T
    gram[:m, :m] = product if isinstance(product, np.ndarray) else product.toarray()
    gram[m, :m] = gram[:m, m] = rows.y * rows.margins(extra)
    gram[m, m] = extra @ extra
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-14 * values[-1]
    coordinates = vectors[:, kept] * np.sqrt(values[kept])
    return np.ascontiguousarray(coordinates[:m]), coordinates[m].copy()
