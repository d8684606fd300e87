"""What the results say of the machine and the versions."""

from __future__ import annotations

from wideberth.data.errors import counted
from wideberth.report.environment import machine, versions

__all__ = ["describe"]

_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "cvxpy",
    "clarabel",
    "scs",
    "qoco",
    "skglm",
    "dro",
)


def describe() -> str:
    """Processor, cores, and the versions of all that takes part."""
    found = machine()
    parts = [f"{name} {version}" for name, version in versions(_PACKAGES).items()]
    return (
        f"{found['processor']}, {counted(found['cores'], 'core')}; {', '.join(parts)}"
    )
