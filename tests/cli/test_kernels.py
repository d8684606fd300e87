"""Curved boundaries on the command line: `fit --kernel rbf`, and what it refuses."""

import json
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from commands import as_csv, read_csv, run
from wideberth import RobustKernelSVC, make_robust_pipeline, robust_scorer
from wideberth.cli.evaluation import FoldAnswers, radius_gain
from wideberth.cli.model import load_model
from wideberth.cli.prepare import PreparedNumbers
from wideberth.cli.training import KERNEL_CS
from wideberth.estimators.kernel_svc import quick_answers
from wideberth.estimators.training import TrainingRows

RNG = np.random.default_rng(5)
NAMES = ("east", "north")


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(160, noise=0.2, random_state=0)
    return (X * [10, 1]).round(3), np.array(["down", "up"])[y]


@pytest.fixture(scope="module")
def clouds():
    """Two Gaussians of one covariance, for which a straight boundary is best."""
    rng = np.random.default_rng(6)
    kind = rng.integers(0, 2, 240)
    X = rng.normal(size=(240, 2)) + 1.2 * kind[:, None]
    return X.round(3), np.array(["down", "up"])[kind]


def write(folder, X, y, **columns):
    (folder / "data.csv").write_text(as_csv(X, y, NAMES, "kind", **columns))


def fit(folder, words, code=0):
    command = f"fit data.csv --target kind {words} --json --force"
    told = json.loads(run(command, folder=folder, code=code).stdout)
    return told, {one["code"]: one["text"] for one in told["warnings"]}


def behind_scaler(**parameters):
    options = {"random_state": 0}
    machine = RobustKernelSVC(solver_options=options, **parameters)
    return make_robust_pipeline(StandardScaler(), machine)


# -- the model -------------------------------------------------------------------------


def test_predictions_and_certificates_are_those_of_a_kernel_machine(moons, tmp_path):
    X, y = moons
    write(tmp_path, X, y)
    words = "--kernel rbf --C 10 --radius 0.1 --standardize --folds 0 --out m.wideberth"
    told, _ = fit(tmp_path, words)
    known = behind_scaler(C=10.0, radius=0.1).fit(X, y)
    kernel = told["model"]["kernel"]
    assert kernel["gamma"] == pytest.approx(known[-1].gamma_)
    assert kernel["landmarks"] == known[-1].n_components_
    assert told["model"]["coefficients"] == {}
    reach = known.certified_radius(X)
    for more in ("", "--memory 4GB"):
        with mock.patch("wideberth.cli.predict.AT_ONCE", 500):  # bytes: many parts
            said = run(f"predict m.wideberth data.csv --scores {more}", folder=tmp_path)
            sure = run(f"certify m.wideberth data.csv {more}", folder=tmp_path)
        rows = read_csv(said.stdout)
        assert [row["prediction"] for row in rows] == known.predict(X).tolist()
        scores = [float(row["score up"]) for row in rows]
        np.testing.assert_allclose(scores, known.decision_function(X), atol=1e-6)
        found = [float(row["certified_radius"]) for row in read_csv(sure.stdout)]
        np.testing.assert_allclose(found, reach, rtol=1e-5)
    summary = json.loads(
        run("certify m.wideberth data.csv --json", folder=tmp_path).stdout
    )
    assert summary["certified_accuracy"] == known.robust_score(X, y)
    frame = pd.DataFrame(X, columns=list(NAMES))
    back = load_model(tmp_path / "m.wideberth").pipeline
    assert back.predict(frame).tolist() == known.predict(X).tolist()


def test_C_gamma_and_radius_are_chosen_together(moons, tmp_path):
    X, y = moons
    write(tmp_path, X, y)
    words = "--kernel rbf landmarks=60 gamma=0.1,1 --C auto --radius 0,0.1 --folds 3"
    told, _ = fit(
        tmp_path, f"{words} --standardize --out m.wideberth --score-radius 0.1"
    )
    known = behind_scaler(
        C=KERNEL_CS, radius=[0.0, 0.1], gamma=[0.1, 1.0], n_components=60,
        scoring=robust_scorer(0.1),
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ).fit(X, y)[-1]  # fmt: skip
    choice = told["choice"]
    assert (choice["C"], choice["gamma"]) == (known.C_, known.gamma_)
    assert choice["factor"] == known.radius_
    best = known.cv_scores_.mean(axis=-1)[:, [0.1, 1.0].index(known.gamma_)]
    np.testing.assert_allclose(np.transpose(choice["scores"]), best)
    assert told["model"]["kernel"]["gamma_from"] == "chosen by cross-validation"
    last = load_model(tmp_path / "m.wideberth").pipeline[-1]
    assert (last.C, last.gamma, last.radius) == (known.C_, known.gamma_, known.radius_)


def test_categories_do_not_move_and_gaps_are_filled(moons, tmp_path):
    """What is certified holds whatever the category, and is of the numbers alone."""
    X, y = moons
    place = np.where(RNG.random(len(y)) < 0.5, "Bonn", "Cork")
    holes = X.astype(object)
    holes[::20, 0] = ""
    write(tmp_path, holes, y, place=place)
    words = "--kernel rbf --one-hot auto --missing median --standardize --radius 0.1"
    told, _ = fit(tmp_path, f"{words} --folds 0 --out m.wideberth")
    assert [one["category"] for one in told["data"]["features"]] == [False] * 2 + [
        True
    ] * 2
    pipeline = load_model(tmp_path / "m.wideberth").fitted
    filled = X.copy()
    filled[::20, 0] = np.median(np.delete(X[:, 0], np.s_[::20]))
    rows = np.c_[filled, place == "Bonn", place == "Cork"].astype(float)
    reach = pipeline.certified_radius(rows)
    for _ in range(200):
        move = RNG.normal(size=(len(X), 2))
        move *= (0.999 * reach / np.linalg.norm(move, axis=1))[:, None]
        moved = rows + np.c_[move, np.zeros((len(X), 2))]
        assert np.array_equal(pipeline.predict(moved), pipeline.predict(rows))
    text = run("certify m.wideberth data.csv", folder=tmp_path).stdout
    found = [float(row["certified_radius"]) for row in read_csv(text)]
    np.testing.assert_allclose(found, reach, rtol=1e-9)


def test_where_zero_lies_does_not_matter(moons, tmp_path):
    """Columns such as Julian dates are far from 0: γ and certificates stay."""
    X, y = moons
    words = "--kernel rbf --C 10 --radius 0.1 --folds 0 --out m.wideberth"
    told = []
    for start in (0.0, 2.0**21):
        write(tmp_path, X + np.array([start, 0]), y)
        result, _ = fit(tmp_path, words)
        rows = run("certify m.wideberth data.csv", folder=tmp_path).stdout
        reach = [float(row["certified_radius"]) for row in read_csv(rows)]
        told.append((result["model"]["kernel"]["gamma"], reach))
    (gamma, near), (moved, far) = told
    assert gamma == pytest.approx(moved)
    np.testing.assert_allclose(near, far, atol=1e-4)


def test_a_column_that_never_varies_is_not_scaled():
    """The standard deviation of twenty times 0.1 is rounding, not 0."""
    X = np.column_stack([np.full(20, 0.1), np.arange(20.0)])
    for rows in (X, sp.csr_array(X)):
        made = PreparedNumbers(scale=True).fit_transform(rows)
        made = made.toarray() if sp.issparse(made) else made
        np.testing.assert_array_equal(made[:, 0], X[:, 0])
        np.testing.assert_allclose(made[:, 1].std(), 1)


# -- what a kernel gains and costs -----------------------------------------------------


def test_a_curve_that_pays_says_so_and_what_it_costs(moons, tmp_path):
    write(tmp_path, *moons)
    words = "--kernel rbf --C 10 --radius 0.02 --standardize --report r.html"
    told, said = fit(tmp_path, words)
    worth, found = told["worth"], told["evaluation"]
    assert worth["verdict"].startswith("The kernel paid: more accurate")
    assert worth["curve_as_measured"] == "better"
    assert found["gains"]["line"]["as_measured"]["low"] > 0
    assert not {"line-suffices", "try-kernel"} & set(said)
    shown = run(f"fit data.csv --target kind {words} --force", folder=tmp_path).stdout
    page = " ".join((tmp_path / "r.html").read_text("utf-8").split())
    gain = found["radius_gain"]
    sentence = (
        "Half of the rows left out stay right under all noise up to "
        f"{gain['own']:.4g} in the units of the data, with a straight boundary up to "
        f"{gain['line']:.4g};"
    )
    assert sentence in " ".join(shown.split())
    assert sentence in page


def test_a_line_that_is_as_good_is_advised(clouds, tmp_path):
    write(tmp_path, *clouds)
    told, said = fit(tmp_path, "--kernel rbf --radius 0.1")
    assert told["worth"]["verdict"].startswith("The kernel did not pay")
    assert "Leave out --kernel" in said["line-suffices"]
    assert told["worth"]["curve_as_measured"] in ("even", "worse")


def test_a_quick_curve_advises_a_kernel_only_where_one_pays(moons, clouds, tmp_path):
    write(tmp_path, *moons)
    told, said = fit(tmp_path, "--standardize --C auto")
    assert "--kernel rbf" in said["try-kernel"]
    assert told["evaluation"]["curve_check"]["low"] > 0
    write(tmp_path, *clouds)
    told, said = fit(tmp_path, "--standardize --C auto")
    assert "try-kernel" not in said
    assert told["evaluation"]["curve_check"]["low"] <= 0


def test_noise_that_harms_the_curve_alone_is_named(tmp_path):
    """Noise of one feature moves the whole distance: the line just leaves it out."""
    rng = np.random.default_rng(7)
    kind = rng.integers(0, 2, 300)
    X = np.c_[rng.normal(size=300), 0.8 * kind + rng.normal(0, 0.35, 300)]
    X[:, 1] += 0.5 * X[:, 0] ** 2
    write(tmp_path, X.round(3), np.array(["down", "up"])[kind])
    (tmp_path / "s.csv").write_text("name,scale\neast,1\nnorth,0.01\n")
    words = "--kernel rbf --C 10 --noise s.csv --radius 0.4"
    told, said = fit(tmp_path, words, code=3)
    assert "Choose a smaller radius" in said["null-model"]
    assert told["worth"]["curve_under_noise"] == "worse"
    assert told["evaluation"]["noiseless_curve"]["low"] > 0
    assert "with --radius 0 the difference is" in said["line-suffices"]


def test_the_median_of_differences_has_an_interval_by_signs():
    """It holds the median with the probability stated, whatever the distribution."""
    rng, inside = np.random.default_rng(0), 0
    y = np.ones(41)
    for _ in range(2000):
        own, line = rng.exponential(2, 41), rng.exponential(2, 41)
        gain = radius_gain(FoldAnswers(y, own), FoldAnswers(y, line), y)
        assert gain.low <= gain.median <= gain.high
        inside += gain.low <= 0 <= gain.high
    assert inside >= 0.95 * 2000 - 3 * np.sqrt(2000 * 0.95 * 0.05)


def test_wrong_rows_have_no_radius_and_infinite_ones_are_borne():
    y = np.array([0, 0, 1, 1, 1])
    own = FoldAnswers(np.array([0, 0, 1, 1, 0]), np.array([1, np.inf, 2, 3, 9.0]))
    line = FoldAnswers(np.array([0, 0, 1, 1, 1]), np.array([2, np.inf, 1, 1, 1.0]))
    gain = radius_gain(own, line, y)
    assert (gain.own, gain.line, gain.median) == (2, 1, 0)
    assert (gain.low, gain.high) == (-np.inf, np.inf)  # so few say nothing


def test_quick_answers_are_those_of_ridge_regression(clouds):
    X, y = clouds
    data = TrainingRows.of(X, y)
    straight, _ = quick_answers(data, X, 0)
    A, sign = np.c_[X, np.ones(len(X))], np.where(y == "up", 1, -1)
    scores = A @ np.linalg.lstsq(A, sign, rcond=None)[0]
    clear = np.abs(scores) > 0.02  # the penalty moves scores a little
    assert clear.mean() > 0.9
    assert np.array_equal(straight[clear], np.where(scores > 0, "up", "down")[clear])


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("--kernel laplacian", 2, "'laplacian' is not known; write rbf"),
        ("--kernel rbf gama=1", 2, "'gama=1' is not known; after rbf may follow"),
        ("--kernel rbf gamma=0", 2, "'0' must be a number > 0"),
        ("--kernel rbf landmarks=0", 2, "'0' must be a whole number ≥ 1"),
        ("--kernel rbf --prove 0.01", 2, "--prove is for straight boundaries"),
        ("--kernel rbf --ramp", 2, "--ramp is for straight boundaries. Leave out --ramp or --kernel"),
        ("--kernel rbf --norm-penalty 1", 2, "--norm-penalty is for weights"),
        ("--kernel rbf --memory 1GB", 2, "--kernel needs the whole table"),
        ("--kernel rbf --task regress", 2, "--kernel is for classes, and the target"),
        ("--kernel rbf --target north", 2, "--kernel is for classes, and the target"),
        ("--kernel rbf --model measured", 2, "there are MeasuredSVC(kernel='rbf') and"),
        ("--kernel rbf --model measured --target north", 2, "MeasuredRegressor(kernel='rbf')"),
        ("--kernel rbf --radius-column north --radius 1.0,2.0", 2, "used as they are"),
        ("--kernel rbf --radius-column north --score-radius 1 --C auto", 2, "used as they are"),
    ],
)  # fmt: skip
def test_what_a_kernel_cannot_do_is_refused_in_a_sentence(
    words, code, said, moons, tmp_path
):
    write(tmp_path, *moons)
    target = "" if "--target" in words else "--target kind "
    told = run(f"fit data.csv {target}--drop kind {words}" if not target else
               f"fit data.csv {target}{words}", folder=tmp_path, code=code).stderr  # fmt: skip
    assert said in " ".join(told.split())


def test_sparse_rows_are_refused_by_fit_and_by_models(moons, tmp_path):
    X, y = moons
    rows = [f"{k} 1:{a} 2:{b}" for (a, b), k in zip(X, y == "up", strict=True)]
    (tmp_path / "a.svm").write_text(
        "\n".join(rows).replace("True", "1").replace("False", "0")
    )
    told = run("fit a.svm --kernel rbf", folder=tmp_path, code=1).stderr
    assert "needs distances between rows, and these are sparse" in told
    frame = pd.DataFrame(X, columns=["x1", "x2"]).assign(kind=y)
    frame.to_csv(tmp_path / "data.csv", index=False)
    fit(tmp_path, "--kernel rbf --folds 0 --out m.wideberth")
    told = run("predict m.wideberth a.svm", folder=tmp_path, code=1).stderr
    assert "a.svm is sparse; give a table with all its cells" in told


def test_limits_of_detection_go_with_categories(moons, tmp_path):
    X, y = moons
    place = np.where(RNG.random(len(y)) < 0.5, "Bonn", "Cork")
    cells = X.astype(object)
    cells[:9, 1] = "<0.1"
    write(tmp_path, cells, y, place=place)
    told, _ = fit(tmp_path, "--limits --one-hot auto --folds 0")
    assert told["uncertainty"]["errors"]["north"] == 0
    assert told["data"]["rows_used"] == len(y)
