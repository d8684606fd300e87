"""Features proven to have no weight, alone and together with samples (theory §10).

Under noise that is a sum over features, boxes, w* has zeros. `multipliers.py` proves
them from what a pair of points tells of the dual weights of undecided samples.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wideberth.problem import Pair, Problem
from wideberth.problem.limits import CACHED_ENTRIES, MOST_STEPS
from wideberth.screening.bounds import quick_test
from wideberth.screening.multipliers import FreeDuals
from wideberth.screening.partition import Partition, screen_points
from wideberth.screening.regions import midpoint_radius


def screen_features(
    problem: Problem,
    pair: Pair,
    partition: Partition | None = None,
    columns: np.ndarray | None = None,
) -> np.ndarray:
    """Mask of the features proven to have w*_j = 0.

    Parameters
    ----------
    problem : Problem
        Of any noise; what is not a box, for all samples or for every cell, proves
        nothing.
    pair : Pair
        Any points of it. The closer they are to the optimum, the more is proven.
    partition : Partition, optional
        What is decided of the samples; by default what the pair tells.
    columns : array of indices, optional
        Features to test; by default all.

    Returns
    -------
    boolean array of shape (d,)

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth.problem import Pair, Problem
    >>> X = np.array([[2.0, 0.1], [1.5, -0.1], [-2.0, 0.1], [-1.5, -0.1]])
    >>> problem = Problem.from_data(X, [1, 1, 0, 0], radius=0.2, noise="linf")
    >>> point = problem.at(np.array([0.7, 0.0]))
    >>> pair = Pair(point, problem.dual_at(np.array([0.0, 0.3, 0.0, 0.3])))
    >>> screen_features(problem, pair)
    array([False,  True])
    """
    d = problem.rows.d
    zero = np.zeros(d, dtype=bool)
    radius = midpoint_radius(problem, pair)
    if not problem.noise.separable or not np.isfinite(radius):
        return zero
    if partition is None:
        test = quick_test(problem, "ellipsoid")
        partition = screen_points(problem, pair, test=test)
    free = FreeDuals.of(problem, pair, partition, radius)
    columns = np.arange(d) if columns is None else np.asarray(columns)
    # The right side is never below Φ_k of the dual point, whatever the multipliers.
    columns = columns[pair.dual.w[columns] == 0]
    with np.errstate(all="ignore"):  # what overflows proves nothing
        zero[columns] = free.stored(columns)
        columns = columns[~zero[columns]]
        near = np.abs(pair.dual.d[columns]) / free.most[columns]
        columns = columns[np.argsort(near)][: free.affordable(problem.rows.entries())]
        at_once = max(CACHED_ENTRIES // max(free.problem.n, 1), 1)
        for start in range(0, columns.size, at_once):
            part = columns[start : start + at_once]
            zero[part] = free.proves(part)
    return zero


def screen_both(
    problem: Problem, pair: Pair, region: str = "ellipsoid", test: str | None = None
) -> tuple[Partition, np.ndarray]:
    """Samples decided and features proven zero, each with the help of the other.

    Without the features that are 0 samples are shorter and less noisy, which decides
    more of them; and the fewer are free, the more features are proven.

    Parameters
    ----------
    problem, pair
        As of `screen_features`.
    region, test
        As of `screen`.

    Returns
    -------
    partition : Partition
        What is decided of the samples; its region is that of the problem as given.
    zero : boolean array of shape (d,)
        Features proven to have w*_j = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth.problem import Pair, Problem
    >>> X = np.array([[2.0, 0.1], [1.5, -0.1], [-2.0, 0.1], [-1.5, -0.1]])
    >>> problem = Problem.from_data(X, [1, 1, 0, 0], radius=0.2, noise="linf")
    >>> point = problem.at(np.array([0.7, 0.0]))
    >>> pair = Pair(point, problem.dual_at(np.array([0.0, 0.3, 0.0, 0.3])))
    >>> partition, zero = screen_both(problem, pair)
    >>> zero
    array([False,  True])
    """
    found = screen_points(problem, pair, region=region, test=test)
    zero = screen_features(problem, pair, found)
    small, kept, news = problem, np.arange(problem.rows.d), zero
    for _ in range(MOST_STEPS):
        if not news.any():
            break
        stay = np.flatnonzero(~news)
        small, kept = small.with_features(stay), kept[stay]
        point = small.at(pair.point.w[stay], pair.point.b)
        pair = Pair(point, small.dual_at(pair.dual.alpha, near=pair.dual.w[stay]))
        more = screen_points(small, pair, region=region, test=test)
        removed = found.removed | more.removed
        found = replace(
            found,
            removed=removed,
            saturated=(found.saturated | more.saturated) & ~removed,
            lower=np.fmax(found.lower, more.lower),
            upper=np.fmin(found.upper, more.upper),
        )
        news = screen_features(small, pair, found)
        zero[kept[news]] = True
    return found, zero
