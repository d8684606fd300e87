"""Linear classifiers that stay right when features are noisy.

The robust SVM trains against the worst perturbation of every sample inside a given
radius; each answer carries a certificate of optimality on the full problem.
"""

from importlib import import_module

from wideberth.path import Path, path
from wideberth.problem import Problem
from wideberth.problem.endpoints import critical_radius
from wideberth.problem.noise import Correlated
from wideberth.problem.polyhedra import Box, CrossPolytope
from wideberth.problem.read_errors import fill_errors
from wideberth.screening import Partition, screen
from wideberth.solution import NullModelWarning, Solution
from wideberth.solve import solve
from wideberth.solvers.conic import solve_conic

__version__ = "0.2.0"

#: Loaded where first used, because they bring scikit-learn or matplotlib along.
_LATER = {
    "MeasuredSVC": "wideberth.estimators",
    "RobustLinearSVC": "wideberth.estimators",
    "RobustLinearSVCCV": "wideberth.estimators",
    "RobustPipeline": "wideberth.estimators",
    "TrueFeatures": "wideberth.measurement",
    "Verdict": "wideberth.estimators",
    "carry_noise": "wideberth.estimators",
    "error_columns": "wideberth.measurement",
    "errors_from_imputations": "wideberth.measurement",
    "errors_from_limits": "wideberth.measurement",
    "errors_from_quantities": "wideberth.measurement",
    "errors_from_replicates": "wideberth.measurement",
    "errors_from_sides": "wideberth.measurement",
    "make_robust_pipeline": "wideberth.estimators",
    "measured_scorer": "wideberth.estimators",
    "open_data": "wideberth.data",
    "radius_from_imputations": "wideberth.measurement",
    "radius_from_replicates": "wideberth.measurement",
    "radius_from_std": "wideberth.measurement",
    "scales_from_replicates": "wideberth.measurement",
}

__all__ = [
    "Box",
    "Correlated",
    "CrossPolytope",
    "MeasuredSVC",
    "NullModelWarning",
    "Partition",
    "Path",
    "Problem",
    "RobustLinearSVC",
    "RobustLinearSVCCV",
    "RobustPipeline",
    "Solution",
    "TrueFeatures",
    "Verdict",
    "__version__",
    "carry_noise",
    "critical_radius",
    "error_columns",
    "errors_from_imputations",
    "errors_from_limits",
    "errors_from_quantities",
    "errors_from_replicates",
    "errors_from_sides",
    "fill_errors",
    "make_robust_pipeline",
    "measured_scorer",
    "open_data",
    "path",
    "radius_from_imputations",
    "radius_from_replicates",
    "radius_from_std",
    "scales_from_replicates",
    "screen",
    "solve",
    "solve_conic",
]


def __getattr__(name: str):
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'wideberth' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_LATER})
