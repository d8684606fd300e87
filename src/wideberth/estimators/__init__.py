"""Estimators of scikit-learn: a classifier, its cross-validation, robust pipelines."""

from wideberth.estimators.cv import RobustLinearSVCCV
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.estimators.pipeline import (
    RobustPipeline,
    carry_noise,
    make_robust_pipeline,
)
from wideberth.estimators.scoring import measured_scorer, robust_scorer
from wideberth.estimators.svc import RobustLinearSVC
from wideberth.estimators.verdict import Verdict

__all__ = [
    "MeasuredSVC",
    "RobustLinearSVC",
    "RobustLinearSVCCV",
    "RobustPipeline",
    "Verdict",
    "carry_noise",
    "make_robust_pipeline",
    "measured_scorer",
    "robust_scorer",
]
