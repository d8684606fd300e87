"""Options that commands share: how tables are read, and what is trained on them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from wideberth.cli.errors import UserError
from wideberth.cli.options import (
    Character,
    Column,
    File,
    Level,
    Natural,
    Positive,
    Price,
    Probability,
    Radius,
    Rule,
    Text,
    UsageError,
)
from wideberth.data import FORMATS, kind_of
from wideberth.data.errors import meant
from wideberth.data.files import LABEL

if TYPE_CHECKING:
    from wideberth.data import Format
    from wideberth.data.table import Reader

#: Targets of formats that have a usual place for one.
_TARGETS = {"libsvm": LABEL, "npz": "y"}


#: Margin below which a row counts no further, where labels may be wrong.
_USUAL_RAMP = -1.0
#: What is written, by the usual ending of its name.
_KINDS = {".csv": "a CSV", ".html": "an HTML page", ".wideberth": "a model file"}
#: What --one-hot calls all columns that hold text.
AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """How a table is read, and how results are given.

    Reading the data
    ----------------
    format: what kind of file DATA is
    delimiter: between cells; tab is '\\t'
    decimal: decimal sign, . or ,
    encoding: such as latin-1
    no_header: the first line is data; columns are called 1, 2, 3, …
    na: one more text that means a missing value; may be repeated

    Results
    -------
    force: overwrite files that are there already
    json: print the result as JSON, for programs
    debug: show the traceback of an error
    """

    format: Annotated[str, ("choices", FORMATS)] | None = None
    delimiter: Character | None = None
    decimal: Annotated[Literal[".", ","], ("metavar", "SIGN")] | None = None
    encoding: Annotated[str, ("metavar", "NAME")] | None = None
    no_header: bool = False
    na: tuple[Text, ...] = ()
    force: bool = False
    json: bool = False
    debug: bool = False

    #: Endings that the names of results may have, by the option that names them.
    _endings: ClassVar[dict[str, tuple[str, ...]]] = {"out": (".csv", ".txt")}

    def __post_init__(self) -> None:
        for sentence in (*self._wrong_endings(), *self._mistakes()):
            raise UsageError(sentence)

    def _wrong_endings(self) -> Iterator[str]:
        """Names of results that promise another kind of file than is written."""
        for option, allowed in self._endings.items():
            path = getattr(self, option, None)
            ending = os.path.splitext(path or "")[1]
            if ending and ending.lower() not in allowed:
                yield (
                    f"--{option} {path}: {_KINDS[allowed[0]]} is written, and its name "
                    f"must end in {' or '.join(allowed)}, or have no ending; not in "
                    f"{ending}."
                )

    def _mistakes(self) -> Iterator[str]:
        """What is wrong with these options together."""
        yield from ()

    def _given(self, names: Iterable[str]) -> Iterator[str]:
        """Those of some options that are not as by default, as people write them."""
        for name in names:
            if getattr(self, name) != self.__dataclass_fields__[name].default:
                yield f"--{name.replace('_', '-')}"

    def _inputs(self) -> Iterator[str]:
        """Files that are read."""
        yield from ()

    def outputs(self) -> list[str | None]:
        """Files that are written, where they are asked for."""
        return []

    def check_inputs(self) -> None:
        """Refuse files that are not there, before anything is loaded to read them."""
        for path in self._inputs():
            if path == "-" or os.path.exists(path):
                continue
            folder, name = os.path.split(path)
            beside = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
            like = meant([name], beside)
            raise UserError(f"{path}: there is no such file{like or '.'}")

    def reading(self) -> Format:
        """How the file is to be read."""
        from wideberth.data import Format

        known = (self.format, self.delimiter, self.decimal, self.encoding)
        return Format(*known, not self.no_header, frozenset(self.na))


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(TableOptions):
    """The rows, how far they may be off, and what is done to them.

    Options
    -------
    data: file with the rows, or -
    target: column with the class, of any kind, two classes or more (LIBSVM: label,
        .npz: y, .npy: a second file)

    How far values may be off
    -------------------------
    errors: every value by its own error: suffix:_err, prefix:e_ or infix:_err say how
        error columns are named, auto tries the usual ways, and a file holds a table of
        errors with the columns of DATA; a radius then counts standard errors (default:
        1), with --missing model posterior standard deviations (default: 0)
    error_shape: errors are standard errors, of which few are large at once (ellipsoid,
        the default), or tolerances that all values may reach at once (box)
    missing_errors: values without an error: exact, the median error of the column, or a
        share of the value such as share:0.05 (default: stop)
    radius: every row by as much (default: 1 with --noise-scales or --errors, otherwise
        0, the ordinary SVM)
    radius_column: each row by what this column says
    replicates: rows with the same entry here are measurements of one sample
    radii: several radii to try; multiples of the one that other options give, if they
        give one
    noise_scales: noise of each feature; a radius then counts multiples of it (default:
        1, unless --confidence asks for what covers the noise)
    noise: shape: l2 a distance (default), linf every feature by up to the radius, or up
        to its tolerance in --noise-scales, l1 the sum of all errors
    radius_units: units of the radius: those of the data (default), or standard
        deviations of each feature
    confidence: how surely a radius covers the noise: the one from --replicates
        (default: 0.95), or, where it is given, one from --noise-scales (standard
        deviations, with --noise l2); with --missing model how surely a certain verdict
        holds (default: 0.95)

    Labels that may be wrong
    ------------------------
    label_noise: some are: a row far on the wrong side counts up to a limit and no
        further, and those that look mislabelled are listed
    ramp: the margin, ≤ 0, below which a row counts no further; the nearer to 0, the
        more rows are doubted (default: -1); says --label-noise too
    ramps: several of them, to choose from or to train with; says --label-noise too
    id: column that names the rows, where they are listed; it is no feature

    Training
    --------
    standardize: scale features to mean 0 and variance 1 for training; noise and model
        stay in the units of the data
    drop: columns to leave out
    one_hot: columns to turn into one column of 0 and 1 per category, without noise;
        auto: all that hold text
    dates: columns of dates to turn into days since 1970-01-01
    weight_column: column with the weight of each row in training, a factor on C
    missing: rows with missing values: leave them out and say how many (default), fill
        in the median, stop, or (model) learn which true values --errors and gaps leave
        likely, and give every row a verdict
    norm_penalty: price of the weights beside that of errors, by the norm that belongs
        to the noise: with --noise linf the higher it is, the fewer features keep a
        weight (default: 0)
    norm_penalties: several of them, to choose from or to train with
    class_weight: balanced: a rare class counts as much as a common one
    tol: proven relative distance from the optimum, rounding included (default: 0.0001)
    seed: for the folds (default: 0)
    """

    usage = "DATA --target COL"
    rivals = (
        ("radius", "radius_column", "replicates"),
        ("C", "cv"),
        ("norm_penalty", "norm_penalties"),
        ("ramp", "ramps"),
    )
    data: str
    target: Column | None = None
    errors: Annotated[str, ("metavar", "HOW")] | None = None
    error_shape: Literal["ellipsoid", "box"] = "ellipsoid"
    missing_errors: Rule | None = None
    radius: Radius | None = None
    radius_column: Column | None = None
    replicates: Column | None = None
    radii: tuple[Radius, ...] = ()
    noise_scales: File | None = None
    noise: Literal["l2", "linf", "l1"] = "l2"
    radius_units: Literal["raw", "std"] = "raw"
    confidence: Probability | None = None
    label_noise: bool = False
    ramp: Level | None = None
    ramps: tuple[Level, ...] = ()
    id: Column | None = None
    standardize: bool = False
    drop: tuple[Column, ...] = ()
    one_hot: tuple[Column, ...] = ()
    dates: tuple[Column, ...] = ()
    weight_column: Column | None = None
    missing: Literal["drop", "median", "error", "model"] = "drop"
    norm_penalty: Price = 0.0
    norm_penalties: tuple[Price, ...] = ()
    class_weight: Literal["balanced"] | None = None
    tol: Positive = 1e-4
    seed: Natural = 0

    def _mistakes(self) -> Iterator[str]:
        named: dict[str, Iterable[str | None]] = {
            "--target": [self.target],
            "--radius-column": [self.radius_column],
            "--replicates": [self.replicates],
            "--id": [self.id],
            "--weight-column": [self.weight_column],
            "--one-hot": [name for name in self.one_hot if name != AUTO],
            "--dates": self.dates,
            "--drop": self.drop,
        }
        roles: dict[str, str] = {}
        for name, columns in named.items():
            for column in columns:
                if column is not None and roles.setdefault(column, name) != name:
                    yield (
                        f"the column {column!r} is named by both {roles[column]} and "
                        f"{name}; it can be one thing only."
                    )
        if self.replicates is not None and self.missing == "median":
            yield "--replicates needs measured values: not with --missing median."
        if self.errors is None:
            alone = {
                "--error-shape box": self.error_shape == "box",
                "--missing-errors": self.missing_errors is not None,
            }
            for name in [name for name, given in alone.items() if given]:
                yield f"{name} is about errors, and --errors says where they are."
        shapes = {
            "--errors": self.errors is not None,
            "--noise-scales": self.noise_scales is not None,
            "--replicates": self.replicates is not None,
            "--radius-units std": self.radius_units == "std",
        }
        given = [name for name, there in shapes.items() if there]
        if self.noise != "l2" and (self.errors or self.replicates):
            given.append(f"--noise {self.noise}")
        if len(given) > 1:
            yield f"{' and '.join(given)} both say what shape the noise has."
        priced = [*self._given(("norm_penalty", "norm_penalties"))]
        if priced and self.errors is not None and self.error_shape != "box":
            yield (
                f"{priced[0]} beside --errors goes with --error-shape box, whose norm "
                "all rows share; leave it out, or say that errors are tolerances."
            )

    def _inputs(self) -> Iterator[str]:
        yield self.data
        if self.noise_scales is not None:
            yield self.noise_scales

    def beside(self) -> tuple[str, ...]:
        """Columns that are no features, all that options name."""
        names = (self.target, self.radius_column, self.replicates, self.id)
        given = [n for n in (*names, self.weight_column) if n is not None]
        return (*given, *self.drop)

    @property
    def doubts_labels(self) -> bool:
        """Whether labels may be wrong: levels of the ramp say so, too."""
        return self.label_noise or self.ramp is not None or bool(self.ramps)

    @property
    def level(self) -> float | None:
        """What estimators call `ramp`: None where labels are right."""
        usual = _USUAL_RAMP if self.doubts_labels else None
        return usual if self.ramp is None else self.ramp

    def with_columns(self, reader: Reader) -> Self:
        """Return these options with the columns of a table that they mean.

        Text columns for "auto", and the parts of names with commas that are no columns.
        """
        known = reader.names

        def split(given: tuple[str, ...]) -> list[str]:
            parts = ([n] if n in known else n.split(",") for n in given)
            return [name for part in parts for name in part]

        one_hot, dates, drop = map(split, (self.one_hot, self.dates, self.drop))
        if AUTO in one_hot:
            aside = {*self.beside(), *drop, *dates, *one_hot}
            found = reader.text_columns(reader.others(aside))
            one_hot = [*(name for name in one_hot if name != AUTO), *found]
        return replace(
            self, one_hot=tuple(one_hot), dates=tuple(dates), drop=tuple(drop)
        )

    def with_target(self) -> Self:
        """Return these options with the usual target of the format if none is given."""
        if self.target is not None:
            return self
        kind = self.format or kind_of(self.data)
        if kind not in _TARGETS:
            raise UsageError("say which column holds the class: --target COL.")
        return replace(self, target=_TARGETS[kind])
