"""The rows a population is learned from: in memory, in chunks, on disk."""

import numpy as np
import pandas as pd
import pytest

from wideberth import TrueFeatures, open_data
from wideberth.data import DataError
from wideberth.measurement import true_features


def simulated(n=11_000, d=4, seed=0):
    """Measurements with gaps, their errors, and classes of unlike size."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.2, "star", "galaxy")
    true = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    true += 3.0 * (y == "star")[:, None]
    errors = rng.uniform(0.1, 2.0, size=(n, d))
    measured = true + errors * rng.normal(size=(n, d))
    measured[rng.random((n, d)) < 0.2] = np.nan
    return measured, errors, y


def chunks(X, errors, y=None, size=1700):
    """A function that yields them, as `wideberth.solve` takes it."""

    def start():
        for k in range(0, len(X), size):
            rows = slice(k, k + size)
            yield X[rows], None if y is None else y[rows], None, None, errors[rows]

    return start


def assert_same(one, two):
    assert one.n_components_ == two.n_components_
    np.testing.assert_array_equal(one.shrinkage_, two.shrinkage_)
    for name in ("weights_", "means_", "covariances_"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(two, name), rtol=1e-9, atol=1e-9
        )


def test_chunks_need_no_labels_and_no_more_rows_than_a_sample():
    X, errors, _ = simulated(500)
    memory = TrueFeatures().fit(X, X_err=errors)
    assert_same(TrueFeatures().fit(chunks(X, errors, size=90)), memory)
    listed = list(chunks(X, errors, size=90)())
    assert_same(TrueFeatures().fit(listed), memory)


def test_dask_arrays_are_the_same_as_memory():
    da = pytest.importorskip("dask.array")
    X, errors, y = simulated()
    memory = TrueFeatures().fit(X, y, X_err=errors)
    blocks = [da.from_array(part, chunks=(3000, 4)) for part in (X, errors)]
    labels = da.from_array(y, chunks=3000)
    assert_same(TrueFeatures().fit(blocks[0], labels, X_err=blocks[1]), memory)
    alone = TrueFeatures().fit(blocks[0], X_err=blocks[1])
    assert_same(alone, TrueFeatures().fit(X, X_err=errors))


def test_tables_on_disk_are_the_same_as_memory(tmp_path):
    X, errors, y = simulated(6000)
    names = ["u", "g", "r", "i"]
    frame = pd.DataFrame(X, columns=names)
    for j, name in enumerate(names):
        frame[f"{name}_err"] = errors[:, j]
    path = tmp_path / "sky.csv"
    frame.assign(kind=y).to_csv(path, index=False)
    by_name = {name: f"{name}_err" for name in names}
    found = TrueFeatures().fit(str(path), "kind", X_err=by_name)
    assert_same(found, TrueFeatures().fit(X, y, X_err=errors))
    assert list(found.feature_names_in_) == names
    alone = TrueFeatures().fit(path, X_err=by_name)
    assert_same(alone, TrueFeatures().fit(X, X_err=errors))
    with pytest.raises(DataError, match="has no value in column"):
        for _ in open_data(path, "kind", X_err=by_name).chunks():
            pass


@pytest.mark.parametrize("road", ["memory", "chunks"])
def test_a_population_is_learned_from_an_even_sample(monkeypatch, road):
    monkeypatch.setattr(true_features, "_MOST_ROWS", 500)
    X, errors, y = simulated(3000)
    number = np.arange(3000.0)
    whole = np.column_stack([X, number]), np.column_stack([errors, 0 * number])
    given = (whole[0], y, whole[1])
    if road == "chunks":
        given = chunks(*whole, y, 170), None, None
    part, labels, rows = TrueFeatures("per_class")._gather(*given)
    np.testing.assert_array_equal(part.values[:, -1], rows)
    np.testing.assert_array_equal(part.values[:, :-1], X[rows])
    np.testing.assert_array_equal(labels, y[rows] == "star")
    assert len(rows) == 500
    assert (np.diff(rows) > 0).all()
    assert abs(rows.mean() - 1500) < 5 * 866 / np.sqrt(500)
    fits = [TrueFeatures("per_class").fit(*given[:2], X_err=given[2]) for _ in "ab"]
    np.testing.assert_array_equal(fits[0].means_, fits[1].means_)


def test_a_feature_that_only_rarely_varies_is_not_taken_for_a_constant():
    X, errors, _ = simulated(20_000)
    rare = np.zeros(20_000)
    rare[1:20_000:1999] = 1.0
    X, errors = np.column_stack([X, rare]), np.column_stack([errors, 0 * rare])
    model = TrueFeatures().fit(X, X_err=errors)
    assert model.covariances_[0, 4, 4] == pytest.approx(rare.var(), rel=0.2)
    np.testing.assert_array_equal(model.transform(X, errors)[:, 4], rare)


def test_what_chunks_cannot_be_is_said(tmp_path):
    X, errors, _ = simulated(100)
    with pytest.raises(ValueError, match="needs the labels y"):
        TrueFeatures("per_class").fit(chunks(X, errors))
    with pytest.raises(DataError, match="errors are a pair"):
        TrueFeatures().fit([(X, None, None, None, (errors, errors))])
    with pytest.raises(ValueError, match="X_err is -1"):
        TrueFeatures().fit([(X, None, None, None, -np.ones_like(errors))])
    with pytest.raises(DataError, match="must come with them"):
        TrueFeatures().fit(chunks(X, errors), X_err=errors)
