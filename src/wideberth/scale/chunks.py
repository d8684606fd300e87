"""A chunk of rows, and what turns it into a problem.

Chunks come from files and clusters, so everything about them is checked the first time
they are read; an error says which chunk of which file, and which row of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from wideberth._arrays import fill, host, is_foreign, like, namespace
from wideberth._validation import check_data, check_per_sample
from wideberth.noise import Noise
from wideberth.problem import Problem
from wideberth.rows import as_rows

__all__ = ["Chunk", "Classes", "DataError", "Terms"]


class DataError(ValueError):
    """Something in the data is not as it must be; the message says where."""


@dataclass(frozen=True)
class Chunk:
    """Some consecutive rows: features, labels, and weights and radii if they vary."""

    X: Any
    y: Any
    weight: Any = None
    radius: Any = None
    #: Which of the chunks this is, and where it comes from, for messages.
    number: int = 0
    origin: str = "the data"

    @property
    def n(self) -> int:
        """Rows."""
        return self.X.shape[0]

    def error(self, message: str) -> DataError:
        """An error about this chunk."""
        return DataError(f"{self.origin}, chunk {self.number}: {message}")


@dataclass(frozen=True)
class Classes:
    """One class against the rest: labels of any kind, numbers per class."""

    labels: np.ndarray
    positive: int
    weights: np.ndarray
    radii: np.ndarray | None = None

    def read(self, chunk: Chunk) -> Chunk:
        """The chunk with labels −1 and +1, weights and radii by class applied."""
        y = host(chunk.y)
        numbers = np.searchsorted(self.labels, y)
        numbers = np.minimum(numbers, len(self.labels) - 1)
        strange = np.flatnonzero(self.labels[numbers] != y)
        if strange.size:
            raise chunk.error(
                f"row {strange[0]} has the label {y[strange[0]]!s}, which was not "
                "there when the labels were first read; the data must not change."
            )
        signs = np.where(numbers == self.positive, 1.0, -1.0)
        weight = self.weights[numbers]
        if chunk.weight is not None:
            weight = weight * host(chunk.weight)
        radius = chunk.radius if self.radii is None else self.radii[numbers]
        return replace(chunk, y=signs, weight=weight, radius=radius)


@dataclass(frozen=True)
class Terms:
    """The problem but for its rows."""

    d: int
    C: float
    radius: float
    noise: Noise
    intercept: float | None
    classes: Classes | None = None
    #: Problems of chunks that stay in memory, by chunk; with their norms.
    kept: dict[int, Problem] = field(default_factory=dict, compare=False)

    def problem(self, chunk: Chunk, *, check: bool = False) -> Problem:
        """The robust SVM on this chunk alone."""
        if chunk.number in self.kept:
            return self.kept[chunk.number]
        if self.classes is not None:
            chunk = self.classes.read(chunk)
        X = chunk.X
        if X.ndim != 2 or X.shape[1] != self.d:
            columns = X.shape[1] if X.ndim == 2 else f"shape {X.shape}, not two"
            raise chunk.error(
                f"has {columns} columns where the data before it has {self.d}."
            )
        try:
            y = _labels(chunk)
            weights = _per_row(chunk, "weight", 1.0) * self.C
            radii = _per_row(chunk, "radius", self.radius)
            rows = as_rows(X if is_foreign(X) else _matrix(X, check), y)
            if check and is_foreign(X):
                _check_foreign(rows)
        except DataError:
            raise
        except ValueError as error:
            raise chunk.error(str(error)) from None
        return Problem(rows, weights, radii, self.noise, self.intercept)

    def keep(self, chunk: Chunk, problem: Problem) -> None:
        """Remember the problem of a chunk that is in memory anyway."""
        self.kept[chunk.number] = problem

    def __getstate__(self):
        return self.__dict__ | {"kept": {}}


def _matrix(X, check: bool):
    if check or not (sp.issparse(X) or X.dtype in (np.float32, np.float64)):
        return check_data(X)
    return X


def _labels(chunk: Chunk):
    """−1 and +1 as float64, beside the rows; a chunk may hold one class only."""
    y = chunk.y
    if tuple(y.shape) != (chunk.n,):
        raise chunk.error(f"has labels of shape {tuple(y.shape)} for {chunk.n} rows.")
    if is_foreign(y):
        xp = namespace(y)
        y = xp.astype(y, xp.float64)
    else:
        y = np.asarray(y)
        if y.dtype.kind not in "if":
            raise chunk.error(
                f"has labels of dtype {y.dtype}; they must be −1 and +1. "
                "RobustLinearSVC takes labels of any kind."
            )
        y = y.astype(np.float64, copy=False)
    xp = namespace(y)
    if not xp.all(xp.abs(y) == 1):
        wrong = int(np.flatnonzero(np.abs(host(y)) != 1)[0])
        raise chunk.error(
            f"row {wrong} has the label {host(y)[wrong]:g}; this function needs exactly "
            "−1 and +1. RobustLinearSVC takes labels of any kind."
        )
    return y if is_foreign(chunk.X) == is_foreign(y) else like(y, chunk.X)


def _per_row(chunk: Chunk, name: str, default: float):
    """Weights or radii of the rows, beside them; one number takes no memory."""
    value = getattr(chunk, name)
    if value is None:
        if not is_foreign(chunk.X):
            return np.broadcast_to(np.float64(default), (chunk.n,))
        xp = namespace(chunk.X)
        return xp.broadcast_to(fill(chunk.X, (1,), default), (chunk.n,))
    if not is_foreign(value):
        checked = check_per_sample(value, chunk.n, f"the {name}")
        return like(np.ascontiguousarray(checked), _beside(chunk.X))
    xp = namespace(value)
    value = xp.astype(value, xp.float64)
    if tuple(value.shape) != (chunk.n,) or not xp.all((value >= 0) & (value < np.inf)):
        check_per_sample(host(value), chunk.n, f"the {name}")
    return value


def _beside(X):
    """An array that says where vectors of these rows live."""
    return np.empty(0) if sp.issparse(X) else X


def _check_foreign(rows) -> None:
    """Finite entries of an allowed precision; the norms know, and are needed anyway."""
    xp = namespace(rows.X)
    if rows.X.dtype not in (xp.float32, xp.float64):
        raise ValueError(
            f"X has dtype {rows.X.dtype}; arrays on a device must be float32 or "
            "float64. Convert it there."
        )
    if not bool(xp.isfinite(xp.max(rows.norms()))) and not bool(
        xp.all(xp.isfinite(rows.X))
    ):
        place = int(xp.argmax(xp.astype(~xp.isfinite(rows.norms()), xp.int8)))
        raise ValueError(
            f"X is not finite in row {place}; impute or drop such rows first."
        )
