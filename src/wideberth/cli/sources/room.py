"""Whether a table fits: a small file may stand for a large one."""

from __future__ import annotations

from wideberth.cli.errors import UserError
from wideberth.data.memory import physical_memory

__all__ = ["check_room"]


def check_room(size: int, where: str) -> None:
    """Refuse a table of this many bytes if the machine has not that much memory."""
    limit = physical_memory()
    if size > limit:
        raise UserError(
            f"{where} holds a table of at least {size / 1e9:.1f} GB, more than the "
            f"{limit / 1e9:.1f} GB of memory that this machine has; wideberth fit "
            "--memory reads numbers in pieces."
        )
