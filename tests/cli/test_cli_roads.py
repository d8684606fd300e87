"""One table, whatever file it is in and however it is read: one answer."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from commands import as_csv, result_of
from wideberth import RobustLinearSVC
from wideberth.cli import main
from wideberth.cli.advice import advise
from wideberth.cli.model import load_model
from wideberth.data import DataError, open_data
from wideberth.data.files import kind_of

NAMES = ("x1", "x2", "x3")
CLASS = np.random.default_rng(3).integers(0, 2, 80)
X = (np.random.default_rng(4).normal(size=(80, 3)) + 1.2 * CLASS[:, None]).round(3)
X[::7, 1] = 0.0
SIGMA = np.random.default_rng(5).uniform(0.05, 0.8, 80).round(3)
LABELS = {
    "ints": np.array([1, 2]),
    "floats": np.array([0.0, 1.0]),
    "text": np.array(["sick", "well"]),
    "bools": np.array([False, True]),
}
PIECES = ["--memory", "8GB"]


# -- the table in every format: what is written, and the names of target and radii ---


def _text(delimiter):
    def write(path, y, sigma):
        text = as_csv(X, y.tolist(), NAMES, "y", sigma=sigma)
        path.write_text(text.replace(",", delimiter))
        return "y", "sigma"

    return write


def _libsvm(path, y, sigma):
    """Sparse text; the radii are one more feature."""
    with path.open("w") as file:
        for row, label, radius in zip(X.tolist(), y, sigma, strict=True):
            cells = [f"{j}:{v}" for j, v in enumerate([*row, radius], 1) if v != 0]
            print(label, *cells, file=file)
    return "label", "x4"


def _arrow(write):
    def written(path, y, sigma):
        columns = dict(zip(NAMES, X.T, strict=True))
        write(pa.table(columns | {"y": y, "sigma": sigma}), str(path))
        return "y", "sigma"

    return written


def _ipc(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def _npy(path, y, sigma):
    np.save(path, X)
    for name, column in (("y", y), ("sigma", sigma)):
        np.save(path.with_name(f"{name}.npy"), column)
    return "y.npy", "sigma.npy"


FILES = {
    "t.csv": _text(","),
    "semicolons.csv": _text(";"),
    "t.svm": _libsvm,
    "t.parquet": _arrow(pa.parquet.write_table),
    "t.arrow": _arrow(_ipc),
    "t.npy": _npy,
}
ROADS = [(name, road) for name in FILES for road in ("whole", "pieces")]
#: Every kind of label where types are read, stored by column, and stored apart.
LABELLED = [
    (name, road, kind)
    for name, road in ROADS
    for kind in (LABELS if name in ("t.csv", "t.parquet", "t.npy") else ["floats"])
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def said(capsys):
    def run(*arguments, code=0):
        """What a command prints as JSON, or the sentence it ends with."""
        asked = [*map(str, arguments), *(["--json"] if code == 0 else [])]
        found = main(asked)
        out, told = capsys.readouterr()
        assert found == code, told
        return json.loads(out) if code == 0 else told

    return run


def fit(said, name, target, *more, road="whole"):
    pieces = PIECES if road == "pieces" else []
    known = ["--target", target, "--C", "0.5", "--tol", "1e-7", "--folds", "0"]
    out = ["--out", "m.wideberth", "--force"]
    return said("fit", name, *known, *out, *pieces, *more)


def values(rows):
    return [row["prediction"] for row in rows["predictions"]]


@pytest.mark.parametrize(("name", "road", "kind"), LABELLED)
def test_every_file_and_road_gives_what_python_gives(here, said, name, road, kind):
    y = LABELS[kind][CLASS]
    target, sigma = FILES[name](here / name, y, SIGMA)
    drop = ["--drop", sigma] if FILES[name] is not _npy else []
    result = fit(said, name, target, "--radius", "0.3", *drop, road=road)
    expected = RobustLinearSVC(C=0.5, radius=0.3, tol=1e-7).fit(X, y)
    coefficients = result["model"]["coefficients"]
    assert tuple(coefficients) == NAMES
    np.testing.assert_allclose(list(coefficients.values()), expected.coef_.T, atol=2e-3)
    # The types and values of the labels are those of Python, whole floats apart.
    classes = load_model("m.wideberth").classes
    assert classes.tolist() == expected.classes_.tolist()
    assert classes.dtype.kind == {"f": "i"}.get(y.dtype.kind, y.dtype.kind)
    assert values(said("predict", "m.wideberth", name)) == expected.predict(X).tolist()
    summary = said("certify", "m.wideberth", name)
    assert summary["radius"] == summary["trained_radius"] == 0.3
    assert summary["accuracy"] == expected.score(X, y) < 1
    assert summary["certified_accuracy"] == expected.robust_score(X, y)
    assert [row["correct"] for row in summary["predictions"]] == (
        expected.predict(X) == y
    ).tolist()


@pytest.mark.parametrize(("name", "road"), ROADS)
def test_radii_of_a_column_are_those_of_the_file_certified(here, said, name, road):
    y = LABELS["ints"][CLASS]
    target, sigma = FILES[name](here / name, y, SIGMA)
    result = fit(said, name, target, "--radius-column", sigma, road=road)
    expected = RobustLinearSVC(C=0.5, tol=1e-7).fit(X, y, radius=SIGMA)
    np.testing.assert_allclose(
        list(result["model"]["coefficients"].values()), expected.coef_.T, atol=2e-3
    )
    told = result["uncertainty"]
    assert (told["column"], told["per_row"], told["factor"]) == (sigma, True, 1.0)
    assert (told["smallest"], told["largest"]) == (SIGMA.min(), SIGMA.max())
    assert load_model("m.wideberth").radius is None
    # The file certified has radii of its own, and those count.
    FILES[name](here / name, y, SIGMA / 2)
    summary = said("certify", "m.wideberth", name)
    assert summary["trained_radius"] is summary["radius"] is None
    assert summary["radius_column"] == sigma
    assert summary["largest_radius"] == SIGMA.max() / 2
    found = summary["certified_accuracy"]
    assert found == expected.robust_score(X, y, SIGMA / 2)
    assert found != expected.robust_score(X, y, SIGMA)
    assert found != expected.robust_score(X, y, np.median(SIGMA / 2))


# -- where radii are not known -------------------------------------------------------


@pytest.mark.parametrize("road", ["whole", "pieces"])
def test_radii_that_are_not_in_the_file_are_asked_for(here, said, capsys, road):
    y = LABELS["text"][CLASS]
    _text(",")(here / "t.csv", y, SIGMA)
    fit(said, "t.csv", "y", "--radius-column", "sigma", road=road)
    (here / "new.csv").write_text(as_csv(X, y, NAMES, "y", other=SIGMA))
    told = said("certify", "m.wideberth", "new.csv", code=1)
    assert "trained with a radius for each row" in told
    assert "--radius-column" in told
    assert "--at" in told
    model = load_model("m.wideberth").pipeline
    named = said("certify", "m.wideberth", "new.csv", "--radius-column", "other")
    assert named["certified_accuracy"] == model.robust_score(X, y, SIGMA)
    given = said("certify", "m.wideberth", "new.csv", "--at", "0.1,0.4")
    assert given["certified_accuracy"] is None
    assert given["curve"]["certified_accuracy"] == [
        model.robust_score(X, y, radius) for radius in (0.1, 0.4)
    ]
    # What is written for people says as much.
    assert main(["certify", "m.wideberth", "t.csv", "--out", "rows.csv"]) == 0
    assert "radius of each row, in the column sigma (0." in capsys.readouterr().out
    rows = (here / "rows.csv").read_text().splitlines()
    assert rows[0] == "row,prediction,certified_radius,radius,y,correct"
    # Without classes there is no accuracy, and nothing to ask for.
    (here / "bare.csv").write_text(as_csv(X[:, :2], X[:, 2], NAMES[:2], "x3"))
    assert said("certify", "m.wideberth", "bare.csv")["certified_accuracy"] is None


def test_rows_without_a_radius_do_not_count_as_certified(here, said, capsys):
    y = LABELS["text"][CLASS]
    _text(",")(here / "t.csv", y, SIGMA)
    fit(said, "t.csv", "y", "--radius-column", "sigma")
    holes = ["" if k < 5 else r for k, r in enumerate(SIGMA)]
    (here / "new.csv").write_text(as_csv(X, y, NAMES, "y", sigma=holes))
    assert main(["certify", "m.wideberth", "new.csv", "--json"]) == 0
    out, told = capsys.readouterr()
    assert "5 of 80 rows have no radius" in told
    model = load_model("m.wideberth").pipeline
    expected = model.robust_score(X[5:], y[5:], SIGMA[5:])
    assert json.loads(out)["certified_accuracy"] == expected
    assert json.loads(out)["accuracy"] == model.score(X, y)
    wrong = [-1 if k == 7 else r for k, r in enumerate(SIGMA)]
    (here / "new.csv").write_text(as_csv(X, y, NAMES, "y", sigma=wrong))
    told = said("certify", "m.wideberth", "new.csv", code=1)
    assert "row 8 (line 9), column 'sigma' is -1; a radius must not be negative" in told


def test_a_factor_on_the_radii_is_remembered_with_them(here, said):
    y = LABELS["text"][CLASS]
    _text(",")(here / "t.csv", y, SIGMA)
    chosen = ["--radius", "0.5,0.5", "--radius-column", "sigma"]
    command = ["fit", "t.csv", "--target", "y", "--folds", "2", "--out", "m.wideberth"]
    assert said(*command, *chosen)["uncertainty"]["factor"] == 0.5
    summary = said("certify", "m.wideberth", "t.csv")
    model = load_model("m.wideberth").pipeline
    assert summary["certified_accuracy"] == model.robust_score(X, y, SIGMA / 2)
    assert summary["radius_factor"] == 0.5
    assert summary["largest_radius"] == SIGMA.max() / 2


def test_radii_from_replicates_have_no_column_and_are_asked_for(here, said):
    y, twice = LABELS["text"][CLASS], np.repeat(np.arange(80), 2)
    noise = np.random.default_rng(0).normal(0, 0.1, size=(160, 3))
    table = as_csv((X[twice] + noise).round(4), y[twice], NAMES, "y", id=twice)
    (here / "t.csv").write_text(table)
    fit(said, "t.csv", "y", "--replicates", "id")
    assert "--at" in said("certify", "m.wideberth", "t.csv", code=1)
    assert (
        said("certify", "m.wideberth", "t.csv", "--at", "1")["trained_radius"] is None
    )


# -- two roads, one way to speak -----------------------------------------------------


def layout(value):
    """The names in a result, whatever the values."""
    if isinstance(value, dict):
        return {name: layout(part) for name, part in value.items()}
    return [layout(part) for part in value[:1]] if isinstance(value, list) else None


@pytest.mark.parametrize(
    "noise", [[], ["--radius", "0.1"], ["--radius-column", "sigma"]]
)
def test_results_have_one_layout_on_both_roads(here, said, noise):
    _text(",")(here / "t.csv", LABELS["ints"][CLASS], SIGMA)
    whole = fit(said, "t.csv", "y", *noise)
    pieces = fit(said, "t.csv", "y", *noise, road="pieces")
    for result in (whole, pieces):
        # Limits of the noise, details of the reader and warnings hold what there is;
        # single rows are listed of data in memory.
        for problem in result["training"]["problems"]:
            problem["critical_radius"] = problem["critical_factor"] = None
        del result["source"]["details"], result["warnings"]
        result["data"]["row_counters"] = result["flips"] = None
    assert layout(pieces) == layout(whole)
    assert pieces["source"]["sha256"] == whole["source"]["sha256"]
    assert pieces["source"]["format"] == whole["source"]["format"] == "csv"
    for name in ("classes", "rows_read", "rows_used", "target", "missing_values"):
        assert pieces["data"][name] == whole["data"][name], name
    for name in ("mean", "std", "min", "max"):
        np.testing.assert_allclose(
            [feature[name] for feature in pieces["data"]["features"]],
            [feature[name] for feature in whole["data"]["features"]],
            rtol=1e-12,
        )
    for name in ("story", "column", "smallest", "largest", "per_row", "unit"):
        assert pieces["uncertainty"][name] == whole["uncertainty"][name], name
    for name in ("as_measured", "under_noise", "tol"):
        assert pieces["training"][name] == whole["training"][name], name


@pytest.mark.parametrize("road", ["whole", "pieces"])
def test_the_proof_that_is_missing_is_a_serious_matter(here, said, road):
    _text(",")(here / "t.csv", LABELS["text"][CLASS], SIGMA)
    pieces = "--memory 1GB" if road == "pieces" else "--folds 0"
    result = result_of(f"fit t.csv --target y {pieces}")
    (problem,) = result.training.problems
    assert problem.converged
    assert not any(advice.serious for advice in result.warnings)
    problem = replace(problem, converged=False)  # though the gap itself is small
    result = replace(result, training=replace(result.training, problems=[problem]))
    assert [a.code for a in advise(result) if a.serious] == ["not-proven"]


@pytest.mark.parametrize("road", ["whole", "pieces"])
def test_the_target_of_a_libsvm_file_has_a_name(here, said, road):
    _libsvm(here / "t.svm", LABELS["ints"][CLASS], SIGMA)
    named = fit(said, "t.svm", "label", road=road)
    assert list(named["model"]["coefficients"]) == ["x1", "x2", "x3", "x4"]
    pieces = PIECES if road == "pieces" else []
    unnamed = said(
        "fit", "t.svm", "--C", "0.5", "--tol", "1e-7", "--folds", "0", *pieces
    )
    assert named["model"] == unnamed["model"]
    assert named["data"]["target"] == unnamed["data"]["target"] == "label"
    told = said("fit", "t.svm", "--target", "kind", *pieces, code=1)
    assert "t.svm has no column 'kind'; its columns are 'label'" in told
    assert "cannot be a class" in said(
        "fit", "t.svm", "--target", "x1", *pieces, code=1
    )


def test_features_that_count_from_zero_are_called_so_on_both_roads(here, said):
    lines = [f"{k} 0:{a} 2:{b}" for k, (a, b) in zip(CLASS, X[:, :2], strict=True)]
    (here / "t.svm").write_text("\n".join(lines))
    for road in ("whole", "pieces"):
        result = fit(said, "t.svm", "label", road=road)
        assert list(result["model"]["coefficients"]) == ["x0", "x1", "x2"]
    assert said("certify", "m.wideberth", "t.svm")["accuracy"] > 0.7


def test_text_is_told_from_libsvm_by_its_content(here):
    contents = {
        "libsvm": ["1 1:2 3:4\n-1 2:1\n", "# note\n\n+1 7:0.5 # more\n2\n"],
        "csv": ["a b y\n1 2 3\n", "a,y\n1:2,p\n", "time y\n12:30 p\n", "", "1\n2\n"],
    }
    for kind, texts in contents.items():
        for text in texts:
            for ending in (".txt", ".dat"):
                path = here / f"a{ending}"
                path.write_text(text)
                assert kind_of(path) == kind, text
    assert kind_of("a.svm") == "libsvm"
    assert kind_of("a.CSV.gz") == "csv"
    with pytest.raises(DataError, match=r"a\.xlsx: the name does not tell the format"):
        kind_of("a.xlsx")
    (here / "a.txt").write_text("1 1:2\n-1 1:3\n")
    assert open_data("a.txt").d == 1
    (here / "a.txt").write_text("u,y\n1,2\n3,4\n")
    assert open_data("a.txt", "y").names == ["u"]


def test_the_format_that_is_said_counts_on_both_roads(here, said):
    _libsvm(here / "anything.csv", LABELS["ints"][CLASS], SIGMA)
    for road in ("whole", "pieces"):
        told = ["--read", "format=libsvm"]
        result = fit(said, "anything.csv", "label", *told, road=road)
        assert result["source"]["format"] == "libsvm"
        assert len(result["model"]["coefficients"]) == 4


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        (("1", "2"), (1, 2)),
        (("1.0", "+2"), (1, 2)),
        (("TRUE", "false"), (True, False)),
        (("007", "7"), ("007", "7")),
        (("1.1", "1.10"), ("1.1", "1.10")),
        ((" sick ", "well"), ("sick", "well")),
        (('"a, b"', '"say ""c"""'), ("a, b", 'say "c"')),
    ],
)
@pytest.mark.parametrize("road", ["whole", "pieces"])
def test_labels_are_values_however_they_are_spelled(here, said, road, spelled, value):
    head = "x1,x2,y\n"
    lines = [
        f"{a},{b},{spelled[k]}\n" for k, (a, b) in zip(CLASS, X[:, :2], strict=True)
    ]
    (here / "t.csv").write_text(head + "".join(lines))
    fit(said, "t.csv", "y", road=road)
    assert load_model("m.wideberth").classes.tolist() == sorted(value)
    expected = RobustLinearSVC(C=0.5, tol=1e-7).fit(X[:, :2], np.array(value)[CLASS])
    assert said("certify", "m.wideberth", "t.csv")["accuracy"] == expected.score(
        X[:, :2], np.array(value)[CLASS]
    )


def test_a_model_recognises_labels_of_files_that_spell_them_otherwise(here, said):
    _text(",")(here / "t.csv", LABELS["ints"][CLASS], SIGMA)
    fit(said, "t.csv", "y", "--drop", "sigma")
    expected = said("certify", "m.wideberth", "t.csv")["accuracy"]
    same = {
        "floats.csv": LABELS["ints"][CLASS].astype(float),
        "signs.csv": np.array(["+1", "2.00"])[CLASS],
    }
    for name, y in same.items():
        _text(",")(here / name, y, SIGMA)
        assert said("certify", "m.wideberth", name)["accuracy"] == expected
    _arrow(pa.parquet.write_table)(here / "f.parquet", same["floats.csv"], SIGMA)
    assert said("certify", "m.wideberth", "f.parquet")["accuracy"] == expected
    _text(",")(here / "strange.csv", np.array(["1", "two"])[CLASS], SIGMA)
    rows = said("certify", "m.wideberth", "strange.csv")["predictions"]
    assert not any(row["correct"] for row in rows if row["y"] == "two")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.csv", "a,y\n1,p\n,q\n2,p\n", "row 1 has no value in column 'a'"),
        ("t.csv", "a,y\n1,p\n2,\n3,q\n", "row 1 has no label"),
        ("t.csv", "a,y\n1,p\n2,NA\n3,q\n", "row 1 has no label"),
        ("t.csv", "a,f,y\n1,true,p\n2,false,q\n", "column 'f' holds text"),
        ("t.csv", "1,2\n3,4\n", "holds only numbers where the names"),
        ("t.csv", "a,y\n1,p\ninf,q\n", "row 1 has no finite number in column 'a'"),
        ("t.csv", "a,y\n1,p\n2,p\n", "holds a single class, 'p'"),
        ("t.svm", "sick 1:2\nwell 1:x\n", "row 2 (line 2), column x1 holds 'x'"),
    ],
)  # fmt: skip
def test_what_pieces_cannot_do_is_refused_in_a_sentence(
    here, said, name, content, sentence
):
    (here / name).write_text(content)
    target = [] if name == "t.svm" else ["--target", "y"]
    told = said("fit", name, *target, *PIECES, code=1)
    assert sentence in told
    assert told.count("\n") == 1
    assert "bug" not in told


def test_labels_of_libsvm_files_may_be_text_on_every_road(here, said):
    _libsvm(here / "t.svm", LABELS["text"][CLASS], SIGMA)
    for road in ("whole", "pieces"):
        fit(said, "t.svm", "label", road=road)
        assert load_model("m.wideberth").classes.tolist() == ["sick", "well"]
    model = RobustLinearSVC(C=0.5).fit(here / "t.svm")
    assert model.classes_.tolist() == ["sick", "well"]


def test_rows_of_an_array_are_predicted_without_their_labels(here, said):
    target, _ = _npy(here / "t.npy", LABELS["ints"][CLASS], SIGMA)
    fit(said, "t.npy", target)
    expected = values(said("predict", "m.wideberth", "t.npy"))
    (here / target).unlink()
    assert values(said("predict", "m.wideberth", "t.npy")) == expected
    assert said("certify", "m.wideberth", "t.npy")["accuracy"] is None
    assert "y.npy: there is no such file" in said(
        "fit", "t.npy", "--target", target, code=1
    )


def test_what_is_compressed_is_read_whole_or_not_at_all(here, said):
    """Cut into pieces by its size on disk, it would lack rows."""
    for name in ("t.svm", "t.csv"):
        target, _ = FILES[name](here / name, LABELS["ints"][CLASS], SIGMA)
        packed = gzip.compress((here / name).read_bytes())
        (here / f"{name}.gz").write_bytes(packed)
        result = fit(said, f"{name}.gz", target)
        assert result["model"] == fit(said, name, target)["model"]
        told = said("fit", f"{name}.gz", "--target", target, *PIECES, code=1)
        assert f"{name}.gz is compressed" in told
        with pytest.raises(DataError, match="is compressed"):
            open_data(here / f"{name}.gz", target)


def test_folders_are_read_or_refused_in_a_sentence(here, said, capsys):
    y = LABELS["text"][CLASS]
    for kind, write in (("arrow", FILES["t.arrow"]), ("csv", FILES["t.csv"])):
        (here / kind).mkdir()
        for k in range(2):
            write(here / kind / f"{k}.{kind}", y, SIGMA)
        result = fit(said, kind, "y", road="pieces")
        assert result["data"]["rows_used"] == 160
    assert fit(said, "arrow", "y")["data"]["rows_used"] == 160
    assert len(said("predict", "m.wideberth", "csv")["predictions"]) == 160
    (here / "csv" / "1.csv").write_text("x2,x1,x3,sigma,y\n1,2,3,4,sick\n")
    told = said("fit", "csv", "--target", "y", *PIECES, code=1)
    assert "have different first lines" in told
    with pytest.raises(SystemExit):
        main(["fit", "t.csv", "--target", "y", *PIECES, "--missing", "median"])
    assert "--missing median needs the whole table" in capsys.readouterr().err


def test_numbers_may_look_whole_for_as_long_as_they_like(here, said):
    """pyarrow takes the type of a column from its first megabyte."""
    n = 60_000
    lines = [f"{k % 9},{k % 7},{'pq'[k % 9 > 4]}\n" for k in range(n)]
    (here / "t.csv").write_text("a,b,y\n" + "".join(lines) + "0.5,2.5,p\n9,1,q\n")
    result = fit(said, "t.csv", "y", "--drop", "b", road="pieces")
    assert result["data"]["rows_used"] == n + 2
