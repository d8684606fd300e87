"""Data that is read in chunks is the data that was passed, at every read."""

import numpy as np
import pytest
import scipy.sparse as sp

from wideberth import RobustLinearSVC, solve
from wideberth.data import DataError, open_data
from wideberth.data.samples import Samples, checksum

N, D, SIZE = 3000, 4, 500
OPTIONS = {"C": 0.1, "radius": 0.05, "random_state": 0, "fit_intercept": False}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)
    return X, y, rng.uniform(0.5, 2.0, N), rng.uniform(0.0, 0.1, N)


def slices(*parts):
    return [
        tuple(part[start : start + SIZE] for part in parts)
        for start in range(0, N, SIZE)
    ]


# -- data that changes ---------------------------------------------------------------


def nudge(X, y, weight, radius):
    X = X.copy()
    X[7, 1] = np.nextafter(X[7, 1], 9)
    return X, y, weight, radius


def swap_rows(X, y, weight, radius):
    order = np.arange(len(y))
    order[[3, 4]] = 4, 3
    return X[order], y, weight, radius


def shuffle(*parts):
    order = np.random.default_rng(5).permutation(SIZE)
    return tuple(part[order] for part in parts)


def swap_labels(X, y, weight, radius):
    y = y.copy()
    one, other = np.flatnonzero(y > 0)[0], np.flatnonzero(y < 0)[0]
    y[[one, other]] = -1.0, 1.0
    return X, y, weight, radius


def heavier(X, y, weight, radius):
    return X, y, np.where(np.arange(SIZE) == 9, 2 * weight, weight), radius


def wider(X, y, weight, radius):
    return X, y, weight, radius * (1 + 1e-15 * (np.arange(SIZE) == SIZE - 1) * 10)


CHANGES = {
    "one bit": nudge,
    "two rows": swap_rows,
    "all rows": shuffle,
    "columns": lambda X, *rest: (X[:, ::-1], *rest),
    "signs of two labels": swap_labels,
    "a weight": heavier,
    "a radius": wider,
    "float32": lambda X, *rest: (X.astype(np.float32), *rest),
    "a chunk less": None,
}


@pytest.mark.parametrize("form", ["dense", "sparse", "array_api_strict"])
@pytest.mark.parametrize("change", CHANGES)
def test_chunks_that_change_between_reads_are_noticed(data, change, form):
    parts, reads = slices(*data), []
    if form == "sparse":
        parts = [(sp.csr_array(X), *rest) for X, *rest in parts]
    if form == "array_api_strict":
        strict = pytest.importorskip("array_api_strict")
        parts = [tuple(map(strict.asarray, part)) for part in parts]

    def read():
        reads.append(len(reads))
        now = list(parts)
        if len(reads) < 4:  # before a whole one, looks at the shape and the labels
            return iter(now)
        if CHANGES[change] is None:
            return iter(now[:-1])
        dense = [part.toarray() if sp.issparse(part) else part for part in now[4]]
        dense = [np.asarray(part) for part in dense]
        changed = CHANGES[change](*dense)
        if form == "sparse":
            changed = (sp.csr_array(changed[0]), *changed[1:])
        if form == "array_api_strict":
            changed = tuple(map(strict.asarray, changed))
        now[4] = changed
        return iter(now)

    said = "chunk 4: the data changed while it was read"
    if CHANGES[change] is None:
        said = "changed while it was read: it came in 5 chunks, and in 6"
    with pytest.raises(DataError, match=said):
        solve(read, **OPTIONS | {"radius": 0.0})
    assert len(reads) == 4


def test_text_labels_that_change_between_reads_are_noticed(data):
    X, names = data[0], np.where(data[1] > 0, "sick", "well").astype(object)
    reads = []

    def read():
        reads.append(0)
        labels = names if len(reads) < 3 else names[::-1]
        return iter(slices(X, labels))

    with pytest.raises(DataError, match="changed while it was read"):
        RobustLinearSVC(C=0.1).fit(read)


def test_a_checksum_is_of_the_values_and_not_of_their_layout(data):
    X, y = data[0], data[1]
    here = checksum(Samples(X, y))
    assert checksum(Samples(np.asfortranarray(X), y)) == here
    assert checksum(Samples(np.repeat(X, 2, axis=0)[::2], y, number=7)) == here
    assert checksum(Samples(X[::-1], y)) != here
    assert checksum(Samples(X, y, weight=y)) != here


def test_more_features_than_their_matrices_have_room_for_are_refused(tmp_path):
    wide = tmp_path / "wide.svm"
    wide.write_text("1 1:0.5 3:1\n-1 2:1 500000:2\n")
    with pytest.raises(DataError, match=r"500000 features.*6e\+03 GB.*memory"):
        solve(open_data(wide))
