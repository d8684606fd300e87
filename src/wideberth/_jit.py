"""numba with this project's settings: lazy, cached, plain functions, IEEE arithmetic.

Imported only where a compiled kernel is about to run: numba takes a third of a second.
"""

from __future__ import annotations

from collections.abc import Callable

import numba

__all__ = ["jit"]


def jit(function: Callable) -> Callable:
    """Compile on first call and keep the result on disk, where a disk lets us."""
    try:
        return numba.njit(function, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # no directory to write a cache to
        return numba.njit(function, nogil=True, error_model="numpy")
