"""Numbers, beside categories or not: gaps filled in, and scaled so that zeros stay."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin


class PreparedNumbers(TransformerMixin, BaseEstimator):
    """Fills in medians and scales to variance 1, but for the last features.

    Those are 0 or 1 for a category, and stay what they are. Nothing is subtracted, so
    that a CSR matrix stays one. A free intercept makes up for it: the model is the same
    with b less by ⟨w, mean⟩.

    Parameters
    ----------
    n_indicators : int, default=0
        The last features, one for each category.
    fill : bool, default=False
        Whether missing numbers become the median of their column.
    scale : bool, default=False
        Whether numbers are divided by their standard deviation, once gaps are filled.

    Attributes
    ----------
    medians_, scales_ : arrays of shape (n_features − n_indicators,)
        0 and 1 where nothing is filled in, or scaled because it does not vary; a column
        without values becomes 0, and has no weight.
    """

    def __init__(self, n_indicators=0, fill=False, scale=False):
        self.n_indicators = n_indicators
        self.fill = fill
        self.scale = scale

    def fit(self, X, y=None):
        """Learn medians and scales from rows."""
        self.n_features_in_ = X.shape[1]
        k = X.shape[1] - self.n_indicators
        numbers = X[:, :k].toarray() if sp.issparse(X) else np.array(X[:, :k])
        self.medians_, self.scales_ = np.zeros(k), np.ones(k)
        if self.fill:
            there = ~np.isnan(numbers).all(axis=0)
            self.medians_[there] = np.nanmedian(numbers[:, there], axis=0)
            numbers = np.where(np.isnan(numbers), self.medians_, numbers)
        if self.scale:
            deviation = np.nanstd(numbers, axis=0)
            self.scales_ = np.where(deviation > 0, deviation, 1.0)
        return self

    def transform(self, X):
        """Return the rows prepared, dense or CSR as they are."""
        k = len(self.scales_)
        if not sp.issparse(X):
            made = np.array(X, dtype=np.float64)
            made[:, :k] = self._prepared(made[:, :k], self.medians_, self.scales_)
            return made
        rows = sp.csr_array(X, dtype=np.float64)
        data, numbers = rows.data.copy(), np.flatnonzero(rows.indices < k)
        at = rows.indices[numbers]
        data[numbers] = self._prepared(
            data[numbers], self.medians_[at], self.scales_[at]
        )
        return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)

    @property
    def linear_map_(self) -> sp.csr_array:
        """What a move of the rows becomes; read by robust pipelines."""
        factors = np.append(1 / self.scales_, np.ones(self.n_indicators))
        return sp.diags_array(factors, format="csr")

    def _prepared(self, values, medians, scales):
        if self.fill:
            values = np.where(np.isnan(values), medians, values)
        return values / scales
