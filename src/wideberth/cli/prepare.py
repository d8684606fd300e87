"""From a table to rows a model can be trained on or applied to.

Nothing is left out in silence: every row and value that is not used is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from sklearn.utils.validation import validate_data

from wideberth.cli.errors import UserError
from wideberth.cli.options import FitOptions
from wideberth.data.delimited import looks_like_number, number_of
from wideberth.data.errors import agree, counted, listed, quoted
from wideberth.data.samples import Samples
from wideberth.data.table import Table, check_names
from wideberth.errors import from_limits
from wideberth.noise.reading import read_errors

#: Largest number of different values that a column may hold whatever they are; beyond
#: it a column names rows if most values occur once, and fractions are measurements. A
#: choice, not measured: a message says what to do where it is wrong.
_FEW = 20
#: Most different labels that are kept in mind while a column is read in pieces; no
#: classifier has as many classes, and a column of measurements, which these tell, would
#: fill the memory (a choice).
MANY_LABELS = 100_000
#: The category of cells without a value.
_NO_VALUE = "missing"
#: A whole number; not 007, which is a name, and no more digits than int64 holds.
_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})(?:\.0*)?", re.ASCII)
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class Columns:
    """How features are made from columns: numbers first, then one 0/1 per category.

    `dates` are those of the numbers that are days, of `logs` the logarithm is taken,
    and `limits` has the least and the largest value that a limit of detection leaves
    open, for the columns that have any.
    """

    numeric: tuple[str, ...]
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dates: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def found_in(
        cls,
        table: Table,
        options: FitOptions,
        gaps: bool = True,
    ) -> Columns:
        """Take the categories that occur in a table; with `gaps` also "missing"."""
        categories = {}
        for name in options.one_hot:
            texts = set(table.texts[name].tolist())
            levels = sorted(texts - {None})
            if not levels:
                raise _without_values(name)
            if _names_rows(len(levels), table.n):
                raise UserError(
                    f"column {quoted(name)} holds {len(levels)} different values in "
                    f"{table.n} rows; it names rows rather than categories. Leave it "
                    f"out with --drop {name}."
                )
            _refuse_numbers(name, levels)
            if gaps and None in texts and _NO_VALUE not in levels:
                levels.append(_NO_VALUE)
            categories[name] = tuple(levels)
        numeric, dates = tuple(table.names), options.read.dates
        if absent := [name for name in options.log if name not in numeric]:
            raise UserError(f"--log {absent[0]}: this is not a feature; leave it out.")
        limits = {name: _ends(table, name) for name in table.bounds}
        columns = cls(numeric, categories, dates, options.log, limits)
        check_names(columns.features, "with --one-hot it")
        return columns

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        levels = (f"{name}={v}" for name, vs in self.categories.items() for v in vs)
        return (*self.numeric, *levels)

    def fill_limits(self, table: Table, shape: str = "ellipsoid") -> np.ndarray:
        """Give limits of detection the middle of their interval; return the errors."""
        errors = np.zeros((table.n, len(self.features)))
        for name in [name for name in self.limits if name in table.bounds]:
            j, (low, high) = self.numeric.index(name), self.limits[name]
            lower, upper = table.bounds[name]
            censored = ~np.isnan(lower)
            lower = np.where(np.isneginf(lower), np.minimum(low, upper), lower)
            upper = np.where(np.isposinf(upper), np.maximum(high, lower), upper)
            column, own = from_limits(
                np.nan_to_num(table.X[:, [j]]),
                censored=censored[:, None],
                low=np.nan_to_num(lower)[:, None],
                high=np.nan_to_num(upper)[:, None],
                error_shape=shape,
            )
            table.X[censored, j] = column[censored, 0]
            errors[censored, j] = own[censored, 0]
        return errors

    def without_logarithm(self, X) -> np.ndarray:
        """Which rows have a value ≤ 0 in a column of `logs`."""
        at = [self.numeric.index(name) for name in self.logs]
        return (X[:, at] <= 0).any(axis=1) if at else np.zeros(X.shape[0], dtype=bool)

    def take_logs(self, X: np.ndarray, cells: tuple = (), box: bool = False) -> tuple:
        """X and its lower and upper errors, for columns of `logs` their logarithms.

        A standard error becomes the share of the value, σ/x; the ends of a box are
        those of its logarithms.
        """
        if not self.logs:
            return X, cells
        X, cells = X.copy(), tuple(side.copy() for side in cells)
        for name in self.logs:
            j = self.numeric.index(name)
            x = X[:, j].copy()
            with np.errstate(all="ignore"):
                for side, sign in zip(cells, (-1, 1), strict=False):
                    share = side[:, j] / x
                    side[:, j] = sign * np.log1p(sign * share) if box else share
                X[:, j] = np.log(x)
        return X, cells

    @property
    def n_indicators(self) -> int:
        """Features that are 0 or 1 for a category; they carry no noise."""
        return sum(map(len, self.categories.values()))

    @property
    def sparse(self) -> bool:
        """Whether rows are smaller as CSR: 12 bytes per entry, 8 per cell if dense."""
        entries = len(self.numeric) + len(self.categories)
        return 12 * entries < 8 * (len(self.numeric) + self.n_indicators)

    def encode(
        self, table: Table, gaps: bool = False, dense: bool = False
    ) -> np.ndarray | sp.csr_array:
        """Features of every row, as CSR where that is smaller unless it must be dense.

        A category that the model has not seen is all zeros. So is a missing one of a
        column that had none missing; where models know `gaps` its features are missing.
        """
        if not self.categories:
            return table.X
        codes, start = [], len(self.numeric)
        for name, levels in self.categories.items():
            at: dict[str | None, int] = {v: start + k for k, v in enumerate(levels)}
            at[None] = at.get(_NO_VALUE, -1)
            found = map(at.get, table.texts[name].tolist(), repeat(-1))
            codes.append(np.fromiter(found, np.int32, table.n))
            start += len(levels)
        if self.sparse and not (dense or gaps):
            return _rows_of(codes, start, table.X)
        X = _rows_of(codes, start).toarray()
        X[:, : len(self.numeric)] = table.X
        if gaps:
            ends = np.cumsum([len(self.numeric), *map(len, self.categories.values())])
            for k, name in enumerate(self.categories):
                if name in self.without_missing:
                    X[_lacking(table, name), ends[k] : ends[k + 1]] = np.nan
        return X

    @property
    def without_missing(self) -> list[str]:
        """Columns of categories of which "missing" is none."""
        return [n for n, levels in self.categories.items() if _NO_VALUE not in levels]

    def unseen(self, table: Table) -> dict[str, Counter]:
        """Categories that a model does not know, by column, and in how many rows."""
        found = {}
        for name, levels in self.categories.items():
            counts = Counter(table.texts[name].tolist())
            strange = {text: counts[text] for text in counts.keys() - {None, *levels}}
            found[name] = Counter(strange)
        return {name: counts for name, counts in found.items() if counts}


def _rows_of(codes: list[np.ndarray], d: int, numbers=None) -> sp.csr_array:
    """Rows with a 1 at each code that is not negative, behind numbers if given."""
    n, k = len(codes[0]), 0 if numbers is None else numbers.shape[1]
    indices = np.column_stack([np.tile(np.arange(k, dtype=np.int32), (n, 1)), *codes])
    data = np.ones(indices.shape)
    data[:, :k] = 0.0 if numbers is None else numbers
    there = indices >= 0
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    if not there.all():
        data, indices = data[there], indices[there]
    return sp.csr_array((data.ravel(), indices.ravel(), ends), shape=(n, d))


def _refuse_numbers(name: str, levels: list[str]) -> None:
    """Refuse categories most of which are different numbers, with some text."""
    texts = [level for level in levels if not looks_like_number(level)]
    if texts and len(levels) > _FEW and 2 * len(texts) < len(levels):
        raise UserError(
            f"column {quoted(name)} holds {len(levels) - len(texts)} different numbers "
            f"beside the text {listed(texts, 3)}; if that means a missing value add "
            f"--read na={texts[0]}, or leave the column out with --drop {name}."
        )


@dataclass(frozen=True, kw_only=True)
class PreparedRows(Samples):
    """Labelled rows ready for training, and what became of the others.

    Their errors are sets that radii are multiples of, or the standard errors from which
    true values are learned. Without `y`, X is a `TableSource`: a file that is read in
    pieces, each with its labels and radii.
    """

    columns: Columns
    facts: dict = field(default_factory=dict)
    kept: Any = None  # their numbers in the table
    names: Any = None  # what a column calls them
    y_err: np.ndarray | None = None  # standard errors of numbers to predict
    numbers: bool = False  # whether labels are numbers to predict
    task_story: str = ""  # why they are, or why not, where that is not obvious

    def take(self, rows) -> Self:
        """Some of them: indices or a mask."""
        beside = {"kept": self.kept, "names": self.names, "y_err": self.y_err}
        known = {n: own[rows] for n, own in beside.items() if own is not None}
        return replace(super().take(rows), **known)

    def plain(self) -> Self:
        """The same rows as if they were exact."""
        return replace(self, radius=0.0, errors=())

    def without(self, lacking: np.ndarray) -> Self:
        """Those that lack nothing; the others count as left out."""
        gone = int(lacking.sum())
        facts = self.facts | {
            "rows_dropped": self.facts["rows_dropped"] + gone,
            "rows_used": self.facts["rows_used"] - gone,
        }
        return replace(self.take(~lacking), facts=facts)

    def pieces(self, radius, shape: str) -> Iterator[tuple]:
        """Features, labels, radii and sets of as many rows as are held at a time."""
        if self.y is not None:
            yield self.X, self.y, radius, self.X_err
            return
        for chunk in self.X.chunks():
            own = radius if chunk.radius is None else chunk.radius
            bars = None
            if chunk.errors:
                bars = read_errors(chunk.X_err, shape, chunk.X.shape)
            yield chunk.X, chunk.y, own, bars


def row_counts(
    read: int, unlabelled: int = 0, dropped: int = 0, missing=(), filled: int = 0
) -> dict:
    """What became of the rows of a table, and where it lacks values."""
    return {
        "rows_read": read,
        "rows_without_label": unlabelled,
        "rows_dropped": dropped,
        "rows_used": read - unlabelled - dropped,
        "missing_values": dict(missing),
        "values_filled_in": filled,
    }


def training_rows(table: Table, options: FitOptions) -> PreparedRows:
    """Leave out rows without a label, and deal with missing values as asked.

    Numbers that the model is to fill in stay missing here.
    """
    target = str(options.target)
    missing = None if options.measured else options.missing or "drop"
    aside = [c for c in (options.replicates, options.radius_column) if c is not None]
    gaps = missing != "error"
    columns = Columns.found_in(table, options, gaps)
    if columns.limits:
        columns.fill_limits(table)
    _refuse_logarithms(table, columns)
    texts, labelled = table.texts[target], ~_lacking(table, target)
    if not labelled.any():
        raise UserError(
            f"the target column {quoted(target)} is empty in every row; name another."
        )
    found = read_target(set(texts[labelled].tolist()), int(labelled.sum()), options)
    holes = feature_holes(table, columns)
    if missing == "error" and holes:
        row, name = min((int(np.argmax(hole)), name) for name, hole in holes.items())
        raise UserError(
            f"{table.where(row)}, column {quoted(name)} has no value; --missing drop "
            "leaves such rows out, --missing median fills them in."
        )
    for name, hole in holes.items():
        if hole[labelled].all():
            raise _without_values(name)
    needed = _holes(table, aside)
    keep = labelled.copy()
    for hole in (needed | (holes if missing == "drop" else {})).values():
        keep &= ~hole
    if not keep.any():
        raise UserError(
            f"no row is complete: values are missing in {listed(holes | needed)}; fill "
            "them in with --missing median, or leave such columns out with --drop."
        )
    kept, categories = np.flatnonzero(keep), _holes(table, columns.categories)
    dense = options.errors is not None or options.measured or bool(columns.logs)
    dense = dense or options.limits is not None or options.kernel is not None
    X = columns.encode(table, gaps=options.measured, dense=dense)
    numbers = (hole for name, hole in holes.items() if name not in columns.categories)
    filled = sum(int(hole[keep].sum()) for hole in numbers)
    dropped = int((labelled & ~keep).sum())
    if options.missing is None and 10 * dropped > int(labelled.sum()):
        raise _many_dropped(options, holes, dropped, table.n)
    facts = row_counts(
        table.n,
        unlabelled=int((~labelled).sum()),
        dropped=dropped,
        missing={
            name: int(hole.sum())
            for name, hole in (holes | categories | needed).items()
        },
        filled=filled if missing == "median" else 0,
    )
    weights = _weights(table, options.weight_column, kept)
    return PreparedRows(
        X=X if keep.all() else X[kept],
        y=found.of(texts[kept]),
        weight=weights,
        columns=columns,
        facts=facts,
        kept=kept,
        numbers=found.numbers,
        task_story=found.story,
    )


def _ends(table: Table, name: str) -> tuple[float, float]:
    """The least and the largest that limits of detection in a column leave open.

    The least is 0, or the smallest value where that is negative. The largest is the
    largest value, or twice the largest limit where that is more.
    """
    lower, upper = table.bounds[name]
    known = table.X[:, list(table.names).index(name)]
    values = [*known[~np.isnan(known)], *lower[np.isfinite(lower)]]
    values += upper[np.isfinite(upper)].tolist()
    top = 2 * float(np.max(lower[np.isfinite(lower)], initial=0.0))
    return min(0.0, *values), max(top, *values)


def _refuse_logarithms(table: Table, columns: Columns) -> None:
    """Name the rows of a column to take logarithms of whose values are not positive."""
    for name in columns.logs:
        bad = np.flatnonzero(table.X[:, columns.numeric.index(name)] <= 0)
        if bad.size:
            rows = ", ".join(map(table.where, bad[:3].tolist()))
            more = ", …" if bad.size > 3 else ""
            raise UserError(
                f"{counted(bad.size, 'value')} in column {quoted(name)} "
                f"{agree(bad.size, 'is', 'are')} ≤ 0 and "
                f"{agree(bad.size, 'has', 'have')} no logarithm ({rows}{more}); leave "
                f"the column out of --log, or correct {agree(bad.size, 'it', 'them')}."
            )


def _many_dropped(
    options: FitOptions, holes: dict[str, np.ndarray], dropped: int, n: int
) -> UserError:
    """What to do where more than a tenth of the rows lack values."""
    most = sorted(holes, key=lambda name: -int(holes[name].sum()))
    shown = ", ".join(
        f"{quoted(name)} in {int(holes[name].sum())}" for name in most[:5]
    )
    more = f" and {len(most) - 5} more columns" if len(most) > 5 else ""
    model = ""
    if options.learns:
        model = "--model measured learns from the other values, "
    return UserError(
        f"{dropped} of {counted(n, 'row')} lack values and would be left out: {shown}"
        f"{more}. --missing median fills numbers in, {model}--drop leaves a column "
        "out, and --missing drop leaves the rows out anyway."
    )


def _weights(table: Table, column: str | None, kept: np.ndarray) -> np.ndarray | None:
    """The weights of the rows that are kept, all of which must have one."""
    if column is None:
        return None
    weights = table.numbers[column]
    bad = kept[~(weights[kept] >= 0)]
    if bad.size:
        row, weight = int(bad[0]), weights[bad[0]]
        what = "has no value" if np.isnan(weight) else f"is {weight:g}"
        raise UserError(
            f"{table.where(row)}, column {quoted(column)} {what}; a weight must be a "
            "number ≥ 0, and 0 leaves a row out of the training."
        )
    return weights[kept]


def _lacking(table: Table, name: str) -> np.ndarray:
    """Which rows have no value in a column that is no feature, or one of text."""
    if name in table.numbers:
        return np.isnan(table.numbers[name])
    return np.equal(table.texts[name], np.array(None, dtype=object))


def _holes(table: Table, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Where such columns lack values, for those that do."""
    holes = {name: _lacking(table, name) for name in names}
    return {name: hole for name, hole in holes.items() if hole.any()}


def feature_holes(table: Table, columns: Columns) -> dict[str, np.ndarray]:
    """Where values of features are missing, for the columns in which some are."""
    holes = {}
    if not sp.issparse(table.X):  # in sparse data what is not stored is zero
        with np.errstate(all="ignore"):  # a sum costs no array of the size of the data
            suspects = np.flatnonzero(np.isnan(table.X.sum(axis=0)))
        holes = {columns.numeric[j]: np.isnan(table.X[:, j]) for j in suspects}
    found = {name: hole for name, hole in holes.items() if hole.any()}
    return found | _holes(table, columns.without_missing)


def _without_values(name: str) -> UserError:
    about = f"column {quoted(name)} has no value in any row"
    return UserError(f"{about}; leave it out with --drop {name}.")


def moments(X) -> tuple[np.ndarray, ...]:
    """Mean, variance, least and largest of the values there are of every feature."""
    if not sp.issparse(X):
        return tuple(
            f(X, axis=0) for f in (np.nanmean, np.nanvar, np.nanmin, np.nanmax)
        )
    ends = min_max_axis(X, axis=0, ignore_nan=True)
    return *mean_variance_axis(X, axis=0), *map(np.asarray, ends)


# -- labels ----------------------------------------------------------------------------


@dataclass(frozen=True)
class TargetValues:
    """Whether the texts of a target are numbers to predict, and their values."""

    numbers: bool
    values: dict[str, Any]
    story: str = ""  # why, where that is not obvious

    def of(self, texts: np.ndarray) -> np.ndarray:
        """The values of these texts."""
        return np.array([self.values[text] for text in texts.tolist()])


def read_target(texts: Collection[str], n: int, options: FitOptions) -> TargetValues:
    """What the texts of n rows are: the option --task says so, or they do themselves.

    They are numbers if there are more than `_FEW` different ones, or fractions most of
    which differ from row to row; otherwise classes.
    """
    target = str(options.target)
    values = _as_numbers(texts, options)
    known = {value for value in values.values() if value is not None}
    strange = [text for text, value in values.items() if value is None]
    k, whole = len(known), all(value.is_integer() for value in known)
    many = len(values) > MANY_LABELS
    size = f"more than {MANY_LABELS}" if many else str(k)
    kind = f"{size} different {'whole ' if whole else ''}numbers"
    if options.numbers or (options.task is None and _is_measured(known, strange, n)):
        if strange and looks_like_number(strange[0]):
            raise UserError(
                f"the target column {quoted(target)} holds {quoted(strange[0])}, whose "
                "comma may be a decimal comma or separate thousands; give --read "
                "decimal=, or decimal=."
            )
        if not known:
            raise UserError(
                f"the target column {quoted(target)} holds text, {listed(strange, 3)}, "
                "and no number to predict; leave out --task regress."
            )
        if strange:
            raise UserError(
                f"the target column {quoted(target)} holds {kind} beside "
                f"{listed(strange, 3)}; add --read na={strange[0]} if that means a "
                "missing value, or remove such rows from the file. --task classify "
                "reads all of them as classes."
            )
        if k < 2:
            raise UserError(
                f"the target column {quoted(target)} holds a single number, "
                f"{listed(values)}; there is nothing to predict."
            )
        if options.numbers:
            return TargetValues(True, values, "--task says so")
        if whole and not many and k == n == max(known) - min(known) + 1:
            raise UserError(
                f"the target column {quoted(target)} only numbers the rows; name "
                "another --target, or add --task regress to predict it."
            )
        unsure = "; if they are classes: --task classify" if whole else ""
        return TargetValues(True, values, f"{target} holds {kind}{unsure}")
    story = ""
    if options.task is None and not strange and (k > 2 or not whole):
        story = f"{target} holds only {kind}; to predict the number: --task regress"
    return TargetValues(False, label_values(texts, n, target), story)


def _as_numbers(texts: Collection[str], options: FitOptions) -> dict[str, float | None]:
    """The numbers that labels are; None of those that are none, or that may be two.

    1,234 is one with a decimal comma where the options say so, or other labels do.
    """
    found = {text: number_of(text) for text in sorted(texts)}
    sure = any("," in text for text, value in found.items() if value is not None)
    if options.read.decimal == "," or (sure and None in found.values()):
        points = {text: text.replace(",", ".", 1) for text in found if "." not in text}
        commas = {text: number_of(point) for text, point in points.items()}
        if options.read.decimal == "," or None not in commas.values():
            return {text: commas.get(text) for text in found}
    return found


def _is_measured(known: Collection[float], strange: Collection[str], n: int) -> bool:
    """Whether so many different numbers, beside some texts, are no classes."""
    words = [text for text in strange if not looks_like_number(text)]
    k = len(known) + len(strange) - len(words)
    if len(words) >= k:
        return False
    fractions = not all(value.is_integer() for value in known)
    return k > _FEW or (fractions and not strange and 2 * k > n and k > 2)


def label_values(texts: Collection[str], n: int, target: str) -> dict[str, Any]:
    """The value that each of the labels of n rows stands for; they must be classes.

    A file may write the same class as 1, +1 or 1.0, as True or true. Labels are whole
    numbers where all of them are, truth values where all of them are, text otherwise.
    """
    distinct = sorted(texts)
    for read in (_truth, _whole, str):
        values = {text: read(text) for text in distinct}
        if None not in values.values():
            break
    if len(set(values.values())) < 2:
        raise UserError(
            f"the target column {quoted(target)} holds a single class, "
            f"{listed(distinct)}; a classifier needs at least two."
        )
    if _names_rows(len(distinct), n) or len(distinct) > MANY_LABELS:
        raise UserError(
            f"the target column {quoted(target)} holds {len(distinct)} different "
            f"values in {n} rows ({listed(distinct, 3)}); it must hold a class or a "
            "number, not an identifier."
        )
    return values


def _names_rows(distinct: int, n: int) -> bool:
    """Whether a column of n rows with so many different values names the rows."""
    return distinct > _FEW and 2 * distinct > n


def recognised(texts: Iterable[str | None], classes: Iterable) -> list:
    """The class of a model that each label names; None where there is no label.

    A label that names no class is given back as the text it is, which equals none.
    """
    by_text = {str(label): label for label in classes}
    by_value: dict = {}
    for text, label in by_text.items():
        # Two classes of one value, such as 1.1 and 1.10, are told apart by text alone.
        value = _value(text)
        by_value[value] = label if value not in by_value else None

    def found(text: str):
        if text in by_text:
            return by_text[text]
        label = by_value.get(_value(text))
        return f"{text}" if label is None else label

    return [None if text is None else found(text) for text in texts]


def _value(text: str) -> object:
    """What a label is compared by; Python holds 1, 1.0 and True to be equal."""
    for read in (_truth, _whole):
        value = read(text)
        if value is not None:
            return value
    try:
        return float(text) if text.isascii() and "_" not in text else text
    except ValueError:
        return text


def _whole(text: str) -> int | None:
    return int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else None


def _truth(text: str) -> bool | None:
    return _TRUTH.get(text.lower())


class PreparedNumbers(TransformerMixin, BaseEstimator):
    """Fills in medians and scales to variance 1, but for the last features.

    Those are 0 or 1 for a category, and stay what they are. Nothing is subtracted
    unless asked for, so that a CSR matrix stays one. A free intercept makes up for it:
    the model is the same with b less by ⟨w, mean⟩. A kernel is the same in any case,
    but the rounding of distances is less about the mean.

    Parameters
    ----------
    n_indicators : int, default=0
        The last features, one for each category.
    fill : bool, default=False
        Whether missing numbers become the median of their column.
    scale : bool, default=False
        Whether numbers are divided by their standard deviation, once gaps are filled.
    centre : bool, default=False
        Whether the mean is subtracted from numbers, of dense rows.

    Attributes
    ----------
    medians_, scales_ : arrays of shape (n_features − n_indicators,)
        0 and 1 where nothing is filled in, or scaled because it does not vary; a column
        without values becomes 0, and has no weight.
    means_ : array of shape (n_features − n_indicators,)
        What is subtracted, if anything is.
    """

    def __init__(self, n_indicators=0, fill=False, scale=False, centre=False):
        self.n_indicators = n_indicators
        self.fill = fill
        self.scale = scale
        self.centre = centre

    def fit(self, X, y=None):
        """Learn medians and scales from rows."""
        X = self._checked(X, reset=True)
        k = X.shape[1] - self.n_indicators
        self.medians_, numbers = np.zeros(k), X[:, :k]
        if self.fill or not k:
            numbers = numbers.toarray() if sp.issparse(X) else numbers
            there = ~np.isnan(numbers).all(axis=0)
            self.medians_[there] = np.nanmedian(numbers[:, there], axis=0)
            numbers = np.where(np.isnan(numbers), self.medians_, numbers)
        mean, variance, low, high = moments(numbers)
        varies = self.scale & (high > low) & (variance > 0)
        self.scales_ = np.where(varies, np.sqrt(variance), 1.0)
        if self.centre:
            self.means_ = mean
        return self

    def transform(self, X):
        """Return the rows prepared, dense or CSR as they are."""
        rows = self._checked(X, copy=True)
        factors = np.append(self.scales_, np.ones(self.n_indicators))
        if sp.issparse(rows):
            if self.fill:
                gaps = np.isnan(rows.data)
                rows.data[gaps] = self.medians_[rows.indices[gaps]]
            rows.data /= factors[rows.indices]
            return rows
        numbers = rows[:, : len(self.scales_)]  # changed in place
        if self.fill:
            numbers[:] = np.where(np.isnan(numbers), self.medians_, numbers)
        if self.centre:
            numbers -= self.means_
        rows /= factors
        return rows

    def _checked(self, X, reset: bool = False, copy: bool = False):
        given = {"accept_sparse": "csr", "dtype": np.float64, "copy": copy}
        return validate_data(
            self, X, reset=reset, ensure_all_finite="allow-nan", **given
        )

    @property
    def linear_map_(self) -> sp.csr_array:
        """What a move of the rows becomes; read by robust pipelines."""
        factors = np.append(1 / self.scales_, np.ones(self.n_indicators))
        return sp.diags_array(factors, format="csr")
