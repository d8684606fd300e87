"""Time of calls that take turns, so that a slow phase hits all of them.

Wall time, unless another clock is given: `time.process_time` of the calls of one thread
is hardly disturbed by what else runs on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["in_turns", "timed"]


def timed(call: Callable, clock: Callable = time.perf_counter) -> tuple[float, object]:
    """Seconds of one call, and what it returned."""
    start = clock()
    found = call()
    return clock() - start, found


def in_turns(
    calls: Sequence[Callable], repeats: int, clock: Callable = time.perf_counter
) -> list[float]:
    """Median seconds of each call."""
    times = [[timed(call, clock)[0] for call in calls] for _ in range(repeats)]
    return np.median(times, axis=0).tolist()
