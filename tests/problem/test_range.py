"""Numbers at the ends of float64: exact units, honest rounding, plain refusals."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from problems import make_problem
from torture_oracle import Task, dual_value, primal_value
from torture_problems import clouds
from wideberth import NullModelWarning, RobustLinearSVC, path, solve
from wideberth.certify import certified_radius
from wideberth.problem import Certificate, Pair, Problem
from wideberth.problem.changes import build_problem, cap_weights
from wideberth.problem.rounding import slack_rounding
from wideberth.problem.statement import Statement
from wideberth.screening.regions import REGIONS, build_region
from wideberth.solvers.attempts import _best_stretch, prove
from wideberth.solvers.base import Control
from wideberth.solvers.interior import InteriorPoint, even_barrier


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


@pytest.mark.parametrize("solver", ["newton", "coordinate"])
def test_hard_margins_are_certified_however_large_C_is(solver):
    # With C = 1e12 a slack that is zero but for rounding costs 1e-4 of the objective.
    rng, y = np.random.default_rng(7), np.repeat([1, -1], 10)
    X = np.column_stack([3.0 * y + rng.uniform(-1, 1, 20), rng.normal(size=20)])
    found = solve(X, y, C=1e12, solver=solver, fit_intercept=True, intercept_penalty=1)
    assert found.converged
    assert found.certificate.rounding <= 1e-6 * found.primal
    assert np.all(y * (X @ found.w + found.b) >= 1)


def test_a_gap_that_rounding_drowns_proves_nothing():
    assert Certificate(1.0, 1.0 - 1e-7, 1e-8).proves(1e-6)
    assert not Certificate(1.0, 1.0 - 1e-7, 1e-5).proves(1e-6)
    assert not Certificate(1.0, 1.0 - 1e-5, 1e-8).proves(1e-6)


def test_rounding_that_forbids_a_certificate_is_said_with_its_cause():
    problem = make_problem(2, n=24, separation=0.3)
    X = problem.rows.X * np.array([1e-12, 1e12, 1.0, 1e6])
    with pytest.warns(ConvergenceWarning, match=r"rounding may .*C·sample_weight·‖x‖²"):
        assert not solve(X, problem.y, fit_intercept=False).converged


@pytest.mark.parametrize("penalty", [None, 1.0, 0.0])
def test_weights_over_twelve_orders_are_solved(penalty):
    X, y = clouds(11, separation=0.5)
    intercept = {"fit_intercept": True, "intercept_penalty": penalty}
    found = solve(
        X,
        y,
        sample_weight=10.0 ** np.linspace(-6, 6, 24),
        radius=0.1,
        **{} if penalty is None else intercept,
    )
    assert found.converged


def test_the_even_barrier_does_not_mind_the_span_of_the_weights():
    X, y = clouds(11, separation=0.5)
    problem = Problem.from_data(X, y, radius=0.1)
    problem = problem.with_weights(10.0 ** np.linspace(-6, 6, 24))
    gaps = []
    for barrier in (None, even_barrier(problem)):
        method = InteriorPoint(problem, barrier=barrier)
        for _ in range(60):
            if method.relative_gap < 1e-8 or not method.step():
                break
        gaps.append(method.relative_gap)
    assert gaps[1] < 1e-8 < gaps[0]


def test_capped_weights_are_a_relaxation_of_the_same_rows():
    problem = make_problem(0, C=1e20)
    easier = cap_weights(problem, 1e8)
    assert easier.rows is problem.rows
    largest = (easier.weights * problem.rows.norms() ** 2).max()
    assert largest == pytest.approx(1e8)
    assert cap_weights(easier, 1e8) is easier


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_date_like_column_does_not_spoil_a_free_intercept(data, form):
    import scipy.sparse as sp

    X, y = data
    X = np.column_stack([np.full(len(y), 1e8), X])
    found = solve(
        X if form == "dense" else sp.csr_array(X), y, radius=0.05, fit_intercept=True
    )
    assert found.converged
    plain = solve(X[:, 1:], y, radius=0.05, fit_intercept=True)
    assert found.primal == pytest.approx(plain.primal, rel=1e-6)


@pytest.mark.parametrize("radius", [1e10, 1e150, 1.7e308])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_any_radius_beyond_the_critical_one_is_a_certified_null_model(
    data, radius, fit_intercept
):
    with pytest.warns(NullModelWarning):
        found = solve(*data, radius=radius, fit_intercept=fit_intercept)
    assert found.converged
    assert not found.w.any()


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


def test_estimators_keep_their_promises_at_any_scale(data):
    X, y = data
    usual = RobustLinearSVC(C=1.0, radius=0.1).fit(X, y)
    huge = RobustLinearSVC(C=1e-240, radius=1e119).fit(1e120 * X, y)
    np.testing.assert_array_equal(usual.predict(X), huge.predict(1e120 * X))
    np.testing.assert_allclose(1e120 * huge.coef_, usual.coef_, rtol=1e-2, atol=1e-3)


def test_sharper_bounds_of_rounding_still_bound_it(data):
    X, y = data
    X = X * np.array([1e-6, 1.0, 1e6])
    problem = Problem.from_data(X, y, radius=0.3, intercept=0.0)
    rng = np.random.default_rng(0)
    w, alpha = rng.normal(size=3) / np.array([1e-6, 1.0, 1e6]), rng.random(40)
    sizes = problem.rows.magnitudes(w)
    np.testing.assert_allclose(sizes, np.abs(X) @ np.abs(w))
    rough, sharp = problem.at(w, 0.1), problem.at(w, 0.1, sizes=sizes)
    assert sharp.rounding < rough.rounding
    exact = y * (X.astype(np.longdouble) @ w.astype(np.longdouble))
    error = np.abs(exact - rough.margins)
    assert np.all(
        error <= slack_rounding(problem, w, 0.1, problem.noise.supports(w), sizes)
    )
    rough, sharp = problem.dual_at(alpha), problem.dual_at(alpha, sharp=True)
    assert sharp.rounding <= rough.rounding


@pytest.mark.parametrize("seed", range(5))
def test_rounding_covers_cancellation_within_a_row(seed):
    # Margins of about 1 that are differences of 1e8: their error is all that matters.
    rng = np.random.default_rng(seed)
    large, y = 1e8 * rng.normal(size=30), np.where(np.arange(30) % 2, 1.0, -1.0)
    X = np.column_stack([large, large + rng.normal(size=30)])
    w = np.array([-1.1, 1.1])
    point = Problem.from_data(X, y, C=3.0).at(w)
    wide = np.longdouble
    slack = 1 - y * (X.astype(wide) @ w.astype(wide))
    exact = float((w.astype(wide) ** 2).sum() / 2 + 3 * np.maximum(slack, 0).sum())
    assert 1e-9 < abs(point.value - exact) <= point.rounding


def test_certified_radii_survive_weights_whose_squares_vanish():
    radii = certified_radius(np.array([1.0, -2.0]), np.array([[3e-170, 4e-170]]))
    np.testing.assert_allclose(radii, [2e169, 4e169])


@pytest.mark.parametrize("kind", REGIONS)
def test_regions_allow_for_the_rounding_of_the_gap(kind):
    short = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        large, y = 1e8 * rng.normal(size=12), np.where(np.arange(12) % 2, 1, -1)
        X = np.column_stack([large, large + rng.normal(size=12)])
        problem, task = Problem.from_data(X, y), Task(X, y)
        point, dual = problem.at(np.array([-1.1, 1.1])), problem.dual_at(np.zeros(12))
        gap = primal_value(task, point.w, 0.0) - dual_value(task, dual.alpha)
        assert build_region(kind, problem, Pair(point, dual)).gap >= gap
        short += problem.certificate(point, dual).gap < gap
    assert short > 0  # float64 alone would have erred


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


def test_second_attempts_respect_the_limits(data):
    control = Control(max_iter=1)
    control.steps = 1
    problem = make_problem(1)
    found = prove(problem, control, _nothing(problem))
    assert control.steps == 1
    assert not found.point.w.any()


def _nothing(problem):
    from wideberth.problem import Pair

    zero = np.zeros(problem.rows.d)
    return Pair(problem.at(zero), problem.dual_at(np.zeros(problem.n)))
