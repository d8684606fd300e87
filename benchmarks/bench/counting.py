"""Counts that no noisy machine can blur: kernel calls and the rows they touch.

Every product over rows tells `wideberth.problem.rows.Passes` how many it touches; here
each of these calls is written down, with the function that made it, whatever problem or
helper problem it belongs to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType

from wideberth.problem.rows import Passes

__all__ = ["Counts", "counting"]


@dataclass
class Counts:
    """Kernel calls, and rows touched by each function that reads rows."""

    calls: int = 0
    rows: dict[CodeType, int] = field(default_factory=dict)

    def passes(self, n: int) -> float:
        """Rows touched in all, in units of a data set of n rows."""
        return sum(self.rows.values()) / n


@contextmanager
def counting(owns: Callable[[CodeType], bool] = lambda code: True) -> Iterator[Counts]:
    """Count what runs inside, in this process.

    A call is put down to the innermost function that `owns` accepts.
    """
    counts, add = Counts(), Passes.add

    def noted(self: Passes, rows: int) -> None:
        counts.calls += 1
        frame = sys._getframe(1)
        while frame.f_back is not None and not owns(frame.f_code):
            frame = frame.f_back
        code = frame.f_code
        counts.rows[code] = counts.rows.get(code, 0) + rows
        add(self, rows)

    Passes.add = noted
    try:
        yield counts
    finally:
        Passes.add = add
