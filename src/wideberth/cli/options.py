"""What can be said on the command line: one dataclass for each command, and the parser.

A field is an option, and `_HELP` says what it does. Its metadata hold the group of the
help and further arguments of `add_argument`; a field without a default is given by its
position. What argparse cannot say, such as which options contradict each other, a
dataclass says in `_mistakes`. Several values of --radius, --C, --norm-penalty or --ramp
mean that one of them is to be chosen by cross-validation.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from wideberth.cli.errors import UserError
from wideberth.data import FORMATS, Format, kind_of
from wideberth.data.errors import meant
from wideberth.data.files import LABEL

if TYPE_CHECKING:
    from wideberth.data.table import Reader

#: What --task may say.
_CLASSIFY, _REGRESS = "classify", "regress"
#: Margin below which a row counts no further, where labels may be wrong.
_USUAL_RAMP = -1.0
#: What is written, by the usual ending of its name.
_KINDS = {".csv": "a CSV", ".html": "an HTML page", ".wideberth": "a model file"}
#: What --one-hot calls all columns that hold text, and --C a grid of its own.
AUTO = "auto"
_SHAPES = ("l2", "linf", "l1")
_COLUMNS, _OFF, _TRAINING, _RESULTS = (
    "The columns",
    "How far values may be off",
    "Training",
    "Files and results",
)
#: Groups of options in the order of the help, each with an example of `fit`.
_GROUPS = {
    _COLUMNS: "fit blood.csv --target sick --drop name --one-hot clinic",
    _OFF: "fit stars.csv --target type --errors suffix:_err --model measured",
    _TRAINING: "fit wine.csv --target sort --standardize --C auto --radius 0,0.1std",
    _RESULTS: "fit wine.csv --target sort --out model.wideberth --report page.html",
}
_EXIT_CODES = """\
exit codes: 0 done; 1 the data, the model file or an output cannot be used; 2 the
command line is wrong; 3 done, but the model should not be used: it ignores the
features, or training did not reach the tolerance; 130 interrupted: no file is half
written, and a model that was trained but not yet cross-validated is kept."""


class UsageError(UserError):
    """Options that are each allowed, but not together."""


# -- kinds of values -------------------------------------------------------------------


def _number(name: str, allowed: Callable[[float], bool], kind: type = float):
    """A reader of one number."""

    def read(text: str):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if math.isfinite(value) and allowed(value):
            return value
        point = text.replace(",", ".", 1)
        comma = point != text and _is_number(point)
        hint = f" Write it with a point: {point}." if comma else ""
        raise argparse.ArgumentTypeError(f"{text!r} must be {name}.{hint}")

    return read


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _numbers(one: Callable[[str], float]) -> Callable[[str], tuple[float, ...]]:
    """A reader of numbers with commas between them."""

    def read(text: str) -> tuple[float, ...]:
        if re.fullmatch(r"[+-]?\d+,\d+", text):
            first, second = text.split(",")
            raise argparse.ArgumentTypeError(
                f"{text!r} may be one number with a decimal comma or two numbers; "
                f"write {first}.{second}, or {first}.0,{second}."
            )
        return tuple(one(part) for part in text.split(","))

    return read


_positive = _number("a number > 0", lambda value: value > 0)
_from_0 = _number("a number ≥ 0", lambda value: value >= 0)
_share = _number("a number between 0 and 1", lambda value: 0 < value < 1)
_ramps = _numbers(_number("a number ≤ 0", lambda value: value <= 0))
# A seed of NumPy has 32 bits, and nothing that is counted here needs more.
_count = _number("a whole number ≥ 1", lambda value: 1 <= value < 2**32, int)
_natural = _number("a whole number ≥ 0", lambda value: 0 <= value < 2**32, int)


def _prices(text: str) -> tuple[float, ...]:
    """Values of C; none for "auto"."""
    return () if text == AUTO else _numbers(_positive)(text)


@dataclass(frozen=True)
class Radii:
    """Values of --radius, in the units of the data or in standard deviations."""

    values: tuple[float, ...] = ()
    std: bool = False

    @classmethod
    def read(cls, text: str) -> Radii:
        """Read 0.5, 0,0.1,0.2 or 0.1std,0.2std."""
        parts = text.split(",")
        if "std" in parts:
            raise argparse.ArgumentTypeError(
                f"{text!r} has std without a number; write, for example, 0.1std."
            )
        bare = [part.removesuffix("std") for part in parts]
        values = _numbers(_from_0)(",".join(bare) if bare != parts else text)
        std = bare != parts
        pairs = zip(bare, parts, values, strict=True)
        if std and any(own == part and value for own, part, value in pairs):
            raise argparse.ArgumentTypeError(
                f"{text!r} mixes units; write std after every radius, or after none."
            )
        return cls(values, std)


@dataclass(frozen=True)
class NoiseGiven:
    """What --noise says: a shape, and a file with the scale of each feature."""

    shape: str = "l2"
    scales: str | None = None

    @classmethod
    def read(cls, words: Sequence[str]) -> NoiseGiven:
        """Read `linf`, `precision.csv` or `linf tolerances.csv`."""
        shapes = [word for word in words if word in _SHAPES]
        files = [word for word in words if word not in _SHAPES]
        like = meant(files[:1], _SHAPES)
        if like and not os.path.exists(files[0]):
            raise argparse.ArgumentTypeError(
                f"{files[0]!r} is neither a shape nor a file{like.replace(chr(39), '')}"
            )
        if len(shapes) > 1 or len(files) > 1:
            raise argparse.ArgumentTypeError(
                f"{' '.join(words)!r} must be l2, linf or l1, a file with the scale of "
                "each feature, or both."
            )
        return cls(*(shapes or ["l2"]), *files)


def is_rule(text: str) -> bool:
    """Whether it says what to do with a value whose error is absent."""
    share = text.removeprefix("share:")
    if share != text:
        return _is_number(share) and float(share) >= 0
    return text in ("exact", "median", "drop")


@dataclass(frozen=True)
class ErrorsGiven:
    """What --errors says: where errors are, their shape, and what if one is absent."""

    where: str
    shape: str = "ellipsoid"
    absent: str | None = None

    @classmethod
    def read(cls, words: Sequence[str]) -> ErrorsGiven:
        """Read `suffix:_err box absent=median`, the last two in any order."""
        given: dict[str, str] = {}
        for word in words[1:]:
            rule = word.removeprefix("absent=")
            if word in ("ellipsoid", "box"):
                given["shape"] = word
            elif rule != word and is_rule(rule):
                given["absent"] = rule
            else:
                raise argparse.ArgumentTypeError(
                    f"{word!r} is not known; after the first word may follow box, and "
                    "absent= with exact, median, drop or share:0.05."
                )
        return cls(words[0], **given)


@dataclass(frozen=True)
class KernelGiven:
    """What --kernel says: γ, or several to choose from, and how many landmarks.

    No γ is "scale", and no number of landmarks "auto", as for `RobustKernelSVC`.
    """

    gammas: tuple[float, ...] = ()
    landmarks: int | None = None

    @classmethod
    def read(cls, words: Sequence[str]) -> KernelGiven:
        """Read `rbf`, or `rbf gamma=0.1,1 landmarks=500`, the last two in any order."""
        if words[0] != "rbf":
            raise argparse.ArgumentTypeError(
                f"{words[0]!r} is not known; write rbf. After it may follow "
                "gamma=0.1,1 and landmarks=500."
            )
        given: dict[str, Any] = {}
        for word in words[1:]:
            key, _, value = word.partition("=")
            if key == "gamma":
                given["gammas"] = _numbers(_positive)(value)
            elif key == "landmarks":
                given["landmarks"] = _count(value)
            else:
                raise argparse.ArgumentTypeError(
                    f"{word!r} is not known; after rbf may follow gamma=0.1,1 and "
                    "landmarks=500."
                )
        return cls(**given)


#: Keys of --read, and what their values may be.
_READ_KEYS = {
    "format": f"one of {', '.join(FORMATS)}",
    "delimiter": "one character, or tab or space",
    "decimal": "a point or a comma",
    "encoding": "the name of an encoding, such as latin-1",
    "header": "yes or no",
    "na": "a text that means a missing value",
    "dates": "columns with dates, with commas between them",
}


@dataclass(frozen=True)
class Reading(Format):
    """What --read says of how a file is written, and of its dates."""

    dates: tuple[str, ...] = ()

    @classmethod
    def read(cls, words: Sequence[str]) -> Reading:
        """Read key=value, any number of times."""
        made = cls()
        for word in words:
            key, equals, value = word.partition("=")
            if key not in _READ_KEYS or not equals:
                like = meant([key], _READ_KEYS)
                raise argparse.ArgumentTypeError(
                    f"{word!r} is not known{like.replace(chr(39), '') or '.'} Give "
                    f"KEY=VALUE with the keys {', '.join(_READ_KEYS)}."
                )
            made = made._with(key, value)
        return made

    def _with(self, key: str, value: str) -> Reading:
        sign = {"\\t": "\t", "tab": "\t", "space": " "}.get(value, value)
        allowed = {
            "format": value in FORMATS,
            "delimiter": len(sign) == 1 and sign not in '"\r\n',
            "decimal": value in (".", ","),
            "header": value in ("yes", "no"),
        }
        if not allowed.get(key, key == "na" or bool(value)):
            raise argparse.ArgumentTypeError(
                f"{key}={value}: {value!r} must be {_READ_KEYS[key]}."
            )
        read: dict[str, dict[str, Any]] = {
            "format": {"kind": value},
            "delimiter": {"delimiter": sign},
            "header": {"header": value == "yes"},
            "na": {"missing": self.missing | {value}},
            "dates": {"dates": (*self.dates, *value.split(","))},
        }
        return replace(self, **read.get(key, {key: value}))


#: What the help says of each option, by its name, or by command and name.
_HELP = {
    "read": "how DATA is written, if that is not recognised: format=csv delimiter=; "
    "decimal=, encoding=latin-1 header=no na=-999 dates=day",
    "force": "overwrite existing files",
    "json": "print the result as JSON, for programs",
    "debug": "show the traceback of an error",
    "data": "CSV, TSV, Parquet, Arrow, LIBSVM, .npy; - reads stdin",
    "target": "column of classes or numbers to predict (LIBSVM: label)",
    "task": "classify: target of classes; regress: of numbers (default: numbers if it "
    "holds many different ones)",
    "quantile": "share of rows below the prediction (default: 0.5, median)",
    "drop": "columns to leave out",
    "one_hot": "text columns: one 0/1 column per category; auto: all",
    "log": "columns to replace by logarithms; errors become relative",
    "limits": "columns where <0.5 or >100 is an interval; no COL: all",
    "id": "column that names rows in lists; not a feature",
    "weight_column": "column of row weights, which multiply C",
    "missing": "rows that lack a number: leave them out (default, if at most a tenth), "
    "fill in the median, or stop",
    "radius": "how far a row may be off, in the units of the data; 0.1std: in standard "
    "deviations of each feature; with --errors, --replicates or --noise FILE: in their "
    "units",
    "radius_column": "column with the radius of each row",
    "noise": "l2: Euclidean distance (default); linf: each feature up to the radius; "
    "l1: sum over features; FILE: a scale for each feature (columns name, scale)",
    "errors": "columns with the error of each value: suffix:_err, prefix:e_, "
    "infix:_err or auto (with --model measured also of the target); then box if errors "
    "are hard limits, and absent=exact, median, share:0.05 or drop for values without "
    "a usable error",
    "replicates": "column of sample names; rows of one name are repeats",
    "confidence": "probability from which a verdict is certain, or of noise that a "
    "radius from scales or replicates allows for (default: 0.95; scales: radius 1)",
    "standardize": "train on standardised features; results keep the units",
    "C": "price of rows on the wrong side (default: 1), or auto",
    "kernel": "curved boundary; gamma=0.1,1 or landmarks=500 replaces the default, "
    "which follows from the data",
    "prove": "choose C between the ends of --C LOW,HIGH, and prove that no C there has "
    "a cross-validated error lower by E",
    "norm_penalty": "penalty of weights; linf: some become 0 (default: 0)",
    "ramp": "some labels may be wrong: below the margin A ≤ 0 the loss of a row no "
    "longer grows (default for A: -1)",
    "class_weight": "rare classes count as much as common ones",
    "tol": "relative duality gap to reach (default: 0.0001)",
    "seed": "random seed of the folds (default: 0)",
    "model": "robust: the default; measured: estimate true values from errors and "
    "missing values; rows get a verdict or interval; the radius is in posterior "
    "standard deviations",
    "suspects": "CSV of all rows whose labels look wrong; needs --ramp",
    "score_radius": "choose by the accuracy under worst noise of this radius",
    "folds": "number of cross-validation folds (default: 5; 0: none)",
    "memory": "read DATA in pieces and hold no more than this, such as 2GB: no missing "
    "values, accuracy or report",
    "out": "model file (.wideberth); - writes to stdout",
    "report": "report (.html)",
    "apply model": "model file that wideberth fit wrote",
    "apply data": "table with the rows; - reads stdin",
    "apply errors": "which columns of DATA hold errors, as in fit (default: as in "
    "training)",
    "apply confidence": "probability at which a verdict is certain (default: as in "
    "training)",
    "coverage": "probability that an interval holds the true number; for models of fit "
    "--model measured (default: 0.9)",
    "apply id": "column that names the rows in the output (default: row numbers)",
    "apply out": "CSV to write (default: stdout)",
    "apply memory": "hold no more than this, such as 500MB; rows are always read a few "
    "at a time, except from LIBSVM and .npy files",
    "scores": "add the score of each class; of two classes, that of the second",
    "certify target": "column of the true classes (default: as in training)",
    "certify radius_column": "column with the radius of each row (default: as in "
    "training)",
    "curve": "CSV of the certified accuracy at each radius",
    "at": "radii of that curve (default: from 0 to where hardly any row is left)",
    "quick": "a part of the grid, one to three minutes",
    "repeats": "time every fit N times (default: 3; with --quick 1)",
    "jobs": "parallel processes for what is not timed (default: one per core, at most "
    "4)",
    "demo out": "folder for table, model and report (default: wideberth-demo)",
    "reproduce out": "folder for the report (default: reproduction)",
}


# -- fields of dataclasses -------------------------------------------------------------


def _option(default, group: str, metavar: str | tuple = "", **settings) -> Any:
    """A field that is an option; `convert` reads all its words at once."""
    if default is False:
        settings["action"] = "store_true"
    elif metavar:
        settings["metavar"] = metavar
    return field(default=default, metadata={"group": group, **settings})


def _columns(nargs: str = "+") -> Any:
    """Several columns; None where it is not given, for those that may be given bare."""
    none = () if nargs == "+" else None
    return _option(none, _COLUMNS, "COL", nargs=nargs, action="extend")


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """How a table is read, and how results are given."""

    read: Reading = _option(  # noqa: RUF009
        *(Reading(), _RESULTS, "KEY=VALUE"),
        nargs="+", action="extend", convert=Reading.read,
    )  # fmt: skip
    typed: str = field(default="", compare=False)  # the whole command, for the report
    force: bool = _option(False, _RESULTS)
    json: bool = _option(False, _RESULTS)
    debug: bool = _option(False, _RESULTS)

    #: Endings that the names of results may have, by the option that names them.
    _endings: ClassVar[dict[str, tuple[str, ...]]] = {"out": (".csv", ".txt")}

    def __post_init__(self) -> None:
        for sentence in (*self._wrong_endings(), *self._mistakes()):
            raise UsageError(sentence)

    def _wrong_endings(self) -> Iterator[str]:
        """Names of results that promise another kind of file than is written."""
        for option, allowed in self._endings.items():
            path = getattr(self, option)
            ending = os.path.splitext(path or "")[1]
            if ending and ending.lower() not in allowed:
                yield (
                    f"--{option} {path}: the output is {_KINDS[allowed[0]]}, so its "
                    f"name must end in {' or '.join(allowed)} or have no ending, "
                    f"not {ending}."
                )

    def _mistakes(self) -> Iterator[str]:
        """What is wrong with these options together."""
        yield from ()

    def _given(self, names: Iterable[str]) -> Iterator[str]:
        """Those of some options that are not as by default, as people write them."""
        known = self.__dataclass_fields__
        for name in names:
            if name in known and getattr(self, name) != known[name].default:
                yield f"--{name.replace('_', '-')}"

    def _inputs(self) -> Iterator[str]:
        """Files that are read."""
        yield from ()

    def outputs(self) -> list[str | None]:
        """Files that are written, where they are asked for."""
        return [getattr(self, option) for option in self._endings]

    def check_inputs(self) -> None:
        """Refuse files that are not there, before anything is loaded to read them."""
        for path in self._inputs():
            if path == "-" or os.path.exists(path):
                continue
            folder, name = os.path.split(path)
            beside = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
            stem = name.partition(".")[0]  # endings alone are often alike
            near = [one for one in beside if meant([stem], [one.partition(".")[0]])]
            like = meant([name], near)
            raise UserError(f"{path}: there is no such file{like or '.'}")


# -- the commands ----------------------------------------------------------------------

#: Options of `fit` that need the whole table in memory.
_WHOLE = (
    *("report", "standardize", "replicates", "one_hot", "suspects", "id"),
    *("log", "limits", "prove", "ramp", "kernel"),
)
#: The range of C that is proven where none is given.
_PROVEN = (0.001, 100.0)
#: Options that are about classes.
_ABOUT_CLASSES = ("ramp", "class_weight", "suspects", "score_radius", "kernel")
#: Options that a line through measured numbers has no use for.
_NO_LINE = (
    *("quantile", "C", "radius", "weight_column", "one_hot", "confidence"),
    *("standardize",),
)
#: Options that say otherwise than by standard errors how far rows may be off, or how
#: exactly to train, which is settled there.
_NOT_MEASURED = (
    *("radius_column", "replicates", "noise", "score_radius", "tol", "norm_penalty"),
    "prove",
)


@dataclass(frozen=True, kw_only=True)
class FitOptions(TableOptions):
    """Train a model for features that are noisy: a classifier, or a regression if the
    target holds numbers. Every column of DATA is a feature, except the target
    and those given to --drop, --id and other options for columns. Give several values
    with commas between them (--radius, --C, gamma=, --norm-penalty, --ramp), and
    cross-validation chooses one.
    """

    command = "fit"
    summary = "train a model on a table and report on it"
    epilog = _EXIT_CODES
    usage = "DATA --target COL"

    data: str
    target: str | None = _option(None, _COLUMNS, "COL")
    drop: tuple[str, ...] = _columns()
    one_hot: tuple[str, ...] = _columns()
    log: tuple[str, ...] = _columns()
    limits: tuple[str, ...] | None = _columns("*")
    id: str | None = _option(None, _COLUMNS, "COL")
    weight_column: str | None = _option(None, _COLUMNS, "COL")
    missing: str | None = _option(None, _COLUMNS, choices=("drop", "median", "error"))
    radius: Radii = _option(Radii(), _OFF, "R,…", type=Radii.read)  # noqa: RUF009
    radius_column: str | None = _option(None, _OFF, "COL")
    noise: NoiseGiven = _option(  # noqa: RUF009
        NoiseGiven(), _OFF, "SHAPE|FILE", nargs="+", convert=NoiseGiven.read
    )
    errors: ErrorsGiven | None = _option(  # noqa: RUF009
        None, _OFF, "HOW", nargs="+", convert=ErrorsGiven.read
    )
    replicates: str | None = _option(None, _OFF, "COL")
    confidence: float | None = _option(None, _OFF, "P", type=_share)
    model: str = _option("robust", _OFF, choices=("robust", "measured"))
    task: str | None = _option(None, _TRAINING, choices=(_CLASSIFY, _REGRESS))
    quantile: float = _option(0.5, _TRAINING, "Q", type=_share)
    standardize: bool = _option(False, _TRAINING)
    C: tuple[float, ...] = _option((1.0,), _TRAINING, "X,…", type=_prices)
    kernel: KernelGiven | None = _option(  # noqa: RUF009
        None, _TRAINING, ("rbf", "KEY=VALUE"), nargs="+", convert=KernelGiven.read
    )
    norm_penalty: tuple[float, ...] = _option(
        (0.0,), _TRAINING, "S,…", type=_numbers(_from_0)
    )
    ramp: tuple[float, ...] = _option(
        (), _TRAINING, "A,…", nargs="?", const=(_USUAL_RAMP,), type=_ramps
    )
    class_weight: str | None = _option(None, _TRAINING, choices=("balanced",))
    tol: float = _option(0.0001, _TRAINING, "X", type=_positive)
    seed: int = _option(0, _TRAINING, "N", type=_natural)
    suspects: str | None = _option(None, _RESULTS, "FILE")
    score_radius: float | None = _option(None, _TRAINING, "R", type=_from_0)
    prove: float | None = _option(None, _TRAINING, "E", type=_positive)
    folds: int = _option(5, _TRAINING, "N", type=_natural)
    memory: str | None = _option(None, _TRAINING, "SIZE")
    out: str | None = _option(None, _RESULTS, "FILE")
    report: str | None = _option(None, _RESULTS, "FILE")

    _endings: ClassVar[dict[str, tuple[str, ...]]] = {
        "out": (".wideberth",),
        "report": (".html", ".htm"),
        "suspects": (".csv", ".txt"),
    }

    def _mistakes(self) -> Iterator[str]:
        for name in ("report", "suspects"):
            if getattr(self, name) == "-":
                yield f"--{name} must name a file; - is not possible here."
        if self.out == "-" and self.json:
            yield (
                "--out - and --json both write to standard output; give a file to "
                "--out, or leave out --json."
            )
        if self.folds == 1:
            yield "--folds must be 0 (no cross-validation) or at least 2."
        if self.score_radius is not None and not self.chooses:
            yield (
                "--score-radius says how to choose among several values, but none "
                "are given; add --C auto, or leave it out."
            )
        if self.suspects and not self.ramp:
            yield (
                "--suspects lists labels that look wrong, and only --ramp finds them; "
                "give both."
            )
        yield from self._roles()
        other = _ABOUT_CLASSES if self.numbers else ("quantile",)
        for option in self._given(other) if self.task else ():
            yield self._about_another_task(option)
        yield from self._mistakes_of_noise()
        yield from self._mistakes_of_proofs()
        if self.kernel is not None:
            yield from self._mistakes_of_kernels()
        if self.measured:
            yield from self._mistakes_of_measured()
        if self.memory is not None:
            yield from self._mistakes_of_pieces()

    def _mistakes_of_noise(self) -> Iterator[str]:
        """What is said twice of how far rows may be off, or does not go together."""
        if self.replicates is not None and self.missing == "median":
            yield (
                "--replicates needs measured values, and --missing median fills some "
                "in; leave out --missing median."
            )
        own = [*self._given(("radius_column", "replicates"))]
        if len(own) > 1:
            yield f"{own[0]} and {own[1]} both set the radii of the rows; give one."
        shapes = {
            "--errors": self.errors is not None,
            "--noise with scales": self.noise.scales is not None,
            "--replicates": self.replicates is not None,
            "--radius …std": self.radius.std,
        }
        given = [name for name, there in shapes.items() if there]
        if self.noise.shape != "l2" and (self.errors or self.replicates):
            given.append(f"--noise {self.noise.shape}")
        if len(given) > 1:
            yield (
                f"{' and '.join(given)} both set the shape of the noise; leave out "
                f"{'one' if len(given) == 2 else 'all but one'}."
            )
        priced = [*self._given(["norm_penalty"])]
        if priced and self.error_shape != "box" and self.errors is not None:
            yield (
                "--norm-penalty goes with --errors only if they are boxes; leave it "
                f"out, or write --errors {self.errors.where} box."
            )
        if self.limits is not None and "--errors" not in given and given:
            yield (
                f"--limits gives single values an error, but {given[0]} gives all "
                "rows the same noise; leave out one of the two."
            )
        covering = self.confidence is not None and self.noise.scales is not None
        if covering and self.radius.values:
            yield (
                "--confidence computes the radius, and --radius sets it; leave out "
                "one of the two."
            )
        if own and len(self.radius.values) == 1:
            yield (
                f"{own[0]} sets the radii of the rows; --radius beside it must be "
                "several factors on them to choose from, such as 0.5,1,2."
            )

    def _mistakes_of_measured(self) -> Iterator[str]:
        if self.missing is not None:
            yield "--model measured needs no --missing: it uses all rows; leave it out."
        if self.ramp:
            yield "--model measured takes every label as right; leave out --ramp."
        if self.kernel is not None:
            yield (
                "--model measured has no --kernel: on the command line it is straight. "
                "Leave out one of them; in Python there are MeasuredSVC(kernel='rbf') "
                "and MeasuredRegressor(kernel='rbf')."
            )
        given = [*self._given(_NOT_MEASURED)]
        given += ["--radius …std"] if self.radius.std else []
        given += ["--errors … box"] if self.error_shape == "box" else []
        for option in given:
            yield (
                f"--model measured uses standard errors (--errors) alone and cannot "
                f"use {option}; leave out one of the two."
            )
        if self.numbers:
            for option in self._given(_NO_LINE):
                drop = ", and such columns with --drop" if "one" in option else ""
                yield (
                    f"--model measured fits numbers by maximum likelihood and cannot "
                    f"use {option}; leave it out{drop}."
                )

    def _mistakes_of_kernels(self) -> Iterator[str]:
        """What is for linear models alone."""
        reasons = {
            "norm_penalty": "is for weights of features, and a curve has none",
            "ramp": "is for straight boundaries",
            "prove": "is for straight boundaries; --C auto chooses C without it",
        }
        for option in self._given(reasons):
            why = reasons[option.removeprefix("--").replace("-", "_")]
            yield f"{option} {why}. Leave out {option} or --kernel."
        own = [*self._given(("radius_column", "replicates"))]
        if own and (self.radius.values or self.score_radius is not None):
            yield (
                f"{own[0]} sets the radii of the rows, and with --kernel they are "
                "used as they are. Leave out --radius and --score-radius."
            )

    def _mistakes_of_pieces(self) -> Iterator[str]:
        for option in self._given(_WHOLE):
            yield f"{option} needs the whole table; leave out {option} or --memory."
        whole = {
            "choosing among several values": self.chooses,
            "--radius …std": self.radius.std,
            "--missing median": self.missing == "median",
            "--model measured": self.measured,
            "--errors with this absent=": self.errors is not None
            and self.errors.absent not in (None, "exact"),
        }
        for what in [name for name, wanted in whole.items() if wanted]:
            yield f"{what} needs the whole table; leave out that or --memory."
        if self.data == "-":
            yield "--memory reads DATA several times; give a file, not -."

    def _about_another_task(self, option: str) -> str:
        """Say that an option does not go with the task."""
        if option == "--kernel":
            return (
                "--kernel is for classes, and the target holds numbers. Leave it out; "
                "in Python put a Nystroem step before a RobustLinearRegressor."
            )
        about, found, other = "numbers", "classes", _REGRESS
        if self.numbers:
            about, found, other = "classes", "numbers", _CLASSIFY
        return (
            f"{option} is for {about}, and the target holds {found}; leave it out, or "
            f"give --task {other}."
        )

    def _roles(self) -> Iterator[str]:
        """Columns that are named as two things."""
        named: dict[str, Iterable[str | None]] = {
            "--target": [self.target],
            "--radius-column": [self.radius_column],
            "--replicates": [self.replicates],
            "--id": [self.id],
            "--weight-column": [self.weight_column],
            "--one-hot": [name for name in self.one_hot if name != AUTO],
            "--read dates": self.read.dates,
            "--drop": self.drop,
        }
        roles: dict[str, str] = {}
        for name, columns in named.items():
            for column in columns:
                if column is not None and roles.setdefault(column, name) != name:
                    yield (
                        f"the column {column!r} is named by both {roles[column]} and "
                        f"{name}; leave out one of the two."
                    )

    def _inputs(self) -> Iterator[str]:
        yield self.data
        if self.noise.scales is not None:
            yield self.noise.scales

    @property
    def numbers(self) -> bool:
        """Whether the target holds numbers to predict, not classes."""
        return self.task == _REGRESS

    @property
    def error_shape(self) -> str:
        """That of --errors."""
        return "ellipsoid" if self.errors is None else self.errors.shape

    @property
    def chooses(self) -> bool:
        """Whether something is left open."""
        several = (self.radius.values, self.norm_penalty, self.ramp)
        open_C = self.prove is not None or len(self.C) != 1 or len(self.gammas) > 1
        return open_C or any(len(values) > 1 for values in several)

    @property
    def gammas(self) -> tuple[float, ...]:
        """Values of γ of a kernel; none where there is none, or γ is by a rule."""
        return () if self.kernel is None else self.kernel.gammas

    @property
    def one_C(self) -> float:
        """The price of errors where it is not left open."""
        return self.C[0] if len(self.C) == 1 else 1.0

    def with_columns(self, reader: Reader) -> Self:
        """Return these options with the columns of a table that they mean.

        Text columns for "auto", and the parts of names with commas that are no columns.
        """
        known = reader.names

        def split(given: tuple[str, ...]) -> tuple[str, ...]:
            parts = ([n] if n in known else n.split(",") for n in given)
            return tuple(name for part in parts for name in part)

        one_hot, drop, log = map(split, (self.one_hot, self.drop, self.log))
        limits = None if self.limits is None else split(self.limits)
        if AUTO in one_hot:
            roles = (self.target, self.id, self.replicates, self.radius_column)
            named = {*filter(None, (*roles, self.weight_column))}
            aside = {*named, *drop, *self.read.dates, *one_hot}
            found = reader.text_columns(reader.others(aside))
            one_hot = (*(name for name in one_hot if name != AUTO), *found)
        return replace(self, one_hot=one_hot, drop=drop, log=log, limits=limits)

    def with_target(self) -> Self:
        """Return these options with the target of LIBSVM files if none is given."""
        if self.target is not None:
            return self
        if (self.read.kind or kind_of(self.data)) != "libsvm":
            raise UsageError("no target; name the column to predict with --target COL.")
        return replace(self, target=LABEL)

    def _mistakes_of_proofs(self) -> Iterator[str]:
        if self.prove is None:
            return
        if self.C != (1.0,) and (len(self.C) != 2 or self.C[0] >= self.C[1]):
            yield (
                "--prove needs the two ends of a range of C, such as --C 0.001,100, "
                "which is also the default."
            )
        if self.ramp:
            yield "--prove and --ramp cannot be combined; leave out one of the two."
        if not self.folds:
            yield "--prove needs the folds of cross-validation; leave out --folds 0."
        several = {"--radius": self.radius.values, "--norm-penalty": self.norm_penalty}
        for name in [name for name, values in several.items() if len(values) > 1]:
            yield f"--prove chooses only C; give one value of {name}."

    @property
    def proven_range(self) -> tuple[float, float]:
        """The values of C that --prove is about."""
        return (self.C[0], self.C[1]) if len(self.C) == 2 else _PROVEN

    def on_grid(self, points: int) -> Self:
        """The same with a grid of C in place of a proof, for the parts of folds."""
        if self.prove is None:
            return self
        low, high = self.proven_range
        steps = (k / (points - 1) for k in range(points))
        return replace(self, prove=None, C=(*(low * (high / low) ** k for k in steps),))

    @property
    def measured(self) -> bool:
        """Whether true values are learned from errors and gaps."""
        return self.model == "measured"

    @property
    def learns(self) -> bool:
        """Whether --model measured could take the place of what is asked for."""
        others = (*_NOT_MEASURED, "ramp", "memory")
        return not (any(self._given(others)) or self.radius.std)

    def ordinary(
        self,
        C: float = 1.0,
        score_radius: float | None = None,
        gamma: float | None = None,
    ) -> Self:
        """The same for a model that trusts every value and label, with this C and γ.

        Or for choosing one by a score.
        """
        kernel = self.kernel
        if kernel is not None and gamma is not None:
            kernel = replace(kernel, gammas=(gamma,))
        return replace(
            self,
            C=() if score_radius is not None else (C,),
            kernel=kernel,
            prove=None,
            radius=Radii(std=self.radius.std),
            norm_penalty=(0.0,),
            ramp=(),
            suspects=None,
            score_radius=score_radius,
        )


@dataclass(frozen=True, kw_only=True)
class ApplyOptions(TableOptions):
    """A model, the data, and what tells its rows apart."""

    usage = "MODEL DATA"
    model: str
    data: str
    errors: str | None = _option(None, _OFF, "HOW")
    confidence: float | None = _option(None, _OFF, "P", type=_share)
    id: str | None = _option(None, _COLUMNS, "COL")
    out: str | None = _option(None, _RESULTS, "FILE")
    memory: str | None = _option(None, _RESULTS, "SIZE")

    def _mistakes(self) -> Iterator[str]:
        yield from super()._mistakes()
        if self.memory is not None and self.data == "-":
            yield "--memory reads some rows at a time; give a file, not -."

    def _inputs(self) -> Iterator[str]:
        yield self.model
        yield self.data


@dataclass(frozen=True, kw_only=True)
class PredictOptions(ApplyOptions):
    """Predict the class or number of every row of DATA with a model that
    `wideberth fit` wrote.

    Columns are found by name, in any order; others are ignored. The output is a CSV
    with one line for each row of DATA, in the same order. A row that lacks a value the
    model needs gets an empty prediction; a message says how many such rows there are.

    Models of classes from fit --model measured also give a verdict on each row: the
    margin and its spread (standard deviation), the chance that the true values lie on
    the other side of the boundary, certain or doubtful, and which value to measure
    again.

    Models of numbers also give a range (low, high). A robust model: all predictions
    that noise of the training radius can cause, exactly. A measured model: an interval
    that holds the true number with the probability --coverage.
    """

    command = "predict"
    summary = "predict the class or number of every row of a table"
    epilog = f"""\
examples:
  wideberth predict model.wideberth new.csv > predictions.csv
  wideberth predict model.wideberth new.csv --id patient --scores --out predictions.csv

{_EXIT_CODES}"""

    scores: bool = _option(False, _RESULTS)
    coverage: float | None = _option(None, _OFF, "P", type=_share)


@dataclass(frozen=True, kw_only=True)
class CertifyOptions(ApplyOptions):
    """Compute the certified radius of every row of DATA: how far its values may be off
    before the predicted class can change. It is exact (with --kernel a lower bound) and
    in the units of the training noise: after fit --errors, in multiples of the errors
    of the row. `inf` means that no noise of that shape changes the class.

    Where the errors are standard deviations (fit --errors, --noise FILE, --replicates),
    chance_of_change is the chance that a fresh normal error of the stated size changes
    the class; with more than two classes it is an upper bound. It is not the chance
    that the true features lie on the other side of the boundary.

    If DATA has the target column, the output also says which predictions are right. The
    certified accuracy is the share of rows that stay right under all noise of a given
    radius: the one used in training, or those of --at. If every row had its own radius
    in training, DATA needs a column of radii, too (--radius-column).

    Models of fit --model measured give verdicts, as in predict, and the share of the
    certain ones that is right. For models of numbers use `predict`, which gives ranges.
    """

    command = "certify"
    summary = "say how much noise every prediction withstands"
    epilog = f"""\
examples:
  wideberth certify model.wideberth test.csv
  wideberth certify model.wideberth test.csv --out rows.csv --curve curve.csv
  wideberth certify model.wideberth test.csv --at 0,0.1,0.2 --json

{_EXIT_CODES}"""

    target: str | None = _option(None, _COLUMNS, "COL")
    radius_column: str | None = _option(None, _OFF, "COL")
    curve: str | None = _option(None, _RESULTS, "FILE")
    at: tuple[float, ...] = _option((), _RESULTS, "R,…", type=_numbers(_from_0))

    _endings = dict.fromkeys(("out", "curve"), (".csv", ".txt"))


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Fit a table that comes with wideberth: 3000 galaxies as the Rubin telescope would
    see them, with an error for every value. It writes the table, the model and the
    report into a folder and prints the command that does the same.
    """

    command = "demo"
    summary = "fit a bundled table of galaxies, to see what a report looks like"
    epilog = ""

    out: str = _option("wideberth-demo", "", "DIR")
    force: bool = _option(False, "")


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions:
    """Run the experiments of the screening paper on its data, beside other solvers, and
    write report.html with tables and figures. Started again after an interruption, it
    goes on where it stopped.
    """

    command = "reproduce"
    summary = "run the experiments of the screening paper on its data"
    epilog = ""

    quick: bool = _option(False, "")
    repeats: int | None = _option(None, "", "N", type=_count)
    jobs: int | None = _option(None, "", "N", type=_count)
    out: str = _option("reproduction", "", "DIR")


_COMMANDS = (
    *(FitOptions, PredictOptions, CertifyOptions),
    *(DemoOptions, ReproduceOptions),
)


# -- the parser ------------------------------------------------------------------------


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help of at most 80 columns, with descriptions as they are written."""

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=24, width=80)


class _Parser(argparse.ArgumentParser):
    """A parser that asks whether something like what it does not know was meant."""

    def __init__(self, **settings):
        super().__init__(formatter_class=_Help, allow_abbrev=False, **settings)
        # Several negative numbers, as in --ramp -2,-1, are a value and no option.
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def _check_value(self, action, value) -> None:
        if action.choices is not None and value not in action.choices:
            known = list(map(str, action.choices))
            either = " or ".join(filter(None, [", ".join(known[:-1]), known[-1]]))
            like = meant([str(value)], known)
            raise argparse.ArgumentError(
                action, f"{value!r} is not known{like or '.'} Choose {either}."
            )

    def refuse(self, unknown: list[str]) -> NoReturn:
        """End with what is known in place of these words."""
        option = next((word for word in unknown if word.startswith("-")), unknown[0])
        name = option.partition("=")[0]
        like = meant([name], self._option_string_actions)
        if like:
            self.error(f"there is no option {name}{like.replace(chr(39), '')}")
        what = "option" if option.startswith("-") else "argument"
        self.error(f"unknown {what} {option!r}; see --help.")


def parse(arguments: Sequence[str] | None) -> Any:
    """Read a command line; exits with code 2 where it is wrong."""
    from wideberth import __version__

    root = _Parser(
        prog="wideberth",
        description="Models that stay right when features are noisy.\n"
        "`wideberth COMMAND --help` explains each command.",
        epilog=f"""\
examples:
  wideberth fit measurements.csv --target diagnosis --standardize \\
      --noise precision.csv --out model.wideberth --report report.html
  wideberth predict model.wideberth new.csv > predictions.csv
  wideberth certify model.wideberth test.csv --curve curve.csv --out rows.csv

{_EXIT_CODES}""",
    )
    root.add_argument("--version", action="version", version=__version__)
    added = root.add_subparsers(required=True, metavar="COMMAND")
    parsers = {options: _add_command(added, options) for options in _COMMANDS}
    found, unknown = root.parse_known_args(arguments)
    given = vars(found)
    options = given.pop("options")
    if issubclass(options, TableOptions):
        words = sys.argv[1:] if arguments is None else arguments
        given["typed"] = shlex.join(["wideberth", *words])
    parser = parsers[options]
    if unknown:
        parser.refuse(unknown)
    try:
        return options(
            **{name: _converted(options, name, given[name]) for name in given}
        )
    except (UsageError, argparse.ArgumentTypeError) as error:
        parser.error(str(error))


def _converted(options: Any, name: str, value: Any) -> Any:
    """The value of a field for what argparse found."""
    about = options.__dataclass_fields__[name].metadata
    if "convert" in about:
        try:
            return about["convert"](value)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentTypeError(f"argument --{name}: {error}") from None
    return tuple(value) if isinstance(value, list) else value


def _add_command(added, options: Any) -> _Parser:
    """A parser of the options of one command."""
    parser = added.add_parser(
        options.command,
        help=options.summary,
        usage=f"wideberth {options.command} {getattr(options, 'usage', '')} [options]",
        description="\n".join(line.strip() for line in options.__doc__.splitlines()),
        epilog=options.epilog,
    )
    parser.set_defaults(options=options)
    family = "apply" if issubclass(options, ApplyOptions) else ""
    groups: dict[str, Any] = {"": parser}
    wanted = {one.metadata.get("group") for one in fields(options)}
    for title, example in _GROUPS.items():
        if title in wanted:
            shown = f"wideberth {example}" if options is FitOptions else None
            groups[title] = parser.add_argument_group(title, shown)
    for one in fields(options):
        if one.default is not MISSING and "group" not in one.metadata:
            continue
        settings = {k: v for k, v in one.metadata.items() if k != "convert"}
        group = groups[settings.pop("group", "")]
        keys = (f"{options.command} {one.name}", f"{family} {one.name}", one.name)
        settings["help"] = next(_HELP[key] for key in keys if key in _HELP)
        if one.default is MISSING:
            parser.add_argument(one.name, metavar=one.name.upper(), **settings)
        else:  # what is not given is left out: the dataclass has the default
            name = f"--{one.name.replace('_', '-')}"
            group.add_argument(name, default=argparse.SUPPRESS, **settings)
    return parser
