"""Errors from what people have: replicates, imputations, limits, quantities."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import digamma, polygamma

from wideberth import TrueFeatures
from wideberth.errors import (
    _read_tables,
    from_imputations,
    from_limits,
    from_quantities,
    from_replicates,
    from_sides,
)
from wideberth.errors import columns as error_columns

# -- replicates ------------------------------------------------------------------------


def readings(n, r, spread, d=2, seed=0):
    """True values, and r readings of each with the object's own spread."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, 1, d))
    noise = rng.normal(size=(n, r, d)) * np.reshape(spread, (-1, 1, 1))
    return true[:, 0], true + noise


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


def test_replicates_that_tell_nothing_are_refused():
    with pytest.raises(ValueError, match="no object with two readings of feature 0"):
        from_replicates([[[1.0]], [[2.0]]])
    with pytest.raises(ValueError, match="pooling='some' is not known"):
        from_replicates([[[1.0], [2.0]]], pooling="some")
    with pytest.raises(ValueError, match="sample 1 have shape"):
        from_replicates([[[1.0], [2.0]], [[1.0, 2.0]]])


# -- imputations -----------------------------------------------------------------------


def test_one_imputation_is_not_enough():
    with pytest.raises(ValueError, match="at least two are needed"):
        from_imputations([[[1.0]]])


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
    with pytest.raises(ValueError, match="up holds -1"):
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


def test_quantities_have_their_errors_in_their_own_unit():
    X, errors = from_quantities(
        Quantity([[1.0, 2.0]], "km"), Quantity([[100.0, 50.0]], "m")
    )
    np.testing.assert_allclose(X, [[1.0, 2.0]])
    np.testing.assert_allclose(errors, [[0.1, 0.05]])


def test_numbers_without_errors_are_refused():
    with pytest.raises(ValueError, match="carry no errors"):
        from_quantities([[1.0, 2.0]])
    with pytest.raises(ValueError, match="without a unit"):
        from_quantities([[1.0]], [[0.1]])


# -- definitions, written down plainly ---------------------------------------------------


def test_columns_of_tables_are_matched_by_name():
    one = pd.DataFrame({"a": [1.0], "b": [2.0]})
    other = pd.DataFrame({"b": [4.0], "a": [3.0]})
    read, names = _read_tables([one, other, np.array([[5.0, 6.0]])], "t", "table")
    assert names == ["a", "b"]
    assert np.vstack(read).tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    for bad in ([one, pd.DataFrame({"a": [1.0], "c": [2.0]})], [np.ones((1, 2)), one]):
        with pytest.raises(ValueError, match="give the same features"):
            _read_tables(bad, "t", "table")
    with pytest.raises(ValueError, match="not finite"):
        _read_tables([[[np.nan]]], "t", "table")
    read, _ = _read_tables([[[np.nan]]], "t", "table", gaps=True)
    assert np.isnan(read[0][0, 0])
    with pytest.raises(ValueError, match="not finite"):
        _read_tables([[[np.inf]]], "t", "table", gaps=True)
    with pytest.raises(ValueError, match="is empty"):
        _read_tables([], "t", "table")


def test_cells_without_a_reading_take_no_part():
    nan = np.nan
    data = [
        [[1.0, nan], [3.0, nan]],
        [[2.0, 4.0], [5.0, 8.0]],
        [[7.0, 1.0], [7.0, 2.0]],
    ]
    X, errors = from_replicates(data, pooling="all")
    assert np.isnan(X[0, 1])
    assert np.isnan(errors[0, 1])
    np.testing.assert_allclose(errors[:, 0] ** 2, (2 + 4.5 + 0) / 3 / 2)
    np.testing.assert_allclose(errors[1:, 1] ** 2, (8 + 0.5) / 2 / 2)


@pytest.mark.parametrize("seed", range(4))
def test_errors_of_imputations_are_those_of_rubin(seed):
    rng = np.random.default_rng(seed)
    m = seed + 2
    tables, errors = rng.normal(size=(m, 4, 3)), rng.exponential(size=(4, 3))
    errors[0, 0] = np.nan
    X, found = from_imputations(tables, errors)
    between = (1 + 1 / m) * tables.var(axis=0, ddof=1)
    np.testing.assert_allclose(X, tables.mean(axis=0))
    own = np.nan_to_num(errors) ** 2
    np.testing.assert_allclose(found**2, between + own)


def test_intervals_have_their_own_middles_and_widths():
    X = np.array([[9.0, 9.0], [9.0, 9.0]])
    mask = np.array([[True, False], [True, True]])
    low, high = np.array([[1.0, 0.0], [2.0, 3.0]]), np.array([[2.0, 0.0], [6.0, 3.0]])
    options = {"censored": mask, "low": low, "high": high}
    values, errors = from_limits(X, 0.7, **options)
    np.testing.assert_allclose(values, [[1.5, 9.0], [4.0, 3.0]])
    width = np.array([[1.0, 0.0], [4.0, 0.0]]) / np.sqrt(12)
    width[0, 1] = 0.7
    np.testing.assert_allclose(errors, width)
    _, boxes = from_limits(X, **options, error_shape="box")
    np.testing.assert_allclose(boxes, [[0.5, 0.0], [2.0, 0.0]])
    assert X[0, 0] == 9.0


@pytest.mark.parametrize(
    "mask", [np.zeros((2, 3), bool), np.zeros((2, 2), int), np.zeros(2, bool)]
)
def test_a_mask_has_a_truth_for_every_cell(mask):
    with pytest.raises(ValueError, match="table of True and False"):
        from_limits(np.ones((2, 2)), censored=mask, low=0.0, high=1.0)


@pytest.mark.parametrize(
    ("low", "high"), [(1.0, 0.5), (0.0, np.inf), (np.nan, 1.0), (0.0, np.nan)]
)
def test_ends_of_intervals_are_finite_and_in_order(low, high):
    with pytest.raises(ValueError, match="row 0, column 0 lies between"):
        from_limits([[1.0]], censored=[[True]], low=low, high=high)


def test_one_interval_that_cannot_be_is_enough():
    options = {"low": [[0.0, 2.0]], "high": 1.0}
    with pytest.raises(ValueError, match="row 0, column 1 lies between"):
        from_limits([[9.0, 9.0]], censored=[[True, True]], **options)
    with pytest.raises(ValueError, match=r"high has shape \(3,\)"):
        from_limits([[9.0, 9.0]], censored=[[True, True]], low=0.0, high=[1.0] * 3)


def test_two_sides_are_read_cell_by_cell():
    rng = np.random.default_rng(0)
    X, down, up = rng.normal(size=(2, 3)), rng.exponential(size=(2, 3)), 0.4
    values, errors = from_sides(X, -down, up)
    np.testing.assert_allclose(values, X + np.sqrt(2 / np.pi) * (up - down))
    variance = (1 - 2 / np.pi) * (up - down) ** 2 + up * down
    np.testing.assert_allclose(errors, np.sqrt(variance))
    assert from_sides([[0.0]], 0.0, 0.0)[1][0, 0] == 0.0


@pytest.mark.parametrize(
    ("names", "pattern", "found"),
    [
        (["a", "a_err", "b"], "auto", {"a": "a_err"}),
        (["A", "a_ERR"], "auto", {"A": "a_ERR"}),
        (["a", "e_a", "a_err"], "auto", {"a": "a_err"}),
        (["m_g", "merr_g", "m_err_g"], "infix:_err", {"m_g": "m_err_g"}),
        (["ab", "aXb"], "infix:x", {"ab": "aXb"}),
        (["ab", "Xab", "abX"], "infix:x", {}),
        (["a", "a_lo", "a_hi"], "suffix:_lo,_hi", {"a": ("a_lo", "a_hi")}),
        (["a", "a_lo"], "suffix:_lo,_hi", {}),
        (["a", "loa", "hia"], "prefix:lo,hi", {"a": ("loa", "hia")}),
        (["a", "a_err", "a_err_err"], "suffix:_err", {"a": "a_err"}),
    ],
)
def test_errors_are_found_by_name(names, pattern, found):
    assert error_columns(names, pattern) == found


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("flux", "flux_err"),
        ("mag_g", "mag_err_g"),
        ("x", ("x_error_min", "x_error_max")),
        ("x", ("x_err_lower", "x_err_upper")),
        ("pl_mass", ("pl_masserr2", "pl_masserr1")),
        ("x", "x_std"),
        ("x", "x_se"),
        ("x", "e_x"),
        ("x", "x_unc"),
        ("x", "sigma_x"),
        ("FLUX_AUTO", "FLUXERR_AUTO"),
        ("Flux", "flux_ERR"),
    ],
)
def test_usual_names_are_known(name, errors):
    """A value column and its errors, between others, are found in any order."""
    own = [errors] if isinstance(errors, str) else list(errors)
    for names in ([name, *own, "other"], [*own[::-1], "other", name]):
        assert error_columns(names) == {name: errors}


@pytest.mark.parametrize("pattern", ["err", "suffix:", "suffix:a,a", "in:x", None, 3])
def test_what_is_no_pattern_is_refused(pattern):
    """The message names what may be given."""
    with pytest.raises(ValueError, match="suffix:_err"):
        error_columns(["x"], pattern)
