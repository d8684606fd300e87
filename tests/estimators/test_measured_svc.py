"""`MeasuredSVC`, pipelines with `TrueFeatures`, and scorers that know errors."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad, minimize
from scipy.special import ndtr
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator
from test_verdict import measurements, pipeline

from wideberth import (
    MeasuredSVC,
    RobustLinearSVC,
    RobustLinearSVCCV,
    TrueFeatures,
    make_robust_pipeline,
)
from wideberth.estimators import measured_scorer
from wideberth.estimators.denoised import Scores
from wideberth.estimators.spread_calibration import SpreadCalibration, _with_slopes


def quick(**settings):
    return MeasuredSVC(**settings)


@pytest.fixture(scope="module")
def data():
    return measurements()[1:]


def test_it_is_the_pipeline(data):
    X, E, y = data
    short = quick(n_components=1).fit(X, y, X_err=E)
    long = pipeline(radius=0.0).fit(X, y, robustlinearsvc__X_err=E)
    for method in ("decision_function", "certified_radius"):  # rows in another order
        one, other = (getattr(m, method)(X, X_err=E) for m in (short, long))
        assert np.abs(one - other).max() < 0.01 * np.abs(other).max()
    margins = [m.margin[0] for m in (short.pipeline_.verdict(X, E), long.verdict(X, E))]
    assert margins[0] == pytest.approx(margins[1], abs=0.05)


def test_without_errors_and_gaps_it_is_the_plain_svm(data):
    X, _, y = data
    X = np.nan_to_num(X)
    scaled = StandardScaler().fit_transform(X)
    for X_err in (None, 0, np.zeros_like(X)):
        model = quick().fit(X, y, X_err=X_err)
        plain = RobustLinearSVC().fit(scaled, y)
        np.testing.assert_allclose(
            model.decision_function(X), plain.decision_function(scaled), atol=0.02
        )
        assert model.score(X, y) == pytest.approx(plain.score(scaled, y), abs=0.01)


def test_balanced_classes_are_chosen_for_by_balanced_accuracy(data):
    X, E, y = data
    few = np.r_[np.flatnonzero(y == y[0]), np.flatnonzero(y != y[0])[::5]]
    X, E, y = X[few], E[few], y[few]
    cv = StratifiedKFold(2, shuffle=True, random_state=0)
    grid = {"Cs": [1.0], "radii": [0.0]}
    model = quick(cv=cv, class_weight="balanced", **grid).fit(X, y, X_err=E)
    for k, (train, test) in enumerate(cv.split(X, y)):
        one = quick(class_weight="balanced").fit(X[train], y[train], X_err=E[train])
        score = balanced_accuracy_score(y[test], one.predict(X[test], X_err=E[test]))
        assert model.cv_scores_[0, 0, k] == pytest.approx(score, abs=0.03)


def test_errors_are_asked_for_at_prediction(data):
    X, E, y = data
    model = quick().fit(X, y, X_err=E)
    long = pipeline().fit(X, y, robustlinearsvc__X_err=E)
    for ask in (model.predict, model.verdict, model.decision_function, long.predict):
        with pytest.raises(ValueError, match=r"X_err must be given.*X_err=0"):
            ask(X)
    exact = np.where(np.isnan(X), 0.0, 0.0)
    np.testing.assert_array_equal(model.predict(X, 0), model.predict(X, exact))


def test_a_cell_with_a_huge_error_is_a_gap(data):
    X, E, y = data
    model = quick(n_components=1).fit(X, y, X_err=E)
    some = np.nan_to_num(X[:20])
    E = np.where(np.isnan(X[:20]), 1e9, E[:20])
    np.testing.assert_allclose(
        model.decision_function(some, E), model.decision_function(X[:20], E), atol=1e-6
    )


def test_choices_are_made_on_rows_left_out_with_their_errors(data):
    X, E, y = data
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    given = {"Cs": [0.01, 1.0], "radii": [0.0, 1.0, 2.0]}
    model = quick(cv=folds, n_components=1, **given).fit(X, y, X_err=E)
    assert model.cv_scores_.shape == (2, 3, 3)
    for c, C in enumerate(given["Cs"]):
        for r, radius in enumerate(given["radii"]):
            for f, (train, test) in enumerate(folds.split(X, y)):
                one = quick(C=C, radius=radius, n_components=1)
                one.fit(X[train], y[train], X_err=E[train])
                score = one.score(X[test], y[test], X_err=E[test])
                assert abs(model.cv_scores_[c, r, f] - score) <= 1.5 / len(test)
    means = model.cv_scores_.mean(axis=-1)
    c, r = np.unravel_index(means.argmax(), means.shape)
    assert (model.C_, model.radius_) == (given["Cs"][c], given["radii"][r])


def test_probabilities_come_true_in_every_cell_of_a_table():
    rng = np.random.default_rng(5)
    n, d = 24_000, 2
    true = rng.normal(size=(n, d))
    y = true[:, 0] + 0.5 * rng.normal(size=n) > 0.3
    E = np.exp(rng.uniform(np.log(0.1), np.log(4.0), size=(n, 1))) * np.ones(d)
    X = true + E * rng.normal(size=(n, d))
    rows, rest = slice(0, 4000), slice(4000, None)
    model = MeasuredSVC(radius=0.1, n_components=1, probability=True)
    model.fit(X[rows], y[rows], X_err=E[rows])
    promised = model.predict_proba(X[rest], X_err=E[rest])
    np.testing.assert_allclose(promised.sum(axis=1), 1.0)
    promised, seen = promised[:, 1], y[rest]
    # Five cells by what is promised in each of four by the size of errors: what does
    # not know spreads promises too much where those are large.
    for part in np.array_split(np.argsort(E[rest][:, 0]), 4):
        for cell in np.array_split(part[np.argsort(promised[part])], 5):
            p = promised[cell]
            error = np.sqrt(np.mean(p * (1 - p)) / len(cell))
            # What 4000 objects leave open of the model itself counts as well.
            assert abs(seen[cell].mean() - p.mean()) <= 3 * error + 0.01


def test_the_calibration_maximises_the_likelihood():
    rng = np.random.default_rng(0)
    n = 30_000
    shares = rng.dirichlet([1, 1], size=n)
    values, spreads = rng.normal(size=(2, n)), rng.uniform(0, 1, size=(2, n))
    scores = Scores(shares, values, spreads)
    for slope, shift in ((2.0, -0.5), (0.7, 0.3)):
        chance = SpreadCalibration(slope, shift).probability(scores)
        found = SpreadCalibration.fit(scores, rng.random(n) < chance, np.ones(n))
        assert found.slope == pytest.approx(slope, rel=0.1)
        assert found.shift == pytest.approx(shift, abs=0.06)
    few = Scores(shares[:3], values[:, :3], spreads[:, :3])
    for k in range(3):
        off = check_grad(
            lambda at: _with_slopes(few, *at)[0][k],  # noqa: B023
            lambda at: _with_slopes(few, *at)[1][:, k],  # noqa: B023
            [1.3, 0.2],
        )
        assert off < 1e-6


def test_few_labels_are_held_away_from_certainty_as_platt_does():
    """Against the likelihood as written down, with classes of different sizes."""
    rng = np.random.default_rng(2)
    positive = np.arange(20) < 4
    weights = rng.uniform(0.5, 2.0, size=20)
    f, s = np.where(positive, 1.0, -1.0) + rng.normal(size=20), rng.uniform(0, 1, 20)
    scores = Scores(np.ones((20, 1)), f[None], s[None])
    ahead, behind = weights[positive].sum(), weights[~positive].sum()
    targets = np.where(positive, (ahead + 1) / (ahead + 2), 1 / (behind + 2))

    def loss(point):
        p = ndtr((point[0] * f + point[1]) / np.sqrt(1 + (point[0] * s) ** 2))
        return -weights @ (targets * np.log(p) + (1 - targets) * np.log(1 - p))

    best = minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9})
    found = SpreadCalibration.fit(scores, positive, weights)
    np.testing.assert_allclose([found.slope, found.shift], best.x, rtol=2e-3)
    np.testing.assert_allclose(found.floors, [1 / (behind + 2), 1 / (ahead + 2)])


def test_no_probability_is_surer_than_the_labels_left_out_allow():
    """The smaller of P and 1 − P, q, is raised to √(q² + 1/(N + 2)²)."""
    values = np.linspace(-9, 9, 19)[None]
    scores = Scores(np.ones((19, 1)), values, np.zeros((1, 19)))
    P = SpreadCalibration(1.0, 0.5).probability(scores)
    np.testing.assert_allclose(P, ndtr(values[0] + 0.5), rtol=1e-6)
    found = SpreadCalibration(1.0, 0.5, (0.1, 0.2)).probability(scores)
    assert (np.diff(found) >= 0).all()
    low, high = P < 0.4, P > 0.7
    np.testing.assert_allclose(found[low], np.hypot(P[low], 0.1), rtol=1e-6)
    np.testing.assert_allclose(1 - found[high], np.hypot(1 - P[high], 0.2), rtol=1e-6)
    _, X, E, y = measurements(n=24)
    model = MeasuredSVC(probability=True).fit(X, y, X_err=E)
    surest = model.predict_proba(50 * X, X_err=E).max(axis=0)
    assert (surest <= 1 - 1 / (np.bincount(y) + 2) + 1e-12).all()


def test_classes_of_any_kind_have_probabilities():
    _, X, E, y = measurements(classes=3)
    labels = np.array(["ö", "b", "c"], dtype=object)[y]
    model = MeasuredSVC(n_components=1, probability=True).fit(X, labels, X_err=E)
    chances = model.predict_proba(X, X_err=E)
    assert chances.shape == (len(X), 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    agree = model.classes_[chances.argmax(axis=1)] == model.predict(X, X_err=E)
    assert agree.mean() > 0.9
    assert model.score(X, labels, X_err=E) > 0.6


def test_without_calibration_probabilities_are_refused_in_words(data):
    X, E, y = data
    model = quick().fit(X, y, X_err=E)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match=r"needs MeasuredSVC\(probability=True\)"):
        model.predict_proba(X, E)
    lonely = np.where(np.arange(len(y)) == 0, 2, y)
    model = MeasuredSVC(probability=True).fit(X, lonely, X_err=E)
    with pytest.raises(ValueError, match="a single row"):
        model.predict_proba(X, E)


def test_rows_of_weight_0_might_as_well_be_absent(data):
    X, E, y = data
    weights = np.where(np.arange(len(y)) % 3, 1.0, 0.0)
    kept = weights > 0
    one = MeasuredSVC(n_components=1, probability=True)
    a = clone(one).fit(X, y, X_err=E, sample_weight=weights)
    b = clone(one).fit(X[kept], y[kept], X_err=E[kept])
    np.testing.assert_array_equal(a.predict_proba(X, E), b.predict_proba(X, E))
    heavy = quick().fit(X, y, X_err=E, sample_weight=np.where(y, 20.0, 1.0))
    even = quick().fit(X, y, X_err=E)
    assert np.sum(heavy.predict(X, E)) > np.sum(even.predict(X, E))


def test_searches_judge_with_the_errors_of_the_rows_left_out(data):
    X, E, y = data
    folds = StratifiedKFold(3)
    with config_context(enable_metadata_routing=True):
        given = {"params": {"X_err": E}, "cv": folds}
        own = cross_val_score(quick(), X, y, **given)
        accuracy = cross_val_score(quick(), X, y, scoring=measured_scorer(), **given)
        np.testing.assert_array_equal(own, accuracy)
        auc = cross_val_score(
            quick(), X, y, scoring=measured_scorer("roc_auc"), **given
        )
        train, test = next(folds.split(X, y))
        one = quick().fit(X[train], y[train], X_err=E[train])
        values = one.decision_function(X[test], X_err=E[test])
        assert auc[0] == roc_auc_score(y[test], values)
        search = GridSearchCV(
            pipeline(),
            {"robustlinearsvc__C": [1e-3, 1.0], "truefeatures__n_components": [1]},
            scoring=measured_scorer("roc_auc"),
            cv=folds,
        ).fit(X, y, X_err=E)
        assert search.best_score_ > 0.8
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        # One of scikit-learn's own gives no errors: it is loud.
        with pytest.raises(ValueError, match="X_err must be given"):
            cross_val_score(
                quick(), X, y, scoring="roc_auc", error_score="raise", **given
            )
    with pytest.raises(TypeError, match="metric=3 is not a scorer"):
        measured_scorer(3)(one, X, y, X_err=E)


def test_routing_reaches_the_pipeline_and_weights_its_classifier(data):
    X, E, y = data
    weights = np.where(y, 3.0, 1.0)
    plain = pipeline().fit(
        X, y, robustlinearsvc__X_err=E, robustlinearsvc__sample_weight=weights
    )
    other = pipeline().fit(
        X, y, truefeatures__X_err=E, robustlinearsvc__sample_weight=weights
    )
    with config_context(enable_metadata_routing=True):
        routed = pipeline()
        routed[-1].set_fit_request(sample_weight=True)
        routed[0].set_fit_request(sample_weight=False)
        routed.fit(X, y, X_err=E, sample_weight=weights)
        values = routed.decision_function(X, X_err=E)
    np.testing.assert_array_equal(values, plain.decision_function(X, X_err=E))
    np.testing.assert_array_equal(values, other.decision_function(X, X_err=E))
    with pytest.raises(ValueError, match="name no step"):
        pipeline().fit(X, y, svc__X_err=E)


def test_what_cannot_go_before_true_features_is_refused(data):
    X, E, y = data
    given = {"robustlinearsvc__X_err": E}
    last = TrueFeatures(1), RobustLinearSVC()
    with pytest.raises(
        ValueError, match=r"'functiontransformer' .*not known to be linear.*log\(x\)"
    ):
        make_robust_pipeline(FunctionTransformer(np.log), *last).fit(X, y, **given)
    with pytest.raises(ValueError, match="fills gaps"):
        make_robust_pipeline(SimpleImputer(), *last).fit(X, y, **given)
    box = RobustLinearSVC(error_shape="box")
    with pytest.raises(ValueError, match="error_shape='box' is for tolerances"):
        make_robust_pipeline(TrueFeatures(1), box).fit(X, y, **given)
    stated = RobustLinearSVC(noise=np.ones(X.shape[1]))
    with pytest.raises(ValueError, match="leave noise at its default"):
        make_robust_pipeline(TrueFeatures(1), stated).fit(X, y)
    with pytest.raises(ValueError, match="'pca' stands between TrueFeatures and"):
        make_robust_pipeline(last[0], PCA(), last[1]).fit(X, y, **given)
    with pytest.raises(ValueError, match=r"places \[0, 1\]"):
        make_robust_pipeline(TrueFeatures(1), *last).fit(X, y, **given)
    model = make_robust_pipeline(StandardScaler(), RobustLinearSVC())
    model.fit(np.nan_to_num(X), y)
    with pytest.raises(ValueError, match="A verdict needs TrueFeatures"):
        model.verdict(X)


def test_a_fit_that_fails_leaves_the_one_before(data):
    X, E, y = data
    model = pipeline().fit(X, y, robustlinearsvc__X_err=E)
    before = model.decision_function(X, X_err=E)
    with pytest.raises(ValueError, match="class"):
        model.fit(X[:20], np.zeros(20), robustlinearsvc__X_err=E[:20])
    np.testing.assert_array_equal(model.decision_function(X, X_err=E), before)
    # Without TrueFeatures the next fit is an ordinary one again.
    model.set_params(truefeatures="passthrough").fit(np.nan_to_num(X), y)
    assert model.denoised_ is None
    assert model.predict(np.nan_to_num(X)).shape == y.shape


def test_onnx_is_refused_in_a_sentence(data):
    skl2onnx = pytest.importorskip("skl2onnx")
    from wideberth.onnx import register_onnx

    X, E, y = data
    register_onnx()
    for model in (
        quick(n_components=1).fit(X, y, X_err=E),
        pipeline().fit(X, y, robustlinearsvc__X_err=E),
    ):
        with pytest.raises(ValueError, match=r"has no ONNX graph.*posterior means"):
            skl2onnx.to_onnx(model, np.nan_to_num(X[:1]))


#: The population counts rows, and leaves out those of weight 0 alone.
EXPECTED = dict.fromkeys(
    [
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    "the population is learned from rows, whatever their weights",
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        (estimator, check)
        for kernel in ("linear", "rbf")
        for estimator, check in estimator_checks_generator(quick(kernel=kernel))
        if check.func.__name__ not in EXPECTED
    ],
    ids=lambda part: getattr(getattr(part, "func", part), "__name__", ""),
)
def test_scikit_learn_finds_nothing_to_object(estimator, check):
    check(estimator)


@pytest.mark.parametrize("named", [False, True])
def test_a_column_without_any_value_is_named(data, named):
    X, E, y = data
    empty = X.copy()
    empty[:, 1] = np.nan
    told = "1"
    if named:
        names = [f"band {k}" for k in range(X.shape[1])]
        empty, told = pd.DataFrame(empty, columns=names), "'band 1'"
    sentence = f"no measurement at all in column {told}; .* Drop that column"
    with pytest.raises(ValueError, match=sentence):
        quick().fit(empty, y, X_err=E)
    with pytest.raises(ValueError, match=sentence):
        pipeline().fit(empty, y, robustlinearsvc__X_err=E)


def test_where_scikit_learn_keeps_the_errors_back_the_way_on_is_told(data):
    X, E, y = data
    lead = "set_config.enable_metadata_routing=True.*set_fit_request.*set_score_request"
    options = {"params": {"X_err": E}, "error_score": "raise", "cv": 2}
    for model in (quick(), pipeline()):
        with pytest.raises(ValueError, match=lead):
            cross_val_score(model, X, y, **options)
        with config_context(enable_metadata_routing=True):
            assert np.all(cross_val_score(model, X, y, **options) > 0.5)
    rigid = RobustLinearSVC(radius=0.1).fit(np.nan_to_num(X), y, X_err=E)
    with pytest.raises(ValueError, match=lead):
        rigid.certified_radius(np.nan_to_num(X))


def test_missing_values_lead_to_what_takes_them(data):
    X, _, y = data
    whole = np.nan_to_num(X)
    assert np.isnan(X).any()
    trained = RobustLinearSVC().fit(whole, y)
    asks = (
        lambda: RobustLinearSVC().fit(X, y),
        lambda: RobustLinearSVCCV([1.0]).fit(X, y),
        lambda: make_robust_pipeline(StandardScaler(), RobustLinearSVC()).fit(X, y),
        lambda: trained.predict(X),
    )
    for ask in asks:
        with pytest.raises(ValueError, match=r"contains NaN.*MeasuredSVC") as caught:
            ask()
        assert "HistGradientBoosting" not in str(caught.value)
    infinite = np.where(np.isnan(X), np.inf, X)
    with pytest.raises(ValueError, match="infinity"):
        RobustLinearSVC().fit(infinite, y)
