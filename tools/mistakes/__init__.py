"""The mistakes that the tests must notice, a module for each part of the package."""

import importlib
import pkgutil

from mistakes.mutant import Mutant

__all__ = ["MUTANTS", "Mutant"]

_PARTS = sorted(part.name for part in pkgutil.iter_modules(__path__))
MUTANTS = [
    mutant
    for name in _PARTS
    for mutant in getattr(importlib.import_module(f"mistakes.{name}"), "MUTANTS", [])
]
