"""`TrueFeatures`: what measured features probably were, as a scikit-learn transformer.

The mathematics is in `population` and `fitting`, docs/theory/population.md; this module
reads tables, draws rows to learn from, chooses units and speaks scikit-learn.

Columns of two values, without errors and gaps, are categories c. They are no part of
the Gaussians: the other columns are x = r + cB, with effects B of the categories and a
population of residuals r. A row whose categories are known has the posterior of its
residual, moved by cB. Where one of them is missing or has an error, c counts as
Gaussian too, and the posterior is that of the population of (x, c).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from wideberth.data.errors import DataError
from wideberth.data.files import physical_memory
from wideberth.data.opening import in_chunks, open_measurements
from wideberth.measurement.fitting import GaussianFitter, category_effects, marginals
from wideberth.measurement.goodness import ROWS, far_cells, lacks, misfit
from wideberth.measurement.population import (
    Measurements,
    Population,
    Posterior,
    among,
    posterior_of,
    read_variances,
)
from wideberth.measurement.row_order import row_order
from wideberth.measurement.uncertainty import PopulationUncertainty
from wideberth.noise.reading import IN_SEARCHES, in_order_of
from wideberth.problem.arrays import host

#: Most rows that a population is learned from. What 10⁵ rows leave open is a hundredth
#: of what 10 rows do: far less than the errors of any object.
_MOST_ROWS = 100_000
#: Most products of one step of EM, n·d³, before fewer rows are drawn; about a second.
#: A population of d features has at least 20·d rows all the same.
_QUICK_STEP = 2e9
#: Most products of a step, beyond which a population is refused: some ten minutes.
_LONGEST_STEP = 1e12
#: Most categories whose effects are learned, those nearest to half of the rows: each
#: takes as many products as rows times categories.
_MOST_EFFECTS = 200


class TrueFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace measurements by posterior means of the true features.

    Each cell has a standard error, and some cells are missing. `fit` learns the
    population of the objects, one Gaussian or several. `transform` returns the
    posterior mean of the true features of each object: cells with small errors hardly
    change, cells with large errors move to what the other cells predict, and missing
    cells are filled. Exact cells do not change. Columns with two values, no errors and
    no gaps, such as one-hot categories, are not part of the Gaussians; the means of the
    other columns depend on them.

    It can be used before any model. Give `X_err` to `fit` and to `transform`: new
    objects have errors of their own.

    Parameters
    ----------
    n_components : {"auto", "per_class"} or int, default="auto"
        Number of Gaussians of the population. "per_class" fits one for each label in
        `y`; `transform` does not use labels. "auto" chooses between that and a single
        one by the likelihood of rows left out. It takes a single one without labels, or
        if a class has no more rows than features.
    shrinkage : "auto" or float, default="auto"
        Weight, in rows, of the prior that features are uncorrelated. "auto" chooses
        from …, ¼, 1, 4, 16, … by the likelihood of rows left out. The weight is at
        least a millionth of the number of rows, so that covariances are never singular:
        true values of two equal columns then differ by about a thousandth of their
        standard deviation.
    tol : float, default=1e-4
        EM has converged when a plain step changes the log likelihood plus log prior by
        at most this per row.
    max_iter : int, default=200
        Largest number of steps of EM.
    verbose : bool or int, default=0
        Whether to print the progress of fitting.
    random_state : int, RandomState instance, optional
        For the starting point of a mixture with `n_components` > 1, by k-means.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
        Weight of each Gaussian.
    means_ : array of shape (n_components, n_features)
    covariances_ : array of shape (n_components, n_features, n_features)
        Of the true features, without errors.
    n_components_ : int
    shrinkage_ : array of shape (n_components,)
        Weight of the prior of each Gaussian, in rows.
    n_iter_ : int
        Steps of EM; the largest number over the Gaussians.
    objective_ : list of float
        Objective of EM after each step, for the Gaussian with the most steps. It never
        falls.
    misfit_ : dict of str to list of int
        Columns where the population does not fit the measurements: "lumps" (clusters or
        a skew) and heavy "tails". −1 stands for whole rows. `fit` warns of them.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import TrueFeatures
    >>> rng = np.random.default_rng(0)
    >>> true = rng.normal(size=(500, 1)) + 0.3 * rng.normal(size=(500, 3))
    >>> errors = rng.uniform(0.1, 2.0, size=(500, 3))
    >>> measured = true + errors * rng.normal(size=(500, 3))
    >>> found = TrueFeatures().fit_transform(measured, X_err=errors)
    >>> bool(np.mean((found - true) ** 2) < 0.2 * np.mean((measured - true) ** 2))
    True
    """

    __metadata_request__fit: ClassVar = {"X_err": True}
    __metadata_request__transform: ClassVar = {"X_err": True}
    _parameter_constraints: ClassVar = {
        "n_components": [
            StrOptions({"auto", "per_class"}),
            Interval(Integral, 1, None, closed="left"),
        ],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components="auto",
        *,
        shrinkage="auto",
        tol=1e-4,
        max_iter=200,
        verbose=0,
        random_state=None,
    ):
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state

    #: Given by models whose rows are in `row_order` already: what users call them.
    _sorted_rows: np.ndarray

    def fit(self, X, y=None, *, X_err=None):
        """Learn the population from measurements, of at most 100 000 rows.

        If there are more rows, 100 000 are drawn at random, always the same ones. The
        order of the rows and the names of classes do not matter.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features), or what is read in chunks
            Measurements, NaN where there is none. Files, Dask collections and chunks
            are given as for `wideberth.open_data`, and so are `y` and `X_err`; labels
            may be missing, (X, None, None, None, X_err). They are read once.
        y : array of shape (n_samples,), optional
            Labels, for one Gaussian per class.
        X_err : array or frame of shape (n_samples, n_features), or a number, optional
            Standard errors, 0 if a value is exact; frames are aligned by name. Errors
            of missing cells are ignored. Or covariances of the errors of each row, of
            shape (n_samples, n_features, n_features). By default all values are exact.

        Returns
        -------
        self
        """
        self._validate_params()
        part, labels, rows = self._gather(X, y, X_err)
        sorted_rows = self.__dict__.pop("_sorted_rows", None)
        if sorted_rows is None:
            order = row_order(part, labels)
            part, rows = part[order], rows[order]
            labels = None if labels is None else labels[order]
        else:
            rows = sorted_rows[rows]
        refuse_empty_columns(part.values, self._names())
        # So that units do not matter; features that never vary have none.
        centre, variance = marginals(part, self.max_iter, self.tol**0.5)
        low, high = np.nanmin(part.values, axis=0), np.nanmax(part.values, axis=0)
        width = np.where(variance > 0, np.sqrt(variance), high - low)
        ends = (part.values == low) | (part.values == high)
        categories = (part.exact & ends).all(axis=0)
        self._centre, self._scale = centre, np.where(width > 0, width, 1.0)
        self._beside = categories | (width == 0)
        part, labels, rows = self._quick(part, labels, rows)
        self._measured = bool(part.variances.any())
        self._warn_of_far_cells(part, rows)
        scaled = part.scaled(self._centre, self._scale)
        learned = self._residuals(scaled, categories & (width > 0))
        report = self._report if self.verbose else None
        fitter = GaussianFitter(self.shrinkage, self.tol, self.max_iter, report)
        fit, prior = fitter.fit(learned, labels, self.n_components, self.random_state)
        self._population = fit.population
        self._uncertainty = PopulationUncertainty.of(fit.population, learned, prior)
        joint = self._joint
        self.weights_ = joint.shares
        self.means_ = self._centre + self._scale * joint.means
        self.covariances_ = self._scale[:, None] * self._scale * joint.covariances
        self.n_components_ = len(self.weights_)
        self.shrinkage_ = prior.rows
        self.objective_, self.n_iter_ = fit.objectives, len(fit.objectives)
        if not fit.converged:
            warnings.warn(
                f"EM has not converged after {self.n_iter_} steps (max_iter="
                f"{self.max_iter}): the last one changed the log likelihood by more "
                f"than tol={self.tol:g} per row. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        columns = misfit(fitter, fit.population, learned, prior)
        places = {ROWS: ROWS} | dict(enumerate(np.flatnonzero(~self._beside).tolist()))
        self.misfit_ = {what: [places[j] for j in js] for what, js in columns.items()}
        if found := lacks(self.misfit_, self._names()):
            K = self.n_components_
            warnings.warn(
                f"A population of {f'{K} Gaussians' if K > 1 else 'one Gaussian'} does "
                f"not fit these measurements: {found}. Posteriors and chances depend "
                "on it. Take logarithms of skewed columns, or a larger n_components, "
                f"such as {K + 1}.",
                UserWarning,
                stacklevel=2,
            )
        return self

    def fit_transform(self, X, y=None, *, X_err=None):
        """Learn the population and return the posterior means of the same rows.

        Parameters
        ----------
        X, y, X_err
            As for `fit`. Labels are used to fit only: these rows are transformed like
            new ones.

        Returns
        -------
        array or frame of shape (n_samples, n_features)
        """
        return self.fit(X, y, X_err=X_err).transform(X, X_err=X_err)

    def transform(self, X, X_err=None):
        """Return the posterior mean of the true features.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Measurements, NaN where there is none.
        X_err : error bars of these rows, optional
            As for `fit`; `X_err=0` says that all values are exact. Required if `fit`
            had errors.

        Returns
        -------
        array or frame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        part = self._read(X, X_err)
        return np.concatenate(
            [self._posterior(block, False).mean for block in part.blocks()]
        )

    def posterior(self, X, X_err=None) -> Posterior:
        """Return posterior means and covariances of the true features.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        X_err : error bars of these rows, optional
            As for `transform`.

        Returns
        -------
        Posterior
            `mean` and `covariance` of each row, for `RobustLinearSVC.fit(mean, y,
            X_err=covariance)`; and the same for each Gaussian, with `responsibilities`.
        """
        check_is_fitted(self)
        part = self._read(X, X_err)
        n, d = part.values.shape
        size = n * d**2 * 8 * (self.n_components_ + 1)
        if size > physical_memory() / 2:
            raise ValueError(
                f"The posteriors of {n} rows and {d} columns take {size / 1e9:.2g} GB, "
                "more than half of this machine's memory. Ask for fewer rows at a "
                "time, or for means alone: transform."
            )
        return self._posterior(part, True)

    def _posterior(self, part: Measurements, covariance: bool) -> Posterior:
        scaled, beside = part.scaled(self._centre, self._scale), self._beside
        doubt = self._uncertainty.among(~beside)
        if part.exact[:, beside].all():
            known = np.where(beside, scaled.values, 0.0)
            shift = known @ self._effects
            rest = replace(scaled, values=scaled.values - shift).columns(~beside)
            own = self._population, rest, covariance, self._uncertainty
            found = posterior_of(*own).among(~beside, known + shift)
        else:
            found = posterior_of(self._joint, scaled, covariance, doubt)
            shift = np.where(beside, found.mean, 0.0) @ self._effects
        found = replace(found, uncertainty=doubt, shift=shift)
        return found.in_units(part, self._centre, self._scale)

    @property
    def _joint(self) -> Population:
        """The population of all columns in standard units, categories as Gaussians."""
        own, columns = self._population, ~self._beside
        mix = np.eye(len(columns)) + self._effects.T
        spreads = among(own.covariances, columns, 2) + np.diag(self._categories)
        return Population(own.shares, among(own.means, columns), mix @ spreads @ mix.T)

    def _residuals(self, scaled: Measurements, categories: np.ndarray) -> Measurements:
        """The columns of the population, without what the categories explain."""
        d, self._categories = len(categories), categories
        self._effects, modelled = np.zeros((d, d)), ~self._beside
        rarity = np.abs(scaled.values).max(axis=0, initial=0.0, where=categories)
        chosen = np.flatnonzero(categories)
        chosen = np.sort(
            chosen[np.argsort(rarity[chosen], kind="stable")][:_MOST_EFFECTS]
        )
        rest = scaled.columns(modelled)
        if not (len(chosen) and modelled.any()):
            return rest
        effects, explained = category_effects(rest, scaled.values[:, chosen])
        self._effects[np.ix_(chosen, np.flatnonzero(modelled))] = effects
        return replace(rest, values=rest.values - explained)

    def _quick(self, part: Measurements, labels, rows) -> tuple:
        """As many rows as EM takes in a second per step, or 20 per column if more."""
        n, d = len(part), int(np.sum(~self._beside))
        c = min(d and int(self._beside.sum()), _MOST_EFFECTS)
        cost = max(d**3, d * c**2, 1)
        stride = max(n // max(int(_QUICK_STEP / cost), 20 * (d + c)), 1)
        size = 8 * 4 * len(self._beside) ** 2  # covariances, effects and their products
        if size > physical_memory() / 2:
            raise ValueError(
                f"X has {len(self._beside)} columns, whose covariances take "
                f"{size / 1e9:.2g} GB, more than half of this machine's memory. Drop "
                "columns, or join rare categories."
            )
        if n // stride * cost > _LONGEST_STEP:
            hours = n // stride * cost / _QUICK_STEP / 3600
            raise ValueError(
                f"X has {d} columns with errors, gaps or more than two values. One "
                f"step of EM over {n // stride} rows of them takes about {hours:.1g} "
                "hours, and EM takes many steps. Drop columns, or combine them first, "
                "such as by a PCA."
            )
        return (
            part[::stride],
            None if labels is None else labels[::stride],
            rows[::stride],
        )

    def _report(self, line: str) -> None:
        print(f"[{type(self).__name__}] {line}", flush=True)

    def _read(self, X, X_err, reset: bool = False) -> Measurements:
        X_err = in_order_of(X_err, X)
        X = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
        )
        if X_err is None and not reset and self._measured:
            raise ValueError(
                "X_err must be given: the population was learned from measurements "
                "with errors, and new rows need theirs. Give X_err=…, one error for "
                "every cell of X, or X_err=0 if all values are exact. "
                f"{IN_SEARCHES}"
            )
        names = getattr(self, "feature_names_in_", None)
        variances, covariances = read_variances(
            0.0 if X_err is None else X_err, X, None if names is None else list(names)
        )
        return Measurements(np.ascontiguousarray(X), variances, covariances)

    def _gather(
        self, X, y, X_err
    ) -> tuple[Measurements, np.ndarray | None, np.ndarray]:
        """Rows to learn from, numbers of their classes, and their numbers among all."""
        rows, names = None, None
        if in_chunks(X):
            source = open_measurements(X, y, X_err)
            rows, drawn = source.draw(_MOST_ROWS)
            names = source.names
            if len(drawn.errors) == 2:
                raise DataError(
                    "The errors are a pair (down, up); the population takes one "
                    "standard error for each cell, such as half their sum."
                )
            X, y, X_err = host(drawn.X), drawn.y, drawn.X_err
        part = self._read(X, X_err, reset=True)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        y = None if y is None else column_or_1d(y)
        if y is not None and len(y) != len(part):
            raise ValueError(f"y has {len(y)} labels; X has {len(part)} rows.")
        if rows is None:
            rows = np.arange(len(part))
        if len(part) > _MOST_ROWS:
            rows = np.sort(np.random.default_rng(0).permutation(rows)[:_MOST_ROWS])
            part, y = part[rows], None if y is None else y[rows]
        return part, self._labels(y), rows

    def _names(self):
        return getattr(self, "feature_names_in_", range(self.n_features_in_))

    def _labels(self, y: np.ndarray | None) -> np.ndarray | None:
        """Numbers of classes; None where they are not to be used."""
        if self.n_components == "per_class":
            if y is None:
                raise ValueError(
                    "n_components='per_class' needs the labels y; give them to fit, or "
                    "choose a number of Gaussians."
                )
            check_classification_targets(y)
        elif (
            self.n_components != "auto"
            or y is None
            or type_of_target(y) not in ("binary", "multiclass")
        ):
            return None
        return np.unique(y, return_inverse=True)[1]

    def _warn_of_far_cells(self, part: Measurements, rows: np.ndarray) -> None:
        """Warn of tails that no Gaussian has, where posteriors depend on it."""
        if not (self._measured or np.isnan(part.values).any()):
            return
        if far := far_cells(part, self._beside, rows, self._names()):
            warnings.warn(
                f"{far} A population of Gaussians has no such tails: take logarithms, "
                "give larger errors, or set such cells to NaN.",
                UserWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    _doc_link_module = "wideberth"
    _doc_link_template = (
        "https://wideberth.readthedocs.io/en/stable/api/{estimator_name}.html"
    )


def refuse_empty_columns(X: np.ndarray, names=None) -> None:
    """Refuse rows of which no one has a value in some column."""
    empty = np.isnan(X).all(axis=0) if X.ndim == 2 else np.zeros(1, dtype=bool)
    if empty.any():
        names = range(X.shape[1]) if names is None else names
        raise ValueError(
            f"X has no measurement at all in column {names[int(empty.argmax())]!r}; a "
            "population cannot be learned from none. Drop that column."
        )
