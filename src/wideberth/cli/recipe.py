"""The whole procedure from rows to a fitted model, on all rows as in every fold."""

from __future__ import annotations

import warnings
from argparse import Namespace
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from wideberth.cli.errors import UserError
from wideberth.cli.uncertainty import Uncertainty
from wideberth.estimators import RobustLinearSVC
from wideberth.pipeline import RobustPipeline, make_robust_pipeline

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """Preprocessing and classifier, as the options ask for."""

    options: Namespace
    noise: str | np.ndarray
    sparse: bool

    @classmethod
    def of(cls, options: Namespace, X, uncertainty: Uncertainty) -> Recipe:
        """Take what does not change from fold to fold."""
        return cls(options, uncertainty.noise, sp.issparse(X))

    def fit(self, X, y, radius) -> tuple[RobustPipeline, list[Warning]]:
        """Fit to rows with one radius, or one each; return the model and warnings."""
        classifier = self._classifier(radius)
        model = make_robust_pipeline(*self.steps(), classifier)
        params = {"robustlinearsvc__radius": radius} if np.ndim(radius) else {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model.fit(X, y, **params)
            except ValueError as error:
                raise UserError(str(error)) from error
        own = [w.message for w in caught if isinstance(w.message, UserWarning)]
        return model, own  # type: ignore[return-value]

    def steps(self) -> list:
        """What is done to the rows before they reach the classifier."""
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import StandardScaler

        steps: list = []
        if self.options.missing == "median" and not self.sparse:
            steps.append(SimpleImputer(strategy="median"))
        if self.options.standardize:
            steps.append(StandardScaler(with_mean=not self.sparse))
        return steps

    def _classifier(self, radius) -> RobustLinearSVC:
        return RobustLinearSVC(
            C=self.options.C,
            radius=0.0 if np.ndim(radius) else float(radius),
            noise=self.noise,
            class_weight=self.options.class_weight,
            tol=self.options.tol,
            random_state=self.options.seed,
        )
