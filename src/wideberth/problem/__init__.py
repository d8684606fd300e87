"""What is solved: noise, the products over the rows, primal and dual, certificates."""

from wideberth.problem.certificate import Certificate, DualPoint, Pair, PrimalPoint
from wideberth.problem.folded import Folded
from wideberth.problem.problem import Problem

__all__ = ["Certificate", "DualPoint", "Folded", "Pair", "PrimalPoint", "Problem"]
