"""Small parts of the mathematics against their definitions, written down plainly."""

import re
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import brentq

from wideberth.kernels.sparse import less_values
from wideberth.measurement.population import read_variances
from wideberth.noise import Boxes, Covariances, Ellipsoids, SumOfEllipsoids, factors
from wideberth.problem import Problem, merge
from wideberth.problem.changes import (
    EXTREME,
    Presolved,
    _largest_entry,
    _sigma,
    check_radii,
    cut_radii,
    out_of_range,
    presolve,
)
from wideberth.problem.endpoints import _knapsack, project, saturation_scale
from wideberth.problem.limits import power_of_two
from wideberth.problem.problem import balanced, best_intercept
from wideberth.problem.rows import CommonValues
from wideberth.screening import decisions

SEEDS = range(24)


# -- intercepts ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("penalty", [0.0, 0.3, 50.0])
def test_no_intercept_is_better_than_the_best(seed, penalty):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 6))
    y, c = rng.choice([-1.0, 1.0], size=n), rng.integers(0, 4, size=n) * 1.0
    slack = rng.integers(-3, 4, size=n) * 1.0  # some breaks are the same
    folded = float(rng.integers(-2, 3))

    def value(b):
        hinge = sum(c[i] * max(slack[i] - y[i] * b, 0.0) for i in range(n))
        return hinge - folded * b + penalty / 2 * b**2

    if not penalty and not -c[y > 0].sum() <= folded <= c[y < 0].sum():
        return  # no b is best
    found = best_intercept(slack, y, c, penalty, folded)
    breaks = sorted({*(y * slack), -60.0, 60.0})
    if penalty:
        slopes = [folded + sum(c[i] * y[i] for i in part) for part in _parts(y, slack)]
        candidates = [*breaks, *(slope / penalty for slope in slopes)]
        assert value(found) <= min(map(value, candidates)) + 1e-12
        return
    edges = value(-1e6) - value(-2e6), value(2e6) - value(1e6)
    if n and edges[0] < 0 < edges[1]:  # bounded; the middle of where it is least
        least = min(map(value, y * slack))
        flat = [b for b in y * slack if value(b) == least]
        assert found == (min(flat) + max(flat)) / 2
    elif not n:
        assert found == 0.0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("penalty", [0.0, 40.0])
@pytest.mark.parametrize("ordered", [False, True])
def test_the_best_intercept_of_many_rows_is_where_their_slope_changes_sign(
    seed, penalty, ordered
):
    rng = np.random.default_rng(seed)
    n = 5_000
    y, c = np.where(rng.random(n) < 0.3, 1.0, -1.0), rng.uniform(0.1, 1, size=n)
    slack = np.round(rng.normal(size=n), 2 if seed % 2 else 12)
    slack = y * np.sort(y * slack) if ordered else slack
    b = best_intercept(slack, y, c, penalty, 0.0)

    def slope(b):
        return penalty * b - float(c[slack - y * b > 0] @ y[slack - y * b > 0])

    assert slope(b - 1e-9) <= 1e-7
    assert slope(b + 1e-9) >= -1e-7


def _parts(y, slack):
    """The active samples between any two breaks."""
    breaks = sorted({*(y * slack)})
    points = [*(b - 0.5 for b in breaks), *(b + 0.5 for b in breaks), 0.0]
    points += [(a + b) / 2 for a, b in pairwise(breaks)]
    return [[i for i in range(len(y)) if slack[i] - y[i] * b > 0] for b in points]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("folded", [0.0, 0.7, -0.7, 3.0, -3.0, 30.0, -30.0])
def test_balance_scales_one_class_down_and_the_other_up_if_it_must(seed, folded):
    rng = np.random.default_rng(seed)
    y, c = rng.choice([-1.0, 1.0], size=8), rng.exponential(size=8)
    y[:2] = 1, -1
    alpha = c * rng.random(8)
    found = balanced(alpha, y, c, folded)
    up, down = alpha[y > 0].sum(), alpha[y < 0].sum()
    heavy = y > 0 if up + folded > down else y < 0
    target = down - folded if up + folded > down else up + folded
    expected = alpha.copy()
    expected[heavy] *= max(target, 0.0) / alpha[heavy].sum()
    if target < 0:
        room = (c - alpha)[~heavy]
        expected[~heavy] += min(-target / room.sum(), 1.0) * room
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.all(found <= c)
    if abs(folded) <= c[~heavy].sum():
        assert abs(found @ y + folded) < 1e-12
    assert balanced(found, y, c, -float(found @ y)) is found


def test_a_class_at_its_bounds_gives_what_it_has():
    y, c = np.array([1.0, -1.0]), np.array([2.0, 3.0])
    found = balanced(c, y, c, 1e12)  # far more than the other class can make up for
    np.testing.assert_array_equal(found, [0.0, 3.0])


# -- endpoints -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_projection_is_a_shift_that_is_cut(seed):
    rng = np.random.default_rng(seed)
    point, caps = rng.normal(size=9), rng.exponential(size=9)
    mass = caps.sum() * rng.uniform(0.01, 0.99)
    cut = lambda shift: np.clip(point - shift, 0.0, caps)  # noqa: E731
    ends = (point - caps).min() - 1, point.max() + 1
    shift = brentq(lambda t: cut(t).sum() - mass, *ends, xtol=1e-15)
    np.testing.assert_allclose(project(point, caps, mass), cut(shift), atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_knapsack_is_filled_from_the_lowest_score(seed):
    rng = np.random.default_rng(seed)
    scores, caps = rng.normal(size=7), rng.exponential(size=7)
    left = mass = caps.sum() * rng.uniform(0.05, 1.0)
    expected = np.zeros(7)
    for i in np.argsort(scores):
        expected[i] = min(caps[i], left)
        left -= expected[i]
    np.testing.assert_allclose(_knapsack(scores, caps, mass), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(18))
def test_all_samples_saturate_up_to_the_largest_margin(seed):
    intercept = (None, 0.8, 0.0)[seed % 3]
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 3)) * 10.0 ** (seed % 5), np.array([1, -1] * 4)
    c = np.repeat(rng.exponential(size=4), 2)  # classes weigh the same
    c[:2] = 0.0
    X[:2] *= 100  # of no weight, whatever their margins
    problem = Problem.from_data(X, y, radius=0.1, sample_weight=c, intercept=intercept)
    Z, s = X * y[:, None], 0.1 * c.sum()
    d = c @ Z
    w = d * max(1 - s / np.linalg.norm(d), 0.0)
    b = c @ y / intercept if intercept else 0.0
    margins = (Z @ w + y * b - 0.1 * np.linalg.norm(w))[2:]
    largest = margins.max()
    if intercept == 0.0:
        largest = (margins[::2].max() + margins[1::2].max()) / 2
    expected = 1 / largest if largest > 0 else np.inf
    assert saturation_scale(problem) == pytest.approx(expected, rel=1e-9, abs=0.0)


# -- the bracket of a free intercept (theory §4.4) -------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bracket_is_where_slopes_of_all_margins_may_vanish(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n = 30
    y, c = rng.choice([-1.0, 1.0], size=n), rng.integers(0, 4, size=n) * 1.0
    middle, width = rng.normal(size=n), rng.exponential(size=n)
    lower, upper = middle - width, middle + width
    fold = SimpleNamespace(balance=float(rng.integers(-3, 4)), weight=5.0)
    fold = fold if seed % 2 else None
    m = rng.normal(size=n) if seed % 3 else np.ones(n)
    problem = SimpleNamespace(y=y, weights=c, n=n, folded=fold, targets=m)
    monkeypatch.setattr(decisions, "gamma", lambda k: 1e-5 * k)
    monkeypatch.setattr(decisions, "totals_rounding", lambda problem: 1e-4)
    balance, mass = (fold.balance, c.sum() + 5.0) if fold else (0.0, c.sum())
    slack = 4 * (1e-4 + 1e-5 * n) * mass
    # The slope of P in b, with all jumps as early and as late as they may be.
    early = np.where(y > 0, m - upper, lower - m)
    late = np.where(y > 0, m - lower, upper - m)
    start = -balance - c[y > 0].sum()
    low = [at for at in sorted(early) if start + c[early <= at].sum() >= -slack]
    low = -np.inf if start >= -slack or not low else low[0]
    high = [at for at in sorted(late) if start + c[late < at].sum() <= slack]
    end = start + c.sum()
    high = np.inf if end <= slack or not high else high[-1]
    for guess in (0.0, 100.0, -100.0):
        found = decisions._intercept_bracket(problem, lower, upper, guess)
        for got, want, out in zip(found, (low, high), (-1, 1), strict=True):
            if np.isinf(want):
                assert got == want
            else:
                assert got == pytest.approx(
                    want + out * 2.0**-50 * (1 + abs(want)), rel=1e-15, abs=0.0
                )


# -- sums of boxes ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gauge_of_boxes_is_the_largest_ratio_beyond_what_is_fixed(seed):
    rng = np.random.default_rng(seed)
    E, F = (rng.exponential(size=(3, 4)) * (rng.random(4) < 0.8) for _ in range(2))
    a, f = rng.exponential(size=3), 0.3 * rng.exponential(size=3)
    d = rng.normal(size=4)
    t, s = a @ E, f @ F
    ratios = [
        0.0 if abs(d[j]) <= s[j] else (abs(d[j]) - s[j]) / t[j] if t[j] else np.inf
        for j in range(4)
    ]
    total, fixed = Boxes.of(E).sum(a, 1.0), Boxes.of(F).sum(f, 1.0)
    found = total.gauge(d, fixed=fixed)
    assert found[0] == found[1] == pytest.approx(max(ratios))
    plain = total.gauge(d)[0]
    with np.errstate(divide="ignore"):
        assert plain == pytest.approx((np.abs(d) / t).max())


# -- factors of covariances ------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_what_rounding_takes_from_a_sum_is_known_exactly(seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.normal(size=9) * 10.0 ** rng.integers(-12, 12, size=9) for _ in "ab")
    total, error = factors._two_sum(a, b)
    for i in range(9):
        exact = Fraction(a[i]) + Fraction(b[i])
        assert exact == Fraction(total[i]) + Fraction(error[i])
        assert total[i] == a[i] + b[i]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_residual_has_twice_the_digits_and_a_bound(seed):
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    B = rng.normal(size=(d, k)) * 10.0 ** rng.integers(-3, 3, size=(d, 1))
    matrix = B @ B.T
    found, bound = factors.product_residual(matrix, B)
    exact = [
        [
            Fraction(matrix[i, j])
            - sum(Fraction(B[i, m]) * Fraction(B[j, m]) for m in range(k))
            for j in range(d)
        ]
        for i in range(d)
    ]
    off = sum(
        (Fraction(found[i, j]) - exact[i][j]) ** 2 for i in range(d) for j in range(d)
    )
    assert off <= Fraction(bound) ** 2
    size = np.linalg.norm(B) ** 2
    assert bound <= 1e-28 * size + 2.0**-52 * np.linalg.norm(found)


def test_a_factor_is_off_by_what_its_step_and_the_rest_are(monkeypatch):
    """The first formula of the module, for a residual that is given."""
    rng = np.random.default_rng(0)
    matrix = np.diag([4.0, 9.0, 0.0])
    values, vectors = np.array([4.0, 9.0, 0.0]), np.eye(3)
    R = 1e-6 * rng.normal(size=(3, 3))
    R = R + R.T
    monkeypatch.setattr(factors, "product_residual", lambda matrix, factor: (R, 0.25))
    monkeypatch.setattr(factors, "_spectral_bound", lambda left: 0.5)
    monkeypatch.setattr(factors, "gamma", lambda k: 1e3 * k)
    factor, bound = factors._mended(matrix, values, vectors)
    B = np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    # Bδᵀ + δBᵀ = R but for what lies between directions without noise.
    delta = np.array(
        [
            [R[i, j] * B[j, j] / (values[i] + values[j]) for j in range(2)]
            for i in range(3)
        ]
    )
    norm = np.linalg.norm
    rest = 0.25 + 1e3 * (2 * 2 + 4) * (norm(R) + 2 * norm(B) * norm(delta))
    assert bound == pytest.approx(
        2 * norm(delta) + np.sqrt(0.5 + rest), rel=1e-5, abs=0.0
    )
    np.testing.assert_allclose(factor, B, atol=1e-3)


@pytest.mark.parametrize("shape", [(4, 4), (4, 2), (3, 6)])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_the_axes_are_those_of_5_6_7(seed, shape, monkeypatch):
    rng = np.random.default_rng(seed)
    d, k = shape
    F = 100.0 * rng.normal(size=shape)
    monkeypatch.setattr(factors, "gamma", lambda k: 1e-3 * k)
    monkeypatch.setattr(factors, "_departure", lambda Q: 0.01 * Q.shape[0])
    Q, scales, T, H = factors.principal_axes(F, 0.5)
    norm = np.linalg.norm
    size, largest = norm(F), scales.max()
    turned = 1e-3 * (d + 2) * norm(Q)
    t = turned + 0.01 * d
    assert pytest.approx(2.5 * t) == T
    support = turned * size + 1e-3 * 4 * size + largest * 0.01 * k + size * 0.01 * d
    support += t * (largest + support)
    assert pytest.approx(1.25 * (support + 0.5), rel=1e-9, abs=0.0) == H
    np.testing.assert_allclose((Q * scales**2) @ Q.T, F @ F.T, atol=1e-9 * size**2)


def test_without_a_factor_there_are_no_axes():
    Q, scales, T, H = factors.principal_axes(np.zeros((3, 2)), 0.25)
    np.testing.assert_array_equal(Q, np.eye(3))
    assert (scales.tolist(), T, H) == ([0.0, 0.0, 0.0], 0.0, 0.25)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_spectral_bound_is_one(seed, monkeypatch):
    S = np.random.default_rng(seed).normal(size=(4, 4))
    S = S + S.T
    monkeypatch.setattr(factors, "gamma", lambda k: 1e-3 * k)
    expected = np.abs(np.linalg.eigvalsh(S)).max() + 1e-3 * 32 * np.linalg.norm(S)
    assert factors._spectral_bound(S) == pytest.approx(min(expected, np.linalg.norm(S)))


@pytest.mark.parametrize(
    ("matrix", "units"),
    [
        (np.diag([4.0, 0.25, 0.0]), [4.0, 1.0, 4.0]),
        (np.array([[1.0, 5.0], [5.0, 1.0]]), [4.0, 4.0]),  # no covariance
        (np.array([[9.0, 1.0], [1.0, 100.0]]), [4.0, 16.0]),
    ],
)
def test_units_of_features_are_powers_of_two_near_their_deviations(matrix, units):
    assert factors._feature_units(matrix).tolist() == units


# -- limits ----------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [-1100, -1074, -1022, 0, 5, 1023, 1024, 3000])
def test_powers_of_two_stay_within_float64(exponent):
    found = power_of_two(exponent)
    assert 0 < found < np.inf
    assert np.frexp(found)[0] == 0.5
    if -1000 <= exponent <= 1000:
        assert found == 2.0**exponent


# -- equal rows ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_found_of_equal_rows_is_told_of_all_samples(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(5, 2)), np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    label = np.concatenate([np.arange(5), rng.integers(5, size=9)])
    c = rng.exponential(size=14) * (rng.random(14) < 0.8)
    total = np.bincount(label, c, 5)
    problem = Problem.from_data(X, y, sample_weight=total + 1e-12)
    problem = problem.with_weights(total)
    rows = merge.Merged(problem, label, c)
    alpha = rng.random(14) * c
    gathered = rows.gathered(alpha)
    np.testing.assert_allclose(gathered, [alpha[label == k].sum() for k in range(5)])
    own, C = rng.random(5) * 1.2, 2.0
    dealt = rows.dealt(own, C)
    for i in range(14):
        share = min(own[label[i]] / (C * total[label[i]]), 1.0) if c[i] else 0.0
        assert dealt[i] == pytest.approx(share * C * c[i])
    masks = np.array([True, False, True, False, False]), np.array([0, 1, 0, 0, 1]) > 0
    removed, saturated = rows.decided(*masks)
    for i in range(14):
        assert removed[i] == (masks[0][label[i]] or c[i] == 0)
        assert saturated[i] == (masks[1][label[i]] and c[i] > 0)
        assert rows.marked(masks[1])[i] == (masks[1][label[i]] and c[i] > 0)
    signs = rng.choice([-1.0, 1.0], size=14)
    two = rows.with_labels(signs, np.array([0, 1]))
    for i in range(14):
        np.testing.assert_array_equal(two.problem.rows.X[two.label[i]], X[label[i]])
        assert two.problem.y[two.label[i]] == signs[i]
    pairs = set(zip(label.tolist(), signs.tolist(), strict=True))
    assert two.problem.n == len(pairs)
    for (k, s), _ in zip(sorted(pairs), range(99), strict=False):
        place = two.label[(label == k) & (signs == s)][0]
        own = c[(label == k) & (signs == s)].sum()
        assert two.problem.weights[place] == pytest.approx(own)
    assert two.problem.chain > problem.chain


# -- common values, sums of rows -------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_less_their_common_values_have_the_same_gram_matrix(seed):
    rng = np.random.default_rng(seed)
    n, d = 20, 6
    common = rng.integers(0, 3, size=d) * 1.5
    X = np.where(rng.random((n, d)) < 0.8, common, rng.normal(size=(n, d)))
    X[-1] = common  # the last row tells which value may be common
    found = CommonValues.of(sp.csr_array(X))
    held = [(X[:, j] == common[j]).sum() for j in range(d)]
    expected = [common[j] if 2 * held[j] > n else 0.0 for j in range(d)]
    entries = np.mean(((X - expected) != 0).sum(axis=1))
    stored = np.mean((X != 0).sum(axis=1))
    if found is None:
        assert 2 * entries**2 > stored**2
        return
    S = less_values(sp.csr_array(X), found.values).toarray()
    np.testing.assert_allclose(S, X - found.values)
    assert found.entries == pytest.approx(np.mean((S != 0).sum(axis=1)))
    np.testing.assert_array_equal(found.values, expected)
    assert 2 * entries**2 <= stored**2
    a = rng.exponential(size=n)
    gram = (S.T * a) @ S
    found.complete(gram, S.T @ a, float(a.sum()))
    np.testing.assert_allclose(gram, (X.T * a) @ X)


def test_values_that_are_not_common_are_left():
    assert CommonValues.of(sp.csr_array(np.eye(4))) is None
    half = sp.csr_array(np.array([[2.0, 1.0], [2.0, 3.0], [5.0, 4.0], [6.0, 7.0]]))
    assert CommonValues.of(half) is None  # half of a column is not more than half
    most = np.full((9, 2), 2.0)
    most[0] = 3.0
    found = CommonValues.of(sp.csr_array(most))
    assert found.values.tolist() == [2.0, 2.0]
    assert found.entries == pytest.approx(2 / 9)


# -- what is out of range --------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"X": [[1.0, 1e-12], [-1.0, -1e-12]]},
            "differ in size by a factor of 1.0e[+]12",
        ),
        ({"c": [1.0, 1e-12]}, "sample_weight spans a factor of 1.0e[+]12"),
        ({"radius": 1e12}, "radius reaches 1.0e[+]12 beside entries of X up to 2.0e"),
        ({"intercept": 1e-12}, "intercept_penalty is 2.0e[+]12 times smaller"),
        ({"c": [1e11, 1e11]}, r"C·sample_weight·‖x‖² reaches 5.0e[+]11"),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_quantity_that_is_out_of_range_is_named(change, said, form):
    X = form(np.array(change.get("X", [[1.0, 2.0], [-1.0, -2.0]])))
    problem = Problem.from_data(
        X,
        [1, -1],
        sample_weight=change.get("c", [1.0, 1.0]),
        radius=change.get("radius", 0.1),
        intercept=change.get("intercept"),
    )
    assert re.search(said, out_of_range(problem, Presolved(problem)))


def test_radii_that_were_cut_are_named_as_given():
    problem = Problem.from_data(np.array([[1.0], [-1.0]]), [1, -1], radius=0.1)
    said = out_of_range(problem, Presolved(problem, cut=1e70))
    assert said.startswith("radius reaches 1.0e+70 beside")


def test_samples_of_no_weight_put_nothing_out_of_range():
    X = np.array([[1.0], [-1.0], [1e30]])
    problem = Problem.from_data(X, [1, -1, 1], sample_weight=[1.0, 1.0, 0.0])
    assert out_of_range(problem, Presolved(problem)) is None
    none = problem.with_weights(np.zeros(3))
    assert out_of_range(none, Presolved(none)) is None


# -- units -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-60, 1e-5, 1.0, 1e60])
@pytest.mark.parametrize("unit", [1.0, 2.0**100])
def test_errors_have_units_of_their_own_only_where_they_must(size, unit):
    rng = np.random.default_rng(0)
    X, y = unit * rng.normal(size=(6, 2)), [1, -1] * 3
    E = unit * size * rng.uniform(0.5, 1.0, size=(6, 2))
    for shape in ("ellipsoid", "box"):
        problem = Problem.from_data(X, y, X_err=E, error_shape=shape, radius=1.0)
        found = presolve(problem)
        if size in (1e-5, 1.0):
            assert found.stretch == found.sigma
        else:
            assert 0.5 <= found.problem.noise.sets.largest <= 1.0
        w = rng.normal(size=2)
        inside = found.problem.noise.supports(w * found.sigma)
        own = problem.noise.supports(w)
        np.testing.assert_allclose(inside, own)
    none = Problem.from_data(X, y, X_err=0 * E, error_shape="box", radius=1.0)
    assert presolve(none).stretch == presolve(none).sigma


# -- the shortest way out of sums of ellipsoids ----------------------------------------


@pytest.mark.parametrize("seed", range(16))
def test_a_descent_ends_next_to_the_shortest_way(seed):
    """Held against a cone program, at errors and weights over three orders."""
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    E, a = 10 ** rng.uniform(-3, 0, size=(20, 4)), 10 ** rng.uniform(-2, 1, size=20)
    d = 3 * rng.normal(size=4)
    mixed = 0.3 * np.eye(4) + 0.7
    bars = Ellipsoids.of(E)
    if seed % 2:
        bars = Covariances.of(E[:, :, None] * mixed * E[:, None, :])
    w = cp.Variable(4)
    cost = 0.5 * cp.sum_squares(w - d) + a @ bars.conic(cp, w)
    program = cp.Problem(cp.Minimize(cost))
    program.solve(solver="CLARABEL")
    shortest = max(d @ d - 2 * program.value, 0.0)
    v = SumOfEllipsoids(((bars, a),)).closest(d)
    assert v @ v <= shortest * (1 + 1e-3) + 1e-6 * (d @ d)
    assert v @ v >= shortest - 1e-6 * (d @ d)
    if shortest > 0.01 * (d @ d):  # from next to the end, to the end
        near = v + 1e-5 * rng.normal(size=4)
        v = SumOfEllipsoids(((bars, a),)).closest(d, near)
        assert v @ v == pytest.approx(shortest, rel=1e-3, abs=0.0)


@pytest.mark.parametrize("seed", range(16))
def test_both_bounds_of_a_gauge_hold_and_meet(seed):
    """The largest ⟨w,d⟩ over Σa_ir_i(w) ≤ 1, by a cone program."""
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    E, a, d = rng.exponential(size=(5, 3)), rng.exponential(size=5), rng.normal(size=3)
    bars = Ellipsoids.of(E)
    if seed % 2:
        F = rng.normal(size=(5, 3, 3))
        bars = Covariances.of(F @ F.transpose(0, 2, 1))
    w = cp.Variable(3)
    program = cp.Problem(cp.Maximize(d @ w), [a @ bars.conic(cp, w) <= 1])
    program.solve(solver="CLARABEL")
    total = SumOfEllipsoids(((bars, a),))
    lower, upper = total.gauge(d)
    assert lower <= program.value * (1 + 1e-6)
    assert upper >= program.value * (1 - 1e-6)
    assert upper - lower <= 1e-3 * upper
    rough = total.gauge(d, 0.1 * program.value)
    assert rough[0] <= program.value * (1 + 1e-6)
    assert rough[1] >= program.value * (1 - 1e-6)
    assert total.gauge(np.zeros(3)) == (0.0, 0.0)


def test_what_no_set_moves_has_no_gauge():
    total = SumOfEllipsoids(((Ellipsoids.of(np.array([[1.0, 0.0]])), np.ones(1)),))
    assert total.gauge(np.array([0.0, 1.0]))[1] == np.inf
    lower, upper = total.gauge(np.array([3.0, 0.0]))
    assert lower == pytest.approx(3.0, rel=1e-6, abs=0.0)
    assert upper == pytest.approx(3.0, rel=1e-6, abs=0.0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_units_follow_the_largest_entry_whatever_its_sign(form):
    for X in ([[5.0, -2.0]], [[2.0, -5.0]]):
        assert _largest_entry(form(np.array(X))) == 5.0
    assert _largest_entry(sp.csr_array((2, 2))) == 0.0
    tiny = form(np.array([[1e-60, -1e-61]]))
    assert _sigma(tiny, 0.0) == 2.0 ** np.frexp(1e-60)[1]
    assert _sigma(tiny, 1.0) == 2.0**-100  # or weights would vanish
    assert _sigma(form(np.array([[3.0, 0.0]])), 1.0) == 4.0
    assert _sigma(sp.csr_array((2, 2)), 1.0) == 1.0


def test_one_radius_out_of_range_is_refused():
    X, y = np.array([[1.0], [-1.0]]), [1, -1]
    usual = Problem.from_data(X, y, radius=[0.1, 2.0])
    check_radii(Presolved(usual))
    with pytest.raises(ValueError, match="out of the range of float64"):
        check_radii(Presolved(usual), factor=1e200)
    with pytest.raises(ValueError, match="out of the range of float64"):
        check_radii(Presolved(Problem.from_data(X, y, radius=[0.1, 1e200])))
    cut = cut_radii(Presolved(Problem.from_data(X, y, radius=[0.1, 1e200]), sigma=4.0))
    assert cut.problem.radii.tolist() == [0.1, EXTREME]
    assert cut.cut == 4e200
    assert cut_radii(Presolved(usual)).cut is None


# -- sets of cells ---------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_errors_behind_a_map_have_its_sizes(form):
    E, A = np.array([[1.0, 2.0], [0.0, 5.0]]), np.array([[0.0, -2.0], [3.0, 0.0]])
    boxes = Boxes.of(form(E)).carried(sp.csr_array(A))
    np.testing.assert_allclose(boxes.dense, [[4.0, 3.0], [10.0, 0.0]])
    own = Ellipsoids.of(form(E)).carried(sp.csr_array(A))
    np.testing.assert_allclose(own.dense, [[16.0, 9.0], [100.0, 0.0]])
    mixing = sp.csr_array([[1.0, -1.0], [0.0, 2.0]])
    with pytest.raises(ValueError, match="mixes features"):
        Boxes.of(form(E)).carried(mixing)
    matrices = Ellipsoids.of(E).carried(mixing).matrices
    np.testing.assert_allclose(matrices[0], [[5.0, -8.0], [-8.0, 16.0]])
    for kind, power in ((Boxes, 1), (Ellipsoids, 2)):
        scaled = kind.of(form(E)).divided(0.25)
        np.testing.assert_allclose(scaled.dense, (4 * E) ** power)


def test_a_sum_of_boxes_is_one_box():
    E, F = np.array([[1.0, 2.0], [4.0, 0.0]]), np.array([[0.5, 3.0]])
    a, b = np.array([2.0, 1.0]), np.array([10.0])
    total = Boxes.of(E).sum(a, 1.0) + Boxes.of(F).sum(b, 1.0)
    np.testing.assert_allclose(total.box(2), [11.0, 34.0])
    v = total.closest(np.array([-15.0, 20.0]))
    np.testing.assert_allclose(v, [-4.0, 0.0])
    assert total.gauge(np.array([-22.0, 17.0]))[1] == pytest.approx(2.0)
    assert total.support(np.array([1.0, -2.0])) == pytest.approx(11 + 68)
    assert total.inscribed(2) == pytest.approx(11.0)
    assert total.size == pytest.approx(2 * np.sqrt(5) + 4 + 10 * np.linalg.norm(F))
    assert total.times(2.0).size == pytest.approx(2 * total.size)
    assert total.restricted(np.array([1])).box(1) == pytest.approx(34.0)


def test_cells_that_are_missing_have_no_covariance_either():
    X = np.array([[1.0, np.nan, 2.0], [3.0, 4.0, 5.0]])
    S = np.array([np.eye(3) + 0.5, np.eye(3) + 0.25])
    S[0, 1] = S[0, :, 1] = np.nan
    variances, matrices = read_variances(S, X)
    expected = S.copy()
    expected[0, 1] = expected[0, :, 1] = 0.0
    np.testing.assert_array_equal(matrices, expected)
    np.testing.assert_array_equal(variances, [[1.5, 0.0, 1.5], [1.25, 1.25, 1.25]])
    with pytest.raises(ValueError, match="X_err"):
        read_variances(np.ones((2, 2, 2)), X)


def test_pulls_are_off_by_the_longest_of_their_sums():
    u = 2.0**-53
    S = Covariances.of(np.stack([np.eye(3)] * 5))
    assert S.pull_rounding == pytest.approx((5 + 4 * 3 + 16) * u, rel=1e-9, abs=0.0)
    for bars in (Boxes.of(np.ones((5, 3))), Ellipsoids.of(np.ones((5, 3)))):
        own = bars.table.combine_rounding + (2 * 3 + 16) * u
        assert bars.pull_rounding == pytest.approx(own, rel=1e-9, abs=0.0)


def test_noise_without_negative_eigenvalues_is_that_of_its_factor():
    factor, error = factors.factor_of(np.diag([1.0, -1e-9]))
    assert error == 0.0
    np.testing.assert_allclose(factor @ factor.T, np.diag([1.0, 0.0]), atol=1e-15)
    assert factors.factor_of(np.array([[2.0, 1.0], [1.0, 3.0]]))[1] > 0.0
