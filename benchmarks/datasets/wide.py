"""Word counts by Zipf's law, few words a row, unit rows: n×d, sparse."""

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets import unit_rows

C, RADIUS = 1.0, 0.02


def load(n=5_000, d=50_000, words=60, seed=0):
    rng = np.random.default_rng(seed)
    ranks = 1.0 / np.arange(1, d + 1)
    columns = rng.choice(d, size=n * words, p=ranks / ranks.sum()).astype(np.int32)
    indptr = np.arange(0, n * words + 1, words, dtype=np.int32)
    X = sp.csr_array((np.ones(n * words), columns, indptr), shape=(n, d))
    X.sum_duplicates()
    X.data = 1 + np.log(X.data)
    X = unit_rows(X)
    scores = X @ rng.normal(size=d)
    y = np.where(scores + 0.3 * scores.std() * rng.normal(size=n) > 0, 1, -1)
    return X, y
