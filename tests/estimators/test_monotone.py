"""Error bars through monotone steps: images of boxes, held against points of them."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from scipy import special
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from wideberth import (
    RobustLinearSVC,
    RobustLinearSVCCV,
    certify,
    make_robust_pipeline,
)
from wideberth.estimators.judging import RawBoxes
from wideberth.estimators.moves import chain_of
from wideberth.noise import Boxes

RNG = np.random.default_rng(11)
N, D = 60, 3
Y3 = np.repeat([0, 1, 2], N // 3)
Y = np.minimum(Y3, 1)
SHIFT = 0.8 * np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.0], [0.0, 1.0, 1.0]])[Y3]
X = np.exp(0.4 * RNG.normal(size=(N, D)) + SHIFT)
E = 0.3 * X * RNG.random((N, D)) * (RNG.random((N, D)) < 0.8)
COLUMNS = ["u", "v", "w"]


def function(ufunc):
    return FunctionTransformer(ufunc)


def small(step):
    """A step behind a scaler to (0.1, 0.9), where many functions are defined."""
    return make_pipeline(MinMaxScaler((0.3, 0.7)), step)


STEPS = {
    "log": function(np.log),
    "log of scaled": make_pipeline(StandardScaler(with_mean=False), function(np.log)),
    "log1p, sqrt": make_pipeline(function(np.log1p), function(np.sqrt)),
    "exp, scaled": make_pipeline(function(np.exp), StandardScaler()),
    "arcsinh, flipped": make_pipeline(function(np.arcsinh), function(np.negative)),
    "arccos": small(function(np.arccos)),
    "logit": small(function(special.logit)),
    "erfc": function(special.erfc),
    "power": PowerTransformer(),
    "power, not standardised": PowerTransformer(standardize=False),
    "Box-Cox": PowerTransformer(method="box-cox"),
    "quantiles": QuantileTransformer(n_quantiles=20),
    "normal quantiles": QuantileTransformer(
        n_quantiles=20, output_distribution="normal"
    ),
    "bins": KBinsDiscretizer(
        4, encode="ordinal", quantile_method="averaged_inverted_cdf"
    ),
    "signs": Binarizer(threshold=1.5),
    "clipped": MinMaxScaler(clip=True),
    "columns": ColumnTransformer(
        [("l", function(np.log), [2, 0])], remainder="passthrough"
    ),
    "columns, scaled and down": ColumnTransformer(
        [("d", function(special.erfc), [1]), ("s", StandardScaler(), [0])]
    ),
    "columns, weighted": ColumnTransformer(
        [("l", function(np.log), [0, 1])], transformer_weights={"l": -1.5}
    ),
}
each_step = pytest.mark.parametrize("name", STEPS)


def image_of(step, rows=X, errors=E):
    """Boxes about rows behind a fitted step."""
    return RawBoxes.of(rows, Boxes.of(errors), chain_of(step, rows))


def pipeline(*steps, **options):
    options = {"error_shape": "box", "tol": 1e-8} | options
    return make_robust_pipeline(*map(clone, steps), RobustLinearSVC(**options))


def fitted(*steps, y=Y, errors=E, rows=X, **options):
    return pipeline(*steps, **options).fit(rows, y, robustlinearsvc__X_err=errors)


def corners(rows, errors):
    """All corners of the boxes, one table for each."""
    return [rows + np.array(sign) * errors for sign in product([-1, 1], repeat=D)]


# -- images ----------------------------------------------------------------------------


@each_step
@pytest.mark.parametrize("radius", [0.0, 0.5, 1.0])
def test_no_point_of_a_box_is_outside_its_image_and_corners_are_on_it(name, radius):
    step = clone(STEPS[name]).fit(X, Y)
    low, high = image_of(step).ends(radius)
    room = 1e-12 * (1 + np.abs(low) + np.abs(high))
    for _ in range(200):
        inside = step.transform(X + radius * E * RNG.uniform(-1, 1, size=E.shape))
        assert np.all(inside >= low - room)
        assert np.all(inside <= high + room)
    reached = np.array([step.transform(rows) for rows in corners(X, radius * E)])
    np.testing.assert_allclose(reached.min(axis=0), low, atol=1e-12)
    np.testing.assert_allclose(reached.max(axis=0), high, atol=1e-12)


@each_step
def test_a_model_is_trained_on_the_images(name):
    for radius in (0.5, 1.0):
        model = fitted(STEPS[name], radius=radius)
        low, high = image_of(model[:-1]).ends(radius)
        alike = RobustLinearSVC(error_shape="box", tol=1e-8)
        middle = 0.5 * (low + high)
        alike.fit(middle, Y, X_err=(middle - low, high - middle))
        np.testing.assert_allclose(model[-1].coef_, alike.coef_, atol=1e-5)
        np.testing.assert_allclose(model[-1].objective_, alike.objective_, rtol=1e-6)
        assert model[-1].radius_ == radius
        assert model.noise_ is None
        assert model.linear_map_ is None


def test_radii_grow_intervals_before_the_steps():
    half = fitted(function(np.log), radius=0.5)
    same = fitted(function(np.log), errors=0.5 * E)
    np.testing.assert_allclose(half[-1].coef_, same[-1].coef_, atol=1e-6)
    by_class = fitted(function(np.log), radius={0: 0.5, 1: 1.0})
    each = pipeline(function(np.log))
    radii = np.where(Y == 0, 0.5, 1.0)
    each.fit(X, Y, robustlinearsvc__X_err=E, robustlinearsvc__radius=radii)
    np.testing.assert_allclose(by_class[-1].coef_, each[-1].coef_, atol=1e-6)
    with pytest.raises(ValueError, match="as a parameter it must be one number"):
        fitted(function(np.log), radius=radii)
    down, up = 0.5 * E, 0.8 * E
    lopsided = fitted(function(np.log), errors=(down, up), radius=0.6)
    low, high = np.log(X - 0.6 * down), np.log(X + 0.6 * up)
    alike = RobustLinearSVC(error_shape="box", radius=1.0, tol=1e-8)
    alike.fit((low + high) / 2, Y, X_err=(high - low) / 2)
    np.testing.assert_allclose(lopsided[-1].coef_, alike.coef_, atol=1e-5)
    exact = fitted(function(np.log), radius=0.0)
    plain = RobustLinearSVC(tol=1e-8).fit(np.log(X), Y)
    np.testing.assert_allclose(exact[-1].coef_, plain.coef_, atol=1e-5)


# -- judging ---------------------------------------------------------------------------


@each_step
def test_a_score_is_that_of_the_worst_corners(name):
    labels = Y3
    model = fitted(STEPS[name], y=labels)
    predicted = np.array([model.predict(rows) for rows in corners(X, 0.7 * E)])
    right = np.all(predicted == labels, axis=0)
    score = model.robust_score(X, labels, 0.7, X_err=E)
    # One sample may be decided by rounding at a corner that is worst.
    assert abs(score - right.mean()) <= 1.01 / N
    assert score == model.robust_score(
        X, labels, 0.7, X_err=E, sample_weight=np.ones(N)
    )
    moved = X + model.worst_case(X, labels, 0.7, X_err=E)
    assert np.all(np.abs(moved - X) <= 0.7 * E * (1 + 1e-12))

    def lead(rows):
        values = model.decision_function(rows)
        values = values if values.ndim > 1 else np.column_stack([0 * values, values])
        own = np.take_along_axis(values, labels[:, None], 1)
        np.put_along_axis(values, labels[:, None], -np.inf, 1)
        return own[:, 0] - values.max(axis=1)

    worst = np.min([lead(rows) for rows in corners(X, 0.7 * E)], axis=0)
    np.testing.assert_allclose(lead(moved), worst, atol=1e-9)


@each_step
def test_a_certified_factor_is_the_largest(name):
    labels = Y3
    model = fitted(STEPS[name], y=labels, C=10.0)
    factors, before = model.certified_radius(X, X_err=E), model.predict(X)
    assert np.all(factors >= 0)
    assert np.all(np.isinf(factors[~E.any(axis=1)]))
    finite = np.isfinite(factors)
    assert finite.any()
    for rows in corners(X, (0.999999 * np.where(finite, factors, 1e3))[:, None] * E):
        np.testing.assert_array_equal(model.predict(rows), before)
    changed = ~finite
    for rows in corners(X, (1.000001 * np.where(finite, factors, 0.0))[:, None] * E):
        changed |= [predicted(model, row) for row in rows] != before
    assert np.all(changed)
    # The set at a factor of its own is the edge of what a score counts as right.
    score = model.robust_score(X, before, np.where(finite, factors, 1.0), X_err=E)
    assert score == 1.0


def predicted(model, row):
    """The class of a row; −1 where it is out of the domain of a step."""
    with np.errstate(all="ignore"):
        try:
            return model.predict(row[None])[0]
        except ValueError:
            return -1


def test_a_factor_ends_where_a_step_ends():
    rows, errors = np.full((1, D), 2.0), np.array([[0.5, 0.0, 0.0]])
    model = fitted(function(np.log))
    model[-1].coef_, model[-1].intercept_ = np.eye(1, D), np.array([50.0])
    (factor,) = model.certified_radius(rows, X_err=errors)
    np.testing.assert_allclose(factor, 4.0, rtol=1e-12)
    model[-1].coef_ = np.zeros((1, D))
    assert model.certified_radius(rows, X_err=errors) == pytest.approx(4.0)
    assert np.isinf(model.certified_radius(rows, X_err=0 * errors))


def test_images_that_are_lopsided_beyond_rounding_are_judged_by_their_ends():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    rows = np.exp(rng.normal(size=(80, D)) + 0.8 * y[:, None])
    errors = 0.15 * rows * rng.random((80, D))
    # A power of −17 makes a million of a hundredth of what is below the data.
    steps = MinMaxScaler((1, 2)), PowerTransformer(), StandardScaler()
    model = fitted(*steps, y=y, rows=rows, errors=errors)
    factors, before = model.certified_radius(rows, X_err=errors), model.predict(rows)
    assert factors.max() < 1e3
    for factor in (1.0001 * factors, 1e3):
        moves = model.worst_case(rows, before, factor, X_err=errors)
        assert np.all(model.predict(rows + moves) != before)
        assert model.robust_score(rows, before, factor, X_err=errors) == 0.0
    low, high, zero = np.array([[-1e18]]), np.array([[4.0]]), np.zeros(1, dtype=int)
    lead = certify.box_lead(low, high, zero, np.ones((1, 1)), np.array([-1.0]))
    np.testing.assert_array_equal(lead, [[np.inf, -3.0]])


@pytest.mark.parametrize("name", ["log", "power", "quantiles", "arcsinh, flipped"])
@pytest.mark.parametrize("labels", [Y, Y3], ids=["two", "three"])
def test_lopsided_boxes_reach_radius_times_each_tolerance(name, labels):
    down, up = 0.4 * E, 0.9 * E + 0.01
    given = {"X_err": (down, up)}
    model = fitted(clone(STEPS[name]), y=labels, errors=(down, up), radius=0.5)
    label, rng = model.predict(X), np.random.default_rng(1)
    np.testing.assert_array_equal(model.predict(X, **given), label)
    np.testing.assert_array_equal(
        model.decision_function(X, **given), model.decision_function(X)
    )
    radii = model.certified_radius(X, **given)
    ends = np.minimum(radii, 1e3)[:, None]
    for _ in range(200):
        corner = np.where(rng.random(X.shape) < 0.5, -down, up)
        move = corner * rng.random() ** 0.2
        changed = model.predict(X + 0.999 * ends * move) != label
        assert not changed.any()
    known = (radii < 1e3) & (radii > 0)
    beyond = 1.001 * radii[known] + 1e-12
    inside = (X[known] > beyond[:, None] * down[known]).all(axis=1)
    rows = np.flatnonzero(known)[inside]
    errors = (down[rows], up[rows])
    worst = model.worst_case(X[rows], label[rows], beyond[inside], X_err=errors)
    reach = beyond[inside][:, None]
    assert np.all((worst >= -reach * down[rows]) & (worst <= reach * up[rows]))
    if name != "quantiles":  # which does not move between its steps
        assert np.mean(model.predict(X[rows] + worst) != label[rows]) > 0.95
    right = model.robust_score(X, labels, 0.5, **given)
    moved = X + model.worst_case(X, labels, 0.5, **given)
    assert right == np.mean(model.predict(moved) == labels)


# -- searches --------------------------------------------------------------------------


def test_a_grid_search_grows_boxes_to_every_radius():
    grid = {"robustlinearsvc__radius": [0.5, 1.0], "robustlinearsvc__C": [0.1, 1.0]}
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            pipeline(PowerTransformer()), grid, cv=3, error_score="raise"
        ).fit(X, Y, X_err=E)
        best = pipeline(PowerTransformer()).set_params(**search.best_params_)
        best.fit(X, Y, X_err=E)
    np.testing.assert_allclose(search.best_estimator_[-1].coef_, best[-1].coef_)
    alone = RobustLinearSVCCV([1.0], error_shape="box", cv=3)
    model = make_robust_pipeline(function(np.log), alone)
    with pytest.raises(ValueError, match=r"boxes of its own.*GridSearchCV"):
        model.fit(X, Y, robustlinearsvccv__X_err=E)


# -- forms of data ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, np.ndarray.tolist])
def test_frames_and_lists_go_through(kind):
    if kind is np.ndarray.tolist:
        given, errors = X.tolist(), E.tolist()
    else:
        names = "columns" if kind is pd.DataFrame else "schema"
        given = kind(X, **{names: COLUMNS})
        errors = kind(E[:, ::-1], **{names: COLUMNS[::-1]})
    columns = [0, 2] if kind is np.ndarray.tolist else ["u", "w"]
    steps = [
        ColumnTransformer([("l", function(np.log), columns)], remainder="passthrough"),
        StandardScaler(),
    ]
    if kind is np.ndarray.tolist:
        steps = [FunctionTransformer(np.log), StandardScaler()]
    model = fitted(*steps, rows=given, errors=errors)
    plain = [clone(step) for step in steps]
    if kind is not np.ndarray.tolist:
        plain[0].set_params(transformers=[("l", function(np.log), [0, 2])])
    alike = fitted(*plain)
    np.testing.assert_allclose(model[-1].coef_, alike[-1].coef_, atol=1e-6)
    np.testing.assert_allclose(
        model.certified_radius(given, X_err=errors),
        alike.certified_radius(X, X_err=E),
        rtol=1e-4,
    )


def test_columns_are_used_by_name_in_judging():
    frame = pd.DataFrame(X, columns=COLUMNS)
    step = ColumnTransformer(
        [("d", function(special.erfc), ["u"])], remainder="passthrough"
    )
    model = fitted(step, rows=frame)
    turned = frame[COLUMNS[::-1]]
    errors = pd.DataFrame(E, columns=COLUMNS)
    np.testing.assert_array_equal(
        model.certified_radius(turned, X_err=errors),
        model.certified_radius(frame, X_err=errors),
    )


def test_missing_cells_do_not_move():
    holes = X.copy()
    holes[::7, 1] = np.nan
    for steps in (
        [SimpleImputer(), function(np.log)],
        [function(np.log), SimpleImputer()],
        [PowerTransformer(), SimpleImputer(), StandardScaler()],
    ):
        model = fitted(*steps, rows=holes)
        low, high = image_of(model[:-1], holes).ends(1.0)
        for rows in corners(holes, E):
            seen = model[:-1].transform(rows)
            assert np.all((seen >= low - 1e-9) & (seen <= high + 1e-9))
        alike = RobustLinearSVC(error_shape="box", tol=1e-8).fit(
            low / 2 + high / 2, Y, X_err=high / 2 - low / 2
        )
        np.testing.assert_allclose(model[-1].coef_, alike.coef_, atol=1e-5)
        factors = model.certified_radius(holes, X_err=E)
        assert np.isfinite(factors).any()


# -- what is refused -------------------------------------------------------------------


def test_intervals_that_leave_a_step_are_refused_by_feature_and_row():
    errors = E.copy()
    errors[7, 1] = 10.0
    frame = pd.DataFrame(X, columns=COLUMNS)
    scaler = StandardScaler(with_mean=False)
    said = (
        r"X_err takes feature 'v' of row 7 to a value of -[\d.]+, where "
        r"'functiontransformer' is not defined \(1 such rows\).*smaller error or "
        r"radius.*np\.arcsinh"
    )
    model = pipeline(scaler, function(np.log))
    with pytest.raises(ValueError, match=said):
        model.fit(frame, Y, robustlinearsvc__X_err=errors)
    assert not hasattr(model[-1], "coef_")
    assert not hasattr(model[0], "scale_")
    model.fit(frame, Y, robustlinearsvc__X_err=E)
    with pytest.raises(ValueError, match=said):
        model.worst_case(frame, Y, X_err=errors)
    # Where the row is judged, there is no class left to be right.
    factors, right = model.certified_radius(frame, X_err=errors), model.predict(X) == Y
    np.testing.assert_allclose(factors[7], X[7, 1] / 10)
    assert model.robust_score(frame, Y, X_err=errors) == np.mean(right & (factors >= 1))
    power = pipeline(PowerTransformer(method="box-cox"))
    with pytest.raises(ValueError, match=r"feature 1 of row 7 .*'powertransformer' is"):
        power.fit(X, Y, robustlinearsvc__X_err=errors)
    twice = pipeline(function(np.exp), KBinsDiscretizer(3, encode="ordinal"))
    with pytest.raises(ValueError, match=r"of row 7 to a value of 1\d+.*'functiontran"):
        twice.fit(X, Y, robustlinearsvc__X_err=100 * errors)


def test_other_shapes_than_boxes_do_not_go_through():
    shared = make_robust_pipeline(function(np.log), RobustLinearSVC(radius=0.1))
    with pytest.raises(ValueError, match=r"not linear.*X_err with error_shape='box'"):
        shared.fit(X, Y)
    covariances = np.eye(D) * (0.01 * E**2)[:, :, None]
    for errors in (E, covariances):
        model = pipeline(function(np.log), error_shape="ellipsoid")
        said = r"X_err holds ellipsoids, and 'functiontransformer' is.*shape='box'"
        with pytest.raises(ValueError, match=said):
            model.fit(X, Y, robustlinearsvc__X_err=errors)


def test_features_must_stay_apart():
    twice = ColumnTransformer(
        [("l", function(np.log), [0, 1]), ("p", "passthrough", [1, 2])]
    )
    for steps in ((twice,), (function(np.log), PCA(2)), (PCA(2), function(np.arctan))):
        with pytest.raises(ValueError, match=r"uses a feature in more than one output"):
            fitted(*steps)
    with pytest.raises(ValueError, match="X is sparse, and 'functiontransformer' is"):
        fitted(function(np.arcsinh), rows=sp.csr_array(X))


def logarithm(values):
    return np.log(values)


class Squared(QuantileTransformer):
    """Not what its parent is."""

    def transform(self, X):
        return (super().transform(X) - 0.5) ** 2


@pytest.mark.parametrize(
    "step",
    [
        FunctionTransformer(logarithm),
        FunctionTransformer(np.square),
        FunctionTransformer(np.log, kw_args={"where": True}),
        Squared(n_quantiles=10),
        KBinsDiscretizer(3, encode="onehot-dense"),
        ColumnTransformer(
            [("l", FunctionTransformer(np.log), [0]), ("q", PCA(), [1, 2])]
        ),
    ],
    ids=lambda step: type(step).__name__,
)
def test_what_is_not_known_to_be_monotone_is_refused_by_name(step):
    name = type(step).__name__
    said = f"(?i)^'{name}.*(not known to be linear|more than one output)"
    with pytest.raises(ValueError, match=said):
        fitted(step)


def test_a_model_behind_monotone_steps_asks_for_errors():
    model = fitted(function(np.log))
    for ask in (model.certified_radius, lambda rows: model.robust_score(rows, Y)):
        with pytest.raises(ValueError, match="X_err must be given"):
            ask(X)
    assert model.score(X, Y) == model.score(X, Y, X_err=E)
    scaled = make_robust_pipeline(StandardScaler(), RobustLinearSVC(error_shape="box"))
    scaled.fit(X, Y, robustlinearsvc__X_err=E)
    assert scaled.chain_ is None
    assert scaled.linear_map_.shape == (D, D)


@pytest.mark.parametrize("name", ["log", "power", "Box-Cox", "exp, scaled", "clipped"])
def test_errors_may_be_as_large_or_small_as_numbers_go(name):
    model = fitted(STEPS[name])
    factors = model.certified_radius(X, X_err=E)
    with np.errstate(over="ignore"):
        for scale in (1e-280, 1e200, 1e300):
            found = model.certified_radius(X, X_err=scale * E)
            np.testing.assert_allclose(found, factors / scale, rtol=1e-9)
