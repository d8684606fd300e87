"""Estimators of scikit-learn: classifiers, regressors, searches, pipelines."""

from wideberth.estimators.cv import RobustLinearRegressorCV, RobustLinearSVCCV
from wideberth.estimators.kernel_svc import RobustKernelSVC
from wideberth.estimators.measured_regressor import MeasuredRegressor
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.estimators.pipeline import (
    RobustPipeline,
    carry_noise,
    make_robust_pipeline,
)
from wideberth.estimators.regressor import RobustLinearRegressor
from wideberth.estimators.scoring import measured_scorer, robust_scorer
from wideberth.estimators.svc import RobustLinearSVC
from wideberth.estimators.verdict import Verdict

__all__ = [
    "MeasuredRegressor",
    "MeasuredSVC",
    "RobustKernelSVC",
    "RobustLinearRegressor",
    "RobustLinearRegressorCV",
    "RobustLinearSVC",
    "RobustLinearSVCCV",
    "RobustPipeline",
    "Verdict",
    "carry_noise",
    "make_robust_pipeline",
    "measured_scorer",
    "robust_scorer",
]
