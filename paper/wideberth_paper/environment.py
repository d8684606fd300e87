"""Where results come from: versions, machine, and the code that produced them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import wideberth
from wideberth.report.environment import machine, versions

__all__ = ["describe", "fingerprint"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "cvxpy", "scs", "clarabel")
#: Files that show results but cannot change one.
_PRESENTATION = (
    "wideberth/cli/",
    "wideberth/report/",
    "wideberth_paper/reproduce.py",
    "wideberth_paper/report/",
)


def describe() -> dict:
    """Versions and machine, as the report prints them."""
    return {"versions": versions(_PACKAGES), "machine": machine(), "code": _digest()}


def fingerprint(environment: dict) -> str:
    """Short name under which results of this environment are kept.

    Any other version, machine or line of code has another one, so stale results are
    never taken for fresh ones.
    """
    text = json.dumps(environment, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _digest() -> str:
    """Hash of the code of both packages, less what only shows results."""
    digest = hashlib.sha256()
    for root in (Path(wideberth.__file__).parent, Path(__file__).parent):
        for source in sorted(root.rglob("*.py")):
            name = f"{root.name}/{source.relative_to(root).as_posix()}"
            if not name.startswith(_PRESENTATION):
                digest.update(name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:12]
