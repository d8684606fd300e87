"""Arguments that commands share, and the kinds of values they take."""

from __future__ import annotations

import argparse
import math

from wideberth.data import FORMATS, Format

__all__ = [
    "EXIT_CODES",
    "add_application",
    "add_input",
    "add_output",
    "count",
    "format_of",
    "natural",
    "non_negative",
    "positive",
    "probability",
]

EXIT_CODES = """\
exit codes:
  0    done
  1    the data, the model file or an output cannot be used; one sentence says why
  2    the command line is wrong
  3    done and written, but the model should not be used as it is: it ignores the
       features, or its optimality could not be proven to the tolerance
  130  interrupted (Ctrl-C); nothing is left half written
"""


def add_application(parser: argparse.ArgumentParser) -> None:
    """The model, the data, and what tells its rows apart."""
    parser.add_argument("model", metavar="MODEL", help="file written by wideberth fit")
    parser.add_argument("data", metavar="DATA", help="file with the rows, or -")
    parser.add_argument(
        "--id",
        metavar="COL",
        help="column to repeat in the output (default: row number)",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="CSV to write (default: print it)"
    )


def add_input(parser: argparse.ArgumentParser) -> None:
    """How the data is to be read."""
    group = parser.add_argument_group(
        "reading the data",
        "Found out from the file unless given. CSV may be separated by commas, "
        "semicolons, tabs, bars or blanks, use decimal points or commas, and be "
        "compressed (.gz, .bz2, .xz). Empty cells, NA, N/A, NaN, null and ? are "
        "missing values.",
    )
    group.add_argument("--format", choices=FORMATS, help="what kind of file DATA is")
    group.add_argument(
        "--delimiter",
        type=_delimiter,
        metavar="CHAR",
        help="between cells; tab is '\\t'",
    )
    group.add_argument(
        "--decimal", choices=(".", ","), metavar="SIGN", help="decimal sign, . or ,"
    )
    group.add_argument("--encoding", metavar="NAME", help="such as latin-1")
    group.add_argument(
        "--no-header",
        action="store_true",
        help="the first line is data; columns are called 1, 2, 3, …",
    )
    group.add_argument(
        "--na",
        action="append",
        default=[],
        metavar="TEXT",
        help="one more text that means a missing value; may be repeated",
    )


def format_of(options: argparse.Namespace) -> Format:
    """Read what `add_input` added."""
    return Format(
        options.format,
        options.delimiter,
        options.decimal,
        options.encoding,
        not options.no_header,
        frozenset(options.na),
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """How results are given."""
    group = parser.add_argument_group("results")
    group.add_argument(
        "--force", action="store_true", help="overwrite files that are there already"
    )
    group.add_argument(
        "--json", action="store_true", help="print the result as JSON, for programs"
    )
    group.add_argument(
        "--debug", action="store_true", help="show the traceback of an error"
    )


def positive(text: str) -> float:
    """A finite number above 0."""
    return _number(text, lambda value: value > 0, "a number > 0")


def non_negative(text: str) -> float:
    """A finite number from 0 on."""
    return _number(text, lambda value: value >= 0, "a number ≥ 0")


def probability(text: str) -> float:
    """A number between 0 and 1."""
    return _number(text, lambda value: 0 < value < 1, "a number between 0 and 1")


def _number(text: str, allowed, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or not allowed(value):
        raise argparse.ArgumentTypeError(f"{text!r} must be {name}.")
    return value


def count(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number ≥ 1.")
    return int(text)


def natural(text: str) -> int:
    """A whole number from 0 on."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number ≥ 0.")
    return int(text)


def _delimiter(text: str) -> str:
    names = {"\\t": "\t", "tab": "\t", "space": " "}
    text = names.get(text, text)
    if len(text) != 1 or text in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} must be one character.")
    return text
