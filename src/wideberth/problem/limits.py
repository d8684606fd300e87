"""Numbers that several modules compare with, each with its unit and its origin."""

from __future__ import annotations

import numpy as np

__all__ = [
    "BLOCK_ROWS",
    "CACHED_ENTRIES",
    "DEVICE_ENTRIES",
    "EPS",
    "FEW_FEATURES",
    "LITTLE",
    "MOSTLY_ZERO",
    "MOST_STEPS",
    "QUICK_GRAM",
    "TINY",
    "power_of_two",
]

#: Distance from 1 to the next float64.
EPS = float(np.finfo(np.float64).eps)
#: Least normal float64, which takes the place of 0 where something is divided by it or
#: has to be positive.
TINY = float(np.finfo(np.float64).tiny)
#: Largest exponent at which a power of two and its reciprocal are normal float64.
_LARGEST_EXPONENT = -int(np.finfo(np.float64).minexp)
#: Share of an error that may be left over where another one is to decide; a choice, an
#: order of magnitude (0.03 gives the same counts of `make bench-guard`).
LITTLE = 0.1
#: Number of steps after which an iteration that converges superlinearly is ended: a
#: guard against rounding that keeps it going, and no more.
MOST_STEPS = 100
#: Number of entries of a matrix that a processor's cache holds: 2 MB of float64.
CACHED_ENTRIES = 1 << 18
#: Number of rows of a block however few their features; it bounds the error of sums
#: over rows (`gamma` in `rows.py`).
BLOCK_ROWS = 1 << 14
#: Number of entries of a block on a device, which bounds its memory at 2 GB.
DEVICE_ENTRIES = 1 << 28
#: Largest number of features, or of rows, at which dense algebra is quick.
FEW_FEATURES = 100
#: Largest share of entries that are not zero at which sparse rows are the quicker ones.
MOSTLY_ZERO = 0.25
#: Largest number of products n·d² of a dense Gram matrix that takes no time to mention.
QUICK_GRAM = 2e7


def power_of_two(exponent: int) -> float:
    """2 to this power, kept where its reciprocal is a normal number too."""
    return 2.0 ** min(max(int(exponent), -_LARGEST_EXPONENT), _LARGEST_EXPONENT)
