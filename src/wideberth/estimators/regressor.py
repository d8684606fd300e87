"""`RobustLinearRegressor`: medians and other quantiles under feature noise (§15)."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin

from wideberth._solve import solve_source, solve_stated
from wideberth.data.opening import errors_in_memory
from wideberth.data.sources import Source
from wideberth.estimators.linear import LinearModel
from wideberth.estimators.streaming import per_row
from wideberth.estimators.training import (
    SolverOptions,
    TrainingChunks,
    TrainingTargets,
    noise_beyond_spread,
    statement_of,
    target_scale,
    training_targets,
)
from wideberth.noise import as_shape
from wideberth.noise.sets import Sets
from wideberth.problem.arrays import host
from wideberth.problem.validation import check_per_sample, refuse_chunks
from wideberth.results import Solution


def ranges_of(values: np.ndarray, w: np.ndarray, sets: Sets, radius) -> np.ndarray:
    """The least and the largest prediction within the sets, about these `values`."""
    radii = check_per_sample(radius, len(values), "radius")
    if sets.offsets is not None:  # lopsided boxes lie about another point
        values = values + radii * (host(sets.offsets) @ w)
    half = radii * host(sets.supports(w))
    return np.column_stack((values - half, values + half))


class LinearRegressor(RegressorMixin, LinearModel):
    """A model of one number by `coef_` and `intercept_`, trained against `noise_`."""

    @per_row
    def predict(self, X, X_err=None) -> np.ndarray:
        """Return the predicted quantile of y for each sample.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Or data that is read in chunks, once; as in `RobustLinearSVC`.
        X_err : error bars of these samples, optional
            As for `fit`. Predictions are those of X as measured; errors do not change
            them.

        Returns
        -------
        array of shape (n_samples,), float64
        """
        return self._values(X, X_err, "predict")

    def prediction_range(self, X, *, radius=None, X_err=None) -> np.ndarray:
        """Return the smallest and the largest prediction within the noise, exactly.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        radius : float or array of shape (n_samples,), optional
            How far samples may be off; by default the radius of training. Required if
            the model was trained with a radius for each sample. With `X_err` it is in
            units of the errors, and 1 by default if the model was trained without
            errors.
        X_err : error bars of these samples, optional
            As for `fit`. Required if the model was trained with error bars.

        Returns
        -------
        array of shape (n_samples, 2)
            The least and the largest prediction.
        """
        refuse_chunks(X, "prediction_range")
        values, w = host(self.predict(X, X_err)), host(self.coef_)
        radii = self._radii(radius, X_err)
        if X_err is None:
            self._ask_for_errors()
            names = getattr(self, "feature_names_in_", None)
            return ranges_of(values, w, as_shape(self.noise_, w.size, names), radii)
        sets = self._measured(X, errors_in_memory(X_err, X))
        return ranges_of(values, w, sets, radii)

    def score(self, X, y, sample_weight=None, X_err=None) -> float:
        """Return R², the fraction of the variance of y that predictions explain.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        X_err : error bars of these samples, optional
            As for `predict`.

        Returns
        -------
        float
        """
        from sklearn.metrics import r2_score

        refuse_chunks(X, "score")
        return r2_score(y, self.predict(X, X_err), sample_weight=sample_weight)

    @property
    def support_features_(self) -> np.ndarray:
        """Columns of X with a non-zero weight."""
        return np.flatnonzero(host(self.coef_))


class RobustLinearRegressor(LinearRegressor):
    """Linear model of a quantile of y, trained against errors of the features.

    Minimises, with residuals r_i = y_i − ⟨w,x_i⟩ − b,

        ½‖w‖² + s₀Ω(w) + Σ c_i max(τ(r_i + ρ_iΩ(w)), (1−τ)(ρ_iΩ(w) − r_i)).

    That is the pinball loss under the worst error of every sample within radius ρ_i. τ
    = ½, the default, gives least absolute deviations, which outliers in y hardly
    affect. With radius 0 it is quantile regression with a ridge penalty.

    Parameters
    ----------
    quantile : float, default=0.5
        τ, between 0 and 1. One model predicts one quantile.
    C : float, default=1.0
        Weight of the losses, in units of s = `target_scale_`: c_i is C · s times the
        weight of the sample. So the unit of y does not matter.
    radius : float, default=None
        How far a sample may be off; as in `RobustLinearSVC`.
    noise, error_shape
        Shape of the noise and of error bars; as in `RobustLinearSVC`. With boxes
        ("linf") and τ = ½ this is the LAD-LASSO, which gives features the weight 0.
    norm_penalty : float, default=0.0
        s₀, in units of `target_scale_` like C.
    fit_intercept : bool, default=True
        Whether to fit b. Noise does not apply to it.
    tol : float, default=1e-4
        Stop when the duality gap plus its rounding bound is at most `tol` times the
        loss of the best constant, or times the objective if that is larger.
    solver_options : dict, default=None
        Options that are seldom needed: "solver", "screening", "max_iter",
        "max_seconds", "intercept_penalty", "random_state" and "verbose" as in
        `RobustLinearSVC`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    target_scale_ : float
        Mean absolute deviation of y from its median; 1 if y is constant.
    objective_, dual_gap_, relative_gap_ : float
        The objective; a bound on how much lower that of any other model can be; and
        this bound divided by the objective or by the loss of the best constant, if that
        is larger.
    converged_ : bool
        Whether `tol` is proven.
    n_iter_ : int
    noise_, error_shape_, radius_
        Noise and radius of training, as in `RobustLinearSVC`.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only where X has column names.

    See Also
    --------
    RobustLinearRegressorCV : chooses C, radius or norm penalty by cross-validation.
    wideberth.solve : with loss="quantile", the same problem without units.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from wideberth import RobustLinearRegressor
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = RobustLinearRegressor(radius=0.1).fit(X, y)
    >>> low, high = model.prediction_range(X[:1])[0]
    >>> bool(low < model.predict(X[:1])[0] < high)
    True
    """

    def __init__(
        self,
        quantile=0.5,
        C=1.0,
        radius=None,
        *,
        noise="l2",
        error_shape="ellipsoid",
        norm_penalty=0.0,
        fit_intercept=True,
        tol=1e-4,
        solver_options=None,
    ):
        self.quantile = quantile
        self.C = C
        self.radius = radius
        self.noise = noise
        self.error_shape = error_shape
        self.norm_penalty = norm_penalty
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.solver_options = solver_options

    def fit(self, X, y=None, sample_weight=None, *, radius=None, X_err=None):
        """Train on samples and the numbers to predict.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Or data that is read in chunks; as in `RobustLinearSVC.fit`.
        y : array of shape (n_samples,)
            Numbers to predict.
        sample_weight : array of shape (n_samples,), optional
            Factors on C.
        radius : float or array of shape (n_samples,), optional
            How far each sample may be off; replaces the parameter `radius`.
        X_err : error bars, optional
            As in `RobustLinearSVC.fit`.

        Returns
        -------
        self
        """
        return self._fit_or_stay(X, y, sample_weight, radius, X_err)

    @property
    def _options(self) -> SolverOptions:
        unused = ("refit", "starts", "callback", "max_points")
        return SolverOptions.read(self.solver_options, unused)

    def _fit(self, X, y, sample_weight, radius, X_err) -> list[Warning]:
        data = training_targets(self, X, y, sample_weight, radius, X_err)
        solution = self._solve(data)
        self.radius_ = data.remembered_radius()
        self.coef_, self.intercept_ = solution.w, float(solution.b)
        self.objective_, self.dual_gap_ = solution.primal, solution.gap
        self.relative_gap_, self.converged_ = solution.relative_gap, solution.converged
        self.n_iter_ = solution.n_iter
        notes = list[Warning](solution.notes)
        if isinstance(data, TrainingTargets):
            notes += noise_beyond_spread(self, data.X, data.radius)
        return notes

    def _solve(self, data: TrainingTargets | TrainingChunks) -> Solution:
        self.noise_, given = self._noise(), self._options
        (seed,) = given.seeds(1)
        options = given.solving(self.tol, random_state=seed)
        if isinstance(data, TrainingTargets):
            self.target_scale_ = data.unit
            return solve_stated(
                data.X, data.y, data.stated(statement_of(self)), options
            )
        self.target_scale_ = _scale_in_chunks(data.X)
        stated = data.stated(statement_of(self), self.target_scale_)
        return solve_source(data.X, stated, options, None, data.verbose)


def _scale_in_chunks(source: Source) -> float:
    """`target_scale` of data in chunks, by a read of y."""
    parts = [(host(y), weight) for y, weight in source.labels()]
    y = np.concatenate([np.asarray(y, dtype=np.float64) for y, _ in parts])
    weights = [np.ones(len(y)) if w is None else host(w) for y, w in parts]
    return target_scale(y, np.concatenate(weights))
