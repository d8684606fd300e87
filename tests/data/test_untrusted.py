"""Files from strangers: no code runs, nothing blows up, and a sentence says why.

Most of these were found by `make fuzz`.
"""

import gzip
import pickle
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import wideberth
from browser import needs_browser, probe
from commands import as_csv, two_classes
from wideberth import RobustLinearSVC, RobustLinearSVCCV, path, solve
from wideberth.cli import main
from wideberth.cli.model_file import _sparse, dumps, loads
from wideberth.data import DataError, Format, Request, files, open_data, open_table

X, Y = two_classes(40)
PACKAGE = Path(wideberth.__file__).parent


class Malice:
    """Leaves a trace where it is unpickled."""

    def __reduce__(self):
        return open, ("trace", "w")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(as_csv(X, Y))
    return tmp_path


def refused(path, request=None, kind=None):
    with pytest.raises(DataError) as caught:
        open_table(str(path), request or Request("y", ("y",)), Format(kind))
    return str(caught.value)


# -- models ----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["predict", "certify"])
def test_a_pickle_by_another_name_is_never_unpickled(here, command, capsys):
    Path("m.wideberth").write_bytes(pickle.dumps(Malice()))
    assert main([command, "m.wideberth", "data.csv"]) == 1
    assert capsys.readouterr().err == (
        "wideberth: m.wideberth is not a model file; give the file that wideberth fit "
        "--out wrote.\n"
    )
    assert not Path("trace").exists()


# -- tables ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"1 {'9' * 5000}:1", "which is not index:value with a whole index"),
        ("1 1:\u0661", "which is not a finite number"),
        ("1 1:\x1c5", "which is not a finite number"),
    ],
)
def test_numbers_of_other_scripts_and_sizes_in_libsvm_files(here, line, sentence):
    Path("a.svm").write_text(line + "\n", encoding="utf-8")
    assert sentence in refused("a.svm", Request(texts=("label",)))


@pytest.mark.parametrize("encoding", ["undefined", "utf-16", "punycode"])
def test_text_that_a_codec_cannot_read(here, encoding):
    Path("b.csv").write_bytes(b"a,y\n1,p\n0.5,\xe9\n")
    with pytest.raises(DataError, match="--read encoding=latin-1"):
        open_table("b.csv", Request("y", ("y",)), Format(encoding=encoding))


@pytest.mark.parametrize(
    ("name", "spoilt"),
    [
        ("indices", [2**40, 2]),
        ("indptr", [0, 9, 1, 2]),
        ("indptr", [0, 1, 2**30, -(2**30)]),
        ("indptr", np.array([0, 2**31 - 1, -(2**31), 1], dtype=np.int32)),
        ("indptr", np.array([0, 1, 2**30, 2**64 - 1], dtype=np.uint64)),
    ],
)
def test_sparse_matrices_are_checked_before_they_are_used(name, spoilt):
    """SciPy trusts the indices: this one ended in a segmentation fault."""
    matrix = sp.csr_array(np.eye(3, 2))
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    whole = loads(dumps({"matrix": matrix}))["matrix"]
    np.testing.assert_array_equal(whole.toarray(), matrix.toarray())
    with pytest.raises((ValueError, OverflowError)):
        _sparse(**parts | {"shape": (3, 2), name: np.array(spoilt)})


def header(shape):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "shape",
    ["(4, 0)", "(-1, 2)", f"({10**30}, 0)", f"({10**12}, 2)", "(((", "-" * 3000 + "1"],
)
def test_headers_that_promise_what_is_not_there(here, shape):
    Path("X.npy").write_bytes(header(shape) + bytes(64))
    with pytest.raises(DataError, match=r"X\.npy"):
        open_data("X.npy", np.ones(4))


@pytest.mark.parametrize(
    "content", [b"", b"\x93NUMPY", header("((("), header(f"({2**70},)")]
)
def test_labels_in_a_file_that_is_damaged(here, content):
    np.save("X.npy", np.ones((4, 2)))
    Path("y.npy").write_bytes(content)
    with pytest.raises(DataError, match=r"y\.npy is (not a \.npy file|cut short)"):
        open_data("X.npy", "y.npy")


def test_tables_that_arrow_cannot_read(here):
    Path("a.csv").write_bytes("Größe,y\n1,1\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"a\.csv, line 1 is not UTF-8 text"):
        open_data("a.csv", "y")
    twice = pa.Table.from_arrays([pa.array([1.0])] * 3, names=["a", "a", "y"])
    pq.write_table(twice, "twice.parquet")
    with pytest.raises(
        DataError, match=r"twice\.parquet has more than one column called 'a'"
    ):
        open_data("twice.parquet", "y")
    pq.write_table(
        pa.table({"a": pa.array([], pa.float64()), "y": pa.array([], pa.int64())}),
        "none.parquet",
    )
    with pytest.raises(DataError, match="No row of the data"):
        solve("none.parquet", "y", fit_intercept=False)


def test_arrow_files_are_checked_before_they_are_used(here):
    """Offsets that lead astray: this one ended in a segmentation fault, too."""
    labels = pa.array(["left", "right"] * 50)
    table = pa.table({"a": np.arange(100.0), "y": labels})
    with pa.ipc.new_file("a.arrow", table.schema) as writer:
        writer.write_table(table)
    whole = Path("a.arrow").read_bytes()
    offsets = np.frombuffer(labels.buffers()[1], np.int32)[:101].tobytes()
    at = whole.index(offsets)
    astray = np.full(101, 2**30, np.int32).tobytes()
    Path("a.arrow").write_bytes(whole[:at] + astray + whole[at + len(offsets) :])
    with pytest.raises(DataError, match=r"a\.arrow is not a readable Arrow file"):
        RobustLinearSVC().fit("a.arrow", "y")


def test_a_table_of_fewer_rows_than_it_promises_is_damaged(here, capsys):
    columns = {"a": X[:, 0], "y": [1, -1] * 20}
    pq.write_table(pa.table(columns), "a.parquet")
    whole, (told, lie) = Path("a.parquet").read_bytes(), (b"\x16\x50", b"\x16\x52")
    footer = told + b"\x19\x1c"  # twice the number of rows, a list of one row group
    assert whole.count(footer) == 1
    Path("a.parquet").write_bytes(whole.replace(footer, lie + footer[2:]))
    sentence = "a.parquet is damaged: it promises 41 rows, and 40 can be read"
    assert sentence in refused("a.parquet")
    for memory in ([], ["--memory", "8GB"]):
        assert main(["fit", "a.parquet", "--target", "y", "--folds", "0", *memory]) == 1
        assert sentence in capsys.readouterr().err
    with pytest.raises(DataError, match=sentence):
        solve("a.parquet", "y")


@pytest.mark.parametrize(
    "labels",
    [
        [[1.0], [-1.0]] * 20,
        [[1.0, 2.0], [3.0]] * 20,
        [{"a": 1}, {"a": 2}] * 20,
        pa.DictionaryArray.from_arrays([0, 1] * 20, pa.array([[1], [2]])),
    ],
)
def test_a_label_is_one_value(here, labels, capsys):
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": labels})
    with pa.ipc.new_file("a.arrow", table.schema) as writer:
        writer.write_table(table)
    sentence = "column 'y' holds values of type .*must hold one number or text per row"
    for train in (solve, RobustLinearSVC().fit):
        with pytest.raises(DataError, match=sentence):
            train("a.arrow", "y")
    for memory in ([], ["--memory", "8GB"]):
        assert main(["fit", "a.arrow", "--target", "y", "--folds", "0", *memory]) == 1
        assert re.search(sentence, capsys.readouterr().err)
    y = np.empty(40, dtype=object)
    y[:] = labels if isinstance(labels, list) else labels.to_pylist()
    with pytest.raises(ValueError, match=r"y holds an object of type (list|dict)"):
        solve([(X, y)], fit_intercept=False)


def test_tables_larger_than_memory_are_refused_before_they_are_unpacked(
    here, monkeypatch
):
    monkeypatch.setattr(files, "physical_memory", lambda: 10**6)
    rows = 200_000
    zeros = np.zeros(rows)
    pq.write_table(pa.table({"a": zeros, "y": zeros.astype(int)}), "a.parquet")
    Path("a.csv.gz").write_bytes(gzip.compress(b"a,y\n" + b"0,1\n" * rows))
    Path("a.svm").write_bytes(b"1 1:0\n" * rows)
    for name in ("a.parquet", "a.csv.gz", "a.svm"):
        target = "label" if name == "a.svm" else "y"
        told = refused(name, Request((target,)))
        assert "GB, more than the 0.0 GB of memory" in told, told


# -- arguments -------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.0, -0.0])
def test_samples_without_weight_leave_nothing_to_learn_beside_an_intercept(weight):
    y = np.where(Y == "sick", 1, -1)
    options = {"sample_weight": weight, "fit_intercept": True, "quiet": True}
    assert not solve(X, y, **options).w.any()
    assert not path(X, y, Cs=2, **options).coefs.any()
    start = np.ones(3), 1.0, np.ones(40)
    for solver in ("newton", "coordinate"):
        assert not solve(X, y, init=start, solver=solver, **options).w.any()


@pytest.mark.parametrize("n_jobs", [0, 1.5, np.inf, "2"])
def test_jobs_that_cannot_be_counted_are_refused(n_jobs):
    for estimator in (RobustLinearSVC(), RobustLinearSVCCV(Cs=[1])):
        with pytest.raises(
            ValueError, match=r"n_jobs=.* must be None or a whole number"
        ):
            estimator.set_params(n_jobs=n_jobs).fit(X, Y)


def test_rows_of_one_number_are_no_chunks():
    with pytest.raises(
        DataError, match=r"chunk 0: the rows have shape \(\); they must"
    ):
        RobustLinearSVC().fit([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(DataError, match="X is a memoryview, which yields no chunks"):
        solve(memoryview(X), fit_intercept=False)


# -- reports -----------------------------------------------------------------------------

HOSTILE = (
    "<script>alert(1)</script>",
    "</style><script>alert(2)</script>",
    "\"><img src=x onerror='alert(3)'>",
    "\u202egnp.exe\u2066&amp;'",
)


@pytest.fixture
def hostile(here):
    """A report on data that is markup wherever it can be."""
    y = np.where(Y == "sick", HOSTILE[2], HOSTILE[1])
    text = as_csv(X, y, (*HOSTILE[:2], HOSTILE[3]), HOSTILE[0] + "y", id=["<b>"] * 40)
    Path("<svg onload=alert(4)>.csv").write_text(text)
    options = ["--target", HOSTILE[0] + "y", "--radius", "0.1", "--one-hot", "id"]
    assert (
        main(["fit", "<svg onload=alert(4)>.csv", *options, "--report", "r.html"]) == 0
    )
    return Path("r.html").read_text(encoding="utf-8")


def test_names_from_data_stay_text(hostile):
    assert hostile.count("<script") == hostile.count("</script") == 1
    assert hostile.count("<style") == hostile.count("</style")
    for markup in ("<img", "<b>", "onload=alert(4)>", HOSTILE[0]):
        assert markup not in hostile
    assert "&lt;img src=x onerror=" in hostile


@needs_browser
def test_no_browser_runs_what_came_with_the_data(hostile, tmp_path):
    watch = "<script>window.alert = (text) => console.error('alert ' + text);</script>"
    page = hostile.replace("<head>", "<head>" + watch, 1)
    assert probe(page, tmp_path)["problems"] == []
    naive = page.replace("&lt;", "<").replace("&gt;", ">")  # the watch would notice
    assert "alert 1" in probe(naive, tmp_path)["problems"]


# -- the code ----------------------------------------------------------------------------


def test_no_part_of_the_package_unpickles():
    """That it evaluates nothing and calls no shell is checked by ruff (S)."""
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 50
    risky = re.compile(r"allow_pickle=True|^ *(import|from) (pickle|joblib|dill)", re.M)
    assert [f for f in files if risky.search(f.read_text(encoding="utf-8"))] == []
