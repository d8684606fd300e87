"""The whole procedure from rows to a fitted model, on all rows as in every fold."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from wideberth.cli.commands import FitOptions
from wideberth.cli.errors import UserError
from wideberth.cli.options import TrainingOptions
from wideberth.estimators import RobustLinearSVC, RobustLinearSVCCV
from wideberth.estimators.pipeline import (
    RobustPipeline,
    carry_noise,
    make_robust_pipeline,
)

__all__ = ["Fitted", "Recipe", "fold_count", "preparation", "texts_of"]

#: Number of values of C that --cv chooses from.
_POINTS = 12
#: Number of folds that --cv chooses by where --folds asks for none.
_FOLDS = 5


def preparation(options: TrainingOptions, X) -> Pipeline:
    """Return the steps before the classifier as one transformer, fitted to the rows."""
    return make_pipeline(*(_steps(options, X) or [FunctionTransformer()])).fit(X)


def _steps(options: TrainingOptions, X) -> list:
    """What is done to the rows before they reach the classifier."""
    sparse = sp.issparse(X)
    steps: list = []
    if options.missing == "median" and not sparse:
        steps.append(SimpleImputer(strategy="median"))
    if options.standardize:
        steps.append(StandardScaler(with_mean=not sparse))
    return steps


@dataclass(frozen=True)
class Fitted:
    """A model, the radii it was trained under, how it was chosen, and warnings."""

    model: RobustPipeline
    radius: float | np.ndarray
    choice: dict | None
    notes: list[str]

    @property
    def factor(self) -> float:
        """What the radii that options give were multiplied with in training."""
        return 1.0 if self.choice is None else float(self.choice["factor"])


@dataclass(frozen=True)
class Recipe:
    """Preprocessing and classifier, as the options ask for."""

    options: FitOptions
    noise: str | np.ndarray

    def fit(self, X, y, radius) -> Fitted:
        """Fit to rows with one radius, or one each."""
        try:
            choice = self._choose(X, y, radius) if self.options.cv else None
            return self._train(X, y, radius, choice)
        except ValueError as error:
            raise UserError(str(error)) from error

    def _train(self, X, y, radius, choice: dict | None) -> Fitted:
        options = self.options
        if choice is not None:
            radius = choice["factor"] * radius
        each = np.ndim(radius) > 0
        classifier = RobustLinearSVC(
            C=options.C if choice is None else choice["C"],
            radius=0.0 if each else float(radius),
            noise=self.noise,
            class_weight=options.class_weight,
            tol=options.tol,
            random_state=options.seed,
        )
        model = make_robust_pipeline(*_steps(options, X), classifier)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y, **{"robustlinearsvc__radius": radius} if each else {})
        return Fitted(model, radius, choice, texts_of(caught))

    def _choose(self, X, y, radius) -> dict:
        """C, and a factor on the radii, by cross-validation within these rows."""
        options, prepare = self.options, preparation(self.options, X)
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


def fold_count(y: np.ndarray, wanted: int) -> int:
    """As many folds as every class has samples for; 0 where it cannot be done."""
    folds = min(wanted, int(np.unique(y, return_counts=True)[1].min()))
    return folds if folds >= 2 else 0


def texts_of(caught: list[warnings.WarningMessage]) -> list[str]:
    """What a solver had to say, of all warnings of a fit."""
    return [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
