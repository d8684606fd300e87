"""Small problems take the compiled method, and other solvers where it does not do."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from sklearn.datasets import load_digits

from problems import PENALISED_SHAPES, TARGETS, problems
from wideberth import RobustLinearSVC, solve
from wideberth.estimators import training
from wideberth.problem import Problem
from wideberth.solvers import small
from wideberth.solvers.attempts import prove
from wideberth.solvers.base import Control
from wideberth.solvers.estimate import estimated_slacks
from wideberth.solvers.registry import get_solver
from wideberth.solvers.small import Small, solve_small


@pytest.fixture
def served(monkeypatch):
    """Whether the compiled method served each problem that it was tried on."""
    found = []

    def watched(*problem):
        outcome = solve_small(*problem)
        found.append(outcome is not None)
        return outcome

    monkeypatch.setattr(small, "solve_small", watched)
    return found


def data(n=120, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)


# -- answers ---------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    problem=problems(
        shapes=PENALISED_SHAPES, norm_penalties=(0.0, 0.3), targets=TARGETS
    )
)
def test_the_answer_is_that_of_rounds(problem):
    found, other = (
        prove(problem, Control(tol=1e-7), None, solver.solve)
        for solver in (Small(), get_solver("newton"))
    )
    assert found.proves(1e-7) or not other.proves(1e-7)
    if found.proves(1e-7) and other.proves(1e-7):
        scale = max(other.point.value, problem.least_scale)
        assert abs(found.point.value - other.point.value) <= 2e-7 * scale


def test_radii_weights_and_penalties_are_considered(served):
    X, y = data()
    rng = np.random.default_rng(1)
    options = {"radius": rng.uniform(0, 0.2, 120), "norm_penalty": 0.3}
    options["sample_weight"] = np.where(rng.random(120) < 0.2, 0.0, rng.random(120))
    forms = X, X.astype(np.float32), np.asfortranarray(X), X[:, ::-1], sp.csr_array(X)
    for form in forms:
        found = solve(form, y, solver=Small(), **options)
        other = solve(form, y, solver="newton", **options)
        assert found.converged
        assert abs(found.primal - other.primal) <= 2e-6 * other.primal
    assert served == [True] * 5


# -- what it does not do ---------------------------------------------------------------


@pytest.mark.parametrize("spoiled", ["factor", "gap", "points"])
def test_where_it_fails_rounds_go_on(spoiled, monkeypatch):
    """Whatever it returns, nothing is taken on trust."""

    def minimise(*given):
        x, share = np.full(7, 0.1), np.full(120, 0.5)
        gap = {"factor": np.inf, "gap": np.nan, "points": 0.0}[spoiled]
        return x, share, 3, 0, gap

    X, y = data()
    other = solve(X, y, solver="newton")
    monkeypatch.setattr(small, "minimise", minimise)
    found = solve(X, y, solver=Small())
    assert found.converged
    assert np.array_equal(found.w, other.w)
    assert found.n_iter == other.n_iter + 3


# -- estimated slacks ------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-200, 1e18, 1e150])
def test_weights_out_of_all_proportion_prove_nothing_wrong(C, monkeypatch):
    monkeypatch.setattr(small, "_STEPPED_ENTRIES", 1)
    X, y = data()
    problem = Problem.from_data(X, y, C=C, intercept=0.0)
    with np.errstate(all="ignore"):
        found = solve_small(problem, Control(1e-6))
    assert found is None or found.proves(1e-6)


@pytest.mark.parametrize("options", [{}, {"radius": 0.1}, {"fit_intercept": False}])
def test_larger_tables_begin_with_an_estimate(options, monkeypatch):
    X, y = data(n=1500, d=10)
    whole = solve(X, y, **options)
    monkeypatch.setattr(small, "_STEPPED_ENTRIES", 1)
    found = solve(X, y, **options)
    assert found.converged
    assert found.primal == pytest.approx(whole.primal, rel=2e-6)
    assert found.passes - 30 < 0.7 * whole.passes  # 15 steps of two products


# -- classes ---------------------------------------------------------------------------


@pytest.fixture
def estimates(monkeypatch):
    """How many problems each estimate was for."""
    monkeypatch.setattr(small, "_STEPPED_ENTRIES", 1)
    calls = []

    def watched(problem, labels):
        calls.append(len(labels))
        return estimated_slacks(problem, labels)

    monkeypatch.setattr(training, "estimated_slacks", watched)
    monkeypatch.setattr(small, "estimated_slacks", watched)
    return calls


@pytest.mark.parametrize(
    "options", [{}, {"radius": 0.05}, {"class_weight": "balanced"}]
)
def test_hard_classes_have_one_estimate_and_the_answers_of_rounds(
    options, estimates, served
):
    X, y = load_digits(return_X_y=True)
    model = RobustLinearSVC(C=10.0, **options).fit(X, y)
    assert estimates[-1] == 9  # all but the first, which showed that they are hard
    assert len(served) >= 9
    assert all(served)
    del estimates[:]
    single = RobustLinearSVC(
        C=10.0, solver_options={"solver": "newton"}, **options
    ).fit(X, y)
    assert estimates == []
    assert model.converged_.all()
    np.testing.assert_allclose(model.objective_, single.objective_, rtol=1e-6)
    np.testing.assert_allclose(model.coef_, single.coef_, atol=1e-3)
    assert (model.n_iter_ > 0).all()
    assert all(len(each["trace"]) == 1 for each in model.screening_[1:])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_easy_classes_are_swept_where_the_first_one_is(n_jobs, estimates, served):
    X, y = load_digits(return_X_y=True)
    options = {"intercept_penalty": 1.0}
    model = RobustLinearSVC(C=0.05, solver_options=options, n_jobs=n_jobs)
    model.fit(X / 16, y)
    assert estimates == served == []
    options |= {"solver": "newton"}
    single = RobustLinearSVC(C=0.05, solver_options=options).fit(X / 16, y)
    assert model.converged_.all()
    np.testing.assert_allclose(model.objective_, single.objective_, rtol=1e-4)


def test_classes_are_not_swept_where_the_first_one_took_longer_than_newton(
    estimates, served
):
    X, y = load_digits(return_X_y=True)
    model = RobustLinearSVC(C=1.0, solver_options={"intercept_penalty": 1.0})
    model.fit(X / 16, y)
    assert estimates == [9]
    assert served == [True] * 9
    assert len(model.screening_[0]["trace"]) > 2  # it was swept itself
    assert model.converged_.all()


# -- what is computed when it is asked for ----------------------------------------------


def test_decisions_are_those_of_the_certificate_whenever_they_are_read():
    X, y = data()
    found = solve(X, y, radius=0.1)
    back = pickle.loads(pickle.dumps(found))
    again = replace(back, notes=())
    for solution in (found, back, again):
        assert solution.removed.any()
        assert not (solution.removed & solution.saturated).any()
        assert np.array_equal(solution.removed, found.removed)
        assert np.array_equal(solution.saturated, found.saturated)
    assert not callable(back.decided)
    assert sum(found.counts) == 120
    assert not solve(X, y, screening=None).removed.any()
