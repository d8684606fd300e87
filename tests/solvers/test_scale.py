"""Data that is read in chunks: files, iterables, and the algorithm above them."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from problems import EXTREME_PENALTIES, make_solved
from safety import Reference, examine_chunks
from tall import INTERCEPTS, searched, tall_data
from wideberth import Box, NullModelWarning, RobustLinearSVC, solve
from wideberth.data import DataError, Request, Source, open_data
from wideberth.data.arrays import ArrayReader, LibsvmReader
from wideberth.data.columnar import ColumnarReader
from wideberth.data.files import parse_bytes
from wideberth.data.samples import Samples, Terms
from wideberth.noise import L2
from wideberth.problem import Pair, Problem
from wideberth.problem.rows import as_rows
from wideberth.screening import screen_points
from wideberth.screening.tests import quick_test
from wideberth.solvers.base import Control
from wideberth.solvers.sampling import draw

N, D = 30_000, 8
OPTIONS = {"C": 0.05, "tol": 1e-9, "random_state": 0, "fit_intercept": False}


@pytest.fixture(scope="module")
def data():
    X, y = tall_data(N, D)
    rng = np.random.default_rng(1)
    return X, y, rng.uniform(0.5, 2, N), rng.uniform(0, 0.2, N)


@pytest.fixture(scope="module")
def reference(data):
    X, y, weight, radius = data
    return solve(X, y, sample_weight=weight, radius=radius, **OPTIONS)


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    """The same data as arrays, as text and as columns."""
    X, y, *_ = data
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "X.npy", X)
    columns = {f"x{j}": X[:, j] for j in range(D)}
    table = pa.table(columns | {"label": y.astype("i1")})
    pa.parquet.write_table(table, folder / "all.parquet")
    dump_svmlight_file(X, y, str(folder / "all.svm"), zero_based=False)
    return folder


def slices(size, *arrays):
    return [
        tuple(part[start : start + size] for part in arrays)
        for start in range(0, arrays[0].shape[0], size)
    ]


POLYHEDRA = {"linf": "linf", "box": Box(np.linspace(0, 1, D)), "l1": "l1"}


def polyhedral_data(n=12_000, informative=3):
    """Features of which most tell nothing, with weights and radii of their own."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, D))
    y = np.where(X[:, :informative].sum(axis=1) + rng.normal(size=n) > 0.5, 1.0, -1.0)
    return X, y, rng.uniform(0.5, 2, n), rng.uniform(0, 0.1, n)


@pytest.mark.parametrize("shape", POLYHEDRA)
@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_polyhedra_and_penalties_in_chunks(shape, share, intercept, tmp_path):
    """The answer of memory, exact zeros included, from a list and from files."""
    X, y, weight, radius = polyhedral_data()
    options = OPTIONS | INTERCEPTS[intercept] | {"noise": POLYHEDRA[shape]}
    options |= {"norm_penalty": share * 100, "tol": 1e-7}
    expected = solve(X, y, sample_weight=weight, radius=radius, **options)
    found = solve(slices(3_000, X, y, weight, radius), **options)
    assert found.converged
    assert found.primal == pytest.approx(expected.primal, rel=1e-7)
    assert found.removed_features is None
    problem = Problem.from_data(
        X, y, C=options["C"], radius=radius, noise=options["noise"],
        sample_weight=weight, norm_penalty=options["norm_penalty"],
        intercept={"none": None, "free": 0.0, "penalised": 2.0}[intercept],
    )  # fmt: skip
    pair = problem.at(found.w, found.b), problem.dual_at(found.alpha)
    assert problem.certificate(*pair).bound <= 1.1e-7 * found.primal
    if shape != "l1":
        np.testing.assert_array_equal(found.w == 0, expected.w == 0)
        assert (found.w == 0).any()
    if intercept == "free":
        for name, part in (("X", X), ("y", y)):
            np.save(tmp_path / f"{name}.npy", part)
        files = tmp_path / "X.npy", tmp_path / "y.npy"
        read = solve(
            *files, sample_weight=weight, radius=radius, memory="8GB", **options
        )
        assert read.primal == pytest.approx(expected.primal, rel=1e-7)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"X_err": True}, "the noise hides"),
        ({"X_err": True, "norm_penalty": 1e3}, "norm_penalty and noise outweigh"),
        ({"noise": "linf", "norm_penalty": 1e3}, "norm_penalty and noise outweigh"),
    ],
)
def test_what_leaves_no_model_in_chunks_is_named(options, told):
    X, y, weight, _ = polyhedral_data(1_000)
    extra, options = (), OPTIONS | options
    if options.pop("X_err", False):
        options["error_shape"] = "box"
        extra = (
            np.ones(1_000),
            np.full_like(X, 0.1 if "norm_penalty" in options else 5.0),
        )
    with pytest.warns(NullModelWarning, match=told):
        found = solve(slices(250, X, y, weight, *extra), **options)
    assert not found.w.any()


@pytest.mark.parametrize("intercept", [None, 0.0, 1.0, *EXTREME_PENALTIES])
@pytest.mark.parametrize("shape", ["l2", "ellipsoid"])
def test_decisions_about_rows_in_chunks_are_right(intercept, shape):
    count = Counter()
    for seed in range(15):
        solved = make_solved(
            seed, n=24, shape=shape, intercept=intercept, duplicates=True,
            radius_decades=3 * (seed % 2), at_margin=0.2,
        )  # fmt: skip
        reference = Reference(solved.problem, solved)
        for part in examine_chunks(reference, np.random.default_rng(seed)).values():
            count.update(part)
    assert count["problems"] == 15
    assert count["wrong"] == 0
    assert count["decisions"] > 0


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("region", ["ellipsoid", "midpoint", "gap", None])
def test_chunks_decide_what_memory_decides_of_the_same_points(intercept, region, data):
    X, y = data[:2]
    options = OPTIONS | {"radius": 0.1, "screening": region, "tol": 2e-3}
    options |= INTERCEPTS[intercept]
    found = solve(slices(4_000, X, y), **options)
    if region is None:
        assert found.removed is None
        return
    problem = Problem.from_data(
        X, y, C=options["C"], radius=0.1,
        intercept={"none": None, "free": 0.0, "penalised": 2.0}[intercept],
    )  # fmt: skip
    pair = Pair(problem.at(found.w, found.b), problem.dual_at(found.alpha))
    test = quick_test(problem, region)
    expected = screen_points(problem, pair, region=region, test=test)
    assert expected.share > 0.1
    # Margins at hand decide hardly anything else, and at most a tenth less; with a free
    # b, whose bounds are those of all margins, a third less of most pairs of points.
    assert np.mean(found.removed & ~expected.removed) < 1e-3
    assert np.mean(found.saturated & ~expected.saturated) < 1e-3
    least = 0.6 * expected.share if intercept == "free" else expected.share - 0.1
    assert np.mean(found.removed | found.saturated) > least


@pytest.mark.parametrize("intercept", [None, 0.0, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_null_model_out_of_core_has_the_value_of_the_null_model(intercept, seed):
    rng = np.random.default_rng(seed)
    X, y = tall_data(200, 3, seed, shift=rng.normal())
    weight = rng.exponential(size=200)
    options = {"fit_intercept": intercept is not None, "radius": 20.0}
    with pytest.warns(NullModelWarning):
        found = solve(
            slices(60, X, y, weight), **options, intercept_penalty=intercept or 0.0
        )
    problem = Problem.from_data(
        X, y, radius=20.0, sample_weight=weight, intercept=intercept
    )
    assert not found.w.any()
    assert found.primal == pytest.approx(problem.at(found.w).value, rel=1e-12)
    assert found.dual == pytest.approx(problem.dual_at(found.alpha).value, rel=1e-12)
    assert found.primal == pytest.approx(found.dual, rel=1e-9)


class Counting(Source):
    """A source that counts reads and says how many rows may be held."""

    def __init__(self, X, y, rows_held, size=3_000):
        super().__init__()
        self.parts, self.rows_held = slices(size, X, y), rows_held
        self.n, self.d = X.shape
        self.row_bytes, self.reads = 8 * self.d, 0

    def chunks(self):
        self.reads += 1
        for number, (X, y) in enumerate(self.parts):
            yield Samples(X, y, number=number)

    def capacity(self, copies=1, item=None):
        return self.rows_held


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize(("n", "d"), [(300, 3), (20, 100), (2, 1), (50, 1)])
def test_small_and_wide_data(n, d, intercept):
    X, y = tall_data(n, d, shift=0.0)
    y[:2] = 1, -1
    options = {"C": 1.0, "radius": 0.01, "tol": 1e-9} | INTERCEPTS[intercept]
    found = solve(slices(n // 2, X, y), **options)
    assert found.primal == pytest.approx(solve(X, y, **options).primal, rel=1e-7)


def test_too_little_memory_is_said(data, monkeypatch):
    monkeypatch.setattr("wideberth.data.sources.Source.capacity", lambda *_: 60)
    monkeypatch.setattr("wideberth.solvers.driver.MOST_STEPS", 3)
    with pytest.warns(UserWarning, match="too many rows are near the margin"):
        found = solve(slices(4_000, *data[:2]), **OPTIONS)
    assert not found.converged


def test_a_callback_and_a_deadline_stop_with_an_honest_gap(data):
    X, y = data[:2]
    with pytest.warns(UserWarning, match="callback"):
        found = solve(slices(4_000, X, y), callback=lambda entry: True, **OPTIONS)
    assert not found.converged
    assert found.gap > 0
    with pytest.warns(UserWarning, match="max_seconds"):
        found = solve(slices(4_000, X, y), max_seconds=1e-6, **OPTIONS)
    assert found.relative_gap > 1e-9


def test_progress_goes_to_standard_error(data, capsys):
    solve(slices(4_000, *data[:2]), verbose=True, **OPTIONS)
    shown = capsys.readouterr()
    assert "after 2 reads: objective" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("seed", range(30))
def test_the_certificate_is_true_whatever_the_memory(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(200, 1_500)), int(rng.integers(1, 7))
    X, y = tall_data(n, d, seed, shift=rng.normal())
    y[:2] = 1, -1
    weight = rng.choice([0.0, 1e-3, 1.0, 1.0, 50.0], size=n)
    radius = rng.choice([0.0, rng.exponential(0.3)]) * rng.random(n)
    intercept = [None, 0.0, 1.0][seed % 3]
    C = 10.0 ** rng.uniform(-3, 2)

    if seed % 2:
        X = sp.csr_array(X)

    class Small(Counting):
        def chunks(self):
            for number, part in enumerate(slices(150, X, y, weight, radius)):
                yield Samples(*part, number=number, origin="test")

    terms = Terms(d, C, 0.0, L2(), intercept)
    held = int(rng.integers(20 * d + 60, 400))
    found = searched(Small(X, y, held), terms, Control(1e-6), random_state=seed)
    problem = Problem.from_data(
        X, y, C=C, radius=radius, sample_weight=weight, intercept=intercept
    )
    certificate = found.certificate
    slack = 10 * certificate.rounding + 1e-12 * certificate.primal
    own = problem.at(found.w, found.b).value
    assert own == pytest.approx(certificate.primal, abs=slack)
    if found.alpha is not None:
        dual = problem.dual_at(found.alpha).value
        assert dual == pytest.approx(certificate.dual, abs=slack)
    exact = solve(
        X,
        y,
        C=C,
        radius=radius,
        sample_weight=weight,
        fit_intercept=intercept is not None,
        intercept_penalty=intercept or 0.0,
        tol=1e-9,
        quiet=True,
    )
    assert certificate.dual <= exact.primal + slack
    assert certificate.primal >= exact.dual - slack


@pytest.mark.parametrize("k", [30, 200, 600, 999])
def test_rows_are_drawn_with_the_chance_that_is_said(k):
    rng = np.random.default_rng(0)
    n, rounds = 1_000, 300
    rows = as_rows(np.ones((n, 1)), np.where(rng.random(n) < 0.02, 1.0, -1.0))
    weights = np.where(rng.random(n) < 0.01, 100.0, 1.0)
    sums, sizes, certain = np.zeros(n), [], np.ones(n, dtype=bool)
    for seed in range(rounds):
        places, chance = draw(rows, weights, k, seed)
        assert np.unique(places).size == places.size == chance.size
        assert np.all((chance > 0) & (chance <= 1))
        sums[places] += 1 / chance
        sizes.append(places.size)
        drawn = np.zeros(n, dtype=bool)
        drawn[places] = True
        certain &= drawn
    assert np.mean(sizes) <= k
    for stratum in (weights > 50, rows.y > 0, (weights < 50) & (rows.y < 0)):
        error = np.sqrt(sums[stratum].max() / rounds / stratum.sum() / rounds)
        assert sums[stratum].mean() / rounds == pytest.approx(1.0, abs=6 * error)
    if k >= 200:  # few rows of much weight stand for nobody but themselves
        assert certain[weights > 50].all()


# -- errors ----------------------------------------------------------------------------


def bad(parts, number, change):
    parts = list(parts)
    parts[number] = change(*parts[number])
    return parts


def spoiled(X, y):
    X = X.copy()
    X[17, 3] = np.nan
    return X, y


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (spoiled, r"chunk 7: X contains nan at row 17, column 3"),
        (
            lambda X, y: (X[:, :5], y),
            r"chunk 7: has shape \(2000, 5\); every chunk must have 8 columns",
        ),
        (lambda X, y: (X, y[:-1]), r"chunk 7: has labels of shape"),
        (lambda X, y: (X, 2 * y), r"chunk 7: row 0 has the label -?2; solve needs"),
        (lambda X, y: (X, y, -y), r"chunk 7: the weight is -1"),
        (lambda X, y: (X,), r"chunk 7: each must be a tuple"),
    ],
)
def test_an_error_names_the_chunk(data, change, message):
    parts = bad(slices(2_000, *data[:2]), 7, change)
    with pytest.raises(DataError, match=message):
        solve(parts, fit_intercept=False)


def test_libsvm_text_that_does_not_fit_is_parsed_anew(files):
    path = files / "all.svm"
    kept, anew = LibsvmReader(path, 10**9), LibsvmReader(path, 10**6)
    assert kept._kept is not None
    assert anew._kept is None
    plan = kept.plan(Request(texts=("label",)))
    for _ in range(2):
        (one,), many = kept.tables(plan, 1, True), list(anew.tables(plan, 1, True))
        X = sp.vstack([part.X for part in many]).toarray()
        np.testing.assert_array_equal(X, one.X.toarray())
        labels = np.concatenate([part.texts["label"] for part in many])
        np.testing.assert_array_equal(labels, one.texts["label"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("nowhere.npy", np.ones(3)), "no file or folder nowhere.npy"),
        (({}, None), "yields no chunk"),
        ((iter([]), None), "read only once"),
    ],
)
def test_what_cannot_be_opened(given, message):
    with pytest.raises((DataError, FileNotFoundError), match=message):
        open_data(*given)


@pytest.mark.parametrize(
    "options", [{"solver": "coordinate"}, {"solver": "conic"}, {"init": (0, 0, 0)}]
)
def test_what_needs_memory_says_so(options, data):
    with pytest.raises(ValueError, match="in memory"):
        solve(slices(4_000, *data[:2]), **options)


def test_a_single_class_is_an_error(data):
    with pytest.raises(DataError, match=r"y holds a single class, 1\.0; .* needs two"):
        solve(slices(4_000, data[0], np.ones(N)), fit_intercept=False)


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("500 MiB", 500 * 2**20), (1000, 1000), ("1.5k", 1500)],
)
def test_amounts_of_memory(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["lots", "-1", 0, "2 parsecs", float("nan")])
def test_wrong_amounts_of_memory(text):
    with pytest.raises(ValueError, match="amount of memory"):
        parse_bytes(text)


HELD = 310 * 10**6


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("280MB", "memory='280MB' is less than the 310 MB that this process holds"),
        (325 * 10**6, "memory=325000000 is hardly more than the 310 MB"),
    ],
)
@pytest.mark.parametrize("name", ["X.npy", "all.svm", "all.parquet", "chunks"])
def test_too_little_memory_is_refused_before_anything_is_read(
    name, memory, message, data, files, monkeypatch
):
    monkeypatch.setattr("wideberth.data.files.resident", lambda: HELD)
    read = []
    for reader in (ArrayReader, LibsvmReader, ColumnarReader):
        monkeypatch.setattr(reader, "tables", lambda *_, **__: read.append(1))
    monkeypatch.setattr(LibsvmReader, "__init__", lambda *_: read.append(1))
    y = {"X.npy": data[1], "all.parquet": "label"}.get(name)
    X = files / name if name != "chunks" else lambda: read.append(1)
    with pytest.raises(DataError, match=f"^{message}.*give at least 390MB"):
        solve(X, y, memory=memory, **OPTIONS)
    with pytest.raises(DataError, match=message):
        RobustLinearSVC().fit(open_data(X, y, memory=memory))
    assert not read


GENERATE = """
import sys
import numpy as np
rng, folder = np.random.default_rng(0), sys.argv[1]
X = np.lib.format.open_memmap(f"{folder}/X.npy", "w+", np.float32, (1_250_000, 40))
normal, y = rng.normal(size=40) / 6, np.empty(len(X), np.int8)
for start in range(0, len(X), 50_000):
    rows = slice(start, start + 50_000)
    X[rows] = rng.standard_normal((50_000, 40), dtype=np.float32)
    y[rows] = np.where(X[rows] @ normal + rng.normal(size=50_000) > 0, 1, -1)
np.save(f"{folder}/y.npy", y)
np.save(f"{folder}/few X.npy", X[:60_000])
np.save(f"{folder}/few y.npy", y[:60_000])
"""
SOLVE = """
import re, sys
from wideberth import solve
from wideberth.data.files import resident
folder, more = sys.argv[1], int(sys.argv[2])
options = {"C": 0.01, "radius": 0.05, "tol": 1e-4, "random_state": 0}
solve(f"{folder}/few X.npy", f"{folder}/few y.npy", memory="1GB", **options)
memory = resident() + more
found = solve(f"{folder}/X.npy", f"{folder}/y.npy", memory=memory, **options)
assert found.converged, found
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]
print(1024 * int(peak) - memory)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the memory held")
def test_memory_is_bounded_by_the_argument(tmp_path):
    """200 MB of data, and 65 MB beyond what the interpreter and its libraries take.

    What these take is theirs, and the machine's: it is measured, having solved once.
    """

    def run(script, *arguments):
        command = [sys.executable, "-c", script, str(tmp_path), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(GENERATE)
    assert int(run(SOLVE, str(65 * 10**6))) < 0
