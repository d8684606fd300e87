"""Regions and tests are the formulas of the page (theory §4, §5), allowances included.

An allowance for rounding is too small to be seen beside what it is an allowance for. So
γ is made large here, a thousandth for each rounding, and all bounds are compared with
those of the page, written down with matrices, a sample at a time.
"""

from dataclasses import replace
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

from measured import make_measured
from problems import make_problem
from wideberth import Box
from wideberth.problem import Pair, Problem
from wideberth.problem.limits import CACHED_ENTRIES, EPS, LITTLE, MOST_STEPS
from wideberth.screening import decisions, features, regions
from wideberth.screening import tests as bounds
from wideberth.screening.decisions import Partition, decide
from wideberth.screening.features import FreeDuals
from wideberth.screening.regions import NoiseCurvature, Region

SEEDS = range(12)
CASES = [(seed, shape) for seed in SEEDS for shape in ("l2", "ellipsoid", "linf", "l1")]
SMOOTH = [case for case in CASES if case[1] in ("l2", "ellipsoid")]


def g(k):
    """γ_k, made large."""
    return 1e-3 * k


@pytest.fixture(autouse=True)
def large_gamma(monkeypatch):
    for module in (bounds, regions, decisions):
        monkeypatch.setattr(module, "gamma", g)


def draw(seed, shape="l2"):
    """A problem, its signed rows, and what moves them at most."""
    intercept = (None, 0.7, 0.0)[seed % 3]
    problem = make_problem(
        seed, n=9, d=4, shape=shape, intercept=intercept, spread_radii=True, radius=0.3
    )
    Z = problem.rows.X * problem.y[:, None]
    move = problem.radii * problem.noise.sets.lipschitz(4)
    return problem, Z, move, np.random.default_rng(seed)


def pair_of(problem, rng, apart=0.1, off=1e-2):
    """A pair of points that knows nothing of an optimum, and how far off w(α) may be."""
    w, b = rng.normal(size=4), rng.normal()
    other = w + apart * rng.normal(size=4)
    Z = problem.rows.X * problem.y[:, None]
    dual = SimpleNamespace(
        w=other,
        b=b + apart * rng.normal(),
        d=other + rng.normal(size=4),
        s=rng.exponential(),
        center_rounding=off,
    )
    point = SimpleNamespace(
        w=w,
        b=b,
        margins=Z @ w,
        slack=1
        - Z @ w
        - (problem.y * b if problem.intercept is not None else 0)
        + problem.radii * problem.noise.sets.support(w),
    )
    certificate = SimpleNamespace(bound=rng.exponential())
    return SimpleNamespace(point=point, dual=dual, certificate=certificate)


def distance(problem, pair):
    """‖w − w_α‖, a penalised intercept being one more coordinate."""
    square = ((pair.point.w - pair.dual.w) ** 2).sum()
    if problem.intercept:
        square += problem.intercept * (pair.point.b - pair.dual.b) ** 2
    return np.sqrt(square)


# -- regions ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gap_ball_is_that_of_4_1(seed):
    problem, Z, _, rng = draw(seed)
    pair = pair_of(problem, rng)
    ball = regions.gap_ball(problem, pair)
    radius = np.sqrt(2 * pair.certificate.bound) * (1 + g(4))
    assert ball.radius == pytest.approx(radius, rel=1e-12, abs=0.0)
    assert ball.norm_bound == pytest.approx(np.linalg.norm(pair.point.w) + radius)
    assert ball.gap == pair.certificate.bound
    np.testing.assert_allclose(ball.margins, Z @ ball.w)
    assert (ball.w == pair.point.w).all()
    assert ball.b == pair.point.b


def test_the_radius_of_the_gap_ball_is_rounded_up(monkeypatch):
    monkeypatch.undo()
    problem, _, _, rng = draw(0)
    for _ in range(30):
        pair = pair_of(problem, rng)
        radius = mpmath.mpf(regions.gap_ball(problem, pair).radius)
        assert radius**2 >= 2 * mpmath.mpf(pair.certificate.bound)


def test_the_radius_of_the_midpoint_ball_is_rounded_up(monkeypatch):
    monkeypatch.undo()
    problem, _, _, rng = draw(0)
    with mpmath.workdps(60):
        for k in range(60):
            pair = pair_of(problem, rng, apart=1.0, off=1e-20)
            moves = zip(pair.point.w, pair.dual.w, strict=True)
            square = sum((mpmath.mpf(a) - mpmath.mpf(b)) ** 2 for a, b in moves)
            if k % 2:  # next to nothing is left of the gap
                pair.certificate.bound = float(square / 4 * (1 + mpmath.mpf(2) ** -30))
            else:
                pair.certificate.bound = float(square)
            radius = mpmath.mpf(regions.midpoint_radius(problem, pair))
            assert radius**2 >= mpmath.mpf(pair.certificate.bound) - square / 4


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("off", [0.0, 1e-2, 10.0])
def test_the_midpoint_ball_is_that_of_4_2(seed, off):
    problem, Z, _, rng = draw(seed)
    pair = pair_of(problem, rng, off=off)
    apart = max(distance(problem, pair) * (1 - g(4 + 8)) - off, 0.0)
    for gap in (0.5 * apart**2 + 1.0, 0.2 * apart**2):
        pair.certificate.bound = gap
        radius = np.sqrt(max(gap - apart**2 / 4, 0.0)) * (1 + g(8)) + off
        ball = regions.midpoint_ball(problem, pair)
        assert ball.radius == pytest.approx(radius, rel=1e-12, abs=0.0)
        point, dual = pair.point, pair.dual
        np.testing.assert_allclose(ball.w, (point.w + dual.w) / 2)
        np.testing.assert_allclose(ball.margins, Z @ ball.w)
        b = (point.b + dual.b) / 2 if problem.intercept else point.b
        assert ball.b == pytest.approx(b)
        longest = max(np.linalg.norm(point.w), np.linalg.norm(dual.w))
        assert ball.norm_bound == pytest.approx(longest + radius)
        np.testing.assert_allclose(ball.anchor[0], dual.w)
        np.testing.assert_allclose(ball.anchor[1], Z @ dual.w)


@pytest.mark.parametrize(("seed", "shape"), CASES)
def test_the_curved_region_is_that_of_4_3(seed, shape):
    problem, Z, _, rng = draw(seed, shape)
    pair = pair_of(problem, rng)
    if shape == "ellipsoid":  # no noise, no part of v
        still = problem.noise.sets.scales == 0
        pair.dual.d[still] = pair.dual.w[still]
    if seed % 2:  # v well inside of U: nothing to scale
        pair.dual.d = pair.dual.w + 0.01 * (pair.dual.d - pair.dual.w)
    ball, region = (
        build(problem, pair) for build in (regions.midpoint_ball, regions.curved_region)
    )
    s, w = pair.dual.s, pair.dual.w
    v = w / np.linalg.norm(w) if shape == "l2" else (pair.dual.d - w) / s
    size = max(problem.noise.sets.dual_norm(v) * (1 + g(4 * 4 + 8)), 1.0)
    lipschitz = problem.noise.sets.lipschitz(4)
    error = 2 * pair.dual.center_rounding + s * (size - 1) * lipschitz
    radius = np.sqrt(ball.radius**2 + error * ball.norm_bound) * (1 + g(8))
    assert region.radius == pytest.approx(radius, rel=1e-12, abs=0.0)
    longer = ball.norm_bound + radius - ball.radius
    assert region.norm_bound == pytest.approx(longer, rel=1e-12, abs=0.0)
    assert region.curvature.s == s
    np.testing.assert_allclose(region.curvature.v, v / size)
    np.testing.assert_allclose(region.curvature.tilt, Z @ v / size)


@pytest.mark.parametrize("s", [0.0, -1.0, 1e-320])
def test_without_noise_the_curved_region_is_the_ball(s):
    problem, _, _, rng = draw(1, "linf")
    pair = pair_of(problem, rng)
    pair.dual.s = s
    assert regions.curved_region(problem, pair).curvature is None


def test_a_tilt_that_overflows_leaves_the_ball():
    problem, _, _, rng = draw(1, "linf")
    pair = pair_of(problem, rng)
    pair.dual.d, pair.dual.s = np.full(4, 1e300), 1e-20
    with np.errstate(all="ignore"):
        assert regions.curved_region(problem, pair).curvature is None


# -- tests -----------------------------------------------------------------------------


def region_of(problem, Z, rng, shape):
    """A curved region about points that know nothing of an optimum."""
    anchor = rng.normal(size=4)
    if shape == "ellipsoid":
        anchor[problem.noise.sets.scales == 0] *= 3
    center = anchor + 0.3 * rng.normal(size=4) * (rng.random() < 0.8)
    v = 0.9 * problem.noise.sets.maximizer(anchor)
    if shape == "l2":
        v = anchor / np.linalg.norm(anchor)
    return Region(
        center,
        rng.normal(),
        Z @ center,
        rng.exponential(),
        1.0,
        5 * rng.exponential(),
        NoiseCurvature(rng.exponential(), v, Z @ v),
        (anchor, Z @ anchor),
    )


def allowances(problem, region, size):
    """How far bounds are moved out, and squares enlarged (5.6.5)."""
    extra = 1 / problem.intercept if problem.intercept else 0.0
    b = abs(region.b) + region.radius * np.sqrt(extra) if extra else 0.0
    each = g(4 * 4 + 64)
    return each * (region.norm_bound * size + b), each * (size**2 + extra), extra


def robust(problem, margin, i, b):
    """A margin with the penalised intercept."""
    return margin + (problem.y[i] * b if problem.intercept else 0.0)


@pytest.mark.parametrize(("seed", "shape"), CASES)
def test_the_separable_test_is_that_of_5_1(seed, shape):
    problem, Z, move, rng = draw(seed, shape)
    region = region_of(problem, Z, rng, shape)
    lower, upper = bounds.separable(problem, region)(slice(1, 8))
    for i in range(1, 8):
        slack, _, extra = allowances(problem, region, np.linalg.norm(Z[i]) + move[i])
        swing = region.radius * np.sqrt(Z[i] @ Z[i] + extra) + slack
        kappa = problem.radii[i] * problem.noise.sets.support(region.w)
        margin = robust(problem, Z[i] @ region.w, i, region.b)
        spread = region.radius * move[i]
        assert lower[i - 1] == pytest.approx(margin - swing - kappa - spread)
        high = margin + swing - max(kappa - spread, 0.0)
        assert upper[i - 1] == pytest.approx(high)


@pytest.mark.parametrize(("seed", "shape"), CASES)
def test_the_tilted_test_is_that_of_5_3(seed, shape):
    problem, Z, move, rng = draw(seed, shape)
    region = region_of(problem, Z, rng, shape)
    r, s, v = region.radius, region.curvature.s, region.curvature.v
    lower, upper = bounds.tilted(problem, region)(slice(1, 8))
    for i in range(1, 8):
        rho = problem.radii[i]
        slack, root, extra = allowances(problem, region, np.linalg.norm(Z[i]) + move[i])
        q = Z[i] - rho * v
        length = np.sqrt(q @ q + extra + root)
        level = robust(problem, q @ region.w, i, region.b)
        t = min(r, s * length / (2 * rho))
        low = level - t * length - rho * (r**2 - t**2) / s - slack
        assert lower[i - 1] == pytest.approx(low)
        assert upper[i - 1] == pytest.approx(level + r * length + slack)


@pytest.mark.parametrize(("seed", "shape"), SMOOTH)
def test_the_ellipsoid_test_is_that_of_5_4(seed, shape):
    problem, Z, move, rng = draw(seed, shape)
    region = region_of(problem, Z, rng, shape)
    r, s, v = region.radius, region.curvature.s, region.curvature.v
    anchor, noise = region.anchor[0], problem.noise.sets
    squares = np.broadcast_to(noise.squares, (4,))
    largest = noise.support(region.w) + r * noise.lipschitz(4)
    kappa = s / (2 * largest * (1 + g(4 + 8)))
    A = np.linalg.inv(np.eye(4) + kappa * (np.diag(squares) - np.outer(v, v)))
    center = anchor + A @ (region.w - anchor)
    image = squares * anchor
    left = np.linalg.norm(image - v * (v @ anchor))
    left += g(4 * 4 + 16) * (np.linalg.norm(image) + np.linalg.norm(anchor))
    apart = np.linalg.norm(region.w - anchor)
    radius = np.sqrt(r**2 + 2 * kappa * left * (2 * r + apart))
    lower, upper = bounds.ellipsoid(problem, region)(slice(1, 8))
    for i in range(1, 8):
        rho = problem.radii[i]
        slack, root, extra = allowances(problem, region, np.linalg.norm(Z[i]) + move[i])
        q = Z[i] - rho * v
        swing = radius * np.sqrt(q @ A @ q + extra + root) + slack
        level = robust(problem, q @ center, i, region.b)
        assert upper[i - 1] == pytest.approx(level + swing)
        assert lower[i - 1] == pytest.approx(level - swing - rho * r**2 / s)


def test_a_ball_of_no_size_is_its_centre():
    problem, _, _, _ = draw(0)
    region = Region(np.zeros(4), 0.0, np.zeros(9), 0.0, 0.0, 0.0)
    lower, upper = bounds.separable(problem, region)(slice(None))
    np.testing.assert_array_equal(lower, 0.0)
    np.testing.assert_array_equal(upper, 0.0)


@pytest.mark.parametrize(
    ("shape", "kind", "quick", "names"),
    [
        ("l2", "gap", "separable", ["separable"]),
        ("l2", "ellipsoid", "ellipsoid", ["ellipsoid", "separable", "tilted"]),
        ("ellipsoid", "ellipsoid", "ellipsoid", ["ellipsoid", "separable", "tilted"]),
        ("linf", "ellipsoid", "tilted", ["separable", "tilted"]),
        ("linf", "midpoint", "separable", ["separable"]),
    ],
)
def test_each_shape_and_region_has_its_tests(shape, kind, quick, names):
    problem, _, _, _ = draw(0, shape)
    assert bounds.quick_test(problem, kind) == quick
    assert bounds.nameable_tests(problem, kind) == names
    own = make_measured(0, form="box")
    assert bounds.quick_test(own, kind) == "tangent"
    assert bounds.nameable_tests(own, kind) == ["separable", "tangent"]


@pytest.mark.parametrize("form", ["ellipsoid", "box", "covariance"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_tangent_test_is_that_of_8(seed, form):
    intercept = (None, 0.7, 0.0)[seed % 3]
    problem = make_measured(seed, form=form, intercept=intercept, radii="random")
    rng, d = np.random.default_rng(seed), problem.rows.d
    Z = problem.rows.dense(slice(None)) * problem.y[:, None]
    w, r = rng.normal(size=d), rng.exponential() * (0.01 if seed % 2 else 1.0)
    region = Region(w, rng.normal(), Z @ w, r, 1.0, 0.3)
    apart = bounds.separable(problem, region)(slice(None))
    lower, upper = bounds.tangent(problem, region)(slice(None))
    noise = problem.noise.tangents(Z, w)
    move = problem.radii * problem.noise.sets.lipschitz(d)
    for i in range(problem.n):
        size = np.linalg.norm(Z[i]) + move[i]
        extra = 1 / intercept if intercept else 0.0
        each = g(4 * d + 64)
        b = abs(region.b) + r * np.sqrt(extra) if extra else 0.0
        slack, root = each * (0.3 * size + b), each * (size**2 + extra)
        level = robust(problem, Z[i] @ w, i, region.b) - noise.support[i]
        high = level + r * np.sqrt(noise.rise[i] ** 2 + extra + root) + slack
        low = level - r * np.sqrt(noise.fall[i] ** 2 + extra + root) - slack
        low -= r**2 * noise.bend[i]
        # What the factor of a covariance leaves open is counted as well.
        near = 1e-5 if form == "covariance" else 1e-6
        assert lower[i] == pytest.approx(max(low, apart[0][i]), rel=near)
        assert upper[i] == pytest.approx(min(high, apart[1][i]), rel=near)


def test_turned_axes_widen_every_bound(monkeypatch):
    problem, Z, move, rng = draw(0)
    region = region_of(problem, Z, rng, "l2")
    pair, axes = pair_of(problem, rng), rng.exponential(size=problem.n)
    ball = regions.scaled_ball(problem, pair)
    before = bounds.separable(problem, ball)(slice(None))
    of_axes = lambda self, rows=slice(None): axes[rows]  # noqa: E731
    monkeypatch.setattr(type(problem), "axes_error", of_axes)
    slack = bounds.RowTerms.of(problem, region, slice(1, 4)).slack
    size = np.linalg.norm(Z, axis=1) + move
    expected = region.norm_bound * (g(4 * 4 + 64) * size + axes)
    np.testing.assert_allclose(slack, expected[1:4])
    after = bounds.separable(problem, ball)(slice(None))
    np.testing.assert_allclose(after[0], before[0] - ball.norm_bound * axes)
    np.testing.assert_allclose(after[1], before[1] + ball.norm_bound * axes)


# -- margins at hand -------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "shape"), CASES)
@pytest.mark.parametrize("apart", [0.0, 0.2, 4.0])
def test_the_scaled_ball_holds_the_midpoint_ball(seed, shape, apart):
    problem, _, _, rng = draw(seed, shape)
    pair = pair_of(problem, rng, apart=apart)
    point, dual = pair.point, pair.dual
    ball = regions.scaled_ball(problem, pair)
    inner = regions.midpoint_radius(problem, pair)
    middle, square = (point.w + dual.w) / 2, point.w @ point.w
    factor = max(middle @ point.w / square, 0.0)
    offset = np.linalg.norm(middle - factor * point.w)
    radius = (inner + offset) * (1 + g(4 + 8))
    longest = max(1, factor) * np.sqrt(square) + np.linalg.norm(dual.w) + radius
    np.testing.assert_allclose(
        (ball.b, ball.radius, ball.norm_bound),
        ((point.b + dual.b) / 2, radius, longest),
    )
    np.testing.assert_allclose(ball.w, factor * point.w)
    np.testing.assert_allclose(ball.margins, factor * point.margins)


def test_a_point_at_zero_is_its_own_multiple():
    problem, _, _, rng = draw(0)
    pair = pair_of(problem, rng)
    pair.point.w = np.zeros(4)
    ball = regions.scaled_ball(problem, pair)
    np.testing.assert_array_equal(ball.margins, pair.point.margins)
    inner = regions.midpoint_radius(problem, pair)
    half = np.linalg.norm(pair.dual.w) / 2
    assert ball.radius == pytest.approx((inner + half) * (1 + g(4 + 8)))


@pytest.mark.parametrize(("seed", "shape"), CASES)
@pytest.mark.parametrize("kind", ["midpoint", "ellipsoid"])
def test_in_doubt_is_what_a_narrower_test_might_decide(seed, shape, kind, monkeypatch):
    problem, Z, move, rng = draw(seed, shape)
    pair = pair_of(problem, rng)
    if seed % 4 == 3:
        pair.dual.s = 0.0
    ball = regions.scaled_ball(problem, pair)
    inner = regions.midpoint_radius(problem, pair)
    lower, upper = (rng.normal(size=problem.n) for _ in range(2))
    free = rng.random(problem.n) < 0.8
    found = SimpleNamespace(free=free, lower=lower, upper=upper)
    narrow = 1.0
    if kind == "ellipsoid" and pair.dual.s > 0:
        L = problem.noise.sets.lipschitz(4)
        curvature = (
            pair.dual.s
            / 2
            / (problem.noise.shape.support(pair.point.w) + ball.radius * L)
        )
        narrow = 1 / np.sqrt(1 + curvature * L**2)
    expected = [
        i
        for i in range(problem.n)
        if free[i]
        and abs(1 - (lower[i] + upper[i]) / 2)
        > narrow * 0.3 * inner * max(np.linalg.norm(Z[i]) - move[i], 0.0)
    ]
    monkeypatch.setattr(decisions, "midpoint_radius", lambda *pair: 0.3 * inner)
    assert decisions._in_doubt(problem, pair, kind, ball, found).tolist() == expected


# -- features (theory §10) -------------------------------------------------------------

FREE = [(seed, kind) for seed in range(12) for kind in ("linf", "box", "cells")]


def undecided(seed, kind, monkeypatch):
    """A problem under boxes, some of its samples decided, and what is known of it."""
    rng = np.random.default_rng(seed)
    n, d, intercept = 12, 5, (None, 0.0, 0.7)[seed % 3]
    X, y = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], size=n)
    X[rng.random((n, d)) < 0.4] = 0.0
    y[:2] = 1, -1
    options = {"noise": "linf" if kind == "linf" else Box(rng.uniform(0, 2, size=d))}
    if kind == "cells":
        options = {"X_err": rng.uniform(0, 1, size=(n, d)), "error_shape": "box"}
    problem = Problem.from_data(
        sp.csr_array(X) if seed % 4 == 1 else X,
        y,
        radius=rng.uniform(0.01, 0.2, size=n),
        sample_weight=rng.exponential(size=n),
        intercept=intercept,
        norm_penalty=0.3 * (seed % 2),
        **options,
    )
    kind_of = rng.choice([0, 1, 2], size=n, p=[0.6, 0.2, 0.2])
    if seed % 6 == 0:
        kind_of[:] = 0
    partition = Partition(kind_of == 1, kind_of == 2, -np.ones(n), np.ones(n))
    w, b = rng.normal(size=d), rng.normal() if intercept is not None else 0.0
    other = w + 0.1 * rng.normal(size=d)
    w[0], other[0] = 0.35, 0.45  # the middle is known but for its rounding
    dual = replace(problem.dual_at(rng.random(n)), w=other)
    dual = replace(dual, b=rng.normal(), center_rounding=0.05)
    pair = Pair(problem.at(w, b), dual)
    errors = rng.exponential(size=n)[kind_of == 0]
    monkeypatch.setattr(features, "gamma", g)
    monkeypatch.setattr(features, "slack_rounding", lambda *args: errors)
    monkeypatch.setattr(features, "totals_rounding", lambda problem: 0.013)
    X = X * y[:, None]
    cells = np.abs(options["X_err"]) if kind == "cells" else np.ones((n, d))
    if kind == "box":
        cells = cells * problem.noise.sets.scales
    e = problem.radii[:, None] * cells
    free = FreeDuals.of(problem, pair, partition, 0.4)
    return SimpleNamespace(**locals())


@pytest.mark.parametrize(("seed", "kind"), FREE)
def test_what_is_known_of_free_samples_is_that_of_10(seed, kind, monkeypatch):
    case = undecided(seed, kind, monkeypatch)
    problem, pair, free, Z, e = case.problem, case.pair, case.free, case.X, case.e
    at, full, c = case.kind_of == 0, case.kind_of == 2, problem.weights
    intercept, n, d = problem.intercept, int(at.sum()), 5
    center = (pair.point.w + pair.dual.w) / 2
    penalty = 0.3 * (seed % 2) * (problem.noise.sets.scales if kind == "box" else 1.0)
    d0, t0 = c[full] @ Z[full], c[full] @ e[full] + penalty
    off, bound = 0.05, pair.certificate.bound
    budget = (0.4**2 + 2 * off * (np.sqrt(2 * bound) + off)) * (1 + g(16))
    assert free.budget == pytest.approx(budget)
    np.testing.assert_allclose(free.slack, pair.point.slack[at])
    np.testing.assert_allclose(free.d, d0, atol=1e-12)
    np.testing.assert_allclose(free.t, t0, atol=1e-12)
    np.testing.assert_allclose(free.most, t0 + c[at] @ e[at])
    known = [j for j in range(d) if abs(center[j]) > 0.4 * (1 + g(8))]
    assert free.known.tolist() == known
    sign = np.sign(center)
    rows = [Z[at][:, j] - sign[j] * e[at][:, j] for j in known]
    beyond = [center[j] - d0[j] + sign[j] * t0[j] for j in known]
    costs, unit = [1.0] * len(known), 0.0
    if intercept is not None:
        unit = 1 / np.sqrt(intercept) if intercept else 1.0
        rows.append(unit * problem.y[at])
        b = (pair.point.b + pair.dual.b) / 2 * np.sqrt(intercept)
        beyond.append(b - unit * (c[full] @ problem.y[full]))
        costs.append(1.0 if intercept else 0.0)
    np.testing.assert_allclose(free.rows.T, np.reshape(rows, (-1, n)))
    np.testing.assert_allclose(free.beyond, beyond)
    np.testing.assert_allclose(free.costs, costs)
    # Rounding: a share of all terms for λ of length 1, and errors of what is folded.
    lengths = np.linalg.norm(Z, axis=1) + problem.noise.lipschitz(d)
    size = c[at] @ (lengths[at] + unit) + np.linalg.norm(t0)
    size += np.linalg.norm(beyond) + np.linalg.norm(center)
    size += c[full] @ np.linalg.norm(Z[full], axis=1) + unit * c[full].sum()
    assert free.size == pytest.approx(size)
    assert free.relative == pytest.approx(g(8 * (n + d + 16)) + 4 * 0.013)
    assert free.slack_error == pytest.approx(2 * c[at] @ case.errors)
    small = free.problem
    folded = 0.0 if small.folded is None else small.folded.rounding
    if kind == "cells" and small.folded is not None:
        chain = problem.noise.sets.pull_rounding + g(small.chain)
        lengths = problem.noise.lipschitz(d)[full]
        folded += chain * (c[full] @ lengths + penalty * np.sqrt(d))
    assert free.fold_error == pytest.approx(folded)


def right_side(case, k, sign, lam, stored=False):
    """The right side of §10 with its rounding, at the first ν of six that is enough.

    Cells that are not `stored` add nothing, or less than nothing.
    """
    free, at = case.free, case.kind_of == 0
    c, u, beta, share = case.problem.weights[at], free.slack, free.budget, free.relative
    g_k = sign * case.X[at, k] - case.e[at, k]
    h = g_k - free.rows @ lam
    length, square = np.linalg.norm(lam), sum(free.costs * lam**2)
    fixed = sign * free.d[k] - free.t[k] + lam @ free.beyond
    fixed += (1 + length) * (share * free.size + free.fold_error)

    def at_nu(nu):
        total = fixed + nu * (beta + free.slack_error)
        total += 2 * share * nu * (beta + c @ np.abs(u))
        loss = np.maximum(h + nu * u, 0.0) - nu * np.maximum(u, 0.0)
        total += c @ np.where((case.X[at, k] == 0) & stored, 0.0, loss)
        return total + (1 + 2 * share) * square / (4 * nu) if nu else total

    end = free.most[k] / beta
    start = min(np.hypot(np.sqrt(square / beta) / 2, LITTLE**4 * end), end)
    values = []
    for power in (0.4, 0.6, 0.2, 0.8, 0.0, 1.0):
        values.append(at_nu(start * (end / start) ** power))
        if min(values) <= 0:
            return min(values)
    return min([*values, at_nu(0.0)] if square == 0 else values)


@pytest.mark.parametrize(("seed", "kind"), FREE)
def test_the_right_side_is_that_of_10(seed, kind, monkeypatch):
    case = undecided(seed, kind, monkeypatch)
    small = 1e-3 if seed % 4 else 1.0  # else rounding drowns what is proven
    free = replace(
        case.free,
        relative=small * case.free.relative,
        budget=0.02 * case.free.budget,
        t=case.free.t + 2.0 * (seed % 5 == 0),
    )
    case.free, J, rng = free, np.arange(5), np.random.default_rng(seed)
    for sign in (1.0, -1.0):
        at = case.kind_of == 0
        G = sign * case.X[at] - case.e[at]
        ridge = free.multipliers(G)
        for scale in (0.0, 1.0, 1e-3 * rng.exponential()):
            found = free.highest(J, sign, G, scale * ridge)
            expected = [right_side(case, k, sign, scale * ridge[:, k]) for k in J]
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    if sp.issparse(free.problem.rows.X):
        none = np.zeros(free.rows.shape[1])
        case.free = replace(free, t=free.t - 50)  # so that nothing is proven yet
        for k in J:  # the t that is just enough
            worst = max(right_side(case, k, s, none, True) for s in (1, -1))
            for step, proven in ((1e-9, True), (-1e-9, False)):
                more = np.zeros(5)
                more[k] = worst + step * (1 + abs(worst))
                found = replace(free, t=case.free.t + more).stored(np.array([k]))
                assert found.tolist() == [proven]
    else:
        assert not free.stored(J).any()


@pytest.mark.parametrize(("seed", "kind"), FREE)
def test_multipliers_are_the_ridge_solution(seed, kind, monkeypatch):
    case = undecided(seed, kind, monkeypatch)
    free, rng = case.free, np.random.default_rng(seed)
    if seed % 2:  # more rows than samples
        free = replace(
            free,
            rows=np.column_stack([free.rows, rng.normal(size=(len(free.rows), 12))]),
            costs=np.append(free.costs, np.ones(12)),
        )
    A, c, u = free.rows, free.problem.weights, free.slack
    W = np.minimum(c, free.budget / np.abs(u))
    G = rng.normal(size=(len(A), 3))
    price = free.budget * np.where(free.costs > 0, 1.0, np.sqrt(EPS))
    left = A.T @ (W[:, None] ** 2 * A) + np.diag(price)
    expected = np.linalg.solve(left, A.T @ (W[:, None] ** 2 * G))
    np.testing.assert_allclose(free.multipliers(G), expected, rtol=1e-5, atol=1e-9)


def test_as_many_columns_are_tested_as_a_few_passes_cost(monkeypatch):
    case = undecided(1, "linf", monkeypatch)
    each = max(case.free.problem.n, 1) * (case.free.rows.shape[1] + MOST_STEPS)
    for entries in (1, CACHED_ENTRIES, 10 * CACHED_ENTRIES):
        most = MOST_STEPS * max(entries, CACHED_ENTRIES) / each
        assert case.free.affordable(entries) == int(most)


def test_a_bound_of_exactly_1_decides_nothing():
    problem, _, _, _ = draw(0, "l2")
    problem = replace(problem, intercept=None, weights=np.ones(problem.n))
    below, above = np.nextafter(1.0, 0.0), np.nextafter(1.0, 2.0)
    lower, upper = np.full(problem.n, 0.5), np.full(problem.n, 1.5)
    lower[:3], upper[:3] = [1.0, above, 0.5], [1.5, 1.5, 1.0]
    upper[3] = below
    found = decide(problem, lower, upper)
    assert np.flatnonzero(found.removed).tolist() == [1]
    assert np.flatnonzero(found.saturated).tolist() == [3]
