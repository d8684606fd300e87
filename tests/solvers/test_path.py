"""Paths in C and radius: every point is the cold solution, whatever it started from."""

import re
import warnings
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from sklearn.exceptions import ConvergenceWarning

import polyhedral
from problems import INTERCEPTS, intercept_options, make_problem, problems
from safety import Reference
from wideberth import NullModelWarning, critical_radius, path, solve
from wideberth.datasets import load_breast_cancer, paper_preprocess
from wideberth.problem.changes import Presolved, build_problem
from wideberth.problem.statement import Statement
from wideberth.solvers.base import Control
from wideberth.solvers.newton import Newton
from wideberth.solvers.paths import Sequence
from wideberth.solvers.small import Small
from wideberth.solvers.starts import Predictor

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
    } | intercept_options(problem.intercept)


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


def test_wide_data_are_walked_in_the_span_of_the_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 300)), np.where(rng.random(40) < 0.5, 1, -1)
    for data in (X, sp.csr_array(np.where(rng.random(X.shape) < 0.2, X, 0.0))):
        options = {"X": data, "y": y, "solver": "newton"}
        found = path(Cs=[1e-5, 1e-3, 0.1], radii=[0.0, 0.3], **options)
        assert_equals_cold_solutions(found, **options)


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


# -- norm penalties ----------------------------------------------------------------


@pytest.mark.parametrize("shape", ["l2", "ellipsoid", *polyhedral.SHAPES])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_paths_over_penalties_equal_cold_solutions(shape, intercept):
    X, y, options = polyhedral.make_arguments(
        1, shape="l2" if shape == "ellipsoid" else shape, n=40
    )
    how = {"noise": np.arange(5.0) if shape == "ellipsoid" else options["noise"]}
    how |= intercept_options(intercept)
    penalties = [0.0, 30.0, 2.5]
    found = path(
        X, y, Cs=[0.1, 1.0], radii=[0.05], norm_penalties=penalties, quiet=True, **how
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


@pytest.mark.parametrize("noise", ["l2", "linf", "l1"])
@pytest.mark.parametrize("intercept", [None, 100.0, 0.0])
def test_a_path_under_a_penalty_starts_where_the_model_stops_being_null(
    noise, intercept
):
    rng = np.random.default_rng(3)
    y = np.tile([1, -1], 20)
    X = rng.normal(size=(40, 4)) + 0.5 * y[:, None]
    how = {"noise": noise, "norm_penalty": 3.0, "quiet": True}
    how |= intercept_options(intercept)
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


@pytest.mark.parametrize("solver", ["newton", "coordinate"])
def test_solutions_that_serve_the_next_point_too_are_handed_on_unsolved(solver):
    problem = make_problem(4, n=300, d=5, C=1.0)
    Cs = np.geomspace(0.1, 0.101, 6)
    how = {"tol": 0.01, "solver": solver, "quiet": True, "random_state": 0}
    found = path(Cs=Cs, **how, **arguments(problem))
    assert found.converged.all()
    assert not any(point.n_iter for point in list(found)[1:])


# -- predictions -------------------------------------------------------------------


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
    for seed in range(2):
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
    assert total["decisions"] > 100
    assert total["wrong"] == 0
    assert total["violated"] == 0


# -- ends, answers, errors ---------------------------------------------------------


def test_slacks_foreseen_put_nearly_all_rows_on_their_side(cancer, monkeypatch):
    shares, accept = [], Predictor.accept

    def watched(starts, found, C, foreseen, needed=0):
        if foreseen is not None:
            shares.append(np.mean((foreseen > 0) == (found.point.slack > 0)))
        accept(starts, found, C, foreseen, needed)

    monkeypatch.setattr(Predictor, "accept", watched)
    path(*cancer, Cs=np.geomspace(0.01, 1, 20), radii=[0.05, 0.06], solver=Small())
    assert len(shares) > 30
    assert min(shares[1:]) > 0.95  # the first is that of all samples at their bounds


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


def test_points_that_do_not_converge_are_reported_together(cancer):
    with pytest.warns(ConvergenceWarning, match="points, with relative gaps up to"):
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


# -- every value of a range ------------------------------------------------------------

RANGES = {
    "C": {"Cs": (0.01, 10.0)},
    "radius": {"Cs": [1.0], "radii": (0.0, 0.5)},
    "error bars": {"Cs": [1.0], "radii": (0.1, 1.0), "X_err": "errors"},
    "norm penalty": {"Cs": [1.0], "norm_penalties": (0.0, 20.0), "noise": "linf"},
    "numbers": {"Cs": (0.01, 1.0), "radii": 0.1, "loss": "quantile"},
}


@pytest.mark.parametrize("along", RANGES)
def test_a_complete_path_has_a_proven_model_at_every_value(cancer, along):
    X, y = cancer
    X, y, stated = X[::4], y[::4], dict(RANGES[along])
    if stated.get("X_err") == "errors":
        stated["X_err"] = np.full(X.shape, 0.1)
    if stated.get("loss") == "quantile":
        y = X[:, 0] + 0.1 * X[:, 1]
    models = path(X, y, complete=1e-3, **stated)
    assert not models.notes
    same = {name: stated[name] for name in ("noise", "X_err", "loss") if name in stated}
    low, high = min(models.proofs)[0], max(models.proofs)[1]
    for value in low + (high - low) * np.random.default_rng(0).random(3) ** 3:
        model = models.at(value)
        at = {"C": model.C, "radius": model.radius, "norm_penalty": model.norm_penalty}
        best = solve(X, y, **at, **same)
        problem = build_problem(X, y, Statement(**at, **same)).posed
        scale = max(best.primal, best.certificate.scale)
        assert value in at.values()
        assert model.converged
        assert model.gap <= 1e-3 * scale
        assert model.objective - model.gap <= best.primal + 1e-9 * scale
        value = problem.at(model.w, model.b).value
        assert value <= model.objective + 1e-9 * scale


def test_a_complete_path_takes_few_points_and_its_own_points_are_exact(cancer):
    models = path(*cancer, Cs=(0.01, 1.0), complete=1e-2)
    assert 2 < len(models) < 20
    assert models.at(models.Cs[1]) is models[0, 1]
    assert models.coefs.shape == (1, len(models), 30)
    assert models.complete


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"Cs": 10}, "0 are given"),
        ({"Cs": (0.1, 1.0), "radii": (0.0, 1.0)}, "2 are given"),
        ({"Cs": (1.0, 0.1)}, "low < high"),
        ({"Cs": (1.0, 1.0)}, "low < high"),
        ({"Cs": (0.1, 1.0), "radii": [0.0, 1.0]}, "one value"),
        ({"Cs": (0.1, 1.0), "ramps": [-1.0]}, "not convex"),
        ({"Cs": (0.1, 1.0), "tol": 0.01}, "larger than tol"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(cancer, stated, words):
    with pytest.raises(ValueError, match=words):
        path(*cancer, complete=1e-3, **stated)


def test_models_out_of_reach_are_refused(cancer):
    with pytest.raises(ValueError, match="complete path"):
        path(*cancer, Cs=[1.0]).at(1.0)
    models = path(*cancer, Cs=(0.1, 1.0), complete=1e-2)
    with pytest.raises(ValueError, match="out of reach"):
        models.at(2.0)


def test_a_complete_path_that_ends_early_says_what_is_missing(cancer):
    count = iter(range(100))
    stop = {"callback": lambda entry: next(count) > 6, "quiet": True}
    models = path(*cancer, Cs=(0.01, 100.0), complete=1e-3, **stop)
    assert re.search("not complete.*stopped", str(models.notes[-1]))
