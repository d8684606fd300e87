"""The one kind of exception for what people can mend in their data."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from itertools import islice

#: Longest piece of the data, in characters, that a message repeats.
_LONGEST = 60
#: Categories of Unicode that show nothing and may steer what shows them: controls, such
#: as escape and line feed, marks of direction, separators of lines, broken encodings.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
#: Most names with which a name that is not there is compared (a choice: 0.1 s).
_COMPARED = 10_000


class DataError(ValueError):
    """The data cannot be used; the message says where and why."""


def quoted(text: object) -> str:
    """Repeat a piece of the data in a message: on one line, and not too long."""
    decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    shown = repr(decoded)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…{shown[0]}"


def visible(text: str) -> str:
    r"""Write control characters as in Python (\x1b, \n), so that they do nothing.

    For names of classes, columns and files that are shown as they are.
    """
    if text.isprintable():
        return text
    return "".join(
        repr(c)[1:-1] if unicodedata.category(c) in _UNSEEN else c for c in text
    )


def listed(names: Iterable[object], most: int = 5) -> str:
    """Write names as 'a', 'b' and 3 more."""
    names = names if isinstance(names, Collection) else list(names)
    shown = [quoted(name) for name in islice(names, most)]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def agree(number: int, one: str, many: str) -> str:
    """The form of a word that goes with a number of things."""
    return one if number == 1 else many


def counted(number: int, noun: str) -> str:
    """Write how many there are of something: 1 row, 2 rows, 2 classes."""
    ending = "es" if noun.endswith("s") else "s"
    return f"{number} {agree(number, noun, noun + ending)}"


def no_numbers(columns: list[str], dates: Sequence[str] = (), example: str = "") -> str:
    """Say that columns hold no numbers, and what to do about it; name all of them.

    `dates` are those that hold dates; the `example` is of the first column.
    """
    n = len(columns)
    them = agree(n, "it", "them")
    what = "dates" if len(dates) == n else "text"
    ways = [
        f"leave {them} out with --drop {_as_words(columns)} (in Python: columns=…)",
        f"turn {them} into columns of 0 and 1 with --one-hot auto",
    ]
    if dates:
        named = ",".join(dates)
        days = f"read {_as_words(dates)} as days with --read dates={named}"
        ways = [days, *ways] if len(dates) < len(columns) else [days, ways[0]]
    return (
        f"{agree(n, 'column', 'columns')} {listed(columns, n)} "
        f"{agree(n, 'holds', 'hold')} {what}{example and f' ({example})'}, and "
        f"features must be numbers; {', '.join(ways[:-1])}, or {ways[-1]}."
    )


def _as_words(names: Iterable[str]) -> str:
    """Names as the words of a command."""
    plain = re.compile(r"[\w.-]+")  # what needs no quotes in a shell
    return " ".join(n if plain.fullmatch(n) else quoted(n) for n in names)


def no_columns(where: str, absent: Sequence[str], names: Sequence[str]) -> str:
    """Say that data has no such columns, and which it has."""
    n = len(names)
    like = meant(absent, names if n <= _COMPARED else ())
    its = agree(n, "its only column is", "its columns are")
    return (
        f"{where} has no {agree(len(absent), 'column', 'columns')} {listed(absent)}"
        f"{f'{like} I{its[1:]}' if like else f'; {its}'} {listed(names, 12)}."
    )


def meant(given: Iterable[str], known: Iterable[str]) -> str:
    """Ask whether names like the ones given were meant: "; did you mean 'a'?".

    Empty where no known name is like any of them.
    """
    from difflib import get_close_matches

    lower = {name.lower(): name for name in known}
    found = [
        lower[like]
        for name in given
        for like in get_close_matches(name.lower(), lower, n=1)
    ]
    return f"; did you mean {listed(dict.fromkeys(found))}?" if found else ""
