"""Scorers: by accuracy under noise, and with the errors of left-out objects.

Those of scikit-learn do not hand errors to the model they judge: they call
`predict(X)`, and metadata goes to the metric.
"""

from __future__ import annotations

from functools import wraps
from typing import ClassVar

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.utils.class_weight import compute_sample_weight

from wideberth.problem.validation import short

#: scikit-learn's name of the accuracy in which every class counts the same.
BALANCED = "balanced_accuracy"
#: What scorers ask of a model, which takes `X_err` beside X.
_RESPONSES = ("predict", "decision_function", "predict_proba")


def measured_scorer(metric="accuracy") -> MeasuredScorer:
    """Return a scorer for models whose predictions depend on errors `X_err`.

    For `scoring` of searches and cross-validation, under
    `sklearn.set_config(enable_metadata_routing=True)`: it passes the errors of the rows
    left out to the model. Without metadata routing scikit-learn passes no errors, and a
    model that was trained with errors refuses to predict.

    Parameters
    ----------
    metric : str or callable, default="accuracy"
        A name for `sklearn.metrics.get_scorer`, such as "roc_auc" or "neg_log_loss"; or
        a scorer, called as `metric(model, X, y)`.

    Returns
    -------
    callable
        Called as `scorer(model, X, y, X_err=...)`.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import MeasuredSVC
    >>> from wideberth.estimators import measured_scorer
    >>> rng = np.random.default_rng(0)
    >>> true, E = rng.normal(size=(100, 3)), rng.uniform(0, 1, size=(100, 3))
    >>> X, y = true + E * rng.normal(size=E.shape), true[:, 0] > 0
    >>> model = MeasuredSVC().fit(X, y, X_err=E)
    >>> bool(measured_scorer("roc_auc")(model, X, y, X_err=E) > 0.8)
    True
    """
    return MeasuredScorer(metric)


def robust_scorer(radius=None, *, balanced=False) -> RobustScorer:
    """Return a scorer: the accuracy under the worst errors of all samples.

    For `scoring` of `RobustLinearSVCCV`, `GridSearchCV`, `cross_val_score` and the
    like: it calls `robust_score` of the models.

    Parameters
    ----------
    radius : float, optional
        How far samples may be off, the same for all models. By default each model is
        scored at its own radius of training, which favours models with radius 0.
    balanced : bool, default=False
        Whether to return the balanced accuracy, where every class has the same weight.

    Returns
    -------
    callable
        Called as `scorer(model, X, y)`, and with `X_err=...` if metadata is routed.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.preprocessing import scale
    >>> from wideberth import RobustLinearSVC, robust_scorer
    >>> X, y = load_wine(return_X_y=True)
    >>> search = GridSearchCV(
    ...     RobustLinearSVC(), {"radius": [0, 0.5]}, scoring=robust_scorer(radius=0.5)
    ... )
    >>> search.fit(scale(X), y).best_params_
    {'radius': 0.5}
    """
    return RobustScorer(radius, balanced)


class _RoutedScorer(BaseEstimator):
    """A scorer that asks for `X_err` where metadata is routed.

    scikit-learn routes metadata only to methods that there are, so it has `score`.
    """

    __metadata_request__score: ClassVar = {"X_err": True}

    def score(self, model, X, y, X_err=None) -> float:
        """Score a model, as a call does."""
        return self(model, X, y, X_err)


class RobustScorer(_RoutedScorer):
    """What `robust_scorer` returns; it asks for `X_err` where metadata is routed."""

    def __init__(self, radius=None, balanced=False):
        self.radius = radius
        self.balanced = balanced

    def __call__(self, model, X, y, X_err=None) -> float:
        """Score a fitted classifier on samples with labels."""
        if not hasattr(model, "robust_score"):
            raise TypeError(
                f"{type(model).__name__} has no robust_score, which robust_scorer "
                "needs; give a RobustLinearSVC, alone or as the last step of "
                "make_robust_pipeline."
            )
        weights = compute_sample_weight("balanced", y) if self.balanced else None
        return model.robust_score(X, y, self.radius, weights, X_err)


class MeasuredScorer(_RoutedScorer):
    """What `measured_scorer` returns; it asks for `X_err` where metadata is routed."""

    def __init__(self, metric="accuracy"):
        self.metric = metric

    def __call__(self, model, X, y, X_err=None) -> float:
        """Score a fitted classifier on objects with labels, given their errors."""
        if not (isinstance(self.metric, str) or callable(self.metric)):
            raise TypeError(
                f"metric={short(self.metric)} is not a scorer; give a name such as "
                "'roc_auc', or what sklearn.metrics.make_scorer returns."
            )
        return get_scorer(self.metric)(_WithErrors(model, X_err), X, y)


class _WithErrors(ClassifierMixin, BaseEstimator):
    """A model whose predictions are given the errors of the rows at hand."""

    def __init__(self, model, X_err):
        self.model, self.X_err = model, X_err

    def __getattr__(self, name: str):
        if name.startswith("__") or name in ("model", "X_err"):
            raise AttributeError(name)
        found = getattr(self.model, name)
        if name not in _RESPONSES:
            return found

        @wraps(found)
        def with_errors(X):
            return found(X, X_err=self.X_err)

        return with_errors
