"""Rows e_i = (z_i, −ρ_i, y_i), in which the problem is linear but for one cone.

With x = (w, t, b) the robust margin of sample i is ⟨x,e_i⟩ at t = Ω(w), and at most
that beyond (`interior.py`). The columns of −ρ_i and y_i are there only where there are
noise and intercept.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.arrays import host, like, namespace


class ExtendedRows:
    """A problem as the engine takes it: rows e_i = (z_i, −ρ_i, y_i), Q, what is folded.

    `noisy` tells whether t is part of x: some sample moves, or the norm is penalised.
    `extras` are the columns beyond z; `table` holds all of them, where rows are few.
    """

    noisy: bool | None = None

    @classmethod
    def of(cls, problem: Problem, last: ExtendedRows | None = None) -> ExtendedRows:
        """Those of a problem; the `last` ones, where only weights differ."""
        if last is not None:
            names = ("rows", "noise", "folded", "intercept", "penalty")
            known = last.problem
            if all(getattr(problem, name) is getattr(known, name) for name in names):
                return last
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
            self.noisy = bool(moves) and problem.noise.shape.lipschitz(d) > 0
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

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Σ weights_i e_i e_iᵀ, by one product."""
        if self.table is None:
            return self.problem.rows.curvature(weights, self.extras)
        self.problem.rows.passes.add(self.problem.n)
        scaled = self.table * self.xp.sqrt(weights)[:, None]
        return host(scaled.T @ scaled)
