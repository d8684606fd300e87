"""Tunables of the coordinate solver."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CoordinateSettings:
    """How long to sweep, when to screen, and what is small.

    "Flat" says where the passes of `python -m benchmarks.coordinate` change by less
    than 5 % on average.

    Attributes
    ----------
    least_epochs : int
        Sweeps over the active rows between two looks at all rows, at least; 1 takes 1 %
        more passes and 4 takes 8 % fewer on average, either up to 1.5 times as many.
    call_entries : int
        Entries of X swept in one compiled call, which nothing can interrupt: a choice.
    least_screened : float
        Least share of rows that screening must decide to make a smaller copy worth
        while; flat from 0.1 to 0.5.
    block_rows : int
        Rows that are maximised over jointly, in the time of 4·150³ entries of a
        product; without them near-copies of opposite label stay unsolved.
    newton_size : int
        Largest number of rows or of features, whichever is less, at which Newton's
        method may take over: a choice that bounds the memory of its algebra at 18 MB;
        flat from 100 to 5000.
    """

    least_epochs: int = 2
    call_entries: int = 4_000_000
    least_screened: float = 0.5
    block_rows: int = 150
    newton_size: int = 1500
