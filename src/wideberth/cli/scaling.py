"""Standardized numbers beside categories, without filling in the zeros of these."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from wideberth.cli.prepare import moments


class ScaledNumbers(TransformerMixin, BaseEstimator):
    """Scales features to variance 1, but for the last ones, which stay 0 and 1.

    Nothing is subtracted, so that a CSR matrix stays one. A free intercept makes up for
    it: with w the same model, b is less by ⟨w, mean⟩.

    Parameters
    ----------
    n_indicators : int, default=0
        The last features, one for each category.

    Attributes
    ----------
    scale_ : array of shape (n_features,)
        What each feature is divided by; 1 where it does not vary.
    """

    def __init__(self, n_indicators=0):
        self.n_indicators = n_indicators

    def fit(self, X, y=None):
        """Learn the scales from rows; missing values do not count."""
        deviation = np.sqrt(moments(X)[1])
        deviation[len(deviation) - self.n_indicators :] = 1
        self.scale_ = np.where(deviation > 0, deviation, 1.0)
        self.n_features_in_ = len(deviation)
        return self

    def transform(self, X):
        """Return the rows scaled, dense or CSR as they are."""
        if not sp.issparse(X):
            return np.asarray(X, dtype=np.float64) / self.scale_
        rows = sp.csr_array(X, dtype=np.float64)
        scaled = rows.data / self.scale_[rows.indices]
        return sp.csr_array((scaled, rows.indices, rows.indptr), shape=rows.shape)
