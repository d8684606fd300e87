"""Options that commands share, with their defaults and what the help says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

from wideberth.cli.errors import UserError
from wideberth.cli.parser import (
    Character,
    Column,
    File,
    Natural,
    Positive,
    Probability,
    Radius,
    UsageError,
)
from wideberth.data import FORMATS, Format, kind_of
from wideberth.data.kinds import LABEL

__all__ = ["TableOptions", "TrainingOptions"]

#: Targets of formats that have a usual place for one.
_TARGETS = {"libsvm": LABEL, "npz": "y"}
Text = Annotated[str, ("nargs", None), ("action", "append"), ("metavar", "TEXT")]


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

    def __post_init__(self) -> None:
        for sentence in self._mistakes():
            raise UsageError(sentence)

    def _mistakes(self) -> Iterator[str]:
        """What is wrong with these options together."""
        yield from ()

    def reading(self) -> Format:
        """How the file is to be read."""
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
    radius: every row by as much
    radius_column: each row by what this column says
    replicates: rows with the same entry here are measurements of one sample
    radii: several radii to try; multiples of the one that other options give, if they
        give one
    noise_scales: noise of each feature; a radius then counts multiples of it
    noise: shape: l2 a distance (default), linf every feature by up to the radius, l1
        the sum of all errors
    radius_units: units of the radius: those of the data (default), or standard
        deviations of each feature
    confidence: how surely a radius from --noise-scales or --replicates covers the noise
        (default: 0.95)
    covers: what it covers: the change of a row's score (default), or the whole
        displacement of the row, which is far larger
    between: with --replicates: noise from the mean to a further single reading, such as
        predict will see (default), or to the truth
    precision: with --replicates: one precision for all samples (default), or each its
        own, from its own readings

    Training
    --------
    standardize: scale features to mean 0 and variance 1 for training; noise and model
        stay in the units of the data
    drop: columns to leave out
    one_hot: columns to turn into one column of 0 and 1 per category, without noise
    missing: rows with missing values: leave them out and say how many (default), fill
        in the median, or stop
    class_weight: balanced: a rare class counts as much as a common one
    tol: proven relative distance from the optimum, rounding included (default: 0.0001)
    seed: for the folds (default: 0)
    """

    usage = "DATA --target COL"
    rivals = (("radius", "radius_column", "replicates"), ("C", "cv"))
    data: str
    target: Column | None = None
    radius: Radius | None = None
    radius_column: Column | None = None
    replicates: Column | None = None
    radii: tuple[Radius, ...] = ()
    noise_scales: File | None = None
    noise: Literal["l2", "linf", "l1"] = "l2"
    radius_units: Literal["raw", "std"] = "raw"
    confidence: Probability = 0.95
    covers: Literal["margin", "sample"] = "margin"
    between: Literal["reading", "truth"] = "reading"
    precision: Literal["shared", "own"] = "shared"
    standardize: bool = False
    drop: tuple[Column, ...] = ()
    one_hot: tuple[Column, ...] = ()
    missing: Literal["drop", "median", "error"] = "drop"
    class_weight: Literal["balanced"] | None = None
    tol: Positive = 1e-4
    seed: Natural = 0

    def _mistakes(self) -> Iterator[str]:
        named = {
            "--target": [self.target],
            "--radius-column": [self.radius_column],
            "--replicates": [self.replicates],
            "--one-hot": self.one_hot,
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
        if self.noise != "l2" and self.standardize:
            yield (
                f"--noise {self.noise} in the units of the data has no such shape once "
                "features are standardised; use --noise-scales or --radius-units std."
            )
        shapes = {
            "--noise-scales": self.noise_scales is not None,
            "--replicates": self.replicates is not None,
            "--radius-units std": self.radius_units == "std",
            f"--noise {self.noise}": self.noise != "l2",
        }
        given = [name for name, there in shapes.items() if there]
        if len(given) > 1:
            yield f"{' and '.join(given)} both say what shape the noise has."

    def with_target(self) -> Self:
        """Return these options with the usual target of the format if none is given."""
        if self.target is not None:
            return self
        kind = self.format or kind_of(self.data)
        if kind not in _TARGETS:
            raise UserError("say which column holds the class: --target COL.")
        return replace(self, target=_TARGETS[kind])
