"""Options of commands: dataclasses of which a parser is made, and those they share.

A field is an option, its default is that of the field. The docstring of the class that
declares it holds the help, under the heading of the group that lists it ("Options" for
none). The type says how the text of an option is read: a `Literal` lists what is
allowed, a `bool` is given or not, a tuple takes several values, and `Annotated` adds
arguments of `argparse.ArgumentParser.add_argument`. Where there is no default, it is
given by its position. What argparse cannot say, such as which options contradict each
other, a dataclass says in `_mistakes`.
"""

from __future__ import annotations

import argparse
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from wideberth.cli.errors import UserError
from wideberth.data import FORMATS, Format, kind_of
from wideberth.data.libsvm import LABEL

_HEADING = re.compile(r"\n\n(\w[^\n]*)\n-+\n")
_SHAPE = argparse.RawDescriptionHelpFormatter
#: Targets of formats that have a usual place for one.
_TARGETS = {"libsvm": LABEL, "npz": "y"}


class UsageError(UserError):
    """Options that are each allowed, but not together."""


class Commands:
    """A program whose commands are dataclasses.

    Their class attributes `command`, `summary`, `usage` and `epilog` are for the help,
    and `rivals` are tuples of options of which only one may be given. `groups` are the
    titles of groups of options, in order, and what the help says about them.
    """

    def __init__(
        self, program: str, commands: Iterable, groups: dict[str, str | None], **texts
    ):
        self.root = argparse.ArgumentParser(
            prog=program, formatter_class=_SHAPE, **texts
        )
        added = self.root.add_subparsers(required=True, metavar="COMMAND")
        self._parsers: dict[type, argparse.ArgumentParser] = {}
        for options in commands:
            places = getattr(options, "usage", "")
            self._parsers[options] = parser = added.add_parser(
                options.command,
                help=options.summary,
                usage=" ".join(
                    f"{program} {options.command} {places} [options]".split()
                ),
                description=_HEADING.split(inspect.getdoc(options) or "")[0],
                epilog=options.epilog,
                formatter_class=_SHAPE,
            )
            parser.set_defaults(options=options)
            _add_options(parser, options, groups)

    def parse(self, arguments: Sequence[str] | None) -> Any:
        """Read a command line; exits with code 2 where it is wrong."""
        given = vars(self.root.parse_args(arguments))
        options = given.pop("options")
        lists = {name: tuple(v) for name, v in given.items() if isinstance(v, list)}
        try:
            return options(**given | lists)
        except UsageError as error:
            self._parsers[options].error(str(error))


def _add_options(parser, options: Any, groups: dict[str, str | None]) -> None:
    told = {n: about for part in options.__mro__ for n, *about in _helps(part)}
    types = get_type_hints(options, include_extras=True)
    sections: dict[Any, Any] = {}
    for title in [t for t in groups if t in dict(told.values())]:
        sections[title] = parser.add_argument_group(title, groups[title])
    for one in fields(options):
        title, about = told.get(one.name, ("", None))
        settings = {"help": about, **_settings(types[one.name])}
        if one.default is MISSING:
            parser.add_argument(one.name, metavar=one.name.upper(), **settings)
            continue
        section = sections.get(title, parser)
        for rivals in getattr(options, "rivals", ()):
            if one.name in rivals:
                if rivals not in sections:
                    sections[rivals] = section.add_mutually_exclusive_group()
                section = sections[rivals]
        # What is not given is left out: the dataclass has the default.
        option = f"--{one.name.replace('_', '-')}"
        section.add_argument(option, default=argparse.SUPPRESS, **settings)


def _helps(part: type) -> Iterator[tuple[str, str, str]]:
    """Names, groups and help of the options that the docstring of a class lists."""
    _, *sections = _HEADING.split(inspect.getdoc(part) or "")
    for title, lines in zip(sections[::2], sections[1::2], strict=True):
        for line in re.split(r"\n(?! )", lines):
            name, _, about = line.partition(": ")
            yield name, title, " ".join(about.split()).replace("%", "%%")


def _settings(kind: Any) -> dict:
    """What a type means to argparse."""
    if get_origin(kind) in (Union, UnionType):
        kind = next(one for one in get_args(kind) if one is not type(None))
    if kind is bool:
        return {"action": "store_true"}
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    if get_origin(kind) is tuple:
        return {"nargs": "+", "action": "extend"} | _settings(get_args(kind)[0])
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        return _settings(inner) | dict(more)
    return {}


# -- kinds of values -------------------------------------------------------------------


def _number(kind: type, name: str, allowed: Callable[[float], bool]) -> Callable:
    def read(text: str):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and allowed(value)):
            raise argparse.ArgumentTypeError(f"{text!r} must be {name}.")
        return value

    return read


def _character(text: str) -> str:
    text = {"\\t": "\t", "tab": "\t", "space": " "}.get(text, text)
    if len(text) != 1 or text in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} must be one character.")
    return text


def is_rule(text: str) -> bool:
    """Whether it says what a value without an error is: exact, median or share:0.05."""
    if not text.startswith("share:"):
        return text in ("exact", "median")
    try:
        return _from(text.removeprefix("share:")) >= 0
    except argparse.ArgumentTypeError:
        return False


def _rule(text: str) -> str:
    if not is_rule(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} must be exact, median or a share of the value, share:0.05."
        )
    return text


_share = _number(float, "a number between 0 and 1", lambda value: 0 < value < 1)
_above = _number(float, "a number > 0", lambda value: value > 0)
_from = _number(float, "a number ≥ 0", lambda value: value >= 0)
# A seed of NumPy has 32 bits, and nothing that is counted here needs more.
_count = _number(int, "a whole number ≥ 1", lambda value: 1 <= value < 2**32)
_natural = _number(int, "a whole number ≥ 0", lambda value: 0 <= value < 2**32)

Character = Annotated[str, ("type", _character), ("metavar", "CHAR")]
Column = Annotated[str, ("metavar", "COL")]
Count = Annotated[int, ("type", _count), ("metavar", "N")]
File = Annotated[str, ("metavar", "FILE")]
Natural = Annotated[int, ("type", _natural), ("metavar", "N")]
Positive = Annotated[float, ("type", _above), ("metavar", "X")]
Price = Annotated[float, ("type", _from), ("metavar", "S")]
Probability = Annotated[float, ("type", _share), ("metavar", "P")]
Radius = Annotated[float, ("type", _from), ("metavar", "R")]
Rule = Annotated[str, ("type", _rule), ("metavar", "RULE")]
Text = Annotated[str, ("nargs", None), ("action", "append"), ("metavar", "TEXT")]


# -- what commands share ---------------------------------------------------------------


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

    def _given(self, names: Iterable[str]) -> Iterator[str]:
        """Those of some options that are not as by default, as people write them."""
        for name in names:
            if getattr(self, name) != self.__dataclass_fields__[name].default:
                yield f"--{name.replace('_', '-')}"

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
    errors: every value by its own error: suffix:_err, prefix:e_ or infix:_err say how
        error columns are named, auto tries the usual ways, and a file holds a table of
        errors with the columns of DATA; a radius then counts standard errors (default:
        1), with --missing model posterior standard deviations (default: 0)
    error_shape: errors are standard errors, of which few are large at once (ellipsoid,
        the default), or tolerances that all values may reach at once (box)
    missing_errors: values without an error: exact, the median error of the column, or a
        share of the value such as share:0.05 (default: stop)
    radius: every row by as much
    radius_column: each row by what this column says
    replicates: rows with the same entry here are measurements of one sample
    radii: several radii to try; multiples of the one that other options give, if they
        give one
    noise_scales: noise of each feature; a radius then counts multiples of it
    noise: shape: l2 a distance (default), linf every feature by up to the radius, or up
        to its tolerance in --noise-scales, l1 the sum of all errors
    radius_units: units of the radius: those of the data (default), or standard
        deviations of each feature
    confidence: how surely a radius from --noise-scales (standard deviations, with
        --noise l2) or --replicates covers the noise, or with --missing model a certain
        verdict holds (default: 0.95)
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
    confidence: Probability = 0.95
    covers: Literal["margin", "sample"] = "margin"
    between: Literal["reading", "truth"] = "reading"
    precision: Literal["shared", "own"] = "shared"
    standardize: bool = False
    drop: tuple[Column, ...] = ()
    one_hot: tuple[Column, ...] = ()
    missing: Literal["drop", "median", "error", "model"] = "drop"
    norm_penalty: Price = 0.0
    norm_penalties: tuple[Price, ...] = ()
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

    def with_target(self) -> Self:
        """Return these options with the usual target of the format if none is given."""
        if self.target is not None:
            return self
        kind = self.format or kind_of(self.data)
        if kind not in _TARGETS:
            raise UserError("say which column holds the class: --target COL.")
        return replace(self, target=_TARGETS[kind])
