"""Features proven zero: never wrongly, often, and together with samples (theory §10)."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparse_problems import KINDS, make_sparse, pairs
from wideberth import screen, solve
from wideberth.problem import Pair, Problem
from wideberth.screening import screen_both, screen_features, screen_points
from wideberth.screening.features import FreeDuals, dense_cells
from wideberth.screening.regions import midpoint_radius


def free_duals(problem, pair, partition=None):
    """What the pair tells of the samples it leaves free."""
    partition = screen_points(problem, pair) if partition is None else partition
    radius = midpoint_radius(problem, pair)
    return FreeDuals.of(problem, pair, partition, radius), partition


def excesses(solved):
    """±d*_k − t*_k at the solution, and how far off they may be."""
    problem, alpha = solved.problem, solved.alpha
    d, t = problem.rows.combine(alpha), problem.noise.sum(alpha) + problem.outside
    t = t.box(d.size)
    return d - t, -d - t


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(4))
def test_no_feature_and_no_sample_is_ever_wrong(kind, part):
    proven = 0
    for seed in range(300 * part, 300 * part + 12):
        solved = make_sparse(seed, kind=kind)
        rng = np.random.default_rng(seed)
        for pair in pairs(solved, rng, [10.0 ** -rng.integers(0, 6)]):
            partition = screen_both(solved.problem, pair)
            zero = partition.removed_features
            assert solved.wrong(zero) == 0
            assert solved.wrong_samples(partition) == 0
            proven += zero.sum()
    assert proven > 20


@pytest.mark.parametrize("kind", KINDS)
def test_the_right_side_is_above_the_truth_for_all_multipliers(kind):
    """Weak duality itself, at multipliers that are next to the best and at random."""
    compared = 0
    for seed in range(24):
        solved = make_sparse(seed, kind=kind, n=12, d=6)
        rng = np.random.default_rng(seed)
        size = 1e-7 * solved.problem.weights.sum() + 20 * solved.distance
        size *= 1 + solved.problem.largest_norm
        truth = dict(zip((1.0, -1.0), excesses(solved), strict=True))
        for pair in pairs(solved, rng, [1e-2, 1e-3, 0.0]):
            free, partition = free_duals(solved.problem, pair)
            if partition.removed.all():
                continue
            J = np.arange(solved.problem.rows.d)
            for sign, right in truth.items():
                z, e = dense_cells(free.problem, J)
                g = sign * z - e
                best = free.multipliers(g)
                for scale in (1.0, 0.0, 0.5, 1.5):
                    highest = free.highest(J, sign, g, scale * best)
                    assert np.all(highest >= right - size * (1 + abs(right)))
                    compared += J.size
    assert compared > 2_000


@pytest.mark.parametrize("kind", KINDS)
def test_nearly_all_zeros_are_proven_near_the_optimum(kind):
    zeros = proven = 0
    for seed in range(40):
        solved = make_sparse(seed, kind=kind)
        strict = np.maximum(*excesses(solved)) < -1e-3 * solved.problem.weights.sum()
        pair = list(pairs(solved, np.random.default_rng(seed), [0.0]))[-1]
        zero = screen_features(solved.problem, pair)
        zeros, proven = zeros + strict.sum(), proven + (zero & strict).sum()
    assert proven >= 0.95 * zeros > 0


def test_sparse_rows_prove_by_what_they_store():
    """Box and budget alone; the same features as of dense rows, or nearly."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 40)) * (rng.random((80, 40)) < 0.2)
    y = np.sign(X[:, 0] + 0.1 * rng.normal(size=80))
    options = {"C": 1.0, "radius": 0.01, "noise": "linf", "norm_penalty": 4.0}
    found = solve(X, y, **options, tol=1e-8)
    counts = []
    for table in (X, sp.csr_array(X)):
        problem = Problem.from_data(table, y, intercept=0.0, **options)
        pair = Pair(problem.at(found.w, found.b), problem.dual_at(found.alpha))
        free, _ = free_duals(problem, pair)
        counts.append(screen_features(problem, pair).sum())
        stored = free.stored(np.arange(40))
        assert stored.any() == sp.issparse(table)
        assert not stored[found.w != 0].any()
    assert counts[0] == counts[1] > 0


def test_what_is_stored_is_never_wrong():
    proven = 0
    for seed in range(60):
        solved = make_sparse(seed)
        if not sp.issparse(solved.problem.rows.X):
            continue
        for pair in pairs(solved, np.random.default_rng(seed), [1e-2, 1e-4]):
            free, _ = free_duals(solved.problem, pair)
            with np.errstate(all="ignore"):
                zero = free.stored(np.arange(solved.problem.rows.d))
            assert solved.wrong(zero) == 0
            proven += zero.sum()
    assert proven > 40


@pytest.mark.parametrize("seed", range(12))
def test_a_problem_of_some_features_is_that_of_all_where_the_rest_is_zero(seed):
    solved = make_sparse(seed, n=15, d=9)
    rng = np.random.default_rng(seed)
    J = np.flatnonzero(rng.random(9) < 0.6)
    w = np.zeros(9)
    w[J] = rng.normal(size=J.size)
    small, b = solved.problem.with_features(J), 0.3
    assert small.at(w[J], b).value == pytest.approx(solved.problem.at(w, b).value)
    alpha = solved.problem.repair(solved.alpha)
    whole, part = solved.problem.dual_at(alpha), small.dual_at(alpha)
    assert np.allclose(part.w, whole.w[J])
    assert np.allclose(part.d, whole.d[J])


@pytest.mark.parametrize("noise", ["l2", "l1", np.ones(3)])
def test_noise_of_other_shapes_proves_nothing(noise):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.tile([1, -1], 10)
    X[:, 2] = 0.0
    problem = Problem.from_data(X, y, radius=0.1, noise=noise)
    pair = Pair(problem.at(np.zeros(3)), problem.dual_at(np.ones(20)))
    assert not screen_features(problem, pair).any()


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e12])
def test_users_are_told_of_features_in_their_units(unit):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 10))
    y = np.sign(X[:, 3] + 0.2 * rng.normal(size=60))
    options = {"C": unit**-2, "radius": 0.2 * unit, "noise": "linf"}
    options["norm_penalty"] = 0.5 / unit
    found = solve(unit * X, y, **options, tol=1e-9)
    told = screen(unit * X, y, found.w, found.alpha, **options, features=True)
    assert told.removed_features.shape == (10,)
    assert told.removed_features.any()
    assert not told.removed_features[found.w != 0].any()
    plain = screen(unit * X, y, found.w, found.alpha, **options)
    assert plain.removed_features is None
    assert told.free.sum() <= plain.free.sum()


def test_correlated_noise_is_refused():
    X, y = np.eye(4)[:, :2], [0, 1, 0, 1]
    covariance = np.array([[1.0, 0.5], [0.5, 1.0]])
    with pytest.raises(ValueError, match="covariance"):
        screen(X, y, np.zeros(2), np.zeros(4), C=1.0, noise=covariance, features=True)


def test_points_that_tell_nothing_prove_nothing():
    solved = make_sparse(1, kind="box")
    problem = solved.problem
    far = problem.at(np.full(problem.rows.d, 1e150))
    with np.errstate(all="ignore"):
        pair = Pair(far, problem.dual_at(np.zeros(problem.n)))
        zero = screen_features(problem, pair)
    assert solved.wrong(zero) == 0
