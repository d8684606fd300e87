"""Samples, how a chunk of them is recognised, and what turns it into a problem.

Chunks come from files and clusters, so everything about them is checked the first time
they are read; an error says which chunk of which file, and which row of it.
"""

from __future__ import annotations

import functools
import operator
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from wideberth.data.errors import DataError
from wideberth.noise.error_bars import ErrorBars
from wideberth.noise.reading import errors_beside, in_the_middle
from wideberth.noise.sets import Noise
from wideberth.noise.shapes import Shape
from wideberth.problem import Problem
from wideberth.problem.arrays import (
    concat,
    fill,
    float64,
    host,
    is_foreign,
    like,
    namespace,
    pick,
)
from wideberth.problem.labels import distinct, two_classes, uniform
from wideberth.problem.limits import CACHED_ENTRIES
from wideberth.problem.rows import as_rows
from wideberth.problem.validation import check_data, check_per_sample, is_missing

Checksum = tuple[Any, ...]


@dataclass(frozen=True)
class Samples:
    """Some rows with what belongs to each: label, weight, radius, errors.

    The rows are in memory: all rows, some of them (`take`), or one chunk. None means
    not known or not needed. The radius may be one number for all rows. `errors` has no
    table, one, or two of lower and upper errors; a table has the shape of X, or is one
    covariance matrix for each row. Sets that were read from such tables, `ErrorBars`,
    may stand in their place. `number` says which of the chunks this is, and `origin`
    where it comes from.
    """

    X: Any
    y: Any = None
    weight: Any = None
    radius: Any = None
    errors: tuple = ()
    number: int = 0
    origin: str = "the data"

    @property
    def n(self) -> int:
        """Rows."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Features."""
        return self.X.shape[1]

    @property
    def X_err(self) -> Any:
        """Errors as `wideberth.solve` takes them."""
        return self.errors if len(self.errors) == 2 else next(iter(self.errors), None)

    def take(self, rows) -> Self:
        """The same of some rows alone: a slice, indices or, of NumPy arrays, a mask."""

        def some(part):
            if isinstance(part, ErrorBars):
                return part.take(rows)
            return part if part is None or np.ndim(part) == 0 else pick(part, rows)

        X, errors = pick(self.X, rows), tuple(map(some, self.errors))
        y, weight, radius = map(some, (self.y, self.weight, self.radius))
        return replace(self, X=X, y=y, weight=weight, radius=radius, errors=errors)

    def joined(self, others: Samples) -> Samples:
        """These rows and then the others, which have the same parts."""

        def both(ours, theirs):
            return None if ours is None else concat([ours, theirs])

        return replace(
            self,
            X=both(self.X, others.X),
            y=both(self.y, others.y),
            weight=both(self.weight, others.weight),
            radius=both(self.radius, others.radius),
            errors=tuple(map(both, self.errors, others.errors)),
        )

    def error(self, message: str) -> DataError:
        """An error about this chunk."""
        return DataError(f"{self.origin}, chunk {self.number}: {message}")


def checksum(chunk: Samples, rows: bool = True) -> Checksum:
    """Shapes, types and CRC-32 of all that a chunk holds: a later read recognises it.

    X is left out without `rows`. The thread that reads ahead computes it: 9 ms for
    64 MB, which take 30 ms or more to look at.
    """
    X = chunk.X if rows else None
    parts = (X, chunk.y, chunk.weight, chunk.radius, *chunk.errors)
    return tuple(None if part is None else _crc(part) for part in parts)


def _crc(part) -> Checksum:
    if sp.issparse(part):
        part = part.tocsr()
        return tuple(map(_crc, (part.data, part.indices, part.indptr)))
    part = host(part) if is_foreign(part) else np.asarray(part)
    data = np.ascontiguousarray(part).reshape(-1)
    if part.dtype.hasobject:  # text, as a rule; addresses differ from read to read
        data = np.frombuffer("\0".join(map(str, data)).encode(), np.uint8)
    return part.shape, str(part.dtype), zlib.crc32(data.view(np.uint8).data)


@dataclass(frozen=True)
class Classes:
    """One class against the rest: labels of any kind, weights per class."""

    labels: np.ndarray
    positive: int
    weights: np.ndarray | None = None
    #: Whether all labels were read, so that no other one can come.
    complete: bool = True

    @classmethod
    def two(cls, parts: Iterable[Any]) -> Classes | None:
        """The two classes of parts of y; None where they are −1 and +1 already.

        Parts are read until two labels were found; a third is noticed when its chunk
        is read.
        """
        found: set = set()
        for y in parts:
            for start in range(0, y.shape[0], CACHED_ENTRIES):
                stop = min(start + CACHED_ENTRIES, y.shape[0])
                found.update(distinct(y[start:stop]))
                if len(found) >= 2:
                    break
            if len(found) >= 2:
                break
        if not found:
            raise DataError("No row of the data has a label; there are no rows.")
        try:
            labels = two_classes(list(found))
        except ValueError as error:
            raise DataError(str(error)) from None
        signs = labels.dtype.kind in "if" and labels.tolist() == [-1, 1]
        return None if signs else cls(labels, 1, complete=False)

    def read(self, chunk: Samples) -> Samples:
        """The chunk with labels −1 and +1, and weights by class applied."""
        chunk = replace(chunk, y=_one_per_row(chunk))
        xp, beside = namespace(chunk.y), chunk.y
        masks = [chunk.y == label for label in self.labels.tolist()]
        strange = ~functools.reduce(operator.or_, masks)
        if xp.any(strange):
            place = int(np.flatnonzero(host(strange))[0])
            if not self.complete:
                raise _third_class(chunk, place, self.labels)
            raise chunk.error(
                f"row {place} has the label {chunk.y[place]!s}, which was not there "
                "when the labels were first read; the data must not change."
            )

        def by_class(values: np.ndarray):
            out = fill(beside, chunk.n, 0.0)
            for value, mask in zip(values.tolist(), masks, strict=True):
                out = xp.where(mask, value, out)
            return out

        signs = np.where(np.arange(len(masks)) == self.positive, 1.0, -1.0)
        weight = chunk.weight
        if self.weights is not None:
            factor = by_class(self.weights)
            weight = factor if weight is None else factor * weight
        return replace(chunk, y=by_class(signs), weight=weight)


@dataclass(frozen=True)
class Terms:
    """The problem but for its rows."""

    d: int
    C: float
    radius: float
    noise: Shape
    intercept: float | None
    classes: Classes | None = None
    #: Principal axes of the noise, to which rows are turned.
    turn: np.ndarray | None = None
    #: Norms of the rows of each chunk, where those are in memory themselves.
    norms: dict[int, Any] | None = None
    #: The shape of the error bars, where chunks bring errors.
    error_shape: str | None = None
    #: q and s of the quantile loss (theory §15); 0 for classes.
    tilt: float = 0.0
    side: float = -1.0

    def problem(self, chunk: Samples, *, check: bool = False) -> Problem:
        """The problem on this chunk alone, with hinges; `check` it the first time."""
        if self.classes is not None:
            chunk = self.classes.read(chunk)
        X, bars = chunk.X, None
        if X.ndim != 2 or X.shape[1] != self.d:
            raise chunk.error(
                f"has shape {tuple(X.shape)}; every chunk must have {self.d} columns."
            )
        if bool(chunk.errors) != (self.error_shape is not None):
            raise chunk.error("every chunk must bring errors (X_err), or none of them.")
        try:
            if self.error_shape is not None:
                bars = errors_beside(X, chunk.X_err, self.error_shape)
            y, m = _labels(chunk, check) if not self.tilt else None, None
            if self.tilt:
                m = self.side * _numbers(chunk, check)
                y = fill(m, m.shape[0], self.side)
            weights = self._weights(chunk)
            radii = _per_row(chunk, "radius", self.radius)
            if bars is not None:
                X = in_the_middle(X, bars, radii)
            rows = as_rows(self._rows(X, check), y)
            if self.norms is not None:  # computed once for rows that stay in memory
                if chunk.number not in self.norms:
                    self.norms[chunk.number] = rows.norms()
                rows.__dict__["_norms"] = self.norms[chunk.number]
            if check and is_foreign(X):
                _check_finite(rows)
        except DataError:
            raise
        except ValueError as error:
            raise chunk.error(str(error)) from None
        noise = Noise(self.noise if bars is None else bars, radii)
        return Problem(rows, weights, noise, self.intercept, m=m)

    def _weights(self, chunk: Samples):
        """c_i = C · weight_i."""
        weights = _per_row(chunk, "weight", 1.0)
        with np.errstate(over="ignore"):
            weights = weights * self.C
        xp = namespace(weights)
        if chunk.weight is not None and not xp.all(xp.isfinite(weights)):
            raise ValueError(f"C={self.C!r} times the weight overflows; lower one.")
        return weights

    def _rows(self, X, check: bool):
        """Features as the products take them."""
        if is_foreign(X):
            xp = namespace(X)
            if xp.isdtype(X.dtype, "complex floating"):
                raise ValueError(
                    f"X has dtype {X.dtype}; its entries must be real numbers. Take "
                    "the real part or the modulus, whichever is meant."
                )
            X = float64(X)  # once for all products
        elif check or not (sp.issparse(X) or X.dtype in (np.float32, np.float64)):
            X = check_data(X)
        if self.turn is None:
            return X
        return X @ self.turn if sp.issparse(X) else float64(X) @ like(self.turn, X)


def _labels(chunk: Samples, check: bool):
    """−1 and +1 as float64, beside the rows; a chunk may hold one class only."""
    y = _one_per_row(chunk)
    if not is_foreign(y) and y.dtype.kind not in "if":
        raise chunk.error(
            f"has labels of dtype {y.dtype}; those before were −1 and +1. Labels "
            "must be all of one type."
        )
    y = float64(y)
    xp = namespace(y)
    if check and not xp.all(xp.abs(y) == 1):
        wrong = int(np.flatnonzero(np.abs(host(y)) != 1)[0])
        raise _third_class(chunk, wrong, np.array([-1, 1]))
    return _beside(chunk.X, y)


def _beside(X, y):
    return y if is_foreign(X) == is_foreign(y) else like(y, X)


def _numbers(chunk: Samples, check: bool):
    """Numbers to predict as float64, beside the rows."""
    y = _one_per_row(chunk)
    if not is_foreign(y) and y.dtype.kind not in "biuf":
        raise chunk.error(
            f"has y of dtype {y.dtype}; there must be numbers to predict."
        )
    y = float64(y)
    if check and not namespace(y).all(namespace(y).isfinite(y)):
        wrong = int(np.flatnonzero(~np.isfinite(host(y)))[0])
        raise chunk.error(
            f"row {wrong} has no finite number to predict; drop such rows."
        )
    return _beside(chunk.X, y)


def _one_per_row(chunk: Samples):
    """The labels, those that are objects as an array of what they are."""
    if tuple(chunk.y.shape) != (chunk.n,):
        raise chunk.error(
            f"has labels of shape {tuple(chunk.y.shape)} for {chunk.n} rows; there "
            f"must be one per row, shape ({chunk.n},)."
        )
    y = chunk.y if is_foreign(chunk.y) else np.asarray(chunk.y)
    try:
        return y if is_foreign(y) or y.dtype.kind != "O" else uniform(y)
    except ValueError as error:
        raise chunk.error(str(error)) from None


def _third_class(chunk: Samples, place: int, labels: np.ndarray) -> DataError:
    label, (first, second) = host(chunk.y)[place], labels.tolist()
    if is_missing(label):
        return chunk.error(f"row {place} has no label ({label!s}); drop such rows.")
    shown = f"{label:g}" if isinstance(label, float) else str(label)
    return chunk.error(
        f"row {place} has the label {shown}; solve needs exactly two "
        f"classes, and {first!r} and {second!r} came before. RobustLinearSVC takes "
        "any number of classes."
    )


def _per_row(chunk: Samples, name: str, default: float):
    """Weights or radii of the rows, beside them; one number takes no memory."""
    value = getattr(chunk, name)
    # What says where vectors of these rows live.
    beside = np.empty(0) if sp.issparse(chunk.X) else chunk.X
    if value is None:
        one = fill(beside, (1,), default)
        return namespace(beside).broadcast_to(one, (chunk.n,))
    if not is_foreign(value):
        checked = check_per_sample(value, chunk.n, f"the {name}")
        return like(np.ascontiguousarray(checked), beside)
    xp, value = namespace(value), float64(value)
    if tuple(value.shape) != (chunk.n,) or not xp.all((value >= 0) & (value < np.inf)):
        check_per_sample(host(value), chunk.n, f"the {name}")
    return value


def _check_finite(rows) -> None:
    """Every entry must be finite; norms are not where one is not, and are needed."""
    xp, norms = namespace(rows.X), rows.norms()
    if bool(xp.isfinite(xp.sum(norms))) or bool(xp.all(xp.isfinite(rows.X))):
        return
    place = int(np.flatnonzero(~np.isfinite(host(norms)))[0])
    raise ValueError(f"X is not finite in row {place}; impute or drop such rows first.")
