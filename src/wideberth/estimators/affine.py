"""The linear part of fitted transformers, and the proof that they are affine.

A of x' = Ax + c is read off a fitted step by transforming multiples of unit vectors, so
steps need not be known by name. A certificate in raw units holds only if the step is
affine *everywhere* that noise may lead, so each step of a pipeline is held against
Ax + c at points of many sizes and in many places (`probes.py`): every output column
by itself, within the rounding of its own terms,

    |T(x)_k − (Ax + c)_k| ≤ ε (Σ_j |A_kj|(|x_j| + m_j) + |c_k|) ,   m_j = max |x_j| ,

in the columns that noise moves, the others being whatever they are in the data, on
which c may depend (`categories.py`). The m_j stand for offsets that the step may
subtract. A missing cell stays missing when noise moves the others. There the step must
do to the cells that are left what A does: T(x + δ) − T(x) = Aδ for moves δ of them.

What probing cannot see: a bump narrower than the distance of the points, about a
fiftieth of the range where features are few, and a bend more than a million ranges
away. Scalers, projections and selections have neither by construction; for a function
of the user's own it is the user who knows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import reduce
from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from wideberth.estimators.categories import exact_columns
from wideberth.estimators.probes import ProbedRows
from wideberth.problem.arrays import quietly
from wideberth.problem.validation import refuse_text

#: Length of the moves that A is read from, in largest values of the feature: so far
#: away the rounding of offsets does not count, and the points go no farther.
_READING = 2.0**20
#: Relative rounding granted to a transform in float64. Most stay below 1e-14; a kernel
#: PCA, whose sums nearly cancel, needs 4e-11 where offsets are a hundred ranges.
_ROUNDING = 2.0**-32
#: Relative rounding granted where a column holds float32 numbers only: 32 of its units.
_SINGLE_ROUNDING = 2.0**-18


def linear_map(transformer, X) -> sp.csr_array:
    """A of a fitted affine transformer x' = Ax + c, read off its transform of moves.

    Parameters
    ----------
    transformer : fitted transformer or pipeline of transformers
        A ValueError names the step that is not affine.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        Rows of it, and points around them, are where each step must be affine.

    Returns
    -------
    CSR matrix of shape (n_transformed, n_features)
    """
    return composed(step_maps(list(steps_of(transformer)), X))


def composed(maps: list) -> sp.csr_array:
    """The product of linear maps, the first of which is applied first."""
    return sp.csr_array(reduce(lambda before, A: A @ before, maps))


def step_maps(steps, X, bends=lambda step: False) -> list:
    """A of each step, for the data X of the first; None of those that `bends` names.

    `steps` are pairs of a name and a fitted transformer, as from `steps_of`. Where
    there are none, the one map is the identity.
    """
    exact = exact_columns(steps, X)
    sample, lost = _sample_of(X, exact, steps), False
    maps: list[sp.csr_array | None] = []
    for name, step in steps:
        behind = None  # the columns behind the step that stay exact
        if bends(step):
            maps.append(None)
        else:
            affine = _AffineStep(name, step, sample)
            if lost and affine.fills_missing:
                affine.refuse("it fills in sums of missing values and others")
            lost |= affine.loses_present
            maps.append(sample.embedded(affine.linear))
            if sample.whole is not None:
                behind = affine.absolute.sum(axis=1) == 0
        sample = ProbedRows(transformed(step, sample.given(sample.rows)), behind)
    return maps or [sp.diags_array((~exact).astype(np.float64), format="csr")]


def _sample_of(X, exact: np.ndarray, steps) -> ProbedRows:
    """Rows of X, the data of the first step, numbers but for exact columns."""
    if not steps and exact.any():
        refuse_text(X)
    try:
        return ProbedRows(X, exact)
    except (TypeError, ValueError) as error:
        first = f"'{steps[0][0]}'" if steps else "the classifier"
        raise ValueError(
            f"X, as it is given to {first}, holds entries that are not numbers, for "
            f"which noise in raw units means nothing ({error}). Encode them before "
            "this pipeline."
        ) from None


def transformed(transformer, points):
    """What a fitted step makes of points, in float64, without a word."""
    with quietly(), np.errstate(all="ignore"):  # points need not look like data
        out = transformer.transform(points)
    if sp.issparse(out):
        return sp.csr_array(out, dtype=np.float64)
    return np.asarray(out, dtype=np.float64)


def steps_of(transformer, name: str | None = None) -> Iterator[tuple[str, object]]:
    """The transformers that do something, in turn, with the names they go by."""
    if isinstance(transformer, Pipeline):
        for inner_name, step in transformer.steps:
            yield from steps_of(step, inner_name)
    elif transformer is not None and not isinstance(transformer, str):
        yield name or type(transformer).__name__.lower(), transformer


class _AffineStep:
    """One fitted step, proven to be affine on a sample of its inputs and around it."""

    def __init__(self, name: str, transformer, sample: ProbedRows):
        self.name, self.transformer, self.sample = name, transformer, sample
        self.linear, self.offset = self._read()
        self.absolute = abs(self.linear)
        #: Σ_j |A_kj| m_j + |c_k|, the largest where c depends on exact columns
        self.level = self.absolute @ sample.size + self._largest_offset()
        #: Whether outputs that missing cells belong to are numbers; and whether there
        #: are outputs that are missing although cells that are there belong to them.
        self.fills_missing, self.loses_present = False, False
        if not sample.n_features:  # nothing moves
            return
        for points in sample.points(_special_values(transformer)):
            self._require_affine_at(points)
        for points in sample.with_missing():
            self._require_affine_beside_missing(points)

    def _read(self) -> tuple[sp.csr_array, np.ndarray]:
        """A and c from the transforms of 0 and of multiples of unit vectors."""
        size, changes = self.sample.size, []
        if not size.size:
            offset = _dense(self._outputs(self.sample.rows[:1]))[0]
            return sp.csr_array((offset.size, 0)), offset
        # Powers of two: dividing by them is exact.
        steps = _READING * 2.0 ** np.ceil(np.log2(np.where(size > 0, size, 1.0)))
        for points in self.sample.units(steps):
            out = self._outputs(points, alike=True)
            offset = _dense(out[:1])[0]
            changes.append(sp.csr_array(_less(out[1:], offset)))
        linear = sp.diags_array(1 / steps) @ sp.vstack(changes)
        return linear.T.tocsr(), offset

    def _offsets(self, n: int):
        """c of n points: a row for all, or one for each where columns are exact."""
        if self.sample.whole is None:
            return self.offset
        none = np.zeros((n, self.sample.n_features))
        return self._outputs(sp.csr_array(none) if self.sample.sparse else none)

    def _largest_offset(self) -> np.ndarray:
        if self.sample.whole is None:
            return np.abs(self.offset)
        offsets = abs(self._offsets(self.sample.rows.shape[0]))
        return np.ravel(_dense(offsets.max(axis=0)))

    def _require_affine_at(self, points) -> None:
        """Hold T(x) against Ax + c."""
        out, offsets = self._outputs(points), self._offsets(points.shape[0])
        if sp.issparse(out):
            points = sp.csr_array(points)
        off = abs(_less(out, offsets) - points @ self.linear.T)
        terms = abs(points) @ self.absolute.T
        found = _beyond(off, terms, self.level, _rounding(out))
        if found is not None:
            row, column = found
            own = offsets if offsets.ndim == 1 else _dense(offsets[[row]])[0]
            expected = _dense(points[[row]] @ self.linear.T)[0] + own
            self.refuse(
                f"output {column} is {_dense(out[[row]])[0, column]:.6g} at a point "
                "where its values elsewhere, if it were affine, would make it "
                f"{expected[column]:.6g}"
            )

    def _require_affine_beside_missing(self, points) -> None:
        """Hold T(x + δ) − T(x) against Aδ, where the same cells of x are missing."""
        try:
            out = _dense(self.transform(points, alike=True))
        except Exception:  # rows that it does not take get no prediction either
            return
        points = _dense(points)
        missing, moves = np.isnan(points), np.nan_to_num(points - points[0])
        sizes = np.nan_to_num(np.abs(points) + np.abs(points[0]))
        terms = sizes @ self.absolute.T + np.nan_to_num(np.abs(out[0]))
        handed_on = np.isnan(out) & np.isnan(out[0])
        off = np.abs(out - out[0] - moves @ self.linear.T)
        off[handed_on] = 0.0
        rounding = _rounding(np.nan_to_num(out))
        if _beyond(off, terms, self.level, rounding) is not None:
            self.refuse(
                "in rows with missing values, moves of the others have other effects "
                "than in complete rows"
            )
        uses_missing = missing @ self.absolute.T > 0
        uses_present = np.abs(moves) @ self.absolute.T > 0
        self.fills_missing |= bool(np.any(uses_missing & ~np.isnan(out)))
        self.loses_present |= bool(np.any(uses_present & handed_on))

    def _outputs(self, points, alike: bool = False):
        """T(points), sparse if it or the points are; every value a number."""
        try:
            out = self.transform(points, alike)
        except Exception as error:
            said = textwrap.shorten(f"{type(error).__name__}: {error}", 150)
            self.refuse(f"it does not take rows that moves lead to ({said})")
        if out.ndim != 2 or out.shape[0] != points.shape[0]:
            self.refuse(f"it makes an array of shape {out.shape} of {points.shape}")
        out = sp.csr_array(out) if sp.issparse(points) else out
        if not np.all(np.isfinite(out.data if sp.issparse(out) else out)):
            self.refuse("it gives nan or infinity for rows of finite numbers")
        return out

    def transform(self, points, alike: bool = False):
        return transformed(self.transformer, self.sample.given(points, alike))

    def refuse(self, why: str):
        step = textwrap.shorten(repr(self.transformer), 150)
        raise ValueError(
            f"'{self.name}' ({step}) is not affine: {why}. Noise in raw units has no "
            "one shape behind such a step, so nothing could be certified. Use scalers, "
            "PCA, feature selection or constants for missing values, or give noise in "
            "transformed units to a plain Pipeline. Steps that are known to be "
            "monotone, such as FunctionTransformer(np.log), carry error bars X_err "
            "with error_shape='box'."
        )


def _beyond(off, terms, level: np.ndarray, rounding: np.ndarray):
    """Where |off| exceeds its rounding first, as (row, column), or None."""
    if sp.issparse(off):
        left = sp.coo_array(off - terms @ sp.diags_array(rounding))
        (rows, columns), values = left.coords, left.data
    else:
        values = off - terms * rounding
        rows, columns = np.indices(values.shape)
    bad = np.argwhere(~(values <= (rounding * level)[columns]))
    if len(bad) == 0:
        return None
    first = tuple(bad[0])
    return int(rows[first]), int(columns[first])


def _rounding(out) -> np.ndarray:
    """ε of every output column: coarser where all its values are float32 numbers."""
    values = out.data if sp.issparse(out) else out
    with np.errstate(over="ignore"):
        single = values.astype(np.float32) == values
    single = np.full(out.shape[1], single.all()) if sp.issparse(out) else single.all(0)
    return np.where(single, _SINGLE_ROUNDING, _ROUNDING)


def _special_values(transformer) -> list[float]:
    """Numbers that a step, or a step inside it, reads as a sign for "missing"."""
    if not hasattr(transformer, "get_params"):
        return []
    signs = [
        value
        for name, value in transformer.get_params().items()
        if name.split("__")[-1] == "missing_values"
    ]
    numbers = [float(sign) for sign in signs if isinstance(sign, Real)]
    return sorted({number for number in numbers if np.isfinite(number)})


def _less(out, row):
    """Each row of `out` less the same row, or less a row of its own."""
    if not sp.issparse(out) or sp.issparse(row):
        return out - row
    column = sp.csr_array(np.ones((out.shape[0], 1)))
    return sp.csr_array(out - column @ sp.csr_array(row[None, :]))


def _dense(values) -> np.ndarray:
    return values.toarray() if sp.issparse(values) else values
