"""Linear classifiers that stay right when features are noisy.

The robust SVM trains against the worst perturbation of every sample inside a given
radius; each answer carries a certificate of optimality on the full problem.
"""

from wideberth.endpoints import critical_radius
from wideberth.problem import Problem
from wideberth.screening import Partition, screen
from wideberth.solve import NullModelWarning, Solution, solve
from wideberth.solvers.conic import solve_conic

__version__ = "0.1.0"

__all__ = [
    "NullModelWarning",
    "Partition",
    "Problem",
    "Solution",
    "__version__",
    "critical_radius",
    "screen",
    "solve",
    "solve_conic",
]
