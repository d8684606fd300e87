"""Problems at the ends: weights beyond use, classes of no weight, numbers beyond range."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from wideberth import (
    NullModelWarning,
    RobustLinearSVC,
    RobustLinearSVCCV,
    critical_radius,
    path,
    screen,
    solve,
)
from wideberth.problem import Certificate, Pair, Problem
from wideberth.results import not_converged
from wideberth.screening import Reduction, screen_points
from wideberth.solvers import attempts, conic, registry
from wideberth.solvers.attempts import prove
from wideberth.solvers.base import Control, Solver
from wideberth.solvers.starts import WarmStart
from wideberth_paper.reference import ideal_partition

FREE = {"fit_intercept": True}
SHAPES = ("linf", "l1")


def clouds(seed=0, n=30, d=5, shift=1.0, share=3):
    """Two clouds of points, one in `share` of them positive."""
    rng, y = np.random.default_rng(seed), np.where(np.arange(n) % share == 0, 1, -1)
    X = rng.normal(size=(n, d))
    X[:, 0] += shift * y
    return X, y


def in_chunks(size, *parts):
    return [
        tuple(part[start : start + size] for part in parts)
        for start in range(0, len(parts[0]), size)
    ]


# -- the conic solver at large C -----------------------------------------------------


def test_overlapping_classes_under_huge_weights_are_solved_by_shares_of_the_weight():
    X, y = clouds(5, n=30, d=2, shift=0.2)
    problem = Problem.from_data(X, y, C=1e14, radius=0.0, noise="linf")
    found = conic.solve_conic(problem, unit=1e14)
    assert found.certificate.relative_gap < 1e-6
    exact = solve(X, y, C=1e14, fit_intercept=False)
    assert found.certificate.primal == pytest.approx(exact.primal, rel=1e-6)


@pytest.mark.parametrize("noise", SHAPES)
@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_a_conic_solver_that_fails_is_stood_in_for(monkeypatch, noise, radius):
    def fail(problem, **options):
        raise conic.ConicError("clarabel failed on this problem")

    monkeypatch.setattr(conic, "solve_conic", fail)
    X, y = clouds(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = solve(
            X, y, noise=noise, radius=radius, solver="conic", fit_intercept=False
        )
        points = path(
            X,
            y,
            Cs=[0.1, 1.0],
            noise=noise,
            radii=[radius],
            solver="conic",
            fit_intercept=False,
        )
    assert found.converged
    assert points.complete
    assert points.converged.all()
    assert not points.null.any()


def test_what_nobody_proves_is_not_called_null(monkeypatch):
    def fail(problem, **options):
        raise conic.ConicError("clarabel failed on this problem")

    monkeypatch.setattr(conic, "solve_conic", fail)
    monkeypatch.setattr(attempts, "_second_attempts", lambda problem: iter(()))
    X, y = clouds(2)
    with pytest.warns(ConvergenceWarning, match="not proven for 1 of 1 points"):
        found = path(X, y, Cs=[1.0], solver="conic", fit_intercept=False)
    assert found.complete
    assert not found.coefs.any()
    assert not found.null.any()


# -- the null model ------------------------------------------------------------------


def test_chunks_take_no_tiny_model_for_the_null_model():
    X, y = clouds(1, n=300)
    problem = Problem.from_data(X, y, intercept=0.0)
    radius = 0.97 * critical_radius(problem).lower
    options = FREE | {"radius": radius, "tol": 0.1}  # w = 0 would pass for optimal
    with warnings.catch_warnings():
        warnings.simplefilter("error", NullModelWarning)
        assert solve(in_chunks(100, X, y), **options).w.any()


# -- one class of no weight ----------------------------------------------------------


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("radius", [0.0, 0.1])
@pytest.mark.parametrize("road", ["newton", "coordinate", "conic", "path", "chunks"])
def test_a_class_of_no_weight_beside_a_free_intercept_costs_nothing(side, radius, road):
    X, y = clouds(3, n=20, d=3, share=2)
    weight = np.where(y == side, np.linspace(0.0, 1.0, 20), 0.0)
    options = FREE | {"quiet": True}
    if road == "path":
        options |= {"sample_weight": weight, "radii": [radius], "noise": "linf"}
        found = path(X, y, Cs=[0.1, 1.0], **options)
        assert found.null.all()
        assert not found.objectives.any()
    else:
        options |= {"radius": radius}
        if road == "chunks":
            found = solve(in_chunks(7, X, y, weight), **options)
        else:
            found = solve(X, y, sample_weight=weight, solver=road, **options)
        assert found.primal == 0.0
        assert not found.w.any()
        assert found.b == pytest.approx(side)
    assert np.all(found.converged)
    (note,) = found.notes
    assert isinstance(note, NullModelWarning)
    assert "no weight" in str(note)


# -- weights that span many orders, out of core --------------------------------------


def test_rounding_is_blamed_only_where_its_bound_exceeds_the_tolerance():
    control = Control(tol=1e-6)
    stuck = str(not_converged(control, Certificate(1.0, 0.0, 1e-12), 0.1))
    assert "rounding errors are larger" not in stuck
    assert "the solver made no further progress: raise tol, or give solver=" in stuck
    drowned = str(not_converged(control, Certificate(1.0, 1.0 - 1e-7, 1e-5), 0.1))
    assert "rounding errors are larger than tol: raise tol, lower C" in drowned


# -- numbers beyond range ------------------------------------------------------------


@pytest.mark.parametrize("intercept", [0.0, 1.0, 1e-8])
@pytest.mark.parametrize(
    "wild", [{"b": 1e200}, {"b": -1e308}, {"w": 1e200}, {"w": 1e308}]
)
def test_screen_takes_any_primal_point(intercept, wild):
    X, y = clouds(4)
    best = solve(X, y, radius=0.1, fit_intercept=True, intercept_penalty=intercept)
    w, b = wild.get("w", 1.0) * best.w, wild.get("b", best.b)
    options = {"C": 1.0, "radius": 0.1, "intercept_penalty": intercept}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = screen(X, y, w, best.alpha, b=b, **options)
    margins = Problem.from_data(X, y, radius=0.1).robust_margins(best.w) + y * best.b
    assert np.all(found.lower <= margins + 1e-4)
    assert np.all(found.upper >= margins - 1e-4)


@pytest.mark.parametrize("b", [np.nan, np.inf])
def test_screen_refuses_an_intercept_that_is_no_number(b):
    X, y = clouds(4)
    with pytest.raises(ValueError, match="b must be a finite"):
        screen(X, y, np.zeros(5), np.zeros(30), C=1.0, radius=0.0, b=b)


@pytest.mark.parametrize("solver", ["newton", "coordinate"])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("wild", [(1.0, 1e200), (1e200, 0.0), (1e308, 1e308)])
def test_a_start_that_overflows_is_no_start(solver, penalty, wild):
    X, y = clouds(4)
    options = FREE | {"radius": 0.1, "intercept_penalty": penalty, "solver": solver}
    best = solve(X, y, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve(X, y, init=(wild[0] * best.w, wild[1], best.alpha), **options)
    assert found.converged
    assert found.primal == pytest.approx(best.primal, rel=2e-6)


@pytest.mark.parametrize("region", ["gap", "midpoint", "ellipsoid"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("noise", ["l2", "linf", "scales"])
@pytest.mark.parametrize(
    ("power", "off"), [(-510, 0.0), (-510, 1e-3), (511, 0.0), (520, 1e-3)]
)
def test_screen_says_the_same_in_any_units(power, off, noise, intercept, region):
    X, y = clouds(4)
    noise = np.linspace(0.0, 2.0, 5) if noise == "scales" else noise
    best = solve(X, y, radius=0.1, noise=noise, fit_intercept=intercept)
    w = best.w + off * np.random.default_rng(0).normal(size=5)
    scale = 2.0**power
    options = {"noise": noise, "fit_intercept": intercept, "region": region}
    usual = screen(X, y, w, best.alpha, C=1.0, radius=0.1, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = screen(
            scale * X,
            y,
            w / scale,
            best.alpha / scale / scale,
            C=1.0 / scale / scale,
            radius=0.1 * scale,
            **options,
        )
    np.testing.assert_array_equal(usual.removed, other.removed)
    np.testing.assert_array_equal(usual.saturated, other.saturated)
    np.testing.assert_allclose(other.lower, usual.lower, rtol=1e-4)
    np.testing.assert_allclose(other.upper, usual.upper, rtol=1e-4)
    # Not to the last digits: α/2¹⁰⁴⁰ has lost some of them before it is read.
    here, there = usual.region, other.region
    np.testing.assert_allclose(there.w * scale, here.w, rtol=1e-4)
    assert there.radius * scale == pytest.approx(here.radius, rel=1e-4)
    assert there.gap * scale * scale == pytest.approx(here.gap, rel=1e-4)
    if here.curvature is not None:
        assert there.curvature.s * scale == pytest.approx(here.curvature.s, rel=1e-4)
        tilt = here.curvature.tilt * scale
        np.testing.assert_allclose(there.curvature.tilt, tilt, rtol=1e-4)


# -- solvers of one's own --------------------------------------------------------------


class Mine(Solver):
    """Hands over to Newton's method, and remembers what it was asked."""

    name = "mine"

    def __init__(self):
        self.calls = []

    def run(self, problem, control, start, decided):
        self.calls.append((control.screening, start, decided))
        return registry.get_solver("newton").run(problem, control, start, decided)


class Idle(Solver):
    """Finds nothing."""

    name = "idle"

    def run(self, problem, control, start, decided):
        zero = np.zeros(problem.rows.d)
        return Pair(problem.at(zero), problem.dual_at(np.zeros(problem.n)))


class Light(Solver):
    """Newton's method, for samples that weigh little; remembers what it was handed."""

    name = "light"
    weight_limit = 1.0

    def __init__(self):
        self.calls = []

    def run(self, problem, control, start, decided):
        self.calls.append((problem, start, decided))
        return registry.get_solver("newton").run(problem, control, start, decided)


@pytest.mark.parametrize("started", [False, True])
def test_a_solver_is_handed_no_weight_beyond_its_limit(started):
    X, y = clouds(6, n=60)
    problem = Problem.from_data(X, y, C=1e12, radius=0.1)
    alpha = np.full(problem.n, 1e11)
    start = WarmStart(problem, problem.at(np.ones(problem.rows.d)), alpha)
    solver, control = Light(), Control(1e-6)
    found = solver.solve(problem, control, start=start if started else None)
    handed, given, decided = solver.calls[0]
    assert decided is None
    assert np.all(handed.weights * handed.rows.norms() ** 2 <= 1 + 1e-12)
    if started:  # points of the problem that it was handed
        assert np.all(given.dual.alpha <= handed.weights)
        assert given.point.value == handed.at(start.point.w).value
    # The answer is judged under the weights as given.
    assert found.point.value == problem.at(found.point.w).value
    assert found.dual.value == problem.dual_at(found.dual.alpha).value
    assert found.status == control.status(found.certificate)


def test_a_solver_of_ones_own_serves_every_front_door():
    (X, y), mine = clouds(6, n=60), Mine()
    own = {"solver": mine, "fit_intercept": False}
    assert solve(X, y, screening="midpoint", **own).converged
    assert mine.calls == [("midpoint", None, None)]
    found = path(X, y, Cs=[0.01, 1.0], radii=[0.0, 0.1], **own)
    assert found.converged.all()
    assert found.solver == "mine"
    assert any(start is not None for _, start, _ in mine.calls)
    path(X, y, Cs=np.geomspace(0.1, 0.2, 6), **own)
    assert any(decided is not None for _, _, decided in mine.calls)
    usual = RobustLinearSVC(radius=0.1).fit(X, y)
    model = RobustLinearSVC(radius=0.1, solver_options={"solver": mine}).fit(X, y)
    np.testing.assert_allclose(model.coef_, usual.coef_, atol=1e-3)
    count = len(mine.calls)
    RobustLinearSVCCV(
        Cs=[0.1, 1.0], radii=[0.1], cv=2, solver_options={"solver": mine}
    ).fit(X, y)
    assert len(mine.calls) > count


def test_a_solver_is_trusted_with_nothing():
    X, y = clouds(6, n=3000, d=120)  # too large for second attempts
    with pytest.warns(ConvergenceWarning):
        found = solve(X, y, solver=Idle(), fit_intercept=False)
    assert not found.converged
    assert found.solver == "idle"


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({}, "out of precision"),
        ({"max_iter": 0}, "out of steps"),
        ({"deadline": -1.0}, "out of time"),
        ({"deadline": -1.0, "stopped": True}, "stopped"),
        ({"tol": 1.1}, "solved"),
    ],
)
def test_the_status_of_a_run_follows_from_its_points_and_limits(limits, status):
    problem = Problem.from_data(*clouds(6, n=60), C=1.0)
    assert Idle().solve(problem, Control(**limits)).status == status


def test_a_solver_may_refuse_a_problem_in_its_own_words():
    class Picky(Idle):
        def supports(self, problem):
            return "solver='idle' needs two features." if problem.rows.d > 2 else None

    X, y = clouds()
    for call in (solve, path):
        with pytest.raises(ValueError, match="needs two features"):
            call(X, y, solver=Picky())


@pytest.mark.parametrize("solver", ["yours", print, Mine])
def test_what_is_no_solver_is_refused_with_the_names_there_are(solver):
    X, y = clouds()
    for call in (solve, path):
        with pytest.raises(
            ValueError, match=r"solver=.*'auto', 'newton', .* an object"
        ):
            call(X, y, solver=solver)


@pytest.mark.parametrize("intercept", [None, 0.0, 1.0])
def test_second_attempts_know_what_folded_samples_pull_at(intercept):
    """Fewer rows are left than features, and the folded ones are not in their span."""
    X, y = clouds(seed=3, n=40, d=12, shift=0.3)
    problem = Problem.from_data(X, y, C=0.3, radius=0.1, intercept=intercept)
    penalty = (
        {"fit_intercept": False}
        if intercept is None
        else FREE | {"intercept_penalty": intercept}
    )
    best = solve(X, y, C=0.3, radius=0.1, tol=1e-10, **penalty)
    reduction = Reduction.of(problem).shrink(ideal_partition(problem, best.w, best.b))
    small = reduction.problem
    assert 0 < small.n < small.rows.d
    assert small.folded is not None
    nothing = Pair(small.at(np.zeros(12)), small.dual_at(np.zeros(small.n)))
    found = prove(small, Control(1e-8), nothing)
    assert found.certificate.proves(1e-8)
    dual = problem.dual_at(reduction.unfold(found.dual.alpha))
    whole = problem.certificate(problem.at(found.point.w, found.point.b), dual)
    assert whole.gap <= 1e-7 * whole.primal


@pytest.mark.parametrize("region", ["midpoint", "ellipsoid"])
@pytest.mark.parametrize("intercept", [None, 0.0, 1.0])
@pytest.mark.parametrize("noise", ["l2", "linf", np.array([1.0, 2.0, 0.5])])
def test_a_region_whose_square_overflows_decides_nothing(region, intercept, noise):
    X, y = clouds(d=3)
    problem = Problem.from_data(X, y, radius=0.1, noise=noise, intercept=intercept)
    doubtful = replace(problem.dual_at(np.full(len(y), 0.5)), center_rounding=1e200)
    with np.errstate(all="ignore"):
        found = screen_points(
            problem, Pair(problem.at(np.ones(3)), doubtful), region=region
        )
    assert not found.removed.any()
    assert not found.saturated.any()
