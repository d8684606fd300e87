"""Which fitted steps are linear, and by which matrix.

Noise in raw units is known behind a step only if it is linear: transform(x + δ) =
transform(x) + Aδ for every x and δ. `linear_steps` says A, and refuses by name a step
that is not known to be so. A is read off the fitted attributes of scikit-learn's
transformers (`_MATRICES`). Transformers are known by their exact class, because a
subclass may do something else.

**A step of the user's** says that it is linear by a fitted attribute or property

    linear_map_ : array or sparse matrix of shape (n_features_out, n_features_in)

the matrix A. It must hold for every x and δ, and in rows with missing cells for moves δ
of the others. The shape is checked, and A is compared with the transforms of some rows:
that finds slips, and proves nothing. What the step says is taken as it is.

Columns of text, and those that the first step encodes as categories, are *exact*: no
small move leads from one category to another. Steps may do with them what they like; A
has columns of zeros there.

A missing cell stays missing when noise moves the others. Linear steps do to the cells
that are there what A says, as long as no sum with a missing cell is filled in.
"""

from __future__ import annotations

import numbers
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.utils import _safe_indexing

from wideberth.problem.arrays import quietly
from wideberth.problem.validation import is_missing, is_numeric, refuse_text

#: Rows that are transformed to count outputs and to compare a `linear_map_` with.
_ROWS = 16
#: Relative rounding granted to a `linear_map_`: that of float32.
_ROUNDING = 1e-5


def linear_steps(transformer, X) -> tuple[sp.csr_array, np.ndarray]:
    """A of fitted steps, (n_features_out, n_features_in), and which columns are exact.

    `transformer` is a step, a pipeline of steps or None, X the data of the first one.
    A ValueError names the step that is not known to be linear.
    """
    steps = list(_steps_of(transformer))
    exact = _exact_columns(steps, X)
    if not steps:
        refuse_text(X)
        return sp.diags_array((~exact).astype(np.float64), format="csr"), exact
    X = X.tocsr() if sp.issparse(X) else X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"X, as it is given to '{steps[0][0]}', is not a table of numbers and "
            "categories, so noise in raw units means nothing. Turn it into one before "
            "this pipeline."
        )
    return _in_turn(steps, _Inputs(X[:_ROWS], exact, np.zeros_like(exact))), exact


# -- one step --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Inputs:
    """What a step is given: some rows, and what is known of their columns."""

    rows: Any  # an array, sparse matrix or frame
    exact: np.ndarray  # which columns do not move
    sums: np.ndarray  # which columns depend on several raw features

    @property
    def d(self) -> int:
        return self.exact.size

    def take(self, columns: np.ndarray) -> _Inputs:
        rows = _safe_indexing(self.rows, columns, axis=1)
        return _Inputs(rows, self.exact[columns], self.sums[columns])

    def through(self, step) -> Any:
        """The rows that a step makes of these."""
        with quietly():
            return step.transform(self.rows)

    def behind(self, step, matrix: sp.csr_array) -> _Inputs:
        """What the next step is given."""
        uses = abs(matrix.sign())
        n_uses = uses.sum(axis=1)
        sums = (n_uses > 1) | (uses @ self.sums > 0)
        return _Inputs(self.through(step), n_uses == 0, sums)


def _map_of(name: str, step, inputs: _Inputs) -> sp.csr_array:
    """A of a fitted step; a ValueError names one that is not known to be linear."""
    kind, d = type(step), inputs.d
    if step is None or step == "passthrough":
        return _moving(sp.eye_array(d), inputs)
    if kind is FrozenEstimator:
        return _map_of(name, step.estimator, inputs)
    if inputs.exact.all():
        return sp.csr_array((inputs.through(step).shape[1], d))
    if isinstance(step, Pipeline):
        steps = [(f"{name}__{inner}", part) for inner, part in _steps_of(step)]
        return _moving(_in_turn(steps, inputs), inputs)
    if kind in (ColumnTransformer, FeatureUnion):
        return _side_by_side(name, step, inputs)
    if kind is SimpleImputer and inputs.sums.any():
        _refuse(name, step, "it fills in sums of missing values and others")
    return _moving(_matrix(name, step, inputs), inputs)


def _moving(matrix, inputs: _Inputs) -> sp.csr_array:
    """A matrix with zeros for inputs that do not move."""
    matrix = sp.csr_array(matrix, dtype=np.float64)
    if inputs.exact.any():
        matrix = matrix @ sp.diags_array((~inputs.exact).astype(np.float64))
        matrix.eliminate_zeros()
    return sp.csr_array(matrix)


def _matrix(name: str, step, inputs: _Inputs):
    """A of one step, known by its class or by its `linear_map_`."""
    kind, eye = type(step), sp.eye_array(inputs.d, format="csr")
    if kind in _MATRICES and not getattr(step, "clip", False):
        return _MATRICES[kind](step)
    if kind in (SimpleImputer, MissingIndicator):
        if not is_missing(step.missing_values):
            _refuse(name, step, f"it treats {step.missing_values!r} as missing")
        kept: list[int] = [] if kind is MissingIndicator else list(_kept(step))
        marks = inputs.through(step).shape[1] - len(kept)  # whether cells are missing
        return sp.vstack([eye[kept], sp.csr_array((marks, inputs.d))])
    if kind is FunctionTransformer and step.func is None:
        return eye
    if kind is FunctionTransformer and step.func is np.negative:
        return -eye
    selects = isinstance(step, SelectorMixin)
    if selects and kind.transform is SelectorMixin.transform:
        return eye[step.get_support(indices=True)]
    if hasattr(step, "linear_map_"):
        return _hooked(name, step, inputs)
    return _refuse(name, step)


def _hooked(name: str, step, inputs: _Inputs) -> sp.csr_array:
    """`linear_map_` of a step, compared with what it makes of some rows."""
    A, out = sp.csr_array(step.linear_map_, dtype=np.float64), inputs.through(step)
    if A.shape != (out.shape[1], inputs.d) or not np.isfinite(A.data).all():
        _refuse(
            *(name, step),
            f"linear_map_ has shape {A.shape}; it must hold finite numbers, one row "
            f"for each of {out.shape[1]} outputs and one column for each of {inputs.d} "
            "inputs",
        )
    if inputs.exact.any():
        return A
    x, out = dense(inputs.rows), dense(out)
    complete = np.isfinite(x).all(axis=1)
    x, out = x[complete], out[complete]
    off = np.abs(out - out[:1] - (x - x[:1]) @ A.T)
    terms = (np.abs(x) + np.abs(x[:1])) @ abs(A).T + np.abs(out)
    if not np.all(off <= _ROUNDING * terms.max(axis=0, initial=0.0)):
        _refuse(name, step, "its transform is not that of its linear_map_")
    return A


def _refuse(name: str, step, why: str = "") -> NoReturn:
    said = textwrap.shorten(repr(step), 150)
    raise ValueError(
        f"'{name}' ({said}) is not known to be linear{why and ': '}{why}. So noise in "
        "raw units cannot be certified after it. Use scalers, PCA, feature selection "
        "or SimpleImputer; and for curved boundaries Nystroem, directly before a "
        "RobustLinearSVC or a RobustLinearRegressor. A step of your own says that it "
        "is linear by an attribute linear_map_, the matrix A of shape "
        "(n_features_out, n_features_in) with transform(x + d) = transform(x) + A d. "
        "For logarithms and the like transform X and both ends of its error bars "
        "before the pipeline, or give noise in transformed units to a plain Pipeline."
    )


# -- linear steps ----------------------------------------------------------------------


def _divided(step):
    """A of (x − c) / scale."""
    scale = np.ones(step.n_features_in_) if step.scale_ is None else step.scale_
    return sp.diags_array(1 / scale)


def _projected(step):
    """A of components_ · (x − c), whitened or not."""
    matrix = sp.csr_array(step.components_)
    if not getattr(step, "whiten", False) or type(step) is FastICA:
        return matrix
    scale = np.sqrt(step.explained_variance_)
    return sp.diags_array(1 / np.maximum(scale, np.finfo(scale.dtype).eps)) @ matrix


def _kept(step: SimpleImputer) -> np.ndarray:
    """The columns that an imputer hands on: those that it has a value for."""
    empty = [is_missing(value) or value != value for value in step.statistics_]
    return np.flatnonzero(~np.array(empty) | step.keep_empty_features)


_MATRICES: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys([StandardScaler, RobustScaler, MaxAbsScaler], _divided),
    MinMaxScaler: lambda step: sp.diags_array(step.scale_),
    **dict.fromkeys([PCA, IncrementalPCA, TruncatedSVD, FastICA], _projected),
    **dict.fromkeys([GaussianRandomProjection, SparseRandomProjection], _projected),
    NeighborhoodComponentsAnalysis: _projected,
    LinearDiscriminantAnalysis: lambda step: step.scalings_.T[
        : len(step.get_feature_names_out())
    ],
}


# -- steps that hold others ------------------------------------------------------------


def _steps_of(transformer, name: str | None = None) -> Iterator[tuple[str, Any]]:
    """The transformers that do something, in turn, with the names they go by."""
    if isinstance(transformer, Pipeline):
        for inner_name, step in transformer.steps:
            yield from _steps_of(step, inner_name)
    elif transformer is not None and not isinstance(transformer, str):
        yield name or type(transformer).__name__.lower(), transformer


def _in_turn(steps: list[tuple[str, Any]], inputs: _Inputs) -> sp.csr_array:
    """A of steps, each behind the one before."""
    together = sp.eye_array(inputs.d, format="csr")
    for name, step in steps:
        matrix = _map_of(name, step, inputs)
        inputs, together = inputs.behind(step, matrix), matrix @ together
    return sp.csr_array(together)


def _parts_of(step: ColumnTransformer | FeatureUnion, d: int) -> list[tuple]:
    """Name, transformer and columns of each part that makes something."""
    if isinstance(step, FeatureUnion):
        parts = step.transformer_list
        return [(name, part, np.arange(d)) for name, part in parts if part != "drop"]
    found = []
    for name, part, _ in step.transformers_:
        outputs = step.output_indices_.get(name, slice(0, 0))
        if outputs.stop > outputs.start:
            columns = step._transformer_to_input_indices[name]
            found.append((name, part, np.asarray(columns, dtype=int)))
    return found


def _side_by_side(name: str, step, inputs: _Inputs) -> sp.csr_array:
    """A of parts whose outputs stand beside one another, each with a weight."""
    eye, weights = sp.eye_array(inputs.d, format="csr"), step.transformer_weights or {}
    matrices = [
        weights.get(inner, 1.0)
        * _map_of(f"{name}__{inner}", part, inputs.take(columns))
        @ eye[columns]
        for inner, part, columns in _parts_of(step, inputs.d)
    ]
    return sp.csr_array(sp.vstack(matrices))


# -- exact columns ---------------------------------------------------------------------

_ENCODERS = (OneHotEncoder, OrdinalEncoder, TargetEncoder)


def _exact_columns(steps: list[tuple[str, Any]], X) -> np.ndarray:
    """A mask of the columns of X that noise does not move, before fitted steps.

    Those are columns of text, and those that a ColumnTransformer, as the first step,
    hands to encoders of categories alone.
    """
    exact = text_columns(X)
    first = steps[0][1] if steps else None
    if isinstance(first, ColumnTransformer):
        encoded, measured = np.zeros_like(exact), np.zeros_like(exact)
        for _, part, columns in _parts_of(first, exact.size):
            encodes = any(isinstance(s, _ENCODERS) for _, s in _steps_of(part))
            (encoded if encodes else measured)[columns] = True
        exact |= encoded & ~measured
    return exact


def text_columns(X) -> np.ndarray:
    """A mask of the columns whose entries are not numbers; none of what is no table."""
    if sp.issparse(X):
        return np.zeros(X.shape[1], dtype=bool)
    X = X if hasattr(X, "columns") else np.asarray(X)
    if len(X.shape) != 2 or is_numeric(getattr(X, "dtype", None)):
        return np.zeros(X.shape[1] if len(X.shape) == 2 else 0, dtype=bool)
    columns = (_safe_indexing(X, k, axis=1) for k in range(X.shape[1]))
    return np.array([not _holds_numbers(column) for column in columns], dtype=bool)


def _holds_numbers(column) -> bool:
    """Whether a column holds numbers alone; cells may be missing, categories are not.

    Objects are looked at one by one.
    """
    if not isinstance(column.dtype, np.dtype) or column.dtype != object:
        return is_numeric(column.dtype)
    return all(
        isinstance(value, numbers.Real | Decimal) or is_missing(value)
        for value in np.asarray(column)
    )


def dense(rows) -> np.ndarray:
    """Rows as an array of float64."""
    rows = rows.toarray() if sp.issparse(rows) else rows
    return np.asarray(rows, dtype=np.float64)
