"""The one kind of exception for what users can mend: their data, files or options."""

from __future__ import annotations

from importlib.util import find_spec

from wideberth.data.errors import listed, quoted

__all__ = ["UserError", "listed", "quoted", "require"]


class UserError(Exception):
    """Ends a command with exit code 1 and this sentence."""


def require(module: str, purpose: str) -> None:
    """Say what to install, before any work is done, if a module is missing."""
    if find_spec(module) is None:
        raise UserError(f"{purpose} needs {module}: pip install 'wideberth[cli]'.")
