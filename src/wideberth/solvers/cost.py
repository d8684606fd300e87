"""What work costs: the one model of time that choices between methods go by.

The unit is one stored entry of a dense row that is swept. In this unit, with e entries
in a row of the data and m = min(n, d),

    product with k rows        k·e
    sweep over k rows          k·(e + 50), and 120 for 50 under noise; twice that of
                               tables beyond the cache, which sweeps read at random
    Gram matrix of k rows      k·m·e / BLAS_SPEEDUP, of sparse rows what they store
    factor                     m³ / (3 · BLAS_SPEEDUP)
    Newton's method on k rows  5 products with all n rows and 300·n for vectors of that
                               length; 20 products and 2 Gram matrices of the k rows; a
                               dozen factors; and some calls. On small tables, where it
                               takes all rows at once, twice as many for the k rows;
                               with few rows for each feature eight Gram matrices

An entry of a sparse row counts three times. The figures are those of 20 tables
(`make bench-choice`), which take from half to twice what is said here; choices are made
by ratios that are seldom as near. Nothing is measured while a program runs: the same
call makes the same choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.limits import CACHED_ENTRIES, FEW_FEATURES
from wideberth.problem.rows import BLAS_SPEEDUP

#: Products over the rows in a step of Newton's method: a Gram matrix and five more.
STEP_PRODUCTS = 6
#: Entries of dense rows in the time that one of sparse rows takes.
_SPARSE = 3
#: Entries in the time that a sweep takes for a row beside those that it stores, without
#: and with noise.
_SWEPT_ROW, _NOISY_ROW = 50, 120
#: What Newton's method takes: products with all rows, entries for vectors for each of
#: them, products and Gram matrices of the rows near the margin, and factors.
_WHOLE, _NEWTON_ROW, _PRODUCTS, _GRAMS, _FACTORS = 5, 300, 20, 2, 12
#: Number of rows for each feature up to which nearly all rows are near the margin, so
#: that every step takes a Gram matrix of all (2 000×1 000: eight of them).
_TALL = 10
#: Entries in the time of its calls, compiled, 0.15 ms, and from NumPy, 1 ms.
_COMPILED_CALLS, _CALLS = 5e5, 3e6
#: Largest number of entries of a dense table that the compiled method takes, 8 MB of
#: float64 (20 000×50 takes a half to all of the time that rounds or sweeps take).
_MOST_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Cost:
    """Costs of the work on a problem, in entries swept."""

    problem: Problem

    @cached_property
    def product(self) -> float:
        """A product with all rows."""
        return self.entry * max(self.problem.rows.entries(), 1)

    @cached_property
    def entry(self) -> float:
        """What an entry of the data counts."""
        return 1.0 if isinstance(self.problem.rows.X, np.ndarray) else _SPARSE

    def gram(self, rows: float | None = None) -> float:
        """A Gram matrix of so many rows, or of all."""
        n, d = self.problem.n, self.problem.rows.d
        whole = self.problem.rows.gram_passes() * self.product * min(1.0, n / d)
        return whole if rows is None else whole * rows / max(n, 1)

    def rows_for(self, entries: float) -> float:
        """The number of rows whose Gram matrix costs so much."""
        return self.problem.n * entries / max(self.gram(), 1.0)

    @property
    def factor(self) -> float:
        """A factor of the system of Newton's method."""
        return min(self.problem.n, self.problem.rows.d) ** 3 / (3 * BLAS_SPEEDUP)

    @cached_property
    def is_small(self) -> bool:
        """Whether the compiled interior-point method takes a table of this size."""
        n, d = self.problem.n, self.problem.rows.d
        most = _MOST_ENTRIES if self.entry == 1.0 else CACHED_ENTRIES
        return d <= FEW_FEATURES and n * d <= most

    def newton(self, rows: float) -> float:
        """Newton's method on so many of the rows, those near the margin."""
        whole, each = self._newton
        return whole + each * rows

    @cached_property
    def _newton(self) -> tuple[float, float]:
        """What it takes with no row near the margin, and what each of them adds."""
        n = max(self.problem.n, 1)
        grams = _GRAMS if n > _TALL * self.problem.rows.d else 4 * _GRAMS
        each = (_PRODUCTS * self.product + grams * self.gram()) / n
        whole, factors = _WHOLE * self.product + _NEWTON_ROW * n, _FACTORS * self.factor
        if self.is_small:
            return whole + 2 * factors + _COMPILED_CALLS, 2 * each
        return whole + factors + _CALLS, each

    @property
    def screening(self) -> float:
        """A certificate, and the decisions about rows that follow from it."""
        return 2 * self.product + _NEWTON_ROW * self.problem.n + _COMPILED_CALLS

    def sweeps(self, entries: float, rows: float) -> float:
        """Sweeps that read so many entries of so many rows."""
        per_entry, per_row = self._swept
        return per_entry * entries + per_row * rows

    @cached_property
    def _swept(self) -> tuple[float, float]:
        """What an entry and a row cost to sweep."""
        row = _NOISY_ROW if self.problem.radii.any() else _SWEPT_ROW
        slower = 2 if self.problem.rows.entries() > _MOST_ENTRIES else 1
        return slower * self.entry, slower * row
