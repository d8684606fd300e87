"""How much memory there is, and how much is taken."""

from __future__ import annotations

import math
import re
import sys

from wideberth.data.errors import DataError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
#: Fewest chunks that must fit into memory beside what the process holds: four while the
#: data is read, and as many for rows and results (a choice).
_LEAST_CHUNKS = 8


def parse_bytes(value) -> int:
    """Read a number of bytes, or text such as "2GB" or "500 MiB".

    None is a quarter of the machine's memory.
    """
    if value is None:
        return physical_memory() // 4
    if isinstance(value, int | float) and not isinstance(value, bool):
        size = float(value)
    else:
        match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?I?)B?\s*", str(value).upper())
        try:
            size = float(match[1]) * _UNITS[match[2]]  # type: ignore[index]
        except (TypeError, ValueError, KeyError):
            size = 0.0
    if not 1 <= size <= sys.maxsize:
        raise ValueError(
            f"memory={value!r} is not an amount of memory; give a number of bytes or "
            "text such as '2GB' or '500 MiB'."
        )
    return int(size)


def physical_memory() -> int:
    """Bytes of memory that the machine has."""
    import psutil

    return psutil.virtual_memory().total


def resident() -> int:
    """Bytes of memory that this process holds now."""
    import psutil

    return psutil.Process().memory_info().rss


def chunk_bytes(memory: int) -> int:
    """How much is read at a time where so many bytes may be held."""
    return min(max(memory // 128, 1 << 20), 1 << 26)


def room(memory) -> int:
    """Bytes that may be taken beside those held now; an error if they are too few.

    Without a limit it is a quarter of what this process leaves of the machine's memory.
    """
    held = resident()
    if memory is None:
        return max(physical_memory() - held, 0) // 4
    limit = parse_bytes(memory)
    if limit - held >= _LEAST_CHUNKS * chunk_bytes(limit):
        return limit - held
    much = "less than" if limit < held else "hardly more than"
    enough = math.ceil(1.25 * held / 10**7) * 10
    raise DataError(
        f"memory={memory!r} is {much} the {held / 1e6:.0f} MB that this process holds "
        f"already; give at least {enough}MB, or read the data in a process of its own."
    )
