"""Numbers at the ends of float64: exact units, honest rounding, plain refusals."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from problems import make_problem
from wideberth import NullModelWarning, path, solve
from wideberth.certify import certified_radius
from wideberth.problem.changes import build_problem, cap_weights
from wideberth.problem.statement import Statement
from wideberth.solvers.attempts import _best_stretch


@pytest.fixture
def data():
    problem = make_problem(3, n=40, d=3, separation=0.6)
    return problem.rows.X, problem.y


@pytest.mark.parametrize("penalty", [None, 0.0, 1.0])
def test_units_are_changed_exactly(data, penalty):
    X, y = data
    found = []
    for k in (200, -200):
        scale = 2.0**k
        intercept = {}
        if penalty is not None:
            intercept = {"fit_intercept": True, "intercept_penalty": penalty / scale**2}
        found.append(
            solve(scale * X, y, C=scale**-2, radius=0.1 * scale, **intercept)
        )  # fmt: skip
    large, small = found
    assert large.converged
    np.testing.assert_array_equal(large.w * 2.0**200, small.w * 2.0**-200)
    np.testing.assert_array_equal(large.alpha * 2.0**400, small.alpha * 2.0**-400)
    assert large.b == small.b
    assert large.primal * 2.0**400 == small.primal * 2.0**-400
    plain = solve(X, y, radius=0.1, **intercept | {"intercept_penalty": penalty or 0})
    assert small.primal * 2.0**-400 == pytest.approx(plain.primal, rel=1e-6)


def test_data_of_usual_size_is_used_as_it_is(data):
    X, y = data
    options = {"noise": "l2", "fit_intercept": False, "intercept_penalty": 0.0}
    options |= {"C": 1.0, "radius": 0.0, "sample_weight": None}
    tall = np.tile(1e6 * X, (40_000, 1))  # ‖X‖ is large, its entries are not
    presolved = build_problem(tall, np.tile(y, 40_000), Statement(**options))
    assert np.shares_memory(presolved.problem.rows.X, tall)
    assert presolved.sigma == presolved.stretch == 1.0
    presolved = build_problem(1e12 * X, y, Statement(**options))
    problem, sigma = presolved.problem, presolved.sigma
    assert np.abs(problem.rows.X).max() <= 1
    np.testing.assert_array_equal(problem.rows.X * sigma, 1e12 * X)


def test_callbacks_traces_and_warm_starts_are_in_the_users_units(data):
    X, y = data
    seen = []
    solution = solve(
        1e-100 * X,
        y,
        C=1e200,
        tol=1e-9,
        callback=lambda entry: seen.append(entry),
        fit_intercept=False,
    )
    assert seen[-1]["primal"] == pytest.approx(solution.primal, rel=1e-6)
    assert solution.trace[-1]["gap"] == pytest.approx(seen[-1]["gap"])
    again = solve(1e-100 * X, y, C=1e200, tol=1e-6, init=solution, fit_intercept=False)
    assert again.n_iter == 0


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_the_critical_radius_is_named_in_the_users_units(data, scale):
    X, y = data
    critical = np.linalg.norm(y @ X) / len(y)
    with pytest.warns(NullModelWarning, match=re.escape(f"is {scale * critical:.6g};")):
        solve(
            scale * X, y, C=scale**-2, radius=2 * scale * critical, fit_intercept=False
        )


@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_default_paths_follow_the_scale_of_the_data(data, scale):
    X, y = data
    usual, other = (
        path(X, y, Cs=4, fit_intercept=False),
        path(scale * X, y, Cs=4, fit_intercept=False),
    )
    np.testing.assert_allclose(other.Cs, usual.Cs / scale**2)
    np.testing.assert_allclose(other.coefs * scale, usual.coefs, atol=1e-4)
    assert other.converged.all()


def test_paths_refuse_radii_out_of_all_proportion(data):
    with pytest.raises(ValueError, match="radii reach 1e\\+100"):
        path(*data, Cs=[1.0], radii=[0.0, 1e100], fit_intercept=False)


def test_a_tiny_model_is_not_lost_to_underflow(data):
    X, y = data
    found = solve(1e-160 * X, y, C=1e-3, fit_intercept=False)
    assert found.converged
    np.testing.assert_allclose(found.w, 1e-163 * (y @ X))


def test_rounding_that_forbids_a_certificate_is_said_with_its_cause():
    problem = make_problem(2, n=24, separation=0.3)
    X = problem.rows.X * np.array([1e-12, 1e12, 1.0, 1e6])
    with pytest.warns(
        ConvergenceWarning, match=r"plus rounding .*C·sample_weight·‖x‖²"
    ):
        assert not solve(X, problem.y, fit_intercept=False).converged


def test_capped_weights_are_a_relaxation_of_the_same_rows():
    problem = make_problem(0, C=1e20)
    easier = cap_weights(problem, 1e8)
    assert easier.rows is problem.rows
    largest = (easier.weights * problem.rows.norms() ** 2).max()
    assert largest == pytest.approx(1e8)
    assert cap_weights(easier, 1e8) is easier


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"X": 1e200, "C": 1e-3}, "C·sample_weight"),
        ({"C": 1e-310}, "raise C"),
        ({"C": 1e307}, "Lower C, or scale X"),
        ({"X": 1e150, "intercept_penalty": 1e10}, "intercept_penalty=1e\\+10"),
        ({"radius": np.array([1e300] + 39 * [0.0])}, "radius .*reaches 1e\\+300"),
    ],
)
def test_what_float64_cannot_hold_is_refused_by_name(data, options, said):
    X, y = data
    X = options.pop("X", 1.0) * X
    options = {"fit_intercept": "intercept_penalty" in options} | options
    if "radius" in options:
        options |= {"sample_weight": np.array([1e-305] + 39 * [1.0])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.raises(ValueError, match=said):
            solve(X, y, **options)


def test_certified_radii_survive_weights_whose_squares_vanish():
    radii = certified_radius(np.array([1.0, -2.0]), np.array([[3e-170, 4e-170]]))
    np.testing.assert_allclose(radii, [2e169, 4e169])


@pytest.mark.parametrize("intercept", [None, 0.0, 1.0])
def test_the_best_stretch_is_the_best_on_its_ray(intercept):
    for seed in range(10):
        problem = make_problem(seed, n=30, radius=0.1, intercept=intercept)
        w = problem.dual_at(problem.weights).w
        point = problem.at(w)
        t = _best_stretch(problem, point, problem.rows.magnitudes(w))
        found = problem.at(t * point.w, t * point.b).value
        for other in np.geomspace(1e-3, 1e3, 301):
            value = problem.at(other * point.w, other * point.b).value
            assert found <= value * (1 + 1e-9)
