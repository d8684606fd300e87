from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polyhedral import make_arguments
from problems import PENALISED_SHAPES, problems, random_alpha
from wideberth import solve
from wideberth.problem import Problem

penalised = problems(shapes=PENALISED_SHAPES, norm_penalties=(0.0, 0.01, 0.5))
seeds = st.integers(0, 2**32 - 1)


@given(penalised, seeds)
def test_weak_duality_for_any_primal_and_feasible_dual_point(problem, seed):
    rng = np.random.default_rng(seed)
    for scale in (1e-3, 1.0, 1e2):
        w, b = scale * rng.normal(size=problem.rows.d), scale * rng.normal()
        dual = problem.dual_at(random_alpha(problem, rng))
        for point in (problem.at(w, b), problem.at(w), problem.at(dual.w)):
            certificate = problem.certificate(point, dual)
            assert certificate.gap >= -certificate.rounding


@given(problems(), seeds)
def test_worst_case_perturbation_attains_the_robust_hinge(problem, seed):
    rng = np.random.default_rng(seed)
    w, b = rng.normal(size=problem.rows.d), rng.normal()
    b = 0.0 if problem.intercept is None else b
    delta = problem.worst_case(w)
    X = problem.rows.X.toarray() if sp.issparse(problem.rows.X) else problem.rows.X
    margins = problem.y * ((X + delta) @ w + b)
    np.testing.assert_allclose(
        margins, problem.robust_margins(w, b), rtol=1e-9, atol=1e-9
    )
    for row in range(problem.n):
        assert problem.noise.sets.dual_norm(delta[row]) <= problem.radii[row] * (
            1 + 1e-9
        )


@given(problems(intercepts=(0.0,)), seeds)
def test_repair_satisfies_box_and_balance(problem, seed):
    rng = np.random.default_rng(seed)
    alpha = problem.repair(rng.normal(size=problem.n) * 3 * problem.weights)
    assert np.all(alpha >= 0)
    assert np.all(alpha <= problem.weights)
    assert abs(alpha @ problem.y) <= 1e-13 * alpha.sum()
    assert problem.repair(alpha) is alpha


@given(penalised, seeds)
def test_other_weights_change_nothing_that_was_computed_once(problem, seed):
    problem = replace(problem)  # with nothing computed yet
    names = {"targets", "penalty_set", "outside"}
    names |= {"largest_target", "largest_norm", "largest_lipschitz"}
    for name in names:
        getattr(problem, name)
    weights = 3.0 * problem.weights
    other, fresh = problem.with_weights(weights), replace(problem, weights=weights)
    assert vars(other).keys() - vars(fresh).keys() == names
    rng = np.random.default_rng(seed)
    w, b, alpha = (
        rng.normal(size=problem.rows.d),
        rng.normal(),
        random_alpha(fresh, rng),
    )
    for known, anew in (
        (other.at(w, b), fresh.at(w, b)),
        (other.dual_at(alpha), fresh.dual_at(alpha)),
    ):
        assert (known.value, known.rounding) == (anew.value, anew.rounding)


# -- a norm penalty, and the problems of others that it makes ----------------------------


@given(problems(shapes=PENALISED_SHAPES), seeds)
def test_a_norm_penalty_adds_itself_and_nothing_else(problem, seed):
    rng = np.random.default_rng(seed)
    w, b, s = rng.normal(size=problem.rows.d), rng.normal(), rng.exponential()
    same = Problem.from_data(
        problem.rows.X,
        problem.y,
        radius=problem.radii,
        noise=problem.noise.sets,
        sample_weight=problem.weights,
        intercept=problem.intercept,
        norm_penalty=s,
    )
    plain, point = problem.at(w, b), same.at(w, b)
    added = s * problem.noise.sets.support(w)
    assert point.value == pytest.approx(plain.value + added, rel=1e-12)
    np.testing.assert_array_equal(point.slack, plain.slack)
    alpha = random_alpha(problem, rng)
    dual = same.dual_at(alpha)
    assert dual.s == pytest.approx(s + dual.alpha @ problem.radii, rel=1e-12)
    near = problem.noise.sets.prox(dual.d, dual.s)
    np.testing.assert_allclose(dual.w, near, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("norm_penalty", [0.3, 3.0])
def test_boxes_and_a_penalty_are_the_elastic_net_svm(norm_penalty, fit_intercept):
    cp = pytest.importorskip("cvxpy")
    X, y, options = make_arguments(0, radius=0.0, norm_penalty=norm_penalty)
    found = solve(X, y, tol=1e-8, fit_intercept=fit_intercept, **options)
    w, b = cp.Variable(5), cp.Variable() if fit_intercept else 0.0
    hinge = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b)))
    cost = 0.5 * cp.sum_squares(w) + norm_penalty * cp.norm1(w) + hinge
    value = cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL")
    assert found.primal == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(found.w, w.value, atol=1e-3)


@pytest.mark.parametrize(("C", "norm_penalty"), [(0.1, 0.5), (1.0, 2.0), (10.0, 1.0)])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_penalty_alone_is_the_wasserstein_robust_svm(C, norm_penalty, fit_intercept):
    """Under Euclidean noise: that of ε = (‖w*‖ + s₀)/(nC), whose solution w* is too."""
    cp = pytest.importorskip("cvxpy")
    X, y, _ = make_arguments(1, n=40)
    options = {"C": C, "norm_penalty": norm_penalty, "fit_intercept": fit_intercept}
    found = solve(X, y, tol=1e-9, **options)
    norm = np.linalg.norm(found.w)
    assert norm > 0
    epsilon = (norm + norm_penalty) / (40 * C)
    w, b = cp.Variable(5), cp.Variable() if fit_intercept else 0.0
    loss = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b))) / 40
    value = cp.Problem(cp.Minimize(epsilon * cp.norm2(w) + loss)).solve(
        solver="CLARABEL"
    )
    ours = np.maximum(1 - y * (X @ found.w + found.b), 0.0).mean() + epsilon * norm
    assert ours == pytest.approx(value, rel=1e-6)


def test_a_penalty_beside_ellipsoids_per_cell_is_refused():
    X, y, _ = make_arguments(4)
    with pytest.raises(ValueError, match="norm_penalty"):
        solve(X, y, X_err=np.full_like(X, 0.1), norm_penalty=1.0)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf, "1", None, True, [1.0]])
def test_penalties_that_cannot_be_are_named(wrong):
    X, y, _ = make_arguments(5)
    with pytest.raises((ValueError, TypeError), match="norm_penalty"):
        solve(X, y, norm_penalty=wrong)


GOOD = {"X": np.array([[1.0, 2.0], [3.0, 4.0]]), "y": [1, -1]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"X": [[1.0, np.nan], [0, 0]]}, "X contains nan at row 0, column 1"),
        (
            {"X": sp.csr_array([[0, np.inf], [0, 1]])},
            "X contains inf at row 0, column 1",
        ),
        ({"X": np.zeros((2, 0))}, r"X has shape \(2, 0\)"),
        ({"radius": -0.1}, "radius is -0.1; it must be finite and ≥ 0"),
        ({"radius": [0.1, -2.0]}, "radius is -2.0 at row 1"),
        ({"radius": np.inf}, "radius is inf"),
        ({"radius": [0.1, 0.1, 0.1]}, r"radius has shape \(3,\)"),
        ({"radius": "big"}, "radius='big'"),
        ({"sample_weight": [1.0, -1.0]}, "sample_weight is -1.0 at row 1"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\)"),
        ({"C": 0.0}, "C=0.0 must be"),
        ({"C": "1"}, "C='1' must be"),
        ({"C": 1e308, "sample_weight": [1.0, 1e10]}, "overflows"),
        ({"intercept": -1.0}, "intercept=-1.0 must be None"),
        ({"intercept": True}, "intercept=True must be None"),
        ({"noise": "l7"}, "noise='l7'"),
    ],
)
def test_bad_input_is_named(change, said):
    with pytest.raises(ValueError, match=said):
        Problem.from_data(**GOOD | change)
