"""Groups of rows that stand for all of them where those near the margin do not fit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tall import searched, tall_data
from wideberth import solve
from wideberth.data import Source
from wideberth.data.samples import Samples, Terms
from wideberth.noise import as_noise
from wideberth.problem import Problem
from wideberth.problem.merge import Groups
from wideberth.solvers.base import Control
from wideberth.solvers.batches import Answer, Gather, InMemory, Piece
from wideberth.solvers.driver import solve_in_memory
from wideberth.solvers.work import Work


class Held(Source):
    """Chunks of arrays of which only so many rows may be held."""

    def __init__(self, arrays, held, size):
        super().__init__()
        self.arrays, self.held, self.size = arrays, held, size
        self.n, self.d = arrays[0].shape
        self.row_bytes = 8 * self.d

    def chunks(self):
        for number, start in enumerate(range(0, self.n, self.size)):
            X, *rest = (part[start : start + self.size] for part in self.arrays)
            vectors, errors = rest[:3], tuple(rest[3:])
            yield Samples(X, *vectors, errors=errors, number=number, origin="test")

    def capacity(self, copies=1, item=None):
        return self.held


def weighted_data(rng, n, d):
    """Rows of few different values: many lie on the margin itself."""
    X, y = tall_data(n, d, int(rng.integers(1000)), shift=0.8)
    radius = rng.choice([0.0, 0.1], n)
    return np.round(X), y, rng.choice([0.0, 0.5, 1.0, 3.0], n), radius


@pytest.mark.parametrize("intercept", [None, 0.0, 2.0])
@pytest.mark.parametrize("noise", ["l2", "levels"])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_dual_point_of_groups_is_one_of_the_rows_of_the_same_value(
    intercept, noise, seed
):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(150, 400)), int(rng.integers(1, 6))
    X, y, weight, radius = weighted_data(rng, n, d)
    shape = as_noise("l2" if noise == "l2" else rng.uniform(0.1, 2, d), d)
    terms = Terms(d, 0.7, 0.0, shape, intercept)
    parts, whole = [], terms.problem(Samples(X, y, weight, radius))
    for number, J in enumerate(np.array_split(np.arange(n), 3)):
        chunk = Samples(X[J], y[J], weight[J], radius[J], number=number)
        own = terms.problem(chunk)
        share = rng.choice([0.0, 0.4, 1.0], J.size)
        slack = own.slack(np.ones(d), 0.1)
        groups = Groups.of(own, slack, share, rng.random(J.size))
        parts.append(groups.coarser(1.5, 0.2).coarser(0.5, 0.1))
    problem = Groups.joined(parts)
    assert problem.n < n
    dual = problem.dual_at(rng.random(problem.n) * problem.weights)
    used = np.where(problem.weights > 0, problem.weights, 1.0)
    share, alpha, start = dual.alpha / used, [], 0
    for part in parts:
        alpha.append(share[start : start + part.n][part.label])
        start += part.n
    own = whole.dual_at(np.concatenate(alpha) * whole.weights)
    assert abs(own.value - dual.value) <= own.rounding + dual.rounding
    # Means cost no more than their members.
    w, b = rng.normal(size=d), rng.normal()
    low, high = problem.at(w, b), whole.at(w, b)
    assert low.value <= high.value + low.rounding + high.rounding


def test_the_bound_on_rounding_covers_that_of_the_means():
    """Rows that a sum which has reached 1 forgets, one by one."""
    n, small = 900, 0.9 * 2.0**-53
    X = np.full((n, 1), small)
    X[0] = 1.0
    terms = Terms(1, 1.0, 0.0, as_noise("l2", 1), None)
    problem = terms.problem(Samples(X, np.ones(n), np.ones(n), np.zeros(n)))
    groups = Groups.of(problem, np.ones(n), np.ones(n), np.arange(1.0, n + 1))
    formed = Groups.joined([groups.coarser(0.5, 0.0)])
    assert formed.n < 10
    dual = formed.dual_at(formed.weights)
    off = abs(Fraction(float(dual.d[0])) - 1 - (n - 1) * Fraction(small))
    assert 100 * 2.0**-53 < off <= formed.folded.rounding


@pytest.mark.parametrize("intercept", [None, 0.0, 2.0])
@pytest.mark.parametrize("noise", ["l2", "levels"])
def test_rows_near_the_margin_need_not_fit(intercept, noise, monkeypatch):
    formed, form = [], Groups.joined
    monkeypatch.setattr(
        Groups, "joined", lambda *given: formed.append(given) or form(*given)
    )
    rng = np.random.default_rng(0)
    n, d = 8_000, 4
    X, y, weight, radius = weighted_data(rng, n, d)
    shape = as_noise("l2" if noise == "l2" else rng.uniform(0.1, 2, d), d)
    source = Held((X, y, weight, radius), 300, 1_000)
    terms, control = Terms(d, 0.05, 0.0, shape, intercept), Control(1e-5)
    found = searched(source, terms, control, random_state=0)
    assert formed
    assert found.w.any()
    assert found.certificate.proves(1e-5)
    problem = Problem.from_data(
        X, y, C=0.05, radius=radius, sample_weight=weight, noise=shape,
        intercept=intercept,
    )  # fmt: skip
    assert problem.gap(found.w, found.b, found.alpha) == pytest.approx(
        found.certificate.gap, abs=1e-9 * found.certificate.primal
    )
    exact = solve(
        X, y, C=0.05, radius=radius, sample_weight=weight, noise=shape, tol=1e-8,
        fit_intercept=intercept is not None, intercept_penalty=intercept or 0.0,
    )  # fmt: skip
    assert found.certificate.primal == pytest.approx(exact.primal, rel=2e-5)
    # Of a sample as many rows are handed over as are expected to fit.
    assert max(entry["free"] for entry in control.trace[:-1]) <= 1.5 * 300


def test_rows_settled_wrongly_end_the_rounds_at_a_negative_value():
    problem = Problem.from_data(*tall_data(5_000, 4), C=1.0)
    wrong = problem.rows.X[:, 0] * problem.y > 0.5
    near = problem.take(~wrong, folded=problem.fold(wrong))
    control = Control(1e-8)
    found = solve_in_memory(near, control, near.at(np.zeros(4)))
    assert found.certificate.primal < 0
    assert control.steps < 200


def test_scratch_files_change_no_bit(monkeypatch):
    rng = np.random.default_rng(0)
    X, y, weight, radius = weighted_data(rng, 20_000, 4)
    found = []
    for room in (True, False):
        source = Held((X, y, weight, radius), 300, 2_500)
        enough = 10 * source.n if room else 0
        monkeypatch.setattr(
            source, "spares", lambda size, most=enough: size <= 4 * most
        )
        terms = Terms(4, 0.05, 0.0, as_noise("l2", 4), 0.0)
        found.append(searched(source, terms, Control(1e-5)))
    assert all(one.grouped for one in found)
    np.testing.assert_array_equal(found[0].w, found[1].w)
    assert found[1].alpha is None


def test_a_sample_of_certain_rows_is_no_proof():
    problem = Problem.from_data(*tall_data(200, 3))
    for count, exact in ((50, False), (200, True)):
        piece = Piece.of(problem, np.arange(200) < count)
        assert np.all(piece.chance == 1)
        work = Work(InMemory(problem), Gather(np.zeros(3), 0.0))
        work.add(Answer(0, 200, 0.0, 0.0, near=200, piece=piece))
        assert work.exact == exact
