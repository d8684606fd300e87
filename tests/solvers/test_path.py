"""Paths in C and radius: every point is the cold solution, whatever it started from."""

import pickle
import warnings
from collections import Counter
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from sklearn.exceptions import ConvergenceWarning

import polyhedral
from problems import INTERCEPTS, make_problem, problems
from safety import Reference
from wideberth import NullModelWarning, critical_radius, path, screen, solve
from wideberth.datasets import load_breast_cancer, paper_preprocess
from wideberth.problem import Pair
from wideberth.problem.changes import Presolved
from wideberth.screening import screen_at_hand
from wideberth.solvers import paths
from wideberth.solvers.base import Control
from wideberth.solvers.batches import InMemory
from wideberth.solvers.driver import Driver, solve_in_memory
from wideberth.solvers.newton import WALK_RESERVE, Newton, _band
from wideberth.solvers.paths import Sequence
from wideberth.solvers.registry import get_solver
from wideberth.solvers.sampling import NEAR_SHARE
from wideberth.solvers.shrinking import nearest_width
from wideberth.solvers.starts import (
    Predictor,
    WarmStart,
    best_multiple,
    carry_scaled,
    lowest_between,
    rows_enough,
)

TOL = 1e-6


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer()
    return paper_preprocess("breast_cancer", X), y


def arguments(problem):
    """What `path` and `solve` take for a problem's data."""
    return {
        "X": problem.rows.X,
        "y": problem.y,
        "noise": problem.noise.sets,
        "sample_weight": problem.weights,
        "fit_intercept": problem.intercept is not None,
        "intercept_penalty": problem.intercept or 0.0,
    }


def assert_equals_cold_solutions(found, radius=None, **data):
    """Objectives agree to the tolerance, and the certificate is what it says."""
    data.pop("radius", None)
    for k, j in np.ndindex(found.done.shape):
        unit = 1.0 if radius is None else radius
        cold = solve(
            C=found.Cs[j], radius=found.radii[k] * unit, tol=1e-9, quiet=True, **data
        )
        assert found.converged[k, j]
        assert found.objectives[k, j] == pytest.approx(cold.primal, rel=2 * TOL)
        assert found.gaps[k, j] <= TOL * found.objectives[k, j]
        assert found.objectives[k, j] - found.gaps[k, j] <= cold.primal * (1 + 1e-9)


@settings(max_examples=40)
@given(problem=problems(shapes=("l2", "ellipsoid"), log_C=(-1, 1)))
def test_every_point_equals_the_cold_solution(problem):
    data = arguments(problem)
    found = path(Cs=[0.01, 0.1, 0.3, 5.0], radii=[0.0, 0.2], quiet=True, **data)
    assert_equals_cold_solutions(found, **data)


@settings(max_examples=15)
@given(problem=problems(shapes=("l2",), log_C=(-1, 1)))
def test_the_coordinate_solver_walks_too(problem):
    data = arguments(problem) | {"solver": "coordinate"}
    found = path(Cs=[0.01, 0.1, 0.3, 5.0], radii=[0.0, 0.2], quiet=True, **data)
    assert_equals_cold_solutions(found, **data)


def test_polyhedral_noise_has_paths_too():
    problem = make_problem(3, n=40, shape="linf")
    found = path(Cs=[0.1, 0.11, 1.0], radii=[0.1], **arguments(problem))
    assert found.solver == "newton"
    assert_equals_cold_solutions(found, **arguments(problem))


def test_wide_data_are_walked_in_the_span_of_the_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 300)), np.where(rng.random(40) < 0.5, 1, -1)
    for data in (X, sp.csr_array(np.where(rng.random(X.shape) < 0.2, X, 0.0))):
        options = {"X": data, "y": y, "solver": "newton"}
        found = path(Cs=[1e-5, 1e-3, 0.1], radii=[0.0, 0.3], **options)
        assert_equals_cold_solutions(found, **options)


def test_correlated_noise_comes_back_in_the_axes_of_the_data(cancer):
    X, y = cancer
    data = {"X": X, "y": y, "noise": np.cov(X.T)}
    found = path(Cs=[0.01, 0.1], radii=[0.1], **data)
    cold = solve(C=0.1, radius=0.1, tol=1e-9, **data)
    assert_equals_cold_solutions(found, **data)
    np.testing.assert_allclose(found.coefs[0, 1], cold.w, atol=1e-3)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_tall_data_are_walked_with_a_subset_ahead(intercept):
    problem = make_problem(
        1, n=25_000, d=5, intercept=intercept, separation=0.3, weights="some zero"
    )
    data = arguments(problem) | {"random_state": 0}
    found = path(Cs=[1e-5, 1e-4, 1e-2, 1.0], radii=[0.05], **data)
    assert_equals_cold_solutions(found, **data)


def test_order_and_repetition_of_the_grid_do_not_matter(cancer):
    X, y = cancer
    ordered = path(X, y, Cs=[0.01, 0.1, 1.0], radii=[0.0, 0.1], fit_intercept=False)
    mixed = path(
        X, y, Cs=[1.0, 0.01, 1.0, 0.1], radii=[0.1, 0.0, 0.1], fit_intercept=False
    )
    np.testing.assert_array_equal(mixed.Cs, [1.0, 0.01, 1.0, 0.1])
    expected = ordered.coefs[np.ix_([1, 0, 1], [2, 0, 2, 1])]
    np.testing.assert_array_equal(mixed.coefs, expected)
    assert len(mixed) == 12
    often = path(X, y, Cs=9 * [0.01, 0.1, 1.0], radii=[0.0, 0.1], fit_intercept=False)
    assert often.solver == ordered.solver  # which would be another for 54 points
    np.testing.assert_array_equal(often.coefs[:, :3], ordered.coefs)


def test_radii_per_sample_are_multiplied(cancer):
    X, y = cancer
    sizes = np.random.default_rng(0).uniform(0, 0.2, size=len(y))
    found = path(
        X, y, Cs=[0.1, 1.0], radii=[0.5, 2.0], radius=sizes, fit_intercept=False
    )
    assert_equals_cold_solutions(found, radius=sizes, X=X, y=y, fit_intercept=False)
    alone = path(X, y, Cs=[0.1], radius=sizes, fit_intercept=False)
    np.testing.assert_array_equal(alone.radii, [1.0])


# -- norm penalties ----------------------------------------------------------------


@pytest.mark.parametrize("shape", ["l2", "ellipsoid", *polyhedral.SHAPES])
@pytest.mark.parametrize("intercept", polyhedral.INTERCEPTS)
def test_paths_over_penalties_equal_cold_solutions(shape, intercept):
    X, y, options = polyhedral.make_arguments(
        1, shape="l2" if shape == "ellipsoid" else shape, n=40
    )
    how = {"noise": np.arange(5.0) if shape == "ellipsoid" else options["noise"]}
    how |= polyhedral.intercept_options(intercept)
    penalties = [0.0, 30.0, 2.5]
    found = path(
        X,
        y,
        Cs=[0.1, 1.0],
        radii=[0.05],
        norm_penalties=penalties,
        quiet=True,
        **how,
    )
    assert found.complete
    for point in found:
        level = {"C": point.C, "radius": 0.05, "norm_penalty": point.norm_penalty}
        cold = solve(X, y, tol=1e-9, quiet=True, **level, **how)
        assert point.converged
        assert point.objective == pytest.approx(cold.primal, rel=2 * TOL)
        assert point.objective - point.gap <= cold.primal * (1 + 1e-9)
        assert point.null == (not cold.w.any())
    assert found.null.any() == isinstance(
        how["noise"], str
    )  # a feature without noise lives


def test_a_penalty_may_go_with_a_path_over_radii():
    X, y, options = polyhedral.make_arguments(2, n=40)
    found = path(X, y, Cs=[1.0], radii=[0.0, 0.1], noise="linf", norm_penalty=2.0)
    for point in found:
        assert point.norm_penalty == 2.0
        how = options | {"radius": point.radius, "norm_penalty": 2.0}
        cold = solve(X, y, tol=1e-9, **how)
        assert point.objective == pytest.approx(cold.primal, rel=2 * TOL)


@pytest.mark.parametrize("noise", ["l2", "linf", "l1"])
@pytest.mark.parametrize("intercept", [None, 100.0, 0.0])
def test_a_path_under_a_penalty_starts_where_the_model_stops_being_null(
    noise, intercept
):
    rng = np.random.default_rng(3)
    y = np.tile([1, -1], 20)
    X = rng.normal(size=(40, 4)) + 0.5 * y[:, None]
    how = {"noise": noise, "norm_penalty": 3.0, "quiet": True}
    how |= polyhedral.intercept_options(intercept)
    found = path(X, y, Cs=5, radii=[0.05], **how)
    start = found.Cs[0]
    assert not solve(X, y, C=start * (1 - 1e-6), radius=0.05, **how).w.any()
    assert solve(X, y, C=start * 1.01, radius=0.05, tol=1e-8, **how).w.any()
    assert found.null.tolist() == [[True, False, False, False, False]]


# -- the grid ----------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [None, 1.0])
def test_the_path_starts_where_every_sample_saturates(intercept):
    problem = make_problem(5, n=60, intercept=intercept)
    if intercept:  # a penalty that the balance of classes does not exceed
        problem = make_problem(5, n=60, intercept=100.0)
    found = path(Cs=10, radii=[0.1], keep_alphas=True, **arguments(problem))
    np.testing.assert_allclose(found.alphas[0, 0], found.Cs[0])
    assert (found.alphas[0, 1] < found.Cs[1] * (1 - 1e-3)).any()
    assert found.n_iters[0, 0] == 0
    assert np.allclose(np.diff(np.log(found.Cs)), np.log(found.Cs[1] / found.Cs[0]))
    norms = (np.asarray(problem.rows.X) ** 2).sum(axis=1)
    assert found.Cs[-1] == pytest.approx(100 / norms.mean())


def test_with_a_free_intercept_the_lighter_class_saturates_at_the_start():
    problem = make_problem(5, n=60, intercept=0.0, oddity="tiny class")
    found = path(Cs=5, keep_alphas=True, **arguments(problem))
    light = problem.y < 0
    np.testing.assert_allclose(found.alphas[0, 0][light], found.Cs[0])
    assert found.Cs[0] > 0


def test_the_ends_of_the_path_do_not_depend_on_the_scale_of_the_data(cancer):
    X, y = cancer
    small, large = (
        path(X, y, Cs=3, fit_intercept=False),
        path(100 * X, y, Cs=3, fit_intercept=False),
    )
    np.testing.assert_allclose(small.Cs, 1e4 * large.Cs)
    np.testing.assert_allclose(small.coefs, 100 * large.coefs, atol=1e-3)


def test_null_models_are_flagged_and_reported_once(cancer):
    X, y = cancer
    problem = make_problem(0)
    limit = critical_radius(type(problem).from_data(X, y)).upper
    with pytest.warns(NullModelWarning, match="from radius") as caught:
        found = path(
            X,
            y,
            Cs=6,
            radii=[0.0, 0.99 * limit, 1.01 * limit, 2 * limit],
            fit_intercept=False,
        )
    assert len(caught) == 1
    np.testing.assert_array_equal(found.null.all(axis=1), [False, False, True, True])
    assert not found.null[:2].any()
    assert not found.coefs[2:].any()
    assert found.converged.all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert path(
            X, y, Cs=3, radii=[2 * limit], quiet=True, fit_intercept=False
        ).null.all()


# -- sequential screening ----------------------------------------------------------


def test_a_carried_solution_has_the_gap_of_the_theory():
    problem = make_problem(2, n=80, C=0.3, radius=0.2)
    cold = solve(
        C=1.0, radius=problem.radii, tol=1e-12, quiet=True, **arguments(problem)
    )
    last = Pair(problem.at(cold.w), problem.dual_at(cold.alpha))
    passes = problem.rows.passes.count
    for ratio in (1.01, 1.5, 4.0, 0.5):
        there = problem.with_weights(ratio * problem.weights)
        moved = carry_scaled(there, last, ratio).pair
        expected = 0.5 * (ratio - 1) ** 2 * cold.w @ cold.w
        assert moved.gap == pytest.approx(expected, rel=1e-6)
    assert problem.rows.passes.count == passes


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_a_carried_gap_is_known_without_a_look_at_the_rows(intercept):
    problem = make_problem(3, n=80, C=0.3, radius=0.2, intercept=intercept)
    found = solve(
        C=1.0, radius=problem.radii, tol=1e-2, quiet=True, **arguments(problem)
    )
    last = Pair(problem.at(found.w, found.b), problem.dual_at(found.alpha))
    for ratio in (1.0, 1.3, 0.7):
        there = problem.with_weights(ratio * problem.weights)
        scale, told = best_multiple(problem, last, ratio)
        moved = carry_scaled(there, last, scale).pair
        assert told == pytest.approx(moved.gap / moved.point.value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("solver", ["newton", "coordinate"])
def test_solutions_that_serve_the_next_point_too_are_handed_on_unsolved(solver):
    problem = make_problem(4, n=300, d=5, C=1.0)
    Cs = np.geomspace(0.1, 0.101, 6)
    how = {"tol": 0.01, "solver": solver, "quiet": True, "random_state": 0}
    found = path(Cs=Cs, **how, **arguments(problem))
    assert found.converged.all()
    assert not any(point.n_iter for point in list(found)[1:])


# -- predictions -------------------------------------------------------------------


def test_enough_rows_hold_all_on_the_wrong_side():
    predicted = np.array([0.1, -0.2, 0.3, -0.4, 5.0])
    assert rows_enough(predicted, predicted) == 0
    assert rows_enough(predicted, predicted - 0.25) == 1
    assert rows_enough(predicted, predicted + 0.25) == 2
    assert rows_enough(predicted, -predicted) == 5
    assert rows_enough(predicted, predicted, 9) == 4
    rng = np.random.default_rng(0)
    predicted, slack = rng.normal(size=(2, 500))
    nearest = np.argsort(np.abs(predicted))
    wrong = (predicted > 0) != (slack > 0)
    enough = rows_enough(predicted, slack)
    assert not wrong[nearest[enough:]].any()
    assert wrong[nearest[enough - 1]]


def test_working_sets_hold_a_few_more_rows_than_were_enough_before():
    problem = make_problem(4, n=400, d=5, C=1.0)
    slack = np.linspace(-1, 2, 400)
    starts = Predictor(problem, get_solver("newton"), np.random.default_rng(0))
    assert starts.rows == NEAR_SHARE * 400
    sizes = []
    for rows in (0, 40, 120, 240):
        point = replace(problem.at(np.zeros(5)), slack=slack)
        start = WarmStart(problem, point, problem.weights, rows=rows)
        sizes.append(np.count_nonzero(np.abs(slack) <= _band(start)))
    reserve = WALK_RESERVE
    expected = [0, reserve * 40, reserve * 120, 400]  # most are as well all
    np.testing.assert_allclose(sizes, expected, atol=3)


def test_rows_that_had_to_come_back_are_taken_at_once_next_time():
    """A prediction may be right, and yet few rows not be enough to hold w in place."""
    problem, control = make_problem(4, n=400, d=5, C=1.0), Control(1e-6)
    starts = Predictor(problem, get_solver("newton"), np.random.default_rng(0))
    for C, needed in ((1.0, 0), (1.01, 123)):
        there = problem.with_weights(C * problem.weights)
        start = starts.start(there, control, C)
        found = get_solver("newton").solve(there, control, start=start)
        starts.accept(found, C, start, needed)
    assert starts.rows == 123
    assert starts.start(problem, control, 1.02).rows == 123


def test_a_run_tells_how_many_rows_the_last_working_set_had():
    problem = make_problem(4, n=3000, d=5, C=1.0, separation=0.5)
    best = solve_in_memory(problem, Control(1e-6)).point
    for start, wrong in ((best, False), (problem.at(-best.w, -best.b), True)):
        driver = Driver(InMemory(problem), Control(1e-6))
        found = driver.solve(start, nearest_width(start.slack, 0.05))
        assert found.meets(1e-6)
        assert (len(driver.sizes) > 1) == wrong
        assert (driver.sizes[-1] > 160) == wrong


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_a_path_starts_at_the_lowest_point_between_its_predictions(radius, intercept):
    rng = np.random.default_rng(0)
    for seed in range(5):
        C = (1.0, 1e-3)[seed % 2]
        problem = make_problem(seed, n=100, C=C, radius=radius, intercept=intercept)
        best = solve(C=1.0, radius=problem.radii, quiet=True, **arguments(problem))
        away = rng.normal(size=best.w.size)
        for shares in ((0.3, -0.7), (0.5, 2.0), (-0.5, -0.1)):
            ends = [problem.at(best.w + s * away, best.b + s) for s in shares]
            found = lowest_between(problem, ends)
            ways = np.linspace(0, 1, 201)
            line = [
                problem.at(
                    ends[0].w + t * (ends[1].w - ends[0].w),
                    ends[0].b + t * (ends[1].b - ends[0].b),
                ).value
                for t in ways
            ]
            lowest = min(line)
            assert found.value <= min(end.value for end in ends) * (1 + 1e-12)
            share = 0.1 if radius else 0.01  # noise bends the way
            assert found.value - lowest <= share * (max(line) - lowest) + 1e-12


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_a_path_begins_at_the_bounds_where_these_are_about_right(intercept):
    problem = make_problem(4, n=300, d=5, intercept=intercept)
    first = path(Cs=3, quiet=True, **arguments(problem)).Cs[0]
    newton = get_solver("newton")
    starts = Predictor(problem, newton, np.random.default_rng(0))
    small = problem.with_weights(0.5 * first * problem.weights)
    point = starts.start(small, Control(), 0.5 * first).point
    assert small.at(point.w, point.b).value == point.value
    starts = Predictor(problem, newton, np.random.default_rng(0))
    large = problem.with_weights(1e3 * first * problem.weights)
    assert starts.start(large, Control(), 1e3 * first) is None


class Carried(Newton):
    """Newton's method from the solution before, without what that decides."""

    predicted = False


def carried_decisions(problem, Cs, factors, region):
    """Hold what every point decides beforehand against a near-exact solution."""
    tally = Counter()
    control = Control(1e-6, screening=region)
    sequence = Sequence(Presolved(problem), control, Carried())
    levels = np.array([(factor, 0.0, -np.inf) for factor in factors])
    for k, j, found in sequence.points(np.array(Cs), levels):
        if found.decided is None:
            continue
        here = problem.with_radii(factors[k] * problem.radii)
        here = here.with_weights(Cs[j] * problem.weights)
        Reference(here).judge(found.decided, tally)
        tally["points"] += 1
    return tally


@pytest.mark.parametrize("region", ["ellipsoid", "midpoint", "gap"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_what_a_point_decides_for_the_next_is_never_wrong(intercept, region):
    total = Counter()
    for seed in range(4):
        shape = ("l2", "ellipsoid")[seed % 2]
        problem = make_problem(
            seed,
            n=60,
            shape=shape,
            intercept=intercept,
            spread_radii=bool(seed % 3),
            weights=("ones", "random", "some zero")[seed % 3],
            dtype=(np.float64, np.float32)[seed % 2],
        )
        Cs = np.geomspace(0.1, 0.5, 8)
        total += carried_decisions(problem, Cs, [0.95, 1.0], region)
    assert total["decisions"] > 300
    assert total["wrong"] == 0
    assert total["violated"] == 0


def test_sequential_screening_spares_the_rows_it_decides():
    problem = make_problem(4, n=3000, d=5, C=1.0, separation=0.5)
    data = arguments(problem) | {"solver": "coordinate"}
    Cs = np.geomspace(1e-3, 1.0, 60)
    seen = path(Cs=Cs, **data)
    blind = path(Cs=Cs, screening=None, **data)
    assert np.median(seen.undecided) < 0.3 * 3000
    assert (blind.undecided == 3000).all()
    assert_equals_cold_solutions(path(Cs=Cs[::20], **data), **data)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_newton_reads_no_row_more_for_screening(intercept):
    problem = make_problem(4, n=600, d=5, C=1.0, intercept=intercept)
    options = arguments(problem) | {"Cs": np.geomspace(0.01, 1.0, 20)}
    options["solver"] = "newton"
    seen, blind = path(**options), path(screening=None, **options)
    assert (seen.removed + seen.saturated > 300).all()
    np.testing.assert_array_equal(seen.passes, blind.passes)
    np.testing.assert_array_equal(seen.coefs, blind.coefs)


def test_samples_decided_beforehand_are_decided_by_the_certificate_too(cancer):
    X, y = cancer
    found = path(
        X, y, Cs=np.geomspace(0.1, 0.2, 12), radii=[0.1], solver="coordinate", tol=1e-9,
        keep_alphas=True, fit_intercept=False
    )  # fmt: skip
    assert (found.undecided[0, 1:] < 0.5 * len(y)).all()
    for j, C in enumerate(found.Cs):
        here = X, y, found.coefs[0, j], found.alphas[0, j]
        partition = screen(*here, C=C, radius=0.1, fit_intercept=False)
        assert found.removed[0, j] == pytest.approx(partition.removed.sum(), abs=3)
        assert len(y) - partition.counts[0] >= len(y) - found.undecided[0, j]


# -- ends, answers, errors ---------------------------------------------------------


def test_a_callback_sees_where_it_is_and_may_stop(cancer):
    X, y = cancer
    seen = []

    def stop(entry):
        seen.append((entry["C"], entry["radius"]))
        return entry["radius"] > 0

    with pytest.warns(ConvergenceWarning, match="of 10 points"):
        found = path(X, y, Cs=5, radii=[0.0, 0.1], callback=stop, fit_intercept=False)
    assert not found.complete
    assert found.done[0].all()
    assert set(seen[:-1]) <= {(C, 0.0) for C in found.Cs}
    assert seen[-1][1] == 0.1
    assert len(found) == found.done.sum() == len(list(found))
    assert np.isnan(found.coefs[~found.done]).all()
    with pytest.raises(KeyError, match="was not reached"):
        found[1, 4]


def test_an_interrupt_leaves_the_points_reached(cancer):
    X, y = cancer

    def interrupt(entry):
        if entry["C"] > 0.05:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted: 2 of 3"):
        found = path(
            X, y, Cs=[0.01, 0.03, 1.0], callback=interrupt, fit_intercept=False
        )
    assert found.done.tolist() == [[True, True, False]]
    assert found.converged[found.done].all()


def test_time_may_run_out(cancer):
    with pytest.warns(ConvergenceWarning, match="stopped"):
        found = path(*cancer, Cs=30, max_seconds=1e-6, fit_intercept=False)
    assert not found.complete


def test_points_that_do_not_converge_are_reported_together(cancer):
    with pytest.warns(ConvergenceWarning, match="points, relative gaps up to"):
        found = path(*cancer, Cs=[1.0, 10.0], max_iter=2, fit_intercept=False)
    assert found.complete
    assert not found.converged.all()


def test_a_path_is_a_table_of_its_points(cancer):
    found = path(*cancer, Cs=4, radii=[0.0, 0.1], fit_intercept=False)
    frame = found.to_frame()
    assert len(frame) == len(found) == 8
    assert frame["C"].tolist() == [*found.Cs, *found.Cs]
    assert frame["gap"].tolist() == found.gaps.ravel().tolist()
    for point, row in zip(found, frame.itertuples(), strict=True):
        assert (point.C, point.radius, point.removed) == (
            row.C,
            row.radius,
            row.removed,
        )
    point = found[1, 2]
    assert point.w is not None
    assert point.trace == found.traces[1][2]
    assert "8 of 8 points" in repr(found)


def test_a_path_can_be_drawn(cancer):
    import matplotlib

    matplotlib.use("agg")
    found = path(*cancer, Cs=[1.0, 0.1, 0.01], radii=[0.0, 0.1], fit_intercept=False)
    display = found.plot(k=1)
    curve = display.ax_[1].lines[0]
    np.testing.assert_array_equal(curve.get_xdata(), [0.01, 0.1, 1.0])
    np.testing.assert_array_equal(
        curve.get_ydata(), found.undecided[1, ::-1] / found.n_samples
    )


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"Cs": 0}, "Cs=0"),
        ({"Cs": [1.0, -1.0]}, r"Cs=-1\.0"),
        ({"Cs": []}, "Cs="),
        ({"Cs": "many"}, "Cs='many'"),
        ({"radii": [-0.1]}, "radii is -0.1"),
        ({"radii": [[0.1]]}, "radii has shape"),
        ({"radius": [1.0, 2.0]}, "radius has shape"),
        ({"norm_penalties": [-0.1]}, "norm_penalties is -0.1"),
        ({"norm_penalties": [[0.1]]}, "norm_penalties has shape"),
        ({"norm_penalties": []}, "norm_penalties has shape"),
        ({"norm_penalty": -1.0}, r"norm_penalty=-1\.0"),
        (
            {"norm_penalties": [0.1, 1.0], "radii": [0.0, 0.1]},
            "2 radii and 2 norm_penalties are given; a path varies one of them beside C",
        ),
        ({"tol": 0}, "tol=0"),
        ({"solver": "best"}, "solver='best'"),
        ({"max_iter": 1.5}, "max_iter=1.5"),
    ],
)
def test_errors_name_the_argument(cancer, wrong, text):
    with pytest.raises(ValueError, match=text):
        path(*cancer, **({"Cs": [1.0]} | wrong))


# -- starts ------------------------------------------------------------------------


def test_a_start_with_far_too_few_rows_recovers():
    problem = make_problem(6, n=30_000, d=6, C=10.0, separation=0.2)
    far = np.full(6, 3.0)
    control = Control(1e-6)
    found = solve_in_memory(problem, control, problem.at(far), 0.0)
    assert found.meets(control.tol)
    assert problem.rows.passes.count < 500


def test_a_path_goes_by_sweeps_where_its_largest_weights_are_small():
    X = np.random.default_rng(0).normal(size=(120_000, 10))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    weight = 10 / float((X * X).sum())
    for level, name in ((200.0, "coordinate"), (1000.0, "newton")):
        Cs = level * weight * np.array([0.5, 1.0])
        found = path(X, y, Cs=Cs, radii=[0.0], fit_intercept=False)
        assert found.solver == name
        assert found.converged.all()


@pytest.mark.parametrize("kept", [0, 1 << 22])
def test_what_points_decide_is_computed_when_asked_for(monkeypatch, kept):
    problem = make_problem(n=60, d=4, seed=0)
    X, y, asked = problem.rows.X, problem.y, []

    def noted(*given):
        asked.append(given)
        return screen_at_hand(*given)

    monkeypatch.setattr(paths, "screen_at_hand", noted)
    monkeypatch.setattr(import_module("wideberth._path"), "_KEPT_ROWS", kept)
    Cs = [0.01, 0.1, 1.0]
    found = path(X, y, Cs=Cs, radii=[0.1])
    at_once = 0 if kept else 2  # what the first point keeps is none too many
    assert len(asked) == at_once
    again = pickle.loads(pickle.dumps(found))
    assert len(asked) == 3
    removed = [solve(X, y, C=C, radius=0.1).removed.sum() for C in Cs]
    assert found.removed.sum() == pytest.approx(sum(removed), abs=3)
    for name in ("removed", "saturated"):
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))
        assert found.to_frame()[name].tolist() == getattr(found, name)[0].tolist()


@pytest.mark.parametrize("intercept", [None, 0.0, 1.0])
def test_once_no_sample_is_within_the_margin_a_larger_C_costs_nothing(intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) / np.arange(1, 4)
    X = X[np.abs(X[:, 0]) > 0.3]
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    options = {"fit_intercept": intercept is not None, "solver": "newton"}
    options |= {"intercept_penalty": intercept or 0.0, "tol": 1e-6}
    found = path(X, y, Cs=[1.0, 1e3, 3e3, 1e4], radii=[0.0], **options)
    assert found.converged.all()
    assert (found.n_iters[0, :2] > 0).all()
    assert (found.n_iters[0, 2:] == 0).all()
    for coef in found.coefs[0, 2:]:
        np.testing.assert_array_equal(coef, found.coefs[0, 1])


@pytest.mark.parametrize("C", [1e-6, 0.1, 1e3])
def test_a_solution_is_carried_at_the_best_multiple_of_its_dual_weights(C):
    problem = make_problem(n=40, d=5, seed=1).with_weights(np.full(40, C))
    last = get_solver("newton").solve(problem, Control(1e-9))
    for ratio in (0.5, 1.0, 3.0):
        other = problem.with_weights(ratio * problem.weights)
        scale, told = best_multiple(other, last, ratio)
        assert scale <= ratio
        values = [
            carry_scaled(other, last, t).dual.value
            for t in (0.9 * scale, scale, min(1.1 * scale, ratio))
        ]
        assert values[1] >= max(values) - 1e-9 * abs(values[1])
        held = carry_scaled(other, last, scale).pair.certificate.relative_gap
        assert told == pytest.approx(held, abs=1e-9)
