"""Numbers that several modules compare with, each with its unit and its origin."""

from __future__ import annotations

import numpy as np

#: Distance from 1 to the next float64.
EPS = float(np.finfo(np.float64).eps)
#: Distance from 1 to the next float32.
COARSE = float(np.finfo(np.float32).eps)
#: Least number that takes the place of 0 where something is divided by it or has to be
#: positive: below all that problems in usual units hold, and yet numbers up to 10⁸ over
#: it are within float64 (with its end, 2·10⁻³⁰⁸, tests of screening overflow).
TINY = 1e-300
#: Largest exponent at which a power of two and its reciprocal are normal float64.
_LARGEST_EXPONENT = -int(np.finfo(np.float64).minexp)
#: Share of an error that may be left over where another one is to decide: a choice, an
#: order of magnitude (0.03 takes 3 % fewer passes and 2 % more kernel calls on average,
#: `python -m benchmarks.newton`).
LITTLE = 0.1
#: Number of steps, or of rounds in vain, after which iterations are ended that usually
#: end by themselves: a choice that protects from rounding which keeps them going
#: (`python -m benchmarks.newton` counts the same with 40).
MOST_STEPS = 100
#: Largest share of the rows that a smaller copy may hold: a sample, or those that the
#: interior-point method goes on with (at 0.3 up to a tenth more passes, at 0.7 up to
#: 1.8 times as many, at 1 up to 5 times); and largest relative change of C over which a
#: solution may leave as few of the next problem (flat from 0.3 to 0.7).
COPY_SHARE = 0.5
#: Number of entries of a matrix that a processor's cache holds, 2 MB of float64: of
#: data that counts as small, and of blocks of larger data. Products of float32 rows
#: with vectors, 400 000×20 to 300×50 000, take as long with 2¹⁶, and up to three times
#: as long with 2¹⁴ and with 2²⁰.
CACHED_ENTRIES = 1 << 18
#: Number of rows of a block however few their features: a choice, by which the proven
#: bound on the error of sums over rows stays below 2·10⁻¹² (`gamma` in `rows.py`).
BLOCK_ROWS = 1 << 14
#: Number of entries of a block on a device, of which a chunk has two: a choice that
#: bounds the memory of a float64 copy at 2 GB.
DEVICE_ENTRIES = 1 << 28
#: Largest number of features, or of rows, at which dense algebra is taken for free: a
#: choice (a factorisation of 100×100 takes a quarter of a millisecond).
FEW_FEATURES = 100
#: Number of rows that are few: they are all solved at once, since a sample costs more
#: than it saves (flat to 16 000 in passes; at 1 000 a fifth more calls), and they are
#: not searched for equal ones.
FEW_ROWS = 4000
#: Largest share of entries that are not zero at which sparse rows are the quicker ones:
#: at 0.2 by 1.2 to 2.4 times in products and Gram matrices; at 0.3 the Gram matrix of
#: dense ones is 1.4 times as quick (5 000×784 and 20 000×150, random, one thread).
MOSTLY_ZERO = 0.25
#: Largest number of products n·d² at which a dense Gram matrix costs too little to
#: spare: 1 to 2.5 ms (8 000×50 and 80 000×16, one thread).
QUICK_GRAM = 2e7


def power_of_two(exponent: int) -> float:
    """2 to this power, kept where its reciprocal is a normal number too."""
    return 2.0 ** min(max(int(exponent), -_LARGEST_EXPONENT), _LARGEST_EXPONENT)
