"""One rule for the radius where none is given, whoever trains.

It is 1 where the user states scales, 0 for a norm without scales, and 0 for the
covariances that `TrueFeatures` hands on. Radii of a search are factors on the scales.
"""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from commands import as_csv, run
from wideberth import (
    Box,
    Correlated,
    CrossPolytope,
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
    path,
    radius_from_std,
    solve,
)
from wideberth.noise import L2, Posteriors
from wideberth.noise.reading import read_errors
from wideberth.noise.shapes import L1, Linf
from wideberth.problem import Problem

N, D = 60, 3
NAMES = ("mass", "temp", "size")
RNG = np.random.default_rng(0)
X = (RNG.normal(size=(N, D)) * [1.0, 2.0, 0.5]).round(3)
Y = np.where(X[:, 0] + X[:, 2] + 0.3 * RNG.normal(size=N) > 0, 1, -1)
SCALES = np.array([0.1, 0.3, 0.05])
ERRORS = (SCALES * RNG.uniform(0.5, 1.5, size=(N, D))).round(3)
MATRIX = np.diag(SCALES**2) + 0.001
EACH = MATRIX * RNG.uniform(0.5, 1.5, size=(N, 1, 1))

#: What is said about noise that all samples share, and the radius that goes with it.
SHARED = {
    "nothing": ({}, 0.0),
    "l2": ({"noise": "l2"}, 0.0),
    "linf": ({"noise": "linf"}, 0.0),
    "l1": ({"noise": "l1"}, 0.0),
    "shape l2": ({"noise": L2()}, 0.0),
    "shape linf": ({"noise": Linf()}, 0.0),
    "shape l1": ({"noise": L1()}, 0.0),
    "list of scales": ({"noise": SCALES.tolist()}, 1.0),
    "array of scales": ({"noise": SCALES}, 1.0),
    "covariance": ({"noise": MATRIX}, 1.0),
    "Correlated": ({"noise": Correlated(MATRIX)}, 1.0),
    "factor": ({"noise": Correlated.from_factor(np.diag(SCALES))}, 1.0),
    "Box": ({"noise": Box(SCALES)}, 1.0),
    "CrossPolytope": ({"noise": CrossPolytope(SCALES)}, 1.0),
}
#: Error bars of every sample.
BARS = {
    "standard errors": {"X_err": ERRORS},
    "sparse errors": {"X_err": sp.csr_array(ERRORS)},
    "covariances": {"X_err": EACH},
    "tolerances": {"X_err": ERRORS, "error_shape": "box"},
    "lopsided": {"X_err": (ERRORS, 2 * ERRORS), "error_shape": "box"},
    "sets": {"X_err": read_errors(ERRORS, "ellipsoid", X.shape)},
}
STATEMENTS = SHARED | {name: (stated, 1.0) for name, stated in BARS.items()}
STATEMENTS["posteriors"] = ({"X_err": Posteriors.of(EACH)}, 0.0)


def split(stated):
    """What is said to an estimator, and what to its `fit`."""
    fit = {name: value for name, value in stated.items() if name == "X_err"}
    return {n: v for n, v in stated.items() if n not in fit}, fit


def by_solve(stated, data=(X, Y)):
    """Of 0 and 1 the radius whose model is the one without any."""
    found = {
        radius: solve(*data, **stated, **given, quiet=True).w
        for radius, given in {0.0: {"radius": 0}, 1.0: {"radius": 1}, None: {}}.items()
    }
    assert not np.allclose(found[0.0], found[1.0], rtol=1e-3)
    (used,) = (r for r in (0.0, 1.0) if np.array_equal(found[r], found[None]))
    return used


def by_problem(stated):
    (radius,) = {*Problem.from_data(X, Y, **stated).radii.tolist()}
    return radius


def by_path(stated):
    (radius,) = path(X, Y, Cs=[1.0], **stated, quiet=True).radii
    return radius


def by_classifier(stated):
    said, beside = split(stated)
    return RobustLinearSVC(**said).fit(X, Y, **beside).radius_


def by_search(stated):
    said, beside = split(stated)
    search = RobustLinearSVCCV([1.0], **said, cv=2).fit(X, Y, **beside)
    (radius,) = search.radii_
    assert radius == search.radius_ == search.best_estimator_.radius_
    return radius


def by_pipeline(stated):
    """Behind a scaler, which gives scales to a norm that was stated without."""
    said, beside = split(stated)
    model = make_robust_pipeline(StandardScaler(), RobustLinearSVC(**said))
    beside = {f"robustlinearsvc__{name}": value for name, value in beside.items()}
    return model.fit(X, Y, **beside)[-1].radius_


TRAINERS = [by_solve, by_problem, by_path, by_classifier, by_search, by_pipeline]
#: One statement of each kind.
KINDS = ("linf", "array of scales", "Correlated", "Box", "covariances", "posteriors")
#: A `Problem` takes a covariance in its principal axes only.
TABLE = [
    (train, said)
    for train in TRAINERS
    for said in (STATEMENTS if train is by_solve else KINDS)
    if not (train is by_problem and said == "Correlated")
]


@pytest.mark.filterwarnings("ignore::wideberth.NullModelWarning")
@pytest.mark.parametrize(("train", "said"), TABLE)
def test_all_train_with_the_same_radius_by_default(train, said):
    stated, expected = STATEMENTS[said]
    assert train(stated) == expected


# -- data that is read in chunks -------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table as Parquet and CSV with errors beside it, and a file of scales."""
    folder = tmp_path_factory.mktemp("radius")
    errors = {f"{name}_err": ERRORS[:, j] for j, name in enumerate(NAMES)}
    values = {name: X[:, j] for j, name in enumerate(NAMES)}
    pq.write_table(pa.table({**values, **errors, "state": Y}), folder / "t.parquet")
    pq.write_table(pa.table({**values, "state": Y}), folder / "plain.parquet")
    (folder / "t.csv").write_text(as_csv(X, Y, **errors))
    (folder / "plain.csv").write_text(as_csv(X, Y))
    lines = [f"{name},{scale}" for name, scale in zip(NAMES, SCALES, strict=True)]
    (folder / "scales.csv").write_text("\n".join(["name,scale", *lines]))
    return folder


@pytest.mark.filterwarnings("ignore::wideberth.NullModelWarning")
@pytest.mark.parametrize("said", [said for said in KINDS if said in SHARED])
def test_chunks_and_files_are_trained_with_the_same_radius(folder, said):
    stated, expected = SHARED[said]
    half = N // 2
    chunks = [(X[:half], Y[:half]), (X[half:], Y[half:])]
    assert by_solve(stated, (chunks,)) == expected
    assert RobustLinearSVC(**stated).fit(chunks).radius_ == expected
    file = RobustLinearSVC(**stated).fit(folder / "plain.parquet", "state")
    assert file.radius_ == expected


@pytest.mark.parametrize("shape", ["ellipsoid", "box"])
def test_error_bars_in_chunks_and_files_count_once(folder, shape):
    chunks = [(X, Y, None, None, ERRORS)]
    assert by_solve({"error_shape": shape}, (chunks,)) == 1
    model = RobustLinearSVC(error_shape=shape)
    assert model.fit(chunks).radius_ == 1
    columns = {name: f"{name}_err" for name in NAMES}
    assert model.fit(folder / "t.parquet", "state", X_err=columns).radius_ == 1


# -- true features ---------------------------------------------------------------------


def measured(n=300, seed=1):
    """Objects with errors that differ and a third of the cells missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    true = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4)) + 1.5 * y[:, None]
    errors = rng.uniform(0.05, 1, size=true.shape)
    values = true + errors * rng.normal(size=true.shape)
    values[rng.random(values.shape) < 0.35] = np.nan
    return values, y, errors


# -- searches --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", ["array of scales", "Box", "Correlated", "covariances"]
)
def test_radii_of_a_search_are_factors_on_the_scales(said):
    stated, _ = STATEMENTS[said]
    said, beside = split(stated)
    for factor in (0.0, 0.5, 1.0):
        search = RobustLinearSVCCV([1.0], [factor], **said, cv=2, tol=1e-8)
        w = search.fit(X, Y, **beside).coef_[0]
        expected = solve(X, Y, radius=factor, **stated, tol=1e-8).w
        np.testing.assert_allclose(w, expected, atol=1e-4)
        (point,) = path(X, Y, Cs=[1.0], radii=[factor], **stated, tol=1e-8)
        np.testing.assert_allclose(point.w, expected, atol=1e-4)
    # Beside sizes of the samples they are factors on those.
    search = RobustLinearSVCCV([1.0], **said, cv=2).fit(X, Y, radius=0.5, **beside)
    assert search.radius_ == 1
    assert search.best_estimator_.radius_ == 0.5


# -- the command line ------------------------------------------------------------------

COMMANDS = {
    "": 0.0,
    "--noise linf": 0.0,
    "--noise l1": 0.0,
    "--noise scales.csv": 1.0,
    "--noise linf scales.csv": 1.0,
    "--noise l1 scales.csv": 1.0,
    "--errors suffix:_err": 1.0,
    "--errors suffix:_err box": 1.0,
    "--errors suffix:_err --model measured": 0.0,
    "--model measured": 0.0,
}


def fitted(folder, said, *more):
    """What `fit` says as JSON of the table that goes with the options."""
    data = "t.csv" if "--errors" in said else "plain.csv"
    asked = f"fit {data} --target state --folds 0 --json {said}"
    return json.loads(run(asked, *more, folder=folder).stdout)


@pytest.mark.parametrize("said", COMMANDS)
def test_the_command_line_goes_by_the_same_rule(folder, said):
    noise = fitted(folder, said)["uncertainty"]
    assert (noise["smallest"], noise["largest"]) == (COMMANDS[said], COMMANDS[said])
    story = "none" if COMMANDS[said] == 0 else "1 "
    assert noise["story"].startswith(story)
    if "measured" in said:
        return
    if "std" not in said:
        noise = fitted(folder, said, "--memory", "8GB")["uncertainty"]
        assert noise["largest"] == COMMANDS[said]


def test_a_radius_that_covers_the_noise_is_there_for_the_asking(folder):
    asked = "--noise scales.csv --confidence 0.9"
    noise = fitted(folder, asked)["uncertainty"]
    expected = radius_from_std(1.0, D, noise=SCALES, confidence=0.9)
    assert noise["largest"] == pytest.approx(expected)
    assert "covers" in noise["story"]
