"""Robust quantile regression (theory §15), held against its definition and the oracle."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import QuantileRegressor

from problems import INTERCEPTS, intercept_options
from safety import examine_quantiles
from wideberth import Box, critical_radius, path, screen, solve
from wideberth.problem import Problem
from wideberth.problem.changes import build_problem
from wideberth.problem.statement import Statement
from wideberth.solvers.conic import solve_conic

LEVELS = (0.1, 0.5, 0.85)
SHAPES = ("l2", "linf", "l1", "scales", "cells", "tolerances", "lopsided")
seeds = st.integers(0, 2**32 - 1)


def draw(seed, shape="l2", intercept=0.0, tau=0.5, n=40, d=3, weights=False):
    """Data with heavy tails, and what is stated about it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    t = X @ rng.normal(size=d) + 0.5 * rng.standard_t(2, size=n) + rng.normal() * 3
    stated = {"C": 10 ** rng.uniform(-2, 1), "radius": rng.uniform(0, 0.4)}
    if shape == "scales":
        stated["noise"] = rng.uniform(0, 1, size=d)
    elif shape in ("l2", "linf", "l1"):
        stated["noise"] = shape
    elif shape == "lopsided":
        pair = rng.uniform(0, 1, size=(n, d)), rng.uniform(0, 1, size=(n, d))
        stated |= {"X_err": pair, "error_shape": "box"}
    else:
        stated["X_err"] = rng.uniform(0, 1, size=(n, d))
        stated["error_shape"] = "ellipsoid" if shape == "cells" else "box"
    stated |= intercept_options(intercept)
    if weights:
        stated["sample_weight"] = rng.integers(0, 3, size=n).astype(float)
    return X, t, stated | {"loss": "quantile", "quantile": tau}


def objective(X, t, stated, w, b):
    """The definition: the largest pinball loss within the noise of every sample."""
    tau, n = stated["quantile"], len(t)
    plain = {k: v for k, v in stated.items() if k not in ("loss", "quantile")}
    problem = Problem.of(X, np.arange(n) % 2, Statement(**plain))
    middle = X if problem.measured is None else problem.rows.X
    move, r = problem.noise.supports(w), t - np.asarray(middle) @ w - b
    losses = np.maximum(tau * (r + move), (1 - tau) * (move - r))
    return (
        0.5 * w @ w
        + 0.5 * stated["intercept_penalty"] * b * b
        + (problem.weights @ losses)
    )


@pytest.mark.parametrize("tau", LEVELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_objective_is_the_largest_pinball_loss(shape, tau):
    for seed, intercept in enumerate(INTERCEPTS):
        X, t, stated = draw(seed, shape, intercept, tau, weights=seed == 1)
        found = solve(X, t, **stated, quiet=True)
        value = objective(X, t, stated, found.w, found.b)
        assert found.primal == pytest.approx(value, rel=1e-10)
        assert found.converged


@pytest.mark.parametrize("tau", LEVELS)
@pytest.mark.parametrize("shape", SHAPES[:-1])
def test_the_optimum_is_that_of_the_oracle(shape, tau):
    for seed, intercept in enumerate(INTERCEPTS):
        X, t, stated = draw(seed, shape, intercept, tau)
        oracle = solve_conic(build_problem(X, t, Statement(**stated)).posed)
        found = solve(X, t, **stated, quiet=True)
        assert found.primal == pytest.approx(
            oracle.certificate.primal, abs=1e-5 * found.certificate.scale
        )


@given(
    seeds, st.sampled_from(SHAPES), st.sampled_from(INTERCEPTS), st.floats(0.02, 0.98)
)
@settings(max_examples=60)
def test_no_dual_point_is_above_a_primal_one(seed, shape, intercept, tau):
    X, t, stated = draw(seed, shape, intercept, tau, n=12)
    rng = np.random.default_rng(seed)
    problem = build_problem(X, t, Statement(**stated)).posed
    dual = problem.dual_at(problem.weights * rng.random(problem.n))
    for w in (rng.normal(size=3), dual.w, np.zeros(3)):
        certificate = problem.certificate(problem.at(w), dual)
        assert certificate.gap >= -certificate.rounding


@pytest.mark.parametrize("first", range(0, 42, 7))
def test_no_sample_is_proven_on_the_wrong_side(first):
    found = sum(examine_quantiles(range(first, first + 7)).values(), Counter())
    assert found["decisions"] > 500
    assert found["wrong"] == found["violated"] == found["outside"] == 0


def test_boxes_at_the_median_are_the_lad_lasso():
    X, t, stated = draw(0, n=200, d=8)
    stated |= {"C": 1.0, "radius": 0.0}
    price = 0.5 * 200 * 0.3
    robust = solve(X, t, **stated | {"radius": 0.3, "noise": "linf"})
    lasso = solve(X, t, **stated | {"noise": "linf"}, norm_penalty=price)
    assert robust.primal == pytest.approx(lasso.primal, rel=1e-6)
    np.testing.assert_allclose(robust.w, lasso.w, atol=1e-4)


def test_a_small_ridge_gives_scikit_learns_quantile_regression():
    X, t, _ = draw(1, n=150)
    for tau in LEVELS:
        theirs = QuantileRegressor(quantile=tau, alpha=0.01).fit(X, t)
        C = 1e6 / 150
        ours = solve(
            X, t, loss="quantile", quantile=tau, C=C, noise="linf", radius=0.0,
            norm_penalty=1e6 * 0.01, tol=1e-8,
        )  # fmt: skip
        np.testing.assert_allclose(ours.w, theirs.coef_, atol=1e-4)
        assert ours.b == pytest.approx(theirs.intercept_, abs=1e-3)


@pytest.mark.parametrize("tau", LEVELS)
@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e6, 1e15])
def test_another_unit_of_y_changes_the_unit_of_the_answer(unit, tau):
    X, t, stated = draw(2, tau=tau)
    one = solve(X, t, **stated, tol=1e-8)
    other = solve(X, unit * t, **stated | {"C": stated["C"] * unit}, tol=1e-8)
    np.testing.assert_allclose(other.w / unit, one.w, atol=1e-4)
    assert other.primal / unit**2 == pytest.approx(one.primal, rel=1e-6)


@pytest.mark.parametrize("tau", LEVELS)
def test_a_free_intercept_takes_what_all_targets_share(tau):
    X, t, stated = draw(4, tau=tau)
    t = np.round(t * 2**20) / 2**20
    one, far = (solve(X, t + shift, **stated, tol=1e-8) for shift in (0.0, 2.0**30))
    assert far.b - 2.0**30 == pytest.approx(one.b, abs=1e-4)
    assert far.primal == pytest.approx(one.primal, rel=1e-6)
    assert far.converged


@pytest.mark.parametrize("tol", [1e-4, 1e-9])
@pytest.mark.parametrize("shift", [1e6, 1e12, 2.0**40])
def test_what_is_certified_is_the_model_that_is_returned(shift, tol):
    X, t, stated = draw(4)
    t = np.round(2**10 * t) / 2**10 + shift
    found = solve(X, t, **stated | {"radius": 0.0}, tol=tol, quiet=True)
    weight, w = Fraction(stated["C"]), [Fraction(x) for x in found.w]
    losses = [
        abs(
            Fraction(y)
            - Fraction(found.b)
            - sum(map(Fraction.__mul__, w, map(Fraction, x)))
        )
        / 2
        for x, y in zip(X.tolist(), t.tolist(), strict=True)
    ]
    exact = sum(x * x for x in w) / 2 + weight * sum(losses)
    assert abs(exact - Fraction(found.primal)) <= Fraction(found.certificate.rounding)


def test_a_target_that_would_be_rounded_is_not_shifted():
    X, _, stated = draw(0, n=5)
    targets = np.array([-1.0, -0.5, 1e-20, 0.5, 1.0])
    assert build_problem(X, targets, Statement(**stated)).shift == 0.0


@pytest.mark.parametrize("value", [0.0, 3.0, -1e9, 1e-9])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_constant_targets_are_solved(value, intercept):
    X, _, stated = draw(0, intercept=intercept)
    found = solve(X, np.full(40, value), **stated, quiet=True)
    assert found.converged
    if intercept == 0:
        assert found.b == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e150])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_nothing_is_claimed_that_float64_cannot_hold(unit, intercept):
    X, t, stated = draw(0, intercept=intercept)
    found = solve(X, unit * t, **stated, quiet=True)
    certificate = found.certificate
    assert found.converged <= bool(np.isfinite(certificate.bound))
    if found.converged:
        assert certificate.bound <= 1e-6 * certificate.scale < np.inf


def test_a_perfect_fit_is_certified_relative_to_the_best_constant():
    X, _, stated = draw(0)
    found = solve(X, X @ [1.0, 2.0, 3.0] + 4, **stated | {"radius": 0.0, "C": 1e6})
    assert found.converged
    np.testing.assert_allclose(found.w, [1, 2, 3], atol=1e-4)
    assert found.certificate.scale > 100 * found.primal


@pytest.mark.parametrize("tau", LEVELS)
@pytest.mark.parametrize("shape", ["l2", "linf", "cells", "tolerances"])
def test_a_path_is_what_solve_finds(shape, tau):
    for seed, intercept in enumerate(INTERCEPTS):
        X, t, stated = draw(seed, shape, intercept, tau)
        C, radius = (stated.pop(name) for name in ("C", "radius"))
        found = path(
            X, t, Cs=[C, 3 * C, 30 * C], radii=[0, radius], **stated, quiet=True
        )
        for point in found:
            one = solve(X, t, C=point.C, radius=point.radius, **stated, quiet=True)
            scale = one.certificate.scale
            assert point.objective == pytest.approx(one.primal, abs=3e-6 * scale)
            assert point.converged


@pytest.mark.parametrize("tau", LEVELS)
@pytest.mark.parametrize("shape", ["l2", "linf", "cells"])
def test_the_model_is_constant_from_the_critical_radius_on(shape, tau):
    X, t, stated = draw(6, shape, tau=tau)
    stated.pop("radius")
    limit = critical_radius(X, t, **stated)
    above = solve(X, t, radius=1.01 * limit.upper, **stated, quiet=True)
    below = solve(X, t, radius=0.97 * limit.lower, **stated, quiet=True)
    assert not above.w.any()
    assert above.b == pytest.approx(np.quantile(t, stated["quantile"]), abs=0.5)
    assert np.linalg.norm(below.w) > 1e-6


def test_screen_proves_samples_and_features():
    X, t, stated = draw(0, "linf", n=200, d=8)
    stated |= {"radius": 0.1, "C": 1.0}
    found = solve(X, t, **stated)
    proven = screen(X, t, found.w, found.alpha, **stated, features=True)
    assert proven.removed.sum() + proven.saturated.sum() > 150
    np.testing.assert_array_equal(found.removed, proven.removed)
    assert not found.w[proven.removed_features].any()
    residual = t - X @ found.w - found.b
    assert (residual[found.removed] > 0).all()  # τ = ½: removed lie above the fit
    assert (residual[found.saturated] < 0).all()


@pytest.mark.parametrize(("tau", "seed"), [(0.15, 0), (0.8, 1)])
def test_with_noise_the_fit_that_samples_lie_beside_is_moved(tau, seed):
    X, t, stated = draw(seed, tau=tau, n=200)
    stated |= {"C": 1.0, "radius": 0.4}
    found = solve(X, t, tol=1e-9, **stated)
    moved = (1 - 2 * tau) * 0.4 * np.linalg.norm(found.w)
    residual = t - X @ found.w - found.b
    above, below = found.removed, found.saturated
    above, below = (above, below) if tau < 0.5 else (below, above)
    assert (residual[above] > moved - 1e-6).all()
    assert (residual[below] < moved + 1e-6).all()
    assert (residual[below] > 0).any() if tau < 0.5 else (residual[above] < 0).any()


@pytest.mark.parametrize("tau", LEVELS)
@pytest.mark.parametrize(
    "stated",
    [
        {"radius": 0.2},
        {"radius": 0.2, "noise": Box([1.0, 0.5, 0.2])},
        {"radius": 0.2, "fit_intercept": False},
        {"radius": 0.2, "intercept_penalty": 1.0},
        {"radius": 0.0, "noise": "linf", "norm_penalty": 3.0},
    ],
)
def test_chunks_give_the_answer_of_memory(stated, tau):
    X, t, _ = draw(7, n=6000)
    stated = stated | {"C": 0.1, "loss": "quantile", "quantile": tau}
    whole = solve(X, t, **stated, tol=1e-8)

    def chunks():
        return ((X[k : k + 1000], t[k : k + 1000]) for k in range(0, 6000, 1000))

    found = solve(chunks, **stated, tol=1e-8)
    np.testing.assert_allclose(found.w, whole.w, atol=1e-4)
    assert found.b == pytest.approx(whole.b, abs=1e-3)
    assert found.certificate.scale == pytest.approx(whole.certificate.scale, rel=1e-3)
    assert found.certificate.scale <= whole.certificate.scale * (1 + 1e-12)
    assert not (found.removed & whole.saturated).any()
    assert not (found.saturated & whole.removed).any()
    assert found.removed.sum() + found.saturated.sum() > 3000


@pytest.mark.parametrize("solver", ["newton", "coordinate", "columns", "conic"])
def test_every_solver_takes_it(solver):
    X, t, stated = draw(9, "linf" if solver == "columns" else "l2", tau=0.3)
    found = solve(X, t, **stated, solver=solver, tol=1e-5)
    best = solve(X, t, **stated, tol=1e-8)
    assert found.primal == pytest.approx(best.primal, abs=2e-5 * best.certificate.scale)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"quantile": 1.0}, "between 0 and 1"),
        ({"quantile": "median"}, "between 0 and 1"),
        ({"loss": "squared"}, "'hinge', for classes, or 'quantile', for numbers"),
        ({"loss": "hinge", "quantile": 0.3}, "say loss='quantile'"),
        ({"ramp": -1.0}, "leave it out with loss='quantile'"),
    ],
)
def test_what_is_not_meant_is_refused(given, said):
    X, t, stated = draw(0)
    with pytest.raises(ValueError, match=said):
        solve(X, t, **stated | given)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.full(40, np.nan), "40 of 40 rows have no finite number"),
        (np.full(40, "a"), "real numbers"),
        (np.zeros(39), "one number per row"),
        (None, "one number per row"),
    ],
)
def test_what_cannot_be_predicted_is_refused(y, said):
    X, _, stated = draw(0)
    with pytest.raises(ValueError, match=said):
        solve(X, y, **stated)
