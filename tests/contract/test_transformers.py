"""Every transformer of scikit-learn before a robust classifier: refused, or sound."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import compose, linear_model
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import all_estimators

from oracle import length, worst_move
from wideberth import RobustLinearSVC, make_robust_pipeline

_RNG = np.random.default_rng(0)
#: Positive data, so that logarithms and roots have something to say.
X = np.abs(_RNG.normal(size=(60, 4))) * [1, 3, 10, 0.1] + [1, 0.1, 5, 0.5]
_SCORE = X @ [1, -0.3, 0.1, 5]
Y = (_SCORE + 0.3 * _RNG.normal(size=60) > np.median(_SCORE)).astype(int)
TAU = 0.2 * X.std(axis=0)
ROOT = _RNG.normal(size=(4, 4)) * TAU[:, None]
WITH_HOLES = np.where(_RNG.random(X.shape) < 0.1, np.nan, X)
TEXT = [f"{'good' if label else 'bad'} w{k % 7}" for k, label in enumerate(Y)]
DICTS = [
    {"score": value, "kind": word} for value, word in zip(X[:, 0], TEXT, strict=True)
]
LINES = linear_model.LinearRegression()
ALL = dict(all_estimators(type_filter="transformer"))

#: Arguments without which a transformer cannot be made, does not suit four features,
#: or takes long.
ARGUMENTS = {
    "BernoulliRBM": {"n_iter": 1},
    "ColumnTransformer": {"transformers": [("a", StandardScaler(), [2, 0])]},
    "DictionaryLearning": {"max_iter": 3, "n_components": 2},
    "FeatureUnion": {
        "transformer_list": [("a", StandardScaler()), ("b", "passthrough")]
    },
    "GaussianRandomProjection": {"n_components": 2, "random_state": 0},
    "LatentDirichletAllocation": {"n_components": 2, "max_iter": 2},
    "MiniBatchDictionaryLearning": {"max_iter": 3, "n_components": 2},
    "MiniBatchNMF": {"n_components": 2, "max_iter": 5},
    "MiniBatchSparsePCA": {"n_components": 2, "max_iter": 5, "random_state": 0},
    "NMF": {"n_components": 2},
    "RFE": {"estimator": LINES, "n_features_to_select": 2},
    "RFECV": {"estimator": LINES, "cv": 2},
    "RandomTreesEmbedding": {"n_estimators": 3},
    "SelectFromModel": {"estimator": LINES},
    "SelectKBest": {"k": 3},
    "SequentialFeatureSelector": {"estimator": LINES, "cv": 2},
    "SparseCoder": {"dictionary": np.eye(4)},
    "SparsePCA": {"n_components": 2, "max_iter": 5, "random_state": 0},
    "SparseRandomProjection": {"n_components": 2, "random_state": 0, "density": 0.8},
    "StackingClassifier": {
        "estimators": [("a", linear_model.LogisticRegression())],
        "cv": 2,
    },
    "StackingRegressor": {"estimators": [("a", LINES)], "cv": 2},
    "TSNE": {"perplexity": 5},
    "VotingClassifier": {"estimators": [("a", linear_model.LogisticRegression())]},
    "VotingRegressor": {"estimators": [("a", LINES), ("b", linear_model.Ridge())]},
}
#: Transformers that want another X.
INPUTS = {
    "DictVectorizer": DICTS,
    "FeatureHasher": DICTS,
    "HashingVectorizer": TEXT,
    "KernelCenterer": X @ X.T,
    "MissingIndicator": WITH_HOLES,
}
#: Transformers that no pipeline before a classifier can hold, and why.
IMPOSSIBLE = {
    "IsotonicRegression": "gives one number for a sample and not a row",
    "LabelBinarizer": "transforms labels: its fit_transform takes no X and y",
    "LabelEncoder": "transforms labels: its fit_transform takes no X and y",
    "MultiLabelBinarizer": "transforms labels: its fit_transform takes no X and y",
    "PatchExtractor": "makes several rows of every image",
    **dict.fromkeys(
        ["CCA", "PLSCanonical", "PLSRegression", "PLSSVD"],
        "its fit_transform makes a pair of tables, of X and of y",
    ),
}
#: Transformers that are known to be linear; each of the others must be refused.
LINEAR = {
    *["ColumnTransformer", "FastICA", "FeatureUnion", "FunctionTransformer"],
    *["GaussianRandomProjection", "GenericUnivariateSelect", "IncrementalPCA"],
    *["LinearDiscriminantAnalysis", "MaxAbsScaler", "MinMaxScaler", "MissingIndicator"],
    *[
        "NeighborhoodComponentsAnalysis",
        "PCA",
        "RFE",
        "RFECV",
        "RobustScaler",
        "SelectFdr",
    ],
    *["SelectFpr", "SelectFromModel", "SelectFwe", "SelectKBest", "SelectPercentile"],
    *["SequentialFeatureSelector", "SimpleImputer", "SparseRandomProjection"],
    *["StandardScaler", "TruncatedSVD", "VarianceThreshold"],
}


class Differences(TransformerMixin, BaseEstimator):
    """A step of a user's: differences of neighbouring features, times a factor."""

    def __init__(self, sparse=False, factor=1.0, slip=None, power=1):
        self.sparse, self.factor, self.slip, self.power = sparse, factor, slip, power

    def fit(self, X, y=None):
        d = X.shape[1]
        self.linear_map_ = self.factor * np.diff(np.eye(d), axis=0)
        if self.sparse:
            self.linear_map_ = sp.csr_array(self.linear_map_)
        if self.slip is not None:
            self.linear_map_ = self.slip(self.linear_map_)
        return self

    def transform(self, X):
        return self.factor * np.diff(X, axis=1) ** self.power


class Doubled(StandardScaler):
    """Not what its parent is."""

    def transform(self, X):
        return super().transform(X) ** 2


class Odd(SelectKBest):
    """A selection that does more than select."""

    def transform(self, X):
        return super().transform(X) ** 2


LOGARITHM = FunctionTransformer(np.log)
#: Steps that scikit-learn's own list does not hold, with their X and whether they pass.
STEPS = {
    "log": (LOGARITHM, X, False),
    "square": (FunctionTransformer(np.square), X, False),
    "a function of the user's": (FunctionTransformer(lambda Z: 2 * Z), X, False),
    "identity": (FunctionTransformer(), X, True),
    "negative": (FunctionTransformer(np.negative), X, True),
    "linear_map_": (Differences(), X, True),
    "sparse linear_map_": (Differences(sparse=True, factor=3.0), X, True),
    "a subclass of a scaler": (Doubled(), X, False),
    "a subclass of a selection": (Odd(k=2), X, False),
    "no variance": (StandardScaler(with_std=False), X, True),
    "frozen": (FrozenEstimator(PCA(2).fit(X)), X, True),
    "no scale": (RobustScaler(with_scaling=False), X, True),
    "whitened": (PCA(2, whiten=True), X, True),
    "eigenvectors": (LinearDiscriminantAnalysis(solver="eigen"), X, True),
    "sentinel imputed": (SimpleImputer(missing_values=-1), X, False),
    "clipping scaler": (MinMaxScaler(clip=True), X, False),
    "Yeo-Johnson": (PowerTransformer(), X, False),
    "frame of columns": (
        compose.make_column_transformer(
            (StandardScaler(), ["b", "d"]), remainder=MinMaxScaler()
        ),
        pd.DataFrame(X, columns=list("abcd")),
        True,
    ),
    "weighted columns": (
        ColumnTransformer(
            [("a", StandardScaler(), [3, 1]), ("b", "passthrough", [0])],
            transformer_weights={"a": -2.0},
        ),
        X,
        True,
    ),
    "pipelines of columns": (
        ColumnTransformer(
            [("a", make_pipeline(SimpleImputer(), PCA(2)), [3, 1, 0])],
            remainder=make_pipeline("passthrough"),
        ),
        X,
        True,
    ),
    "logarithm of one column": (
        compose.make_column_transformer(
            (FunctionTransformer(np.log1p), [1]), remainder=StandardScaler()
        ),
        X,
        False,
    ),
    "logarithm in a pipeline of columns": (
        ColumnTransformer([("a", make_pipeline(LOGARITHM, StandardScaler()), [0])]),
        X,
        False,
    ),
    "weighted union": (
        FeatureUnion(
            [("a", PCA(3)), ("b", MinMaxScaler()), ("c", "drop")],
            transformer_weights={"b": 0.5},
        ),
        X,
        True,
    ),
    "union with roots": (
        FeatureUnion([("a", StandardScaler()), ("b", FunctionTransformer(np.cbrt))]),
        X,
        False,
    ),
    "constants for missing values": (SimpleImputer(), WITH_HOLES, True),
    "marked missing values": (SimpleImputer(add_indicator=True), WITH_HOLES, True),
    "an empty column": (
        SimpleImputer(),
        np.column_stack([X[:, :3], np.full(60, np.nan)]),
        True,
    ),
    "an empty column kept": (
        SimpleImputer(keep_empty_features=True),
        np.column_stack([X[:, :3], np.full(60, np.nan)]),
        True,
    ),
    "neighbours for missing values": (KNNImputer(), WITH_HOLES, False),
    "sparse": (MaxAbsScaler(), sp.csr_array(X * (X > 1)), True),
    "large offset": (StandardScaler(), X + 1e7, True),
    "float32": (StandardScaler(), X.astype(np.float32), True),
}


def _pipeline(step, noise):
    classifier = RobustLinearSVC(radius=0.1, noise=noise)
    # A scaler makes training easy whatever the step.
    return make_robust_pipeline(step, StandardScaler(with_mean=False), classifier)


def _fit(step, X, noise):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of transformers about four features
        return _pipeline(step, noise).fit(X, Y[: np.shape(X)[0]])


def _dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)


def _like(X, rows):
    """Rows in the kind of container that X is."""
    if isinstance(X, pd.DataFrame):
        return pd.DataFrame(rows, columns=X.columns)
    return sp.csr_array(rows) if sp.issparse(X) else rows


def _directions(noise, weights, predicted, n, d):
    """Moves of size 1 for n samples: the worst one first, then random ones, corners."""
    rng = np.random.default_rng(1)
    worst = np.where(predicted == 1, -1, 1)[:, None] * worst_move(noise, weights, 1.0)
    scale = np.abs(worst[0]) + 1e-3 * np.abs(worst).max() + 1e-12
    yield worst
    for _ in range(6):
        random = scale * rng.normal(size=(n, d))
        for move in (random, scale * rng.choice([-1.0, 1.0], size=(n, d))):
            yield move / np.array([[length(noise, row)] for row in move])
        near = worst + 0.2 * random
        yield near / np.array([[length(noise, row)] for row in near])


def _attack(model, X, noise):
    """Moves inside the certified radius change nothing; the worst beyond it does."""
    before, radius = model.predict(X), model.certified_radius(X)
    rows, finite = _dense(X), np.isfinite(radius)
    assert np.any(finite) == bool(np.any(model.linear_map_.data))
    reach = np.where(finite, radius, 1e3)[:, None]
    weights = (model[-1].coef_ @ model.linear_map_)[0]
    moves = [*_directions(noise, weights, before, *rows.shape)]
    inside = np.vstack([rows + 0.99 * reach * move for move in moves])
    after = model.predict(_like(X, inside))
    np.testing.assert_array_equal(after, np.tile(before, len(moves)))
    after = model.predict(_like(X, rows + 1.01 * reach * moves[0]))
    complete = np.all(np.isfinite(rows), axis=1)
    assert np.all((after != before)[finite & complete])


def _check(step, X, name, linear):
    """Refused by name, or sound against every noise that passes."""
    d = np.shape(X)[1] if hasattr(X, "shape") else 1
    scales = TAU if d == 4 else np.full(d, 0.2)
    if not linear:
        with pytest.raises((ValueError, TypeError), match=f"(?i)'{name}"):
            _fit(step, X, scales)
        return
    noises = [scales]
    if d == 4 and not np.any(np.isnan(X.data if sp.issparse(X) else np.asarray(X))):
        noises.append(ROOT @ ROOT.T)
    for noise in noises:
        _attack(_fit(step, X, noise), X, noise)


def test_every_transformer_of_scikit_learn_is_tried_or_excused():
    assert not set(IMPOSSIBLE) & LINEAR
    for table in (ARGUMENTS, INPUTS, IMPOSSIBLE, LINEAR):
        assert set(table) <= set(ALL)


@pytest.mark.parametrize("name", sorted(set(ALL) - set(IMPOSSIBLE)))
def test_a_transformer_of_scikit_learn_is_refused_by_name_or_sound(name):
    step = ALL[name](**ARGUMENTS.get(name, {}))
    _check(step, INPUTS.get(name, X), name, name in LINEAR)


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_is_excused_cannot_stand_before_a_classifier(name):
    with pytest.raises((ValueError, TypeError)):
        make_pipeline(ALL[name](), linear_model.LogisticRegression()).fit(X[:, :1], Y)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_refused_by_name_or_sound(name):
    step, given, linear = STEPS[name]
    _check(step, given, type(step).__name__, linear)


@pytest.mark.parametrize(
    ("step", "named"),
    [
        (
            make_pipeline(FunctionTransformer(np.exp), MinMaxScaler()),
            "functiontransformer",
        ),
        (make_pipeline(StandardScaler(), Normalizer()), "normalizer"),
        (Differences(slip=np.transpose), "differences"),
        (Differences(slip=lambda A: A * np.nan), "differences"),
        (Differences(slip=lambda A: 2 * A), "differences"),
        (Differences(power=2), "differences"),
    ],
)
def test_a_refusal_names_the_step_inside(step, named):
    with pytest.raises(ValueError, match=f"'{named}'"):
        _fit(step, X, TAU)


def test_what_a_step_says_of_itself_is_carried():
    model = make_robust_pipeline(
        StandardScaler(), Differences(), RobustLinearSVC(radius=0.1, noise=TAU)
    ).fit(X, Y)
    expected = np.diff(np.eye(4), axis=0) / model[0].scale_
    np.testing.assert_allclose(model.linear_map_.toarray(), expected)


def test_sums_with_missing_cells_are_not_filled_in():
    with pytest.raises(ValueError, match="'simpleimputer'"):
        _fit(make_pipeline(Differences(), SimpleImputer()), WITH_HOLES, TAU)
    _fit(make_pipeline(StandardScaler(), SimpleImputer()), WITH_HOLES, TAU)


def test_correlated_noise_and_missing_cells_are_refused_together():
    covariance = ROOT @ ROOT.T
    model = _pipeline(SimpleImputer(), covariance)
    with pytest.raises(ValueError, match="missing values and noise is a covariance"):
        model.fit(WITH_HOLES, Y)
    model.fit(X, Y)
    for ask in (
        lambda: model.certified_radius(WITH_HOLES),
        lambda: model.robust_score(WITH_HOLES, Y),
        lambda: model.worst_case(WITH_HOLES, Y),
    ):
        with pytest.raises(
            ValueError, match="missing values and noise is a covariance"
        ):
            ask()
