"""Problems that differ in their labels alone, as stacked arrays.

One class against the rest, for each of K classes: rows x_i, weights c_i, radii ρ_i and
noise are the same, the labels y_ki are not. Small problems cost NumPy's calls; here one
call serves all K, and products with all rows are products of matrices.

`start.py` tells about where all slacks are, by steps whose matrix knows no labels
and is factorised once for all K problems. Rows far from the margin are settled then, as
in `driver.py`, and `steps.py` solves the K problems of the others at once.
`rounds.py` has the rounds of this, and the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.limits import FEW_FEATURES
from wideberth.solvers.registry import choose_solver

#: Largest number of entries of the rows at which problems are stacked (20 000×50 with
#: ten classes takes a half to a quarter of the time; on 50 000 rows of covtype, half of
#: whose classes are rare, the look at all rows does not pay).
_MOST_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Stack:
    """K problems on the same rows e_i = (x_i, 1), without the 1 where there is no b.

    With x = (w, b) they minimise ½Σ_j q_j x_j² + Σ_i c_i [u_i]_+ , with Ω(x) =
    ‖τ∘x‖ and u_i = 1 − y_i⟨x,e_i⟩ + ρ_iΩ(x). `signs` are the labels, of shape (K,
    n), `penalty` is q, and `squares` are τ², 0 for b and where no row moves.
    """

    rows: np.ndarray
    signs: np.ndarray
    weights: np.ndarray
    radii: np.ndarray
    penalty: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, problems: list[Problem]) -> Stack:
        """Those of `problems`, of which the first tells all but the labels.

        Rows of no weight are left out.
        """
        one = problems[0]
        d, used = one.rows.d, np.flatnonzero(one.weights)
        size = d + (one.intercept is not None)
        rows, penalty, squares = np.ones((one.n, size)), np.ones(size), np.zeros(size)
        rows[:, :d] = one.rows.dense(slice(None))
        if one.intercept is not None:
            penalty[d] = one.intercept
        if one.radii.any():
            squares[:d] = one.noise.shape.squares
        signs = np.stack([problem.y for problem in problems])
        weights, radii = one.weights, one.radii
        if used.size < one.n:
            rows, signs = rows[used], signs[:, used]
            weights, radii = weights[used], radii[used]
        return cls(rows, signs, weights, radii, penalty, squares)

    @property
    def noisy(self) -> bool:
        """Whether some row moves."""
        return bool(self.squares.any())

    def take(self, problems: np.ndarray) -> Stack:
        """Some of the problems."""
        return replace(self, signs=self.signs[problems])

    def omega(self, x: np.ndarray) -> np.ndarray:
        """Ω(x) of every problem, as a column."""
        return np.sqrt((x * x) @ self.squares)[:, None]


def can_be_stacked(problem: Problem, problems: int) -> bool:
    """Whether so many, on the rows of `problem`, are to be solved together.

    They are dense, small enough, and under smooth noise, if any; and sweeps over the
    samples, which need no algebra, are not what suits so many features.
    """
    n, d = problem.n, problem.rows.d
    plain = problem.folded is None and problem.penalty == 0
    if problems < 2 or not (plain and problem.noise.proportional):
        return False
    dense = isinstance(problem.rows.X, np.ndarray) or problem.rows.table_fits
    if not dense or n * d > _MOST_ENTRIES or d >= n:
        return False
    if problem.radii.any() and not problem.noise.smooth:
        return False
    return d <= FEW_FEATURES or choose_solver(problem).name == "newton"
