"""The bounds on rounding are those of the page (theory §5.6), term by term.

What is rounded far less than its bound allows shows no error, whatever term is missing.
So the bounds themselves are compared with those of the page, on numbers that differ by
many orders of magnitude: each term is the largest one in some of the draws.
"""

from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import wideberth.noise.error_bars as covariances_module
import wideberth.problem.problem as folded_module
import wideberth.problem.problem as problem_module
import wideberth.problem.rounding as rounding_module
import wideberth.problem.rows as rows_module
from measured import make_measured
from problems import make_problem
from wideberth.noise.sets import Noise
from wideberth.problem import Folded
from wideberth.problem.certificate import Certificate
from wideberth.problem.ramp import Ramp, with_cost
from wideberth.problem.rounding import (
    DualSums,
    accurate_sum,
    balance_rounding,
    chain,
    dual_rounding,
    null_rounding,
    primal_rounding,
    slack_rounding,
    sum_rounding,
    totals_rounding,
    well_inside,
)
from wideberth.screening import Reduction
from wideberth.screening.decisions import Partition
from wideberth.solvers.base import Control
from wideberth.solvers.ramp import Descent
from wideberth.solvers.registry import get_solver

DRAWS = range(60)
U = 2.0**-53


def g(k):
    """γ_k of the page."""
    return k * U / (1 - k * U)


def sized(rng, shape=None):
    """Positive numbers of any size."""
    return 10.0 ** rng.uniform(-8, 8, size=shape)


def draw(seed, n=7, d=3):
    """All that the bounds ask of a problem, with numbers that know nothing of each other."""
    rng = np.random.default_rng(seed)
    norms, errors = sized(rng, n), U * sized(rng, n)
    fold = SimpleNamespace(
        chain=int(10 ** rng.uniform(0, 6)),
        rounding=U * sized(rng),
        mass=sized(rng),
        size=sized(rng),
        weight=sized(rng),
        n=5,
    )
    noise = SimpleNamespace(
        sets=SimpleNamespace(rotation_error=U * sized(rng) if seed % 3 else 0.0),
        support_errors=lambda w: errors * w[0] ** 2,
    )
    outside = SimpleNamespace(support_error=lambda w: 3 * U * np.abs(w).sum())
    problem = SimpleNamespace(
        n=n,
        chain=int(10 ** rng.uniform(0, 6)),
        rows=SimpleNamespace(d=d, norms=lambda: norms, margin_rounding=g(d + 2)),
        intercept=(None, 0.0, sized(rng))[seed % 3],
        folded=fold if seed % 2 else None,
        noise=noise,
        outside=outside,
        weights=sized(rng, n),
        largest_norm=sized(rng),
        largest_lipschitz=sized(rng),
        m=None if seed % 4 == 0 else sized(rng, n) * rng.choice([-1, 1], n),
        largest_target=sized(rng),
    )
    return problem, rng


def drawn_sums(rng):
    """Sums over a dual point, of which the total is the least."""
    return DualSums(-sized(rng), sized(rng), sized(rng))


def summation(problem):
    """g of the page: γ of the chain of a sum over all samples, folded ones included."""
    free = min(problem.n, 2048 + problem.n / 2048) + 4 + problem.chain
    fold = problem.folded
    return g(free) if fold is None else g(max(free, fold.chain) + 1)


@pytest.mark.parametrize("n", [1, 2047, 2048, 5000, 10**7])
def test_sums_of_samples_have_the_chain_of_their_blocks(n):
    assert chain(n) == min(n, 2048 + n / 2048) + 4
    assert chain(n, 3) == min(3, 2048 + n / 2048) + 4
    assert sum_rounding(n) == pytest.approx(g(chain(n)), rel=1e-12, abs=0.0)


@pytest.mark.parametrize("n", [0, 1, 2047, 2048, 2049, 3 * 2048, 3 * 2048 + 5])
def test_a_sum_in_blocks_leaves_nothing_out(n):
    values = np.arange(1.0, n + 1)
    assert accurate_sum(values) == n * (n + 1) / 2


@pytest.mark.parametrize("seed", DRAWS)
def test_slacks_are_off_by_5_6_2(seed):
    problem, rng = draw(seed)
    w, b, supports = sized(rng, 3), -sized(rng), sized(rng, 7)
    length, d = np.sqrt((w**2).sum()), 3
    norms, turned = problem.rows.norms(), problem.noise.sets.rotation_error
    noise = problem.noise.support_errors(w) + length * turned * norms
    m = np.ones(7) if problem.m is None else np.abs(problem.m)
    each = g(d + 2) + g(8)
    for sizes in (None, sized(rng, 7)):
        size = length * norms if sizes is None else sizes
        expected = [
            each * (size[i] + supports[i] + m[i] + abs(b)) + noise[i] for i in range(7)
        ]
        found = slack_rounding(problem, w, b, supports, sizes)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", DRAWS)
def test_the_primal_value_is_off_by_5_6_2(seed):
    problem, rng = draw(seed)
    w, b, supports = sized(rng, 3), -sized(rng), sized(rng, 7)
    noise, hinge, d, c = sized(rng), sized(rng), 3, problem.weights
    for sizes in (None, sized(rng, 7)):
        e = slack_rounding(problem, w, b, supports, sizes)
        slack = e * rng.choice([-2.0, -0.5, 0.5], size=7)
        active = sum(c[i] * e[i] for i in range(7) if slack[i] > -e[i])
        square, length = (w**2).sum(), np.sqrt((w**2).sum())
        # The bound is rounded itself, by less than a chain of sums of errors.
        expected = active * (1 + g(64 + problem.chain))
        expected += g(7 + 4 + problem.chain) * hinge
        expected += g(d + 4) * (square + (problem.intercept or 0.0) * b**2)
        expected += (
            problem.noise.sets.rotation_error * square
        )  # 5.6.7: T, of every margin
        fold, sums = problem.folded, g(d + 8)
        if fold is not None:
            expected += length * (fold.rounding + g(d + 8) * fold.mass)
            sums += g(fold.chain)
            expected += sums * (fold.size + abs(b) * fold.weight)
        expected += sums * noise + problem.outside.support_error(w)
        found = primal_rounding(problem, w, b, supports, noise, slack, hinge, sizes)
        assert found == pytest.approx(expected, rel=1e-13, abs=0.0)


@pytest.mark.parametrize("seed", DRAWS)
def test_the_dual_value_is_off_by_5_6_3(seed):
    problem, rng = draw(seed)
    w, b, d = sized(rng, 3), -sized(rng), 3
    sums, d_error = drawn_sums(rng), U * sized(rng)
    reach, norm, problem.largest_lipschitz = sized(rng, 3)
    support, largest_support = reach * norm, problem.largest_lipschitz * norm
    problem.noise.sets.norm = lambda w: norm
    axes, relative, opened, apart = U * sized(rng, 4)
    noise = SimpleNamespace(rounding=relative, axes_error=axes)
    noise.lipschitz = lambda d: reach
    noise.left_open = lambda w, center: (opened, apart * center)
    s, length, penalty = summation(problem), np.sqrt((w**2).sum()), problem.intercept
    rounding = g(problem.chain) + max(s, relative)
    off = rounding * reach + g(8 * d + 64) * (length + reach) + axes
    for sizes in (None, tuple(sized(rng, 2))):
        along, largest = sizes or (length * d_error, length * problem.largest_norm)
        center = off + d_error  # ε_w
        value = s * (sums.size + sums.weight * abs(b)) + rounding * support + along
        value += length * off + center**2 + g(d + 4) * length**2
        if penalty:
            value += (s * sums.weight) ** 2 / penalty + 4 * s * penalty * b**2
            center = np.hypot(center, s * sums.weight / np.sqrt(penalty))
        if penalty == 0:
            eta = 5 * s * sums.weight
            zeta = problem.largest_norm + problem.largest_lipschitz
            m = problem.largest_target
            value += eta * (m + largest + largest_support) + (eta * zeta) ** 2
            center += eta * zeta
        found = dual_rounding(problem, w, b, sums, d_error, noise, True, sizes)
        np.testing.assert_allclose(found, (value, center), rtol=1e-12)
        found = dual_rounding(problem, w, b, sums, d_error, noise, False, sizes)
        expected = value + opened, center + apart * center
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", DRAWS)
def test_without_a_model_only_sums_are_rounded(seed):
    problem, rng = draw(seed)
    b, sums, s = -sized(rng), drawn_sums(rng), summation(problem)
    assert totals_rounding(problem) == pytest.approx(s, rel=1e-12, abs=0.0)
    eta = 5 * s * sums.weight if problem.intercept == 0 else 0.0
    assert balance_rounding(problem, sums) == pytest.approx(eta, rel=1e-12, abs=0.0)
    expected = s * (sums.size + sums.weight * abs(b))
    expected += eta * (problem.largest_target + abs(b))
    if problem.intercept:
        expected += (s * sums.weight) ** 2 / problem.intercept
        expected += 4 * s * problem.intercept * b**2
    assert null_rounding(problem, b, sums) == pytest.approx(
        expected, rel=1e-12, abs=0.0
    )


@pytest.mark.parametrize("seed", DRAWS)
def test_inside_is_inside_by_all_errors(seed):
    """d ∈ S up to the errors of d, of S, of the balance and of the axes (5.6.6)."""
    problem, rng = draw(seed)
    sums, d_error, axes = drawn_sums(rng), sized(rng) * U, sized(rng) * U
    s, ball = sized(rng), sized(rng)
    t = summation(problem) + g(64)
    eta = 5 * summation(problem) * sums.weight if problem.intercept == 0 else 0.0
    moved = eta * (problem.largest_norm + problem.largest_lipschitz)
    lost = (d_error + moved + axes) / ball / (1 - t)
    left = (1 - 4 * t - lost) / (1 + g(4 * 3 + 8))
    noise = SimpleNamespace(
        axes_error=axes,
        inscribed=lambda d: ball,
        gauge=lambda v, most: (0.0, float(np.abs(v).sum()) / s),
    )
    if left <= 0:
        assert not well_inside(problem, np.zeros(3), noise, sums, d_error)
        return
    for share, inside in ((1 - 1e-13, True), (1 + 1e-13, False)):
        d = np.array([0.0, share * left * s, 0.0])
        assert well_inside(problem, d, noise, sums, d_error) == inside
    noise.inscribed = lambda d: 0.0
    assert not well_inside(problem, np.zeros(3), noise, sums, d_error)


# -- what problems hand to these bounds ------------------------------------------------


def folded_problem(seed, form=None):
    """A problem with folded samples, sums of merged rows and axes that are off."""
    rng = np.random.default_rng(seed)
    intercept = (None, 0.0, 0.6)[seed % 3]
    if form is None:
        shape = ("l2", "linf", "ellipsoid", "l1")[seed % 4]
        problem = make_problem(
            seed, n=12, d=3, shape=shape, intercept=intercept, spread_radii=True
        )
        shape = copy(problem.noise.shape)
        vars(shape).update(rotation_error=0.02, support_error=0.03)
        problem = replace(problem, noise=Noise(shape, problem.radii))
    else:
        problem = make_measured(seed, form=form, intercept=intercept, radii="random")
    targets = np.where(np.arange(problem.n) % 5, 1.0, -2.0)
    problem = replace(problem, chain=7, m=targets)
    if seed % 2:
        saturated = np.arange(problem.n) % 3 == 0
        edges = -np.ones(problem.n), np.ones(problem.n)
        decided = Partition(np.zeros(problem.n, bool), saturated, *edges)
        problem = Reduction.of(problem).shrink(decided).problem
        problem = replace(problem, folded=replace(problem.folded, rounding=0.4))
    return problem, rng


@pytest.fixture
def told(monkeypatch):
    """What is handed to the bounds; γ_k is k thousandths, and sums are off by 0.05."""
    handed = {}

    def dual(problem, w, b, sums, d_error, noise, exact, sizes):
        handed.update(sums=sums, d_error=d_error, noise=noise, sizes=sizes)
        return 1.0, 2.0

    def inside(problem, d, noise, sums, d_error):
        handed.update(inside=(noise, sums, d_error))
        return False

    for module in (problem_module, rows_module, rounding_module):
        monkeypatch.setattr(module, "gamma", lambda k: 1e-3 * k)
    for module in (problem_module, rounding_module):
        monkeypatch.setattr(module, "totals_rounding", lambda problem: 0.05)
    monkeypatch.setattr(problem_module, "dual_rounding", dual)
    monkeypatch.setattr(problem_module, "well_inside", inside)
    return handed


def bounds(problem, noise, w):
    """What the bound on the rounding of a dual point asks of the noise."""
    reach, norm = noise.lipschitz(problem.rows.d), problem.noise.sets.norm(w)
    return (
        reach,
        reach * norm,
        problem.largest_lipschitz * norm,
        problem.largest_lipschitz,
        noise.axes_error,
        1e-3 * problem.chain + max(0.05, noise.rounding),
    )


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("sharp", [False, True])
def test_a_dual_point_is_off_by_what_its_sums_are(seed, sharp, told):
    problem, rng = folded_problem(seed)
    Z = problem.rows.X * problem.y[:, None]
    fold, noise = problem.folded, problem.noise.sets
    alpha = problem.repair(problem.weights * rng.random(problem.n))
    dual = problem.dual_at(alpha, sharp=sharp)
    mass = alpha @ np.linalg.norm(Z, axis=1)
    relative = problem.rows.combine_rounding + 1e-3 * problem.chain
    error, s, m = (relative + 0.02) * mass, alpha @ problem.radii, problem.targets
    total, size, weight = alpha @ m, alpha @ np.abs(m), alpha.sum()
    radius, d = problem.radii.max(), alpha @ Z
    if fold is not None:
        error += fold.rounding + 1e-3 * (mass + fold.mass)
        s, total, d = s + fold.noise.scale, total + fold.total, d + fold.d
        size, weight = size + fold.size, weight + fold.weight
    assert told["d_error"] == pytest.approx(error)
    sums = told["sums"]
    assert sums.total == pytest.approx(total)
    assert (sums.size, sums.weight) == (pytest.approx(size), pytest.approx(weight))
    assert dual.s == pytest.approx(s)
    np.testing.assert_allclose(dual.d, d)
    size, omega = noise.lipschitz(3), noise.support(dual.w)
    if fold is not None:
        radius = max(radius, fold.largest_lipschitz / size)
    rounding = 1e-3 * problem.chain + 0.05
    expected = s * size, s * omega, omega * radius, size * radius, s * 0.03, rounding
    np.testing.assert_allclose(bounds(problem, told["noise"], dual.w), expected)
    if sharp and fold is None:
        each = np.abs(problem.rows.X) @ np.abs(dual.w)
        along = relative * (alpha @ each) + 0.02 * np.linalg.norm(dual.w) * mass
        np.testing.assert_allclose(told["sizes"], (along, each.max()))
    else:
        assert told["sizes"] is None


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("form", ["ellipsoid", "box", "covariance"])
def test_a_dual_point_beside_error_bars_is_off_by_what_its_sets_are(seed, form, told):
    problem, rng = folded_problem(seed, form)
    alpha = problem.repair(problem.weights * rng.random(problem.n))
    dual = problem.dual_at(alpha)
    reaches = problem.noise.lipschitz(problem.rows.d)
    largest, reach = reaches.max(), alpha @ reaches
    roundings = [problem.noise.sets.pull_rounding]
    if problem.folded is not None:
        largest = max(largest, problem.folded.largest_lipschitz)
        reach += problem.folded.noise.lipschitz(problem.rows.d)
        roundings.append(problem.folded.noise.rounding)
    size = np.linalg.norm(dual.w)
    rounding = 1e-3 * problem.chain + max(0.05, *roundings)
    expected = (reach, reach * size, largest * size, largest, 0.0, rounding)
    np.testing.assert_allclose(bounds(problem, told["noise"], dual.w), expected)
    assert dual.s == 0.0


def test_sums_of_folds_are_those_of_their_parts(monkeypatch):
    monkeypatch.setattr(folded_module, "gamma", lambda k: 0.1 * k)
    one = Folded(np.array([1.0, 2.0]), 5.0, -7.0, 11, 13.0, 17.0, 19, 23.0, 29.0)
    two = Folded(np.array([4.0, 8.0]), 6.0, 9.0, 10, 12.0, 14.0, 15, 31.0, 37.0)
    one = replace(one, size=1.5, weight=2.5, largest_target=9.0)
    two = replace(two, size=3.0, weight=5.0, largest_target=8.0)
    for a, b in ((one, two), (two, one)):
        both = a + b
        np.testing.assert_array_equal(both.d, [5.0, 10.0])
        assert (both.total, both.balance, both.n) == (11.0, 2.0, 21)
        assert both.mass == 25.0
        assert both.rounding == pytest.approx(31.0 + 0.1 * 25.0)
        assert both.chain == 20
        assert (both.largest_norm, both.largest_lipschitz) == (31.0, 37.0)
        assert (both.size, both.weight, both.largest_target) == (4.5, 7.5, 9.0)


def test_the_largest_of_all_samples_are_those_of_folded_ones_too():
    problem, _ = folded_problem(1)
    norms = np.linalg.norm(problem.rows.X, axis=1)
    for size in (0.0, 1e3):
        fold = replace(problem.folded, largest_norm=size, largest_lipschitz=size)
        same = replace(problem, folded=fold)
        assert same.largest_norm == pytest.approx(max(norms.max(), size))
        own = problem.noise.lipschitz(3).max()
        assert same.largest_lipschitz == pytest.approx(max(own, size))
    errors = problem.axes_error(slice(1, 4))
    np.testing.assert_allclose(errors, (0.02 * norms + 0.03 * problem.radii)[1:4])


@pytest.mark.parametrize(
    ("primal", "dual", "relative"),
    [(2.0, 1.5, 0.25), (0.0, -1.0, 1.0), (0.0, 1.0, 0.0)],
)
def test_a_relative_gap_is_one_of_the_primal_value(primal, dual, relative):
    assert Certificate(primal, dual, 0.1).relative_gap == relative
    assert Certificate(primal, dual, 0.1).bound == max(primal - dual, 0.0) + 0.1


def test_what_is_left_out_costs_with_its_rounding():
    rest = with_cost(Certificate(3.0, 2.0, 0.5), 4.0, 2.0**50)
    assert (rest.primal, rest.dual) == (7.0, 6.0)
    assert rest.rounding == pytest.approx(0.5 + 4.0 * g(2.0**50))


def test_the_cost_of_what_is_left_out_is_a_sum_over_samples():
    problem = replace(make_problem(1, n=9, C=2.0), chain=2.0**40)
    descent = Descent(Ramp(problem, -0.1), Control(), get_solver("newton"))
    found = descent.go_on(descent.marked(np.arange(9) % 2 == 0), "half")
    proof, rest = found.certificate, found.found.certificate
    cost = 1.1 * problem.weights[found.left.samples].sum()
    assert cost > 0
    assert proof.primal == pytest.approx(rest.primal + cost)
    assert proof.dual == pytest.approx(rest.dual + cost)
    expected = rest.rounding + g(9 + 4 + 2.0**40) * cost
    assert proof.rounding == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_nothing_is_stretched_beside_folded_samples():
    problem, rng = folded_problem(1)
    dual = problem.dual_at(0.1 * problem.weights * rng.random(problem.n))
    assert problem.stretched(dual) is dual


def test_inside_counts_the_rounding_of_the_norm(monkeypatch):
    """‖d‖ with all its digits but γ(4d + 8), seen with a γ that is not small."""
    problem, _ = draw(1)
    problem.intercept = None
    monkeypatch.setattr(rounding_module, "gamma", lambda k: 1e-3 * k)
    monkeypatch.setattr(rounding_module, "totals_rounding", lambda problem: 0.01)
    room = (1 - 4 * (0.01 + 0.064)) / (1 + 1e-3 * (4 * 3 + 8))
    noise = SimpleNamespace(
        axes_error=0.0,
        inscribed=lambda d: 1.0,
        gauge=lambda v, most: (0.0, float(np.abs(v).sum())),
    )
    for share, inside in ((1 - 1e-9, True), (1 + 1e-9, False)):
        d = np.array([0.0, share * room, 0.0])
        assert well_inside(problem, d, noise, DualSums(1.0, 1.0, 1.0), 0.0) == inside


def test_sizes_of_covariances_are_off_by_their_products(monkeypatch):
    problem = make_measured(0, form="covariance")
    bars, w = problem.noise.sets, np.arange(1.0, problem.rows.d + 1)
    monkeypatch.setattr(covariances_module, "gamma", lambda k: 1e-3 * k)
    widths = np.linalg.norm(bars.roots, axis=(1, 2))
    expected = 1e-3 * (2 * bars.d + 16) * np.linalg.norm(w) * widths
    np.testing.assert_allclose(bars.size_errors(w), expected)
