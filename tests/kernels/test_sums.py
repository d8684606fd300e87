"""Sums over samples, held against the same in NumPy and in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from wideberth.kernels import sums
from wideberth.problem.arrays import constant
from wideberth.problem.rounding import chain
from wideberth.problem.rows import gamma

SIZES = [0, 1, 3, 4, 7, 2047, 2048, 2053, 5000]


def vectors(n, count, seed=0):
    """Some vectors: one after the other in memory, with gaps, backwards, constant."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(count, n, 2))
    kinds = (
        lambda k: drawn[k, :, 0].copy(),
        lambda k: drawn[k, :, 1],
        lambda k: drawn[k, ::-1, 0],
        lambda k: constant(drawn[k].sum(), n),
    )
    return [kinds[(k + seed) % 4](k) for k in range(count)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("seed", range(4))
def test_sums_are_those_of_their_terms(n, seed):
    a, b, sizes, supports, targets, added = vectors(n, 6, seed)
    slack, c = 0.1 * b, abs(a)
    error = 0.3 * (2.0 * sizes + supports + abs(targets) + 0.7) + added
    expected = {
        sums.total(a): a,
        sums.product(a, b): a * b,
        sums.hinge(c, b): c * np.maximum(b, 0),
        sums.class_sums(a, b)[0]: np.where(b > 0, a, 0),
        sums.class_sums(a, b)[1]: np.where(b > 0, 0, a),
        sums.active_error(
            c, slack, sizes, supports, targets, added, 2.0, 0.3, -0.7
        ): np.where(slack > -error, c * error, 0),
    }
    for found, terms in expected.items():
        near = 1e-12 * np.abs(terms).sum()
        assert found == pytest.approx(terms.sum(), rel=0.0, abs=near)


@pytest.mark.parametrize("n", [5, 2048, 9000])
def test_products_are_rounded_no_more_often_than_the_bound_counts(n):
    rng = np.random.default_rng(n)
    a, b = rng.uniform(0.5, 1, n), 10.0 ** rng.uniform(-12, 0, n)
    true = sum(Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True))
    error = abs(Fraction(sums.product(a, b)) - true)
    assert error <= Fraction(gamma(chain(n))) * true


def test_what_is_not_a_number_is_not_lost():
    one, lost = np.ones(9), np.ones(9)
    lost[5] = np.nan
    assert np.isnan(sums.total(lost))
    assert np.isnan(sums.product(one, lost))
    assert np.isnan(sums.hinge(one, lost))
    others = (one, one, one, one, 1.0, 1.0, 0.0)
    assert np.isnan(sums.active_error(one, one, lost, *others[1:]))
    assert not sums.within(lost, one)


@pytest.mark.parametrize("n", SIZES)
def test_slacks_are_computed_in_the_order_of_the_formula(n):
    targets, margins, supports, y = vectors(n, 4)
    y = np.sign(y)  # so that y_ib is exact: with one rounding or two, as compilers like
    found = sums.slacks(targets, margins, supports, y, 0.3)
    np.testing.assert_array_equal(found, targets - margins + supports - y * 0.3)


@pytest.mark.parametrize("place", [0, 6, None])
@pytest.mark.parametrize("value", [-1e-300, np.nextafter(0.5, 1), np.inf, np.nan])
def test_one_number_outside_its_bounds_is_enough(place, value):
    values, most = np.linspace(0, 0.5, 7), constant(0.5, 7)
    if place is not None:
        values[place] = value
    assert sums.within(values, most) == (place is None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (5, 8), (7, 21), (2100, 3)])
def test_norms_of_rows_do_not_depend_on_their_order_in_memory(dtype, shape):
    X = np.random.default_rng(0).normal(size=shape).astype(dtype)
    wider = np.zeros((shape[0], shape[1] + 2), dtype=dtype)
    wider[:, 1:-1] = X
    expected = np.sqrt((X.astype(np.float64) ** 2).sum(axis=1))
    for stored in (X, np.asfortranarray(X), wider[:, 1:-1], X[::-1][::-1]):
        np.testing.assert_allclose(sums.row_norms(stored), expected, rtol=1e-14)
