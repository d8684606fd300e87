"""One file per data set: `load()` returns (X, y) with labels −1 and +1.

The docstring of a file says what it holds; `C` and `RADIUS` are the weight of the
losses and, where a task has noise, its radius. `load` raises `Missing`, with the
reason, where the data is not there. Keyword arguments of `load`, if any, are sizes.

Files that are not part of the repository are looked for in the folder that the
environment variable `WIDEBERTH_DATA` names, by default `../shared/data` beside it.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

__all__ = ["Missing", "libsvm", "shared", "unit_rows"]

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


class Missing(Exception):
    """The data set is not on this machine."""


def shared(name: str) -> Path:
    """A file that is not part of the repository, where it is there at all."""
    named = os.environ.get("WIDEBERTH_DATA")
    file = (Path(named) if named else _BESIDE) / name
    if not file.exists():
        where = named or "../shared/data"
        raise Missing(f"no {where}/{name}; WIDEBERTH_DATA names the folder to look in")
    return file


def libsvm(name: str) -> tuple[sp.csr_array, np.ndarray]:
    """A file in LIBSVM's format, with the index type scikit-learn asks for."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(shared(name)))
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array((X.data, indices, indptr), shape=X.shape), y


def unit_rows(X: sp.csr_array) -> sp.csr_array:
    """Every row scaled to norm 1, in place."""
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).reshape(-1))
    X.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(X.indptr))
    return X
