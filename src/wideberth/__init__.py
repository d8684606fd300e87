"""Linear classifiers that stay right when features are noisy.

The robust SVM trains against the worst perturbation of every sample inside a given
radius; each answer carries a certificate of optimality on the full problem.

What is public is loaded where it is first used: the command line need not wait for
NumPy to say that a file is not there.
"""

import logging
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for those who read types; `_HOMES` says the same to Python
    from wideberth.measurement.imputations import fill_errors
    from wideberth.noise import Correlated
    from wideberth.noise.shapes import Box, CrossPolytope
    from wideberth.path import path
    from wideberth.problem import Problem
    from wideberth.problem.endpoints import critical_radius
    from wideberth.results import NullModelWarning, Path, Solution
    from wideberth.screen import screen
    from wideberth.screening import Partition
    from wideberth.solve import solve
    from wideberth.solvers.conic import solve_conic

__version__ = "0.2.0"

# Quiet unless whoever uses it says otherwise: logging.basicConfig(level="INFO").
logging.getLogger(__name__).addHandler(logging.NullHandler())

#: Where public names are.
_HOMES = {
    "Box": "wideberth.noise.shapes",
    "Correlated": "wideberth.noise.shapes",
    "CrossPolytope": "wideberth.noise.shapes",
    "MeasuredSVC": "wideberth.estimators",
    "NullModelWarning": "wideberth.results",
    "Partition": "wideberth.screening",
    "Path": "wideberth.results",
    "Problem": "wideberth.problem",
    "RobustLinearSVC": "wideberth.estimators",
    "RobustLinearSVCCV": "wideberth.estimators",
    "RobustPipeline": "wideberth.estimators",
    "Solution": "wideberth.results",
    "TrueFeatures": "wideberth.measurement",
    "Verdict": "wideberth.estimators",
    "carry_noise": "wideberth.estimators",
    "critical_radius": "wideberth.problem.endpoints",
    "error_columns": "wideberth.measurement",
    "errors_from_imputations": "wideberth.measurement",
    "errors_from_limits": "wideberth.measurement",
    "errors_from_quantities": "wideberth.measurement",
    "errors_from_replicates": "wideberth.measurement",
    "errors_from_sides": "wideberth.measurement",
    "fill_errors": "wideberth.measurement.imputations",
    "make_robust_pipeline": "wideberth.estimators",
    "measured_scorer": "wideberth.estimators",
    "open_data": "wideberth.data",
    "path": "wideberth.path",
    "radius_from_imputations": "wideberth.measurement",
    "robust_scorer": "wideberth.estimators",
    "radius_from_replicates": "wideberth.measurement",
    "radius_from_std": "wideberth.measurement",
    "scales_from_replicates": "wideberth.measurement",
    "screen": "wideberth.screen",
    "solve": "wideberth.solve",
    "solve_conic": "wideberth.solvers.conic",
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
    "robust_scorer",
    "scales_from_replicates",
    "screen",
    "solve",
    "solve_conic",
]


class _Package(ModuleType):
    """This package, whose functions `path`, `screen` and `solve` are in modules
    of those names.

    Python makes a module that is loaded an attribute of its package; here the function
    is the attribute.
    """

    def __setattr__(self, name: str, value) -> None:
        if isinstance(value, ModuleType) and _HOMES.get(name) == value.__name__:
            value = getattr(value, name)
        super().__setattr__(name, value)


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'wideberth' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_HOMES})


sys.modules[__name__].__class__ = _Package
