import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

import wideberth.estimators.pipeline
from wideberth import (
    Box,
    CrossPolytope,
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
)
from wideberth.estimators import carry_noise
from wideberth.estimators.moves import linear_steps
from wideberth.noise import Correlated, as_shape

X, Y = load_wine(return_X_y=True)
TAU = X.std(axis=0) * np.linspace(0.05, 0.4, 13)
RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(13, 13)) * TAU[:, None]

#: Steps, and whether a diagonal noise stays diagonal behind them.
CHAINS = {
    "standard": ([StandardScaler()], True),
    "minmax": ([MinMaxScaler((-1, 3))], True),
    "three scalers": ([RobustScaler(), MaxAbsScaler(), StandardScaler()], True),
    "selection": ([StandardScaler(), SelectKBest(k=5)], True),
    "imputer": ([SimpleImputer(), StandardScaler(with_std=False)], True),
    "columns": (
        [
            ColumnTransformer(
                [("a", StandardScaler(), [3, 1]), ("b", "passthrough", [0])]
            )
        ],
        True,
    ),
    "whitened": ([StandardScaler(), PCA(4, whiten=True)], False),
    "union": ([FeatureUnion([("a", PCA(3)), ("b", MinMaxScaler())])], False),
}


@pytest.mark.parametrize("noise", ["l2", TAU, ROOT @ ROOT.T], ids=["l2", "τ", "Σ"])
@pytest.mark.parametrize("name", CHAINS)
def test_carried_noise_has_the_support_function_of_the_raw_one(name, noise):
    steps, diagonal = CHAINS[name]
    chain = make_pipeline(*map(clone, steps)).fit(X, Y)
    carried = carry_noise(noise, chain, X)
    if np.ndim(noise) < 2:
        assert isinstance(carried, Correlated) != diagonal
    d = chain.transform(X).shape[1]
    raw, behind = as_shape(noise, 13), as_shape(carried, d)
    linear, _ = linear_steps(chain, X)
    for _ in range(20):
        w = RNG.normal(size=d)
        # The most that a raw move of size 1 changes ⟨w, T(x)⟩, found on T itself.
        move = raw.maximizer(linear.T @ w)
        assert raw.dual_norm(move) <= 1 + 1e-9
        gain = (chain.transform(X[:5] + move) - chain.transform(X[:5])) @ w
        np.testing.assert_allclose(gain, behind.support(w), rtol=1e-7)


def test_rotations_keep_the_euclidean_ball_and_sparse_data_is_scaled():
    assert carry_noise("l2", PCA().fit(X), X) == "l2"
    assert carry_noise("l2", PCA(3).fit(X), X) == "l2"
    S = sp.csr_array(RNG.normal(size=(200, 3000)) * (RNG.random((200, 3000)) < 0.01))
    scaler = MaxAbsScaler().fit(S)
    np.testing.assert_allclose(carry_noise("l2", scaler, S), 1 / scaler.scale_)
    svd = TruncatedSVD(5).fit(S)
    assert carry_noise("l2", svd, S) == "l2"
    assert linear_steps(svd, S)[0].shape == (5, 3000)


@pytest.mark.parametrize("make", [StandardScaler, MinMaxScaler, RobustScaler])
def test_noise_in_raw_units_is_noise_scaled_by_hand(make):
    model = make_robust_pipeline(make(), RobustLinearSVC(radius=0.7, noise=TAU))
    model.fit(X, Y)
    scaler = make().fit(X)
    scale = scaler.scale_ if make is MinMaxScaler else 1 / scaler.scale_
    by_hand = RobustLinearSVC(radius=0.7, noise=TAU * scale)
    by_hand.fit(scaler.transform(X), Y)
    np.testing.assert_allclose(model[-1].coef_, by_hand.coef_, rtol=1e-5, atol=1e-7)
    assert model[-1].noise is model.noise_  # parameters stay as they were given


def test_promises_are_made_in_raw_units():
    steps = StandardScaler(), PCA(6), RobustLinearSVC(radius=0.5, noise=TAU)
    model = make_robust_pipeline(*steps).fit(X, Y)
    radius = model.certified_radius(X)
    behind = model[-1].certified_radius(model[:-1].transform(X))
    np.testing.assert_allclose(radius, behind, rtol=1e-6)
    moves = model.worst_case(X, Y, 0.5)
    np.testing.assert_allclose(np.linalg.norm(moves / TAU, axis=1), 0.5, rtol=1e-9)
    assert model.score(X + moves, Y) == pytest.approx(model.robust_score(X, Y, 0.5))
    assert model.robust_score(X, Y) == model.robust_score(X, Y, 0.5)  # as trained
    assert model.score(X + moves, Y) < model.score(X, Y)


def test_each_fold_carries_the_noise_through_its_own_scaler():
    model = make_robust_pipeline(StandardScaler(), RobustLinearSVC(noise=TAU))
    found = cross_validate(model, X, Y, return_estimator=True, return_indices=True)
    train = found["indices"]["train"]
    for fitted, rows in zip(found["estimator"], train, strict=True):
        expected = TAU / X[rows].std(axis=0)
        np.testing.assert_allclose(fitted[-1].noise_, expected, rtol=1e-6)
    search = GridSearchCV(model, {"robustlinearsvc__radius": [0.0, 0.5, 2.0]}).fit(X, Y)
    assert isinstance(
        search.best_estimator_, wideberth.estimators.pipeline.RobustPipeline
    )
    assert search.best_score_ > 0.9
    calibrated = CalibratedClassifierCV(clone(model)).fit(X, Y)
    assert calibrated.predict_proba(X).shape == (178, 3)


def test_radii_of_samples_and_cached_steps_change_nothing(tmp_path):
    radii = np.random.default_rng(0).uniform(0, 1, size=len(Y))
    scaled = StandardScaler().fit(X)
    by_hand = RobustLinearSVC(noise=TAU / scaled.scale_)
    by_hand.fit(scaled.transform(X), Y, radius=radii)
    for memory in (None, str(tmp_path), str(tmp_path)):
        svc = RobustLinearSVC(noise=TAU)
        model = make_robust_pipeline(StandardScaler(), svc, memory=memory)
        model.fit(X, Y, robustlinearsvc__radius=radii)
        np.testing.assert_allclose(model[-1].coef_, by_hand.coef_, rtol=1e-5, atol=1e-7)
        assert model.score(X, Y) > 0.9


def test_a_search_keeps_the_parameters_that_it_was_given():
    search = RobustLinearSVCCV([0.1, 1.0], noise="l2", cv=2)
    model = make_robust_pipeline(StandardScaler(), search).fit(X, Y)
    assert search.noise == "l2"
    assert search.radii is None
    np.testing.assert_array_equal(search.radii_, [0.0])  # a norm states no radius
    np.testing.assert_allclose(model[-1].noise_, 1 / model[0].scale_)
    again = RobustLinearSVCCV([0.1, 1.0], noise=1 / model[0].scale_, radii=[0.0], cv=2)
    again.fit(model[:-1].transform(X), Y)
    np.testing.assert_array_equal(search.scores_, again.scores_)


@pytest.mark.parametrize(
    "step", [StandardScaler(), make_pipeline(StandardScaler(), PCA())], ids=type
)
def test_a_failed_fit_leaves_the_pipeline_as_it_was(step):
    model = make_robust_pipeline(step, RobustLinearSVC(radius=0.5, noise=TAU))
    before = model.fit(X, Y).decision_function(X)
    radius = model.certified_radius(X)
    with pytest.raises(ValueError, match="radius"):
        model.fit(2 * X, Y, robustlinearsvc__radius=-1.0)
    np.testing.assert_array_equal(model.decision_function(X), before)
    np.testing.assert_array_equal(model.certified_radius(X), radius)


#: Steps that scale, pick or order features.
APART = {
    **{name: CHAINS[name][0] for name in ("standard", "selection", "columns")},
    "largest": [MaxAbsScaler()],
    "one of three": [MinMaxScaler(), SelectKBest(k=4), StandardScaler()],
}


@pytest.mark.parametrize(
    "noise",
    ["linf", "l1", Box(TAU), CrossPolytope(TAU)],
    ids=["linf", "l1", "box", "cross-polytope"],
)
@pytest.mark.parametrize("steps", APART.values(), ids=APART)
def test_boxes_are_carried_exactly_through_steps_that_keep_features_apart(steps, noise):
    options = {"radius": 0.1, "norm_penalty": 0.2, "tol": 1e-9}
    classifier = RobustLinearSVC(noise=noise, **options)
    y = Y == 0
    model = make_robust_pipeline(*map(clone, steps), classifier).fit(X, y)
    ahead = make_pipeline(*map(clone, steps)).fit(X, y)
    origin = ahead.transform(np.zeros((1, 13)))
    A = (ahead.transform(np.eye(13)) - origin).T  # x' = Ax + c
    kind = Box if noise == "linf" or isinstance(noise, Box) else CrossPolytope
    tau = TAU if isinstance(noise, Box | CrossPolytope) else np.ones(13)
    by_hand = RobustLinearSVC(noise=kind(np.abs(A) @ tau), **options)
    by_hand.fit(ahead.transform(X), y)
    np.testing.assert_allclose(model[-1].coef_, by_hand.coef_, rtol=1e-3, atol=1e-5)
    assert model[-1].objective_ == pytest.approx(by_hand.objective_, rel=1e-8)
    in_raw_units = as_shape(noise, 13).support(model[-1].coef_[0] @ A)
    carried = as_shape(model[-1].noise_, len(A)).support(model[-1].coef_[0])
    assert carried == pytest.approx(in_raw_units, rel=1e-6)
    moves = model.worst_case(X, y)
    sizes = [as_shape(noise, 13).dual_norm(move) for move in moves]
    assert max(sizes) == pytest.approx(0.1)
    assert model.score(X + moves, y) == model.robust_score(X, y)


@pytest.mark.parametrize("noise", ["linf", "l1", Box(TAU), CrossPolytope(TAU)])
def test_steps_that_mix_or_copy_features_are_no_place_for_boxes(noise):
    twice = ColumnTransformer([("a", "passthrough", [0]), ("b", MinMaxScaler(), [0])])
    for step in (PCA(3), twice):
        model = make_robust_pipeline(step, RobustLinearSVC(radius=0.1, noise=noise))
        with pytest.raises(ValueError, match="mix or copy features"):
            model.fit(X, Y)
        with pytest.raises(ValueError, match="mix or copy features"):
            carry_noise(noise, clone(step).fit(X), X)


def test_a_pipeline_tells_which_raw_features_it_weighs():
    steps = MinMaxScaler(), SelectKBest(k=6)
    model = make_robust_pipeline(*steps, RobustLinearSVC(radius=2.0, noise=Box(TAU)))
    model.fit(X, Y == 0)
    behind = model[-1].support_features_
    assert 0 < len(behind) < 6
    chosen = model[1].get_support(indices=True)
    np.testing.assert_array_equal(model.support_features_, chosen[behind])
    model[-1].sparsify()
    np.testing.assert_array_equal(model.support_features_, chosen[behind])
    assert carry_noise("linf", model[1], X) == "linf"  # where units stay as they are


def test_columns_that_are_left_out_may_hold_text():
    frame = pd.DataFrame({"a": X[:, 0], "b": ["x", "y"] * 89})
    keep = ColumnTransformer([("a", StandardScaler(), ["a"])])
    by_name = make_robust_pipeline(keep, RobustLinearSVC())
    for given in (frame, frame[["a"]]):
        fitted = by_name.fit(given, Y)
        assert fitted[-1].noise_ == pytest.approx(1 / X[:, 0].std())


def test_another_last_step_and_what_no_step_asks_for_are_refused():
    with pytest.raises(TypeError, match="last step is StandardScaler"):
        make_robust_pipeline(PCA(), StandardScaler()).fit(X, Y)
    model = make_robust_pipeline(StandardScaler(), RobustLinearSVC())
    with pytest.raises(ValueError, match=r"\['weights'\], which name no step"):
        model.fit(X, Y, weights=Y)
    with pytest.raises(ValueError, match="Leave transform_input at None"):
        model.set_params(transform_input=["X_err"]).fit(X, Y)


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        (np.ones((2, 3)), r"noise has shape \(2, 3\)"),
        (np.eye(4), r"covariance of shape \(4, 4\), but X has 13"),
        (np.triu(np.ones((13, 13))), "not symmetric"),
        (-np.eye(13), "negative eigenvalue"),
    ],
)
def test_what_is_no_covariance_is_refused(noise, said):
    with pytest.raises(ValueError, match=said):
        RobustLinearSVC(noise=noise).fit(X, Y)
