"""Model files: everything that `fit` writes comes back exactly, in this and in later
versions, and a file that is not one of ours is refused in a sentence."""

import io
import json
import re
import warnings
import zipfile
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from commands import as_csv, run, through_file
from wideberth import (
    Box,
    CrossPolytope,
    MeasuredRegressor,
    MeasuredSVC,
    RobustKernelSVC,
    RobustLinearRegressor,
    RobustLinearRegressorCV,
    RobustLinearSVC,
    TrueFeatures,
)
from wideberth import make_robust_pipeline as pipeline
from wideberth.cli import fit as fit_command
from wideberth.cli.errors import UserError
from wideberth.cli.model import decider_of, dump_model, load_model, open_model
from wideberth.cli.model_file import dumps, loads
from wideberth.cli.prepare import PreparedNumbers

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 4)) * [1, 2, 10, 0.1]
TWO = X[:, 0] + 0.1 * X[:, 2] > 0
THREE = TWO.astype(int) + (X[:, 1] > 1)
ERRORS = RNG.uniform(0.01, 0.1, size=X.shape) * [1, 2, 10, 0.1]
NUMBERS = X @ [1.0, -1.0, 0.3, 5.0] + 0.5 * RNG.standard_t(3, size=N)
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)


def same(a, b):
    """Require that two values are the same to the last bit, however they are nested."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.flags.f_contiguous) == (
            (b.dtype, b.shape, b.flags.f_contiguous)
        )
        assert a.tolist() == b.tolist() if a.dtype == object else (
            np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
        )  # fmt: skip
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif sp.issparse(a):
        same([a.data, a.indices, a.indptr], [b.data, b.indices, b.indptr])
        assert a.shape == b.shape
    elif isinstance(a, BaseEstimator) or is_dataclass(a) or hasattr(a, "scales"):
        assert vars(a).keys() == vars(b).keys()
        same({k: vars(a)[k] for k in vars(a)}, {k: vars(b)[k] for k in vars(a)})
    else:
        assert a == b or (a != a and b != b)


# -- what is written comes back --------------------------------------------------------


SVC = RobustLinearSVC
MODELS = {
    "binary": lambda: SVC(radius=0.1).fit(X, TWO),
    "three classes": lambda: SVC(radius=0.1).fit(X, np.array(["ä", "b", "c"])[THREE]),
    "numbers as classes": lambda: SVC().fit(X, np.where(TWO, 2.0, -1.0)),
    "ramp": lambda: SVC(radius=0.1, ramp=-1.0, solver_options={"starts": 2}).fit(
        X, np.roll(TWO, 1)
    ),
    "ramp, three classes": lambda: SVC(ramp=-0.5).fit(X, np.array(list("abc"))[THREE]),
    "box": lambda: SVC(noise="linf", radius=0.1, norm_penalty=0.5).fit(X, TWO),
    "budget": lambda: SVC(noise="l1", radius=0.1).fit(X, TWO),
    "scales": lambda: SVC(noise=X.std(axis=0), radius=0.1).fit(X, THREE),
    "tolerances": lambda: SVC(noise=Box(0.1 * X.std(axis=0))).fit(X, THREE),
    "scaled budget": lambda: SVC(noise=CrossPolytope(0.1 * X.std(axis=0))).fit(X, TWO),
    "radius per row": lambda: SVC().fit(X, TWO, radius=np.linspace(0, 0.3, N)),
    "class weights": lambda: SVC(class_weight={0: 1.0, 1: 2.0, 2: 0.5}).fit(X, THREE),
    "error bars": lambda: SVC().fit(X, THREE, X_err=ERRORS),
    "boxes of errors": lambda: SVC(error_shape="box").fit(X, TWO, X_err=ERRORS),
    "single precision": lambda: SVC(radius=0.1).fit(X.astype(np.float32), TWO),
    "sparse": lambda: SVC(radius=0.1).fit(sp.csr_array(X), TWO),
    "scaler": lambda: pipeline(StandardScaler(), SVC(radius=0.1)).fit(X, THREE),
    "medians, scaler": lambda: pipeline(
        PreparedNumbers(fill=True), StandardScaler(), SVC(radius=0.1)
    ).fit(HOLES, TWO),
    "tolerances behind scales": lambda: pipeline(
        PreparedNumbers(1, scale=True), SVC(noise=Box(0.1 * X.std(axis=0)))
    ).fit(X, TWO),
}
MACHINES = {
    "machine": lambda: RobustKernelSVC(10, 0.1, gamma=0.1, n_components=20).fit(X, TWO),
    "machine, scaler": lambda: pipeline(
        PreparedNumbers(fill=True),
        StandardScaler(),
        RobustKernelSVC(radius=0.1, noise=X.std(axis=0), n_components=9),
    ).fit(HOLES, THREE),
    "machine, error bars": lambda: pipeline(
        StandardScaler(), RobustKernelSVC(error_shape="box", n_components=20)
    ).fit(X, TWO, X_err=ERRORS),
    "kernel": lambda: pipeline(
        StandardScaler(),
        Nystroem("laplacian", gamma=0.1, n_components=20, random_state=0),
        SVC(noise=Box(X.std(axis=0)), radius=0.1),
    ).fit(X, THREE),
    "kernel, parameters in a dict": lambda: pipeline(
        Nystroem("rbf", kernel_params={"gamma": 0.1}, n_components=9, random_state=0),
        SVC(),
    ).fit(X, TWO),
}
POPULATIONS = {
    "population": lambda: MeasuredSVC(probability=True).fit(HOLES, THREE, X_err=ERRORS),
    "one Gaussian": lambda: MeasuredSVC(n_components=1).fit(HOLES, TWO, X_err=ERRORS),
    "curved": lambda: MeasuredSVC(kernel="rbf", n_components=1, probability=True).fit(
        HOLES, THREE, X_err=ERRORS
    ),
    "chosen": lambda: MeasuredSVC(cv=3, Cs=(0.1, 1)).fit(X, TWO),
}
LAD = RobustLinearRegressor
REGRESSIONS = {
    "median": lambda: LAD(radius=0.1).fit(X, NUMBERS),
    "upper quantile": lambda: LAD(0.9, radius=0.1, noise="linf").fit(X, NUMBERS),
    "numbers, error bars": lambda: LAD(0.3).fit(X, NUMBERS, X_err=ERRORS),
    "numbers, scaler": lambda: pipeline(
        PreparedNumbers(fill=True),
        StandardScaler(),
        LAD(noise=Box(0.1 * X.std(axis=0))),
    ).fit(HOLES, NUMBERS),
    "line": lambda: MeasuredRegressor().fit(HOLES, NUMBERS, X_err=ERRORS, y_err=0.1),
    "line without intervals": lambda: MeasuredRegressor("absolute", cv=None).fit(
        X, NUMBERS
    ),
    "curve": lambda: MeasuredRegressor(kernel="rbf").fit(HOLES, NUMBERS, X_err=ERRORS),
}


EVERY = MODELS | MACHINES | POPULATIONS | REGRESSIONS


@cache
def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EVERY[name]()


@pytest.mark.parametrize("name", EVERY)
def test_a_model_comes_back_to_the_last_bit(name):
    """All that it holds, and so all that it answers."""
    model = fitted(name)
    back = through_file(model)
    same(back, model)
    measured = name in ("line", "curve") or (name in POPULATIONS and name != "chosen")
    rows = (X, ERRORS) if measured else (X,)
    same(back.predict(*rows), model.predict(*rows))


def test_a_regression_behind_a_kernel_comes_back_to_the_last_bit():
    step = Nystroem(gamma=0.1, n_components=20, random_state=0)
    model = pipeline(step, LAD(radius=0.1)).fit(X, NUMBERS)
    back = through_file(model)
    same(back, model)
    same(back.prediction_range(X), model.prediction_range(X))


@pytest.mark.parametrize("name", POPULATIONS)
def test_parts_of_a_population_are_shared_as_they_were(name):
    whole = through_file(fitted(name)).pipeline_
    assert whole.denoised_.features is whole[1]
    assert whole.denoised_.classifier is whole[-1]


def test_true_features_by_themselves_come_back():
    model = TrueFeatures(n_components=1).fit(HOLES, X_err=ERRORS)
    same(through_file(model), model)


def test_the_same_model_has_the_same_bytes():
    for model in map(fitted, EVERY):
        data = dumps({"model": model})
        assert dumps(loads(data)) == data == dumps({"model": model})


@pytest.mark.parametrize(
    "value",
    [
        {"numbers": [1, -0.0, 5e-324, 2**70, np.inf, -np.inf, np.nan]},
        {"text": "\udcff \u202e \0", "$a": (1, ("b", None, True))},
        {"keys": {1: "a", 1.5: "b", (2, "c"): "d"}, "empty": [{}, (), []]},
        {"scalars": [np.float32(0.1), np.int64(-1), np.bool_(True), np.float64("nan")]},
        {
            "arrays": [
                np.zeros((0, 3)),
                np.array(1.5),
                np.asfortranarray(X),
                X[::2, ::-1],
            ]
        },
        {"objects": np.array(["a", 1, None, 2.5], dtype=object)},
        {"text": np.array(["", "ä\U0001f600"]), "truth": np.array([True, False])},
    ],
)
def test_plain_values_come_back(value):
    back = loads(dumps(value))
    if "arrays" in value:
        value["arrays"][-1] = np.ascontiguousarray(value["arrays"][-1])
    same(back, value)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (pipeline(PCA(2), SVC()).fit(X, TWO), "no PCA; store it with joblib"),
        (
            SVC(solver_options={"random_state": np.random.RandomState(0)}),
            "no RandomState",
        ),
        (MeasuredSVC(cv=StratifiedKFold(3)), "no StratifiedKFold"),
        (Nystroem(max), "no builtin_function"),
        (RobustLinearRegressorCV(), "store its best_estimator_, or the search with"),
    ],
)
def test_what_a_file_has_no_place_for_is_named(model, said):
    with pytest.raises(UserError, match=said):
        dumps({"model": model})


# -- commands --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder of tables: values, errors, gaps, categories, radii, labels of kinds."""
    folder = tmp_path_factory.mktemp("tables")
    names = ("a", "b", "c", "d")
    more = {
        **{f"{name}_err": ERRORS[:, j] for j, name in enumerate(names)},
        "sigma": np.linspace(0.1, 0.3, N),
        "site": np.array(["north", "south", "$west"])[RNG.integers(0, 3, N)],
        "count": THREE,
        "truth": TWO,
    }
    labels = np.array(["low", "mid", "high"])[THREE]
    (folder / "t.csv").write_text(as_csv(X, labels, names, "y", **more))
    holes = np.where(np.isnan(HOLES), "", HOLES.astype(str))
    (folder / "h.csv").write_text(as_csv(holes, labels, names, "y", **more))
    (folder / "s.csv").write_text("feature,scale\na,0.1\nb,0.2\nc,1\nd,0.01\n")
    return folder


PLAIN = "--drop a_err b_err c_err d_err sigma site"
FITS = {
    "plain": f"t.csv --target y {PLAIN} count truth --radius 0.1",
    "whole numbers": f"t.csv --target count {PLAIN} truth y --standardize",
    "truth": f"t.csv --target truth {PLAIN} count y --noise linf s.csv",
    "radii": "t.csv --target truth --drop a_err b_err c_err d_err site count y "
    "--radius-column sigma",
    "gaps": f"h.csv --target y {PLAIN} count truth --missing median --standardize",
    "categories": "h.csv --target truth --drop a_err b_err c_err d_err sigma count y "
    "--one-hot site --missing median --standardize --radius 0.1",
    "errors": "t.csv --target truth --drop sigma site count y --errors suffix:_err",
    "boxes": "t.csv --target truth --drop sigma site count y --errors suffix:_err "
    "box --standardize",
    "doubt": f"t.csv --target truth {PLAIN} count y --ramp --noise l1",
    "choice": f"t.csv --target truth {PLAIN} count y --C auto --radius 0,0.1",
    "pieces": f"t.csv --target truth {PLAIN} count y --radius 0.1 --memory 1GB",
    "balanced": f"t.csv --target y {PLAIN} count truth --class-weight balanced",
    "population": "h.csv --target y --drop sigma site count truth --errors suffix:_err "
    "--model measured",
    "exact population": f"h.csv --target truth {PLAIN} count y --model measured --C auto",
}


@pytest.mark.parametrize("name", FITS)
def test_what_fit_writes_is_what_it_trained(tables, name, monkeypatch):
    written = []

    def keep(model):
        written.append(model)
        return dump_model(model)

    monkeypatch.setattr(fit_command, "dump_model", keep)
    folds = "--folds 2" if "auto" in FITS[name] else "--folds 0"
    command = f"fit {FITS[name]} {folds} --out m.wideberth --force"
    run(command, folder=tables)
    read = open_model(tables / "m.wideberth")
    (model,) = written
    same(read.fitted, model.fitted)
    same(vars(read.columns), vars(model.columns))
    assert (read.target, read.radius_column) == (model.target, model.radius_column)
    assert (read.radius_factor, read.errors) == (model.radius_factor, model.errors)
    assert (read.fills_gaps, read.gives_verdicts) == (
        "h.csv" in command,
        "measured" in command,
    )
    same(read.origin, model.origin)
    assert dump_model(read) == (tables / "m.wideberth").read_bytes()
    data = FITS[name].split()[0]
    for command in ("predict", "certify"):
        run(f"{command} m.wideberth {data} --json", folder=tables)


# -- later versions --------------------------------------------------------------------

STORED = Path(__file__).with_name("models")


def stored_model(name):
    """A stored file, what is known of it, and rows with their errors.

    Never write these files anew: models that people have stored are like them.
    """
    known = json.loads((STORED / f"{name}.json").read_text())
    stored = open_model(STORED / f"{name}.wideberth")
    assert list(stored.columns.features) == known["features"]
    assert (stored.target, stored.radius) == (known["target"], known["radius"])
    rows = np.array(known["rows"], dtype=float)
    errors = None if known["errors"] is None else np.array(known["errors"])
    return stored, known, rows, errors


@pytest.mark.parametrize("name", ["median", "line"])
def test_regressions_of_version_1_are_read(name):
    stored, known, rows, errors = stored_model(name)
    model, close = stored.fitted, {"rtol": 1e-9, "atol": 1e-12}
    assert stored.predicts_numbers
    np.testing.assert_allclose(model.predict(rows, errors), known["predicted"], **close)
    if name == "line":
        ranges = model.predict_interval(rows, errors, coverage=0.8)
    else:
        ranges = model.prediction_range(rows)
    np.testing.assert_allclose(ranges, known["ranges"], **close)


@pytest.mark.parametrize("name", ["categories", "population", "scaled"])
def test_files_of_version_1_are_read(name):
    stored, known, rows, errors = stored_model(name)
    assert stored.classes.tolist() == known["classes"]
    model, close = stored.fitted, {"rtol": 1e-9, "atol": 1e-12}
    assert model.predict(rows, errors).tolist() == known["predicted"]
    scores = model.decision_function(rows, errors)
    np.testing.assert_allclose(scores, known["scores"], **close)
    if stored.gives_verdicts:
        chance = model.verdict(rows, errors).chance
        np.testing.assert_allclose(chance, known["chance"], **close)
    else:
        radii = model.certified_radius(rows)
        np.testing.assert_allclose(radii, known["certified_radius"], **close)
    svc = decider_of(model)
    assert known["parameters"].items() <= svc.get_params().items()
    assert np.all(svc.dual_gap_ <= svc.tol * svc.objective_)
    if "suspects" in known:
        assert svc.suspects_["sample"].tolist() == known["suspects"]


def test_every_stored_file_is_read_by_a_test():
    stored = {file.stem for file in STORED.glob("*.wideberth")}
    assert stored == {"categories", "line", "median", "population", "scaled"}


# -- files from elsewhere --------------------------------------------------------------


@pytest.fixture(scope="module")
def whole():
    """A small model file, in bytes."""
    return (STORED / "scaled.wideberth").read_bytes()


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts, compression=zipfile.ZIP_STORED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return made.getvalue()


def refusal(data, folder):
    """The sentence about a file with these bytes; None where it is read."""
    file = folder / "f.wideberth"
    file.write_bytes(data)
    try:
        load_model(file)
    except UserError as error:
        said = str(error)
        assert said.startswith(f"{file} ")
        assert said.endswith(".")
        assert any(way in said for way in ("train", "give the file", "update"))
        return said.removeprefix(f"{file} ")
    return None


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=array.dtype.hasobject)
    return stream.getvalue()


def claiming(shape, descr="'<f8'"):
    text = (
        f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    )
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def described(change):
    """A change to the description."""

    def changed(parts):
        tree = json.loads(parts["model.json"])
        change(tree)
        return parts | {"model.json": json.dumps(tree).encode()}

    return changed


def classifier(tree):
    return tree["pipeline"]["steps"][-1]["$tuple"][1]


def without_array(parts):
    return {name: data for name, data in parts.items() if name != "3.npy"}


def with_array(data):
    return lambda parts: parts | {"3.npy": data}


BAD = {
    "newer": (described(lambda t: t.update(version=2)), "a newer version.*update this one"),
    "unknown kind": (
        described(lambda t: classifier(t).update({"$kind": "os.system"})),
        "of the kind 'os.system', which this version of wideberth does not know; update",
    ),
    "unknown attribute": (
        described(lambda t: classifier(t).update(predict=1)),
        "a RobustLinearSVC with 'predict', which this version",
    ),
    "array that is missing": (without_array, r"lacks its array '3\.npy'; copy it again"),
    "array of objects": (with_array(npy(np.array([SVC()]))), "array of the type object"),
    "array of times": (
        with_array(npy(np.array(["2020"], "datetime64[s]"))), "array of the type datetime",
    ),
    "array of records of times": (
        with_array(npy(np.zeros(1, [("a", "f8"), ("b", "m8[s]")]))), "array of the type",
    ),
    "array of nothing": (with_array(claiming(f"({10**15},)", "'<U0'")), "of the type <U0"),
    "array that claims a lot": (
        with_array(claiming(f"({10**15}, 4)") + bytes(32)), "not as large as it says, '3.npy'",
    ),
    "array that is cut short": (
        with_array(npy(np.ones(4))[:-8]), "not as large as it says, '3.npy'; copy it again",
    ),
    "no characters": (with_array(claiming("(1,)", "'<U1'") + b"\xff" * 4), "is damaged"),
    "negative shape": (with_array(claiming("(-1, -4)") + bytes(32)), "is damaged"),
    "no array": (with_array(b"text"), "is damaged"),
    "other format": (described(lambda t: t.update(format="x")), "is damaged"),
    "no pipeline": (described(lambda t: t.update(pipeline=None)), "is damaged"),
    "no columns": (described(lambda t: t.pop("numeric")), "is damaged"),
    "other columns": (described(lambda t: t.update(numeric=["a"])), "is damaged"),
    "deep": (lambda parts: parts | {"model.json": b"[" * 10**5}, "is damaged"),
    "void": (
        described(lambda t: t.update(target={"$scalar": ["V9", 10**12]})), "is damaged",
    ),
    "unknown tag": (described(lambda t: t.update(target={"$os": 1})), "is damaged"),
    "pipeline of pipelines": (
        described(lambda t: t["pipeline"]["steps"].insert(
            0, {"$tuple": ["p", t["pipeline"] | {"steps": t["pipeline"]["steps"][:]}]}
        )),
        "is damaged",
    ),
    "of another archive": (lambda parts: {"a.txt": b""}, "is not a model file; give"),
    "of version 0.2": (lambda parts: {"schema.json": b"{}"}, "by wideberth 0.2 or an earl"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_not_ours_are_refused_in_a_sentence(whole, tmp_path, name):
    change, said = BAD[name]
    parts = members(whole)
    climbing = parts | {"../climbed.npy": b"x"}  # nothing is ever unpacked to disk
    assert refusal(packed(climbing), tmp_path) is None
    assert not (tmp_path.parent / "climbed.npy").exists()
    assert re.search(said, refusal(packed(change(parts)), tmp_path))


@pytest.mark.parametrize(
    ("part", "astray"),
    [("indices", [0, 1, 2**30, 3]), ("indptr", [0, 1, 2**30, 2, -(2**30)])],
)
def test_indices_that_lead_astray_are_refused(whole, tmp_path, part, astray):
    """They ended in a segmentation fault."""
    parts = members(whole)
    tree = json.loads(parts["model.json"])
    name = tree["pipeline"]["linear_map"][part]["$array"]
    spoilt = parts | {name: npy(np.array(astray, dtype=np.int32))}
    assert refusal(packed(spoilt), tmp_path).startswith("is damaged")


@pytest.mark.parametrize("part", ["means", "covariances", "coef", "varies", "scale"])
def test_lines_of_other_features_are_refused(tmp_path, part):
    """Compiled code would read beyond their end."""
    parts = members((STORED / "line.wideberth").read_bytes())
    line = json.loads(parts["model.json"])["pipeline"]["_line"]
    name = (line | line["population"])[part]["$array"]
    array = np.load(io.BytesIO(parts[name]))
    for spoilt in (array[..., :2], np.zeros_like(array, shape=(1, 0, 0))):
        data = packed(parts | {name: npy(np.ascontiguousarray(spoilt))})
        assert refusal(data, tmp_path).startswith("is damaged")


@pytest.mark.parametrize("unit", [0.0, -1.0])
def test_lines_whose_spreads_are_not_positive_are_refused(tmp_path, unit):
    parts = members((STORED / "line.wideberth").read_bytes())
    tree = json.loads(parts["model.json"])
    tree["pipeline"]["_line"]["unit"] = unit
    data = packed(parts | {"model.json": json.dumps(tree).encode()})
    assert refusal(data, tmp_path).startswith("is damaged")


@pytest.mark.parametrize("part", ["means", "covariances"])
def test_populations_of_other_features_are_refused(tmp_path, part):
    """Compiled code would read beyond their end."""
    parts = members((STORED / "population.wideberth").read_bytes())
    tree = json.loads(parts["model.json"])
    features = tree["pipeline"]["pipeline_"]["steps"][1]["$tuple"][1]
    name = features["_population"][part]["$array"]
    array = np.load(io.BytesIO(parts[name]))
    for spoilt in (array[:, :2], array[..., :2], np.zeros_like(array, shape=(1, 0, 0))):
        changed = packed(parts | {name: npy(spoilt)})
        assert refusal(changed, tmp_path).startswith("is damaged")


def test_an_archive_that_would_unpack_to_more_than_it_is_is_not_unpacked(
    whole, tmp_path
):
    parts = members(whole)
    bomb = packed(parts | {"0.npy": bytes(10**8)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 10**6
    assert "was not unpacked" in refusal(bomb, tmp_path)
    data = bytearray(whole)  # the size that the index claims for its first member
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = (2**31).to_bytes(4, "little")
    assert "was not unpacked" in refusal(bytes(data), tmp_path)


def test_other_files_are_no_models_and_are_not_read_to_their_end(tmp_path):
    for data in (b"", b"a,b\n1,2\n", b"\x80\x04K\x01."):
        assert refusal(data, tmp_path).startswith("is not a model file; give the file")
    if Path("/dev/zero").exists():  # without an end
        with pytest.raises(UserError, match="is not a model file"):
            load_model("/dev/zero")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_flipped_bytes_and_cut_files_end_in_a_sentence(whole, tmp_path_factory, data):
    """Or in the model, where nothing was changed that it depends on."""
    folder = tmp_path_factory.getbasetemp()
    spoilt = bytearray(whole)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(whole) - 1))
        spoilt[at] ^= data.draw(st.integers(1, 255))
    end = data.draw(st.one_of(st.just(len(whole)), st.integers(0, len(whole))))
    refusal(bytes(spoilt[:end]), folder)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_changed_descriptions_end_in_a_sentence(whole, tmp_path_factory, data):
    """Checksums do not notice these."""
    odd = (None, True, -1, 2**70, 1.5, "", [], {}, {"$array": "0.npy"}, {"$float": "nan"},
           {"$tuple": [1]}, {"$kind": "CSR"}, {"$scalar": ["<f8", 1]}, {"$dict": []})  # fmt: skip
    parts = members(whole)
    tree = json.loads(parts["model.json"])
    node = tree
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        inner = node[key]
        if not (isinstance(inner, (dict, list)) and inner) or data.draw(st.booleans()):
            break
        node = inner
    node[key] = data.draw(st.sampled_from(odd))
    parts["model.json"] = json.dumps(tree).encode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refusal(packed(parts), tmp_path_factory.getbasetemp())
