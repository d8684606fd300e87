"""Certificates hold in 200-bit arithmetic, and what is found is the minimum.

Random problems of every shape, intercept, weight, form of data and solver; the oracle
(`oracle.py`) reads the problem as it is stated and shares no code with the package.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import Answer, Task, judge, optimum, primal_value
from wideberth import solve

TOL = 1e-6
SHAPES = ("l2", "linf", "l1", "scales", "covariance", "cells", "cell boxes", "rows")
SOLVERS = ("auto", "newton", "coordinate")
INTERCEPTS = (None, 0.0, 0.7)
FORMS = ("dense", "csr", "float32", "fortran")


@st.composite
def stated(draw, losses=("hinge",)):
    """Arguments of `solve`, and the same as a task of the oracle."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    loss, shape = draw(st.sampled_from(losses)), draw(st.sampled_from(SHAPES))
    most = 4 if shape == "cells" else 30  # 200-bit sums of ellipsoids are slow
    n, d = draw(st.integers(2, most)), draw(st.integers(1, 5))
    unit = draw(st.sampled_from([1.0, 1.0, 1e-3, 1e4]))
    y = np.where(rng.random(n) < draw(st.sampled_from([0.5, 0.1])), 1, -1)
    y[:2] = 1, -1
    X = rng.normal(size=(n, d)) + draw(st.sampled_from([0.0, 1.0, 3.0])) * y[:, None]
    if draw(st.booleans()):  # equal rows
        X[n // 2 :] = X[: n - n // 2]
    if draw(st.booleans()):
        X[rng.random(X.shape) < 0.5] = 0.0
    X = unit * X
    form = draw(st.sampled_from(FORMS))
    X = X.astype(np.float32) if form == "float32" else X
    options = {"C": 10.0 ** draw(st.integers(-3, 3)) / unit**2}
    size = draw(st.sampled_from([0.0, 0.05, 0.5, 3.0]))
    options |= _noise(shape, size * unit, n, d, rng)
    if draw(st.booleans()):
        options["sample_weight"] = rng.integers(0, 3, size=n).astype(float)
        options["sample_weight"][:2] = 1.0
    if loss == "quantile":
        y = X @ rng.normal(size=d) / unit + rng.normal(size=n)
        options |= {"loss": loss, "quantile": draw(st.sampled_from([0.1, 0.5, 0.8]))}
    intercept = draw(st.sampled_from(INTERCEPTS))
    task = Task(X.astype(float), y, intercept=intercept, **options)
    options["fit_intercept"] = intercept is not None
    options["intercept_penalty"] = intercept or 0.0
    X = sp.csr_array(X) if form == "csr" else X
    X = np.asfortranarray(X) if form == "fortran" else X
    return X, y, options, task


def _noise(shape, size, n, d, rng) -> dict:
    if shape in ("l2", "linf", "l1"):
        return {"noise": shape, "radius": size}
    if shape == "rows":
        return {"noise": "l2", "radius": size * rng.uniform(0, 2, size=n)}
    if shape == "scales":
        return {"noise": size * rng.uniform(0, 2, size=d), "radius": 1.0}
    if shape == "covariance":
        root = size * rng.normal(size=(d, d))
        return {"noise": root @ root.T + 1e-12 * size**2 * np.eye(d), "radius": 1.0}
    cells = size * rng.uniform(0, 2, size=(n, d))
    kind = "box" if shape == "cell boxes" else "ellipsoid"
    return {"X_err": cells, "error_shape": kind, "radius": 1.0}


def is_a_ball(options) -> bool:
    """Whether the noise is a ball, which sweeps need."""
    return "X_err" not in options and np.array_equal(options["noise"], "l2")


def answer(found, task) -> Answer:
    proof = found.certificate
    parts = found.w, found.b, found.alpha, proof.primal, proof.dual, proof.rounding
    return Answer(*parts, found.converged, balanced=task.intercept == 0)


@given(stated(), st.sampled_from(SOLVERS))
@settings(max_examples=100)
def test_certificates_hold_in_exact_arithmetic(problem, solver):
    X, y, options, task = problem
    if solver == "coordinate" and not is_a_ball(options):
        solver = "auto"
    found = solve(X, y, tol=TOL, solver=solver, quiet=True, **options)
    assert not judge(task, answer(found, task), TOL).complaints
    assert found.converged


@given(stated(losses=("hinge", "quantile")))
@settings(max_examples=60)
def test_the_minimum_is_that_of_a_conic_model(problem):
    pytest.importorskip("cvxpy")
    X, y, options, task = problem
    found = solve(X, y, tol=1e-7, quiet=True, **options)
    best, proof = optimum(task), found.certificate
    slack = proof.rounding + 1e-12 * abs(best.value)
    # Any point is above the minimum, so also above what is claimed to be below it.
    assert proof.dual <= best.value + slack
    exact = float(primal_value(task, found.w, found.b))
    assert abs(exact - proof.primal) <= proof.rounding + 1e-13 * exact
    # P is 1-strongly convex in w: two points near the minimum are near each other.
    gaps = max(proof.gap + proof.rounding, 0.0), max(best.value - proof.dual, 0.0)
    apart = np.linalg.norm(found.w - best.w)
    assert apart <= sum(np.sqrt(2 * (g + slack)) for g in gaps)
