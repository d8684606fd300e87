"""Robust pipelines on rows that are read in chunks."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler

from wideberth import (
    RobustKernelSVC,
    RobustLinearRegressor,
    RobustLinearSVC,
    TrueFeatures,
    make_robust_pipeline,
    open_data,
)

NAMES = ["ash", "hue", "proline"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Three features of wines of very different sizes, in a file and as a frame."""
    wine = load_wine(as_frame=True)
    frame = wine.data[NAMES].assign(label=wine.target_names[wine.target])
    frame["alcohol"] = wine.data["alcohol"]
    path = tmp_path_factory.mktemp("table") / "wine.parquet"
    frame.to_parquet(path)
    return path, frame


def in_chunks(table, target="label"):
    """The features in chunks of some dozens of rows."""
    source = open_data(table[0], target, columns=NAMES)
    source.growth = 1e5
    assert len([*source.chunks()]) > 5
    return source


MODELS = {
    "line": lambda noise: [
        StandardScaler(),
        RobustLinearSVC(radius=0.1, noise=noise, tol=1e-9),
    ],
    "kernel": lambda noise: [
        MaxAbsScaler(),
        None,
        RobustKernelSVC(10.0, 0.1, noise=noise, n_components=40, tol=1e-9),
    ],
    "scales by name": lambda noise: [
        StandardScaler(),
        RobustLinearSVC(noise=dict(zip(NAMES, noise / 9, strict=True)), tol=1e-9),
    ],
}


@pytest.mark.parametrize("name", MODELS)
def test_chunks_train_the_pipeline_that_memory_does(table, name):
    X, y = table[1][NAMES], table[1]["label"]
    noise = X.std(axis=0).to_numpy()
    one, other = (make_robust_pipeline(*MODELS[name](noise)) for _ in range(2))
    one.fit(X, y)
    other.fit(in_chunks(table))
    assert one.score(X, y) > 0.8
    for ask in ("decision_function", "certified_radius"):
        expected, found = (getattr(model, ask)(X) for model in (one, other))
        np.testing.assert_allclose(found, expected, atol=1e-3)
        np.testing.assert_allclose(getattr(other, ask)(in_chunks(table)), found)
    assert other[-1].get_params()["noise"] is not None  # as stated


@pytest.mark.parametrize("target", ["label", "alcohol"])
def test_a_nystroem_step_takes_landmarks_from_all_chunks(table, target):
    last = RobustLinearSVC if target == "label" else RobustLinearRegressor
    model = make_robust_pipeline(
        StandardScaler(),
        Nystroem(gamma=0.3, n_components=150, random_state=0),
        last(C=10, radius=0.05, noise=table[1][NAMES].std(axis=0).to_numpy()),
    ).fit(in_chunks(table, target))
    X = table[1][NAMES]
    landmarks = np.unique(model[1].components_, axis=0)
    assert len(landmarks) == 150  # of 178 rows
    if target == "label":
        found = model.predict(X)
        assert np.mean(found == table[1]["label"]) > 0.8
        size = 0.999 * np.minimum(model.certified_radius(X), 5.0)
        moved = X + model.worst_case(X, found, radius=size)
        np.testing.assert_array_equal(model.predict(moved), found)
    else:
        low, high = model.prediction_range(X).T
        assert np.all(low < high)


def test_radii_of_rows_are_columns(table, tmp_path):
    frame = table[1].assign(radius=0.1, weight=np.arange(len(table[1])) % 2)
    frame.to_parquet(tmp_path / "more.parquet")
    parts = StandardScaler(), RobustLinearSVC(tol=1e-9)
    columns = frame.columns.drop(["label"])
    model = make_robust_pipeline(*parts).fit(
        tmp_path / "more.parquet",
        "label",
        robustlinearsvc__radius="radius",
        robustlinearsvc__sample_weight="weight",
    )
    assert model[-1].radius_ is None
    assert list(model.feature_names_in_) == [*columns.drop(["radius", "weight"])]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([PCA(2), RobustLinearSVC()], r"step 'pca' \(PCA\) has no partial_fit"),
        ([TrueFeatures(), RobustLinearSVC()], "TrueFeatures needs the data in memory"),
        ([FunctionTransformer(np.sqrt), RobustLinearSVC()], "not known to be linear"),
        ([Nystroem("poly"), RobustLinearSVC()], "kernel='poly'"),
    ],
)
def test_what_cannot_be_learned_in_chunks_is_refused(table, steps, message):
    model = make_robust_pipeline(*steps)
    with pytest.raises(ValueError, match=message):
        model.fit(in_chunks(table))
    assert not hasattr(model, "noise_")
