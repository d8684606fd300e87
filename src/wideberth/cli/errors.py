"""The one kind of exception for what users can mend: their data, files or options."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

__all__ = ["UserError", "listed", "quoted", "require"]

#: Longest piece of the data that a message repeats.
_LONGEST = 60


class UserError(Exception):
    """Ends a command with exit code 1 and this sentence."""


def require(module: str, purpose: str) -> None:
    """Say what to install, before any work is done, if a module is missing."""
    if find_spec(module) is None:
        raise UserError(f"{purpose} needs {module}: pip install 'wideberth[cli]'.")


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
