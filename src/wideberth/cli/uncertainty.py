"""How far rows may be off: a number, a column, scales, replicates, or error bars.

`--errors` says where the errors of values are in training, and the model keeps it: the
tables that it is applied to later are read alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from wideberth.cli.errors import FileError, UserError, blamed_on_data, located
from wideberth.cli.options import FitOptions, is_rule
from wideberth.cli.prepare import (
    MANY_LABELS,
    Columns,
    PreparedRows,
    moments,
    read_target,
    row_counts,
    training_rows,
)
from wideberth.cli.result import Choice
from wideberth.cli.tables import Opened
from wideberth.data import Format, Request, open_table
from wideberth.data.delimited import looks_like_number, number_of
from wideberth.data.errors import agree, counted, listed, quoted
from wideberth.data.sources import TableSource, error_names, named_errors
from wideberth.data.table import Table
from wideberth.errors import columns as error_columns
from wideberth.errors import fill
from wideberth.measurement.radius import noise_from_replicates, radius_from_std
from wideberth.noise import ErrorBars, Posteriors
from wideberth.noise.reading import SHAPES, read_errors
from wideberth.noise.shapes import Box, CrossPolytope, Shape
from wideberth.problem.validation import radius_or_default


@dataclass(frozen=True)
class ErrorColumns:
    """Where tables keep the errors of their features.

    `columns` has one column for each feature with errors, or those of lower and upper
    errors. Values without an error are dealt with by the rule `missing`, which may need
    the `medians` of the errors trained with.
    """

    columns: dict[str, list[str]]
    shape: str = "ellipsoid"
    missing: str | None = None
    medians: dict[str, float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read beside the features."""
        own = self.columns.values()
        return tuple(dict.fromkeys(name for columns in own for name in columns))

    @property
    def lopsided(self) -> bool:
        """Whether some values have a lower and an upper error."""
        return any(len(own) == 2 for own in self.columns.values())

    @classmethod
    def read(
        cls, described: dict, columns: Columns, averaged: bool = False
    ) -> ErrorColumns:
        """What a model file has of them; a ValueError where it is something else.

        Lower and upper errors may differ in boxes, and where they are `averaged`.
        """
        described.pop("file", None)  # of a table of their own, in early files
        found = cls(**described)
        own = found.columns
        sound = (
            own.keys() <= set(columns.numeric)
            and all(len(names) in (1, 2) for names in own.values())
            and all(isinstance(name, str) for names in own.values() for name in names)
            and found.shape in SHAPES
            and (found.shape == "box" or averaged or not found.lopsided)
            and (found.missing is None or is_rule(found.missing))
            and found.medians.keys() <= own.keys()
            and all(0 <= float(size) < np.inf for size in found.medians.values())
        )
        if not sound:
            raise ValueError("not described as fit describes errors")
        return found

    def cells(self, table: Table, columns: Columns) -> tuple[np.ndarray, ...]:
        """Lower and upper errors of all features, NaN where a value has none.

        They are the same array unless they differ. Missing values have the error 0:
        they stay what is filled in.
        """
        if sp.issparse(table.X):
            raise UserError("sparse data has no error columns; leave out --errors.")
        down = columns.fill_limits(table, self.shape)
        limited = down > 0
        up = down.copy() if self.lopsided else down
        for j, feature in enumerate(columns.numeric):
            there = ~np.isnan(table.X[:, j])
            own = self.columns.get(feature, [])
            for side, name in zip((down, up), own, strict=False):
                errors = self.magnitudes(table.numbers[name], name != own[-1])
                known = there & ~limited[:, j]
                side[known, j] = errors[known]
            if len(own) == 1:
                up[:, j] = down[:, j]
        return down, up

    def magnitudes(self, errors: np.ndarray, lower: bool) -> np.ndarray:
        """Errors in a column; NaN where they are not positive.

        Lower ones may all be written with a minus sign.
        """
        if lower and not np.any(errors > 0):
            errors = -errors
        return np.where(errors > 0, errors, np.nan)

    def filled(self, cells: tuple, X: np.ndarray, columns: Columns) -> tuple:
        """The errors, those that are missing by the rule."""
        if self.missing in (None, "drop"):
            return cells
        known = np.nan_to_num(X)
        if self.missing == "median":
            usual = [self.medians.get(name, 0.0) for name in columns.features]
            return tuple(np.where(np.isnan(side), usual, side) for side in cells)
        share = self.missing.removeprefix("share:")
        rule = "exact" if share == "exact" else float(share)
        return tuple(fill(side, rule, known) for side in cells)

    def sets(self, cells: tuple, X: np.ndarray) -> ErrorBars:
        """The sets of the rows X."""
        given = cells[0] if np.array_equal(*cells) else cells
        return read_errors(given, self.shape, X.shape)

    def standard(self, cells: tuple) -> np.ndarray:
        """One standard error for every value: the mean of lower and upper ones."""
        return 0.5 * (cells[0] + cells[1])


def find_error_columns(
    options: FitOptions, names: Sequence[str]
) -> tuple[ErrorColumns, tuple[str, ...], tuple[str, ...]]:
    """Where the options say that the errors of a table with these columns are.

    Also the columns that hold errors of what is no feature, and those of the target
    where true values are learned.
    """
    given = options.errors
    assert given is not None
    pattern = given.where
    made = ErrorColumns({}, given.shape, missing=given.absent)
    aside = {options.target, options.radius_column, *options.drop, *options.one_hot}
    _refuse_repeated(pattern, names)
    pairs = columns_by_name(pattern, names)
    pairs = {k: own for k, own in pairs.items() if aside.isdisjoint(own)}
    found = {k: own for k, own in pairs.items() if k not in aside}
    of_target = tuple(pairs.get(str(options.target), ()) if options.measured else ())
    unused = {name for k in pairs.keys() - found.keys() for name in pairs[k]}
    unused -= {*of_target}
    if not found:
        raise UserError(
            f"--errors {pattern} matches no column of {options.data}; its columns are "
            f"{listed(names, 12)}. Give suffix:_err, prefix:e_ or infix:_err."
        )
    made = replace(made, columns=found)
    if made.lopsided and given.shape != "box" and not options.measured:
        pair = next(own for own in found.values() if len(own) == 2)
        raise UserError(
            f"{quoted(pair[0])} and {quoted(pair[1])} are lower and upper errors of "
            f"one value, and only boxes can have both; write --errors {pattern} box."
        )
    return made, tuple(unused), of_target


def _refuse_repeated(pattern: str, names: Sequence[str]) -> None:
    """Refuse errors of a name that several columns have, which were numbered."""
    first = [name.removesuffix(".1") for name in names if name.endswith(".1")]
    repeated = [name for name in first if name not in names]
    found = columns_by_name(pattern, [*names, *repeated]) if repeated else {}
    for name in [name for name in repeated if name in found]:
        raise UserError(
            f"{listed(found[name])} may be the error of any column called "
            f"{quoted(name)}; give these columns different names."
        )


def errors_to_apply(
    trained: ErrorColumns | None, options, names: Sequence[str], judged: bool
) -> ErrorColumns | None:
    """Where a table that a model is applied to has its errors; None if it needs none.

    Where rows are `judged` it needs them, if it was trained with errors at all.
    """
    if trained is None:
        if options.errors is None:
            return None
        raise UserError(
            f"{options.model} was trained without error bars; leave out --errors, or "
            "train with them."
        )
    if not judged:
        return None
    if options.errors is None:
        return trained
    own = list(trained.columns)
    found = columns_by_name(options.errors, names)
    if absent := [name for name in own if name not in found]:
        raise UserError(
            f"--errors {options.errors} finds no errors of {listed(absent)} in "
            f"{options.data}; the model was trained with them, so add them."
        )
    return replace(trained, columns={name: found[name] for name in own})


def tell_pairs(found: dict[str, list[str]]) -> str:
    """Say that such columns are used as features; empty if there are none."""
    if not found:
        return ""
    value, errors = next(iter(found.items()))
    others, n = len(found) - 1, len(errors)
    more = f" (and {others} more such {agree(others, 'pair', 'pairs')})"
    looks = agree(n, "looks like the error", "look like the errors")
    used = agree(n, "is used as a feature", "are used as features")
    return (
        f"{listed(errors)} {looks} of {listed([value])}{more if others else ''}, and "
        f"{used}. --errors auto reads such columns as errors; --drop leaves them out."
    )


def columns_by_name(pattern: str, names: Sequence[str]) -> dict[str, list[str]]:
    """One column of errors, or two, for every column that has any by this pattern."""
    try:
        found = error_columns(names, pattern)
    except ValueError:
        raise UserError(
            f"--errors {pattern} names no columns. Errors must be in columns of the "
            "same table: give auto, suffix:_err, prefix:e_, infix:_err, or two marks "
            "for lower and upper errors (suffix:_error_min,_error_max)."
        ) from None
    return {k: [v] if isinstance(v, str) else list(v) for k, v in found.items()}


def tell_columns(errors: ErrorColumns, exact: Sequence[str]) -> tuple[str, str]:
    """Where errors are, and which features have none, in words for a sentence."""
    names = errors.names
    where = (
        f"the {agree(len(names), 'column', 'columns')} {listed(names, 6)}"
        if names
        else "limits of detection"
    )
    count = agree(len(exact), "has no errors and counts", "have no errors and count")
    return where, f"; {listed(exact)} {count} as exact" if exact else ""


def _refuse_bad_errors(errors: ErrorColumns, table: Table, rows: PreparedRows) -> None:
    """List values whose errors are absent or no errors, with counts, by column.

    Limits of detection need none: their intervals say it.
    """
    told = []
    for feature, own in errors.columns.items():
        j = rows.columns.numeric.index(feature)
        known = np.zeros(table.n, dtype=bool)
        known[rows.kept] = ~np.isnan(rows.X[:, j])
        if feature in table.bounds:
            known &= np.isnan(table.bounds[feature][0])
        for name in own:
            column = table.numbers[name]
            signed = name != own[-1] and not np.any(column > 0)
            kinds = {
                "absent": np.isnan(column),
                "negative": (column > 0 if signed else column < 0),
                "zero": column == 0,
            }
            bad = {kind: known & cells for kind, cells in kinds.items()}
            counts = [f"{c.sum()} {kind}" for kind, c in bad.items() if c.any()]
            if counts:
                where = np.flatnonzero(np.logical_or.reduce([*bad.values()]))
                first = ", ".join(table.where(int(row)) for row in where[:3])
                more = ", …" if where.size > 3 else ""
                told.append(f"{quoted(name)}: {' and '.join(counts)} ({first}{more})")
    if told:
        shown = "; ".join(told[:6]) + ("; …" if len(told) > 6 else "")
        raise UserError(
            f"some values have no usable error: {shown}. Choose one rule for all of "
            "them and add it to --errors: absent=exact, absent=median, "
            "absent=share:0.05, or absent=drop to leave such rows out."
        )


def training_cells(
    errors: ErrorColumns, table: Table, rows: PreparedRows, options: FitOptions
) -> tuple[PreparedRows, ErrorColumns, tuple[np.ndarray, ...], dict]:
    """The rows to train on with lower and upper errors, those missing by the rule.

    Also the errors with what they keep of the training rows, and facts for the report:
    half of the errors of each feature are below its `error`, and features without
    errors are `exact`.
    """
    columns = rows.columns
    own = {n: errors.columns[n] for n in columns.numeric if n in errors.columns}
    errors = replace(errors, columns=own)
    if errors.missing is None:
        _refuse_bad_errors(errors, table, rows)
    cells = tuple(side[rows.kept] for side in errors.cells(table, columns))
    middle, usual = errors.standard(cells), {}
    if errors.missing == "drop":
        lacking = np.isnan(middle).any(axis=1)
        cells = tuple(side[~lacking] for side in cells)
        middle, rows = middle[~lacking], rows.without(lacking)
        if lacking.all():
            raise UserError(
                "no row has usable errors in all columns; choose another absent= for "
                "--errors, or correct them."
            )
    for j, name in enumerate(columns.features):
        there = ~np.isnan(middle[:, j]) & ~np.isnan(rows.X[:, j])
        if there.any():
            usual[name] = float(np.median(middle[there, j]))
        elif errors.missing == "median":
            raise UserError(
                f"no value in column {quoted(name)} has an error, so there is no "
                "median of them; choose another absent= for --errors, or --drop "
                f"{listed(own[name])}: its values then count as exact."
            )
    errors = replace(
        errors, medians={name: usual[name] for name in own if name in usual}
    )
    absent = np.isnan(middle)
    cells = errors.filled(cells, rows.X, columns)
    X, cells = columns.take_logs(rows.X, cells, errors.shape == "box")
    if not np.isfinite(cells).all():
        raise UserError(
            "an error in a column of --log is as large as its value or larger, so the "
            "logarithm has no lower limit; leave that column out of --log."
        )
    final = np.where(np.isnan(X), np.nan, errors.standard(cells))
    facts = {
        "errors": dict(
            zip(columns.features, np.nanmedian(final, axis=0).tolist(), strict=True)
        ),
        "exact": [
            n for n in columns.numeric if n not in own and n not in columns.limits
        ],
        "errors_filled_in": int(absent.sum()),
    }
    return replace(rows, X=X), errors, cells, facts


#: What noise with a scale for each feature is, by its shape.
_SCALED: dict[str, Any] = {"l2": np.asarray, "linf": Box, "l1": CrossPolytope}
#: What is said of it.
_TOGETHER = {
    "l2": "",
    "linf": ", each feature up to the radius",
    "l1": ", summed over the features",
}
#: What a radius means, by the shape of the noise.
_ABOUT = {
    "l2": "the Euclidean distance in the units of the data",
    "linf": "the largest error of a feature, in the units of the data",
    "l1": "the sum of the absolute errors, in the units of the data",
}
#: How surely a radius covers the noise, where one is asked for that does.
_CONFIDENCE = 0.95


@dataclass
class Uncertainty:
    """Radii in units of `noise`: one for all rows or one each; how they were found.

    The radius is None where rows that are read in pieces bring their own.
    """

    radius: Any
    noise: str | np.ndarray | Shape
    story: str
    facts: dict = field(default_factory=dict)
    unit_radius: bool = False  # 1, for factors to be radii
    factors: tuple[float, ...] = (1.0,)  # on the radius, to choose from
    errors: ErrorColumns | None = None  # where errors of the values are from

    @property
    def per_row(self) -> bool:
        """Whether rows have radii of their own."""
        return self.radius is None or np.ndim(self.radius) > 0

    @property
    def median(self) -> float | None:
        """The radius that half of the rows stay below; unknown of rows in pieces."""
        return None if self.radius is None else float(np.median(self.radius))

    @property
    def factor_name(self) -> str:
        """What is said of a factor on the radii."""
        return "radius" if self.unit_radius else "radius ×"

    def chosen(self, choice: Choice | None) -> Uncertainty:
        """The radii that cross-validation chose, and how."""
        if choice is None:
            return self
        factor, story, how = choice.factor, self.story, ""
        if len(choice.factors) > 1:
            tried = ", ".join(f"{factor:g}" for factor in choice.factors)
            how = f"chosen from {tried} by cross-validation"
        if self.unit_radius:
            story = f"{factor:g} for every row, {f'{how}, ' if how else ''}{story}"
        elif how:
            story = f"{factor:g} times ({how}) this radius: {story}"
        return replace(self, radius=factor * self.radius, story=story)


def of_columns(options: FitOptions, columns: Columns, X=None) -> Uncertainty:
    """The noise shape, and the radius of all rows unless a column holds theirs.

    The rows X are asked for where a radius counts standard deviations.
    """
    noise, about = _shape(options, columns, X)
    scales, values = options.noise.scales, options.radius.values
    default = radius_or_default(None, options.noise.shape if scales is None else noise)
    radius, unit, factors = one_radius(options, default)
    story = f"{radius:g} for every row, {about}"
    if unit:
        story = about
    elif options.radius_column is not None:
        story = f"each row has its own, in the column {options.radius_column}, {about}"
    elif not (values or radius):
        story = "none was given: the ordinary linear SVM, which trusts every value"
    sure, given = options.confidence, values or options.radius_column
    covering = scales is not None and sure is not None and not given
    if covering and isinstance(noise, np.ndarray):
        radius = float(radius_from_std(1.0, len(noise), confidence=sure, noise=noise))
        story = f"{radius:.4g} for every row ({_promise(options)}), {about}"
    return Uncertainty(radius, noise, story, {}, unit, factors)


def one_radius(
    options: FitOptions, default: float
) -> tuple[float, bool, tuple[float, ...]]:
    """The radius of all rows, whether it is the unit of others, and the factors on it.

    Radii to choose from are factors on 1. Where rows have radii of their own, those
    that are given are factors on them.
    """
    values = options.radius.values
    if options.radius_column is not None or options.replicates is not None:
        return 1.0, False, values or (1.0,)
    if len(values) > 1 or options.score_radius is not None:
        return 1.0, True, values or (default,)
    return (values or (default,))[0], False, (1.0,)


def in_errors(options: FitOptions, errors: ErrorColumns, facts: dict) -> Uncertainty:
    """Radii that count errors of the values; features without any are `exact`."""
    one = "tolerance" if errors.shape == "box" else "standard error"
    where, exact = tell_columns(errors, facts["exact"])
    default = radius_or_default(None, "l2", errors)
    radius, unit, factors = one_radius(options, default)
    times = "in units of" if unit else f"{radius:g} times"
    if options.radius_column is not None:
        times = f"the column {options.radius_column} times"
    story = f"{times} the {one} of each value, in {where}{exact}"
    facts = facts | {"unit": f"in {one}s", "shape": errors.shape}
    return Uncertainty(radius, "l2", story, facts, unit, factors, errors=errors)


def row_radii(table: Table, column: str) -> np.ndarray:
    """The radius of each row, in a column; NaN where it is missing."""
    radii = table.numbers[column]
    negative = np.flatnonzero(radii < 0)
    if negative.size:
        k = int(negative[0])
        raise UserError(
            f"{table.where(k)}, column {quoted(column)} is {radii[k]:g}; a radius must "
            "not be negative."
        )
    return radii


def _promise(options: FitOptions) -> str:
    share = f"{100 * (options.confidence or _CONFIDENCE):g} % of cases"
    return f"it covers the change of a row's score in {share}"


def _shape(
    options: FitOptions, columns: Columns, X
) -> tuple[str | np.ndarray | Shape, str]:
    """The noise shape, and what a radius means in words."""
    about, together = _ABOUT[options.noise.shape], _TOGETHER[options.noise.shape]
    if options.noise.scales is not None:
        scales = _read_scales(options.noise.scales, columns)
        called = "tolerances" if options.noise.shape == "linf" else "noise scales"
        about = f"in units of the {called} in {options.noise.scales}{together}"
    elif options.radius.std:
        scales = np.sqrt(moments(X)[1])
        scales[len(columns.numeric) :] = 0
        about = f"in standard deviations of each feature{together}"
    elif columns.n_indicators:  # categories are exact
        scales = np.repeat([1.0, 0.0], [len(columns.numeric), columns.n_indicators])
    else:
        return options.noise.shape, about
    return _SCALED[options.noise.shape](scales), about


def _read_scales(path: str, columns: Columns) -> np.ndarray:
    """Noise scales by feature name, or one per line in the order of the columns.

    Categories are exact unless the file says otherwise.
    """
    request = Request(texts=("1", "2"), features=(), optional=frozenset("2"))
    table, source = open_table(path, request, Format("csv", header=False))
    named, column = "2" in table.texts, table.texts.get("2", table.texts["1"])
    first = int(not looks_like_number(column[0] or ""))  # a header
    cells = ["" if cell is None else cell for cell in column[first:]]
    scales = np.array(list(map(number_of, cells)), dtype=np.float64)
    bad = np.flatnonzero(~(scales >= 0))
    if bad.size:
        row = table.where(int(bad[0]) + first)
        raise FileError(
            f"{source.name}, {row}: {quoted(cells[bad[0]])} is not a noise scale; it "
            "must be a number ≥ 0."
        )
    names = list(map(str, table.texts["1"][first:])) if named else columns.numeric
    if len(scales) != len(names):
        raise FileError(
            f"{source.name} holds {counted(len(scales), 'scale')} for "
            f"{counted(len(names), 'feature')}; give one for each, or a table of name "
            "and scale."
        )
    given = dict(zip(names, scales, strict=True))
    if strange := given.keys() - {*columns.features, *columns.categories}:
        raise FileError(
            f"{source.name} names {listed(n for n in given if n in strange)}, which "
            f"{agree(len(strange), 'is no feature', 'are no features')}; the features "
            f"are {listed(columns.features, 12)}."
        )
    if absent := [name for name in columns.numeric if name not in given]:
        raise FileError(
            f"{source.name} has no scale for {listed(absent)}; write 0 for a feature "
            "without noise."
        )
    return np.array([given.get(name, 0.0) for name in columns.features])


def averaged(
    options: FitOptions, table: Table, rows: PreparedRows
) -> tuple[PreparedRows, Uncertainty]:
    """Means of the replicates, noise scales pooled over them, and radii."""
    column = str(options.replicates)
    ids = table.texts[column][rows.kept]
    found: dict[str, list[int]] = {}
    for k, name in enumerate(ids):
        found.setdefault(name, []).append(k)
    groups = list(found.values())
    for members in groups:
        if not rows.numbers and len(set(rows.y[members].tolist())) > 1:
            raise UserError(
                f"{table.where(int(rows.kept[members[0]]))}: measurements of "
                f"{quoted(ids[members[0]])} in column {quoted(column)} have different "
                "classes; all measurements of a sample must have the same."
            )
    X = rows.X.toarray() if sp.issparse(rows.X) else rows.X
    readings = [X[members] for members in groups]
    repeated = [group for group in readings if len(group) > 1]
    if not repeated:
        raise UserError(
            f"no value occurs twice in column {quoted(column)}; replicates need at "
            "least one sample that was measured twice."
        )
    scales, radius = noise_from_replicates(readings, options.confidence or _CONFIDENCE)
    scales[len(rows.columns.numeric) :] = 0
    if not scales.any():
        raise UserError("all replicates agree exactly; leave out --replicates.")
    facts = {
        "samples": len(groups),
        "samples_measured_once": len(readings) - len(repeated),
        "readings": len(ids),
        "noise_scales": dict(zip(rows.columns.features, scales.tolist(), strict=True)),
    }
    story = (
        f"from {len(ids)} measurements of {len(groups)} samples: how far one further "
        f"measurement may lie from the mean of a sample ({_promise(options)}), in "
        "units of the noise found in each feature"
    )
    first = np.array([members[0] for members in groups])
    means = np.array([group.mean(axis=0) for group in readings])
    y = rows.y[first]
    if rows.numbers:
        y = np.array([rows.y[members].mean() for members in groups])
    weight = rows.weight
    if weight is not None:
        weight = np.array([weight[members].mean() for members in groups])
    samples = replace(rows, X=means, y=y, weight=weight, kept=rows.kept[first])
    factors = one_radius(options, 1.0)[2]
    return samples, Uncertainty(radius, scales, story, facts, factors=factors)


def _target_errors(
    opened: Opened, table: Table, rows: PreparedRows
) -> np.ndarray | None:
    """The standard error of every number to predict; None where there are none.

    Lower and upper ones are averaged. NaN where the rule is to drop such rows.
    """
    options, errors = opened.options, opened.errors
    names, target = opened.target_errors, str(options.target)
    if errors is None or not (rows.numbers and names):
        return None
    sides = [errors.magnitudes(table.numbers[n], n != names[-1]) for n in names]
    found = np.mean(sides, axis=0)[rows.kept]
    bad = np.flatnonzero(np.isnan(found))
    rule = errors.missing
    if bad.size and rule is None:
        raise UserError(
            f"the target has no usable error in {counted(bad.size, 'row')} (first: "
            f"{table.where(int(rows.kept[bad[0]]))}); add a rule to --errors: "
            "absent=exact, absent=median, absent=share:0.05 or absent=drop."
        )
    if rule in ("median", "drop") and bad.size == len(found):
        raise UserError(
            f"no number in column {quoted(target)} has a usable error; correct them, "
            "or add absent=exact or absent=share:0.05 to --errors."
        )
    if rule in (None, "drop"):
        return found
    known = rule in ("exact", "median")
    return fill(found, rule if known else float(rule.removeprefix("share:")), rows.y)


def of_population(
    opened: Opened, table: Table, rows: PreparedRows
) -> tuple[PreparedRows, Uncertainty]:
    """Rows whose true values are to be learned, with the standard errors there are."""
    options, errors = opened.options, opened.errors
    rows = replace(rows, y_err=_target_errors(opened, table, rows))
    if rows.y_err is not None:
        rows = rows.without(np.isnan(rows.y_err))
    if not isinstance(rows.X, np.ndarray):
        raise UserError(
            "--model measured needs a table with all its cells, not sparse data; leave "
            "it out."
        )
    facts: dict = {"errors": None, "exact": [], "errors_filled_in": 0}
    known = "the values alone, which count as exact"
    if errors is not None:
        rows, errors, cells, facts = training_cells(errors, table, rows, options)
        rows = replace(rows, errors=(errors.standard(cells),))
        where, exact = tell_columns(errors, facts["exact"])
        known = f"the values and their standard errors, in {where}{exact}"
    learned = f"the true values, learned from {known}"
    facts |= {"shape": "ellipsoid"}
    if rows.numbers:
        about = "" if rows.y_err is None else "; the target has errors too"
        return rows, Uncertainty(0.0, "l2", f"{learned}{about}", facts, errors=errors)
    radius, unit, factors = one_radius(options, Posteriors.default_radius)
    size = "in units of" if unit else f"{radius:g} times"
    story = f"{size} the posterior standard deviation of {learned}"
    if not (unit or radius):
        story = f"none beyond the uncertainty of {learned}"
    facts |= {"unit": "in posterior standard deviations"}
    return rows, Uncertainty(radius, "l2", story, facts, unit, factors, errors)


# -- rows and how far they may be off ------------------------------------------------


def training_data(opened: Opened) -> tuple[PreparedRows, Uncertainty]:
    """Rows of a table to train on, and how far they may be off."""
    options, errors, table = opened.options, opened.errors, opened.table
    assert table is not None
    with located(opened.reader.name):
        rows = training_rows(table, options)
        if errors is None:
            rows = replace(rows, X=rows.columns.take_logs(rows.X)[0])
        if options.measured:
            rows, given = of_population(opened, table, rows)
        elif errors is not None:
            rows, errors, cells, facts = training_cells(errors, table, rows, options)
            given = in_errors(options, errors, facts)
            rows = replace(rows, errors=(errors.sets(cells, rows.X),))
        elif options.replicates is not None:
            rows, given = averaged(options, table, rows)
        else:
            given = of_columns(options, rows.columns, rows.X)
        if options.radius_column is not None:
            given.radius = row_radii(table, options.radius_column)[rows.kept]
    if (named := options.id or options.replicates) is not None:
        rows = replace(rows, names=table.texts[named][rows.kept])
    opened.table = None  # rows are held once
    return rows, given


def data_in_pieces(opened: Opened, memory: str) -> tuple[PreparedRows, Uncertainty]:
    """The same of a file that is never held whole; only its labels are read here."""
    options, reader, errors = opened.options, opened.reader, opened.errors
    distinct: set[str] = set()
    n = 0
    with blamed_on_data():
        plan = reader.plan(opened.request)
        tables: list[list[str | None]] = []
        if errors is not None:
            own: dict = dict.fromkeys(plan.features)
            own |= {name: (one[0], one[-1]) for name, one in errors.columns.items()}
            tables = named_errors(own, options.data)
            numbers = dict.fromkeys((*plan.numbers, *error_names(tables)))
            plan = replace(plan, numbers=tuple(numbers))
        target = str(options.target)
        beside = {"y": target, "radius": options.radius_column}
        beside["weight"] = options.weight_column
        source = TableSource(reader, plan, beside, memory, errors=tables, texts=True)
        for texts, _ in source.labels():
            n += len(texts)
            if len(distinct) <= MANY_LABELS:
                distinct.update(texts.tolist())
    with located(reader.name):
        found = read_target(distinct, n, options)
    source.values = found.values
    if found.numbers:  # read as such from now on, however many there are
        others = tuple(name for name in plan.texts if name != target)
        plan = replace(plan, texts=others, numbers=(*plan.numbers, target))
        source = TableSource(reader, plan, beside, memory, errors=tables)
        source.names = None
    source.zero_is_exact = errors is None or errors.missing == "exact"
    names = tuple(plan.features[: source.d])
    columns = Columns(names, dates=plan.dates)
    given = of_columns(options, columns)
    if errors is not None:
        exact = [name for name in names if name not in errors.columns]
        facts = {"errors": None, "exact": exact, "errors_filled_in": 0}
        given = in_errors(options, errors, facts)
    given.radius = None if source.brings_radii else given.radius
    rows = PreparedRows(
        X=source,
        columns=columns,
        facts=row_counts(n),
        numbers=found.numbers,
        task_story=found.story,
    )
    return rows, given
