"""Answers about rows that are read in chunks: messages, laziness, one read."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from wideberth import MeasuredSVC, RobustLinearSVC, make_robust_pipeline, open_data
from wideberth.data import DataError
from wideberth.data.columnar import ColumnarReader

NAMES = list("pqrs")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=300) > 0, "b", "a")


@pytest.fixture(scope="module")
def model(rows):
    return RobustLinearSVC(radius=0.1).fit(
        pd.DataFrame(rows[0], columns=NAMES), rows[1]
    )


@pytest.fixture
def table(rows, tmp_path):
    X, y = rows
    frame = pd.DataFrame(X, columns=NAMES).assign(label=y)[["label", *"srqp"]]
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=100)
    return tmp_path / "a.parquet"


def test_one_read_serves_several_methods(model, table, rows, monkeypatch):
    reads = []
    tables = ColumnarReader.tables

    def counted(self, *given, **more):
        reads.append(self.name)
        yield from tables(self, *given, **more)

    monkeypatch.setattr(ColumnarReader, "tables", counted)
    monkeypatch.setattr("wideberth.data.sources.chunk_bytes", lambda memory: 1600)
    parts = list(model.stream(table, "predict", "certified_radius", memory="8GB"))
    assert len(reads) == 1
    assert len(parts) == 6
    frame = pd.DataFrame(rows[0], columns=NAMES)
    found = np.concatenate([part["certified_radius"] for part in parts])
    np.testing.assert_allclose(found, model.certified_radius(frame))
    found = np.concatenate([part["predict"] for part in parts])
    assert found.tolist() == model.predict(frame).tolist()


def test_dask_in_dask_out_and_nothing_computed_before(model, rows):
    seen = []

    def block(part):
        if len(part):
            seen.append(len(part))
        return part

    A = da.from_array(rows[0], chunks=(100, 2)).map_blocks(block, dtype=float)
    seen.clear()
    found = model.certified_radius(A)
    assert isinstance(found, da.Array)
    assert found.shape == (300,)
    assert not seen
    frame = pd.DataFrame(rows[0], columns=NAMES)
    np.testing.assert_allclose(found.compute(), model.certified_radius(frame))
    assert seen


def test_pipelines_stream_too_and_fill_gaps(rows, tmp_path):
    X, y = rows
    frame = pd.DataFrame(X, columns=NAMES)
    pipeline = make_robust_pipeline(StandardScaler(), RobustLinearSVC(radius=0.1))
    pipeline.fit(frame, y)
    frame.assign(label=y).to_csv(tmp_path / "a.csv", index=False)
    path = tmp_path / "a.csv"
    assert pipeline.predict(path).tolist() == pipeline.predict(frame).tolist()
    assert pipeline.score(path, "label") == pipeline.score(frame, y)
    assert pipeline.robust_score(path, "label") == pipeline.robust_score(frame, y)
    np.testing.assert_allclose(
        pipeline.certified_radius(path), pipeline.certified_radius(frame)
    )
    measured = MeasuredSVC().fit(frame, y)
    holes = frame.copy()
    holes.iloc[3, 1] = np.nan
    holes.assign(label=y).to_csv(path, index=False)
    assert measured.predict(path).tolist() == measured.predict(holes).tolist()
    assert measured.score(path, "label") == measured.score(holes, y)


def test_open_data_may_have_its_columns_in_another_order(model, table, rows):
    source = open_data(table, "label", columns=list("rspq"))
    assert "columns 'r', 's', 'p' and 'q'" in repr(source)
    expected = model.decision_function(pd.DataFrame(rows[0], columns=NAMES))
    np.testing.assert_allclose(model.decision_function(source), expected)
    assert model.score(source) == model.score(table, "label")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m, bare, t: bare.predict(t), "no names for them.*'label', 's'"),
        (lambda m, bare, t: m.score(t), "the column of .* that holds the labels"),
        (lambda m, bare, t: m.stream(t, "fit"), "'fit' is not a method"),
        (lambda m, bare, t: m.worst_case(t, "label"), "worst_case needs the data in"),
        (lambda m, bare, t: RobustLinearSVC().fit(t), "that holds the labels"),
        (
            lambda m, bare, t: m.predict(open_data(t, columns=["p", "q"])),
            "trained on 'p', 'q', 'r' and 's'",
        ),
        (
            lambda m, bare, t: bare.predict(lambda: iter([np.full((2, 4), np.nan)])),
            "X, chunk 0: .*NaN",
        ),
        (
            lambda m, bare, t: bare.score(lambda: iter([np.ones((2, 4))])),
            r"y is missing; X must yield \(X, y\)",
        ),
    ],
)
def test_what_is_missing_is_named(call, said, model, table, rows):
    bare = RobustLinearSVC().fit(*rows)
    with pytest.raises((DataError, ValueError), match=said):
        call(model, bare, table)


def test_a_libsvm_file_may_lack_features_but_not_have_more(tmp_path):
    model = RobustLinearSVC().fit(np.eye(4), [0, 1, 0, 1])
    (tmp_path / "few.svm").write_text("1 1:2 2:1\n0 1:1\n")
    expected = model.decision_function([[2, 1, 0, 0], [1, 0, 0, 0]])
    np.testing.assert_allclose(model.decision_function(tmp_path / "few.svm"), expected)
    (tmp_path / "more.svm").write_text("1 1:2 5:1\n")
    with pytest.raises(DataError, match="features up to number 5"):
        model.predict(tmp_path / "more.svm")


def test_a_sample_is_drawn_evenly_and_the_same_on_every_road(rows, tmp_path):
    X, y = np.arange(6000.0)[:, None], np.arange(6000) % 2
    parts = [(X[k : k + 500], y[k : k + 500]) for k in range(0, 6000, 500)]
    drawn = open_data(parts).sample(1200)
    assert drawn["X"].shape == (1200, 1)
    assert np.array_equal(drawn["X"][:, 0] % 2, drawn["y"])
    assert len(np.unique(drawn["X"])) == 1200
    counts = np.bincount(drawn["X"][:, 0].astype(int) // 500, minlength=12)
    assert counts.min() > 60  # of 100 expected in each chunk
    assert counts.max() < 140
    A, b = da.from_array(X, chunks=(500, 1)), da.from_array(y, chunks=500)
    there = open_data(A, b).sample(1200)
    assert np.array_equal(there["X"], drawn["X"])
    assert len(open_data(parts).sample(10**6)["y"]) == 6000
    with pytest.raises(ValueError, match="size=0"):
        open_data(parts).sample(0)
