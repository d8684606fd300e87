"""Wall time of calls that take turns, so that a slow phase hits all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["in_turns", "timed"]


def timed(call: Callable) -> tuple[float, object]:
    """Seconds of one call, and what it returned."""
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def in_turns(calls: Sequence[Callable], repeats: int) -> list[float]:
    """Median seconds of each call."""
    times = [[timed(call)[0] for call in calls] for _ in range(repeats)]
    return np.median(times, axis=0).tolist()
