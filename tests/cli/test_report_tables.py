"""Every cell of every table of a report is what the data and the saved model say."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from commands import run
from html_tables import tables_of
from recomputed import CHECKS, Case, CurvedCase, Noise
from wideberth import Box, RobustLinearSVCCV
from wideberth.cli.model import load_model
from wideberth.cli.output import TextTable, aligned
from wideberth.measurement.radius import noise_from_replicates
from wideberth.report.page import align

TARGET = "state"


@pytest.mark.parametrize(
    ("column", "aligned_at"),
    [
        (["97.25 ± 0.56 %", "97.0 ± 1.1 %", "56.8 %"], ["97.25", "97.0", "56.8"]),
        (["0.501", "−12.5", "3"], ["0", "−12", "3"]),
    ],
)
def test_numbers_of_a_column_stand_one_below_the_other(column, aligned_at):
    """At their ±, their % or their point, on the terminal and on the page."""
    rows = [[text] for text in [*column, "–"]]
    lines = aligned([("", TextTable(["x"], rows, ()))]).splitlines()[1:-1]
    pairs = list(zip(lines, aligned_at, strict=True))
    assert len({line.index(own) + len(own) for line, own in pairs}) == 1
    cells = "".join(f'<tr><td data-value="">{text}</td></tr>' for text in column)
    assert align(cells).count("--lack") == 2


def measurements(n=90, d=3, classes=2, seed=0):
    """Rows of overlapping classes whose features have different scales, and a frame."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, classes, n)
    scales = np.array([1.0, 2.0, 10.0, *np.ones(max(d - 3, 0))])[:d]
    shift = np.zeros((classes, d))
    shift[:, :2] = 1.5 * np.array([[0, 0], [1, 1], [2, -2]])[:classes]
    X = ((rng.normal(size=(n, d)) + shift[kind]) * scales + 5).round(3)
    y = np.array(["ill", "sick", "well"])[kind]
    names = ["mass", "temp", "size", *(f"x{j}" for j in range(3, d))][:d]
    return X, y, names, pd.DataFrame(X, columns=names).assign(**{TARGET: y})


def ordinary():
    X, y, names, frame = measurements()
    return Case(frame, "", names, X, y)


def standardized_with_gaps():
    X, y, names, frame = measurements()
    gone = [3, 11, 40]
    frame.loc[gone, "temp"] = np.nan
    kept = np.setdiff1d(np.arange(90), gone)
    words = "--radius 0.3 --standardize --C 0.5"
    return Case(
        frame, words, names, X[kept], y[kept], kept=kept, radius=0.3,
        steps=(StandardScaler(),), settings={"C": 0.5}, plain={"C": 0.5},
    )  # fmt: skip


def three_classes():
    X, y, names, frame = measurements(classes=3)
    words = "--radius 0.4 --class-weight balanced"
    balanced = {"class_weight": "balanced"}
    kept = np.r_[np.flatnonzero(y != "ill"), np.flatnonzero(y == "ill")[:8]]
    kept = np.sort(kept)
    frame = frame.iloc[kept].reset_index(drop=True)
    given = {"radius": 0.4, "settings": balanced, "plain": balanced}
    return Case(frame, words, names, X[kept], y[kept], **given)


def noise_scales():
    X, y, names, frame = measurements()
    scales = np.array([0.5, 1.5, 4.0])
    text = "name,scale\n" + "\n".join(map("{},{}".format, names, scales))
    return Case(
        frame, "--noise scales.csv --radius 0.3", names, X, y, radius=0.3,
        noise=Noise(scales), given=scales, scales=True, files={"scales.csv": text},
    )  # fmt: skip


def tolerances_of_many_features():
    X, y, names, frame = measurements(d=60, n=80)
    scales = np.linspace(0.02, 0.05, 60).round(4)
    text = "name,scale\n" + "\n".join(map("{},{}".format, names, scales))
    words = "--noise linf scales.csv --norm-penalty 2 --folds 3"
    return Case(
        frame, words, names, X, y, radius=1.0, noise=Noise(scales, "linf"),
        given=Box(scales), scales=True, files={"scales.csv": text}, folds=3,
        settings={"norm_penalty": 2.0},
    )  # fmt: skip


def errors_of_many_features():
    X, y, names, frame = measurements(d=28, n=60)
    E = np.random.default_rng(1).uniform(0.1, 1, X.shape).round(3)
    for j, name in enumerate(names):
        frame[f"{name}_err"] = E[:, j]
    words = "--errors suffix:_err --radius 0.5 --folds 3"
    given = {"radius": 0.5, "errors": E, "noise": Noise(E), "folds": 3}
    return Case(frame, words, names, X, y, **given)


def categories():
    X, y, names, frame = measurements(d=2)
    colour = np.where(np.random.default_rng(2).random(90) < 0.4, "red", "blue")
    frame["colour"] = colour
    both = np.c_[X, colour == "blue", colour == "red"].astype(float)
    sizes = np.array([1.0, 1, 0, 0])
    return Case(
        frame, "--one-hot colour --radius 0.2", [*names, "colour=blue", "colour=red"],
        both, y, radius=0.2, noise=Noise(sizes), given=sizes, scales=True,
    )  # fmt: skip


def wrong_labels():
    X, y, names, frame = measurements()
    far = np.argsort(X[:, 0])
    for i in (*far[:3], *far[-3:]):
        y[i] = "ill" if y[i] == "sick" else "sick"
    frame[TARGET], frame["who"] = y, [f"p{i}" for i in range(90)]
    ids = frame["who"].to_numpy()
    return Case(
        frame, "--ramp --ramp -0.5 --id who --radius 0.1", names, X, y, ids=ids,
        radius=0.1, settings={"ramp": -0.5},
    )  # fmt: skip


def chosen_by_cross_validation():
    X, y, names, frame = measurements()

    def search(X, y):
        return RobustLinearSVCCV(
            12, [0.3, 0.6], solver_options={"random_state": 0, "refit": False},
            cv=StratifiedKFold(3, shuffle=True, random_state=0),
        ).fit(X, y)  # fmt: skip

    asked = search(X, y).radius_  # noise to withstand is that of the radius chosen

    def choose(X, y):
        found = search(X, y)
        return found.C_, found.radius_ / asked

    words = "--C auto --radius 0.3,0.6 --folds 3"
    return Case(frame, words, names, X, y, radius=asked, choose=choose, folds=3)


def radius_of_each_row():
    X, y, names, frame = measurements()
    frame["sigma"] = np.random.default_rng(3).uniform(0.1, 1, 90).round(3)
    words = "--radius-column sigma"
    return Case(frame, words, names, X, y, radius=frame["sigma"].to_numpy())


def replicates():
    X, y, names, _ = measurements(n=60)
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(60), rng.integers(1, 4, 60))
    read = (X[who] + rng.normal(size=(len(who), 3)) * [0.2, 0.4, 1.0]).round(3)
    frame = pd.DataFrame(read, columns=names).assign(who=who, **{TARGET: y[who]})
    groups = [read[who == k] for k in range(60)]
    scales, radii = noise_from_replicates(groups)
    return Case(
        frame, "--replicates who", names, np.array([g.mean(axis=0) for g in groups]), y,
        kept=np.searchsorted(who, np.arange(60)), ids=np.arange(60).astype(str),
        radius=radii, noise=Noise(scales), given=scales, scales=True,
    )  # fmt: skip


def true_values(classes):
    X, y, names, frame = measurements(n=120, classes=classes, seed=5)
    rng = np.random.default_rng(6)
    E = (rng.uniform(0.1, 1.2, X.shape) * [1, 2, 10]).round(3)
    X = (X + E * rng.normal(size=X.shape)).round(3)
    X[rng.random(X.shape) < 0.2] = np.nan
    frame[names] = X
    for j, name in enumerate(names):
        frame[f"{name}_err"] = np.where(np.isnan(X[:, j]), np.nan, E[:, j])
    E[np.isnan(X)] = 0
    words = "--model measured --errors suffix:_err --folds 3"
    steps = SimpleImputer(strategy="median"), StandardScaler()
    given = {"errors": E, "measured": True, "steps": steps, "folds": 3}
    return Case(frame, words, names, X, y, **given)


def true_values_of_two_classes():
    return true_values(2)


def true_values_of_three_classes():
    return true_values(3)


def around(n=120):
    """Rows of two classes, one around the other."""
    rng = np.random.default_rng(8)
    kind = rng.integers(0, 2, n)
    far, turn = rng.normal(1 + 2.0 * kind, 0.5), rng.uniform(0, 2 * np.pi, n)
    X = np.c_[far * np.cos(turn), far * np.sin(turn), rng.normal(size=n)] * [1, 2, 1]
    X[:, 0] += 2.0 * kind
    y, names = np.array(["in", "out"])[kind], ["mass", "temp", "size"]
    X = X.round(3)
    return X, y, names, pd.DataFrame(X, columns=names).assign(**{TARGET: y})


def curved():
    X, y, names, frame = around()
    words = "--kernel rbf gamma=0.4 landmarks=30 --C 5 --radius 0.2 --folds 3"
    kernel = {"gamma": 0.4, "n_components": 30}
    return CurvedCase(
        frame, words, names, X, y, radius=0.2, settings={"C": 5.0}, folds=3,
        steps=(StandardScaler(with_std=False),), kernel=kernel, longest=0.2,
    )  # fmt: skip


def curved_with_tolerances():
    X, y, names, frame = around()
    scales = np.array([0.2, 0.4, 0.1])
    text = "name,scale\n" + "\n".join(map("{},{}".format, names, scales))
    words = "--kernel rbf landmarks=40 --C 5 --noise linf s.csv --radius 0.5 --folds 3"
    return CurvedCase(
        frame, words, names, X, y, radius=0.5, noise=Noise(scales, "linf"),
        given=Box(scales), scales=True, files={"s.csv": text}, folds=3,
        settings={"C": 5.0}, steps=(StandardScaler(with_std=False),), kernel={"n_components": 40},
        longest=0.5 * np.linalg.norm(scales),
    )  # fmt: skip


EVERYWHERE = {
    *("Class by class", "Scales of the features", "Certificates"),
    *("Accuracy", "Weights"),
}
FLIPS, NOISY = "Rows that flip most easily", "What to measure more precisely"
BESIDE = "The kernel beside a straight boundary"
TRUE = {"The most doubtful rows", "What to measure again"}
#: Tables of the report of each case, beside those that every report has.
CASES = {
    ordinary: {FLIPS},
    standardized_with_gaps: {FLIPS, NOISY},
    three_classes: {FLIPS, NOISY, "Balanced accuracy", "Critical radius"},
    noise_scales: {FLIPS, NOISY},
    categories: {FLIPS, NOISY},
    tolerances_of_many_features: {FLIPS, "The other features"},
    errors_of_many_features: {FLIPS, NOISY, "The other features"},
    wrong_labels: {FLIPS, NOISY, "The most doubtful labels"},
    chosen_by_cross_validation: {FLIPS, NOISY},
    radius_of_each_row: {FLIPS, NOISY},
    replicates: {FLIPS, NOISY},
    curved: {FLIPS, NOISY, BESIDE},
    curved_with_tolerances: {FLIPS, NOISY, BESIDE},
    true_values_of_two_classes: TRUE,
    true_values_of_three_classes: TRUE,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # of models that see little
@pytest.mark.parametrize("made", CASES, ids=lambda made: made.__name__)
def test_every_table_is_what_the_data_says(made, tmp_path):
    case = made()
    case.frame.to_csv(tmp_path / "data.csv", index=False)
    for name, content in case.files.items():
        (tmp_path / name).write_text(content)
    words = f"fit data.csv --target {TARGET} {case.words} --json"
    told = run(words, "--out", "m.wideberth", "--report", "r.html", folder=tmp_path)
    case.result = json.loads(told.stdout)
    case.model = load_model(tmp_path / "m.wideberth").fitted
    page = (tmp_path / "r.html").read_text("utf-8")
    tables = {table.label: table for table in tables_of(page)}
    assert page.count("<table") == len(tables)
    expected = EVERYWHERE | CASES[made]
    expected -= {"Accuracy"} if "Balanced accuracy" in expected else set()
    expected -= {"Weights"} if BESIDE in expected else set()
    assert set(tables) == expected  # a table more, or less, is to be told here
    for label, table in tables.items():
        assert table.rows, label
        CHECKS[label](case, table)
    pattern = r"the products and the constant\s+(\S+) is the score\."
    if BESIDE in expected:
        pattern = r"‖x − c‖²\) plus\s+(\S+?);"
    if len(case.classes) > 2:
        _, _, listed = page.partition("<h3>Constants</h3>")
        pattern, page = r"<dd>(.*?)</dd>", listed.partition("</dl>")[0]
    told = [float(b.replace("−", "-")) for b in re.findall(pattern, page)]
    np.testing.assert_allclose(told, case.linear.b, rtol=1e-3)


def test_every_table_has_its_case():
    assert set().union(EVERYWHERE, *CASES.values()) == set(CHECKS)
