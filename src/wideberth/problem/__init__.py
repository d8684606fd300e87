"""What is solved: noise, the products over the rows, primal and dual, certificates."""

from wideberth.problem.certificate import Certificate, DualPoint, Pair, PrimalPoint
from wideberth.problem.problem import Folded, Problem

__all__ = ["Certificate", "DualPoint", "Folded", "Pair", "PrimalPoint", "Problem"]
