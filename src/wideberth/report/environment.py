"""Where results come from: versions and machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import wideberth


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of this package, of Python and of those of others that are installed."""
    found = {"wideberth": wideberth.__version__, "python": platform.python_version()}
    for name in packages:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def machine() -> dict[str, object]:
    """What the report says of the machine."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "system": platform.system(),
        "architecture": platform.machine(),
    }


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    """The processor's name where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
