"""Options of commands: dataclasses of which a parser is made, and kinds of values.

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
from dataclasses import MISSING, fields
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from wideberth.cli.errors import UserError
from wideberth.data.errors import meant

_HEADING = re.compile(r"\n\n(\w[^\n]*)\n-+\n")
_SHAPE = argparse.RawDescriptionHelpFormatter


class UsageError(UserError):
    """Options that are each allowed, but not together."""


class _Parser(argparse.ArgumentParser):
    """A parser that asks whether something like what it does not know was meant."""

    def __init__(self, **settings):
        super().__init__(formatter_class=_SHAPE, **settings)

    def _check_value(self, action, value) -> None:
        if action.choices is not None and value not in action.choices:
            known = list(map(str, action.choices))
            like = meant([str(value)], known)
            raise argparse.ArgumentError(
                action, f"{value!r} is not known{like or '.'} Choose {_either(known)}."
            )

    def refuse(self, unknown: list[str]):
        """End with what is known in place of these words."""
        option = next((word for word in unknown if word.startswith("-")), unknown[0])
        name = option.partition("=")[0]
        like = meant([name], self._option_string_actions)
        if like:
            self.error(f"there is no option {name}{like.replace(chr(39), '')}")
        what = "option" if option.startswith("-") else "argument"
        self.error(f"{option!r} is an {what} that is not known; see --help.")


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


class Commands:
    """A program whose commands are dataclasses.

    Their class attributes `command`, `summary`, `usage` and `epilog` are for the help,
    and `rivals` are tuples of options of which only one may be given. `groups` are the
    titles of groups of options, in order, and what the help says about them.
    """

    def __init__(
        self, program: str, commands: Iterable, groups: dict[str, str | None], **texts
    ):
        self.root = _Parser(prog=program, **texts)
        added = self.root.add_subparsers(required=True, metavar="COMMAND")
        self._parsers: dict[type, _Parser] = {}
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
            )
            parser.set_defaults(options=options)
            _add_options(parser, options, groups)

    def parse(self, arguments: Sequence[str] | None) -> Any:
        """Read a command line; exits with code 2 where it is wrong."""
        found, unknown = self.root.parse_known_args(arguments)
        given = vars(found)
        options = given.pop("options")
        if unknown:
            self._parsers[options].refuse(unknown)
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
    def value_of(text: str):
        """The number, or None where it is none that is allowed."""
        try:
            value = kind(text)
        except ValueError:
            return None
        return value if math.isfinite(value) and allowed(value) else None

    def read(text: str):
        value, point = value_of(text), text.replace(",", ".")
        if value is None and text.count(",") == 1 and value_of(point) is not None:
            raise argparse.ArgumentTypeError(
                f"{text!r} has a decimal comma; write {point}, with a point. Several "
                "values have blanks between them."
            )
        if value is None:
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
_below = _number(float, "a number ≤ 0", lambda value: value <= 0)
# A seed of NumPy has 32 bits, and nothing that is counted here needs more.
_count = _number(int, "a whole number ≥ 1", lambda value: 1 <= value < 2**32)
_natural = _number(int, "a whole number ≥ 0", lambda value: 0 <= value < 2**32)

Character = Annotated[str, ("type", _character), ("metavar", "CHAR")]
Column = Annotated[str, ("metavar", "COL")]
Count = Annotated[int, ("type", _count), ("metavar", "N")]
File = Annotated[str, ("metavar", "FILE")]
Level = Annotated[float, ("type", _below), ("metavar", "A")]
Natural = Annotated[int, ("type", _natural), ("metavar", "N")]
Positive = Annotated[float, ("type", _above), ("metavar", "X")]
Price = Annotated[float, ("type", _from), ("metavar", "S")]
Probability = Annotated[float, ("type", _share), ("metavar", "P")]
Radius = Annotated[float, ("type", _from), ("metavar", "R")]
Rule = Annotated[str, ("type", _rule), ("metavar", "RULE")]
Starts = Annotated[int, ("type", int), ("choices", (1, 2, 3))]
Text = Annotated[str, ("nargs", None), ("action", "append"), ("metavar", "TEXT")]
