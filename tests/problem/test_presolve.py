"""Changes of problem that keep its solution: equal samples merged."""

import numpy as np
import pytest
import scipy.sparse as sp

from wideberth import Problem, solve
from wideberth.problem.presolve import merge_duplicates

INTERCEPTS = [None, 0.0, 2.0]


def repeated(seed, n=6_000, distinct=150, d=4):
    """Samples drawn from few, with weights of their own and two radii."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(distinct, d))
    J = rng.integers(distinct, size=n)
    y = np.where(X[:, 0] + rng.normal(size=distinct) > 0, 1.0, -1.0)[J]
    radius = rng.choice([0.0, 0.2], n)
    return X[J], y, {"sample_weight": rng.exponential(size=n), "radius": radius}


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("seed", range(3))
def test_merged_samples_have_the_same_objective_and_feasible_weights(seed, intercept):
    X, y, options = repeated(seed)
    problem = Problem.from_data(X, y, **options, intercept=intercept)
    merged, label = merge_duplicates(problem)
    assert merged.n <= 300
    assert merged.weights.sum() == pytest.approx(problem.weights.sum(), rel=1e-12)
    rng = np.random.default_rng(seed)
    w, b = rng.normal(size=4), rng.normal()
    assert merged.at(w, b).value == pytest.approx(problem.at(w, b).value, rel=1e-12)
    share = rng.random(merged.n)
    one = merged.dual_at(share * merged.weights)
    all_of_them = problem.dual_at(share[label] * problem.weights)
    assert one.value == pytest.approx(all_of_them.value, rel=1e-9)


@pytest.mark.parametrize("solver", ["newton", "coordinate"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_data_of_equal_samples_is_solved_through_few(intercept, solver):
    X, y, options = repeated(7)
    options |= {"fit_intercept": intercept is not None, "solver": solver}
    options |= {"intercept_penalty": intercept or 0.0, "C": 0.01, "tol": 1e-8}
    found = solve(X, y, **options, random_state=0)
    assert found.converged
    problem = Problem.from_data(
        X, y, C=0.01, radius=options["radius"],
        sample_weight=options["sample_weight"], intercept=intercept,
    )  # fmt: skip
    gap = problem.gap(found.w, found.b, found.alpha)
    assert gap == pytest.approx(found.gap, abs=1e-12 * found.primal)
    assert np.all((found.alpha >= 0) & (found.alpha <= problem.weights))
    assert found.passes < 15  # of 6 000 rows, most of them over 300


def test_samples_that_differ_are_left_alone():
    rng = np.random.default_rng(0)
    X, y, options = repeated(0)
    assert merge_duplicates(Problem.from_data(sp.csr_array(X), y)) is None
    X = rng.normal(size=X.shape)
    assert merge_duplicates(Problem.from_data(X, y, **options)) is None
