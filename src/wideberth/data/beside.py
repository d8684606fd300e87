"""Errors beside values: chunks that hold both, so that one read serves them.

The columns of such a chunk are those of the values, followed by those of the errors; a
`Layout` says which belong together. `named_errors`, `SideBySide` and `joined_blocks`
make them of tables, of arrays in files, and of Dask arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from wideberth.data.errors import DataError, quoted
from wideberth.problem.arrays import like, namespace


@dataclass(frozen=True)
class Layout:
    """Where a chunk has the errors of its first d columns; −1 where those are exact.

    `down` and `up` are the same but for lopsided tolerances.
    """

    d: int
    down: tuple[int, ...]
    up: tuple[int, ...]

    @classmethod
    def of(cls, d: int, tables: int = 1) -> Layout:
        """One table of errors, or those of lower and upper ones, behind the values."""
        last = tables * d
        return cls(d, tuple(range(d, 2 * d)), tuple(range(last, last + d)))

    @property
    def width(self) -> int:
        """Columns of a chunk."""
        return max(self.d - 1, *self.down, *self.up) + 1

    def split(self, X) -> tuple[Any, Any]:
        """Values, and their errors as `wideberth.solve` takes them."""
        down = _columns(X, self.down)
        both = down if self.up == self.down else (down, _columns(X, self.up))
        return X[:, : self.d], both


def _columns(X, places: tuple[int, ...]):
    first = places[0]
    if places == tuple(range(first, first + len(places))) and first >= 0:
        return X[:, first : first + len(places)]
    X = X.toarray() if sp.issparse(X) else X
    taken = X[:, list(places)]
    taken[:, np.array(places) < 0] = 0.0
    return taken


def named_errors(X_err, where: str) -> tuple[list[str], Layout]:
    """The columns of a table to read, and their layout.

    `X_err` maps each feature to its column of errors, to a pair (down, up) of them, or
    to None where it is exact.
    """
    if not isinstance(X_err, dict) or not X_err:
        raise DataError(
            f"X is {where}, so X_err must say which columns of it hold the errors: a "
            "dict of feature to error column, {'mass': 'mass_err'}."
        )
    pairs = []
    for feature, own in X_err.items():
        pair = (own, own) if own is None or isinstance(own, str) else own
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DataError(
                f"X_err has {own!r} for {quoted(feature)}; it must be the name of a "
                "column, a pair of them (down, up), or None where values are exact."
            )
        pairs.append(tuple(pair))
    names = dict.fromkeys(name for pair in pairs for name in pair if name is not None)
    if both := [name for name in names if name in X_err]:
        raise DataError(
            f"X_err names {quoted(both[0])} as a feature and as errors of another; it "
            "can be one thing only."
        )
    columns = [*X_err, *names]
    at = {None: -1} | {name: k for k, name in enumerate(columns)}
    down, up = (tuple(at[pair[side]] for pair in pairs) for side in (0, 1))
    return columns, Layout(len(X_err), down, up)


def error_tables(X_err) -> tuple:
    """One table of errors, or two of lower and upper ones."""
    pair = isinstance(X_err, tuple | list) and len(X_err) == 2
    if pair and all(isinstance(p, str | PathLike) or np.ndim(p) == 2 for p in X_err):
        return tuple(X_err)
    return (X_err,)


class SideBySide:
    """Rows of several matrices of the same shape, as one matrix."""

    def __init__(self, *parts):
        self.parts, (n, d) = parts, parts[0].shape
        for part in parts[1:]:
            if tuple(part.shape) != (n, d):
                raise DataError(
                    f"X_err has shape {tuple(part.shape)}; it must have one error for "
                    f"every cell of X, {(n, d)}."
                )
        self.shape = n, d * len(parts)
        self.dtype = np.result_type(*(part.dtype for part in parts))
        self.layout = Layout.of(d, len(parts) - 1)

    def __getitem__(self, rows: slice) -> np.ndarray:
        return np.hstack([part[rows] for part in self.parts])


def errors_beside(X, X_err):
    """Errors where X lives, an array of another library, and of its kind of number."""
    if isinstance(X_err, tuple | list) or X_err.ndim != 2:
        raise DataError(
            f"X is a {type(X).__name__}; X_err beside it must be one error for every "
            f"cell, of shape {tuple(X.shape)}. Pairs (down, up) and covariances are "
            "for data in memory: copy X and X_err to NumPy."
        )
    if tuple(X_err.shape) != tuple(X.shape):
        raise DataError(
            f"X_err has shape {tuple(X_err.shape)}; it must have one error for every "
            f"cell of X, {tuple(X.shape)}."
        )
    errors, xp = like(X_err, X), namespace(X)
    return errors if errors.dtype == X.dtype else xp.astype(errors, X.dtype)


def joined_blocks(X, X_err) -> tuple[Any, Layout]:
    """Dask arrays with their errors as one, and its layout."""
    from dask.array import concatenate

    tables = error_tables(X_err)
    for table in tables:
        if X.shape[1] != table.shape[1] or X.chunks[0] != table.chunks[0]:
            raise DataError(
                f"X_err has shape {table.shape} and blocks of {table.chunks[0][:3]} … "
                f"rows; it must have those of X, {X.shape} and {X.chunks[0][:3]} …"
            )
    whole = concatenate([X, *tables], axis=1).rechunk({1: -1})
    return whole, Layout.of(X.shape[1], len(tables))


def joined_chunk(X, X_err, where: str) -> tuple[Any, Layout]:
    """A chunk of a program with the errors that it brings, and its layout."""
    d, parts = X.shape[1], [X]
    for table in error_tables(X_err):
        part = table if sp.issparse(table) else np.asarray(table)
        if tuple(part.shape) != tuple(X.shape):
            raise DataError(
                f"{where}: the errors have shape {tuple(part.shape)}; there must be "
                f"one for every cell of its rows, {tuple(X.shape)}."
            )
        parts.append(part)
    layout = Layout.of(d, len(parts) - 1)
    if any(map(sp.issparse, parts)):
        return sp.csr_array(sp.hstack(parts, format="csr")), layout
    return np.hstack(parts), layout
