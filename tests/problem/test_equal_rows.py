"""Equal rows are one row: the same answer for all samples, through few of them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from wideberth import solve
from wideberth.problem import Problem, merge
from wideberth.problem.merge import distinct, group_weights, merge_equal_rows
from wideberth.problem.rows import gamma

INTERCEPTS = [None, 0.0, 2.0]
CSR = sp.csr_array


def repeated(seed, n=6_000, distinct=150, d=4):
    """Samples drawn from few, with weights of their own, some 0, and two radii."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(distinct, d)) * (rng.random((distinct, d)) < 0.7)
    J = rng.integers(distinct, size=n)
    y = np.where(X[J, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    radius = rng.choice([0.0, 0.2], distinct)[J]
    weights = rng.exponential(size=n) * (rng.random(n) < 0.9)
    return X[J], y, {"sample_weight": weights, "radius": radius}, J


def errors(kind, J, d=4):
    """Error bars of the samples J, equal where J is."""
    rng = np.random.default_rng(1)
    if kind == "covariance":
        F = 0.2 * rng.normal(size=(J.max() + 1, d, d))
        return (F @ F.transpose(0, 2, 1))[J]
    return 0.2 * rng.exponential(size=(J.max() + 1, d))[J]


FORMS = {
    "dense": {},
    "float32": {},
    "columns together": {},
    "CSR": {},
    "ellipsoids": {"error_shape": "ellipsoid"},
    "boxes": {"error_shape": "box"},
    "covariances": {"error_shape": "ellipsoid"},
}


def stated(form, seed):
    X, y, options, J = repeated(seed)
    options |= FORMS[form]
    if form == "float32":
        X = X.astype(np.float32)
    elif form == "columns together":
        X = np.asfortranarray(X)
    elif form == "CSR":
        X = CSR(X)
    elif form != "dense":
        options["X_err"] = errors(form.removesuffix("s"), J)
    return X, y, options


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("form", FORMS)
def test_merged_samples_have_the_same_objective_and_feasible_weights(form, intercept):
    X, y, options = stated(form, 3)
    problem = Problem.from_data(X, y, **options, intercept=intercept)
    found = merge_equal_rows(problem)
    merged = found.problem
    assert merged.n <= 300
    rng = np.random.default_rng(3)
    w, b = rng.normal(size=4), rng.normal()
    for point, whole in [
        (merged.at(w, b), problem.at(w, b)),
        (merged.dual_at(a := rng.random(merged.n) * merged.weights, near=w),
         problem.dual_at(found.dealt(a), near=w)),
    ]:  # fmt: skip
        rounding = point.rounding + whole.rounding
        # w(α) of sets per sample is a limit, of which both are as near as they are.
        limit = (
            0.0
            if merged.noise.proportional or form == "boxes"
            else 1e-6 * abs(whole.value)
        )
        assert abs(point.value - whole.value) <= rounding + limit
    alpha = found.dealt(merged.weights)
    np.testing.assert_allclose(alpha, problem.weights, rtol=1e-12)
    np.testing.assert_allclose(found.gathered(alpha), merged.weights, rtol=1e-12)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("form", FORMS)
def test_data_of_equal_samples_is_solved_through_few(form, intercept, monkeypatch):
    X, y, options = stated(form, 7)
    weights = options["sample_weight"]
    options |= {"fit_intercept": intercept is not None, "C": 0.01, "tol": 1e-7}
    options |= {"intercept_penalty": intercept or 0.0, "random_state": 0}
    found = solve(X, y, **options)
    assert found.converged
    problem = on_all(X, y, options)
    point, dual = (
        problem.at(found.w, found.b),
        problem.dual_at(found.alpha, near=found.w),
    )
    assert point.value == pytest.approx(found.primal, rel=1e-10)
    assert problem.certificate(point, dual).proves(1e-7)
    assert (
        np.array_equal(dual.alpha, found.alpha) or intercept == 0
    )  # feasible as it is
    alpha = np.divide(found.alpha, weights, where=weights > 0, out=np.zeros(len(y)))
    label = merge_equal_rows(problem).label
    for group in range(5):
        assert np.ptp(alpha[(label == group) & (weights > 0)]) <= 1e-14
    assert not found.alpha[weights == 0].any()
    assert found.removed[weights == 0].all()
    monkeypatch.setattr(merge, "FEW_ROWS", 10**9)
    plain = solve(X, y, **options)
    assert abs(plain.primal - found.primal) <= 2e-7 * found.primal
    assert found.passes < plain.passes
    # Both prove what they decide, so they never contradict each other.
    assert not (plain.removed & found.saturated).any()
    assert not (found.removed & plain.saturated & (weights > 0)).any()
    assert found.removed.sum() > 0.9 * plain.removed.sum()
    assert found.saturated.sum() > 0.9 * plain.saturated.sum()


def on_all(X, y, options):
    """The problem on all samples, none merged."""
    keys = "radius", "X_err", "error_shape", "sample_weight", "C"
    stated = {key: options[key] for key in keys if key in options}
    free = options.get("fit_intercept", True)
    intercept = options.get("intercept_penalty", 0.0) if free else None
    return Problem.from_data(X, y, **stated, intercept=intercept)


# -- what counts as equal --------------------------------------------------------------


@pytest.mark.parametrize("what", ["row", "label", "radius", "error", "target"])
def test_samples_that_differ_in_one_thing_are_kept_apart(what):
    rng = np.random.default_rng(0)
    n, few = 5_000, rng.normal(size=(20, 3))
    X, y, radius, bars = (
        few[rng.integers(20, size=n)],
        np.ones(n),
        np.full(n, 0.1),
        None,
    )
    y[few[0, 0] == X[:, 0]] = -1.0
    if what == "error":
        bars = np.full((n, 3), 0.1)
    odd = 4_321
    same = np.flatnonzero((X[odd] == X).all(axis=1))
    if what == "row":
        X[odd, 2] = np.nextafter(X[odd, 2], 9.0)
    elif what == "label":
        y[odd] *= -1
    elif what == "radius":
        radius[odd] = 0.2
    elif what == "error":
        bars[odd, 1] = 0.2
    problem = Problem.from_data(X, y, radius=radius, X_err=bars, intercept=0.0)
    if what == "target":
        m = np.full(n, -0.5)
        m[odd] = 0.5
        problem = replace(problem, m=m)
    found = merge_equal_rows(problem)
    assert np.count_nonzero(found.label == found.label[odd]) == 1
    others = np.setdiff1d(same, [odd])
    assert np.unique(found.label[others]).size == 1
    assert found.problem.n == 21


def test_without_an_intercept_the_mirror_image_of_the_other_class_is_equal():
    X, y, options, _ = repeated(5)
    flip = np.random.default_rng(5).choice([-1.0, 1.0], len(y))
    for rows, mirrored in ((X, flip[:, None] * X), (CSR(X), CSR(flip[:, None] * X))):
        plain = merge_equal_rows(Problem.from_data(rows, y, **options))
        found = merge_equal_rows(Problem.from_data(mirrored, flip * y, **options))
        assert found.problem.n == plain.problem.n
        w = np.random.default_rng(6).normal(size=4)
        value = found.problem.at(w).value
        assert value == pytest.approx(plain.problem.at(w).value, rel=1e-12)
        bound = Problem.from_data(mirrored, flip * y, **options, intercept=0.0)
        assert merge_equal_rows(bound).problem.n > plain.problem.n


# -- when it is tried ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_are_there_twice_are_seen_wherever_they_are(seed):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(20_000, 2)), 2, axis=0)
    X = X if seed % 2 else X[rng.permutation(40_000)]
    y = np.where(X[:, 0] > 0, 1, -1)
    assert merge_equal_rows(Problem.from_data(X, y)).problem.n == 20_000


# -- rounding --------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_on_rounding_count_that_of_merged_weights(weighted):
    rng = np.random.default_rng(0)
    X, y = np.repeat([[1.0, 0.5], [-0.3, 1.0]], 30_000, axis=0), np.ones(60_000)
    y[::3] = -1.0
    weights = rng.exponential(size=60_000) if weighted else None
    problem = Problem.from_data(X, y, sample_weight=weights, intercept=0.0)
    merged = merge_equal_rows(problem).problem
    assert merged.n == 4
    exact = replace(merged, chain=0.0)
    w = np.array([0.3, 0.1])
    point = merged.at(w, 0.0)
    assert point.rounding - exact.at(w, 0.0).rounding >= 0.99 * gamma(5) * point.hinge
    each = [replace(problem, intercept=None) for problem in (merged, exact)]
    one, other = (problem.dual_at(merged.weights) for problem in each)
    mass = one.alpha @ merged.rows.norms()
    assert one.center_rounding - other.center_rounding >= 0.99 * gamma(5) * mass
    folded = [each.fold(merged.y > 0) for each in (merged, exact)]
    assert folded[0].rounding > folded[1].rounding
    assert folded[0].chain == folded[1].chain + merged.chain
    # Sums in two levels: no weight went through as many roundings as it has samples.
    assert (merged.chain < 2_000) if weighted else (merged.chain == 5)


@pytest.mark.parametrize("many", [9_001, 60_000])
def test_weights_of_merged_samples_are_within_the_roundings_counted(many):
    """One row stands for most samples; each weight after the first rounds it up."""
    label = np.concatenate((np.zeros(many, dtype=np.int64), np.arange(1, 1000)))
    weights = np.full(label.size, 2.0**-53 * (1 + 2.0**-20))
    weights[:100] = 1.0  # some in every part of the sum
    sums, chain = group_weights(weights, label, 1000)
    exact = sum(map(Fraction, weights[:many].tolist()), Fraction(0))
    off = abs(Fraction(float(sums[0])) - exact) / exact
    roundings = Fraction(gamma(chain - 4))  # the others are those of α
    assert 0.05 * roundings < off <= roundings


def test_rows_split_by_labels_count_the_roundings_of_their_own_weights():
    X, y, _, _ = repeated(0)
    weights = np.random.default_rng(0).exponential(size=len(y))
    problem = replace(Problem.from_data(X, y, sample_weight=weights), chain=3.0)
    shared = distinct(problem.with_labels(np.ones(problem.n)), 1.0)
    split = shared.with_labels(problem.y, problem.classes)
    found, roundings = group_weights(weights, split.label, split.problem.n)
    np.testing.assert_array_equal(split.problem.weights, found)
    assert split.problem.chain == 3.0 + roundings
    again = split.with_labels(-problem.y, problem.classes)
    assert again.problem.chain == split.problem.chain


# -- roads -----------------------------------------------------------------------------


@pytest.mark.parametrize("intercept_penalty", [0.0, 1.0])
def test_the_ramp_leaves_equal_samples_out_together(intercept_penalty, monkeypatch):
    X, y, options, J = repeated(8)
    y[J % 10 == 0] *= -1
    options |= {"C": 0.01, "ramp": -0.5, "intercept_penalty": intercept_penalty}
    found = solve(X, y, **options)
    left_out = found.descent.left_out
    assert left_out.any()
    assert left_out.shape == y.shape
    assert not left_out[options["sample_weight"] == 0].any()
    slack = on_all(X, y, options).at(found.w, found.b).slack
    decided = np.abs(slack - 1.5) > 1e-3
    below = (slack > 1.5) & (options["sample_weight"] > 0)
    assert np.array_equal(left_out[decided], below[decided])
    monkeypatch.setattr(merge, "FEW_ROWS", 10**9)
    plain = solve(X, y, **options)
    assert found.primal == pytest.approx(plain.primal, rel=1e-4)
