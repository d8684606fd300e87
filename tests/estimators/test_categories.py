"""Tables of measurements and categories: noise moves what is measured, nothing else."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from wideberth import Box, RobustLinearSVC, TrueFeatures, make_robust_pipeline, solve
from wideberth.estimators import carry_noise

_RNG = np.random.default_rng(0)
N = 240
TOWNS = np.array([f"town {k}" for k in range(12)])
TABLE = pd.DataFrame(
    {
        "height": _RNG.normal(170.0, 10.0, N),
        "town": _RNG.choice(TOWNS, N),
        "mass": _RNG.normal(70.0, 12.0, N),
        "kind": pd.Categorical(_RNG.choice(["a", "b"], N)),
    }
)
_SCORE = (TABLE["height"] - 170) / 10 - (TABLE["mass"] - 70) / 12
Y = np.where(_SCORE + (TABLE["town"] < "town 4") + _RNG.normal(size=N) > 0, "yes", "no")
MEASURED, LEVELS = ["height", "mass"], {"height": 1.0, "mass": 2.0}


def encoder(**options):
    steps = [
        ("measured", StandardScaler(), MEASURED),
        ("kinds", OneHotEncoder(handle_unknown="ignore"), ["town", "kind"]),
    ]
    return ColumnTransformer(steps, **options)


def model(ahead=None, **options):
    options = {"noise": LEVELS, "radius": 0.5, "tol": 1e-6} | options
    return make_robust_pipeline(ahead or encoder(), RobustLinearSVC(**options))


def moved(table, moves):
    """Rows moved, in the columns that are measured."""
    changes = {
        name: table[name] + moves[:, table.columns.get_loc(name)] for name in MEASURED
    }
    return table.assign(**changes)


def test_noise_is_carried_to_what_is_measured_and_the_data_stays_sparse():
    fitted = model().fit(TABLE, Y)
    scale = TABLE[MEASURED].std(ddof=0).to_numpy()
    expected = np.append(np.array([1.0, 2.0]) / scale, np.zeros(14))
    np.testing.assert_allclose(fitted[-1].noise_, expected)
    np.testing.assert_array_equal(fitted.noise_, [1.0, 0.0, 2.0, 0.0])
    seen = fitted[:-1].transform(TABLE)
    assert sp.issparse(seen)
    names = fitted[:-1].get_feature_names_out()
    assert [names[0], names[-1]] == ["measured__height", "kinds__kind_b"]
    same = solve(seen, Y, radius=0.5, noise=expected)
    np.testing.assert_allclose(fitted[-1].coef_[0], same.w, atol=1e-3)
    carried = carry_noise(LEVELS, fitted[:-1], TABLE)
    np.testing.assert_allclose(carried, expected)


@pytest.mark.parametrize("noise", [LEVELS, "l2", "linf", "l1", Box(LEVELS)])
def test_certified_radii_are_exact_in_units_of_the_table(noise):
    fitted = model(noise=noise).fit(TABLE, Y)
    labels, radii = fitted.predict(TABLE), fitted.certified_radius(TABLE)
    for factor, same in [(1 - 1e-6, True), (1 + 1e-6, False)]:
        moves = fitted.worst_case(TABLE, labels, radius=factor * radii)
        assert not moves[:, [1, 3]].any()
        assert np.all((fitted.predict(moved(TABLE, moves)) == labels) == same)
    assert fitted.robust_score(TABLE, Y, radius=0.0) == fitted.score(TABLE, Y)


@pytest.mark.parametrize("form", ["polars", "objects", "coded", "strings"])
def test_every_kind_of_table_gives_the_same_model(form):
    expected = model(noise="l2").fit(TABLE, Y)
    table, ahead = TABLE, encoder()
    if form == "polars":
        table = pl.from_pandas(TABLE)
    elif form == "strings":
        table = TABLE.astype({"town": "string", "kind": object})
    elif form == "coded":  # categories that are numbers, known by their encoder
        table = TABLE.assign(
            town=TABLE["town"].str[5:].astype(int), kind=TABLE["kind"].cat.codes
        )
    else:
        table = TABLE.to_numpy(dtype=object)
        ahead = ColumnTransformer(
            [("a", StandardScaler(), [0, 2]), ("b", OneHotEncoder(), [1, 3])]
        )
    found = model(ahead, noise="l2").fit(table, Y)
    radii = expected.certified_radius(TABLE)
    np.testing.assert_allclose(found.certified_radius(table), radii, rtol=1e-3)
    np.testing.assert_allclose(found.noise_, [1.0, 0.0, 1.0, 0.0])


def test_categories_may_be_unseen_and_measurements_missing():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    selector = make_column_selector(dtype_include=np.number)
    kinds = OneHotEncoder(handle_unknown="ignore")
    ahead = ColumnTransformer(
        [("numbers", numbers, selector), ("kinds", kinds, ["town", "kind"])]
    )
    gaps = TABLE.assign(height=TABLE["height"].where(np.arange(N) % 7 > 0))
    fitted = model(ahead).fit(gaps, Y)
    assert fitted.robust_score(gaps, Y) <= fitted.score(gaps, Y)
    elsewhere = gaps.assign(town="elsewhere")
    assert np.isfinite(fitted.certified_radius(elsewhere)).all()


def test_error_bars_need_not_name_categories():
    errors = pd.DataFrame({"mass": np.full(N, 2.0), "height": np.ones(N)})
    given = {"robustlinearsvc__X_err": errors}
    fitted = model(noise="l2", radius=0.5).fit(TABLE, Y, **given)
    expected = model().fit(TABLE, Y)
    np.testing.assert_allclose(fitted[-1].coef_, expected[-1].coef_, atol=1e-3)
    np.testing.assert_allclose(
        fitted.certified_radius(TABLE, X_err=errors),
        certified_with(fitted, expected),
        rtol=1e-6,
    )
    wrong = errors.assign(town=1.0, kind=0.0)
    with pytest.raises(ValueError, match="X_err gives a level above 0 to 'town':"):
        model().fit(TABLE, Y, robustlinearsvc__X_err=wrong)


def certified_with(fitted, same_noise):
    """|f|/Ω of a model, with the noise of another in units of the table."""
    weights = fitted[-1].coef_[0] @ fitted.linear_map_
    return np.abs(fitted.decision_function(TABLE)) / np.linalg.norm(
        same_noise.noise_ * weights
    )


def test_later_steps_may_do_what_they_like_with_categories_alone():
    scaled = RobustLinearSVC(noise=LEVELS)
    fitted = make_robust_pipeline(encoder(), MaxAbsScaler(), scaled)
    assert not fitted.fit(TABLE, Y)[-1].noise_[2:].any()
    squares = ColumnTransformer(
        [("kinds", FunctionTransformer(np.square), list(range(2, 16)))],
        remainder="passthrough",
        sparse_threshold=0.0,
    )
    dense = encoder(sparse_threshold=0.0)
    kept = make_robust_pipeline(dense, squares, RobustLinearSVC(noise=LEVELS))
    assert np.count_nonzero(kept.fit(TABLE, Y)[-1].noise_) == 2


def scaled_by_town(Z):
    """The height counts twice in the first town."""
    return np.column_stack([Z[:, 0] * (1 + Z[:, 2]), Z[:, 1:]])


def test_a_measurement_whose_effect_depends_on_a_category_is_refused():
    by_town = FunctionTransformer(scaled_by_town)
    mixed = make_robust_pipeline(
        encoder(sparse_threshold=0.0), by_town, RobustLinearSVC()
    )
    with pytest.raises(ValueError, match=r"'functiontransformer' .* not known"):
        mixed.fit(TABLE, Y)


def test_numbers_that_are_measured_and_encoded_count_as_measured():
    twice = ColumnTransformer(
        [("a", StandardScaler(), MEASURED), ("b", OrdinalEncoder(), ["mass"])]
    )
    with pytest.raises(ValueError, match=r"__b' .* not known to be linear"):
        model(twice, noise="l2").fit(TABLE[MEASURED], Y)


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        (LEVELS | {"town": 1.0, "kind": 0.0}, "level above 0 to 'town':"),
        ({"height": 1.0}, "has none for 'mass'"),
        ([1.0, 1.0, 1.0, 1.0], "level above 0 to 'town', 'kind'"),
    ],
)
def test_noise_on_categories_is_refused_by_name(noise, said):
    with pytest.raises(ValueError, match=said):
        model(noise=noise).fit(TABLE, Y)


@pytest.mark.parametrize(
    "fit",
    [
        RobustLinearSVC().fit,
        solve,
        make_robust_pipeline(StandardScaler(), RobustLinearSVC()).fit,
        make_robust_pipeline(
            ColumnTransformer(
                [("a", StandardScaler(), MEASURED)], remainder="passthrough"
            ),
            RobustLinearSVC(),
        ).fit,
    ],
)
def test_all_columns_of_text_are_named_at_once(fit):
    with pytest.raises(ValueError, match=r"text.* 'town', 'kind'"):
        fit(TABLE.astype({"kind": object}), Y)


def test_a_population_of_categories_is_refused():
    denoised = make_robust_pipeline(encoder(), TrueFeatures(), RobustLinearSVC())
    with pytest.raises(ValueError, match="text in 'town', 'kind'; TrueFeatures"):
        denoised.fit(TABLE, Y)
