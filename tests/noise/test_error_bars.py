import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from measured import FORMS, SPREADS, make_arguments, make_measured
from problems import INTERCEPTS, intercept_options
from wideberth import critical_radius, screen, solve
from wideberth.noise import Boxes, Covariances, Ellipsoids, SumOfEllipsoids
from wideberth.problem import Problem
from wideberth.problem.rows import gamma
from wideberth.screening import Reduction
from wideberth.screening.decisions import Partition

CASES = list(itertools.product(FORMS, SPREADS))


def case(k, **how):
    """A problem of the form and spread whose turn it is."""
    form, spread = CASES[k % len(CASES)]
    return make_measured(k, form=form, spread=spread, **how)


def half_axes(problem):
    """What the sets are made of, one matrix or vector for each sample, in float64."""
    bars = problem.noise.sets
    if isinstance(bars, Covariances):
        return [np.linalg.cholesky(S + 1e-14 * np.eye(bars.d)) for S in bars.matrices]
    table = bars.table.X
    table = table.toarray() if sp.issparse(table) else table
    return list(table if isinstance(bars, Boxes) else np.sqrt(table))


def brute(problem, w):
    """r_i(w), a sample at a time."""
    if isinstance(problem.noise.sets, Boxes):
        return np.array([np.sum(e * np.abs(w)) for e in half_axes(problem)])
    if isinstance(problem.noise.sets, Ellipsoids):
        return np.array([np.linalg.norm(e * w) for e in half_axes(problem)])
    return np.sqrt([max(w @ S @ w, 0.0) for S in problem.noise.sets.matrices])


def inside(problem, delta, slack=1e-9):
    """Whether the rows of `delta` are in the sets, by their support functions."""
    rng = np.random.default_rng(3)
    for w in rng.normal(size=(200, problem.rows.d)):
        size = np.linalg.norm(w) * problem.noise.sets.lipschitz(problem.rows.d)
        if np.any(delta @ w > brute(problem, w) + slack * size):
            return False
    return True


@pytest.mark.parametrize("k", range(len(CASES)))
def test_supports_and_the_points_that_attain_them_are_those_of_the_sets(k):
    problem, rng = case(k), np.random.default_rng(k)
    w, a = rng.normal(size=problem.rows.d), rng.exponential(size=problem.n)
    bars, r = problem.noise.sets, brute(problem, w)
    size = np.linalg.norm(w) * bars.lipschitz(bars.d)
    computed = bars.supports(w)
    np.testing.assert_allclose(computed, r, rtol=1e-12, atol=1e-7 * size.max())
    assert np.all(np.abs(computed - r) <= 1e-7 * size)
    assert np.all(r <= size * (1 + 1e-9))
    delta = bars.gradients(w)
    np.testing.assert_allclose(delta @ w, r, rtol=1e-6, atol=1e-7 * size.max())
    assert inside(problem, delta)
    if bars.smooth:
        close = 1e-12 * (a @ bars.lipschitz(bars.d))
        np.testing.assert_allclose(bars.pull(a, w, computed), a @ delta, atol=close)
    hurt = problem.worst_case(w)
    lost = problem.y * (hurt @ w)
    if bars.offsets is not None:  # from the measurement, not from the middle
        lost -= problem.y * problem.radii * (bars.offsets @ w)
    np.testing.assert_allclose(-lost, problem.radii * r, atol=1e-7 * size.max())


@pytest.mark.parametrize("k", range(0, len(CASES), 2))
def test_gradients_and_curvature_are_derivatives(k):
    problem, rng = case(k), np.random.default_rng(k)
    bars, d = problem.noise.sets, problem.rows.d
    w, a, h = rng.normal(size=d), rng.exponential(size=problem.n), 1e-6
    steps = h * np.eye(d)
    slopes = [
        (a @ bars.supports(w + s) - a @ bars.supports(w - s)) / 2 / h for s in steps
    ]
    scale = a @ bars.lipschitz(bars.d)
    assert np.abs(a @ bars.gradients(w) - slopes).max() < 1e-6 * scale
    if not bars.smooth:
        return
    smooth = np.sqrt(bars.supports(w) ** 2 + 0.01 * bars.lipschitz(bars.d) ** 2)

    def rounded(x):
        sizes = np.sqrt(bars.supports(x) ** 2 + 0.01 * bars.lipschitz(bars.d) ** 2)
        return bars.pull(a, x, sizes)

    columns = [(rounded(w + s) - rounded(w - s)) / 2 / h for s in steps]
    found = bars.curvature(a, w, smooth)
    assert np.abs(found - np.array(columns)).max() < 1e-5 * scale


@pytest.mark.parametrize("k", range(len(CASES)))
@pytest.mark.parametrize("intercept", INTERCEPTS[1:])
def test_no_dual_value_exceeds_a_primal_one_and_the_gap_is_its_parts(k, intercept):
    problem = case(k, intercept=intercept, radii="random", weights="random")
    rng, d = np.random.default_rng(k), problem.rows.d
    for near in (None, np.zeros(d), rng.normal(size=d), 1e-9 * rng.normal(size=d)):
        alpha = problem.weights * rng.uniform(-0.2, 1.2, size=problem.n)
        dual = problem.dual_at(alpha, near=near)
        for scale in (0.0, 1e-3, 0.3, 3.0):
            w = scale * rng.normal(size=d)
            for point in (problem.at(w), problem.at(dual.w)):
                error = point.rounding + dual.rounding
                assert dual.value <= point.value + error
        # Whatever δ_i in the sets were taken, together they are what v says.
        left = dual.d - dual.w
        for u in rng.normal(size=(50, d)):
            most = (dual.alpha * problem.radii) @ brute(problem, u)
            assert left @ u <= most * (1 + 1e-7) + dual.center_rounding * 10


def test_steps_that_overshoot_still_give_a_point_of_the_sets():
    """The next w may be longer where the last was: sizes are the larger of both."""
    rng = np.random.default_rng(0)
    for seed in range(60):
        E = 10 ** rng.uniform(-3, 1, size=(3, 3))
        bars, a = Ellipsoids.of(E), rng.exponential(size=3)
        d, near = rng.normal(size=3), 10 ** rng.uniform(-8, 2, size=3)
        total = SumOfEllipsoids(((bars, a),))
        v = total.closest(d, near if seed % 2 else None)
        for u in rng.normal(size=(300, 3)):
            assert (d - v) @ u <= a @ bars.supports(u) * (1 + 1e-9)


@pytest.mark.parametrize("k", range(0, len(CASES), 2))
def test_the_bracket_of_the_null_model_holds_it(k):
    problem, rng = case(k), np.random.default_rng(k)
    alpha = problem.weights * rng.random(problem.n)
    lower, upper = problem.null_bracket(alpha)
    assert 0 <= lower <= upper
    d, total = problem.rows.combine(alpha), problem.noise.sum(alpha)
    for w in (*rng.normal(size=(300, problem.rows.d)), *np.eye(problem.rows.d), d):
        support = total.support(w)
        if support > 1e-6 * total.lipschitz(d.size):
            assert w @ d <= upper * support * (1 + 1e-6)
    if np.isfinite(upper) and lower > 0:
        # Something is left of v below the lower bound, and next to nothing above.
        size = np.linalg.norm(d)
        assert np.linalg.norm(problem.closest(alpha, 0.9 * lower)) > 1e-9 * size
        assert np.linalg.norm(problem.closest(alpha, 1.1 * upper)) < 0.1 * size


@pytest.mark.parametrize("form", ["ellipsoid", "box", "lopsided", "covariance"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_model_dies_at_the_critical_radius(form, intercept):
    X, y, options = make_arguments(3, form=form)
    del options["radius"]
    options |= intercept_options(intercept)
    bracket = critical_radius(X, y, **options)
    assert bracket.width <= 1e-2
    alive = solve(X, y, radius=0.97 * bracket.lower, tol=1e-9, quiet=True, **options)
    dead = solve(X, y, radius=1.03 * bracket.upper, tol=1e-9, quiet=True, **options)
    assert np.linalg.norm(alive.w) > 1e-4
    assert np.linalg.norm(dead.w) < 1e-5
    assert dead.converged


# -- rounding ---------------------------------------------------------------------------


def singular_covariances():
    """Exact positive semidefinite matrices, singular or nearly so, as integers."""
    rng = np.random.default_rng(5)
    for k in range(300):
        d = int(rng.integers(2, 7))
        rank = int(rng.integers(1, d + 1))
        B = rng.integers(-40, 41, size=(d, rank)).astype(float)
        S = B @ B.T
        if k % 3 == 1:  # the least that float64 adds to one diagonal entry
            j = int(rng.integers(d))
            S[j, j] = np.nextafter(S[j, j], np.inf)
        units = 2.0 ** rng.integers(-20, 20, size=d) if k % 3 == 2 else np.ones(d)
        yield S * units[:, None] * units
    for power in (50, 51, 52):
        for size in (1e-12, 1.0, 1e12):
            off = 1 - 2.0**-power
            yield size * np.array([[1.0, off], [off, 1.0]])


def fractions(values):
    """Floats as what they are."""
    return [Fraction(float(x)) for x in values]


def exact_support(S, w):
    """√(wᵀSw) to sixty digits; w are fractions."""
    mp = pytest.importorskip("mpmath")
    rows = [fractions(row) for row in S]
    images = [sum(map(lambda p, q: p * q, row, w)) for row in rows]
    square = sum(map(lambda p, q: p * q, images, w))
    assert square >= 0
    with mp.workdps(60):
        return mp.sqrt(mp.mpf(square.numerator) / square.denominator)


def test_a_covariance_of_full_rank_leaves_next_to_nothing_open():
    rng = np.random.default_rng(7)
    for d in (2, 5, 20):
        mixed = rng.normal(size=(8, d, 2 * d))
        bars = Covariances.of(mixed @ mixed.transpose(0, 2, 1))
        w = rng.normal(size=d)
        assert np.all(bars.support_errors(w) <= 1e-12 * bars.supports(w))
        assert np.all(bars.axes_errors() <= 1e-12 * bars.lipschitz(bars.d))


def test_carried_covariances_are_those_given_behind_a_linear_map():
    rng = np.random.default_rng(8)
    for k, S in enumerate(singular_covariances()):
        d = len(S)
        A = rng.integers(-3, 4, size=(int(rng.integers(1, d + 1)), d)).astype(float)
        A = A if k % 2 else np.diag(rng.integers(1, 9, size=d)).astype(float)
        bars = Covariances.of(S[None]).carried(sp.csr_array(A))
        kernel = np.linalg.eigh(A @ S @ A.T)[1][:, 0]
        for w in (rng.normal(size=len(A)), kernel):
            r, off = bars.supports(w)[0], bars.support_errors(w)[0]
            columns = (fractions(column) for column in A.T)
            ahead = [sum(map(lambda p, q: p * q, c, fractions(w))) for c in columns]
            away = abs(exact_support(S, ahead) - r)
            assert away <= off + gamma(bars.d + 8) * r


def test_a_variance_that_cancels_behind_a_linear_map_stays_open():
    # Both rows of the factor are the same, so that their difference rounds to 0.
    off, F = 2.0**-51, np.array([[1.0, 0.0], [1.0, 0.0]])
    S = F @ F.T - off * np.array([[0.0, 1.0], [1.0, 0.0]])
    residual = np.array([np.sqrt(2) * off])
    bars = Covariances(S[None], F[None], np.ones((1, 2)), residual, np.zeros(1))
    behind = bars.carried(sp.csr_array([[1.0, -1.0], [0.0, 1.0]]))
    for w in (np.array([1.0, 0.0]), np.array([1.0, 1e-17])):
        assert np.sqrt(2 * off) <= behind.supports(w)[0] + behind.support_errors(w)[0]


# -- folding, units, forms --------------------------------------------------------------


@pytest.mark.parametrize("k", range(len(CASES)))
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_folded_samples_leave_all_values_as_they_are(k, intercept):
    problem = case(k, intercept=intercept, radii="some zero", weights="random")
    rng, d = np.random.default_rng(k), problem.rows.d
    reduction = Reduction.of(problem)
    for share in (0.3, 0.3):  # twice: folds add up
        n = reduction.problem.n
        saturated = rng.random(n) < share
        nothing = np.full(n, np.nan)
        no = np.zeros(n, dtype=bool)
        reduction = reduction.shrink(Partition(no, saturated, nothing, nothing))
    small = reduction.problem
    assert small.folded.n > 0
    w, b = rng.normal(size=d), 0.2 * (intercept is not None)
    point, whole = small.at(w, b), problem.at(w, b)
    settled = np.setdiff1d(np.arange(problem.n), reduction.free)
    lost = problem.weights[settled] @ np.minimum(whole.slack[settled], 0.0)
    error = point.rounding + whole.rounding + 1e-14 * abs(lost)
    assert abs(point.value - (whole.value + lost)) <= error
    alpha = small.repair(small.weights * rng.random(small.n))
    full = problem.dual_at(reduction.unfold(alpha), near=w)
    part = small.dual_at(alpha, near=w)
    if np.isfinite(part.value):
        scale = 1e-9 * (1 + abs(full.value) + problem.rows.norms().sum())
        assert abs(part.value - full.value) <= full.rounding + part.rounding + scale
        assert part.value <= problem.at(w, b).value + part.rounding


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("power", [-40, -7, 13, 60])
def test_units_of_two_change_no_digit(form, power):
    X, y, options = make_arguments(4, form=form, radii="random")
    unit = 2.0**power
    errors = options.pop("X_err")
    other = errors
    if form == "lopsided":
        other = tuple(unit * part for part in errors)
    elif form == "covariance":
        other = unit**2 * errors
    else:
        other = unit * errors
    one = solve(X, y, C=3.0, X_err=errors, tol=1e-6, **options)
    two = solve(unit * X, y, C=3.0 / unit**2, X_err=other, tol=1e-6, **options)
    if abs(power) > 30:  # the same numbers inside
        base = solve(2.0**30 * X, y, C=3.0 / 2.0**60, tol=1e-6, **options,
                     X_err=_scaled(errors, 2.0**30, form))  # fmt: skip
        np.testing.assert_array_equal(two.w * unit, base.w * 2.0**30)
        assert two.b == base.b
    np.testing.assert_allclose(two.w * unit, one.w, rtol=1e-3, atol=1e-4)
    assert two.converged


def _scaled(errors, unit, form):
    if form == "lopsided":
        return tuple(unit * part for part in errors)
    return unit**2 * errors if form == "covariance" else unit * errors


@pytest.mark.parametrize("radius", [0.0, 0.3, 1.0, 2.5, "each"])
def test_lopsided_boxes_are_boxes_about_a_middle_that_moves_with_the_radius(radius):
    X, y, options = make_arguments(8, form="lopsided")
    down, up = options.pop("X_err")
    if radius == "each":
        radius = np.random.default_rng(8).uniform(0, 2, size=len(X))
    options["radius"] = radius
    moved, half = X + np.reshape(radius, (-1, 1)) * (up - down) / 2, (up + down) / 2
    one = solve(X, y, X_err=(down, up), tol=1e-9, **options)
    two = solve(moved, y, X_err=half, tol=1e-9, **options)
    np.testing.assert_allclose(one.w, two.w, atol=1e-6)
    known = [
        screen(at, y, one.w, one.alpha, C=1.0, b=one.b, X_err=errors, **options)
        for at, errors in ((X, (down, up)), (moved, half))
    ]
    assert known[0].counts == known[1].counts
    assert known[0].counts[0] < len(y)
    problem = Problem.from_data(X, y, X_err=(down, up), **options)
    worst = problem.worst_case(one.w)
    reach = np.reshape(radius, (-1, 1))
    assert np.all((worst >= -reach * down) & (worst <= reach * up))
    margins = y * ((X + worst) @ one.w)
    np.testing.assert_allclose(margins, problem.robust_margins(one.w), atol=1e-9)


def test_a_lopsided_box_is_judged_by_the_side_that_counts():
    # All samples may only be too small. The model that says so never dies.
    X = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    y = np.array([1, 1, -1, -1])
    down, up = (
        np.array([[0.0], [0.0], [3.0], [3.0]]),
        np.array([[2.0], [2.0], [0.0], [0.0]]),
    )
    options = {"error_shape": "box", "fit_intercept": False}
    assert critical_radius(X, y, X_err=(down, up), **options).lower == np.inf
    against = critical_radius(X, y, X_err=(up, down), **options)
    # Σz_i = 6, and the boxes take 2 + 2 + 3 + 3 of it.
    assert against.lower == against.upper == pytest.approx(0.6)


@pytest.mark.parametrize("tall", [False, True])
def test_a_table_can_be_halved_and_joined(tall):
    for form in ("ellipsoid", "box", "covariance", "csr box"):
        problem = make_measured(9, n=50 if tall else 6, form=form)
        bars, w = problem.noise.sets, np.arange(1.0, 5.0)
        parts = bars.take(slice(0, 3)), bars.take(np.arange(3, problem.n))
        again = parts[0].joined(parts[1])
        np.testing.assert_allclose(again.supports(w), bars.supports(w), rtol=1e-14)
        np.testing.assert_allclose(bars.divided(0.25).supports(w), 4 * bars.supports(w))
        assert bars.divided(0.25).largest == 4 * bars.largest


def test_rounding_may_leave_the_curvature_singular():
    """A set far larger than d leaves nothing of I: w itself is its null space."""
    bars, w = Ellipsoids.of(np.ones((1, 2))), np.ones(2)
    total, sizes = SumOfEllipsoids(((bars, np.array([1e30])),)), [np.sqrt([2.0])]
    curvature = bars.curvature(np.array([1e30]), w, sizes[0])
    assert np.linalg.matrix_rank(np.eye(2) + curvature) == 1
    assert np.isfinite(total.newton_step(np.ones(2), w, sizes)).all()
