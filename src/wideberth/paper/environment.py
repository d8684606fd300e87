"""Where results come from: versions, machine, and the code that produced them."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
from importlib.util import find_spec
from pathlib import Path

import wideberth

__all__ = ["check_extras", "cores", "describe", "fingerprint"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "cvxpy", "scs", "clarabel")
#: Files that show results but cannot change one.
_PRESENTATION = ("cli.py", "paper/reproduce.py", "paper/report/")


def check_extras(*modules: str) -> None:
    """Raise an ImportError that says what to install if any of `modules` is missing."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"Reproducing the paper needs {', '.join(missing)}, not installed here: "
            "pip install 'wideberth[paper]'."
        )


def describe() -> dict:
    """Versions and machine, as the report prints them."""
    return {
        "versions": {
            "wideberth": wideberth.__version__,
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in _PACKAGES},
        },
        "machine": {
            "processor": _processor(),
            "cores": cores(),
            "system": platform.system(),
            "architecture": platform.machine(),
        },
        "code": _digest(),
    }


def fingerprint(environment: dict) -> str:
    """Short name under which results of this environment are kept.

    Any other version, machine or line of code has another one, so stale results are
    never taken for fresh ones.
    """
    text = json.dumps(environment, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _digest() -> str:
    """Hash of the package's code, less what only shows results."""
    root, digest = Path(wideberth.__file__).parent, hashlib.sha256()
    for source in sorted(root.rglob("*.py")):
        name = source.relative_to(root).as_posix()
        if not name.startswith(_PRESENTATION):
            digest.update(name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:12]


def _processor() -> str:
    """The processor's name where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
