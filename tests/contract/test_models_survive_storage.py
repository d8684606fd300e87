"""A model answers the same after pickling, cloning and a file of the command line."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from wideberth import (
    MeasuredRegressor,
    MeasuredSVC,
    RobustKernelSVC,
    RobustLinearRegressor,
    RobustLinearRegressorCV,
    RobustLinearSVC,
    RobustLinearSVCCV,
    TrueFeatures,
    load_model,
    make_robust_pipeline,
)
from wideberth.cli import main

RNG = np.random.default_rng(2)
X = RNG.normal(size=(90, 3))
E = 0.3 * RNG.random(X.shape)
LABELS = np.where(X[:, 0] + 0.5 * RNG.normal(size=90) > 0, "up", "down")
NUMBERS = X[:, 0] + RNG.normal(size=90)
MODELS = {
    "svc": (RobustLinearSVC(), LABELS),
    "search": (RobustLinearSVCCV(Cs=[0.1, 1.0], radii=[0.5, 1.0], cv=3), LABELS),
    "regressor": (RobustLinearRegressor(), NUMBERS),
    "numbers": (RobustLinearRegressorCV(Cs=[0.1, 1.0], radii=[0.5], cv=3), NUMBERS),
    "kernel": (RobustKernelSVC(), LABELS),
    "pipeline": (make_robust_pipeline(StandardScaler(), RobustLinearSVC()), LABELS),
    "posterior": (make_robust_pipeline(TrueFeatures(), RobustLinearSVC()), LABELS),
    "measured": (MeasuredSVC(probability=True), LABELS),
    "measured curve": (MeasuredSVC(kernel="rbf"), LABELS),
    "line": (MeasuredRegressor(), NUMBERS),
    "curve": (MeasuredRegressor(kernel="rbf", cv=2), NUMBERS),
}


def answers(model) -> np.ndarray:
    """Predictions of new rows, with errors where the model asks for them."""
    rows, errors = X[:20] + 0.1, E[:20]
    if type(model).__name__.startswith("Measured") or "truefeatures" in getattr(
        model, "named_steps", {}
    ):
        return model.predict(rows, X_err=errors)
    return model.predict(rows)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_a_pickled_model_and_a_clone_answer_the_same(name):
    model, y = MODELS[name]
    bars = {} if name == "kernel" else {"X_err": E}
    fitted = clone(model).fit(X, y, **bars)
    stored = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(answers(stored), answers(fitted))
    again = clone(fitted).fit(X, y, **bars)
    assert np.array_equal(answers(again), answers(fitted))


@pytest.mark.parametrize("target", ["label", "number"])
def test_a_model_file_predicts_what_the_command_predicts(target, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame[target] = LABELS if target == "label" else NUMBERS
    train, new = tmp_path / "train.csv", tmp_path / "new.csv"
    frame.to_csv(train, index=False)
    frame.drop(columns=target).to_csv(new, index=False)
    model, out = tmp_path / "m.wideberth", tmp_path / "answers.csv"
    assert main(["fit", str(train), "--target", target, "--out", str(model)]) == 0
    assert main(["predict", str(model), str(new), "--out", str(out)]) == 0
    written = pd.read_csv(out)
    said = load_model(model).pipeline.predict(frame[["a", "b", "c"]])
    column = next(c for c in written.columns if c.startswith("predict"))
    if target == "label":
        assert list(written[column]) == list(said)
    else:
        np.testing.assert_allclose(written[column], said, rtol=1e-9)
