"""Forest cover type as tables of categories, class 2 against the rest, sparse.

`load` bins and encodes every column: 581 012 rows with one entry for each field.
`mixed` has 200 000 rows of 7 standardised measurements beside 33 categories.
"""

from itertools import cycle, islice

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets import shared

C = 1.0
#: Numbers of categories in turn, of the fields of `mixed`.
_CARDINALITIES = (3, 12, 30, 5, 8, 20, 4, 15, 6, 10)


def load(pairs: bool = False):
    """The ten numbers in ten bins each; yes or no as one column, or as a pair."""
    X, y = _read()
    fields = [_one_hot(_binned(X[:, j], 10)) for j in range(10)]
    yes = X[:, 10:].astype(np.float64)
    fields += [_one_hot(column) for column in yes.T] if pairs else [sp.csr_array(yes)]
    return sp.hstack(fields, format="csr"), y


def mixed(n: int = 200_000):
    """The matrix, labels, and noise scales: 1 for what is measured, else 0."""
    X, y = _read()
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X[rows], y[rows]
    numbers = X[:, :7] - X[:, :7].mean(axis=0)
    fields = [sp.csr_array(numbers / numbers.std(axis=0))]
    fields += [
        _one_hot(X[:, kind].argmax(axis=1)) for kind in (slice(10, 14), slice(14, 54))
    ]
    sizes = islice(cycle(_CARDINALITIES), 31)
    fields += [_one_hot(_binned(X[:, k % 10], size)) for k, size in enumerate(sizes)]
    table = sp.hstack(fields, format="csr")
    return table, y, (np.arange(table.shape[1]) < 7).astype(np.float64)


def _read():
    with np.load(shared("covtype.npz")) as data:
        return data["X"], np.where(data["y"] == 2, 1, -1)


def _binned(column, size: int) -> np.ndarray:
    inner = np.linspace(0, 1, size + 1)[1:-1]
    return np.searchsorted(np.unique(np.quantile(column, inner)), column, side="right")


def _one_hot(codes) -> sp.csr_array:
    found, code = np.unique(codes, return_inverse=True)
    entries = np.ones(code.size), code.astype(np.int32), np.arange(code.size + 1)
    return sp.csr_array(entries, (code.size, found.size))
