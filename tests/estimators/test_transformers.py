"""Every transformer of scikit-learn before a robust classifier: refused, or sound."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import compose, decomposition, ensemble, linear_model, preprocessing
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PowerTransformer,
    StandardScaler,
)
from sklearn.utils import all_estimators

from wideberth import Box, CrossPolytope, RobustLinearSVC, make_robust_pipeline
from wideberth.estimators.affine import linear_map
from wideberth.noise import as_shape

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
#: Transformers of X and y, which a pipeline takes only when they are fitted before.
FITTED_BEFORE = {
    "CCA": {"n_components": 1},
    "PLSCanonical": {"n_components": 1},
    "PLSRegression": {"n_components": 2},
    "PLSSVD": {"n_components": 1},
}
#: Transformers that no pipeline before a classifier can hold, and why.
IMPOSSIBLE = {
    "IsotonicRegression": "gives one number for a sample and not a row",
    "LabelBinarizer": "transforms labels: its fit_transform takes no X and y",
    "LabelEncoder": "transforms labels: its fit_transform takes no X and y",
    "MultiLabelBinarizer": "transforms labels: its fit_transform takes no X and y",
    "PatchExtractor": "makes several rows of every image",
}
#: Transformers that are affine as made here; each of the others must be refused.
AFFINE = {
    "CCA",
    "ColumnTransformer",
    "FactorAnalysis",
    "FastICA",
    "FeatureAgglomeration",
    "FeatureUnion",
    "FunctionTransformer",
    "GaussianRandomProjection",
    "GenericUnivariateSelect",
    "IncrementalPCA",
    "KernelCenterer",
    "KernelPCA",
    "LinearDiscriminantAnalysis",
    "MaxAbsScaler",
    "MinMaxScaler",
    "MiniBatchSparsePCA",
    "MissingIndicator",
    "NeighborhoodComponentsAnalysis",
    "PCA",
    "PLSCanonical",
    "PLSRegression",
    "PLSSVD",
    "RFE",
    "RFECV",
    "RobustScaler",
    "SelectFdr",
    "SelectFpr",
    "SelectFromModel",
    "SelectFwe",
    "SelectKBest",
    "SelectPercentile",
    "SequentialFeatureSelector",
    "SimpleImputer",
    "SparsePCA",
    "SparseRandomProjection",
    "StackingRegressor",
    "StandardScaler",
    "TruncatedSVD",
    "VarianceThreshold",
    "VotingRegressor",
}


def _twice(values):
    return 2 * values


def _bent_in_the_tails(values):
    return np.where(np.abs(values) < 1e4, values, 1e4 * np.sign(values))


def _bump_far_away(values):
    return values + np.maximum(0, 2e3 - np.abs(values - 5e3))


def _bump_in_a_gap(values):
    """Straight on the clouds of `GAPPED` and everywhere else but between them."""
    return values + np.maximum(0, 1 - np.abs(values - 5))


def _waves(values):
    return values + 0.3 * np.sin(2 * np.pi * values)


def _ripples(values):
    """What only a strict comparison sees."""
    return values + 1e-7 * np.sin(values)


def _ripples_in_single_precision(values):
    return (values + 1e-3 * np.sin(values)).astype(np.float32)


def _in_single_precision(values):
    return (values.astype(np.float32) * np.float32(1.7)).astype(np.float64)


def _centred_by_the_batch(values):
    return values - values.mean(axis=0)


def _sentinel_replaced(values):
    return np.where(values == -999, 0.0, values)


GAPPED = np.column_stack([_RNG.normal(size=60) + 10 * Y, _RNG.normal(size=60)])
WITH_SENTINELS = np.where(_RNG.random(X.shape) < 0.2, -999.0, X)

#: Steps that scikit-learn's own list does not hold, with their X and whether they pass.
STEPS = {
    "log": (FunctionTransformer(np.log), X, False),
    "log1p": (FunctionTransformer(np.log1p), X, False),
    "log10": (FunctionTransformer(np.log10), X, False),
    "sqrt": (FunctionTransformer(np.sqrt), X, False),
    "arcsinh": (FunctionTransformer(np.arcsinh), X, False),
    "arcsinh beside a large column": (
        FunctionTransformer(lambda Z: np.column_stack([np.arcsinh(Z[:, :3]), Z[:, 3]])),
        X * [1, 1, 1, 1e14],
        False,
    ),
    "arcsinh added to a large column": (
        FunctionTransformer(lambda Z: np.arcsinh(Z[:, :1]) + Z[:, 3:]),
        X * [1, 1, 1, 1e8],
        False,
    ),
    "identity": (FunctionTransformer(), X, True),
    "twice": (FunctionTransformer(_twice), X, True),
    "differences": (FunctionTransformer(np.diff), X, True),
    "running sums": (FunctionTransformer(np.cumsum, kw_args={"axis": 1}), X, True),
    "bent in the tails": (FunctionTransformer(_bent_in_the_tails), X, False),
    "bump far away": (FunctionTransformer(_bump_far_away), X, False),
    "bump in a gap": (FunctionTransformer(_bump_in_a_gap), GAPPED, False),
    "waves": (FunctionTransformer(_waves), GAPPED, False),
    "ripples": (FunctionTransformer(_ripples), X, False),
    "ripples in single precision": (
        FunctionTransformer(_ripples_in_single_precision),
        X,
        False,
    ),
    "floor": (FunctionTransformer(np.floor), X, False),
    "rounded": (FunctionTransformer(np.round, kw_args={"decimals": 2}), X, False),
    "absolute": (FunctionTransformer(np.abs), X, False),
    "clipped": (
        FunctionTransformer(np.clip, kw_args={"a_min": 0, "a_max": 1e3}),
        X,
        False,
    ),
    "product": (FunctionTransformer(lambda Z: Z[:, :2] * Z[:, 2:]), X, False),
    "single precision": (FunctionTransformer(_in_single_precision), X, True),
    "centred by the batch": (FunctionTransformer(_centred_by_the_batch), X, False),
    "sentinel replaced": (
        FunctionTransformer(_sentinel_replaced),
        WITH_SENTINELS,
        False,
    ),
    "sentinel imputed": (SimpleImputer(missing_values=-1), X, False),
    "zeros imputed": (SimpleImputer(missing_values=0), X, False),
    "clipping scaler": (MinMaxScaler(clip=True), X, False),
    "Yeo-Johnson": (PowerTransformer(), X, False),
    "Box-Cox": (PowerTransformer("box-cox"), X, False),
    "frame of columns": (
        compose.make_column_transformer(
            (StandardScaler(), ["b", "d"]), remainder=MinMaxScaler()
        ),
        pd.DataFrame(X, columns=list("abcd")),
        True,
    ),
    "logarithm of one column": (
        compose.make_column_transformer(
            (FunctionTransformer(np.log1p), [1]), remainder=StandardScaler()
        ),
        X,
        False,
    ),
    "union with roots": (
        FeatureUnion([("a", StandardScaler()), ("b", FunctionTransformer(np.cbrt))]),
        X,
        False,
    ),
    "linear kernel": (decomposition.KernelPCA(kernel="linear"), X, True),
    "cosine kernel": (decomposition.KernelPCA(2, kernel="cosine"), X, False),
    "degree one": (preprocessing.PolynomialFeatures(1), X, True),
    "unknown categories ignored": (
        preprocessing.OneHotEncoder(handle_unknown="ignore"),
        X.round(),
        False,
    ),
    "trees": (ensemble.RandomTreesEmbedding(3, sparse_output=False), X, False),
    "constants for missing values": (SimpleImputer(), WITH_HOLES, True),
    "marked missing values": (SimpleImputer(add_indicator=True), WITH_HOLES, True),
    "neighbours for missing values": (KNNImputer(), WITH_HOLES, False),
    "regressions for missing values": (IterativeImputer(max_iter=2), WITH_HOLES, False),
    "neighbours for none missing": (KNNImputer(), X, False),
    "sparse": (preprocessing.MaxAbsScaler(), sp.csr_array(X * (X > 1)), True),
    "sparse logarithms": (
        FunctionTransformer(np.log1p, accept_sparse=True),
        sp.csr_array(X * (X > 1)),
        False,
    ),
    "large offset": (StandardScaler(), X + 1e7, True),
    "float32": (StandardScaler(), X.astype(np.float32), True),
}


def _pipeline(step, noise):
    classifier = RobustLinearSVC(radius=0.1, noise=noise)
    # A scaler makes training easy whatever the step; it is affine and found to be.
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


def _directions(shape, weights, predicted, n, d):
    """Moves of size 1 for n samples: the worst one first, then random ones, corners."""
    rng = np.random.default_rng(1)
    worst = np.where(predicted == 1, -1, 1)[:, None] * shape.maximizer(weights)
    scale = np.abs(worst[0]) + 1e-3 * np.abs(worst).max() + 1e-12
    yield worst
    for _ in range(6):
        random = scale * rng.normal(size=(n, d))
        for move in (random, scale * rng.choice([-1.0, 1.0], size=(n, d))):
            yield move / np.array([[shape.dual_norm(row)] for row in move])
        near = worst + 0.2 * random
        yield near / np.array([[shape.dual_norm(row)] for row in near])


def _attack(model, X, noise):
    """Moves inside the certified radius change nothing; the worst beyond it does."""
    before, radius = model.predict(X), model.certified_radius(X)
    rows, finite = _dense(X), np.isfinite(radius)
    assert np.any(finite) == bool(np.any(model.linear_map_.data))
    shape, reach = (
        as_shape(noise, rows.shape[1]),
        np.where(finite, radius, 1e3)[:, None],
    )
    weights = (model[-1].coef_ @ model.linear_map_)[0]
    moves = [*_directions(shape, weights, before, *rows.shape)]
    inside = np.vstack([rows + 0.99 * reach * move for move in moves])
    after = model.predict(_like(X, inside))
    np.testing.assert_array_equal(after, np.tile(before, len(moves)))
    after = model.predict(_like(X, rows + 1.01 * reach * moves[0]))
    complete = np.all(np.isfinite(rows), axis=1)
    assert np.all((after != before)[finite & complete])


def _check(step, X, name, affine):
    """Refused by name, or sound against every noise that passes."""
    d = np.shape(X)[1] if hasattr(X, "shape") else 1
    scales = TAU if d == 4 else np.full(d, 0.2)
    if not affine:
        with pytest.raises((ValueError, TypeError), match=f"(?i)'{name}"):
            _fit(step, X, scales)
        return
    noises = [scales]
    if d == 4 and not np.any(np.isnan(X.data if sp.issparse(X) else np.asarray(X))):
        noises.append(ROOT @ ROOT.T)
    for noise in noises:
        _attack(_fit(step, X, noise), X, noise)


def test_every_transformer_of_scikit_learn_is_tried_or_excused():
    assert not set(IMPOSSIBLE) & AFFINE
    for table in (ARGUMENTS, INPUTS, FITTED_BEFORE, IMPOSSIBLE, AFFINE):
        assert set(table) <= set(ALL)
    for name, reason in IMPOSSIBLE.items():
        assert len(reason) > 20, name


@pytest.mark.parametrize("name", sorted(set(ALL) - set(IMPOSSIBLE)))
def test_a_transformer_of_scikit_learn_is_refused_by_name_or_sound(name):
    given = INPUTS.get(name, X)
    step, called = (
        ALL[name](**ARGUMENTS.get(name, {}) | FITTED_BEFORE.get(name, {})),
        name,
    )
    if name in FITTED_BEFORE:
        step, called = FrozenEstimator(step.fit(X, Y)), "frozenestimator"
    _check(step, given, called, name in AFFINE)


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_is_excused_cannot_stand_before_a_classifier(name):
    with pytest.raises((ValueError, TypeError)):
        make_pipeline(ALL[name](), linear_model.LogisticRegression()).fit(X[:, :1], Y)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_refused_by_name_or_sound(name):
    step, given, affine = STEPS[name]
    _check(step, given, type(step).__name__, affine)


@pytest.mark.parametrize(
    "step", [FunctionTransformer(), SimpleImputer(), StandardScaler(), "selection"]
)
def test_no_corner_of_a_certified_box_changes_a_class(step):
    if step == "selection":
        step = ALL["SelectKBest"](k=3)
    tau = np.array([0.5, 2.0, 1.0, 0.25])
    shapes = {"linf": 1.0, "l1": 1.0, Box(tau): tau, CrossPolytope(tau): tau}
    for noise, scales in shapes.items():
        model = make_robust_pipeline(step, RobustLinearSVC(radius=0.05, noise=noise))
        model.fit(X, Y)
        before, radius = model.predict(X), model.certified_radius(X)[:, None]
        corners = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T
        if noise == "l1" or isinstance(noise, CrossPolytope):
            corners = np.vstack([np.eye(4), -np.eye(4)])
        corners = corners * scales
        changed = np.zeros(len(X), dtype=bool)
        for corner in corners:
            inside = model.predict(X + 0.99 * radius * corner)
            np.testing.assert_array_equal(inside, before)
            changed |= model.predict(X + 1.01 * radius * corner) != before
        assert np.all(changed)


def test_the_step_that_bends_is_named():
    bending = make_pipeline(MinMaxScaler(), FunctionTransformer(np.exp), MinMaxScaler())
    model = make_pipeline(StandardScaler(), bending, StandardScaler()).fit(X)
    with pytest.raises(
        ValueError, match=r"^'functiontransformer' \(Func.*exp.*not aff"
    ):
        linear_map(model, X)


def test_signs_for_missing_values_are_found_however_rare():
    long = np.tile(X, (100, 1))
    long[[1234, 4323], 2] = -999  # not among rows spread evenly
    step = FunctionTransformer(_sentinel_replaced).fit(long)
    for given in (long, pd.DataFrame(long)):
        with pytest.raises(ValueError, match="'functiontransformer'"):
            linear_map(step, given)


def test_sums_with_missing_cells_are_not_filled_in():
    sums = FunctionTransformer(np.cumsum, kw_args={"axis": 1})
    model = make_pipeline(sums, SimpleImputer()).fit(WITH_HOLES)
    with pytest.raises(ValueError, match=r"'simpleimputer'.*sums of missing values"):
        linear_map(model, WITH_HOLES)
    kept = make_pipeline(StandardScaler(), SimpleImputer()).fit(WITH_HOLES)
    linear_map(kept, WITH_HOLES)


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


def test_wide_sparse_steps_are_told_apart():
    filled = _RNG.integers(20_000, size=2_000)
    entries = np.repeat(np.arange(50), 40), filled
    wide = sp.coo_array((_RNG.random(2_000) + 0.5, entries), (50, 20_000)).tocsr()
    scaler = preprocessing.MaxAbsScaler().fit(wide)
    np.testing.assert_allclose(linear_map(scaler, wide).diagonal(), 1 / scaler.scale_)
    roots = FunctionTransformer(np.sqrt, accept_sparse=True).fit(wide)
    with pytest.raises(ValueError, match="'functiontransformer'"):
        linear_map(roots, wide)
