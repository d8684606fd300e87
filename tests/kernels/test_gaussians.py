"""Gaussian rows with errors of their own, held against the same in NumPy."""

import numpy as np
import pytest
from scipy.special import logsumexp

from wideberth.kernels.gaussians import densities, e_step


def measured(n=75, d=4, correlated=False, missing=0.2, seed=0):
    """Random measurements: values, variances and covariances."""
    rng = np.random.default_rng(seed)
    values, variances = rng.normal(size=(n, d)), rng.uniform(0, 2, size=(n, d))
    values[rng.random((n, d)) < missing] = np.nan
    covariances = np.empty((0, d, d))
    if correlated:
        factors = rng.normal(size=(n, d, d))
        covariances = factors @ factors.transpose(0, 2, 1)
        variances = np.einsum("nii->ni", covariances)
    return values, variances, covariances


def gaussians(K, d, seed=1):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(K, d, d))
    return rng.normal(size=(K, d)), factors @ factors.transpose(0, 2, 1) + np.eye(d)


def reference(values, variances, covariances, mean, spread):
    """Log densities, g and S⁻¹ row by row, of the cells that are there."""
    n, d = values.shape
    logs, g, inverses = np.zeros(n), np.zeros((n, d)), np.zeros((n, d, d))
    for row in range(n):
        there = np.flatnonzero(~np.isnan(values[row]))
        error = covariances[row] if len(covariances) else np.diag(variances[row])
        S = (spread + error)[np.ix_(there, there)]
        off = (values[row] - mean)[there]
        inverses[row][np.ix_(there, there)] = np.linalg.inv(S)
        g[row, there] = np.linalg.solve(S, off)
        logs[row] = -0.5 * (
            off @ g[row, there] + np.linalg.slogdet(2 * np.pi * S).logabsdet
        )
    return logs, g, inverses


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (32, 3), (75, 4), (130, 9)])
def test_densities_are_those_of_the_reference(n, d, correlated):
    cells = measured(n, d, correlated)
    (mean,), (spread,) = gaussians(1, d)
    found = densities(*cells, mean, spread, True)
    for ours, theirs in zip(found, reference(*cells, mean, spread), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    short = densities(*cells, mean, spread, False)
    np.testing.assert_array_equal(short[0], found[0])
    np.testing.assert_array_equal(short[1], found[1])
    assert short[2].shape == (0, d, d)


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize(("n", "d", "K"), [(1, 1, 1), (75, 4, 1), (75, 4, 3)])
def test_sums_of_an_e_step_are_those_of_the_reference(n, d, K, correlated):
    cells = measured(n, d, correlated)
    means, spreads = gaussians(K, d)
    shares = np.random.default_rng(2).dirichlet(np.ones(K))
    found = e_step(*cells, np.log(shares), means, spreads)
    logs, g, inverses = zip(
        *(reference(*cells, *each) for each in zip(means, spreads, strict=True)),
        strict=True,
    )
    joint = np.array(logs) + np.log(shares)[:, None]
    gamma = np.exp(joint - logsumexp(joint, axis=0))
    expected = (
        logsumexp(joint, axis=0).sum(),
        gamma.sum(axis=1),
        np.einsum("kn,knd->kd", gamma, g),
        np.einsum("kn,knd,kne->kde", gamma, g, g)
        - np.einsum("kn,knde->kde", gamma, inverses),
    )
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


def test_a_gaussian_without_a_share_has_no_row():
    means, spreads = gaussians(2, 4)
    _, counts, slopes, bends = e_step(
        *measured(), np.array([0.0, -np.inf]), means, spreads
    )
    np.testing.assert_allclose(counts, [75, 0])
    assert not slopes[1].any()
    assert not bends[1].any()


def test_a_cell_that_others_determine_is_left_out():
    values, variances = np.array([[1.0, 1.0, 2.0]]), np.zeros((1, 3))
    spread = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    logs, g, inverses = densities(
        values, variances, np.empty((0, 3, 3)), np.zeros(3), spread, True
    )
    kept = [0, 2]
    expected = reference(
        values[:, kept],
        variances[:, kept],
        np.empty((0, 2, 2)),
        np.zeros(2),
        spread[np.ix_(kept, kept)],
    )
    np.testing.assert_allclose(logs, expected[0])
    np.testing.assert_allclose(g, [[0.5, 0.0, 2.0]])
    np.testing.assert_allclose(inverses[0], np.diag([0.5, 0.0, 1.0]))


@pytest.mark.parametrize("scale", [1e-150, 1e-60, 1e60, 1e150])
def test_units_of_any_size_neither_overflow_nor_vanish(scale):
    d = 6
    (mean,), (spread,) = gaussians(1, d)
    values, variances, none = measured(3, d, missing=0.0)
    logs, g, _ = densities(values, variances, none, mean, spread, False)
    far = densities(
        scale * values,
        scale * (scale * variances),
        none,
        scale * mean,
        scale * (scale * spread),
        False,
    )
    np.testing.assert_allclose(far[0], logs - d * np.log(scale), rtol=1e-10)
    np.testing.assert_allclose(far[1] * scale, g, rtol=1e-9)


def test_views_of_larger_arrays_are_read_as_they_are():
    values, variances, none = measured()
    (mean,), (spread,) = gaussians(1, 4)
    expected = densities(values, variances, none, mean, spread, True)
    wide = np.asfortranarray(np.repeat(values, 2, axis=1))[:, ::2]
    wide.flags.writeable = False
    found = densities(wide, variances, none, mean, spread.T, True)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_arrays_of_other_sizes_are_refused():
    values, variances, covariances = measured(correlated=True)
    (mean,), (spread,) = gaussians(1, 4)
    given = (values, variances, covariances, mean, spread)
    densities(*given, True)
    for k, array in enumerate(given):
        for axis in range(array.ndim):
            less = np.take(array, range(array.shape[axis] - 1), axis)
            with pytest.raises(ValueError, match="not of the same features"):
                densities(*given[:k], less, *given[k + 1 :], True)
