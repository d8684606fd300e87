"""What is solved: noise, the products over the rows, primal and dual, certificates."""

from wideberth.problem.certificate import Certificate
from wideberth.problem.problem import KKT, DualPoint, Folded, PrimalPoint, Problem

__all__ = ["KKT", "Certificate", "DualPoint", "Folded", "PrimalPoint", "Problem"]
