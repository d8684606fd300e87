"""Curved boundaries: what is certified behind `Nystroem`, against attacks."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_wine
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from safety_kernels import examine_kernels
from wideberth import (
    Box,
    Correlated,
    CrossPolytope,
    RobustKernelSVC,
    RobustLinearRegressor,
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
)
from wideberth.estimators.curved import Curve, Known
from wideberth.onnx import register_onnx

KERNELS = ("rbf", "laplacian")
NAMES = np.array(["barbera", "barolo", "grignolino"])
COVARIANCE = np.array([[0.3, 0.1, 0.0], [0.1, 0.2, 0.05], [0.0, 0.05, 0.1]])
NOISES = {
    "l2": "l2",
    "scales": np.array([0.5, 1.0, 2.0]),
    "box": Box(np.array([0.3, 0.0, 0.6])),
    "cross-polytope": CrossPolytope(np.array([0.5, 1.0, 0.7])),
    "correlated": Correlated(COVARIANCE),
}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X = X[:, [0, 6, 9]]
    return X / X.std(axis=0), y


def curved(model, kernel="rbf", gamma=0.3, m=40, ahead=None):
    ahead = [StandardScaler()] if ahead is None else ahead
    step = Nystroem(kernel, gamma=gamma, n_components=m, random_state=0)
    return make_robust_pipeline(*ahead, step, model)


def moves_within(noise, radii, n, rng):
    """Moves of the boundary and of the inside of the sets, by the definition of each."""
    d = 3
    at = rng.normal(size=(n, d))
    if isinstance(noise, str):
        unit = at / np.linalg.norm(at, axis=1, keepdims=True)
    elif isinstance(noise, Box):
        unit = np.sign(at) * noise.scales
    elif isinstance(noise, CrossPolytope):
        unit = at / np.abs(at / noise.scales).sum(axis=1, keepdims=True)
    elif isinstance(noise, Correlated):
        unit = at / np.linalg.norm(at, axis=1, keepdims=True)
        unit = unit @ np.linalg.cholesky(COVARIANCE).T
    else:
        unit = noise * at / np.linalg.norm(at, axis=1, keepdims=True)
    return radii[:, None] * unit


@pytest.mark.parametrize("kernel", KERNELS)
def test_features_move_by_the_modulus_at_most(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    step = Nystroem(kernel, gamma=0.4, n_components=30, random_state=0).fit(X)
    curve = Curve.of("nystroem", step)
    moved = X + rng.normal(size=X.shape) * rng.exponential(size=(60, 1))
    lengths = np.linalg.norm(moved - X, ord=curve.order, axis=1)
    steps = np.linalg.norm(step.transform(moved) - step.transform(X), axis=1)
    assert np.all(steps <= curve.modulus(lengths) * (1 + 1e-8))
    kernels = {"rbf": rbf_kernel, "laplacian": laplacian_kernel}
    between = np.diag(kernels[kernel](X, moved, gamma=0.4))
    np.testing.assert_allclose(curve.modulus(lengths) ** 2, 2 - 2 * between, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", range(6))
def test_no_function_falls_faster_than_its_value_and_gradient_allow(kernel, seed):
    rng = np.random.default_rng(seed)
    d, m = rng.integers(1, 5), rng.integers(2, 9)
    curve = Curve(rng.normal(size=(m, d)), np.eye(m), 0.5, 1 + (kernel == "rbf"), 0.0)
    v = rng.normal(size=m)
    x = rng.normal(size=(1, d))
    start, slope = curve.local(v[None], x)
    slope = np.linalg.norm(slope, axis=2)
    known = Known.of(curve, curve.norm(v), start[0], slope[0], 0.0, 0.0)
    moves = rng.normal(size=(20_000, d)) * rng.exponential(size=(20_000, 1))
    lengths = np.linalg.norm(moves, ord=curve.order, axis=1)
    fallen = start[0] - curve.kernel(x + moves) @ v
    falls = curve.fall(lengths, known)
    assert np.all(fallen <= falls + 1e-12)
    assert np.all(falls <= curve.norm(v) * curve.modulus(lengths) * (1 + 1e-9))
    order = np.argsort(lengths)
    assert np.all(np.diff(falls[order]) >= -1e-12)  # as bisection needs
    if kernel == "rbf":  # to first order the gradient is all there is
        short = 1e-4 / max(slope[0, 0], 1.0)
        assert curve.fall(short, known)[0] <= slope[0, 0] * short + 10 * short**2 * (
            1 + curve.norm(v)
        )


def test_no_attack_of_a_part_of_the_campaign_succeeds():
    found = examine_kernels(range(20))
    assert len({kind.partition(", ")[2] for _, kind in found}) >= 5
    assert sum(count["moves"] for count in found.values()) > 50_000
    assert not any(count["wrong"] for count in found.values())


@pytest.mark.parametrize("kernel", KERNELS)
def test_on_top_of_the_only_landmark_the_certificate_is_exact(kernel):
    curve = Curve(np.zeros((1, 2)), np.eye(1), 0.7, 1 + (kernel == "rbf"), 0.0)
    start, _ = curve.local(np.array([[2.0]]), np.zeros((1, 2)))
    known = Known.of(curve, curve.norm(np.array([2.0])), start[0], 0.0, 0.0, 0.0)
    for length in (1e-3, 0.3, 1.0, 5.0):
        expected = 2 * -np.expm1(-0.7 * length**curve.order)
        assert curve.fall(length, known)[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", NOISES)
def test_no_move_within_the_certified_radius_changes_a_class(wine, kernel, name):
    X, y = wine
    noise, rng = NOISES[name], np.random.default_rng(1)
    # Shapes that treat features apart must be kept so by the steps before.
    ahead = [StandardScaler()] if name in ("box", "cross-polytope") else [PCA(2)]
    radius = 0.3 if kernel == "rbf" else 0.003  # the Laplacian kernel has a kink
    model = RobustLinearSVC(C=10, radius=radius, noise=noise)
    model = curved(model, kernel, ahead=ahead)
    model.fit(X, y)
    certified, found = model.certified_radius(X), model.predict(X)
    assert np.median(certified) > 0.01
    size = 0.999 * np.minimum(certified, 50.0)
    for _ in range(30):
        moved = X + moves_within(noise, size, len(X), rng)
        np.testing.assert_array_equal(model.predict(moved), found)
    moved = X + model.worst_case(X, found, radius=size)
    np.testing.assert_array_equal(model.predict(moved), found)
    # Far enough out the search does find moves that change the class.
    moved = X + model.worst_case(X, found, radius=10 * size + 1e-3)
    assert np.mean(model.predict(moved) != found) > 0.1


def test_the_certified_radius_is_where_the_proof_of_a_label_ends(wine):
    X, y = wine
    model = curved(RobustLinearSVC(radius=0.2, noise=NOISES["scales"])).fit(X, y)
    right = model.predict(X) == y
    certified = np.where(right, model.certified_radius(X), 0.0)
    for radius in (0.05, 0.2, 0.6):
        expected = np.mean(certified > radius)
        assert model.robust_score(X, y, radius=radius) == pytest.approx(expected)
    assert model.robust_score(X, y) == model.robust_score(X, y, radius=0.2)


def test_training_sees_the_longest_move_of_each_sample(wine):
    X, y = wine
    radii = np.linspace(0.0, 0.2, len(X))
    model = curved(RobustLinearSVC(tol=1e-9), ahead=()).fit(
        X, y, robustlinearsvc__radius=radii
    )
    step = model[0]
    moved = np.sqrt(2 - 2 * np.exp(-step.gamma * radii**2))
    plain = RobustLinearSVC(tol=1e-9).fit(step.transform(X), y, radius=moved)
    np.testing.assert_allclose(model[-1].coef_, plain.coef_, atol=1e-5)
    with pytest.raises(ValueError, match="one radius per sample"):
        model.robust_score(X, y)


@pytest.mark.parametrize("kernel", KERNELS)
def test_predictions_stay_within_their_range(kernel):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, rng = X[:200, :5], np.random.default_rng(3)
    scales = X.std(axis=0)
    regressor = RobustLinearRegressor(C=5, radius=1e-3, noise=scales)
    model = curved(regressor, kernel, gamma=0.1).fit(X, y[:200])
    low, high = model.prediction_range(X, radius=0.2).T
    at = rng.normal(size=(20, *X.shape))
    at *= 0.2 / np.linalg.norm(at, axis=2, keepdims=True)
    found = np.array([model.predict(X + part * scales) for part in at])
    assert np.all((low <= found) & (found <= high))
    np.testing.assert_allclose((low + high) / 2, model.predict(X))
    np.testing.assert_array_less(model.prediction_range(X, radius=0.1)[:, 1], high)


def test_categories_before_the_kernel_do_not_move(wine):
    X, y = wine
    table = np.column_stack([X, y % 2])
    front = ColumnTransformer(
        [("measured", StandardScaler(), [0, 1, 2]), ("kinds", OneHotEncoder(), [3])]
    )
    model = curved(RobustLinearSVC(radius=0.2), ahead=(front,)).fit(table, y)
    moves = model.worst_case(table, y, radius=1.0)
    assert np.all(moves[:, 3] == 0)
    assert np.any(moves[:, :3] != 0)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([Nystroem("poly"), RobustLinearSVC()], "kernel='poly'"),
        ([Nystroem(gamma=0.0), RobustLinearSVC()], "gamma=0"),
        ([Nystroem(), StandardScaler(), RobustLinearSVC()], "directly before"),
        ([Nystroem(), RobustLinearSVCCV()], "GridSearchCV"),
        ([make_pipeline(Nystroem()), RobustLinearSVC()], "directly before"),
    ],
    ids=["kernel", "gamma", "a step behind", "search", "inner pipeline"],
)
@pytest.mark.filterwarnings("ignore:n_components")
def test_what_cannot_be_certified_is_refused(wine, steps, message):
    with pytest.raises(ValueError, match=message):
        make_robust_pipeline(*steps).fit(*wine)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_onnx_graphs_of_curved_models_score_as_they_do(wine, kernel, dtype):
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    register_onnx()
    X, y = wine[0].astype(dtype), wine[1]
    model = curved(RobustLinearSVC(10, 0.01), kernel)
    if kernel == "rbf":  # the short spelling
        machine = RobustKernelSVC(10, 0.01, gamma=0.3, n_components=40)
        model, y = make_robust_pipeline(StandardScaler(), machine), NAMES[y]
    model.fit(wine[0], y)
    graph = skl2onnx.to_onnx(model, X[:1]).SerializeToString()
    session = onnxruntime.InferenceSession(graph)
    labels, scores = session.run(None, {"X": X})
    assert np.mean(labels == model.predict(X)) > 0.99
    rtol = 1e-3 if dtype is np.float32 else 1e-9
    np.testing.assert_allclose(scores, model.decision_function(X), rtol, rtol)


def test_weights_in_raw_units_are_refused(wine):
    model = curved(RobustLinearSVC()).fit(*wine)
    assert not hasattr(model, "support_features_")
    assert model.linear_map_ is None


@pytest.mark.parametrize("ahead", [StandardScaler(), MinMaxScaler()])
def test_what_steps_round_in_float32_is_not_certified(ahead):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = (1e4 + rng.normal(size=(60, 2)) + y[:, None]).astype(np.float32)
    model = curved(RobustLinearSVC(C=10.0), "laplacian", m=20, ahead=[ahead]).fit(X, y)
    rows = (1e4 + rng.uniform(-2, 3, size=(60_000, 2))).astype(np.float32)
    certain = model.certified_radius(rows) > 0
    other = model.predict(rows) != model.predict(rows.astype(np.float64))
    assert other.any()
    assert certain.any()
    assert not (certain & other).any()


def test_integers_that_steps_hand_on_are_certified():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, size=(30, 3)), np.arange(30) % 2
    ahead = [ColumnTransformer([("first", "passthrough", [0, 1])])]
    model = curved(RobustLinearSVC(), m=5, ahead=ahead).fit(X, y)
    radii = model.certified_radius(X)
    np.testing.assert_allclose(model.certified_radius(X * 1.0), radii)
    assert (radii > 0).any()
