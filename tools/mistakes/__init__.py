"""The mistakes that the tests must notice, a module for each part of the package."""

from mistakes import estimators, roads, scale, screening, solving, values
from mistakes.mutant import Mutant

__all__ = ["MUTANTS", "Mutant"]

MUTANTS = [
    mutant
    for part in (values, screening, solving, scale, estimators, roads)
    for mutant in part.MUTANTS
]
