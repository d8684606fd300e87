"""Dask collections: equal answers, on threads, on a cluster, and when a worker dies."""

import os
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from tall import tall_data
from wideberth import RobustLinearSVC, solve
from wideberth.data import DataError

OPTIONS = {"C": 0.05, "tol": 1e-9, "random_state": 0, "fit_intercept": False}
N, D = 20_000, 6


@pytest.fixture(scope="module")
def data():
    X, y = tall_data(N, D)
    rng = np.random.default_rng(1)
    return X, y, rng.uniform(0.5, 2, N), rng.uniform(0, 0.2, N)


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.worker.daemon": False}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def collections(data, rows=3_000):
    return [da.from_array(part, chunks=(rows, *part.shape[1:])) for part in data]


def test_partitions_of_unknown_length_and_split_columns(data):
    X, y = data[:2]
    A = da.from_array(X, chunks=(3_000, 4))
    A, b = (
        A[A[:, 0] > -2],
        da.from_array(y, chunks=3_000)[da.from_array(X[:, 0], 3_000) > -2],
    )
    kept = X[:, 0] > -2
    found, expected = solve(A, b, **OPTIONS), solve(X[kept], y[kept], **OPTIONS)
    assert found.primal == pytest.approx(expected.primal, rel=1e-9)


def test_frames_and_empty_partitions(data):
    X, y, _, radius = data
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
    frame = frame.assign(label=np.where(y > 0, "b", "a"), r=radius)
    parts = dd.from_pandas(frame, npartitions=5)
    parts = dd.concat([parts, parts[parts.x0 > 100]])
    features = parts[[f"x{j}" for j in range(D)]]
    options = {"C": OPTIONS["C"], "tol": 1e-8}
    model = RobustLinearSVC(**options).fit(features, parts["label"], radius=parts["r"])
    expected = RobustLinearSVC(**options).fit(
        frame.iloc[:, :D], frame["label"], radius=radius
    )
    assert model.feature_names_in_.tolist() == [f"x{j}" for j in range(D)]
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)


def test_a_cluster(data, client):
    X, y, weight, radius = data
    expected = solve(X, y, sample_weight=weight, radius=radius, **OPTIONS)
    A, b, w, r = (part.persist() for part in collections(data))
    found = solve(A, b, sample_weight=w, radius=r, **OPTIONS)
    assert found.primal == pytest.approx(expected.primal, rel=OPTIONS["tol"])


def test_a_worker_that_dies_changes_nothing(data, client):
    A, b = collections(data)[:2]
    undisturbed = solve(A, b, **OPTIONS)
    killed = []

    def kill(entry):
        if not killed:
            killed.append(entry["iteration"])
            pids = client.run(os.getpid)
            os.kill(next(iter(pids.values())), 9)
            time.sleep(0.1)

    found = solve(A, b, callback=kill, **OPTIONS)
    assert killed
    assert found.primal == pytest.approx(undisturbed.primal, rel=1e-10)
    assert found.relative_gap <= 1e-9


def test_errors_name_the_partition(data):
    X, y = data[0].copy(), data[1]
    X[7 * 2_000 + 11, 2] = np.nan
    A, b = collections([X, y], 2_000)
    with pytest.raises(DataError, match=r"chunk 7: X contains nan at row 11, column 2"):
        solve(A, b, fit_intercept=False)


def test_what_goes_with_a_collection_must_be_split_alike(data):
    A, b = collections(data)[:2]
    with pytest.raises(DataError, match="y has 5 partitions where X has 7"):
        solve(A, b.rechunk(4_000), fit_intercept=False)
    with pytest.raises(DataError, match="must be one too"):
        solve(A, data[1], fit_intercept=False)
    with pytest.raises(DataError, match="y is missing"):
        solve(A, fit_intercept=False)
