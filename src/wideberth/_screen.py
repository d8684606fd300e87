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
    """Find samples that cannot influence the model, from any primal and dual point.

    Parameters
    ----------
    X, y : array or CSR matrix of shape (n, d); labels of two classes, or numbers
    w, alpha : arrays of shape (d,) and (n,)
        Any primal point and any dual point (repaired if not feasible). Decisions are
        correct for all points; the closer to the optimum, the more samples are decided.
    C, radius, noise, X_err, error_shape, sample_weight
    norm_penalty, fit_intercept, intercept_penalty, loss, quantile
        The problem; see `solve`.
    region : {"ellipsoid", "midpoint", "gap"}
        The region that contains the optimum; "ellipsoid" decides most for every shape.
    test : {"separable", "tilted", "ellipsoid", "tangent"}, optional
        Use only this test; by default all that apply.
    b : float, optional
        Intercept that goes with w; by default the best one.
    features : bool
        Whether to prove that weights of features are 0, with box noise for all samples
        or for every cell (theory §10). This may also decide more samples. With other
        shapes no weight is 0.

    Returns
    -------
    Partition
        Boolean arrays `removed`, `saturated`, `free` and the bounds they follow from;
        `removed_features` if `features` is True.

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
