"""Rows e_i = (z_i, −ρ_i, y_i), in which slacks are linear (theory §6.1).

With x = (w, t, b) the slack of sample i is m_i − ⟨x,e_i⟩ at t = Ω(w), and at least that
beyond (`interior.py`). The columns of −ρ_i and y_i are there only where there are noise
that all samples share, and an intercept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.arrays import host, like, namespace


class ExtendedRows:
    """A problem as arrays: rows e_i, the quadratic's diagonal, the linear fold.

    Attributes
    ----------
    noisy : bool
        Whether t is part of x: some sample moves, or the norm is penalised.
    extras : array of shape (n, k)
        The columns beyond z_i.
    table : array of shape (n, d + k) or None
        All columns, where rows are few.
    penalty : array of shape (d + k,)
        The diagonal of Q: 1 for weights, 0 for t, λ_b for b.
    folded : array of shape (d + k,)
        Σ c_i e_i of folded samples.
    """

    noisy: bool | None = None

    @classmethod
    def of(cls, problem: Problem) -> ExtendedRows:
        """Those of a problem."""
        rows = cls()
        rows.adopt(problem)
        return rows

    def adopt(self, problem: Problem) -> None:
        """Take over a problem; t stays part of x once it is."""
        self.problem, self.c = problem, problem.weights
        self.xp = namespace(problem.weights)
        fold, d = problem.folded, problem.rows.d
        if self.noisy is None:
            moves = problem.outside.scale > 0 or self.xp.any(problem.radii)
            shared = problem.noise.proportional and bool(moves)
            self.noisy = shared and problem.noise.shape.lipschitz(d) > 0
        columns, penalties, folded = [], [], []
        if self.noisy:
            columns.append(-problem.radii)
            penalties.append(0.0)
            folded.append(-problem.outside.scale)
        if problem.intercept is not None:
            columns.append(problem.y)
            penalties.append(problem.intercept)
            folded.append(0.0 if fold is None else fold.balance)
        self.extras = problem.weights[:, None][:, :0]
        if columns:
            self.extras = self.xp.stack(columns, axis=1)
        self.table = problem.rows.table(self.extras)
        self.penalty = np.concatenate((np.ones(d), penalties))
        self.folded = np.concatenate((np.zeros(d) if fold is None else fold.d, folded))

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Σ a_i e_i, by one product."""
        if self.table is not None:
            self.problem.rows.passes.add(self.problem.n)
            return host(self.table.T @ a)
        combined = self.problem.rows.combine(a)
        if not self.extras.shape[1]:
            return combined
        return np.concatenate((combined, host(a @ self.extras)))

    def products(self, dx: np.ndarray) -> np.ndarray:
        """⟨dx,e_i⟩, by one product."""
        if self.table is not None:
            self.problem.rows.passes.add(self.problem.n)
            return self.table @ like(dx, self.table)
        d = self.problem.rows.d
        change = self.problem.rows.margins(dx[:d])
        if dx.size > d:
            change += self.extras @ like(dx[d:], self.extras)
        return change

    def curvature(self, theta: np.ndarray) -> np.ndarray:
        """Σ θ_i e_i e_iᵀ, by one product."""
        if self.table is None:
            return self.problem.rows.curvature(theta, self.extras)
        self.problem.rows.passes.add(self.problem.n)
        scaled = self.table * self.xp.sqrt(theta)[:, None]
        return host(scaled.T @ scaled)

    def gathered(
        self, theta: np.ndarray, vectors: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, Sequence[np.ndarray]]:
        """Σ θ_i e_i e_iᵀ, and Σ θ_iv_i e_i for each of the `vectors`, by one read."""
        if self.table is None:
            extras = np.column_stack([self.extras, *vectors])
            gram = self.problem.rows.curvature(theta, extras)
            size = self.penalty.size
            return np.ascontiguousarray(gram[:size, :size]), list(gram[size:, :size])
        sums = [host(self.table.T @ (theta * vector)) for vector in vectors]
        return self.curvature(theta), sums

    def dense(self) -> np.ndarray:
        """The rows e_i themselves, as one array."""
        if self.table is not None:
            return self.table
        self.problem.rows.passes.add(self.problem.n)
        d, y = self.problem.rows.d, self.problem.y
        out = np.empty((self.problem.n, d + self.extras.shape[1]))
        np.multiply(self.problem.rows.dense(slice(None)), y[:, None], out=out[:, :d])
        out[:, d:] = self.extras
        return out

    def along(self, dx: np.ndarray, weigh: Callable) -> np.ndarray:
        """Σ a_i e_i with a = weigh(rows, ⟨dx,e_i⟩) for blocks of rows, by one read."""
        if self.table is not None:
            return host(self.table.T @ weigh(slice(None), self.products(dx)))
        if self.problem.n < self.problem.rows.d:  # blocks of few rows
            return self.combine(weigh(slice(None), self.products(dx)))
        d, weighed = self.problem.rows.d, np.empty(self.problem.n)
        beyond = self.extras @ dx[d:]

        def known(rows, margins):
            weighed[rows] = weigh(rows, margins + beyond[rows])
            return weighed[rows]

        combined = self.problem.rows.combine_along(dx[:d], known)
        return np.concatenate((combined, weighed @ self.extras))
