"""Numbers that several modules compare with, each with its unit and its origin."""

from __future__ import annotations

import numpy as np

#: Distance from 1 to the next float64.
EPS = float(np.finfo(np.float64).eps)
#: Distance from 1 to the next float32.
COARSE = float(np.finfo(np.float32).eps)
#: Replaces 0 where a number has to be positive: smaller than any number of a problem in
#: usual units, and yet 10⁸ ÷ it does not overflow, as 10⁸ ÷ 2·10⁻³⁰⁸ would.
TINY = 1e-300
#: Largest exponent at which a power of two and its reciprocal are normal float64.
_LARGEST_EXPONENT = -int(np.finfo(np.float64).minexp)
#: Largest ratio of an error to another one beside which it is negligible: a choice, one
#: order of magnitude (`python -m benchmarks.newton`: 0.03 changes passes by 3 %).
LITTLE = 0.1
#: Largest number of steps of iterations that end by themselves unless rounding keeps
#: them going: a choice (`python -m benchmarks.newton` counts the same with 40).
MOST_STEPS = 100
#: Largest share of the rows that are worth copying: a sample, or the rows that the
#: interior-point method continues with (`python -m benchmarks.newton`: 0.3 takes up to
#: a tenth more passes, 0.7 up to 1.8 times as many); also the largest relative change
#: of C over which a solution decides rows of the next problem (flat from 0.3 to 0.7).
COPY_SHARE = 0.5
#: Number of float64 entries that a processor's cache holds, 2 MB: the largest data that
#: counts as small, and the size of blocks of larger data. Products of float32 rows with
#: vectors take as long with 2¹⁶, and up to three times as long with 2¹⁴ or 2²⁰.
CACHED_ENTRIES = 1 << 18
#: Largest number of rows of a block: a choice that keeps the proven relative error of
#: sums over a block below 2·10⁻¹² (`gamma` in `rows.py`).
BLOCK_ROWS = 1 << 14
#: Largest number of entries of a block on a device, half of a chunk: a choice that
#: limits a float64 copy to 2 GB.
DEVICE_ENTRIES = 1 << 28
#: Largest number of features, or of rows, at which the cost of dense factorisations is
#: neglected: a choice (one of 100×100 takes a quarter of a millisecond).
FEW_FEATURES = 100
#: Number of rows that are few: they are all solved at once, since a sample costs more
#: than it saves (flat to 16 000 in passes; at 1 000 a fifth more calls), and they are
#: not searched for equal ones.
FEW_ROWS = 4000
#: Largest share of nonzero entries at which sparse rows are quicker than dense ones: at
#: 0.2 by 1.2 to 2.4 times, and at 0.3 slower by 1.4 times in Gram matrices (5 000×784
#: and 20 000×150, random, one thread).
MOSTLY_ZERO = 0.25
#: Largest number of products n·d² at which the cost of a dense Gram matrix is
#: neglected: 1 to 2.5 ms (8 000×50 and 80 000×16, one thread).
QUICK_GRAM = 2e7


def power_of_two(exponent: int) -> float:
    """2 to this power, limited so that it and its reciprocal are normal numbers."""
    return 2.0 ** min(max(int(exponent), -_LARGEST_EXPONENT), _LARGEST_EXPONENT)
