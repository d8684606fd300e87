import numpy as np
import onnxruntime
import pytest
import skl2onnx
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wideberth.onnx
from wideberth import (
    MeasuredRegressor,
    RobustLinearRegressor,
    RobustLinearRegressorCV,
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
)

X, Y = load_wine(return_X_y=True)
MODELS = {
    "alone": RobustLinearSVC(radius=0.01),
    "pipeline": make_pipeline(StandardScaler(), RobustLinearSVC(radius=0.1)),
    "raw noise": make_robust_pipeline(StandardScaler(), RobustLinearSVC(radius=0.01)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "rename", [lambda y: y, lambda y: np.array(["a", "ö", "c"])[y], lambda y: y > 0]
)
def test_onnx_gives_the_same_labels_and_scores(name, rename, dtype):
    wideberth.onnx.register_onnx()
    data, labels = X.astype(dtype), rename(Y)
    model = clone(MODELS[name]).fit(data, labels)
    graph = skl2onnx.to_onnx(model, data[:1])
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert [output.name for output in session.get_outputs()] == ["label", "scores"]
    label, scores = session.run(None, {session.get_inputs()[0].name: data})
    np.testing.assert_array_equal(label, model.predict(data))
    values = model.decision_function(data).reshape(len(Y), -1)
    np.testing.assert_allclose(
        scores, values, atol=1e-4 if dtype == np.float32 else 1e-10
    )


def test_a_search_is_exported_as_the_model_it_chose():
    wideberth.onnx.register_onnx()
    search = RobustLinearSVCCV([0.1, 1.0], [0, 0.05])
    for model in (search, make_robust_pipeline(StandardScaler(), search)):
        model.fit(X, Y)
        session = onnxruntime.InferenceSession(
            skl2onnx.to_onnx(model, X[:1]).SerializeToString(),
            providers=["CPUExecutionProvider"],
        )
        label, scores = session.run(None, {session.get_inputs()[0].name: X})
        np.testing.assert_array_equal(label, model.predict(X))
        np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-10)
    with pytest.raises(ValueError, match="refit=False"):
        skl2onnx.to_onnx(
            clone(search).set_params(solver_options={"refit": False}).fit(X, Y), X[:1]
        )


NUMBERS = {
    "alone": RobustLinearRegressor(radius=0.01),
    "pipeline": make_pipeline(StandardScaler(), RobustLinearRegressor(0.9)),
    "raw noise": make_robust_pipeline(
        StandardScaler(), RobustLinearRegressor(noise=0.1 * X[:, 1:].std(axis=0))
    ),
    "search": make_robust_pipeline(
        StandardScaler(), RobustLinearRegressorCV(Cs=[0.1, 1.0])
    ),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NUMBERS)
def test_onnx_predicts_the_same_numbers(name, dtype):
    wideberth.onnx.register_onnx()
    data, y = X[:, 1:].astype(dtype), X[:, 0]
    model = clone(NUMBERS[name]).fit(data, y)
    session = onnxruntime.InferenceSession(
        skl2onnx.to_onnx(model, data[:1]).SerializeToString(),
        providers=["CPUExecutionProvider"],
    )
    (found,) = session.run(None, {session.get_inputs()[0].name: data})
    assert (found.shape, found.dtype) == ((len(y), 1), dtype)
    close = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found[:, 0], model.predict(data), atol=close)


def test_onnx_says_that_a_measured_line_needs_errors():
    wideberth.onnx.register_onnx()
    model = MeasuredRegressor(cv=None).fit(X[:, 1:], X[:, 0], X_err=0.01)
    with pytest.raises(ValueError, match="For exact rows it is a line"):
        skl2onnx.to_onnx(model, X[:1, 1:])
    model = MeasuredRegressor(cv=None, kernel="rbf").fit(X[:50, 1:], X[:50, 0])
    with pytest.raises(ValueError, match="Predict with the model itself"):
        skl2onnx.to_onnx(model, X[:1, 1:])


ERRORS = 0.05 * X * np.random.default_rng(0).random(X.shape)
MEASURED = {
    "alone": RobustLinearSVC(),
    "scaled": make_robust_pipeline(StandardScaler(), RobustLinearSVC()),
    "boxes": RobustLinearSVC(error_shape="box"),
}


@pytest.mark.parametrize("name", ["alone", "boxes"])
def test_tools_of_scikit_learn_hand_error_bars_on(name):
    model, labels = clone(MEASURED[name]), np.minimum(Y, 1)
    given = {"cv": 3, "params": {"X_err": ERRORS}}
    with sklearn.config_context(enable_metadata_routing=True):
        calibrated = CalibratedClassifierCV(model, cv=3).fit(X, labels, X_err=ERRORS)
        assert calibrated.predict_proba(X).shape == (len(X), 2)
        for one in calibrated.calibrated_classifiers_:
            with pytest.raises(ValueError, match="X_err must be given"):
                one.estimator.certified_radius(X)
        _, _, scores = learning_curve(model, X, labels, **given, train_sizes=[0.5, 1.0])
        last = cross_val_score(model, X, labels, **given)
        np.testing.assert_allclose(scores[-1], last)
        folds = StratifiedKFold(3).split(X, labels)
        predicted = cross_val_predict(model, X, labels, **given)
        for (_, test), score in zip(folds, last, strict=True):
            assert np.mean(predicted[test] == labels[test]) == pytest.approx(score)


def test_onnx_refuses_labels_it_does_not_know():
    model = RobustLinearSVC().fit(X, Y.astype(float))
    with pytest.raises(ValueError, match="classes_ are of type float64"):
        wideberth.onnx._labels(model)


@pytest.mark.parametrize(
    ("data", "beside"),
    [
        ((X, Y), {}),
        ((lambda: [(X, Y)],), {}),
        ((X, Y), {"X_err": np.full(X.shape, 0.05)}),
    ],
    ids=["rows", "chunks", "error bars"],
)
def test_a_callback_sees_every_certified_point_and_can_end_the_fit(data, beside):
    seen = []
    options = {"callback": lambda label, entry: seen.append((label, entry["gap"]))}
    model = RobustLinearSVC(solver_options=options).fit(*data, **beside)
    gaps = [point["gap"] for report in model.screening_ for point in report["trace"]]
    assert [gap for _, gap in seen] == gaps
    assert {label for label, _ in seen} == {*Y.tolist()} - (
        {Y.min()} if len(model.classes_) == 2 else set()
    )
    model.set_params(tol=1e-14, solver_options={"callback": lambda *seen: True})
    with pytest.warns(UserWarning, match="the callback asked to stop"):
        model.fit(*data, **beside)
    assert all(len(report["trace"]) <= 2 for report in model.screening_)
