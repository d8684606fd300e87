"""Sparse rows less the value that most entries of a column share.

One-hot columns of a usual category, and the "no" of a yes or no, are 1 nearly
everywhere. With v_j such a value, X = S + 1vᵀ where S is much sparser, and

    Σ a_i x_i x_iᵀ = Σ a_i s_i s_iᵀ + uvᵀ + vuᵀ + (Σa_i)vvᵀ ,   u = Σ a_i s_i ,

whose cost is one operation for every pair of entries of a row of S, not of X.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from wideberth.kernels.sparse import less_values

#: Number of rows that tell which values are common: a choice; what is common in more
#: than half of the rows is so in more than half of these, or nearly.
_PROBED = 1000


@dataclass(frozen=True)
class CommonValues:
    """v of X = S + 1vᵀ, 0 in columns without one, and the mean entries of a row of S.

    Each takes more than half of its column, in the rows that were looked at.
    """

    values: np.ndarray
    entries: float

    @classmethod
    def of(cls, X) -> CommonValues | None:
        """Those of a CSR matrix; None unless they halve the pairs of entries."""
        if X.shape[0] > _PROBED:
            X = X[np.linspace(0, X.shape[0] - 1, _PROBED).astype(int)]
        n, d = X.shape
        stored = np.bincount(X.indices, minlength=d)
        if not (2 * stored > n).any():
            return None
        values = np.zeros(d)
        values[X.indices] = X.data  # the last one of each column
        equal = X.indices[X.data == values[X.indices]]
        held = np.bincount(equal, minlength=d)
        values[2 * held <= n] = 0.0
        entries = np.where(values != 0, n - held, stored).sum() / n
        return cls(values, entries) if 2 * entries**2 <= (X.nnz / n) ** 2 else None

    def taken_out(self, X) -> sp.csr_array:
        """S."""
        return less_values(X, self.values)

    def complete(self, gram: np.ndarray, u: np.ndarray, total: float) -> None:
        """Make Σ a_i x_i x_iᵀ of Σ a_i s_i s_iᵀ, with u = Σ a_i s_i and Σa_i."""
        across = np.multiply.outer(u + 0.5 * total * self.values, self.values)
        gram += across + across.T
