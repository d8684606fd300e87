"""scikit-learn's own tests of its robust regressions, with our regressor in place."""

import inspect

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes
from sklearn.linear_model.tests import test_quantile as theirs
from sklearn.svm import SVR

from wideberth import RobustLinearRegressor

#: C at which the ridge penalty changes coefficients by less than these tests allow.
LARGE = 1e7
CASES = [
    *(("toy_example", *case) for case in [
        (0.5, 0, 1, None), (0.51, 0, 1, 10), (0.49, 0, 1, 1),
        (0.5, 0.01, 1, 1), (0.5, 100, 2, 0),
    ]),
    ("equals_huber_for_low_epsilon", True),
    ("equals_huber_for_low_epsilon", False),
    *(("estimates_calibration", q) for q in (0.5, 0.9, 0.05)),
    ("sample_weight",),
    *(("asymmetric_error", q) for q in (0.2, 0.5, 0.8)),
    *(("equivariance", q) for q in (0.2, 0.5, 0.8)),
    *(("sparse_input", csr_matrix, "highs", free, 0) for free in (True, False)),
]  # fmt: skip


class Ours(RegressorMixin, BaseEstimator):
    """The problem of `QuantileRegressor`: mean pinball loss + α‖w‖₁."""

    def __init__(self, quantile=0.5, alpha=1.0, fit_intercept=True, solver="highs"):
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver

    def fit(self, X, y, sample_weight=None):
        total = len(y) if sample_weight is None else np.sum(sample_weight)
        self.model_ = RobustLinearRegressor(
            self.quantile,
            C=LARGE,
            radius=0.0,
            noise="linf",
            norm_penalty=LARGE * self.alpha * total,
            fit_intercept=self.fit_intercept,
            tol=1e-10,
        ).fit(X, y, sample_weight)
        self.coef_, self.intercept_ = self.model_.coef_, self.model_.intercept_
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.filterwarnings("ignore")  # of a regression that theirs is held against
@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_holds_for_quantile_regressor_holds_here(case, monkeypatch):
    name, *values = case
    monkeypatch.setattr(theirs, "QuantileRegressor", Ours)
    test = getattr(theirs, f"test_{name}", None) or getattr(
        theirs, f"test_quantile_{name}"
    )
    names = inspect.signature(test).parameters
    test(*values, **{"default_solver": "highs"} if "default_solver" in names else {})


@pytest.mark.parametrize("weighted", [False, True])
def test_what_holds_for_linear_svr_holds_here(weighted):
    """`test_linearsvr` and `test_linearsvr_fit_sampleweight`, of absolute deviations.

    The support vector regression that counts all deviations minimises
    ½‖w‖² + CΣ|r_i|, which is ours at twice its C, in units of `target_scale_`.
    """
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 10, len(y)) if weighted else None
    svr = SVR(kernel="linear", epsilon=0, C=1e3, tol=1e-5).fit(X, y, weight)
    scale = RobustLinearRegressor().fit(X, y, weight).target_scale_
    ours = RobustLinearRegressor(C=2e3 / scale, radius=0.0, tol=1e-8)
    ours.fit(X, y, weight)
    np.testing.assert_allclose(
        ours.coef_, svr.coef_[0], atol=0.01 * abs(svr.coef_).max()
    )
    assert ours.score(X, y) == pytest.approx(svr.score(X, y), abs=1e-3)
    if weighted:
        again = RobustLinearRegressor(C=2e3 / scale, radius=0.0, tol=1e-8)
        again.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(again.coef_, ours.coef_, rtol=1e-3)
