"""Classifiers and regressions for features with measurement errors.

Models are trained against the worst errors of every sample within a given radius. Each
comes with a certificate: a proven bound on how far its objective is above the minimum.

Names are imported when they are first used: the command line need not wait for NumPy
to say that a file is not there.
"""

from importlib import import_module as _import_module

TYPE_CHECKING = False
if TYPE_CHECKING:  # for those who read types; `_HOMES` says the same to Python
    from wideberth import errors
    from wideberth._path import path
    from wideberth._screen import screen
    from wideberth._solve import solve
    from wideberth.cli.model import load_model
    from wideberth.data import open_data
    from wideberth.estimators import (
        MeasuredRegressor,
        MeasuredSVC,
        RobustKernelSVC,
        RobustLinearRegressor,
        RobustLinearRegressorCV,
        RobustLinearSVC,
        RobustLinearSVCCV,
        make_robust_pipeline,
        robust_scorer,
    )
    from wideberth.measurement import TrueFeatures, radius_from_std
    from wideberth.noise.shapes import Box, Correlated, CrossPolytope
    from wideberth.problem.endpoints import critical_radius
    from wideberth.results import NullModelWarning

__version__ = "0.3.0"

__all__ = [
    "Box",
    "Correlated",
    "CrossPolytope",
    "MeasuredRegressor",
    "MeasuredSVC",
    "NullModelWarning",
    "RobustKernelSVC",
    "RobustLinearRegressor",
    "RobustLinearRegressorCV",
    "RobustLinearSVC",
    "RobustLinearSVCCV",
    "TrueFeatures",
    "__version__",
    "critical_radius",
    "errors",
    "load_model",
    "make_robust_pipeline",
    "open_data",
    "path",
    "radius_from_std",
    "robust_scorer",
    "screen",
    "solve",
]

#: The module that defines each public name.
_HOMES = {
    "Box": "wideberth.noise.shapes",
    "Correlated": "wideberth.noise.shapes",
    "CrossPolytope": "wideberth.noise.shapes",
    "MeasuredRegressor": "wideberth.estimators",
    "MeasuredSVC": "wideberth.estimators",
    "NullModelWarning": "wideberth.results",
    "RobustKernelSVC": "wideberth.estimators",
    "RobustLinearRegressor": "wideberth.estimators",
    "RobustLinearRegressorCV": "wideberth.estimators",
    "RobustLinearSVC": "wideberth.estimators",
    "RobustLinearSVCCV": "wideberth.estimators",
    "TrueFeatures": "wideberth.measurement",
    "critical_radius": "wideberth.problem.endpoints",
    "load_model": "wideberth.cli.model",
    "make_robust_pipeline": "wideberth.estimators",
    "open_data": "wideberth.data",
    "path": "wideberth._path",
    "radius_from_std": "wideberth.measurement",
    "robust_scorer": "wideberth.estimators",
    "screen": "wideberth._screen",
    "solve": "wideberth._solve",
}


def __getattr__(name: str):
    if name == "errors":
        return _import_module("wideberth.errors")
    if name in _HOMES:
        return getattr(_import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'wideberth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
