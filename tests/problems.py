"""Random robust SVMs for the tests: every shape, intercept, weight and oddity."""

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from wideberth.problem import Problem

SHAPES = ("l2", "linf", "l1", "ellipsoid")
INTERCEPTS = (None, 1.0, 0.0)


def make_problem(
    seed,
    *,
    n=30,
    d=4,
    C=1.0,
    radius=0.1,
    shape="l2",
    intercept=None,
    spread_radii=False,
    weights="ones",
    oddity=None,
    sparse=False,
    dtype=np.float64,
    separation=1.0,
):
    """Two Gaussian clouds, made difficult in the ways asked for."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    if oddity == "tiny class":
        y[:] = 1
    y[:2] = 1, -1
    X = rng.normal(size=(n, d)) + separation * y[:, None] * rng.normal(size=d)
    if oddity == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    if oddity == "constant column":
        X[:, 0] = 2.0
    if oddity == "zero column":
        X[:, -1] = 0.0
    if sparse:
        X[rng.random(X.shape) < 0.6] = 0.0
    noise = shape
    if shape == "ellipsoid":
        noise = rng.uniform(0.0, 2.0, size=d)
        if d > 1:
            noise[rng.integers(d)] = 0.0
    sample_weight = None
    if weights == "random":
        sample_weight = rng.exponential(size=n)
    if weights == "some zero":
        sample_weight = rng.integers(0, 3, size=n).astype(float)
        sample_weight[:2] = 1.0
    radii = radius * rng.uniform(0, 2, size=n) if spread_radii else radius
    X = X.astype(dtype)
    return Problem.from_data(
        sp.csr_array(X) if sparse else X,
        y,
        C=C,
        radius=radii,
        noise=noise,
        sample_weight=sample_weight,
        intercept=intercept,
    )


def problems(shapes=SHAPES, intercepts=INTERCEPTS, max_n=40, max_d=6, log_C=(-4, 4)):
    """Strategy over `make_problem`."""
    return st.builds(
        make_problem,
        seed=st.integers(0, 2**32 - 1),
        n=st.integers(4, max_n),
        d=st.integers(1, max_d),
        C=st.floats(*log_C).map(lambda e: 10.0**e),
        radius=st.sampled_from([0.0, 0.01, 0.1, 0.5, 2.0, 20.0]),
        shape=st.sampled_from(shapes),
        intercept=st.sampled_from(intercepts),
        spread_radii=st.booleans(),
        weights=st.sampled_from(["ones", "random", "some zero"]),
        oddity=st.sampled_from(
            [None, "duplicates", "constant column", "zero column", "tiny class"]
        ),
        sparse=st.booleans(),
        dtype=st.sampled_from([np.float32, np.float64]),
        separation=st.sampled_from([0.0, 0.5, 3.0]),
    )


def random_alpha(problem, rng):
    """A feasible dual point with entries at both bounds and between."""
    share = np.clip(rng.uniform(-0.5, 1.5, size=problem.n), 0, 1)
    return problem.repair(share * problem.weights)
