import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import (
    INTERCEPTS,
    SHAPES,
    TARGETS,
    make_problem,
    problems,
    solved_problems,
)
from safety import Reference, examine, examine_seeds
from wideberth import screen, solve
from wideberth.problem import Pair, Problem
from wideberth.screening import (
    Partition,
    Reduction,
    Screener,
    screen_at_hand,
    screen_points,
)
from wideberth.screening.decisions import _intercept_bracket
from wideberth.screening.regions import REGIONS
from wideberth.solvers.interior import InteriorPoint
from wideberth_paper import load
from wideberth_paper.reference import ideal_partition

seeds = st.integers(0, 2**32 - 1)


@given(problems(log_C=(-3, 3), max_n=25, targets=TARGETS), seeds)
@settings(max_examples=60)
def test_no_decision_and_no_bound_is_ever_wrong(problem, seed):
    tally = examine(quiet_reference(problem), np.random.default_rng(seed))
    for count in tally.values():
        assert count["wrong"] == count["violated"] == count["outside"] == 0


def test_screening_fires_for_every_region_and_test():
    tally = examine_seeds(range(40))
    for kind in REGIONS:
        for test in ("all tests", "separable", "at hand"):
            count = tally[kind, test]
            assert count["decisions"] > 0.1 * count["samples"]
    for test in ("tilted", "ellipsoid"):
        assert tally["ellipsoid", test]["decisions"] > 0


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_margins_at_hand_decide_nearly_as_much_and_no_row_is_read(radius, intercept):
    X, y = load("breast_cancer")
    problem = Problem.from_data(X, y, C=1.0, radius=radius, intercept=intercept)
    solution = quiet_reference(problem)
    pair = Pair(solution.point, problem.dual_at(0.999 * solution.alpha))
    passes = problem.rows.passes.count
    found = screen_at_hand(problem, pair, "ellipsoid")
    if problem.rows.passes.count > passes:  # for more than a tenth of the samples
        assert found.share == screen_points(problem, pair).share
    else:
        assert found.share > screen_points(problem, pair).share - 0.1
    assert found.share > 0.3


@pytest.mark.parametrize("factor", [0.25, 0.5])
def test_the_harness_catches_a_radius_that_is_too_small(monkeypatch, factor):
    for kind, build in list(REGIONS.items()):
        monkeypatch.setitem(
            REGIONS,
            kind,
            lambda *points, build=build: (
                lambda r: replace(r, radius=factor * r.radius)
            )(build(*points)),
        )
    tally = examine_seeds(range(20))
    total = sum(tally.values(), Counter())
    assert total["violated"] > 0
    assert total["outside"] > 0


def quiet_reference(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reference(problem)


@given(problems(), seeds)
@settings(max_examples=60)
def test_reduced_problem_has_the_values_of_the_full_one(problem, seed):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, size=problem.n)
    removed, saturated = kind == 0, kind == 1
    partition = Partition(removed, saturated, np.zeros(problem.n), np.zeros(problem.n))
    reduction = Reduction.of(problem).shrink(partition)
    small = reduction.problem
    assert small.n == partition.counts[0]
    alpha = rng.random(small.n) * small.weights
    if problem.intercept == 0:
        alpha = small.repair(alpha)
        whole = reduction.unfold(alpha)
        if abs(whole @ problem.y) > 1e-9 * whole.sum():
            return  # no free sample left to balance the folded ones
    inner, outer = small.dual_at(alpha), problem.dual_at(reduction.unfold(alpha))
    assert inner.value == pytest.approx(
        outer.value, abs=inner.rounding + outer.rounding + 1e-12
    )
    w, b = rng.normal(size=problem.rows.d), rng.normal()
    slack = problem.at(w, b).slack
    linear = problem.at(w, b).value - problem.weights @ np.maximum(slack, 0)
    linear += problem.weights[saturated] @ slack[saturated]
    linear += problem.weights[kind == 2] @ np.maximum(slack[kind == 2], 0)
    assert small.at(w, b).value == pytest.approx(linear, rel=1e-9, abs=1e-9)
    assert small.at(w, b).value <= problem.at(w, b).value + small.at(w, b).rounding


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("region", REGIONS)
def test_dynamic_screening_ends_at_the_same_optimum_on_fewer_rows(region, intercept):
    X, y = load("breast_cancer")
    problem = Problem.from_data(X, y, C=1.0, radius=0.05, intercept=intercept)
    screener = Screener(problem, region)
    engine = InteriorPoint(problem)
    sizes = [problem.n]
    while engine.relative_gap > 1e-10:
        assert engine.step()
        small = screener.problem
        point = small.at(engine.w, engine.b)
        kept = screener.update(Pair(point, small.dual_at(engine.alpha)))
        if kept is not None:
            engine.shrink(kept, screener.problem)
            sizes.append(screener.problem.n)
    assert sizes[-1] < 0.5 * problem.n
    assert sizes == sorted(sizes, reverse=True)
    dual = problem.dual_at(screener.reduction.unfold(engine.alpha))
    certificate = problem.certificate(problem.at(engine.w, engine.b), dual)
    assert certificate.relative_gap < 1e-9
    assert sum(screener.counts) == problem.n


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize(("C", "radius"), [(1.3, 0.05), (0.8, 0.05), (1.0, 0.06)])
def test_sequential_screening_fires_and_is_right(intercept, C, radius):
    X, y = load("breast_cancer")
    old = Problem.from_data(X, y, C=1.0, radius=0.05, intercept=intercept)
    solution = quiet_reference(old)
    new = Problem.from_data(X, y, C=C, radius=radius, intercept=intercept)
    dual = new.stretched(new.dual_at(C * solution.alpha))
    assert np.all((dual.alpha >= 0) & (dual.alpha <= new.weights))
    partition = screen_points(new, Pair(new.at(solution.w), dual))
    assert partition.share > 0.2
    count = Counter()
    quiet_reference(new).judge(partition, count)
    assert count["wrong"] == count["violated"] == 0


@given(solved_problems(), seeds)
@settings(max_examples=40)
def test_screening_in_rounds_keeps_account_of_every_sample(solved, seed):
    problem, rng = solved.problem, np.random.default_rng(seed)
    full = solved.alpha >= problem.weights
    reduction = Reduction.of(problem)
    for _ in range(3):  # each round decides a part of what is left, and rightly
        alpha = solved.alpha[reduction.free]
        told = rng.random(alpha.size) < 0.4
        removed, saturated = told & (alpha == 0), told & full[reduction.free]
        nothing = np.zeros(alpha.size)
        reduction = reduction.shrink(Partition(removed, saturated, nothing, nothing))
    small = reduction.problem
    whole = reduction.unfold(solved.alpha[reduction.free])
    np.testing.assert_array_equal(whole, solved.alpha)
    point, dual = problem.at(solved.w, solved.b), problem.dual_at(solved.alpha)
    inside = small.at(solved.w, solved.b), small.dual_at(whole[reduction.free])
    error = sum(each.rounding for each in (point, dual, *inside))
    assert inside[0].value == pytest.approx(point.value, abs=error)
    assert inside[1].value == pytest.approx(dual.value, abs=error)
    if problem.intercept == 0 and small.n:
        margins = 1 - small.at(solved.w, 0.0).slack
        low, high = _intercept_bracket(small, margins, margins)
        assert low <= solved.b + 1e-6 * (1 + abs(solved.b))
        assert high >= solved.b - 1e-6 * (1 + abs(solved.b))


@pytest.mark.parametrize("sign", [1, -1])
def test_an_intercept_that_nothing_holds_back_has_no_bound(sign):
    # The class −sign has no weight: every b that satisfies the other one is optimal.
    problem = make_problem(2, n=12, intercept=0.0, C=1.0)
    problem = problem.with_weights(np.where(problem.y == sign, 1.0, 0.0))
    dual = problem.dual_at(np.zeros(problem.n))
    partition = screen_points(problem, Pair(problem.at(dual.w, 50.0 * sign), dual))
    assert not partition.saturated.any()
    assert np.all(partition.upper[problem.y == sign] == np.inf)


def near_margin_problem(dtype, C):
    """Rows of exactly known fate whose margins differ from 1 by rounding alone."""
    rng = np.random.default_rng(0)
    n, extra, d = 300, 3000, 40
    base = rng.normal(size=(n, d)).astype(dtype)
    base[:, 0] += 1.0
    wide = base.astype(np.longdouble)
    w = C * wide.sum(axis=0)  # all base rows saturate: w* = C Σ z_i
    scale = float(0.5 / np.abs(wide @ w).max())
    base = (base * np.sqrt(scale).astype(dtype)).astype(dtype)
    w = C * base.astype(np.longdouble).sum(axis=0)
    assert np.all(base.astype(np.longdouble) @ w < 1)
    rows = rng.normal(size=(extra, d)) * 0.1 / np.linalg.norm(w.astype(float))
    rows += np.outer(1 - rows @ w.astype(float), w.astype(float) / float(w @ w))
    rows = rows.astype(dtype)
    above = rows.astype(np.longdouble) @ w > 1  # the others would change w*
    rows = rows[above]
    X, y = np.vstack([base, rows]), np.ones(n + len(rows), dtype=int)
    X[0], y[0] = -X[0], -1
    alpha = np.concatenate([np.full(n, C), np.zeros(len(rows))])
    return X, y, alpha, n


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
def test_rounding_never_decides(dtype, C):
    X, y, alpha, n = near_margin_problem(dtype, C)
    problem = Problem.from_data(X, y, C=C)
    dual = problem.dual_at(alpha)
    point = problem.at(dual.w)
    margins = 1 - point.slack
    # Without an allowance for rounding the optimal point itself would mislead.
    if dtype is np.float64:
        assert np.any(margins[n:] < 1)
    for region in REGIONS:
        partition = screen_points(problem, Pair(point, dual), region=region)
        assert not partition.removed[:n].any()
        assert not partition.saturated[n:].any()
        assert partition.saturated[:n].mean() > 0.9


def test_the_intercept_bracket_allows_for_the_rounding_of_folded_weights():
    rng = np.random.default_rng(0)
    weights, labels = 1e8 * rng.uniform(size=1000), np.repeat([1, -1], 1000)
    order = rng.permutation(2000)
    gone = Problem.from_data(
        np.zeros((2000, 1)), labels[order], sample_weight=np.tile(weights, 2)[order]
    )
    fold = gone.fold(np.arange(2000))
    error = fold.balance  # exactly, both classes weigh the same
    assert error != 0
    # φ falls with slope 1, rises with slope |error|/2 from 1 on: b* = 1. With the
    # balance as computed it would seem to fall until 2.
    sign = 1 if error > 0 else -1
    y = sign * np.array([1, -1, -1])
    margins = np.array([-9.0, 2.0, 3.0])  # where the slope jumps: 10, 1, 2
    small = Problem.from_data(
        np.zeros((3, 1)), y, sample_weight=[1, 1 + abs(error) / 2, 9], intercept=0.0
    )
    low, high = _intercept_bracket(replace(small, folded=fold), margins, margins)
    assert low <= sign <= high


def test_public_screen_agrees_for_dense_and_sparse_and_reads_lists():
    X, y = load("breast_cancer")
    rough = solve(X, y, radius=0.05, tol=1e-3, fit_intercept=False)
    arguments = {"C": 1.0, "radius": 0.05}
    options = arguments | {"fit_intercept": False}
    dense = screen(X, y, rough.w, rough.alpha, **options)
    sparse = screen(sp.csr_array(X), y, rough.w.tolist(), rough.alpha, **options)
    np.testing.assert_array_equal(dense.removed, sparse.removed)
    np.testing.assert_array_equal(dense.saturated, sparse.saturated)
    assert sum(dense.counts) == len(y)
    assert dense.share > 0.5
    exact = solve(X, y, radius=0.05, tol=1e-12, fit_intercept=False)
    ideal = ideal_partition(Problem.from_data(X, y, **arguments), exact.w, tol=1e-6)
    assert ideal.counts == (17, 28, 524)
    assert np.all(dense.removed <= ideal.removed)
    assert np.all(dense.saturated <= ideal.saturated)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_samples_without_weight_are_removed(shape, intercept):
    problem = make_problem(3, shape=shape, intercept=intercept, weights="some zero")
    dual = problem.dual_at(problem.weights * 0.5)
    partition = screen_points(problem, Pair(problem.at(dual.w), dual))
    assert np.all(partition.removed[problem.weights == 0])
    assert not np.any(partition.removed & partition.saturated)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"region": "box"}, "region='box'"),
        ({"region": "gap", "test": "tilted"}, "test='tilted' does not apply"),
        ({"test": "ellipsoid", "noise": "linf"}, "test='ellipsoid' does not apply"),
        ({"w": [1.0]}, r"w must be a finite array of shape \(4,\)"),
        ({"alpha": np.full(30, np.nan)}, "alpha must be a finite array"),
        ({"radius": -1.0}, "radius is -1.0"),
    ],
)
def test_bad_arguments_are_named(change, said):
    problem = make_problem(0)
    arguments = {
        "X": problem.rows.X,
        "y": problem.y,
        "w": np.ones(4),
        "alpha": np.ones(30),
        "C": 1.0,
        "radius": 0.1,
    }
    with pytest.raises(ValueError, match=said):
        screen(**arguments | change)
