"""What work costs: the one model of time that choices between methods go by.

The unit is one stored entry of the data in one product with a vector, which waits for
memory. In this unit, with BLAS_SPEEDUP multiplications of a dense product of matrices
to the entry:

    product with all rows         entries(X)
    Gram matrix of k rows         k/n · gram_passes · entries(X)
    factor of size m = min(n, d)  m³ / (3 · BLAS_SPEEDUP)
    Newton's method               a dozen of steps, each with a Gram matrix and a
                                  factor, and products with all rows

Nothing here is measured while a program runs: the same call makes the same choice.
"""

from __future__ import annotations

from dataclasses import dataclass

from wideberth.problem import Problem
from wideberth.problem.rows import BLAS_SPEEDUP

#: Products over the rows in a step of Newton's method: a Gram matrix and five more.
STEP_PRODUCTS = 6
#: Steps of Newton's method on a working set, each with a Gram matrix and a factor.
_STEPS = 12
#: Time of the calls of NumPy for a solution by Newton's method, in entries: 2 ms (flat
#: from 1e6 to 5e6 on 4 601×57 and 10 000×50).
_CALLS = 2e6
#: Products with all rows that Newton's method takes from nothing, and from a start on
#: few of them (`make bench-choice`).
_FROM_NOTHING, _FROM_START = 100, 3
#: Share of these and of the Gram matrices where the hinge is smoothed (`make
#: bench-choice`).
_SMOOTHED = 0.5
#: Entries in which a sample is swept once, and in which all rows are looked at between
#: sweeps, for each that they store (`make bench-choice`).
_SWEPT, _LOOKED_AT = 3, 2


@dataclass(frozen=True)
class Cost:
    """What it costs to work on a problem."""

    problem: Problem

    @property
    def product(self) -> float:
        """A product with all rows."""
        return float(max(self.problem.rows.entries(), 1))

    def gram(self, rows: float | None = None) -> float:
        """A Gram matrix of so many rows, or of all."""
        n = self.problem.n
        whole = self.problem.rows.gram_passes() * self.product
        return whole if rows is None else whole * rows / max(n, 1)

    def rows_for(self, entries: float) -> float:
        """The number of rows whose Gram matrix costs so much."""
        return self.problem.n * entries / max(self.gram(), 1.0)

    @property
    def factor(self) -> float:
        """A factor of the system of Newton's method."""
        return min(self.problem.n, self.problem.rows.d) ** 3 / (3 * BLAS_SPEEDUP)

    def newton(self, rows: float) -> float:
        """Newton's method on so many of the rows, from a start."""
        steps = _STEPS * (self.gram(rows) + self.factor)
        return steps + _FROM_START * self.product + _CALLS

    def newton_from_nothing(self, smoothed: bool) -> float:
        """Newton's method on all rows."""
        whole = _STEPS * self.gram() + _FROM_NOTHING * self.product
        return (_SMOOTHED if smoothed else 1.0) * whole + _STEPS * self.factor

    def sweeps(self, swept: float, epochs: float, rounds: float) -> float:
        """So many epochs over rows of `swept` entries, in rounds that look at all."""
        return _SWEPT * swept * epochs + _LOOKED_AT * self.product * rounds
