"""`MeasuredRegressor`: lines and curves through measurements with errors and gaps.

True features are N(μ, Σ), measured with errors E_i in the cells that are there; the
target is t = ⟨w,x⟩ + b + scatter of variance σ². Errors in x flatten the slopes of
plain regression; here they do not (theory §9 and §15.5).

Gaussian scatter: the target is one more feature, and EM fits the Gaussian of (x, t):

    w = Σ_xx⁻¹Σ_xt,   b = μ_t − ⟨w,μ_x⟩,   σ² = Σ_tt − ⟨w,Σ_xt⟩ .

Absolute loss: E[t | measured] = ⟨w,x̂⟩ + b with the posterior means x̂ of x alone, so
w and b minimise Σ|t_i − ⟨w,x̂_i⟩ − b|/s_i, with the spreads s_i² = σ² + wᵀV_iw + e_i²
of the rows, e_i the error of t_i.

A curve is f(x) = Σ v_jk(x,c_j) + b with the RBF kernel (`curved.py`) in place of the
line. E[t | measured] = E f is linear in v and b, with the means E k(x,c_j) under the
posterior of the row as features. So it is trained as the line is, on these in place of
x̂, with the variance of f in place of wᵀVw (`score_functions.py`). A curve may pass
through the rows it is trained on, so σ comes from residuals of held-out rows.

Standard errors come from the influence of each row. With P_i = (Σ + E_i)⁻¹ and
g_i = P_i(x_i − μ), filled up with zeros, row i moves an estimate θ(μ, Σ) with the
gradients m and J by

    ⟨(ΣP_k)⁻¹m, g_i⟩ + ½⟨Q, g_ig_iᵀ − P_i⟩,    where  ½ΣP_kQP_k = J .

The squares of the moves of all rows add up to the variance of θ, also where the
population is not Gaussian (the sandwich of Huber and White). A row draws the line to
itself, which hides its residual: moves are divided by 1 − its leverage among the x̂, as
MacKinnon and White do for exact features (HC3, Journal of Econometrics 29, 1985).
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.stats import rankdata
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, check_cv
from sklearn.utils._param_validation import Interval, StrOptions

from wideberth._solve import solve
from wideberth.estimators.curved import Curve
from wideberth.estimators.cv import RobustLinearRegressorCV
from wideberth.estimators.drawn import MOST_ROWS
from wideberth.estimators.folds import Split, run_folds
from wideberth.estimators.kernel_svc import read_gamma, step_on
from wideberth.estimators.measured_svc import MeasuredModel
from wideberth.estimators.score_functions import KernelFunction, LinearFunction
from wideberth.estimators.streaming import per_row
from wideberth.estimators.training import target_scale
from wideberth.estimators.verdict import cell_to_measure, named_cells
from wideberth.kernels.gaussians import densities
from wideberth.measurement.fitting import GaussianFitter, marginals
from wideberth.measurement.goodness import (
    FAR,
    ROWS,
    errors_too_large,
    far_cells,
    lacks,
    misfit,
)
from wideberth.measurement.population import (
    FLOOR,
    Measurements,
    Population,
    Posterior,
    among,
    block_rows,
    posterior_of,
    read_variances,
)
from wideberth.measurement.row_order import row_order
from wideberth.measurement.true_features import refuse_empty_columns
from wideberth.noise.reading import in_order_of
from wideberth.problem.arrays import quietly
from wideberth.problem.labels import check_targets
from wideberth.problem.validation import check_per_sample

#: EM ends when a step gains no more log likelihood per row than this. Predictions,
#: intervals and slopes then agree to 10⁻⁶ between units of X and y
#: (`tests/campaigns/populations.py`).
_TOL = 1e-16
_MAX_ITER = 1000
#: C of the absolute loss, in standard units: the penalty ½‖w‖² then shrinks slopes by
#: about 1/(100 n) of their size, far less than their standard errors.
_C = 100.0
#: C of a curve is the best of these, in units of `target_scale`, by absolute error in
#: folds (a choice).
_CURVED_C = (0.1, 1.0, 10.0, 100.0, 1000.0)
#: Landmarks of a curve. On 1 500 galaxies 512 of them make the error smaller by 1 %,
#: and the fit takes twice as long.
_LANDMARKS = 256
#: Most rows to choose C and estimate the scatter from, a bound on time: on galaxies and
#: on simulated tables of 7 000 rows the choice is that from 5 000.
_CHOICE_ROWS = 2_000
#: Folds of the rows that C and the scatter of a curve are estimated on (a choice).
_FOLDS = 3
#: Fewest rows to choose C from; with fewer it is 1 (a choice).
_FEWEST = 10
#: Errors of y whose squares are within the range of float64.
_SQUARED = 1e-150, 1e150
#: Degrees of freedom of Student's distribution by which a scatter is estimated (a
#: choice): of 100 targets a wild one then counts as 9 others at most.
_FREEDOM = 8.0
#: Squared scale of that distribution at which Gaussian residuals of variance 1 have
#: the score 0: E 9z²/(8c + z²) = 1, by quadrature.
_STUDENT_SCALE = 0.8116069889
#: Steps of each grid of scatters, and grids, each within the one before: the last has
#: steps of less than 1 % (64 steps from 10⁻⁶ to 1, then two ranges of a likelihood).
_SCATTERS, _GRIDS = 64, 3
#: Standard errors by which tails must be heavier than Gaussian ones, as for a misfit of
#: the population: chance warns once in 10⁴.
_CLEAR = 4.0
#: Most features whose standard errors are computed: a matrix of features⁴ numbers.
_MOST_FEATURES = 60


class MeasuredRegressor(RegressorMixin, MeasuredModel):
    """Regression on measurements with errors and missing values, a line or a curve.

    The slopes are those of the true features. (Plain regression on noisy features finds
    slopes that are too small.) Predictions use the errors of each object, and intervals
    contain the stated fraction of the true targets. With `kernel="rbf"` the target
    follows a curve in the true features.

    Parameters
    ----------
    loss : {"gaussian", "absolute"}, default=None
        "gaussian" is for Gaussian scatter about a line: features and target are fitted
        as one Gaussian population, by maximum likelihood. "absolute" minimises absolute
        deviations, for scatter with heavy tails. None is "gaussian" for a line. For a
        curve it is "absolute": the regression of one Gaussian population is a line.
    cv : int, splitter or iterable, default=5
        Folds to calibrate `predict_interval`; each takes one more fit. An int makes
        folds that do not depend on the order of rows; others refer to the rows as
        given. With None there are no intervals.
    shrinkage : "auto" or float, default=0.0
        Weight, in rows, of the prior that columns are uncorrelated, as for
        `TrueFeatures`. It makes slopes smaller, and with few rows less variable.
    kernel : {"linear", "rbf"}, default="linear"
        With "rbf" the target follows a weighted sum of RBF kernels about 256 landmarks
        among the objects. The weight C of the losses is chosen by cross-validation.
    gamma : float or "scale", default="scale"
        γ of the kernel, as for `RobustKernelSVC`, for scaled features. Not used without
        a kernel.
    verbose : bool or int, default=0
        Whether to print a line for each fit: that of all rows, and one for each fold.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Slopes of the true features. A curve has none, and no `intercept_` or
        `coef_std_`.
    intercept_ : float
    scatter_ : float
        Standard deviation σ of the true target about the line or curve, errors
        excluded. That of a curve is estimated from held-out rows, so it contains the
        error of the curve. Estimates for the absolute loss limit the influence of
        single targets. At least a thousandth of the standard deviation of y.
    coef_std_ : array of shape (n_features,)
        Standard errors of the slopes, valid without Gaussian assumptions on features
        and scatter. NaN with more than 60 features, or with as many columns as rows.
    gamma_ : float
        γ of the kernel; only with a kernel.
    interval_scores_ : array
        Absolute residuals of held-out rows in ascending order, each divided by the
        standard deviation of the measured target about the prediction; None without
        `cv`.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only where X has column names.

    See Also
    --------
    wideberth.RobustLinearRegressor : trains against the worst errors of a stated size.
    wideberth.MeasuredSVC : classes in place of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import MeasuredRegressor
    >>> rng = np.random.default_rng(0)
    >>> true = rng.normal(size=(1000, 1))
    >>> y = 2.0 * true[:, 0] + 0.3 * rng.normal(size=1000)
    >>> X = true + rng.normal(size=true.shape)  # errors as large as the spread
    >>> float(round(np.polyfit(X[:, 0], y, 1)[0], 1))  # half of the slope is lost
    1.0
    >>> model = MeasuredRegressor().fit(X, y, X_err=1.0)
    >>> bool(abs(model.coef_[0] - 2.0) < 2 * model.coef_std_[0] < 0.3)
    True
    """

    __metadata_request__fit: ClassVar = {"X_err": True, "y_err": True}
    __metadata_request__predict: ClassVar = {"X_err": True}
    __metadata_request__score: ClassVar = {"X_err": True}
    _parameter_constraints: ClassVar = {
        "loss": [StrOptions({"gaussian", "absolute"}), None],
        "cv": [Interval(Integral, 2, None, closed="left"), "cv_object", None],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "kernel": [StrOptions({"linear", "rbf"})],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        loss=None,
        *,
        cv=5,
        shrinkage=0.0,
        kernel="linear",
        gamma="scale",
        verbose=0,
    ):
        self.loss = loss
        self.cv = cv
        self.shrinkage = shrinkage
        self.kernel = kernel
        self.gamma = gamma
        self.verbose = verbose

    def fit(self, X, y=None, *, X_err=None, y_err=None) -> MeasuredRegressor:
        """Fit the line or curve, and the population. All rows have the same weight.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Measurements, NaN where there is none.
        y : array of shape (n_samples,)
            The measured target.
        X_err : array or frame of shape (n_samples, n_features), or a number, optional
            Standard errors in the units of X, 0 where a value is exact; or covariances
            of the errors of each row. By default all values are exact.
        y_err : array of shape (n_samples,), or a number, optional
            Standard errors of y. By default y is exact.

        Returns
        -------
        self
        """
        self._validate_params()
        if self.kernel == "rbf" and self.loss == "gaussian":
            raise ValueError(
                "loss='gaussian' fits features and target as one Gaussian, whose "
                "regression is a line, and kernel='rbf' asks for a curve. Leave out "
                "loss, which is then 'absolute', or the kernel."
            )
        X_err = in_order_of(X_err, X)
        X, y = self._validated(X, y=y, y_numeric=True, ensure_min_samples=2)
        y = check_targets(y, len(X))
        refuse_empty_columns(X, getattr(self, "feature_names_in_", None))
        errors = check_per_sample(0.0 if y_err is None else y_err, len(y), "y_err")
        largest = float(errors.max())
        if largest and not _SQUARED[0] <= largest <= _SQUARED[1]:
            raise ValueError(
                f"y_err reaches {largest:.3g}, whose square is out of the range of "
                "float64; give y and y_err in another unit."
            )
        data = Targets(self._measurements(X, X_err), y, errors, np.arange(len(y)))
        data = data.take(row_order(data.joined()))
        line = self._fitted(data)
        if not line.converged:
            warnings.warn(
                f"EM has not converged after {_MAX_ITER} steps: the measurements "
                "hardly determine a slope. Drop columns that hold nearly the same "
                "quantity, or set shrinkage='auto'.",
                ConvergenceWarning,
                stacklevel=2,
            )
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        for remark in _remarks(line, data, names):
            warnings.warn(remark, UserWarning, stacklevel=2)
        self._line = line
        self._measured = bool(data.part.variances.any())
        self.scatter_ = float(line.unit * line.scatter)
        for name in ("coef_", "intercept_", "coef_std_", "gamma_"):  # of a fit before
            self.__dict__.pop(name, None)
        if line.curve is None:
            self.coef_ = line.unit * line.coef / line.scale
            self.intercept_ = float(
                line.origin + line.unit * line.intercept - self.coef_ @ line.centre
            )
            self.coef_std_ = line.coef_std(data)
        else:
            self.gamma_ = line.curve.gamma
        self.interval_scores_ = self._calibrated(data)
        if line.curve is not None:
            self.scatter_ = float(line.unit * self._line.scatter)
        return self

    @per_row
    def predict(self, X, X_err=None, return_std=False):
        """Return the expected target of each object, given its measurement.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Measurements, NaN where there is none. Or data that is read in chunks, as
            for `RobustLinearSVC.decision_function`.
        X_err : error bars of these objects, optional
            As for `fit`. Required if the model was trained with errors; `X_err=0` says
            that all values are exact.
        return_std : bool, default=False
            Whether to return the standard deviation of the true target about the
            prediction, too: √(σ² + wᵀVw), V the posterior covariance of the object's
            true features; for a curve f, √(σ² + Var f) under the object's posterior.
            Here σ is estimated from residuals of held-out rows, so it contains the
            error of the model. With `cv=None` it is `scatter_`.

        Returns
        -------
        array of shape (n_samples,), or two of them
        """
        values, spreads = self._predicted(X, X_err)
        return (values, spreads) if return_std else values

    @per_row
    def predict_interval(self, X, X_err=None, coverage=0.9) -> np.ndarray:
        """Return intervals that contain the true target with the stated probability.

        The prediction ± q spreads, the standard deviations of `predict`. q is the
        ⌈(n + 1)·coverage⌉-th smallest of the n `interval_scores_`: fold conformal
        prediction. New objects must come from the same distribution as the training
        data. If the model was trained without `y_err`, the scatter may have any
        distribution. With `y_err`, only measured targets are known; q is then right for
        true targets if their scatter is Gaussian, and nearly right if it is not.

        Parameters
        ----------
        X, X_err
            As for `predict`.
        coverage : float, default=0.9
            The probability, between 0 and 1.

        Returns
        -------
        array of shape (n_samples, 2)
            Lower and upper ends.
        """
        values, spreads = self._predicted(X, X_err)
        half = np.where(spreads > 0, self._quantile(coverage) * spreads, 0.0)
        return np.column_stack((values - half, values + half))

    def remeasure(self, X, X_err=None) -> tuple[np.ndarray, np.ndarray]:
        """Return which cell of each object to measure again, and what that gains.

        Parameters
        ----------
        X, X_err
            As for `predict`.

        Returns
        -------
        cell : array of shape (n_samples,)
            The cell whose exact value would reduce wᵀVw most, the variance of the
            prediction due to errors and gaps (for a curve Var f): the name of a
            feature, or its number if features have no names; None or −1 if all cells
            are exact.
        share : array of shape (n_samples,)
            The fraction of it that would be removed; for a curve at least that.
        """
        part = self._measurements(*self._asked(X, X_err))
        f, found = self._line.function, []
        for p in self._line.posteriors(part):
            found.append(cell_to_measure(p.covariance, *f.covariance(p)))
        cell, share = map(np.concatenate, zip(*found, strict=True))
        return named_cells(cell, getattr(self, "feature_names_in_", None)), share

    def score(self, X, y, sample_weight=None, X_err=None) -> float:
        """Return R² of the predictions.

        Parameters
        ----------
        X, X_err
            As for `predict`.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return r2_score(y, self.predict(X, X_err), sample_weight=sample_weight)

    def __getattr__(self, name: str):
        if name in ("coef_", "intercept_", "coef_std_") and "gamma_" in vars(self):
            raise AttributeError(
                f"kernel='rbf' fits a curve, which has no {name}: its slopes differ "
                "from object to object. Use predict(X, X_err), or kernel='linear'."
            )
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}"
        )

    def _fitted(self, data: Targets, scatter: bool = True) -> MeasuredLine:
        """A line, or a curve; without `scatter` that of the absolute loss is 0."""
        started = time.perf_counter()
        loss = self.loss or ("absolute" if self.kernel == "rbf" else "gaussian")
        gamma = self.gamma if self.kernel == "rbf" else None
        line = MeasuredLine.fit(data, loss, self.shrinkage, gamma, scatter)
        seconds = time.perf_counter() - started
        self._report(f"fitted to {len(data.y)} rows, {seconds:.1f} s")
        return line

    def _predicted(self, X, X_err) -> tuple[np.ndarray, np.ndarray]:
        """Predictions and their spreads."""
        part = self._measurements(*self._asked(X, X_err))
        return self._line.predict(part)

    def _measurements(self, X: np.ndarray, X_err) -> Measurements:
        X = np.ascontiguousarray(X)
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else list(names)
        return Measurements(
            X, *read_variances(0.0 if X_err is None else X_err, X, names)
        )

    def _calibrated(self, data: Targets) -> np.ndarray | None:
        """Scores of held-out rows in ascending order; the line gets their scatter."""
        cv, line = self.cv, self._line
        if cv is None:
            return None

        def held_out(fold: Split) -> tuple[np.ndarray, np.ndarray]:
            other = self._fitted(data.take(fold.train), scatter=False)
            residuals, variances = other.residuals(data.take(fold.test))
            units = other.unit / line.unit
            return units * residuals, units**2 * variances

        if isinstance(cv, Integral):
            folds = KFold(min(int(cv), len(data.y)), shuffle=True, random_state=0)
            splits = folds.split(data.y)
        else:  # folds of the rows in the order in which they were given
            here = np.argsort(data.rows)
            ordered = data.take(here)
            splits = check_cv(cv).split(ordered.part.values, ordered.y)
            splits = ((np.sort(here[a]), np.sort(here[b])) for a, b in splits)
        parts = run_folds(held_out, splits)
        residuals, variances = map(np.concatenate, zip(*parts, strict=True))
        scatter = _scatter(residuals, variances)
        self._line = replace(line, scatter=scatter)
        sizes, spreads = np.abs(residuals), np.sqrt(scatter**2 + variances)
        return np.sort(np.divide(sizes, spreads, np.zeros(len(sizes)), where=sizes > 0))

    def _quantile(self, coverage: float) -> float:
        """q of the intervals."""
        scores = self.interval_scores_
        if scores is None:
            raise ValueError(
                "predict_interval needs held-out rows, and with cv=None there are "
                "none. Set cv=5 and fit again."
            )
        if not (isinstance(coverage, float | np.floating) and 0 < coverage < 1):
            raise ValueError(
                f"coverage={coverage!r} must be a number between 0 and 1, such as 0.9."
            )
        place = math.ceil((len(scores) + 1) * coverage - 1e-9)
        if place > len(scores):
            most = len(scores) / (len(scores) + 1)
            raise ValueError(
                f"coverage={coverage} cannot be reached with {len(scores)} held-out "
                f"rows; give at most {math.floor(most * 1e4) / 1e4}, or train on "
                "more rows."
            )
        return float(scores[place - 1])


# -- the line or curve -----------------------------------------------------------------


@dataclass(frozen=True)
class Targets:
    """Measured features, a measured number for each row, and its standard error."""

    part: Measurements
    y: np.ndarray
    errors: np.ndarray
    rows: np.ndarray  # their numbers among the rows that users gave

    def take(self, rows: np.ndarray) -> Targets:
        """Some of the rows."""
        others = self.y[rows], self.errors[rows], self.rows[rows]
        return Targets(self.part[rows], *others)

    def joined(self) -> Measurements:
        """The target as one more column behind the features."""
        part, squares = self.part, self.errors**2
        covariances = np.pad(part.covariances, ((0, 0), (0, 1), (0, 1)))
        if len(covariances):
            covariances[:, -1, -1] = squares
        return Measurements(
            np.column_stack((part.values, self.y)),
            np.column_stack((part.variances, squares)),
            covariances,
        )


@dataclass(frozen=True)
class MeasuredLine:
    """A line in standard units: (t − origin)/unit = ⟨coef, (x − centre)/scale⟩ + b.

    Columns that never vary are no part of the population; their slopes are 0. With a
    `curve` the right-hand side is Σ coef_j k((x − centre)/scale, c_j) + b.
    """

    loss: str
    coef: np.ndarray  # (d,), or one for each landmark
    intercept: float
    scatter: float
    centre: np.ndarray  # (d,)
    scale: np.ndarray  # (d,)
    origin: float
    unit: float
    varies: np.ndarray  # (d + 1,): columns of the population, the target last
    population: Population  # of those; without the target for the absolute loss
    prior: float  # rows that its prior counts for
    converged: bool
    curve: Curve | None = None

    @classmethod
    def fit(
        cls, data: Targets, loss: str, shrinkage, gamma=None, scatter: bool = True
    ) -> MeasuredLine:
        """By maximum likelihood, or with the absolute loss; with a γ a curve.

        `scatter` says whether the absolute loss estimates it; without it is 0.
        """
        joined = data.joined()
        centre, scale, varies = _units(joined)
        scaled, d = joined.scaled(centre, scale).rounded(), len(centre) - 1
        if loss == "absolute":
            varies[-1] = False
        part = scaled.columns(varies)
        fitter = GaussianFitter(shrinkage, _TOL, _MAX_ITER)
        found, prior = fitter.fit(part, None, 1)
        units = centre[:d], scale[:d], float(centre[d]), float(scale[d])
        line = cls(
            loss, np.zeros(d), 0.0, 0.0, *units, varies,
            found.population, float(prior.rows[0]), found.converged,
        )  # fmt: skip
        if loss == "absolute":
            return line._absolute(scaled, gamma, scatter)
        if not varies[-1]:
            return line
        mean, spread = found.population.means[0], found.population.covariances[0]
        w = np.linalg.solve(spread[:-1, :-1], spread[:-1, -1])
        variance = max(spread[-1, -1] - w @ spread[:-1, -1], 0.0)
        return replace(
            line,
            coef=among(w, varies[:-1]),
            intercept=float(mean[-1] - w @ mean[:-1]),
            scatter=math.sqrt(variance),
        )

    @property
    def function(self) -> LinearFunction | KernelFunction:
        """The target as a function of true features, in standard units."""
        if self.curve is None:
            return LinearFunction(self.coef, self.intercept)
        return KernelFunction(self.curve, self.coef, self.intercept)

    def posteriors(self, part: Measurements) -> Iterator[Posterior]:
        """Posteriors in standard units, block by block."""
        return self._posteriors(part.scaled(self.centre, self.scale))

    def _posteriors(self, scaled: Measurements) -> Iterator[Posterior]:
        """Posteriors of features that are given in standard units."""
        columns = self.varies[:-1]
        m = int(columns.sum())
        own = Population(
            np.ones(1),
            self.population.means[:, :m],
            np.ascontiguousarray(self.population.covariances[:, :m, :m]),
        )
        for block in scaled.columns(columns).blocks(block_rows(len(columns))):
            yield posterior_of(own, block).among(columns, np.zeros(len(columns)))

    def predict(self, part: Measurements) -> tuple[np.ndarray, np.ndarray]:
        """Predictions and spreads of true targets about them, in the units of y."""
        f = self.function
        parts = [(f.mean(p), f.covariance(p)[1]) for p in self.posteriors(part)]
        values, variances = map(np.concatenate, zip(*parts, strict=True))
        spreads = np.sqrt(self.scatter**2 + variances)
        return self.origin + self.unit * values, self.unit * spreads

    def residuals(self, data: Targets) -> tuple[np.ndarray, np.ndarray]:
        """Residuals, and their variances wᵀVw + e² without the scatter.

        In standard units.
        """
        values, spreads = self.predict(data.part)
        caused = (spreads / self.unit) ** 2 - self.scatter**2
        errors = (data.errors / self.unit) ** 2
        return (data.y - values) / self.unit, np.maximum(caused, 0.0) + errors

    def _absolute(self, scaled: Measurements, gamma, asked: bool) -> MeasuredLine:
        """The line of least absolute deviations on posterior means; or the curve.

        The last column of the measurements is the target.
        The second solution has the spreads of the first, which are consistent. Further
        ones changed slopes by less than a tenth of their standard errors (60 tables).
        """
        columns = np.arange(scaled.values.shape[1]) < len(self.centre)
        known = [*self._posteriors(scaled.columns(columns))]
        features = np.concatenate([found.mean for found in known])
        y, errors = scaled.values[:, -1], scaled.variances[:, -1]
        line, C, matrix = self, _C, np.eye(features.shape[1])
        if gamma is not None:
            curve = _curve(features, gamma)
            line, matrix = replace(self, curve=curve), curve.matrix
            kernels = [KernelFunction(curve, self.coef, 0.0).kernels(p) for p in known]
            features = np.concatenate(kernels) @ matrix.T
            C = _chosen_C(features, y)
        spreads, scatter = np.ones(len(y)), 0.0
        for more in (True, asked):
            weight = 1 / spreads / np.mean(1 / spreads)
            found = solve(
                features, y, C=C, sample_weight=weight, loss="quantile", quiet=True
            )
            line = replace(line, coef=found.w @ matrix, intercept=float(found.b))
            if not more:
                return line
            parts = [line.function.covariance(p)[1] for p in known]
            variances = errors + np.concatenate(parts)
            rows, residuals = np.arange(len(y)), y - features @ found.w - found.b
            if gamma is not None:
                rows, residuals = _held_out(features, y, C, weight)
            scatter = _scatter(residuals, variances[rows])
            spreads = np.sqrt(np.maximum(scatter**2 + variances, FLOOR))
        return replace(line, scatter=scatter)

    # -- standard errors ---------------------------------------------------------------

    def coef_std(self, data: Targets) -> np.ndarray:
        """Standard errors of the slopes, in the units of y and X."""
        d, m = len(self.coef), int(self.varies[:-1].sum())
        n = len(data.y)
        if d > _MOST_FEATURES or n <= m + 1:
            return np.full(d, np.nan)
        constant = self.loss == "gaussian" and not self.varies[-1]  # the target
        if m == 0 or constant:
            return np.zeros(d)
        centre = np.append(self.centre, self.origin)
        scale = np.append(self.scale, self.unit)
        part = data.joined().scaled(centre, scale).columns(self.varies)
        if self.loss == "absolute":
            moves = self._absolute_moves(data, part)
        else:
            spread = self.population.covariances[0]
            # The gradient of w_j is that of ⟨a_j, Σ(−w, 1)⟩, a_j row j of Σ_xx⁻¹.
            a = np.pad(np.linalg.inv(spread[:m, :m]), ((0, 0), (0, 1)))
            b = np.append(-self.coef[self.varies[:-1]], 1.0)
            J = a[:, :, None] * b
            moves = self._moves(part, np.zeros((m, m + 1)), J)
            moves = self._as_left_out(moves, data)
        std = np.sqrt(np.sum(moves**2, axis=0))
        return self.unit * among(std, self.varies[:-1]) / self.scale

    def _as_left_out(self, moves: np.ndarray, data: Targets) -> np.ndarray:
        """Moves with residuals about the line of all the other rows."""
        x = np.concatenate([found.mean for found in self.posteriors(data.part)])
        x = (x - x.mean(axis=0))[:, self.varies[:-1]]
        gains = x @ np.linalg.pinv(x.T @ x, hermitian=True)
        rest = 1 - 1 / len(x) - np.sum(gains * x, axis=1)  # 1 − leverage
        # A row with a feature of its own has no residual, but the spread of any row.
        alone = rest <= FLOOR
        spreads = np.sqrt(self.scatter**2 + self.residuals(data)[1])
        moves = moves / np.where(alone, 1.0, rest)[:, None]
        return np.where(alone[:, None], gains * spreads[:, None], moves)

    def _absolute_moves(self, data: Targets, part: Measurements) -> np.ndarray:
        """By how much each row moves the slopes of the absolute loss.

        The residual of a row moves them as in any median regression. And rows move the
        population, so all x̂_i: by ⟨r_i, δμ + δΣg_i⟩ along w, r_i = w − P_iΣw. The line
        follows as a regression of those moves with the weights 1/s_i² does.
        """
        columns = self.varies[:-1]
        means = np.concatenate([found.mean for found in self.posteriors(data.part)])
        values, spreads = self.predict(data.part)
        spreads = np.hypot(spreads, data.errors) / self.unit
        spreads = np.sqrt(np.maximum(spreads**2, FLOOR))
        u = (data.y - values) / self.unit / spreads
        x = np.column_stack((means[:, columns], np.ones(len(u))))
        weighted = x / spreads[:, None] ** 2
        H = np.linalg.lstsq(x.T @ weighted, weighted.T, rcond=None)[0][:-1]
        w, spread = self.coef[columns], self.population.covariances[0]
        m, J, start = np.zeros((len(w), len(w))), np.zeros((len(w),) * 3), 0
        for g, P in self._gradients(part):
            h = H[:, start : start + len(g)]
            r = w - P @ (spread @ w)
            m -= h @ r
            J -= np.einsum("jn,na,nb->jab", h, r, g)
            start += len(g)
        direct = H.T * (spreads * np.sign(u) / (2 * _density_at_zero(u)))[:, None]
        freedom = len(u) / (len(u) - len(w) - 1)
        return math.sqrt(freedom) * (direct + self._moves(part, m, J))

    def _moves(self, part: Measurements, m: np.ndarray, J: np.ndarray) -> np.ndarray:
        """By how much each row moves estimates with these gradients by μ and Σ.

        In the units of the population, Σ = LLᵀ, where the information is well scaled.
        """
        root = np.linalg.cholesky(self.population.covariances[0])
        D = len(root)
        pairs, total = np.zeros((D * D, D * D)), self.prior * np.eye(D)
        for _, P in self._gradients(part, root):
            flat = P.reshape(len(P), -1)
            pairs += flat.T @ flat
            total += P.sum(axis=0)
        # Q → ½ΣPQP, from ΣP_ab P_cd
        information = pairs.reshape((D,) * 4).transpose(0, 3, 1, 2).reshape(D * D, -1)
        information = 0.5 * (information + self.prior * np.eye(D * D))
        J = root.T @ (0.5 * (J + J.transpose(0, 2, 1))) @ root
        Q = np.linalg.solve(information, J.reshape(len(J), -1).T).T.reshape(J.shape)
        m = np.linalg.solve(total, (m @ root).T)
        moves = [
            g @ m
            + 0.5 * np.einsum("na,jab,nb->nj", g, Q, g, optimize=True)
            - 0.5 * np.tensordot(P, Q, ((1, 2), (1, 2)))
            for g, P in self._gradients(part, root)
        ]
        return np.concatenate(moves)

    def _gradients(
        self, part: Measurements, root: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """g and P of blocks of rows, in standard units or those of the population."""
        mean, spread = self.population.means[0], self.population.covariances[0]
        for block in part.blocks(block_rows(len(mean))):
            cells = block.values, block.variances, block.covariances
            _, g, P = densities(*cells, mean, spread, True)
            g, P = np.asarray(g), np.asarray(P)
            yield (g, P) if root is None else (g @ root, root.T @ P @ root)


def _units(part: Measurements) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre and scale of each column, and whether it varies.

    Columns are divided by their largest number first, so that no square overflows.
    """
    there = ~np.isnan(part.values)
    low, high = (
        end(part.values, axis=0, where=there, initial=start)
        for end, start in ((np.min, np.inf), (np.max, -np.inf))
    )
    varies = (low < high) | (there & (part.variances > 0)).any(axis=0)
    size = np.maximum(np.abs(low), np.abs(high))
    size = np.where(varies & (size > 0), size, 1.0)
    scaled = part.scaled(np.zeros(len(size)), size).rounded()
    centre, variance = marginals(scaled, 200, 1e-2)
    varies &= variance > 0
    scale = np.where(varies, np.sqrt(variance), 1.0) * size
    constant = np.where(np.isfinite(low), low, 0.0)
    return np.where(varies, centre * size, constant), scale, varies


# -- a curve ---------------------------------------------------------------------------


def _curve(means: np.ndarray, gamma) -> Curve:
    """A kernel with landmarks among posterior means, in standard units."""
    variance = float(means.var())
    scale = 1 / (means.shape[1] * variance) if variance > 0 else 1.0
    drawn = means[_drawn(len(means))]
    return Curve.of("rbf", step_on(drawn, read_gamma(gamma, scale), _LANDMARKS, 0))


def _chosen_C(features: np.ndarray, y: np.ndarray) -> float:
    """C of the least absolute error on held-out rows."""
    rows = _drawn(len(y))[:_CHOICE_ROWS]
    features, y = features[rows], y[rows]
    if len(y) < _FEWEST or np.all(y == y[0]):
        return 1.0
    search = RobustLinearRegressorCV(
        Cs=_CURVED_C, radii=(0.0,), cv=_FOLDS, tol=1e-2, solver_options={"refit": False}
    )
    with quietly():
        search.fit(features, y)
    return float(search.C_ * target_scale(y, np.ones(len(y))))


def _held_out(
    features: np.ndarray, y: np.ndarray, C: float, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Some rows, and their residuals about curves that were trained without them."""
    rows = _drawn(len(y))[:_CHOICE_ROWS]
    residuals = np.empty(len(rows))
    for train, test in KFold(min(_FOLDS, len(rows))).split(rows):
        known, new = rows[train], rows[test]
        found = solve(
            features[known], y[known], C=C, sample_weight=weight[known],
            loss="quantile", quiet=True,
        )  # fmt: skip
        residuals[test] = y[new] - features[new] @ found.w - found.b
    return rows, residuals


def _drawn(n: int) -> np.ndarray:
    """Rows that a curve is estimated from, in a random order, always the same."""
    return np.random.default_rng(0).permutation(n)[:MOST_ROWS]


# -- what does not fit -----------------------------------------------------------------


def _remarks(line: MeasuredLine, data: Targets, names) -> Iterator[str]:
    """Sentences about measurements that this line is not for."""
    part, varies = data.part.scaled(line.centre, line.scale), line.varies[:-1]
    residuals, variances = line.residuals(data)
    far = far_cells(part, ~varies, data.rows, names)
    word, slopes = ("curve", "predictions") if line.curve else ("line", "slopes")
    features = _too_large_errors(line, part, names, slopes)
    errors = (data.errors / line.unit) ** 2
    others = line.scatter**2 + np.maximum(variances - errors, 0.0)
    times = errors_too_large(residuals, errors, others)
    if far:
        yield (
            f"{far} A value so far off turns the {word}: set it to NaN, give it a "
            "larger error, or take logarithms."
        )
    if features:
        yield features
    if times:
        yield (
            f"y scatters less about the {word} than y_err says: y_err looks about "
            f"{times:.2g} times too large. Then scatter_ is not known, and {slopes} "
            "and intervals depend on y_err. Give a smaller one."
        )
    elif line.loss == "gaussian" and line.varies[-1]:
        spreads = np.sqrt(line.scatter**2 + variances)
        yield from _heavy_tails(residuals, spreads, data.rows)
    if far or features:
        return
    depending = _depending_errors(line, part)
    shift = _shift(line, data, names, depending) if depending else ""
    if shift:
        yield shift
    else:
        yield from _misfit(line, part, names, bool(depending))


def _too_large_errors(line: MeasuredLine, part: Measurements, names, slopes) -> str:
    """A sentence about errors that `slopes` rest on; empty if they fit."""
    mean, spread = line.population.means[0], line.population.covariances[0]
    found = {}
    for k, j in enumerate(np.flatnonzero(line.varies[:-1])):
        off, variances = part.values[:, j] - mean[k], part.variances[:, j]
        if times := errors_too_large(off, variances, spread[k, k]):
            found[str(names[j])] = times
    if not found:
        return ""
    worst = max(found, key=lambda name: found[name])
    return (
        f"These columns scatter less than X_err says: {', '.join(found)}. The errors "
        f"of {worst} look about {found[worst]:.2g} times too large, and {slopes} "
        "depend on them. Give smaller ones."
    )


def _heavy_tails(
    residuals: np.ndarray, spreads: np.ndarray, rows: np.ndarray
) -> Iterator[str]:
    efficiency = _efficiency(residuals / np.maximum(spreads, FLOOR))
    if not efficiency > 1:
        return
    quarter, three = np.percentile(residuals, [25, 75])
    row = int(np.abs(residuals).argmax())
    times = abs(residuals[row]) / max(three - quarter, FLOOR)
    yield (
        "The scatter about the line has heavy tails: the variance of the slopes is "
        f"about {efficiency:.2g} times that with loss='absolute', which follows the "
        "median of y. Set that, unless you need the mean."
    ) + (
        f" Look at row {rows[row]} first: its y is {times:.0f} times as far from the "
        "line as the quartiles of the residuals are from each other."
        if times > FAR
        else ""
    )


def _depending_errors(line: MeasuredLine, part: Measurements) -> list[int]:
    """Columns whose values differ with their errors by more than these explain.

    If errors do not depend on true values, z = (x − μ)/√(Σ + e²) has the mean 0 and the
    variance 1 at every e, whatever the distribution of the true values is. So neither z
    nor z² has a trend with the rank of e.
    """
    mean, spread = line.population.means[0], line.population.covariances[0]
    columns = []
    for k, j in enumerate(np.flatnonzero(line.varies[:-1])):
        measured = ~np.isnan(part.values[:, j])
        variances = part.variances[measured, j]
        z = (part.values[measured, j] - mean[k]) / np.sqrt(variances + spread[k, k])
        rank = rankdata(variances) - (len(z) + 1) / 2
        terms = rank * np.array([z - z.mean(), z**2 - np.mean(z**2)])
        trends, errors = np.abs(terms.sum(axis=1)), np.sqrt(np.sum(terms**2, axis=1))
        if np.any(trends > _CLEAR * errors):
            columns.append(int(j))
    return columns


def _shift(line: MeasuredLine, data: Targets, names, columns: list[int]) -> str:
    """Sentences about a slope that changes with equal errors; empty if none does.

    With the same error in every row, the root mean square, slopes are right also where
    errors depend on true values: only the mean of their squares enters. A few rows may
    decide that mean, as for magnitudes near a detection limit.
    """
    if line.curve is not None:
        return ""
    part = data.part
    mean = np.nanmean(np.where(np.isnan(part.values), np.nan, part.variances), axis=0)
    variances = np.broadcast_to(mean, part.values.shape).copy()
    covariances = part.covariances.copy()
    covariances[:] = covariances.mean(axis=0) if len(covariances) else 0.0
    equal = replace(data, part=Measurements(part.values, variances, covariances))
    other = MeasuredLine.fit(equal, line.loss, line.prior)
    slopes, others = (each.unit * each.coef / each.scale for each in (line, other))
    stds = line.coef_std(data), other.coef_std(equal)
    off = np.abs(others - slopes) / np.maximum(np.hypot(*stds), np.finfo(float).tiny)
    j = int(off.argmax())
    if not off[j] > 1:
        return ""
    column = "column " if len(columns) == 1 else "columns "
    shown = ", ".join(str(names[k]) for k in columns[:5])
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    return (
        f"X_err of {column}{shown}{more} depends on the values: rows with large errors "
        "differ from the others by more than their errors explain. Slopes depend on "
        f"which errors are used: that of {names[j]} is {slopes[j]:.3g} ± "
        f"{stds[0][j]:.2g}, and {others[j]:.3g} ± {stds[1][j]:.2g} with the root mean "
        "square of X_err as the error of every row. Give those errors, unless a few "
        "rows decide their mean square, or take logarithms of values whose errors grow "
        "in proportion to them."
    )


def _misfit(
    line: MeasuredLine, part: Measurements, names, depending: bool
) -> Iterator[str]:
    """Whether one Gaussian fits the features, where cells are uncertain or missing.

    `depending` says whether errors depend on values, as slopes then do on the fit.
    """
    low, high = np.nanmin(part.values, axis=0), np.nanmax(part.values, axis=0)
    ends = (part.values == low) | (part.values == high)
    chosen = line.varies[:-1] & ~(part.exact & ends).all(axis=0)  # no categories
    part = part.columns(chosen)
    if not (chosen.any() and (np.isnan(part.values).any() or part.variances.any())):
        return
    fitter = GaussianFitter(line.prior)
    found, prior = fitter.fit(part, None, 1)
    places = {ROWS: ROWS} | dict(enumerate(np.flatnonzero(chosen).tolist()))
    columns = misfit(fitter, found.population, part, prior)
    columns = {what: [places[j] for j in js] for what, js in columns.items()}
    lacking = lacks(columns, names)
    if lacking:
        coverage = "the fraction of targets in intervals"
        robust = f"Slopes and {coverage} do not depend on that."
        if line.curve or line.loss == "absolute" or depending:
            word = "predictions" if line.curve else "slopes"
            robust = f"{coverage.capitalize()} does not depend on that; {word} do."
        yield (
            f"One Gaussian does not fit the true features: {lacking}. {robust} "
            "Predictions may be better from several Gaussians: with "
            "f = TrueFeatures(2).fit(X, X_err=X_err), train another regressor on "
            "f.transform(X, X_err)."
        )


def _efficiency(u: np.ndarray) -> float:
    """Variance of least squares ÷ that of least absolute deviations, 4σ²f(0)².

    f is the density at the median of residuals ÷ spreads. Of Gaussian ones it is 2/π;
    0 where it could be that by chance.
    """
    n = len(u)
    u = u - np.median(u)
    width = 0.9 * n**-0.2
    density = 1 / math.sqrt(2 * math.pi)
    kernel = 1 / math.sqrt(
        4 * math.pi
    )  # ∫K², so ∫K²/(n·width·f) is the variance of f̂/f
    error = math.sqrt(4 * kernel / (n * width * density) + 2 / n)
    found = 4 * float(np.var(u)) * _density_at_zero(u) ** 2
    return found if found > 2 / math.pi * math.exp(_CLEAR * error) else 0.0


def _scatter(residuals: np.ndarray, variances: np.ndarray) -> float:
    """σ of residuals that have the variances σ² + v_i: the root of the mean of σ².

    The mean is over the posterior of σ with a flat prior. So σ is larger where large
    v_i leave it uncertain, as a prediction interval must be. Residuals have Student's
    density, which limits the influence of wild ones, scaled to be right for Gaussians.
    """
    rows = _drawn(len(residuals))
    squares, variances = residuals[rows] ** 2, variances[rows]
    low, high = FLOOR, 1.0
    unit = math.sqrt(squares.max())
    if unit == 0:
        return 0.0
    squares, variances = squares / unit**2, variances / unit**2
    for _ in range(_GRIDS):
        sigma = np.geomspace(low, high, _SCATTERS)
        total = sigma[:, None] ** 2 + variances
        ratio = squares / (_FREEDOM * _STUDENT_SCALE * total)
        # Points of the grid are equally far from each other in log σ: dσ = σ dlog σ.
        logs = np.log(sigma) - 0.5 * np.sum(
            np.log(total) + (_FREEDOM + 1) * np.log1p(ratio), axis=1
        )
        posterior = np.exp(logs - logs.max())
        likely = np.flatnonzero(posterior > FLOOR**2)  # beyond, below rounding
        low = sigma[max(likely[0] - 1, 0)]
        high = sigma[min(likely[-1] + 1, _SCATTERS - 1)]
    mean = np.average(sigma**2, weights=posterior)
    # As for Gaussians, whose covariances are held above the floor.
    return max(unit * math.sqrt(mean), math.sqrt(FLOOR))


def _density_at_zero(u: np.ndarray) -> float:
    """By a Gaussian kernel with Silverman's width."""
    quarter, three = np.percentile(u, [25, 75])
    width = 0.9 * max((three - quarter) / 1.34, FLOOR) * len(u) ** -0.2
    kernel = np.exp(-0.5 * (u / width) ** 2)
    return float(max(kernel.mean() / (width * math.sqrt(2 * math.pi)), FLOOR))
