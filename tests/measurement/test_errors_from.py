"""Errors from what people have: replicates, imputations, limits, quantities."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import digamma, polygamma

from wideberth import TrueFeatures
from wideberth.errors import (
    from_imputations,
    from_limits,
    from_quantities,
    from_replicates,
    from_sides,
)

# -- replicates ------------------------------------------------------------------------


def readings(n, r, spread, d=2, seed=0):
    """True values, and r readings of each with the object's own spread."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, 1, d))
    noise = rng.normal(size=(n, r, d)) * np.reshape(spread, (-1, 1, 1))
    return true[:, 0], true + noise


def test_pooling_of_all_is_one_variance_per_feature():
    _, data = readings(50, 3, 1.0)
    X, errors = from_replicates(data, pooling="all")
    np.testing.assert_allclose(X, data.mean(axis=1))
    variance = data.var(axis=1, ddof=1).mean(axis=0)
    np.testing.assert_allclose(errors, np.tile(np.sqrt(variance / 3), (50, 1)))


def test_moderated_errors_are_nearer_to_the_truth_than_either():
    rng = np.random.default_rng(1)
    spread = np.sqrt(1 / rng.gamma(4.0, 1 / 4.0, size=3000))  # d₀ = 8, s₀² = 1
    _, data = readings(3000, 3, spread)
    off = {}
    own = data.std(axis=1, ddof=1) / np.sqrt(3)
    ways = {how: from_replicates(data, pooling=how)[1] for how in ("moderated", "all")}
    for pooling, errors in (ways | {"none": own}).items():
        off[pooling] = np.mean((np.log(errors) - np.log(spread / 3**0.5)[:, None]) ** 2)
    assert off["moderated"] < 0.8 * min(off["all"], off["none"])


def test_moderation_finds_the_law_of_the_variances():
    rng = np.random.default_rng(1)
    spread = np.sqrt(1 / rng.gamma(4.0, 1 / 4.0, size=20_000))
    _, data = readings(20_000, 3, spread, d=1)
    own = data.var(axis=1, ddof=1)[:, 0]
    _, errors = from_replicates(data)
    expected = (8 * 1.0 + 2 * own) / 10
    np.testing.assert_allclose(3 * errors[:, 0] ** 2, expected, rtol=0.1)


def smyth(readings):
    """Squared errors of means by the words of Smyth (2004), section 3, one by one.

    `readings` are those of one feature, an array for each object.
    """
    n, nu = [len(own) for own in readings], [len(own) - 1 for own in readings]
    s2 = [np.var(own, ddof=1) if len(own) > 1 else 0.0 for own in readings]
    told = [i for i in range(len(n)) if nu[i] > 0 and s2[i] > 0]
    pooled = sum(nu[i] * s2[i] for i in range(len(n))) / sum(nu)
    if len(told) < 2:
        return [pooled / r for r in n]
    e = [np.log(s2[i]) - digamma(nu[i] / 2) + np.log(nu[i] / 2) for i in told]
    mean = sum(e) / len(e)
    trigamma = sum(polygamma(1, nu[i] / 2) for i in told) / len(told)
    excess = sum((own - mean) ** 2 for own in e) / (len(e) - 1) - trigamma
    if excess <= 0:
        return [pooled / r for r in n]
    low, high = 1e-8, 1e8
    for _ in range(200):  # ψ' falls
        half = np.sqrt(low * high)
        low, high = (half, high) if polygamma(1, half) > excess else (low, half)
    d0, s0 = 2 * half, np.exp(mean + digamma(half) - np.log(half))
    return [(d0 * s0 + v * s) / (d0 + v) / r for s, v, r in zip(s2, nu, n, strict=True)]


@pytest.mark.parametrize("seed", range(6))
def test_moderated_errors_are_those_of_smyth(seed):
    rng = np.random.default_rng(seed)
    spread = np.exp(rng.normal(size=12) * (0.3 if seed == 5 else 1.5))
    data = [s * rng.normal(size=(rng.integers(1, 5), 2)) for s in spread]
    data[0], data[1] = data[0][:1], np.ones((3, 2))  # read once; with no scatter
    data[2] = np.vstack([data[2], [[np.nan, 1.0]]])
    X, errors = from_replicates(data)
    for j in range(2):
        readings = [own[~np.isnan(own[:, j]), j] for own in data]
        np.testing.assert_allclose(X[:, j], [own.mean() for own in readings])
        np.testing.assert_allclose(errors[:, j] ** 2, smyth(readings), rtol=1e-6)


def test_one_scatter_is_that_of_all():
    data = [[[1.0], [3.0]], [[2.0]], [[5.0], [5.0], [5.0]]]
    _, errors = from_replicates(data)
    variance = 2.0 / (1 + 2)  # of both objects that were read twice
    np.testing.assert_allclose(errors[:, 0] ** 2, variance / np.array([2, 1, 3]))


def test_objects_alike_are_pooled_altogether():
    _, data = readings(400, 3, 2.0)
    _, errors = from_replicates(data)
    assert errors.std() < 0.1 * errors.mean()


def test_one_reading_and_gaps_are_welcome():
    _, data = readings(30, 3, 1.0)
    rows = [*data]
    rows[0] = rows[0][:1]
    rows[1][:, 0] = np.nan
    X, errors = from_replicates(rows)
    assert np.isnan(X[1, 0])
    assert np.isnan(errors[1, 0])
    assert errors[0, 1] > errors[2:, 1].mean()  # its mean is of one reading
    TrueFeatures().fit(X, X_err=errors)


def test_covariances_have_the_correlations_of_readings():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(2000, 3, 1))
    data = np.concatenate([common, 2 * common + rng.normal(size=(2000, 3, 1))], axis=2)
    _, errors = from_replicates(data)
    _, matrices = from_replicates(data, covariance=True)
    np.testing.assert_allclose(np.einsum("nii->ni", matrices), errors**2)
    truth = np.array([[1.0, 2.0], [2.0, 5.0]]) / 3
    np.testing.assert_allclose(matrices.mean(axis=0), truth, rtol=0.1)
    assert np.linalg.eigvalsh(matrices).min() >= -1e-12


def test_replicates_that_tell_nothing_are_refused():
    with pytest.raises(ValueError, match="no object with two readings of feature 0"):
        from_replicates([[[1.0]], [[2.0]]])
    with pytest.raises(ValueError, match="pooling='some' is not known"):
        from_replicates([[[1.0], [2.0]]], pooling="some")
    with pytest.raises(ValueError, match="sample 1 have shape"):
        from_replicates([[[1.0], [2.0]], [[1.0, 2.0]]])


# -- imputations -----------------------------------------------------------------------


def test_the_truth_is_as_far_from_the_mean_of_imputations_as_rubin_says():
    rng = np.random.default_rng(0)
    m, n = 5, 20_000
    tables = rng.normal(size=(m, n, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    truth = rng.normal(size=(n, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    X, errors = from_imputations(tables)
    off = np.mean((truth - X) ** 2, axis=0)
    np.testing.assert_allclose(np.mean(errors**2, axis=0), off, rtol=0.05)
    _, matrices = from_imputations(tables, covariance=True)
    np.testing.assert_allclose(np.einsum("nii->ni", matrices), errors**2)
    expected = (truth - X).T @ (truth - X) / n
    np.testing.assert_allclose(matrices.mean(axis=0), expected, rtol=0.06)


def test_measured_cells_keep_their_error():
    tables = [[[1.0, 4.0]], [[1.0, 6.0]]]
    X, errors = from_imputations(tables, [[0.3, np.nan]])
    np.testing.assert_allclose(X, [[1.0, 5.0]])
    np.testing.assert_allclose(errors, [[0.3, np.sqrt(1.5 * 2)]])


def test_one_imputation_is_not_enough():
    with pytest.raises(ValueError, match="at least two are needed"):
        from_imputations([[[1.0]]])


# -- limits ----------------------------------------------------------------------------


def test_a_cell_below_the_limit_has_the_moments_of_its_interval():
    X = np.array([[1.0, 9.0], [2.0, 3.0]])
    censored = X < 2.5
    values, errors = from_limits(X, 0.5, censored=censored, low=0.0, high=[1.0, 2.0])
    np.testing.assert_allclose(values, [[0.5, 9.0], [0.5, 3.0]])
    inside = np.random.default_rng(0).random(100_000)
    assert errors[0, 0] == pytest.approx(inside.std(), rel=0.01)
    np.testing.assert_allclose(errors[:, 1], 0.5)
    _, boxes = from_limits(X, censored=censored, low=0.0, high=1.0, error_shape="box")
    np.testing.assert_allclose(boxes, [[0.5, 0.0], [0.5, 0.0]])


def test_limits_need_two_ends():
    X, censored = np.ones((2, 2)), np.array([[False, True], [False, False]])
    with pytest.raises(ValueError, match="row 0, column 1 lies between low=-inf"):
        from_limits(X, censored=censored, low=-np.inf, high=1.0)
    with pytest.raises(ValueError, match="table of True and False"):
        from_limits(X, censored=[1, 0], low=0.0, high=1.0)
    with pytest.raises(ValueError, match=r"high has shape \(3,\)"):
        from_limits(X, censored=censored, low=0.0, high=[1.0, 2.0, 3.0])


# -- two sides -------------------------------------------------------------------------


def test_two_sides_have_the_moments_of_a_split_normal_law():
    rng = np.random.default_rng(0)
    size = np.abs(rng.normal(size=400_000))
    upper = rng.random(size.size) < 2.0 / 2.5  # both halves meet at the mode
    draws = 1.0 + np.where(upper, 2.0, -0.5) * size
    X, errors = from_sides([[1.0]], -0.5, [[2.0]])  # catalogues have signs
    assert X[0, 0] == pytest.approx(draws.mean(), abs=0.01)
    assert errors[0, 0] == pytest.approx(draws.std(), rel=0.01)
    X, errors = from_sides([[1.0, np.nan]], 0.3, 0.3)
    np.testing.assert_allclose(X, [[1.0, np.nan]])
    np.testing.assert_allclose(errors, [[0.3, np.nan]])


def test_two_sides_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="up reaches down to -1"):
        from_sides([[1.0]], 1.0, -1.0)
    with pytest.raises(ValueError, match=r"down has shape \(2,\)"):
        from_sides([[1.0]], [1.0, 2.0], 1.0)


# -- quantities ------------------------------------------------------------------------


class Quantity:
    """A stand-in for astropy's: metres or kilometres."""

    def __init__(self, values, unit):
        self.values, self.unit = np.asarray(values), unit

    def to_value(self, unit):
        return (
            self.values
            * {"m": 1.0, "km": 1000.0}[self.unit]
            / ({"m": 1.0, "km": 1000.0}[unit])
        )


def test_numbers_with_errors_are_taken_apart():
    number = SimpleNamespace(nominal_value=2.0, std_dev=0.1)
    X, errors = from_quantities([[number, 3.0], [None, number]])
    np.testing.assert_array_equal(X, [[2.0, 3.0], [np.nan, 2.0]])
    np.testing.assert_array_equal(errors, [[0.1, 0.0], [np.nan, 0.1]])


def test_numbers_of_the_package_uncertainties_are_taken_apart():
    unumpy = pytest.importorskip("uncertainties.unumpy")
    X, errors = from_quantities(unumpy.uarray([[1.0, 2.0]], [[0.1, 0.2]]))
    np.testing.assert_allclose(X, [[1.0, 2.0]])
    np.testing.assert_allclose(errors, [[0.1, 0.2]])


@pytest.mark.parametrize(
    ("kind", "array"), [("std", 0.5), ("var", 0.25), ("ivar", 4.0)]
)
def test_uncertainties_of_astropy_become_standard_errors(kind, array):
    own = SimpleNamespace(uncertainty_type=kind, array=np.full((1, 2), array))
    X, errors = from_quantities(
        SimpleNamespace(data=np.array([[1.0, 2.0]]), uncertainty=own, unit=None)
    )
    np.testing.assert_array_equal(X, [[1.0, 2.0]])
    np.testing.assert_allclose(errors, 0.5)


def test_quantities_have_their_errors_in_their_own_unit():
    X, errors = from_quantities(
        Quantity([[1.0, 2.0]], "km"), Quantity([[100.0, 50.0]], "m")
    )
    np.testing.assert_allclose(X, [[1.0, 2.0]])
    np.testing.assert_allclose(errors, [[0.1, 0.05]])


def test_distributions_have_mean_and_deviation():
    draws = SimpleNamespace(
        pdf_mean=lambda: np.array([[1.0]]), pdf_std=lambda: np.array([[0.2]])
    )
    X, errors = from_quantities(draws)
    assert (X[0, 0], errors[0, 0]) == (1.0, 0.2)


def test_numbers_without_errors_are_refused():
    with pytest.raises(ValueError, match="carry no errors"):
        from_quantities([[1.0, 2.0]])
    with pytest.raises(ValueError, match="without a unit"):
        from_quantities([[1.0]], [[0.1]])
    odd = SimpleNamespace(uncertainty_type="unknown", array=np.ones((1, 1)))
    with pytest.raises(ValueError, match="of type 'unknown'"):
        from_quantities(SimpleNamespace(data=np.ones((1, 1)), uncertainty=odd))
