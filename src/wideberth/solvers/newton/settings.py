"""Every number that steers Newton's method; none of them bears on correctness."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NewtonSettings:
    """Tunables of `rounds.py`, `tall/search.py` and what these stand on.

    Origins are passes and kernel calls of paths and single problems on breast cancer,
    spambase, a9a and tall data of 3 000 to 400 000 rows: `python -m benchmarks.newton
    copy_share=1` counts them anew. "Flat" means that no problem changes by more than a
    twentieth within the range.
    """

    #: Largest number of rows that are all handed to the engine at first; below it a
    #: sample costs more than it saves (flat to 16 000 in passes; at 1 000 a fifth more
    #: calls).
    direct_rows: int = 4000
    #: Factor in the number of rows of a sample, (factor · n · √d)^⅔, at which solving
    #: it costs about as much as the rows that its error leaves near the margin (2.2 and
    #: 12 take up to a tenth more passes on tall data).
    sample_factor: float = 6.0
    #: Relative gap to which a sample of n rows is solved, times n/d; its sampling error
    #: makes more a waste (flat from 0.001 to 0.03; at 0.1 a seventh more passes on tall
    #: data).
    sample_accuracy: float = 0.01
    #: Half width of the bands that a sample leaves, in standard errors (3 takes from a
    #: tenth fewer to twice as many passes on covtype's classes, against the rest).
    sampling_errors: float = 5.0
    #: Distance from the margin, in bands, up to which a row is as likely to cross it as
    #: any nearer one (0.05 and 0.2 take up to three times the passes where most rows
    #: are tied).
    well_within: float = 0.5
    #: Largest share of the rows that a smaller copy may hold: a sample, the rows that
    #: the engine goes on with, or those that screening leaves (at 0.3 up to a tenth
    #: more passes, at 0.7 up to 1.8 times as many, at 1 up to 5 times); and largest
    #: relative change of C over which a solution may leave as few of the next problem
    #: (flat from 0.3 to 0.7, up to 15 % more passes without a limit).
    copy_share: float = 0.5
    #: Least number of rows of a working set for each feature; with fewer the solution
    #: is that of a few rows, and most others turn out to be settled wrongly (flat from
    #: 2 to 4).
    rows_per_feature: int = 4
    #: Distance from the margin, in last moves, beyond which the engine takes a row as
    #: settled (10 takes from a sixth fewer to a sixth more passes).
    settled_moves: float = 5.0
    #: Largest number of entries of a working set that is kept whole: to look for rows
    #: that have settled costs more than to step on them (a fifth of a call at 5 000
    #: entries, nothing at 20 000, and from there on it pays).
    kept_entries: int = 1 << 14
    #: Number of wrongly settled rows, per row of the working set, beyond which a round
    #: tells only that it had too few rows; the next one has this many times as many
    #: (a choice for starts that are far off; the benchmark has none and counts the
    #: same from 2 to 1000).
    growth: int = 8
    #: Number of times that a round goes back to where it left rows behind that it needs
    #: (with 1, which is never, up to twice as many passes on tall data).
    most_returns: int = 4
    #: Least share of the start's value that the engine may reach on a working set; a
    #: lower value shows that rows were settled wrongly (without it paths take a
    #: twentieth more calls, at 1 three times the passes).
    plausible_value: float = 0.9
    #: Relative gap of a round below which the next one's bands are narrowed (narrowing
    #: them always costs paths up to a tenth more calls).
    narrowing_gap: float = 0.01
    #: Number of rounds without progress after which rounding is taken to forbid more (a
    #: choice for the end of float64; the benchmark counts the same from 0 to 30).
    patience: int = 8
    #: Least distance of the shares α/c from 0 and 1 at which the engine starts, and
    #: least Ω(w) as a share of the largest that a w of this length can have (0.01 and
    #: 0.05 are even; 0.2 takes up to 1.4 times the passes).
    start_inside: float = 0.05
    #: Least distance from the margin, and least Ω(w), that a start is made with: zero
    #: would be on the boundary (a choice).
    least_distance: float = 1e-9
    #: Share of the way to the boundary that a step of the engine may go, as is usual in
    #: Mehrotra's method.
    to_boundary: float = 0.995
    #: Number of passes after which a search over batches is given up (a choice; those
    #: of `python -m benchmarks.caps` take 4 to 8).
    most_passes: int = 40
    #: Least share of the way to a solution on too few rows that is gone (a choice).
    least_way: float = 1e-3
    #: Factor by which bands are widened that hold too few rows to go on (a choice).
    widening: float = 30.0
    #: Share of the last move of a margin that its next move may have (a choice).
    next_move: float = 0.1
    #: Least distance from the margin within which a search gathers rows, in mean
    #: distances of all rows (a choice).
    least_band: float = 1e-5
    #: Distance of the share α/c from 0 and 1 up to which a row is grouped as one at
    #: that bound (a choice; solutions on groups are about as exact).
    at_bound: float = 1e-3
    #: Largest number of steps on groups, whose weights differ much (a choice; those of
    #: `python -m benchmarks.caps` take 33 to 70).
    steps_on_groups: int = 200
    #: Number of rows for each row of the sample whose walk predicts that of a path; a
    #: sample of fewer than `direct_rows` rows is not worth while (without the walk a
    #: path over 60 000 rows takes 1.7 times the passes).
    walk_rows: int = 8
    #: Rows of a path's working set for each that would have been enough before (flat
    #: from 1.5 to 2; paths take up to a tenth more steps at 1.2, passes at 2.5).
    walk_reserve: float = 1.5
    #: Largest share of the rows at which those near the margin are few, and share over
    #: which the Hessian of a sample is smoothed (flat from 0.1 to 0.5 on average).
    near_share: float = 0.2


SETTINGS = NewtonSettings()

#: Products over the rows in a step of Newton's method: a Gram matrix and five more.
STEP_PRODUCTS = 6
