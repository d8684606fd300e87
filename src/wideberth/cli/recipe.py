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
from wideberth.estimators.pipeline import (
    RobustPipeline,
    carry_noise,
    make_robust_pipeline,
)

__all__ = ["Fitted", "Recipe", "fold_count", "texts_of"]

#: Values of C to choose from, and folds to choose by where none are asked for.
_POINTS, _FOLDS = 12, 5


@dataclass(frozen=True)
class Fitted:
    """A model, the radii it was trained under, how it was chosen, and warnings."""

    model: RobustPipeline
    radius: float | np.ndarray
    choice: dict | None
    notes: list[str]


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

    def fit(self, X, y, radius) -> Fitted:
        """Fit to rows with one radius, or one each."""
        C, factor, choice = self.options.C, 1.0, None
        try:
            if self.options.cv:
                choice = self._choose(X, y, radius)
                C, factor = choice["C"], choice["factor"]
            radius = factor * radius
            model = make_robust_pipeline(*self.steps(), self._classifier(C, radius))
            params = {"robustlinearsvc__radius": radius} if np.ndim(radius) else {}
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(X, y, **params)
        except ValueError as error:
            raise UserError(str(error)) from error
        return Fitted(model, radius, choice, texts_of(caught))

    def _choose(self, X, y, radius) -> dict:
        """C, and a factor on the radii, by cross-validation within these rows."""
        from sklearn.model_selection import StratifiedKFold

        from wideberth.estimators.cv import RobustLinearSVCCV

        options, prepare = self.options, self.preparation().fit(X)
        folds = fold_count(y, options.folds or _FOLDS)
        if not folds:
            raise UserError("--cv needs at least two rows of every class.")
        search = RobustLinearSVCCV(
            Cs=_POINTS,
            radii=options.radii if options.radii and np.any(radius) else [1.0],
            noise=carry_noise(self.noise, prepare, X),
            class_weight=options.class_weight,
            cv=StratifiedKFold(folds, shuffle=True, random_state=options.seed),
            scoring_radius=options.score_radius,
            tol=options.tol,
            random_state=options.seed,
            refit=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # models that are not chosen
            search.fit(prepare.transform(X), y, radius=radius)
        return {
            "C": float(search.C_),
            "factor": float(search.radius_),
            "score": float(search.best_score_),
            "Cs": search.Cs_.tolist(),
            "factors": search.radii_.tolist(),
            "scores": search.scores_.mean(axis=-1).tolist(),
            "folds": folds,
        }

    def preparation(self):
        """Return the steps before the classifier as one transformer."""
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer

        return make_pipeline(*(self.steps() or [FunctionTransformer()]))

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

    def _classifier(self, C: float, radius) -> RobustLinearSVC:
        return RobustLinearSVC(
            C=C,
            radius=0.0 if np.ndim(radius) else float(radius),
            noise=self.noise,
            class_weight=self.options.class_weight,
            tol=self.options.tol,
            random_state=self.options.seed,
        )


def fold_count(y: np.ndarray, wanted: int) -> int:
    """As many folds as every class has samples for; 0 where it cannot be done."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    return min(wanted, smallest) if min(wanted, smallest) >= 2 else 0


def texts_of(caught: list[warnings.WarningMessage]) -> list[str]:
    """What a solver had to say, of all warnings of a fit."""
    return [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
