"""What a classifier with the ramp loss keeps: whom it doubts, and how it got there."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVC, make_robust_pipeline, solve

WRONG = [4, 17, 58, 73]


@pytest.fixture(scope="module")
def data():
    """Two classes that are apart, features of unlike scales, and four wrong labels."""
    rng = np.random.default_rng(0)
    k = np.arange(100) % 2
    X = (rng.normal(size=(100, 3)) + 7 * np.outer(k, [1, 1, 0])) * [1, 10, 0.1]
    k[WRONG] = 1 - k[WRONG]
    return X, np.array(["no", "yes"])[k]


def test_a_pipeline_suspects_rows_of_the_data_in_its_units(data):
    X, y = data
    scales = np.array([0.2, 2.0, 0.02])
    model = make_robust_pipeline(
        StandardScaler(), RobustLinearSVC(radius=0.5, noise=scales, ramp=-1.0)
    ).fit(X, y)
    found = model[-1].suspects_
    assert sorted(found["sample"].tolist()) == WRONG
    assert np.array_equal(found["label"], y[found["sample"]])
    assert np.array_equal(found["predicted"], model.predict(X[found["sample"]]))
    # On the wrong side by as much noise as the prediction withstands.
    distance = model.certified_radius(X[found["sample"]])
    np.testing.assert_allclose(found["distance"], distance)
    np.testing.assert_allclose(found["noises"], distance / 0.5)
    assert np.all(np.diff(found["distance"]) <= 0)


def test_a_model_keeps_how_it_got_there_and_forgets_it(data):
    X, y = data
    model = RobustLinearSVC(ramp=-0.5, solver_options={"starts": 2}).fit(X, y)
    found = solve(X, y == "yes", ramp=-0.5, starts=2, tol=model.tol).descent
    (kept,) = model.descent_
    assert kept["left_out"] == found.left_out.sum() >= len(WRONG)
    assert kept["objectives"] == pytest.approx(list(found.objectives))
    assert kept["ending"] == found.ending
    model.set_params(ramp=None).fit(X, y)
    assert not hasattr(model, "suspects_")
    assert not hasattr(model, "descent_")
