"""How much memory there is, and how much is taken."""

from __future__ import annotations

import math
import os
import re
import sys

from wideberth.data.errors import DataError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
#: Bytes of memory that a machine is taken to have where the system does not say.
_SOME = 16 * 2**30
#: What the interpreter and its libraries take, where the system does not say.
_INTERPRETER = 200 * 2**20
#: Least room, in chunks, beside what the process holds: four while the data is read,
#: and as many for rows and results (a choice; with less hardly any row could be kept).
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
    """Bytes of memory that the machine has, or a guess."""
    try:
        if sys.platform == "win32":
            return _windows_memory()
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _SOME


def resident() -> int:
    """Bytes of memory that this process holds now, or a guess.

    On macOS and other systems without /proc it is the most that it ever held: a cap
    that counts on it is kept, with less room than there is.
    """
    try:
        if sys.platform == "win32":
            return _windows_resident()
        if sys.platform == "linux":
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most
    except (ImportError, AttributeError, ValueError, OSError):
        return _INTERPRETER


def _windows_resident() -> int:
    """The working set, as GetProcessMemoryInfo has it."""
    import ctypes
    from ctypes import wintypes

    sizes = ("PeakWorkingSetSize", "WorkingSetSize", *"abcdef")

    class Counters(ctypes.Structure):
        _fields_ = (
            ("cb", wintypes.DWORD),
            ("PageFaultCount", wintypes.DWORD),
            *((name, ctypes.c_size_t) for name in sizes),
        )

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined]
    kernel.GetCurrentProcess.restype = wintypes.HANDLE
    ask = kernel.K32GetProcessMemoryInfo
    ask.argtypes = (wintypes.HANDLE, ctypes.POINTER(Counters), wintypes.DWORD)
    found = Counters(cb=ctypes.sizeof(Counters))
    if not ask(kernel.GetCurrentProcess(), ctypes.byref(found), found.cb):
        raise OSError("GetProcessMemoryInfo failed")
    return int(found.WorkingSetSize)


def _windows_memory() -> int:
    """The memory of the machine, as GlobalMemoryStatusEx has it."""
    import ctypes
    from ctypes import wintypes

    class Status(ctypes.Structure):
        _fields_ = (
            ("dwLength", wintypes.DWORD),
            ("dwMemoryLoad", wintypes.DWORD),
            ("ullTotalPhys", ctypes.c_uint64),
            *((name, ctypes.c_uint64) for name in "abcdef"),
        )

    found = Status(dwLength=ctypes.sizeof(Status))
    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined]
    if not kernel.GlobalMemoryStatusEx(ctypes.byref(found)):
        raise OSError("GlobalMemoryStatusEx failed")
    return int(found.ullTotalPhys)


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
