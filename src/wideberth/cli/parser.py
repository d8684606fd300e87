"""Parsers made of dataclasses: a field is an option, its default is that of the field.

The docstring of the class that declares a field says under "Options" what the help
says. The type says how the text of an option is read: a `Literal` lists what is
allowed, a `bool` is given or not, a tuple takes several values, and `Annotated` adds
arguments of `argparse.ArgumentParser.add_argument`. A field without a default is given
by its position. What argparse cannot say, such as which options contradict each other,
a dataclass says in `__post_init__`.
"""

from __future__ import annotations

import argparse
import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from wideberth.cli.errors import UserError

__all__ = [
    "Character",
    "Column",
    "Commands",
    "Count",
    "File",
    "Natural",
    "Positive",
    "Probability",
    "Radius",
    "UsageError",
]

_HEADING = re.compile(r"\n\nOptions\n-------\n")
_SHAPE = argparse.RawDescriptionHelpFormatter


class UsageError(UserError):
    """Options that are each allowed, but not together."""


class Commands:
    """A program whose commands are dataclasses.

    Their class attributes `command`, `summary`, `usage` and `epilog` are for the help.
    Of the classes that declare fields `group` is the title under which the help lists
    them, and `rivals` names those of which only one may be given.
    """

    def __init__(self, program: str, groups: dict[str, str | None], **texts):
        self.groups = groups
        self.root = argparse.ArgumentParser(
            prog=program, formatter_class=_SHAPE, **texts
        )
        self._commands = self.root.add_subparsers(required=True, metavar="COMMAND")
        self._parsers: dict[type, argparse.ArgumentParser] = {}

    def add(self, options: Any) -> None:
        """Add a command."""
        parser = self._commands.add_parser(
            options.command,
            help=options.summary,
            usage=options.usage,
            description=_HEADING.split(inspect.getdoc(options) or "")[0],
            epilog=options.epilog,
            formatter_class=_SHAPE,
        )
        parser.set_defaults(options=options)
        self._parsers[options] = parser
        types = get_type_hints(options, include_extras=True)
        defaults = {one.name: one.default for one in fields(options)}
        parts = [part for part in options.__mro__ if inspect.get_annotations(part)]
        places: dict[str, Any] = {"": parser}
        for title in [t for t in self.groups if t in map(_group, parts)]:
            places[title] = parser.add_argument_group(title, self.groups[title])
        for part in reversed(parts):
            place, helps = places[_group(part)], dict(_helps(part))
            rivals, one_of = vars(part).get("rivals", ()), None
            for name in inspect.get_annotations(part):
                about = {"help": helps.get(name), **_settings(types[name])}
                if defaults[name] is MISSING:
                    parser.add_argument(name, metavar=name.upper(), **about)
                    continue
                if name in rivals:
                    one_of = one_of or place.add_mutually_exclusive_group()
                # What is not given is left out: the dataclass has the default.
                (one_of if name in rivals else place).add_argument(
                    f"--{name.replace('_', '-')}", default=argparse.SUPPRESS, **about
                )

    def parse(self, arguments: Sequence[str] | None) -> Any:
        """Read a command line; exits with code 2 where it is wrong."""
        given = vars(self.root.parse_args(arguments))
        options = given.pop("options")
        lists = {name: tuple(v) for name, v in given.items() if isinstance(v, list)}
        try:
            return options(**given | lists)
        except UsageError as error:
            self._parsers[options].error(str(error))


def _group(part: type) -> str:
    return vars(part).get("group", "")


def _helps(part: type) -> Iterator[tuple[str, str]]:
    """What a docstring says about the options that its class declares."""
    _, *lines = _HEADING.split(inspect.getdoc(part) or "")
    for line in re.split(r"\n(?! )", "".join(lines)):
        name, _, about = line.partition(": ")
        yield name, " ".join(about.split()).replace("%", "%%")


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


def _number(allowed: Callable[[float], bool], name: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and allowed(value)):
            raise argparse.ArgumentTypeError(f"{text!r} must be {name}.")
        return value

    return read


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        # A seed of NumPy has 32 bits, and nothing that is counted here needs more.
        if not text.isdecimal() or not least <= int(text[:20]) < 2**32:
            name = f"a whole number ≥ {least}"
            raise argparse.ArgumentTypeError(f"{text!r} must be {name}.")
        return int(text)

    return read


def _character(text: str) -> str:
    text = {"\\t": "\t", "tab": "\t", "space": " "}.get(text, text)
    if len(text) != 1 or text in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} must be one character.")
    return text


_share = _number(lambda value: 0 < value < 1, "a number between 0 and 1")
_above = _number(lambda value: value > 0, "a number > 0")
_from = _number(lambda value: value >= 0, "a number ≥ 0")

Character = Annotated[str, ("type", _character), ("metavar", "CHAR")]
Column = Annotated[str, ("metavar", "COL")]
Count = Annotated[int, ("type", _whole(1)), ("metavar", "N")]
File = Annotated[str, ("metavar", "FILE")]
Natural = Annotated[int, ("type", _whole(0)), ("metavar", "N")]
Positive = Annotated[float, ("type", _above), ("metavar", "X")]
Probability = Annotated[float, ("type", _share), ("metavar", "P")]
Radius = Annotated[float, ("type", _from), ("metavar", "R")]
