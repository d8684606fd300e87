"""Error bars of tables: which columns hold them, and the sets that they make.

`--errors` says where the errors are in training, and the model keeps it: the tables
that it is applied to later are read alike.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from wideberth.cli.errors import FileError, UserError, located
from wideberth.cli.options import TrainingOptions, is_rule
from wideberth.cli.output import warn
from wideberth.cli.prepare import Columns
from wideberth.data import Format, Request, kind_of, open_table
from wideberth.data.errors import agree, listed, quoted
from wideberth.data.table import Table
from wideberth.errors import columns as error_columns
from wideberth.errors import fill
from wideberth.noise import ErrorBars
from wideberth.noise.reading import SHAPES, read_errors

_REMEDY = (
    "absent=exact, median or share:0.05 behind --errors says what is meant by values "
    "without an error"
)


@dataclass(frozen=True)
class ErrorColumns:
    """Where tables keep the errors of their features.

    `columns` has one column for each feature with errors, or those of lower and upper
    errors. They are in the table itself, or under these names in a table of their own,
    `file`. Values without an error are dealt with by the rule `missing`, which may need
    the `medians` of the errors trained with.
    """

    columns: dict[str, list[str]]
    shape: str = "ellipsoid"
    file: str | None = None
    missing: str | None = None
    medians: dict[str, float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read beside the features."""
        own = () if self.file is not None else self.columns.values()
        return tuple(dict.fromkeys(name for columns in own for name in columns))

    @property
    def lopsided(self) -> bool:
        """Whether lower and upper errors differ, so that predictions depend on them."""
        return any(len(own) == 2 for own in self.columns.values())

    def described(self) -> dict:
        """Plain values, for a model file."""
        return asdict(replace(self, file=None if self.file is None else ""))

    @classmethod
    def read(
        cls, described: dict, columns: Columns, averaged: bool = False
    ) -> ErrorColumns:
        """What `described` wrote; a ValueError where it is something else.

        Lower and upper errors may differ in boxes, and where they are `averaged`.
        """
        found = cls(**described)
        own = found.columns
        sound = (
            own.keys() <= set(columns.numeric)
            and all(len(names) in (1, 2) for names in own.values())
            and all(isinstance(name, str) for names in own.values() for name in names)
            and found.shape in SHAPES
            and (found.shape == "box" or averaged or not found.lopsided)
            and found.file in (None, "")
            and (found.missing is None or is_rule(found.missing))
            and found.medians.keys() <= own.keys()
            and all(0 <= float(size) < np.inf for size in found.medians.values())
        )
        if not sound:
            raise ValueError("not described as fit describes errors")
        return found

    def cells(
        self, table: Table, columns: Columns, form: Format
    ) -> tuple[np.ndarray, ...]:
        """Lower and upper errors of all features, NaN where a value has none.

        They are one and the same array unless they differ. Missing values have the
        error 0: they stay what is filled in.
        """
        if sp.issparse(table.X):
            raise UserError("sparse data has no error columns; leave out --errors.")
        held = self._holder(table, form)
        down = np.zeros((table.n, len(columns.features)))
        up = down.copy() if self.lopsided else down
        for j, feature in enumerate(columns.numeric):
            there = ~np.isnan(table.X[:, j])
            own = self.columns.get(feature, [])
            for side, name in zip((down, up), own, strict=False):
                with located(self.file) if self.file else nullcontext():
                    errors = _magnitudes(held, name, name != own[-1])
                side[there, j] = errors[there]
            if len(own) == 1:
                up[:, j] = down[:, j]
        return down, up

    def _holder(self, table: Table, form: Format) -> Table:
        """The table with the errors."""
        if self.file is None:
            return table
        request = Request(numbers=tuple(self.columns), features=())
        form = form if kind_of(self.file) in ("csv", "tsv") else Format()
        held, source = open_table(self.file, request, replace(form, kind=None))
        if held.n != table.n:
            raise FileError(
                f"{source.name} holds errors of {held.n} rows, and the data has "
                f"{table.n}; it must have one row of errors for each row of the data."
            )
        return held

    def holes(self, cells: tuple) -> np.ndarray:
        """Which rows have a value without an error, once the rule is applied."""
        return np.isnan(cells[0] + cells[1]).any(axis=1)

    def filled(self, cells: tuple, X: np.ndarray, columns: Columns) -> tuple:
        """The errors, those that are missing by the rule."""
        if self.missing is None:
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
        given = cells if self.lopsided else cells[0]
        return read_errors(given, self.shape, X.shape)

    def standard(self, cells: tuple) -> np.ndarray:
        """One standard error for every value: the mean of lower and upper ones."""
        return 0.5 * (cells[0] + cells[1])


def find_error_columns(
    options: TrainingOptions, names: Sequence[str]
) -> tuple[ErrorColumns, tuple[str, ...]]:
    """Where the options say that the errors of a table with these columns are.

    Also the columns that hold errors of what is no feature.
    """
    given = options.errors
    assert given is not None
    pattern = given.where
    made = ErrorColumns({}, given.shape, missing=given.absent)
    aside = {options.target, options.radius_column, *options.drop, *options.one_hot}
    if is_file(pattern):
        own = {name: [name] for name in names if name not in aside}
        return replace(made, columns=own, file=pattern), ()
    pairs = columns_by_name(pattern, names)
    pairs = {k: own for k, own in pairs.items() if aside.isdisjoint(own)}
    found = {k: own for k, own in pairs.items() if k not in aside}
    unused = tuple(name for k in pairs.keys() - found.keys() for name in pairs[k])
    if not found:
        raise UserError(
            f"--errors {pattern} fits no column of {options.data}; its columns are "
            f"{listed(names, 12)}. Give suffix:_err, prefix:e_, infix:_err, or the "
            "name of a file with a table of errors."
        )
    made = replace(made, columns=found)
    if made.lopsided and given.shape != "box" and not options.measured:
        pair = next(own for own in found.values() if len(own) == 2)
        raise UserError(
            f"{quoted(pair[0])} and {quoted(pair[1])} are lower and upper errors, "
            "which an ellipsoid has no place for; write --errors "
            f"{pattern} box."
        )
    return made, unused


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
        if trained.file is None:
            return trained
        raise UserError(
            f"{options.model} was trained with errors from a file of their own; name "
            f"the file with those of {options.data} with --errors."
        )
    own = list(trained.columns)
    if is_file(options.errors):
        alike = {name: [name] for name in own}
        return replace(trained, columns=alike, file=options.errors)
    found = columns_by_name(options.errors, names)
    if absent := [name for name in own if name not in found]:
        raise UserError(
            f"--errors {options.errors} finds no errors of {listed(absent)} in "
            f"{options.data}, which the model was trained with."
        )
    return replace(trained, columns={name: found[name] for name in own}, file=None)


def undeclared(names) -> dict[str, list[str]]:
    """Columns that look like errors of others, for who did not say so."""
    return columns_by_name("auto", list(names))


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
            f"--errors {pattern} is no file, and says nothing about columns; give "
            "auto, suffix:_err, prefix:e_, infix:_err, two marks of lower and upper "
            "errors (suffix:_error_min,_error_max), or a file with a table of errors."
        ) from None
    return {k: [v] if isinstance(v, str) else list(v) for k, v in found.items()}


def is_file(pattern: str) -> bool:
    """Whether --errors names a file, not a pattern."""
    named = pattern.partition(":")[0] in ("suffix", "prefix", "infix")
    return not named and pattern != "auto" and os.path.exists(pattern)


def tell_columns(errors: ErrorColumns, exact: Sequence[str]) -> tuple[str, str]:
    """Where errors are, and which features have none, in words for a sentence."""
    names = errors.names
    where = errors.file or (
        f"the {agree(len(names), 'column', 'columns')} {listed(names, 6)}"
    )
    which = agree(len(exact), "is {}, which has none", "are {}, which have none")
    return where, f"; exact {which.format(listed(exact))}" if exact else ""


def _magnitudes(table: Table, name: str, lower: bool) -> np.ndarray:
    """Errors in a column; lower ones may all be written with a minus sign."""
    errors = table.numbers[name]
    if lower and not np.any(errors > 0):
        errors = -errors
    bad = np.flatnonzero(errors < 0)
    if bad.size:
        row = int(bad[0])
        raise UserError(
            f"{table.where(row)}, column {quoted(name)} is {errors[row]:g}; an error "
            "must not be negative. If it means that there is none, give --read na= "
            f"this number as the file writes it, and {_REMEDY}."
        )
    return errors


def training_cells(
    errors: ErrorColumns, table: Table, rows, options: TrainingOptions
) -> tuple[ErrorColumns, tuple[np.ndarray, ...], dict]:
    """Lower and upper errors of the rows to train on, those missing by the rule.

    Also the errors with what they keep of the training rows, and facts for the report:
    half of the errors of each feature are below its `error`, and features without
    errors are `exact`.
    """
    columns = rows.columns
    own = {n: errors.columns[n] for n in columns.numeric if n in errors.columns}
    errors = replace(errors, columns=own)
    form = options.reading.as_format()
    cells = tuple(side[rows.kept] for side in errors.cells(table, columns, form))
    middle, usual = 0.5 * (cells[0] + cells[1]), {}
    for j, name in enumerate(columns.features):
        there = ~np.isnan(middle[:, j]) & ~np.isnan(rows.X[:, j])
        if there.any():
            usual[name] = float(np.median(middle[there, j]))
        elif errors.missing == "median":
            raise UserError(
                f"no value in column {quoted(name)} has an error, so there is no "
                "median of them; choose another absent= behind --errors, or --drop "
                f"{listed(own[name])}: its values then count as exact."
            )
    errors = replace(
        errors, medians={name: usual[name] for name in own if name in usual}
    )
    absent = np.isnan(middle)
    cells = errors.filled(cells, rows.X, columns)
    if errors.missing is None and absent.any():
        row, j = map(int, np.argwhere(absent)[0])
        pair = own[columns.features[j]]
        raise UserError(
            f"{table.where(int(rows.kept[row]))}, column {quoted(columns.features[j])} "
            f"has a value ({rows.X[row, j]:g}) but no error "
            f"({listed(pair)} {agree(len(pair), 'is', 'are')} empty); {_REMEDY}."
        )
    final = np.where(np.isnan(rows.X), np.nan, 0.5 * (cells[0] + cells[1]))
    facts = {
        "errors": dict(
            zip(columns.features, np.nanmedian(final, axis=0).tolist(), strict=True)
        ),
        "exact": [name for name in columns.numeric if name not in own],
        "errors_filled_in": int(absent.sum()),
    }
    return errors, cells, facts


def warn_undeclared(options: TrainingOptions, names) -> None:
    """Remark on columns that look like errors where none are declared."""
    if options.errors is None and (text := tell_pairs(undeclared(names))):
        warn(text)
