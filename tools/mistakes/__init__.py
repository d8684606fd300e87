"""The mistakes that the tests must notice, a module for each part of the package."""

from mistakes import estimators, noise, scale, screening, solving, values
from mistakes.mutant import Mutant

__all__ = ["MUTANTS", "Mutant"]

MUTANTS = [
    mutant
    for part in (values, noise, screening, solving, scale, estimators)
    for mutant in part.MUTANTS
]
