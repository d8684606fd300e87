"""Points at which a fitted transformer has to show that it is affine.

Noise moves rows anywhere, so the points are of many sizes and in many places, with a
fixed seed: rows of the data, places between them, far beyond them and close to zero;
one feature moved alone, all of them at once, and lines through pairs of rows. Sizes
run from a thousandth to a million times the range of a feature. The number of points
does not grow with the data: with many features each is probed less often.

Columns that noise does not move (`categories.py`) keep the values they have in rows of
the data, whatever the others are moved to.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from wideberth.problem.limits import CACHED_ENTRIES

#: Most points of one kind, rows of the data looked at, and features moved in a sparse
#: point (the steps of `test_transformers.py` are judged alike from 64 on).
_BATCH = 1024
#: Fewest points of one kind, and patterns of missing cells, however many features: a
#: choice, which bounds the time of probing.
_FEWEST = 24
#: Points tried with each pattern of missing cells.
_PER_PATTERN = 6
#: Power of ten of the shortest move beyond the data, in ranges of the feature.
_NEAREST = -3.0
#: Power of ten of the farthest move beyond the data, in ranges of the feature.
_FARTHEST = 6.0


class ProbedRows:
    """Rows at the entry of a transformer, and points around them.

    `rows` are a few rows of X, an array, a sparse matrix or a frame, with NaN where a
    cell is missing, in the columns that move; `whole` are the same rows with all
    columns, where some are `exact`. `size` is the largest absolute value of each
    feature in them.
    """

    def __init__(self, X, exact: np.ndarray | None = None):
        if not sp.issparse(X) and not hasattr(X, "shape"):
            X = np.asarray(X)
        if len(X.shape) != 2:
            raise ValueError("it is no table")
        self.frame = X if hasattr(X, "columns") else None
        self.moved, self.whole, moving = np.arange(X.shape[1]), None, X
        if exact is not None and exact.any():
            self.moved = np.flatnonzero(~exact)
            moving = X.iloc[:, self.moved] if hasattr(X, "iloc") else X[:, self.moved]
        places = _some_places(moving)
        if moving is not X:
            self.whole = _picked(X, places)
        self.rows = _numbers(_picked(moving, places))
        self.sparse, self.n_features = sp.issparse(self.rows), self.rows.shape[1]
        self.low, self.high = _extremes(self.rows)
        self.size = np.maximum(np.abs(self.low), np.abs(self.high))
        width = self.high - self.low
        self.width = np.where(width > 0, width, np.where(self.size > 0, self.size, 1.0))

    def given(self, points, alike: bool = False):
        """Points in the kind of container that X is.

        Exact columns are those of the rows in turn, or of the first one for all.
        """
        if self.whole is None:
            return in_the_form_of(self.frame, points)
        n, places = points.shape[0], np.zeros(points.shape[0], dtype=int)
        if not alike:
            places = np.arange(n) % self.whole.shape[0]
        return _replaced(self.whole, places, self.moved, points)

    def embedded(self, linear: sp.csr_array) -> sp.csr_array:
        """A map of the columns that move as one of all columns."""
        if self.whole is None:
            return linear
        d = self.whole.shape[1]
        return sp.csr_array(linear @ sp.eye_array(d, format="csr")[self.moved])

    def units(self, steps: np.ndarray) -> Iterator:
        """The rows step_j·e_j for all j in batches, each below a row of zeros."""
        for start in range(0, self.n_features, _BATCH):
            columns = np.arange(start, min(start + _BATCH, self.n_features))
            columns = np.append(start, columns)[:, None]
            values = np.where(np.arange(len(columns)) > 0, 1.0, 0.0)[:, None]
            yield self._placed(columns, values * steps[columns])

    def points(self, special: list[float]) -> Iterator:
        """Rows without missing cells, one batch of each kind.

        `special` are values that the transformer treats apart, such as a sign for
        "missing".
        """
        rng, data = np.random.default_rng(0), self.complete
        n = int(np.clip(CACHED_ENTRIES // self.n_features, _FEWEST, _BATCH))
        yield data
        yield self._together(rng, n)
        yield self._lines(rng, data, n)
        yield self._singles(rng, data, n)
        for value in special:
            yield self._with_value(rng, data, value)

    def with_missing(self) -> Iterator:
        """Rows with missing cells, one batch for each pattern of them."""
        rng = np.random.default_rng(1)
        for missing in self._patterns(rng)[: max(2, CACHED_ENTRIES // self.n_features)]:
            holes = np.tile(np.where(missing, np.nan, 0.0), (_PER_PATTERN, 1))
            holes = sp.csr_array(holes) if self.sparse else holes
            yield self._together(rng, _PER_PATTERN) + holes

    def _patterns(self, rng) -> np.ndarray:
        """Patterns of missing cells: some of the data, single cells, random ones."""
        d, found = self.n_features, []
        if not self.sparse:
            here = np.isnan(self.rows)
            found += [*here[here.any(axis=1)][: _FEWEST // 2]]
        found += [np.arange(d) == j for j in rng.permutation(d)[: _FEWEST // 3]]
        found += [*rng.integers(2, size=(_FEWEST // 4, d)).astype(bool)]
        return np.array(found)

    @cached_property
    def complete(self):
        """The rows, a missing cell at the middle of its feature."""
        if self.sparse:
            return _filled(self.rows)
        return np.where(np.isnan(self.rows), (self.low + self.high) / 2, self.rows)

    def _together(self, rng, n: int):
        """Every feature moved, or many of them where X is sparse."""
        d = self.n_features
        columns = np.broadcast_to(np.arange(d), (n, d))
        if self.sparse:
            columns = rng.integers(d, size=(n, min(d, _BATCH)))
        return self._placed(columns, self._values(rng, columns))

    def _singles(self, rng, data, n: int):
        """One feature moved: by itself, or from a row of the data."""
        columns = np.resize(rng.permutation(self.n_features), n)
        start = sp.diags_array(rng.integers(2, size=n).astype(float))
        rows = start @ data[rng.integers(data.shape[0], size=n)]
        moves = self._values(rng, columns)
        return rows + self._placed(columns[:, None], moves[:, None])

    def _lines(self, rng, data, n: int):
        """Lines through two rows of the data, between them and beyond on both sides."""
        first, second = rng.integers(data.shape[0], size=(2, n))
        far = 10 ** rng.uniform(_NEAREST, _FARTHEST, size=n)
        share = np.where(rng.integers(2, size=n), rng.uniform(-2, 3, size=n), far)
        share *= rng.choice([-1.0, 1.0], size=n)
        start = sp.diags_array(1 - share) @ data[first]
        return start + sp.diags_array(share) @ data[second]

    def _with_value(self, rng, data, value: float):
        """That value in half of the cells, or in many where X is sparse."""
        if not self.sparse:
            rows = data[:_FEWEST]
            return np.where(rng.integers(2, size=rows.shape), value, rows)
        rows = self._together(rng, _FEWEST)
        rows.data[:] = value
        return rows

    def _placed(self, columns: np.ndarray, values: np.ndarray):
        """Rows of zeros but for these values in these columns."""
        entries = np.ravel(np.indices(columns.shape)[0]), np.ravel(columns)
        shape = len(columns), self.n_features
        rows = sp.coo_array((np.ravel(values), entries), shape=shape).tocsr()
        return rows if self.sparse else rows.toarray()

    def _values(self, rng, columns: np.ndarray) -> np.ndarray:
        """A value for each of the features named: about, beyond or amid the data."""
        kind, u = rng.integers(4, size=columns.shape), rng.random(columns.shape)
        if columns.ndim == 2:
            # In every other row all features are moved alike, by comparable amounts:
            # a large move of one must not hide what another does.
            kind[1::2], u[1::2] = kind[1::2, :1], u[1::2, :1]
        sign = rng.choice([-1.0, 1.0], size=columns.shape)
        low, high = self.low[columns], self.high[columns]
        width, size = self.width[columns], self.size[columns]
        power = 10 ** (_NEAREST + (_FARTHEST - _NEAREST) * u)
        about = low + (3 * u - 1) * width
        beyond = np.where(sign > 0, high, low) + sign * width * power
        near_zero = sign * np.maximum(size, width) * 10 ** (-6 * u)
        amid = low + u * width
        if not self.sparse:
            data = self.complete
            first, second = rng.integers(len(data), size=(2, *columns.shape))
            amid = u * data[first, columns] + (1 - u) * data[second, columns]
        return np.choose(kind, [about, beyond, near_zero, amid])


def in_the_form_of(frame, points):
    """Points as a frame with the same columns; as they are where it is None."""
    if frame is None:
        return points
    names = "columns" if hasattr(frame, "iloc") else "schema"
    return type(frame)(points, **{names: list(frame.columns)})


def _replaced(whole, places: np.ndarray, moved: np.ndarray, points):
    """Rows of an array, a sparse matrix or a frame, with points in some columns."""
    if sp.issparse(whole):
        d = whole.shape[1]
        kept = np.setdiff1d(np.arange(d), moved)
        eye = sp.eye_array(d, format="csr")
        exact = whole[places][:, kept] @ eye[kept]
        return sp.csr_array(exact + sp.csr_array(points) @ eye[moved])
    if hasattr(whole, "iloc"):
        columns = {j: points[:, k] for k, j in enumerate(moved.tolist())}
        rows = whole.iloc[places].reset_index(drop=True)
        parts = [columns.get(j, rows.iloc[:, j]) for j in range(rows.shape[1])]
        return type(whole)(dict(zip(whole.columns, parts, strict=True)))
    if hasattr(whole, "columns"):
        names = [whole.columns[j] for j in moved]
        moves = type(whole)(points, schema=names)
        return whole[places].with_columns(moves)
    rows = whole[places]
    rows = rows if rows.dtype.kind == "O" else rows.astype(np.float64)
    rows[:, moved] = points
    return rows


def _some_places(X) -> np.ndarray:
    """Places of rows spread over the data and of those of extremes."""
    n, d = X.shape
    if sp.issparse(X):
        return _spread(n, _BATCH)
    most = int(np.clip(CACHED_ENTRIES // max(d, 1), _FEWEST, _BATCH))
    return np.unique([*_rows_of_extremes(X), *_spread(n, most)])


def _picked(X, places: np.ndarray):
    if sp.issparse(X):
        return X.tocsr()[places]
    return X.iloc[places] if hasattr(X, "iloc") else X[places]


def _numbers(rows):
    """float64, with NaN where a cell is missing."""
    if sp.issparse(rows):
        return sp.csr_array(rows, dtype=np.float64)
    return np.array(rows, dtype=np.float64)


def _spread(n_rows: int, most: int) -> np.ndarray:
    return np.linspace(0, n_rows - 1, min(most, n_rows)).astype(int)


def _rows_of_extremes(X) -> list[int]:
    """Where the first features are least and largest: a sign for "missing" is there."""
    values, found = np.asarray(X), []
    if values.dtype.kind not in "fiu":
        return []
    for column in values.T[: _BATCH // 8]:
        present = np.flatnonzero(column == column)
        if len(present):
            found += [present[column[present].argmin()]]
            found += [present[column[present].argmax()]]
    return found


def _extremes(rows) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest value of each feature; 0 where there is none."""
    if sp.issparse(rows):
        rows = _filled(rows)
        return rows.min(axis=0).toarray().ravel(), rows.max(axis=0).toarray().ravel()
    low, high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
    return np.nan_to_num(low), np.nan_to_num(high)


def _filled(rows: sp.csr_array) -> sp.csr_array:
    """Zeros for missing cells."""
    filled = rows.copy()
    filled.data[np.isnan(filled.data)] = 0.0
    return filled
