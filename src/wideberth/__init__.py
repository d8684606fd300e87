"""Linear classifiers that stay right when features are noisy.

The robust SVM trains against the worst perturbation of every sample inside a given
radius; each answer carries a certificate of optimality on the full problem.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

# Loaded on first use, so that `import wideberth` stays cheap.
_PUBLIC = {
    "Problem": "wideberth.problem",
    "critical_radius": "wideberth.endpoints",
    "solve_conic": "wideberth.solvers.conic",
}

__all__ = sorted(["__version__", *_PUBLIC])


def __getattr__(name: str):
    if name not in _PUBLIC:
        raise AttributeError(f"module 'wideberth' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__():
    return __all__
