"""Which kernels do the arithmetic in this process: those of BLAS and of NumPy.

`python tools/kernels.py` has each of them work once and prints what it is, as JSON. As
a pytest plugin (`-p kernels`, this folder on the path) it ends a run, and each of its
workers, that computes with other kernels than `WIDEBERTH_KERNELS` says, in the same
JSON: an environment variable with a name that a library does not know is ignored by it
in silence.
"""

from __future__ import annotations

import json
import os

#: Holds the kernels that a test run must have, as `describe` gives them.
EXPECTED = "WIDEBERTH_KERNELS"


def describe() -> dict:
    """The kernels of this process, each having worked once."""
    return {"blas": _blas(), "numpy": _numpy()}


def _blas() -> dict[str, list]:
    """Architecture and threads of each BLAS that NumPy and SciPy brought along."""
    import numpy as np
    import scipy.linalg
    from threadpoolctl import threadpool_info

    for dtype in (np.float32, np.float64):
        A = np.random.default_rng(0).normal(size=(200, 120)).astype(dtype)
        gram = A.T @ A + np.eye(120, dtype=dtype)
        scipy.linalg.cho_solve(scipy.linalg.cho_factor(gram), A.T @ A[:, 0])
    return {
        _owner(library["filepath"]): [
            library.get("architecture", library["internal_api"]),
            library["num_threads"],
        ]
        for library in sorted(threadpool_info(), key=lambda each: each["filepath"])
        if library["user_api"] == "blas"
    }


def _owner(path: str) -> str:
    """The package that a library lies in: numpy.libs/… is NumPy's."""
    folder = os.path.basename(os.path.dirname(path))
    return folder.removesuffix(".libs").removeprefix(".")


def _numpy() -> list[str]:
    """Features above its baseline that NumPy has code for and uses here."""
    table = cpu_tables()
    return sorted(name for name in table.__cpu_dispatch__ if _enabled(name))


def cpu_tables():
    """NumPy's own tables of processor features."""
    from numpy._core import _multiarray_umath

    return _multiarray_umath


def _enabled(name: str) -> bool:
    return bool(cpu_tables().__cpu_features__.get(name, False))


def pytest_configure(config) -> None:
    """End a test run that has other kernels than it was started for."""
    import pytest

    expected, found = json.loads(os.environ[EXPECTED]), describe()
    if found != expected:
        raise pytest.UsageError(f"kernels: expected {expected}, found {found}")


if __name__ == "__main__":
    print(json.dumps(describe()))
