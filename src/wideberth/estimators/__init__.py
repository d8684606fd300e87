"""Estimators of scikit-learn: a classifier, its cross-validation, robust pipelines."""

from wideberth.estimators.cv import RobustLinearSVCCV
from wideberth.estimators.pipeline import (
    RobustPipeline,
    carry_noise,
    make_robust_pipeline,
)
from wideberth.estimators.svc import RobustLinearSVC

__all__ = [
    "RobustLinearSVC",
    "RobustLinearSVCCV",
    "RobustPipeline",
    "carry_noise",
    "make_robust_pipeline",
]
