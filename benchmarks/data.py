"""Data sets of the benchmarks: those beside the repository, and synthetic ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

#: Where the larger data sets lie when they are there at all.
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def covtype() -> tuple[np.ndarray, np.ndarray] | None:
    """Forest cover type, class 2 against the rest, standardised (581 012×54)."""
    source = SHARED / "covtype.npz"
    if not source.exists():
        return None
    with np.load(source) as data:
        X, y = data["X"].astype(np.float64), np.where(data["y"] == 2, 1, -1)
    deviation = X.std(axis=0)
    X -= X.mean(axis=0)
    X /= np.where(deviation > 0, deviation, 1.0)
    return X, y


def news20(*, unit_rows: bool) -> tuple[sp.csr_array, np.ndarray] | None:
    """20 newsgroups, classes 1–10 against 11–20 (15 935×62 061 word counts)."""
    loaded = _libsvm("news20.bz2")
    if loaded is None:
        return None
    X, classes = loaded
    if unit_rows:
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).reshape(-1))
        X.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(X.indptr))
    return X, np.where(classes <= 10, 1, -1)


def a9a() -> tuple[sp.csr_array, np.ndarray] | None:
    """Adult, one-hot (32 561×123)."""
    loaded = _libsvm("a9a.bz2")
    return loaded if loaded is None else (loaded[0], loaded[1].astype(int))


def _libsvm(name: str) -> tuple[sp.csr_array, np.ndarray] | None:
    """A file in LIBSVM's format, with the index type scikit-learn asks for."""
    if not (SHARED / name).exists():
        return None
    X, y = load_svmlight_file(str(SHARED / name))
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array((X.data, indices, indptr), shape=X.shape), y


def text(n: int, d: int, words: int, seed: int = 0):
    """Rows of word counts: few words a row, drawn by Zipf's law, unit norm."""
    rng = np.random.default_rng(seed)
    ranks = 1.0 / np.arange(1, d + 1)
    columns = rng.choice(d, size=n * words, p=ranks / ranks.sum())
    indptr = np.arange(0, n * words + 1, words)
    X = sp.csr_array((np.ones(n * words), columns, indptr), shape=(n, d))
    X.sum_duplicates()
    X.data = 1 + np.log(X.data)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).reshape(-1))
    X.data /= np.repeat(norms, np.diff(X.indptr))
    scores = X @ rng.normal(size=d)
    y = np.where(scores + 0.3 * scores.std() * rng.normal(size=n) > 0, 1, -1)
    return X, y


def tall(n: int, d: int = 50, flipped: float = 0.1, seed: int = 0):
    """Gaussian rows, a linear rule, and a share of labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    y[rng.random(n) < flipped] *= -1
    return X, y
