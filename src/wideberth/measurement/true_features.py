"""`TrueFeatures`: what measured features probably were, as a scikit-learn transformer.

The mathematics is in `population`, docs/theory/population.md; this module reads tables,
chooses units and Gaussians, and speaks scikit-learn.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from wideberth.data.opening import in_chunks, open_measurements
from wideberth.measurement.components import Components
from wideberth.measurement.em import marginals
from wideberth.measurement.gaussians import GaussianFitter
from wideberth.measurement.goodness import ROWS, lacks, misfit
from wideberth.measurement.population import (
    Measurements,
    Population,
    Posterior,
    posterior_of,
)
from wideberth.measurement.tables import (
    BLOCK,
    ChunkTable,
    ClassSample,
    FarCells,
    MeasurementTable,
    MemoryTable,
    Units,
    read_variances,
)
from wideberth.measurement.uncertainty import PopulationUncertainty
from wideberth.noise.reading import IN_SEARCHES, in_order_of
from wideberth.problem.validation import short

#: How far from the median of its column a measurement is warned of, in units of its
#: error and the range of the middle half: a choice, far outside any Gaussian.
_FAR = 20.0
_NO_LABELS = (
    "n_components='per_class' needs the labels y; give them to fit, or choose a "
    "number of Gaussians."
)


class TrueFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace measurements by what the true features probably were.

    Measurements have errors, a standard error in each cell, and some are missing. This
    learns the population that the objects come from, a Gaussian or several, and gives
    for each object the posterior mean of its true features: cells with small errors
    stay, cells with large ones move to where the other cells and the population say
    they should be, and missing ones are filled. Exact cells stay exactly.

    It is useful before any model, not only those of this package. Give `X_err` to `fit`
    and to `transform`: new objects have errors of their own.

    Parameters
    ----------
    n_components : {"auto", "per_class"} or int, default="auto"
        Gaussians of the population. "per_class" has one for each label in `y`; labels
        are used to fit, never to denoise. "auto" takes that or a single one, whichever
        makes rows that were left out likelier; a single one without labels, or if a
        class has no more rows than there are features.
    shrinkage : "auto" or float, default="auto"
        How many rows the claim counts for that features do not depend on each other.
        "auto" takes that of …, ¼, 1, 4, 16, … under which rows that were left out
        are likeliest. It always counts for a millionth of the rows at least, so that
        covariances are never singular: two columns that hold the same quantity have
        true values that differ by a thousandth of their spread.
    tol : float, default=1e-4
        EM has converged when a plain step changes the log likelihood, with that of the
        prior, by no more than this per row.
    max_iter : int, default=200
        Most steps of EM.
    n_jobs : int, optional
        Threads that share the rows. The result is the same for any number.
    random_state : int, RandomState instance, optional
        For the start of a mixture of `n_components` > 1, by k-means.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
        Share of each Gaussian.
    means_ : array of shape (n_components, n_features)
    covariances_ : array of shape (n_components, n_features, n_features)
        Of the true features, without errors.
    n_components_ : int
    shrinkage_ : array of shape (n_components,)
        Rows that the prior of each Gaussian counts for.
    n_iter_ : int
        Steps of EM, of the Gaussian that took most.
    objective_ : list of float
        What EM maximised, step by step; of the Gaussian that took most. It never falls,
        and the last one is that of the population.
    misfit_ : dict of str to list of int
        Columns where the measurements have what the population has not: "lumps", which
        may be a skew, and heavy "tails". −1 stands for whole rows. `fit` warns of them.
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
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components="auto",
        *,
        shrinkage="auto",
        tol=1e-4,
        max_iter=200,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y=None, *, X_err=None):
        """Learn the population from measurements.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features), or what is read in chunks
            Measurements, NaN where there is none. Files, Dask collections and chunks
            of a program are taken as `wideberth.open_data` takes them, with `y` and
            `X_err` as there; labels may be missing, (X, None, None, None, X_err).
        y : array of shape (n_samples,), optional
            Labels, for one Gaussian per class.
        X_err : array or frame of shape (n_samples, n_features), or a number, optional
            Standard errors, 0 where a value is exact; frames are used by name. Cells
            without a measurement may have any. Covariances of the errors of each row,
            shape (n_samples, n_features, n_features), are taken too. By default all
            values are exact.

        Returns
        -------
        self
        """
        self._validate_params()
        table = self._open(X, y, X_err)
        sample = table.sample()
        _refuse_empty(np.isnan(sample.low), self._names())
        # So that units do not matter; features that never vary have none.
        centre, variance = marginals(sample.evenly, self.max_iter, self.tol**0.5)
        width = np.where(variance > 0, np.sqrt(variance), sample.high - sample.low)
        varying = width > 0
        units = Units(centre, np.where(varying, width, 1.0), varying)
        self._centre, self._scale = units.centre, units.scale
        fitter = GaussianFitter(self.shrinkage, self.tol, self.max_iter, self.n_jobs)
        components = Components(self.n_components, fitter, self.random_state)
        scaled = sample.in_units(units)
        fit, prior = components.fit(table.in_units(units), scaled)
        self._population = _spread_out(fit.population, varying)
        self._uncertainty = PopulationUncertainty.of(
            fit.population, scaled.evenly, prior, int(sample.counts.sum())
        ).spread_out(varying)
        self.weights_ = fit.population.shares
        self.means_ = centre + self._scale * self._population.means
        self.covariances_ = (
            self._scale[:, None] * self._scale * self._population.covariances
        )
        self.n_components_ = len(self.weights_)
        self.shrinkage_ = prior.rows
        self.objective_, self.n_iter_ = fit.objectives, len(fit.objectives)
        self._measured = sample.measured
        if not fit.converged:
            warnings.warn(
                f"EM has not converged after {self.n_iter_} steps (max_iter="
                f"{self.max_iter}): the last one changed the log likelihood by more "
                f"than tol={self.tol:g} per row. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._warn_of_far_cells(table, sample)
        columns = misfit(fitter, fit.population, scaled.evenly, prior)
        places = {ROWS: ROWS} | dict(enumerate(np.flatnonzero(varying).tolist()))
        self.misfit_ = {what: [places[j] for j in js] for what, js in columns.items()}
        if found := lacks(self.misfit_, self._names()):
            K = self.n_components_
            warnings.warn(
                f"A population of {f'{K} Gaussians' if K > 1 else 'one Gaussian'} does "
                f"not fit these measurements: {found}. Posteriors and chances rest on "
                "it. Take logarithms of skewed columns, or give a larger n_components, "
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
            As for `fit`. Labels serve to fit only: these rows are treated as new ones.

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
            As for `fit`; `X_err=0` says that all values are exact. What was fitted to
            measurements with errors asks for them.

        Returns
        -------
        array or frame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        part = self._read(X, X_err)
        return np.concatenate(
            [self._posterior(block, None).mean for block in part.blocks(BLOCK)]
        )

    def posterior(self, X, X_err=None, covariance="full") -> Posterior:
        """Return posterior means and covariances of the true features.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        X_err : error bars of these rows, optional
            As for `transform`.
        covariance : {"full", "diagonal"}, default="full"
            Whether covariances are matrices, or variances only, which take less memory.

        Returns
        -------
        Posterior
            `mean` and `covariance` of each row, which `RobustLinearSVC.fit(mean, y,
            X_err=covariance)` takes; and the same for each Gaussian, with
            `responsibilities`.
        """
        check_is_fitted(self)
        if not isinstance(covariance, str) or covariance not in ("full", "diagonal"):
            raise ValueError(
                f"covariance={short(covariance)} is not known; choose 'full' or "
                "'diagonal'."
            )
        return self._posterior(self._read(X, X_err), covariance)

    def _posterior(self, part: Measurements, covariance) -> Posterior:
        scaled = part.scaled(self._centre, self._scale)
        found = posterior_of(self._population, scaled, covariance, self._uncertainty)
        return found.in_units(part, self._centre, self._scale)

    def _read(self, X, X_err, reset: bool = False) -> Measurements:
        X_err = in_order_of(X_err, X)
        X = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
        )
        if X_err is None and not reset and self._measured:
            raise ValueError(
                "X_err must be given: the population was learned from measurements "
                "with errors, and those of these rows are not known. Give X_err=... , "
                "one error for every cell of X, or X_err=0 where all values are exact. "
                f"{IN_SEARCHES}"
            )
        names = getattr(self, "feature_names_in_", None)
        variances, covariances = read_variances(
            0.0 if X_err is None else X_err, X, None if names is None else list(names)
        )
        return Measurements(np.ascontiguousarray(X), variances, covariances)

    def _open(self, X, y, X_err) -> MeasurementTable:
        """What is to be learned from, in memory or in chunks."""
        labelled = self.n_components in ("auto", "per_class")
        if not in_chunks(X):
            part = self._read(X, X_err, reset=True)
            return MemoryTable(part, self._labels(y, len(part)) if labelled else None)
        source = open_measurements(X, y, X_err)
        table = ChunkTable(source, labelled)
        if self.n_components == "per_class" and table.classes is None:
            raise ValueError(_NO_LABELS)
        self.n_features_in_ = source.d
        self.__dict__.pop("feature_names_in_", None)
        if source.names is not None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        return table

    def _names(self):
        return getattr(self, "feature_names_in_", range(self.n_features_in_))

    def _labels(self, y, n: int) -> np.ndarray | None:
        """Numbers of classes; None where they are not to be used."""
        if self.n_components == "auto":
            kinds = ("binary", "multiclass")
            if y is None or type_of_target(y) not in kinds:
                return None
        if y is None:
            raise ValueError(_NO_LABELS)
        y = column_or_1d(y)
        check_classification_targets(y)
        if len(y) != n:
            raise ValueError(f"y has {len(y)} labels; X has {n} rows.")
        return np.unique(y, return_inverse=True)[1]

    def _warn_of_far_cells(self, table: MeasurementTable, sample: ClassSample) -> None:
        """Warn of tails that no Gaussian has, where posteriors depend on it."""
        rows = sample.evenly
        if not (self._measured or np.isnan(rows.values).any()):
            return
        low, middle, high = np.nanpercentile(rows.values, [25, 50, 75], axis=0)
        width = np.where(high > low, high - low, np.inf)
        found = list(table.map(FarCells(middle, width, _FAR)))
        far = sum(counts for counts, *_ in found)
        if far.any():
            _, _, place, column = max(found, key=lambda each: each[1])
            names = self._names()
            columns = ", ".join(str(names[j]) for j in np.flatnonzero(far))
            warnings.warn(
                f"{far.sum()} measurements are more than {_FAR:g} times as far from "
                "the median of their column as their error and the middle half of the "
                f"column explain, in the columns: {columns}. The worst is in {place}, "
                f"column {names[column]!s}. A population of Gaussians has no such "
                "tails: take logarithms, raise errors, or set such cells to NaN.",
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


def _spread_out(population: Population, columns: np.ndarray) -> Population:
    """A population of some features, the others being 0 always."""
    K, d = len(population.shares), len(columns)
    means, covariances = np.zeros((K, d)), np.zeros((K, d, d))
    means[:, columns] = population.means
    covariances[:, np.outer(columns, columns)] = population.covariances.reshape(K, -1)
    return Population(population.shares, means, covariances)


def refuse_empty_columns(X: np.ndarray, names=None) -> None:
    """Refuse rows of which no one has a value in some column."""
    if X.ndim == 2:
        names = range(X.shape[1]) if names is None else names
        _refuse_empty(np.isnan(X).all(axis=0), names)


def _refuse_empty(empty: np.ndarray, names) -> None:
    if empty.any():
        raise ValueError(
            f"X has no measurement at all in column {names[int(empty.argmax())]!r}; a "
            "population cannot be learned from none. Drop that column."
        )
