"""`screen`: what a primal and a dual point prove of samples and features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wideberth.problem import Pair, Problem
from wideberth.problem.changes import check_radii, presolve
from wideberth.problem.statement import Statement, from_keywords
from wideberth.problem.validation import check_vector
from wideberth.screening import (
    Partition,
    null_point,
    screen_both,
    screen_points,
    tells_something,
)


def screen(
    X,
    y,
    w,
    alpha,
    *,
    C,
    radius=None,
    noise="l2",
    X_err=None,
    error_shape="ellipsoid",
    sample_weight=None,
    norm_penalty=0.0,
    fit_intercept=True,
    intercept_penalty=0.0,
    loss="hinge",
    quantile=0.5,
    region="ellipsoid",
    test=None,
    b=None,
    features=False,
) -> Partition:
    """Decide, from any primal and dual point, which samples cannot matter.

    Parameters
    ----------
    X, y : array or CSR matrix of shape (n, d); labels of two classes, or numbers
    w, alpha : arrays of shape (d,) and (n,)
        Any primal point and any dual point (repaired if not feasible). The closer they
        are to the optimum, the more is decided; decisions are right whatever they are.
    C, radius, noise, X_err, error_shape, sample_weight
    norm_penalty, fit_intercept, intercept_penalty, loss, quantile
        The problem; see `solve`.
    region : {"ellipsoid", "midpoint", "gap"}
        Where the optimum is sought; "ellipsoid" is the strongest for every shape.
    test : {"separable", "tilted", "ellipsoid", "tangent"}, optional
        Use this test alone; by default all that apply.
    b : float, optional
        Intercept that goes with w; by default the best one.
    features : bool
        Whether to prove features zero as well: those of box noise, for all samples or
        for every cell (theory §10). Without them samples are smaller, so that more of
        them may be decided. Noise of other shapes leaves no feature out.

    Returns
    -------
    Partition
        Boolean arrays `removed`, `saturated`, `free` and the bounds behind them, and
        `removed_features` if they were asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import screen, solve
    >>> X = np.array([[2.0, 0.1], [1.5, -0.1], [-2.0, 0.1], [-1.5, -0.1]])
    >>> y, options = [1, 1, 0, 0], {"C": 1.0, "radius": 0.2, "noise": "linf"}
    >>> found = solve(X, y, **options)
    >>> screen(X, y, found.w, found.alpha, **options, features=True).removed_features
    array([False,  True])
    """
    statement = from_keywords(Statement, locals())
    problem = Problem.of(X, y, statement)
    w = check_vector(w, problem.rows.d, "w")
    alpha = check_vector(alpha, problem.n, "alpha")
    b = None if b is None else float(check_vector([b], 1, "b")[0])
    units = presolve(problem, tilt=statement.tilt)
    check_radii(units)
    problem = units.posed
    with np.errstate(all="ignore"):  # a point that overflows is stood in for
        w, b, alpha = units.inward(w, b, alpha)
        point = problem.at(w, b)
        dual = problem.dual_at(alpha, near=point.w)
    null = null_point(problem)
    point = point if tells_something(point, null) else null
    pair = Pair(point, dual)
    with_features = screen_both if features else screen_points
    found = with_features(problem, pair, region=region, test=test)
    where = None if found.region is None else found.region.restored(units)
    return replace(found, region=where)
