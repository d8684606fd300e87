"""Data that is read in chunks: files, iterables, and the algorithm above them."""

import os
import pickle
import subprocess
import sys
import tempfile
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
from wideberth.data import DataError, Source, open_data
from wideberth.data.arrays import ArrayReader
from wideberth.data.columnar import ColumnarReader
from wideberth.data.libsvm import LibsvmReader
from wideberth.data.memory import parse_bytes, physical_memory
from wideberth.data.samples import Samples, Terms
from wideberth.noise import L2, as_noise
from wideberth.problem import Pair, Problem
from wideberth.problem.endpoints import critical_scale
from wideberth.problem.rows import as_rows
from wideberth.screening import screen_points
from wideberth.screening.tests import quick_test
from wideberth.solvers.base import Control
from wideberth.solvers.batches import Decide, Proof, part_of
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
    """The same data in every format."""
    X, y, weight, radius = data
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "X.npy", X)
    for name, part in (("y", y), ("weight", weight), ("radius", radius)):
        np.save(folder / f"{name}.npy", part)
    columns = {f"x{j}": X[:, j] for j in range(D)}
    table = pa.table(columns | {"label": y.astype("i1"), "w": weight, "r": radius})
    (folder / "parts").mkdir()
    for k in range(3):
        part = table.slice(k * N // 3, N // 3)
        pa.parquet.write_table(part, folder / "parts" / f"{k}.parquet")
    pa.parquet.write_table(table, folder / "all.parquet", row_group_size=5_000)
    pa.feather.write_feather(table, folder / "all.feather")
    pa.csv.write_csv(table, folder / "all.csv")
    with pa.ipc.new_file(str(folder / "all.arrow"), table.schema) as writer:
        writer.write_table(table)
    dump_svmlight_file(X, y, str(folder / "all.svm"), zero_based=False)
    return folder


def slices(size, *arrays):
    return [
        tuple(part[start : start + size] for part in arrays)
        for start in range(0, arrays[0].shape[0], size)
    ]


def inputs(data, files):
    """X and y, with weights and radii, in every form that is read in chunks."""
    X, y, weight, radius = data
    columns = {"sample_weight": "w", "radius": "r"}
    arrays = {"sample_weight": weight, "radius": radius}
    paths = {"sample_weight": files / "weight.npy", "radius": files / "radius.npy"}
    tables = ("parts", "all.parquet", "all.feather", "all.arrow", "all.csv")
    return {
        **{name: ((files / name, "label"), columns) for name in tables},
        "npy": ((str(files / "X.npy"), y), arrays),
        "npy, all on disk": ((files / "X.npy", files / "y.npy"), paths),
        "memory map": ((np.load(files / "X.npy", mmap_mode="r"), y), arrays),
        "LIBSVM": ((files / "all.svm",), arrays),
        "list of chunks": ((slices(4_000, X, y, weight, radius),), {}),
        "function": ((lambda: iter(slices(7_000, X, y, weight, radius)),), {}),
        "sparse chunks": (
            (
                [
                    (sp.csr_array(part), *rest)
                    for part, *rest in slices(9_000, X, y, weight, radius)
                ],
            ),
            {},
        ),
    }


FORMS = [
    "parts", "all.parquet", "all.feather", "all.arrow", "all.csv", "npy", "npy, all on disk",
    "memory map", "LIBSVM", "list of chunks", "function", "sparse chunks",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_data_has_the_answer_of_memory(
    form, data, files, reference, monkeypatch
):
    given, options = inputs(data, files)[form]
    monkeypatch.setattr("wideberth.data.sources.room", lambda memory: 10**10)
    memory = 10**6 if form == "memory map" else "8GB"
    found = solve(*given, memory=memory, **options, **OPTIONS)
    assert found.converged
    assert abs(found.primal / reference.primal - 1) < 1e-8
    np.testing.assert_allclose(found.w, reference.w, atol=2e-4)


def test_a_small_memory_map_is_an_array(data, files, monkeypatch):
    monkeypatch.setattr("wideberth.data.sources.room", lambda memory: 10**10)
    mapped = np.load(files / "X.npy", mmap_mode="r")
    found = solve(mapped, data[1], memory="1GB", **OPTIONS)
    assert np.array_equal(found.w, solve(data[0], data[1], **OPTIONS).w)
    inside = mapped[10_000:]
    found = solve(inside, data[1][10_000:], memory=10**6, **OPTIONS)
    same = solve(np.array(inside), data[1][10_000:], **OPTIONS)
    assert found.primal == pytest.approx(same.primal, rel=1e-8)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("noise", ["l2", "scales", "covariance"])
def test_intercepts_and_noise_shapes(intercept, noise, data):
    X, y, weight, radius = data
    rng = np.random.default_rng(2)
    root = rng.normal(size=(D, D)) / 3
    shape = {"l2": "l2", "scales": np.linspace(0, 1, D), "covariance": root @ root.T}
    options = OPTIONS | INTERCEPTS[intercept] | {"noise": shape[noise]}
    expected = solve(X, y, sample_weight=weight, radius=radius, **options)
    found = solve(slices(6_000, X, y, weight, radius), **options)
    assert found.converged
    assert found.primal == pytest.approx(expected.primal, rel=1e-8)


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


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_boxes_per_cell_and_a_penalty_in_chunks(share, intercept):
    X, y, weight, _ = polyhedral_data(6_000)
    errors = np.random.default_rng(5).uniform(0, 0.5, X.shape)
    options = OPTIONS | INTERCEPTS[intercept] | {"error_shape": "box", "tol": 1e-6}
    options |= {"norm_penalty": share * 10}
    expected = solve(X, y, X_err=errors, sample_weight=weight, **options)
    chunks = slices(1_500, X, y, weight, np.ones(len(y)), errors)
    found = solve(chunks, **options)
    assert found.converged
    assert found.primal == pytest.approx(expected.primal, rel=1e-6)
    assert found.w.any()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"X_err": True}, "the noise covers"),
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


@pytest.mark.parametrize("noise", ["linf", "l1", "l2"])
@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_the_penalty_that_leaves_no_model_is_that_of_memory(noise, factor):
    X, y, weight, _ = polyhedral_data(6_000)
    shape, c = as_noise(noise, D), OPTIONS["C"] * weight
    radius = 0.1
    limit = shape.dual_norm((c * y) @ X) - radius * c.sum()
    options = OPTIONS | {"noise": noise, "norm_penalty": factor * limit, "tol": 1e-6}
    parts = slices(1_500, X, y, weight)
    found = solve(parts, radius=radius, quiet=True, **options)
    assert found.converged
    assert found.w.any() == (factor < 1)


def test_sparse_chunks_take_a_covariance(data):
    X, y = np.where(np.abs(data[0]) > 1, data[0], 0.0), data[1]
    root = np.random.default_rng(2).normal(size=(D, D)) / 3
    options = OPTIONS | {"noise": root @ root.T, "radius": 0.2}
    parts = [(sp.csr_array(part), labels) for part, labels in slices(6_000, X, y)]
    found, expected = solve(parts, **options), solve(X, y, **options)
    assert found.primal == pytest.approx(expected.primal, rel=1e-8)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_certificate_is_that_of_the_whole_problem(intercept, data):
    X, y, weight, radius = data
    options = OPTIONS | INTERCEPTS[intercept]
    found = solve(slices(5_000, X, y, weight, radius), **options)
    kind = {"none": None, "free": 0.0, "penalised": 2.0}[intercept]
    problem = Problem.from_data(
        X, y, C=0.05, radius=radius, sample_weight=weight, intercept=kind
    )
    point, dual = problem.at(found.w, found.b), problem.dual_at(found.alpha)
    assert found.primal == pytest.approx(point.value, rel=1e-12)
    assert found.dual == pytest.approx(dual.value, rel=1e-12)
    assert found.gap <= 1e-9 * found.primal


@pytest.mark.parametrize("intercept", ["none", "penalised"])
def test_what_is_proven_of_rows_is_true(intercept, data):
    X, y, weight, radius = data
    options = OPTIONS | INTERCEPTS[intercept]
    exact = solve(X, y, sample_weight=weight, radius=radius, **options | {"tol": 1e-11})
    found = solve(slices(5_000, X, y, weight, radius), **options | {"tol": 1e-6})
    c = 0.05 * weight
    assert found.removed.mean() > 0.2
    assert found.saturated.mean() > 0.2
    assert np.all(exact.alpha[found.removed] <= 1e-6 * c[found.removed])
    assert np.all(exact.alpha[found.saturated] >= (1 - 1e-6) * c[found.saturated])


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


def test_folded_rows_have_their_weight_as_dual_weight():
    X, y = tall_data(40, 2)
    problem = Problem.from_data(X, y, C=0.5, intercept=1.0)
    members = {0: (np.array([3, 7]), np.array([0.125, 0.25])), 1: None}
    point, dual = problem.at(np.zeros(2), 0.0), problem.dual_at(np.zeros(40))
    proof = Proof(dual, point, members)
    decided = part_of(Decide(Pair(point, dual), None, True, proof), 0)(0, problem)
    expected = np.full(40, 0.5)
    expected[[3, 7]] = 0.125, 0.25
    np.testing.assert_array_equal(decided.alpha, expected)
    assert decided.counts == (0, 0, 0)


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


@pytest.mark.parametrize("intercept", [None, 0.0, 1.0])
@pytest.mark.parametrize("shift", [0.0, 1.0])  # classes alike, or one much heavier
@pytest.mark.parametrize("seed", range(3))
def test_the_null_model_out_of_core_is_proven(intercept, shift, seed):
    rng = np.random.default_rng(seed)
    X, y = tall_data(200, 3, seed, shift=shift)
    weight, radii = rng.exponential(size=200), rng.uniform(0.5, 1.5, size=200)
    problem = Problem.from_data(
        X, y, radius=radii, sample_weight=weight, intercept=intercept
    )
    alive = 0.9 * critical_scale(problem).lower * radii
    options = {"fit_intercept": intercept is not None, "quiet": True}
    options["intercept_penalty"] = intercept or 0.0
    found = solve(slices(60, X, y, weight, alive), **options)
    assert found.w.any()
    assert found.dual <= problem.with_radii(alive).at(found.w, found.b).value


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


@pytest.mark.parametrize("intercept", [None, 0.0, 1.0])
@pytest.mark.parametrize("rows_held", [800, 2_000, 10**6])
def test_few_reads_whatever_the_memory(rows_held, intercept):
    X, y = tall_data(60_000)
    source, control = Counting(X, y, rows_held), Control(1e-6)
    terms = Terms(8, 0.05, 0.1, L2(), intercept)
    found = searched(source, terms, control, random_state=0)
    assert source.reads == found.reads
    assert found.certificate.gap <= 1e-6 * found.certificate.primal
    # Three times what any kernels tried needed; `make bench-guard` watches the counts.
    assert found.reads <= {800: 33, 2_000: 18, 10**6: 15}[rows_held]
    assert max(entry["free"] for entry in control.trace[:-1]) <= max(rows_held, 2_000)


@pytest.mark.parametrize("radius", [3.0, 50.0])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_noise_beyond_the_critical_radius_gives_the_null_model(radius, intercept, data):
    X, y = data[:2]
    options = {"C": 0.05, "radius": radius} | INTERCEPTS[intercept]
    with pytest.warns(NullModelWarning):
        expected = solve(X, y, **options)
    with pytest.warns(NullModelWarning):
        found = solve(slices(4_000, X, y), **options)
    assert not found.w.any()
    assert found.primal == pytest.approx(expected.primal, rel=1e-9)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize(("n", "d"), [(300, 3), (20, 100), (2, 1), (50, 1)])
def test_small_and_wide_data(n, d, intercept):
    X, y = tall_data(n, d, shift=0.0)
    y[:2] = 1, -1
    options = {"C": 1.0, "radius": 0.01, "tol": 1e-9} | INTERCEPTS[intercept]
    found = solve(slices(n // 2, X, y), **options)
    assert found.primal == pytest.approx(solve(X, y, **options).primal, rel=1e-7)


def test_rows_without_weight_leave_nothing_to_learn(data):
    X, y = data[:2]
    with pytest.warns(NullModelWarning):
        found = solve(slices(4_000, X, y, np.zeros(N)), fit_intercept=False)
    assert found.primal == 0
    with pytest.raises(DataError, match="overflows"):
        solve(slices(4_000, X, y, np.full(N, 1e308)), C=1e3, fit_intercept=False)


@pytest.mark.parametrize("intercept", [0.0, 1.0])
def test_rows_at_the_margin_need_not_all_fit(intercept):
    X, y = tall_data(30_000, 4)
    y[:] = np.where(np.arange(len(y)) % 1_000 == 0, 1.0, -1.0)  # best: always −1
    terms, control = Terms(4, 1.0, 0.0, L2(), intercept), Control(1e-6)
    found = searched(Counting(X, y, 2_000), terms, control, random_state=0)
    problem = Problem.from_data(X, y, C=1.0, radius=0.0, intercept=intercept)
    own = problem.gap(found.w, found.b, found.alpha)
    assert own == pytest.approx(found.certificate.gap, abs=1e-9 * len(y))
    assert own <= 1e-6 * found.certificate.primal


@pytest.mark.parametrize("held", [60, 150])
def test_little_memory_costs_reads_not_accuracy(held):
    X, y = tall_data(30_000, 20)
    terms, control = Terms(20, 0.05, 0.1, L2(), None), Control(1e-4)
    found = searched(Counting(X, y, held), terms, control)
    assert found.grouped
    assert found.certificate.gap <= 1e-4 * found.certificate.primal


@pytest.mark.parametrize("noise", ["linf", "box", "l1"])
@pytest.mark.parametrize("held", [300, 1_000])
def test_little_memory_serves_polyhedra_and_penalties(noise, held):
    X, y, _, _ = polyhedral_data()
    shape, s = as_noise(POLYHEDRA[noise], D), 30.0
    terms, control = Terms(D, 0.05, 0.05, shape, None), Control(1e-5)
    found = searched(Counting(X, y, held), terms, control, norm_penalty=s)
    problem = Problem.from_data(X, y, C=0.05, radius=0.05, noise=shape, norm_penalty=s)
    own = problem.certificate(problem.at(found.w), problem.dual_at(found.alpha))
    assert own.bound <= 1.1e-5 * own.primal
    assert own.primal == pytest.approx(found.certificate.primal, rel=1e-12)
    assert own.dual == pytest.approx(found.certificate.dual, rel=1e-9)


def test_too_little_memory_is_said(data, monkeypatch):
    monkeypatch.setattr("wideberth.data.sources.Source.capacity", lambda *_: 60)
    monkeypatch.setattr("wideberth.solvers.driver.MOST_STEPS", 3)
    with pytest.warns(UserWarning, match="too many rows are near the margin"):
        found = solve(slices(4_000, *data[:2]), **OPTIONS)
    assert not found.converged


def test_the_same_seed_gives_the_same_bits(data):
    X, y = data[:2]
    runs = [solve(slices(4_000, X, y), **OPTIONS) for _ in range(2)]
    assert np.array_equal(runs[0].w, runs[1].w)


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
    assert "read 2: objective" in shown.err
    assert "relative gap" in shown.err
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


def test_a_truncated_parquet_file_is_named(files, tmp_path):
    for file in (files / "parts").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    broken = tmp_path / "1.parquet"
    broken.write_bytes(broken.read_bytes()[:-2_000])
    with pytest.raises(DataError, match=r"1\.parquet"):
        solve(tmp_path, "label", fit_intercept=False)


def test_a_missing_value_in_a_table_is_named(tmp_path):
    columns = {"a": [1.0, None, 3.0], "b": [1.0, 2.0, 3.0], "y": [1, -1, 1]}
    pa.parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet, chunk 0: row 1 .* column 'a'"):
        solve(tmp_path / "t.parquet", "y", fit_intercept=False)


def test_a_truncated_npy_file_is_named(files, tmp_path):
    whole = (files / "X.npy").read_bytes()
    (tmp_path / "X.npy").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"X\.npy is cut short"):
        solve(tmp_path / "X.npy", np.ones(N), fit_intercept=False)


def test_libsvm_errors_leave_no_files(files, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    text = (files / "all.svm").read_text().splitlines()[:2_000]
    text[1_500] = "1 2:abc"
    (tmp_path / "bad.svm").write_text("\n".join(text))
    with pytest.raises(DataError, match=r"bad\.svm, row 1501 .*column x2 holds 'abc'"):
        solve(tmp_path / "bad.svm", fit_intercept=False)
    solve(files / "all.svm", **OPTIONS)
    assert os.listdir(tmp_path) == ["bad.svm"]


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


def test_names_of_columns_are_checked(files):
    with pytest.raises(DataError, match=r"all\.parquet has no column 'target'"):
        solve(files / "all.parquet", "target", fit_intercept=False)
    with pytest.raises(DataError, match="must be the name of the column"):
        solve(files / "all.parquet", fit_intercept=False)
    with pytest.raises(DataError, match="has no column 'x99'"):
        open_data(files / "all.parquet", "label", columns=["x0", "x99"])


@pytest.mark.parametrize(
    "options", [{"solver": "coordinate"}, {"solver": "conic"}, {"init": (0, 0, 0)}]
)
def test_what_needs_memory_says_so(options, data):
    with pytest.raises(ValueError, match="in memory"):
        solve(slices(4_000, *data[:2]), **options)


def test_a_single_class_is_an_error(data):
    with pytest.raises(DataError, match=r"y holds a single class, 1\.0; .* needs two"):
        solve(slices(4_000, data[0], np.ones(N)), fit_intercept=False)


def test_data_that_changes_between_reads_is_noticed(data):
    X, y = data[:2]
    lengths = iter([4_000, 4_000, 3_000])

    def shrinking():
        return iter(slices(next(lengths, 2_000), X, y))

    with pytest.raises(DataError, match="changed while it was read"):
        solve(shrinking, **OPTIONS)


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
    monkeypatch.setattr("wideberth.data.memory.resident", lambda: HELD)
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


def test_the_amount_of_memory_advised_is_enough(data, monkeypatch):
    monkeypatch.setattr("wideberth.data.memory.resident", lambda: HELD)
    assert solve(slices(4_000, *data[:2]), memory="390MB", **OPTIONS).converged


def test_a_process_that_holds_much_is_not_refused_without_a_limit(data, monkeypatch):
    held = int(0.9 * physical_memory())
    monkeypatch.setattr("wideberth.data.memory.resident", lambda: held)
    assert solve(slices(4_000, *data[:2]), **OPTIONS).converged


GENERATE = """
import sys
import numpy as np
rng, folder = np.random.default_rng(0), sys.argv[1]
X = np.lib.format.open_memmap(f"{folder}/X.npy", "w+", np.float32, (2_500_000, 40))
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
from wideberth.data.memory import resident
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
    """400 MB of data, and 130 MB beyond what the interpreter and its libraries take.

    What these take is theirs, and the machine's: it is measured, having solved once.
    """

    def run(script, *arguments):
        command = [sys.executable, "-c", script, str(tmp_path), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(GENERATE)
    assert int(run(SOLVE, str(130 * 10**6))) < 0


# -- the estimator -----------------------------------------------------------------------


def test_the_estimator_takes_a_path(files, data):
    X, y, weight, radius = data
    options = {"C": 0.05, "tol": 1e-8, "solver_options": {"random_state": 0}}
    found = RobustLinearSVC(**options).fit(
        files / "parts", "label", sample_weight="w", radius="r"
    )
    expected = RobustLinearSVC(**options).fit(X, y, sample_weight=weight, radius=radius)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-3)
    assert found.classes_.tolist() == [-1, 1]
    assert found.feature_names_in_.tolist() == [f"x{j}" for j in range(D)]
    assert found.n_features_in_ == D
    assert found.score(X, y) == pytest.approx(expected.score(X, y), abs=1e-3)
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.predict(X[:50]), found.predict(X[:50]))


def test_the_estimator_takes_labels_of_any_kind_in_chunks():
    rng = np.random.default_rng(0)
    y = rng.choice(["apple", "pear", "quince"], size=9_000)
    X = rng.normal(size=(9_000, 4)) + (y == "pear")[:, None] - (y == "apple")[:, None]
    options = {
        "C": 0.1,
        "radius": {"apple": 0.1, "pear": 0.0, "quince": 0.3},
        "class_weight": "balanced",
        "tol": 1e-8,
        "solver_options": {"random_state": 0},
    }
    found = RobustLinearSVC(**options).fit(slices(2_000, X, y))
    expected = RobustLinearSVC(**options).fit(X, y)
    assert found.classes_.tolist() == ["apple", "pear", "quince"]
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-3)
    agree = found.predict(X) == expected.predict(X)
    assert agree.mean() > 0.999
    assert len(found.screening_) == 3


def test_a_failed_fit_leaves_the_old_model(data):
    X, y = data[:2]
    model = RobustLinearSVC(solver_options={"random_state": 0}).fit(slices(5_000, X, y))
    coef = model.coef_
    with pytest.raises(DataError):
        model.fit(bad(slices(5_000, X, y), 2, spoiled))
    assert model.coef_ is coef
