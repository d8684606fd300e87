"""Every number that steers Newton's method; none of them bears on correctness."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SETTINGS", "NewtonSettings"]


@dataclass(frozen=True)
class NewtonSettings:
    """Tunables of `newton.py`, `subsample.py`, `walk.py` and `interior.py`.

    Counts are those of `python -m benchmarks.guard`. "Flat" means that within the range
    given no count changes by more than a twentieth.
    """

    #: Largest number of rows that are all handed to the engine at first; a sample costs
    #: more than it saves below it.
    direct_rows: int = 4000
    #: Rows of a sample are (factor · n · √d)^⅔: solving it then costs about as much as
    #: solving the rows that its error leaves near the margin (2.2 takes a tenth more
    #: passes on tall data, 12 none less).
    sample_factor: float = 6.0
    #: Largest share of the rows that a sample may hold; beyond it the sample costs as
    #: much as the problem.
    sample_share: float = 0.5
    #: Relative gap to which a sample of n rows is solved, times n/d; its sampling error
    #: makes more a waste.
    sample_accuracy: float = 0.01
    #: Least number of rows of a working set for each feature: with fewer the engine's
    #: solution is that of a few rows, and most others turn out to be settled wrongly.
    rows_per_feature: int = 4
    #: Relative gap below which the last move of the margins foretells the next ones, so
    #: that the engine may leave rows behind.
    steady_gap: float = 0.1
    #: Distance from the margin, in last moves, beyond which a row is taken as settled.
    settled_moves: float = 5.0
    #: Largest share of its rows that the engine keeps when it leaves others behind;
    #: copying more costs as much as it saves.
    kept_share: float = 0.6
    #: Number of wrongly settled rows, per row of the working set, beyond which a round
    #: tells only that it had too few rows; the next one has this many times as many.
    growth: int = 8
    #: Least share of the start's value that the engine may reach on a working set; a
    #: lower one shows that rows were settled wrongly (without it paths on spambase take
    #: a tenth more calls).
    plausible_value: float = 0.9
    #: Relative gap of a round below which the next one's bands are narrowed (always
    #: narrowing them costs paths on spambase 6 % more calls).
    narrowing_gap: float = 0.01
    #: Largest ratio of a gap to the smallest before that counts as progress.
    progress: float = 0.9
    #: Number of rounds without progress after which rounding is taken to forbid more.
    patience: int = 8
    #: Number of steps of the engine in one round; one that needs more starts afresh.
    steps: int = 60
    #: Least share of rows that screening must decide for a smaller copy to be made
    #: (flat from 0.2 to 0.7).
    screened_share: float = 0.5
    #: Share of the way to the boundary that a step of the engine may go.
    to_boundary: float = 0.995
    #: Least number of rows for each row of the sample whose walk predicts that of a
    #: path; the sample has at least `direct_rows` of them, or it is not worth while.
    walk_rows: int = 8
    #: Width of a path's bands, in errors of the predictions before.
    walk_errors: float = 3.0
    #: Largest share of the rows that these bands may hold.
    walk_share: float = 0.2


SETTINGS = NewtonSettings()
