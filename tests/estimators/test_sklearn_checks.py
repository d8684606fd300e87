"""scikit-learn's own checks of what an estimator must do, without exceptions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from wideberth import RobustKernelSVC, RobustLinearSVC, RobustLinearSVCCV


# The check of class weights needs an intercept, so there is always one here.
@pytest.mark.filterwarnings("ignore::wideberth.NullModelWarning")
@parametrize_with_checks(
    [
        RobustLinearSVC(),
        RobustLinearSVC(radius=0.05, tol=1e-12),
        RobustLinearSVC(
            solver_options={"intercept_penalty": 1.0}, class_weight="balanced", n_jobs=2
        ),
        RobustLinearSVC(noise="linf", norm_penalty=0.01, tol=1e-12),
        RobustLinearSVCCV(Cs=[0.1, 1.0], radii=[0.0, 0.05], cv=2, tol=1e-12),
        RobustKernelSVC(radius=0.05, tol=1e-14, class_weight="balanced", n_jobs=2),
    ]
)
def test_scikit_learn_finds_nothing_to_object(estimator, check):
    check(estimator)
