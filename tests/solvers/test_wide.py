"""Far more features than samples: systems as large as the samples are many."""

import tracemalloc

import numpy as np
import pytest

from measured import make_measured
from wideberth import Box, CrossPolytope, solve
from wideberth.problem import Problem
from wideberth.solvers import interior
from wideberth.solvers.algebra import ThinFactor
from wideberth.solvers.blocks import ConeSets, SmoothedSets
from wideberth.solvers.conic import solve_conic
from wideberth.solvers.interior import InteriorPoint

NOISES = [
    "error bars",
    "box error bars",
    "linf",
    "box",
    "scales",
    "l1",
    "cross-polytope",
]


def wide(noise, n=12, d=2_000, seed=0, size=0.05):
    """Rows, labels and noise as arguments of `solve`."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), np.where(np.arange(n) % 2, 1.0, -1.0)
    X[:, :20] += 0.5 * y[:, None]
    scales, errors = rng.uniform(0.1, 2, size=d), size * rng.exponential(size=(n, d))
    options = {
        "error bars": {"X_err": errors},
        "box error bars": {"X_err": errors, "error_shape": "box"},
        "box": {"noise": Box(scales), "radius": size},
        "scales": {"noise": scales, "radius": size},
        "cross-polytope": {"noise": CrossPolytope(scales), "radius": size},
    }
    return X, y, options.get(noise, {"noise": noise, "radius": size})


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_no_matrix_of_all_features_is_made(noise, C):
    X, y, options = wide(noise)
    tracemalloc.start()
    try:
        found = solve(X, y, C=C, tol=1e-6, solver="newton", **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.converged
    assert found.n_iter <= 60
    assert peak < 0.5 * 8 * X.shape[1] ** 2  # half of one such matrix


@pytest.mark.parametrize("noise", ["error bars", "box error bars"])
@pytest.mark.parametrize("size", [1e-6, 1.0])
def test_tiny_and_large_error_bars_are_proven(noise, size):
    X, y, options = wide(noise, size=size)
    assert solve(X, y, tol=1e-6, quiet=True, **options).converged


@pytest.mark.parametrize("block", [SmoothedSets, ConeSets])
def test_folded_error_bars_are_of_low_rank_too(block):
    """Samples far inside the margin may be folded: the answer is that of all."""
    X, y, options = wide("error bars", n=16, d=80)
    problem = Problem.from_data(X, y, C=0.005, intercept=0.0, **options)
    whole = solve_conic(problem)
    slack = problem.at(whole.w, whole.b).slack
    saturated = slack > 0.1
    assert 0 < saturated.sum() < 16
    fold = problem.fold(saturated)
    engine = InteriorPoint(problem.take(np.flatnonzero(~saturated), folded=fold))
    engine._begin(block(engine.problem, engine.block.rows))
    for _ in range(60):
        if engine.relative_gap <= 1e-9:
            engine.resync(afresh=True)
        if engine.relative_gap <= 1e-9 or not engine.step():
            break
    assert isinstance(engine.factor, ThinFactor)
    value = problem.at(engine.w, engine.b).value
    assert value == pytest.approx(whole.certificate.primal, rel=1e-6)


def test_what_does_not_fit_is_refused_by_name_before_it_is_tried(monkeypatch):
    X, y, options = wide("error bars", n=30, d=400)
    monkeypatch.setattr(interior, "MOST_BYTES", 1e5)
    with pytest.raises(ValueError, match=r"400 features; .*Give fewer features"):
        solve(X, y, solver="newton", **options)


# -- targets -------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["ellipsoid", "box", "covariance"])
@pytest.mark.parametrize("intercept", [None, 0.0, 2.0])
@pytest.mark.parametrize("shape", [(20, 4), (6, 15)])
def test_targets_of_both_signs_beside_error_bars_agree_with_the_oracle(
    form, intercept, shape
):
    n, d = shape
    problem = make_measured(3, n=n, d=d, form=form, C=3.0, intercept=intercept)
    targets = np.random.default_rng(4).normal(size=n)
    problem = problem.with_targets(targets)
    engine = InteriorPoint(problem)
    for _ in range(80):
        if engine.relative_gap <= 1e-8 or not engine.step():
            break
    found = problem.at(engine.w, engine.b)
    dual = problem.dual_at(engine.alpha, near=engine.w)
    assert problem.certificate(found, dual).gap <= 1e-6 * problem.least_scale
    exact = solve_conic(problem).certificate.primal
    assert found.value == pytest.approx(exact, rel=1e-5, abs=1e-6 * problem.least_scale)
