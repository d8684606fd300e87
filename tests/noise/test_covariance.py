"""Correlated noise: rank by a stated rule, and certificates of the noise as given."""

import numpy as np
import pytest
from mpmath import mp, mpf

from wideberth import solve
from wideberth.certify import certified_radius
from wideberth.measurement.radius import radius_from_std
from wideberth.noise import Correlated, Ellipsoid, as_noise, as_shape
from wideberth.problem import Problem
from wideberth.problem.changes import build_problem
from wideberth.problem.endpoints import null_certificate
from wideberth.problem.rows import gamma
from wideberth.problem.statement import Statement

#: Digits of the exact values.
mp.dps = 80
D, N = 6, 30
RADII = (1e-3, 1.0, 10.0, 1e3, 1e6)


def whole_factor(rank, seed=21, d=D):
    """An integer matrix of this rank: its covariance is stored without rounding."""
    rng = np.random.default_rng(seed)
    while True:
        A = rng.integers(-3, 4, size=(d, rank)).astype(float)
        if np.linalg.matrix_rank(A) == rank:
            return A


def samples(seed=0, n=N, d=D):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def exact(matrix):
    return mp.matrix(np.asarray(matrix, dtype=float).tolist())


def exact_support(w, covariance):
    """√(wᵀΣw) to 80 digits."""
    square = (w.T * exact(covariance) * w)[0]
    return mp.sqrt(max(square, mpf(0)))


def exact_primal(X, y, w, b, radius, covariance):
    """P(w,b) to 80 digits, in the user's coordinates."""
    omega, value = exact_support(w, covariance), (w.T * w)[0] / 2
    for row, label in zip(exact(X).tolist(), y.tolist(), strict=True):
        score = mp.fdot(row, list(w)) + mpf(b)
        value += max(1 - mpf(label) * score + mpf(radius) * omega, mpf(0))
    return value


def off_range(w, A):
    """The projection of w on the directions without noise, to 80 digits."""
    A = exact(A)
    return w - A * mp.lu_solve(A.T * A, A.T * w)


def check_against_exact(X, y, found, radius, covariance, A):
    """The values hold for w as returned, and the dual one for a point without noise."""
    proof, w = found.certificate, exact(found.w)
    primal = exact_primal(X, y, w, found.b, radius, covariance)
    assert abs(primal - mpf(proof.primal)) <= mpf(proof.rounding)
    claimed = mpf(proof.dual) - mpf(proof.rounding)
    assert claimed <= primal
    quiet = off_range(w, A) if A.shape[1] < A.shape[0] else 0 * w
    assert claimed <= exact_primal(X, y, quiet, found.b, radius, covariance)
    assert found.converged


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("rank", range(1, D + 1))
def test_certificates_hold_for_singular_covariances(rank, radius):
    A, (X, y) = whole_factor(rank), samples()
    for noise in (A @ A.T, Correlated.from_factor(A)):
        found = solve(
            X, y, radius=radius, noise=noise, tol=1e-6, quiet=True, fit_intercept=False
        )
        check_against_exact(X, y, found, radius, A @ A.T, A)


def test_a_rounded_covariance_may_be_blurred_but_never_certified_falsely():
    A, (X, y) = np.random.default_rng(3).normal(size=(D, 3)), samples()
    covariance = A @ A.T
    blurred = 0
    for radius in (1.0, 1e3, 1e6):
        options = {"radius": radius, "tol": 1e-6, "quiet": True}
        found = solve(X, y, noise=covariance, **options)
        proof, w = found.certificate, exact(found.w)
        primal = exact_primal(X, y, w, found.b, radius, covariance)
        assert abs(primal - mpf(proof.primal)) <= mpf(proof.rounding)
        blurred += not found.converged
        if not found.converged:
            assert "from_factor" in str(found.notes[0])
        assert solve(X, y, noise=Correlated.from_factor(A), **options).converged
    assert blurred


@pytest.mark.parametrize("kind", ["whole", "rounded", "units", "steep"])
def test_axes_and_scales_keep_within_their_bounds(kind):
    rng, d = np.random.default_rng(5), 8
    for rank in (1, 4, 8):
        A = (
            whole_factor(rank, rank, d)
            if kind == "whole"
            else rng.normal(size=(d, rank))
        )
        A = A * 10.0 ** rng.uniform(-6, 6, size=(d, 1)) if kind == "units" else A
        A = A * 10.0 ** -np.linspace(0, 6.5, rank) if kind == "steep" else A
        covariance = A @ A.T
        shape = Correlated(covariance)
        kappa = shape.lipschitz(d)
        if kind != "rounded":
            assert shape.support_error <= 1e-6 * kappa
        X = rng.normal(size=(3, d))
        turned = X @ shape.axes
        for v in [*np.eye(d), *rng.normal(size=(5, d))]:
            w = exact(shape.axes @ v)
            size = mpf(float(np.linalg.norm(v)))
            off = exact_support(w, covariance) - mpf(shape.principal.support(v))
            assert abs(off) <= mpf(shape.support_error + gamma(20) * kappa) * size
            for row, image in zip(X, turned, strict=True):
                off = (exact(row).T * w)[0] - (exact(image).T * exact(v))[0]
                bound = shape.rotation_error * float(np.linalg.norm(image))
                assert abs(off) <= mpf(bound) * size


def test_covariances_that_determine_their_factor_have_it_to_the_last_digits():
    for rank in range(1, D + 1):
        A = whole_factor(rank)
        shape = Correlated(A @ A.T)
        assert shape.support_error <= 1e-11 * shape.lipschitz(D)
    # Without mending, eigenvalues 1e-13 apart from 0 would be off by a thousandth.
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    covariance = (Q * [1, 1, 1, 1e-12]) @ Q.T
    assert Correlated(0.5 * (covariance + covariance.T)).support_error <= 1e-12


def test_rank_is_decided_by_the_stated_rule():
    for rank in range(1, D + 1):
        A = whole_factor(rank)
        assert Correlated(A @ A.T).rank == rank
        assert Correlated.from_factor(np.hstack([A, A])).rank == rank
        units = 10.0 ** np.linspace(-6, 6, D)[:, None] * A  # features in other units
        assert Correlated(units @ units.T).rank == rank
    assert Correlated(np.diag([1.0, 1e-30, 0.0])).rank == 2
    c, s = 0.6, 0.8
    axes = np.array([[c, -s], [s, c]])
    for small, rank in ((1e-17, 1), (1e-14, 2)):
        assert Correlated((axes * [1.0, small]) @ axes.T).rank == rank
    assert Correlated(np.zeros((3, 3))).rank == 0


def test_negative_eigenvalues_are_left_out_where_rounding_may_have_made_them():
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]

    def matrix(lowest):
        found = (Q * [2.0, 1.0, lowest]) @ Q.T
        return 0.5 * (found + found.T)

    shape = Correlated(matrix(-1e-10))
    assert shape.rank == 2
    assert shape.support(Q[:, 2]) == pytest.approx(0, abs=1e-9)
    assert shape.support(Q[:, 1]) == pytest.approx(1, rel=1e-9)
    with pytest.raises(ValueError, match="negative eigenvalue"):
        Correlated(matrix(-1e-6))


def test_a_factor_is_the_covariance_it_stands_for():
    rng = np.random.default_rng(2)
    F = rng.normal(size=(4, 7))
    by_factor, by_matrix = Correlated.from_factor(F), Correlated(F @ F.T)
    for _ in range(10):
        w = rng.normal(size=4)
        assert by_factor.support(w) == pytest.approx(np.linalg.norm(F.T @ w))
        assert by_factor.support(w) == pytest.approx(by_matrix.support(w))
        move = by_factor.maximizer(w)
        assert move @ w == pytest.approx(by_factor.support(w))
        assert by_factor.dual_norm(move) == pytest.approx(1)
        near = by_factor.prox(w, 0.3)
        # w − prox lies in sU and is its farthest point along prox.
        assert by_factor.dual_norm(w - near) == pytest.approx(0.3)
        assert (w - near) @ near == pytest.approx(0.3 * by_factor.support(near))
    with pytest.raises(ValueError, match=r"factor has shape \(3,\)"):
        Correlated.from_factor([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="finite"):
        Correlated.from_factor([[1.0], [np.inf]])


def test_noise_along_one_direction_never_matters_across_it():
    v, rng = np.array([1.0, 2.0, -3.0, 4.0]), np.random.default_rng(4)
    shape = as_shape(np.outer(v, v), 4)
    for tilt in (1.0, 1e-3, 1e-9):
        across = rng.normal(size=4)
        across -= (across @ v) / (v @ v) * v
        w = across + tilt * v
        found = certified_radius(np.array([0.5]), w[None], np.outer(v, v))
        change = abs(w @ v)
        assert 0.5 * (1 - 1e-2) <= found[0] * change <= 0.5 * (1 + 1e-12)
        assert shape.dual_norm(shape.maximizer(w)) == pytest.approx(1)
    w = np.array([2.0, -1.0, 0.0, 0.0])  # exactly across
    assert certified_radius(np.array([0.5]), w[None], np.outer(v, v))[0] > 1e10
    assert shape.dual_norm(w) == np.inf


def test_the_radius_for_noise_along_one_direction_is_that_of_one_normal():
    v = np.array([0.3, -1.7, 2.2, 0.9, 1.1])
    for noise in (np.outer(v, v), Correlated.from_factor(v[:, None])):
        radius = radius_from_std(1.0, 5, noise=noise, covers="sample")
        assert radius == pytest.approx(1.959964, rel=1e-6)
        radius = radius_from_std(1.0, 5, noise=noise)
        assert radius == pytest.approx(1.644854, rel=1e-6)


# What a solver works on is off by T and H from what the user gave. With errors as
# large as these every allowance for them shows, to first order and to second.
ERRORS = (2e-2, 1e-4)
SIGNS = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)]


def shifted(seed, signs, off, **options):
    """A problem, and the same one off by what its noise says it may be off."""
    X, y = samples(seed, n=40, d=3)
    scales = np.random.default_rng(seed).uniform(0.5, 2, size=3)
    rows, support = signs
    shape = Ellipsoid(
        scales + off * support,
        rotation_error=off * abs(rows),
        support_error=off * abs(support),
    )
    options = {"C": 1.0, "radius": 0.3} | options
    true = Problem.from_data(X, y, noise=scales, **options)
    X = X * (1 + 0.98 * off * rows)
    return true, Problem.from_data(X, y, noise=shape, **options)


def optimum(problem):
    y, scales = problem.y, problem.noise.sets.scales
    return solve(
        problem.rows.X,
        y,
        radius=problem.radii,
        noise=scales,
        tol=1e-10,
        quiet=True,
        fit_intercept=False,
    )


@pytest.mark.parametrize("off", ERRORS)
@pytest.mark.parametrize("signs", SIGNS)
def test_values_cover_what_the_axes_are_off_by(signs, off):
    for seed in range(3):
        true, given = shifted(seed, signs, off)
        best, near = optimum(true), optimum(given)
        top = best.primal + 1e-9
        for w, alpha in ((best.w, best.alpha), (near.w, near.alpha)):
            here, there = true.at(w), given.at(w)
            assert abs(here.value - there.value) <= there.rounding
            for sharp in (False, True):
                dual = given.dual_at(alpha, sharp=sharp)
                assert dual.value - dual.rounding <= top
        full = np.flatnonzero(near.saturated)
        kept = np.flatnonzero(~near.saturated)
        reduced = Problem(
            given.rows.take(kept),
            given.weights[kept],
            given.noise.take(kept),
            folded=given.fold(near.saturated),
        )
        dual = reduced.dual_at(near.alpha[kept])
        assert dual.value - dual.rounding <= top
        point, slack = reduced.at(best.w), true.at(best.w).slack
        loss = slack[full].sum() + np.maximum(slack[kept], 0).sum()
        assert abs(point.value - loss - 0.5 * best.w @ best.w) <= point.rounding


def test_the_null_model_is_proven_only_where_the_true_noise_allows_it():
    proven = 0
    for seed in range(6):
        true, given = shifted(seed, (0, 1), ERRORS[0])
        # Radii between those that the two noises need: null for `given` alone.
        d = true.rows.combine(true.weights)
        least, most = (
            problem.noise.sets.dual_norm(d) / true.n for problem in (given, true)
        )
        given = given.with_radii(0.5 * (least + most))
        assert null_certificate(given) is not None
        dual = given.dual_at(given.weights)
        best = optimum(true.with_radii(0.5 * (least + most)))
        assert dual.value - dual.rounding <= best.primal
        wide = given.with_radii(2 * most)
        proven += wide.dual_at(wide.weights).rounding < 1e-9
    assert proven == 6


def test_a_problem_takes_no_covariance_and_says_what_to_do():
    with pytest.raises(ValueError, match="principal axes"):
        as_noise(np.eye(3), 3)
    with pytest.raises(ValueError, match="principal axes"):
        Problem.from_data(*samples(), noise=Correlated(np.eye(D)))


def test_other_units_keep_the_errors_of_the_axes():
    X, y = samples()
    shape = Correlated.from_factor(1e40 * whole_factor(3))
    stated = Statement(radius=1e-40, noise=shape, fit_intercept=False)
    presolved = build_problem(X, y, stated)
    problem = presolved.problem
    assert presolved.stretch > 1
    assert problem.noise.sets.rotation_error == shape.rotation_error
    restored = problem.noise.sets.support_error * presolved.stretch
    assert restored == pytest.approx(shape.support_error)
