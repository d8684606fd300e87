"""Files written as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, content: str | bytes, *, replace: bool = True) -> None:
    """Write a file so that no reader ever sees half of it.

    The content goes to a temporary file beside the target, to disk, and then takes the
    target's name. Whatever happens before that leaves the target as it was and nothing
    else behind. `replace=False` raises FileExistsError rather than take a name that is
    taken, without a moment in which someone else could have taken it.
    """
    data = content.encode() if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _ordinary_mode())
        if replace:
            os.replace(temporary, path)
        else:
            _move_to_free_name(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def _move_to_free_name(temporary: str, path: Path) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        with open(path, "xb"):
            pass
        os.replace(temporary, path)


def _ordinary_mode() -> int:
    """Permissions of a file that is simply opened for writing."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
