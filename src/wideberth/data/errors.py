"""The one kind of exception for what people can mend in their data."""

from __future__ import annotations

from collections.abc import Iterable

#: Longest piece of the data, in characters, that a message repeats.
_LONGEST = 60


class DataError(ValueError):
    """Something in the data is not as it must be; the message says where."""


def quoted(text: object) -> str:
    """Repeat a piece of the data in a message: on one line, and not too long."""
    decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    shown = repr(decoded)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…{shown[0]}"


def listed(names: Iterable[object], most: int = 5) -> str:
    """Write names as 'a', 'b' and 3 more."""
    names = list(names)
    shown = [quoted(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


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
