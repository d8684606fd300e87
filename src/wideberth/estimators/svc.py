"""`RobustLinearSVC`: the robust SVM as a scikit-learn classifier, on top of `solve`.

Every fact about a parameter is checked where it is used (`solve`, `Problem`), so
nothing is checked twice; the data, the binary problems and what they leave on the
estimator are in `training.py`.
"""

from __future__ import annotations

import numpy as np

from wideberth.estimators.linear import LinearClassifier
from wideberth.estimators.training import (
    SolverOptions,
    fit_classes,
    training_data,
)
from wideberth.problem.validation import default_radius

#: scikit-learn hands on arrays of other libraries only beside a SciPy that does.


class RobustLinearSVC(LinearClassifier):
    """Linear support vector classifier, trained against errors of the features.

    Minimises, with a certificate of how close it is to the minimum::

        ½‖w‖² + ½λ_b b² + s₀Ω(w) + Σ c_i [1 − y_i(⟨w,x_i⟩ + b) + ρ_i Ω(w)]_+

    That is the hinge loss under the worst error of every sample within radius ρ_i. Give
    error bars for every cell to `fit` as `X_err`; each sample then has a shape Ω_i of
    its own. With `radius=0`, the default without `noise` and `X_err`, it is the
    ordinary linear SVM: that of `SVC(kernel="linear")`, or with
    `solver_options={"intercept_penalty": 1}` that of `LinearSVC(loss="hinge")`. Its
    `repr` says so.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses; smaller values regularise more.
    radius : float, default=None
        How far a sample may be off: the size of its whole error vector in units of
        `noise`, or in standard errors if `fit` gets `X_err`. None is 1 if `noise` (an
        array, a covariance, `Box`, `CrossPolytope`) or `X_err` states scales; 0 for a
        norm without scales ("l2", "linf", "l1"); and 0 after `TrueFeatures`, whose
        means allow for the errors already. Give radii for single samples to `fit`. One
        radius for all samples with `noise="l2"` gives an ordinary SVM with a smaller C
        (theory §1.3).
    noise : {"l2", "linf", "l1"}, array of shape (n_features,) or \
            (n_features, n_features), Series, dict, frame, Box, CrossPolytope or \
            Correlated, default="l2"
        Shape of the noise: a Euclidean ball; a box, where every feature is off by up to
        ρ; a cross-polytope, where absolute errors add up to at most ρ; one scale for
        each feature; or a covariance (or its factor, by
        `wideberth.Correlated.from_factor`). `wideberth.Box` and
        `wideberth.CrossPolytope` take a tolerance for each feature. Boxes give features
        the weight 0: see `support_features_`. A pandas Series, a dict or a frame is
        aligned with the columns of X by name. Scales are in units of the X given to
        `fit`. With a scaler use `make_robust_pipeline`, which takes them in raw units.
        With `X_err` leave it at its default.
    error_shape : {"ellipsoid", "box"}, default="ellipsoid"
        "ellipsoid" if `X_err` holds standard errors: Σ(δ_j/e_j)² is at most ρ². "box"
        if it holds tolerances: all cells may be off by ρ tolerances at once.
    norm_penalty : float, default=0.0
        s₀, a penalty on Ω(w) outside the hinge loss. With `noise="linf"` it is on ‖w‖₁,
        and the model is the elastic-net SVM. With `X_err` and error_shape="box" it is
        on ‖w‖₁, too; with ellipsoids it must be 0.
    ramp : float, default=None
        a ≤ 0, for labels that may be wrong: the loss of a sample is at most c_i(1 − a),
        which is reached at a robust margin of a. −1 is usual; None and −∞ are the hinge
        loss. See `suspects_`. With a ramp the objective is not convex; certificates are
        about the models that leave the same samples out.
    fit_intercept : bool, default=True
        Whether to fit an intercept. Noise does not apply to it.
    class_weight : dict or "balanced", default=None
        Factors on C per class label (1 where none is given), or "balanced": inversely
        proportional to the total sample weight of each class. A label that does not
        occur in y is an error if a class has no factor. Otherwise it is a warning,
        because a fold of a cross-validation may lack a class.
    tol : float, default=1e-4
        Stop when the duality gap plus its rounding bound is at most `tol` times the
        objective. A smaller gap hardly changes predictions. (`wideberth.solve` and
        `path` have 1e-6.)
    n_jobs : int, default=None
        Number of binary problems solved in parallel, in threads, which share X.
        `joblib.parallel_config(backend="loky")` uses processes and a memory map.
    solver_options : dict, default=None
        Options that are seldom needed:

        * "solver", "screening", "max_iter", "starts": as in `wideberth.solve`;
          "max_seconds" too, for all binary problems together.
        * "intercept_penalty": λ_b, by default 0, a free intercept. What
          `intercept_scaling` is to `LinearSVC`: λ_b = 1 / intercept_scaling².
        * "random_state": affects the path of the solver, never what is proven (0).
        * "verbose": print a line for every certified point.
        * "callback": called as `callback(label, entry)` at every certified point, with
          the positive class of the binary problem and what `wideberth.solve` gives a
          callback. If it returns True, that problem stops with its best answer so far.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels with positive weight, sorted.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        `sparsify` turns it into a CSR matrix, `densify` back.
    intercept_ : array of shape (1,) or (n_classes,)
    support_features_ : array of shape (n_support_features,)
        Columns with a non-zero weight in at least one binary problem.
    support_ : array of shape (n_support,)
        Samples with a non-zero dual variable in at least one binary problem.
    dual_coef_ : array of shape (1, n_support) or (n_classes, n_support)
        y·α of those samples, as in `SVC`. With radius 0,
        `coef_` ≈ `dual_coef_ @ X[support_]`.
    suspects_ : structured array of shape (n_suspects,)
        With a `ramp`, training samples whose label is probably wrong: their loss is at
        the cap in some binary problem, and the model predicts another class. The
        largest distance comes first. Fields are "sample", the row; "label", the given
        label; "predicted"; "distance", how far on the wrong side it is, in units of
        `certified_radius`; and "noises", the distance divided by its radius, infinite
        if that is 0. Above 1 the noise cannot explain the label.
        `pandas.DataFrame(model.suspects_)` makes a table.
    descent_ : list of dict
        With a `ramp`, for each binary problem how many samples the model leaves out
        ("left_out"), and "objectives", "start" and "ending" as in
        `wideberth.results.RampDescent`.
    objective_ : array of shape (1,) or (n_classes,)
        The objective of each binary problem at its solution.
    dual_gap_ : array of shape (1,) or (n_classes,)
        Duality gap of each binary problem, on all samples: no other model has an
        objective that is lower by more.
    relative_gap_ : array of shape (1,) or (n_classes,)
        The duality gaps divided by the objectives.
    converged_ : array of shape (1,) or (n_classes,)
        Whether `tol` is proven for each binary problem.
    n_iter_ : array of shape (1,) or (n_classes,)
    screening_ : list of dict
        For each binary problem: fractions of samples proven irrelevant ("removed") and
        proven to have α = c ("saturated"), the "trace" of certified points, and whether
        it "converged", as in `wideberth.results.Solution`.
    noise_ : str, array, shape or None
        The noise, in units of the X given to `fit` and in the order of its features;
        None if every sample has errors of its own (`X_err`).
    error_shape_ : str or None
        The shape of `X_err` in training; None without. A model trained with `X_err`
        needs `X_err` in its other methods, too.
    radius_ : float or None
        The radius of training; None if every sample had its own. It is the default of
        `robust_score` and `worst_case`.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only where X has column names.

    See Also
    --------
    wideberth.make_robust_pipeline : noise in raw units, before a scaler.
    wideberth.radius_from_std : radii from a standard deviation.
    wideberth.errors.from_replicates : errors from repeated measurements.

    Notes
    -----
    For probabilities wrap it in `sklearn.calibration.CalibratedClassifierCV`. To select
    the features with a non-zero weight, use
    `sklearn.feature_selection.SelectFromModel(..., threshold=1e-12)`: the other weights
    are exactly 0.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from wideberth import RobustLinearSVC
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> model = RobustLinearSVC(radius=0.1).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    >>> model.certified_radius(X[:3]).round(1)
    array([2.1, 1.4, 1.5])
    """

    def __init__(
        self,
        C=1.0,
        radius=None,
        *,
        noise="l2",
        error_shape="ellipsoid",
        norm_penalty=0.0,
        ramp=None,
        fit_intercept=True,
        class_weight=None,
        tol=1e-4,
        n_jobs=None,
        solver_options=None,
    ):
        self.C = C
        self.radius = radius
        self.noise = noise
        self.error_shape = error_shape
        self.norm_penalty = norm_penalty
        self.ramp = ramp
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.n_jobs = n_jobs
        self.solver_options = solver_options

    def fit(self, X, y=None, sample_weight=None, *, radius=None, X_err=None):
        """Train on labelled samples.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            float32 is not copied to float64. Or data that is read in chunks: what
            `wideberth.data.open_data` takes or returns. Arrays of other libraries are
            copied to NumPy; `wideberth.solve` does not copy them.
        y : array of shape (n_samples,)
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            Factors on C. A sample of weight 0 is ignored.
        radius : float or array of shape (n_samples,), optional
            How far each sample may be off; replaces the parameter `radius`.
        X_err : array or CSR matrix of shape (n_samples, n_features), frame, array of \
                shape (n_samples, n_features, n_features) or pair, optional
            Error bars: how far every cell of X may be off, in its units, and 0 where it
            is exact. Frames are aligned with X by the names of columns, and those of
            pandas by the labels of rows; other labels are refused. A covariance for
            every sample has three dimensions. With error_shape="box" a pair (down, up)
            states asymmetric tolerances as positive numbers: two tables in a tuple or a
            list, or `np.stack([down, up], axis=-1)`, of shape (n_samples, n_features,
            2), which the searches of scikit-learn slice for their folds like other
            arrays. `wideberth.errors.fill` fills missing errors. For data that is read
            in chunks see `wideberth.data.open_data`. Leave `noise` at its default.

        Returns
        -------
        self
        """
        return self._fit_or_stay(X, y, sample_weight, radius, X_err)

    def __repr__(self, N_CHAR_MAX=700):
        """As in scikit-learn, with a remark where no noise is expected."""
        return super().__repr__(N_CHAR_MAX) + self._remark

    @property
    def _options(self) -> SolverOptions:
        return SolverOptions.read(self.solver_options, unused=("refit", "max_points"))

    @property
    def _remark(self) -> str:
        """A comment, so that what is printed stays a line of Python."""
        if np.any(self.norm_penalty) or self.ramp is not None:
            return ""
        radius = getattr(self, "radius_", self.radius)
        if radius is None:  # of a fitted model: every sample had its own
            plain = not hasattr(self, "radius_") and not default_radius(self.noise)
            said = "  # an ordinary SVM, unless fit is given a radius or X_err"
            return said if plain else ""
        return "" if np.any(radius) else "  # an ordinary SVM: radius is 0"

    def _fit(self, X, y, sample_weight, radius, X_err) -> list[Warning]:
        data = training_data(self, X, y, sample_weight, radius, X_err)
        return fit_classes(self, data)
