"""The one kind of exception for what users can mend: their data, files or options."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["UserError", "listed", "quoted"]

#: Longest piece of the data that a message repeats.
_LONGEST = 60


class UserError(Exception):
    """Ends a command with exit code 1 and this sentence."""


def quoted(text: object) -> str:
    """Repeat a piece of the data in a message: on one line, and not too long."""
    shown = repr(str(text))
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…{shown[0]}"


def listed(names: Iterable[object], most: int = 5) -> str:
    """Write names as 'a', 'b' and 3 more."""
    names = list(names)
    shown = [quoted(name) for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
