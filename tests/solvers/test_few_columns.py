"""Few columns at a time: the answer, the proof and the zeros are those of all columns."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from polyhedral import assert_same, make_arguments
from problems import INTERCEPTS, intercept_options
from wideberth import Box, path, solve
from wideberth.problem import Problem
from wideberth.solvers.base import Control
from wideberth.solvers.columns import ColumnRounds, FewColumns

CASES = list(itertools.product(["linf", "box"], INTERCEPTS, [0.0, 1.0]))


def wide(seed, *, n=40, d=400, **options):
    """More features than rows, of which few tell the classes apart."""
    options = {
        "C": 0.5,
        "radius": 0.05,
        "norm_penalty": 3.0,
        "informative": 4,
    } | options
    return make_arguments(seed, n=n, d=d, **options)


def problem_of(X, y, options, intercept=None):
    return Problem.from_data(X, y, intercept=intercept, **options)


def rounds_of(seed=0, tol=1e-8, screening="ellipsoid", **options):
    """Rounds on a wide problem, and the problem."""
    problem = problem_of(*wide(seed, **options))
    control = Control(tol, 1000, np.inf)
    control.screening = screening
    return ColumnRounds(problem, control), problem


def assert_certified(X, y, found, options, intercept=None, tol=1e-8):
    """The points, evaluated on all columns of the data as given, prove `tol`."""
    problem = problem_of(X, y, options, intercept)
    pair = problem.at(found.w, found.b), problem.dual_at(found.alpha)
    assert problem.certificate(*pair).bound <= 1.01 * tol * found.primal


# -- the optimum -----------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "intercept", "norm_penalty"), CASES)
def test_few_columns_have_the_optimum_of_all(shape, intercept, norm_penalty):
    pytest.importorskip("cvxpy")
    X, y, options = wide(1, shape=shape, norm_penalty=3 * norm_penalty)
    how = options | intercept_options(intercept)
    found = solve(X, y, tol=1e-8, **how)
    assert found.solver == "columns"
    assert found.converged
    assert_certified(X, y, found, options, intercept)
    assert_same(found, solve(X, y, tol=1e-8, solver="newton", **how))
    assert_same(found, solve(X, y, tol=1e-6, solver="conic", quiet=True, **how))


@pytest.mark.parametrize("screening", [None, "ellipsoid"])
@pytest.mark.parametrize("table", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("seed", range(4))
def test_the_form_of_the_rows_does_not_matter(seed, table, screening):
    rng = np.random.default_rng(seed)
    X, y, options = wide(seed, n=60, d=300, shape=("linf", "box")[seed % 2])
    X[rng.random(X.shape) < 0.7] = 0.0
    intercept = INTERCEPTS[seed % 3]
    how = options | intercept_options(intercept) | {"screening": screening}
    found = solve(table(X), y, solver="columns", tol=1e-8, **how)
    assert found.converged
    assert_certified(X, y, found, options, intercept)
    assert_same(found, solve(X, y, solver="newton", tol=1e-8, **how))


@pytest.mark.parametrize("solver", ["columns", "newton"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize(
    ("radius", "norm_penalty"),
    [(0.0, 1e-12), (0.0, 1e-300), (1e-5, 0.0), (1e-100, 0.0)],
)
def test_noise_next_to_nothing_is_served(radius, norm_penalty, intercept, solver):
    X, y, options = wide(4, radius=radius, norm_penalty=norm_penalty)
    found = solve(
        X, y, solver=solver, tol=1e-8, **options, **intercept_options(intercept)
    )
    assert found.converged
    assert found.n_iter < 60
    assert_certified(X, y, found, options, intercept)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize(("n", "d"), [(2, 300), (20, 1), (20, 150)])
def test_the_first_columns_may_be_none(n, d, intercept):
    """All samples at their bound cancel out, or a penalty outweighs them all."""
    X, y, options = wide(16, n=n, d=d, C=1e-3, norm_penalty=1.0)
    even = np.tile(X[: n // 2], (2, 1)), np.repeat([1, -1], n // 2)
    for table, labels in ((X, y), even):
        for norm_penalty in (0.0, 1.0):
            options["norm_penalty"] = norm_penalty
            how = options | intercept_options(intercept) | {"solver": "columns"}
            found = solve(table, labels, tol=1e-8, quiet=True, **how)
            assert found.converged
            assert_certified(table, labels, found, options, intercept)


def test_smooth_noise_is_refused_in_a_sentence():
    X, y, _ = wide(4)
    for noise in ("l2", "l1", np.ones(400)):
        with pytest.raises(ValueError, match="leaves features out"):
            solve(X, y, noise=noise, solver="columns")


# -- rounds ----------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1, 50])
def test_whatever_columns_come_first_the_last_are_right(first):
    rounds, problem = rounds_of(6)
    found = rounds.solve(np.arange(400 - first, 400))  # none of which tells anything
    best = FewColumns().solve(problem, Control(1e-8, 1000, np.inf))
    assert found.certificate.proves(1e-8)
    assert found.point.value == pytest.approx(best.point.value, rel=1e-7)


# -- paths -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("intercept", "screening"), [(None, None), (1.0, "ellipsoid"), (0.0, "ellipsoid")]
)
def test_paths_by_columns_equal_cold_solutions(intercept, screening):
    """Each point begins with the columns that the last one makes likely."""
    X, y, options = wide(9, norm_penalty=0.0)
    how = options | intercept_options(intercept) | {"screening": screening}
    how.pop("radius"), how.pop("norm_penalty"), how.pop("C")
    penalties = [4.0, 3.5, 3.0, 1.0, 0.0]
    found = path(
        X, y, Cs=[0.5, 0.55], radii=[0.05], norm_penalties=penalties, tol=1e-8, **how
    )
    assert found.solver == "columns"
    assert found.complete
    for point in found:
        level = {"C": point.C, "radius": 0.05, "norm_penalty": point.norm_penalty}
        cold = solve(X, y, tol=1e-9, **how, **level)
        assert point.converged
        assert point.objective == pytest.approx(cold.primal, rel=1e-7)
        apart = np.linalg.norm(point.w - cold.w)
        assert apart <= 2 * np.sqrt(2 * (point.gap + cold.gap + 1e-12 * cold.primal))


# -- zeros -----------------------------------------------------------------------------


def clear_zeros(X, y, options, intercept):
    """Features that have no weight at the optimum, and are not near their threshold."""
    best = solve(X, y, tol=1e-9, **options, **intercept_options(intercept))
    problem = problem_of(X, y, options, intercept)
    dual = problem.dual_at(best.alpha)
    scales = np.broadcast_to(problem.noise.sets.scales, dual.d.shape)
    return np.abs(dual.d) < 0.99 * dual.s * scales


@pytest.mark.parametrize(("shape", "intercept", "norm_penalty"), CASES)
@pytest.mark.parametrize("size", [(40, 120), (200, 15)])
def test_weights_that_are_zero_are_exactly_so(shape, intercept, norm_penalty, size):
    n, d = size
    X, y, options = wide(10, shape=shape, n=n, d=d, norm_penalty=8 * norm_penalty)
    options["radius"] = 0.05 if norm_penalty else 0.3
    clear = clear_zeros(X, y, options, intercept)
    assert clear.any()
    for tol in (1e-4, 1e-6, 1e-9):
        found = solve(X, y, tol=tol, **options, **intercept_options(intercept))
        assert found.converged
        if tol == 1e-6:  # rougher points are not as clear, finer ones need every weight
            assert not found.w[clear].any()
        assert_certified(X, y, found, options, intercept, tol)
        if shape == "box":
            assert found.w[-1] != 0  # no noise, no zero


# -- features proven zero, beside a solution -------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("d", [20, 300])
def test_only_features_proven_zero_are_called_removed(intercept, d):
    X, y, options = wide(12, n=60, d=d, norm_penalty=5.0)
    how = options | intercept_options(intercept)
    best = solve(X, y, tol=1e-9, **how)
    for tol in (1e-2, 1e-4, 1e-8):
        found = solve(X, y, tol=tol, **how)
        removed = found.removed_features
        assert removed.shape == (d,)
        assert not best.w[removed].any()
    assert removed.sum() > 0.5 * np.sum(best.w == 0)
    assert solve(X, y, screening=None, **how).removed_features is None


def test_a_box_of_no_size_proves_nothing():
    X, y, options = wide(15, n=60, d=10, norm_penalty=4.0)
    found = solve(X, y, **options | {"noise": Box(np.zeros(10))})
    assert not found.removed_features.any()
    assert np.all(found.w != 0)
