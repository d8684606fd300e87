"""Problems under boxes and cross-polytopes, and when two answers to one are the same."""

from __future__ import annotations

import numpy as np

from wideberth import Box, CrossPolytope

#: Shapes by name; scales of which one is 0 make those that take them.
SHAPES = ("linf", "l1", "box", "cross-polytope")
_SCALED = {"box": Box, "cross-polytope": CrossPolytope}


def make_arguments(
    seed, *, shape="linf", n=30, d=5, C=1.0, radius=0.1, norm_penalty=0.0, informative=2
):
    """X, y and options of `solve`: few of the features tell the classes apart."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    y[:2] = 1, -1
    X = rng.normal(size=(n, d))
    X[:, :informative] += 1.2 * y[:, None]
    noise: object = shape
    if shape in _SCALED:
        scales = rng.uniform(0.5, 2.0, size=d)
        scales[-1] = 0.0 if d > 1 else 1.0
        noise = _SCALED[shape](scales)
    options = {"C": C, "radius": radius, "noise": noise, "norm_penalty": norm_penalty}
    return X, y, options


def assert_same(one, two, tol=1e-6):
    """Two certified answers to one strongly convex problem: values and w agree."""
    bounds = [answer.certificate.bound for answer in (one, two)]
    assert one.dual <= two.primal + sum(bounds)
    assert two.dual <= one.primal + sum(bounds)
    assert one.primal == two.primal or abs(one.primal - two.primal) <= tol * one.primal
    apart = np.linalg.norm(one.w - two.w)
    assert apart <= sum(np.sqrt(2 * bound) for bound in bounds)
