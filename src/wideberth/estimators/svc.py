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
    """Linear support vector classifier that expects its features to be off.

    Minimises, with a proof of how close it came::

        ½‖w‖² + ½λ_b b² + s₀Ω(w) + Σ c_i [1 − y_i(⟨w,x_i⟩ + b) + ρ_i Ω(w)]_+

    the hinge loss under the worst perturbation of every sample within radius ρ_i. Error
    bars for every cell are given to `fit` as `X_err`; then each sample has a shape Ω_i
    of its own. With `radius=0`, and so with no argument at all, it is the ordinary
    linear SVM: `SVC(kernel="linear")` as it stands, and `LinearSVC(loss="hinge")` with
    `solver_options={"intercept_penalty": 1}`. Its `repr` says so: scales or a radius
    make it robust.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses; smaller values regularise more.
    radius : float, default=None
        How far a sample may be off, in units of `noise`, or in standard errors where
        `fit` is given `X_err`. None is 1 where scales are stated, by `noise` (an array,
        a covariance, `Box`, `CrossPolytope`) or `X_err`; 0 for a norm without scales
        ("l2", "linf", "l1"); and 0 behind `TrueFeatures`, whose means allow for the
        errors already. Radii that differ from sample to sample are given to `fit`.
    noise : {"l2", "linf", "l1"}, array of shape (n_features,) or \
            (n_features, n_features), Series, dict, frame, Box, CrossPolytope or \
            Correlated, default="l2"
        Shape of the noise: a Euclidean ball; a box, every feature off by up to ρ; a
        cross-polytope, absolute errors summing to at most ρ; one noise scale per
        feature; or a covariance, which `wideberth.Correlated.from_factor` takes
        as a factor besides. `wideberth.Box` and `wideberth.CrossPolytope` take a
        tolerance for each feature. Boxes leave features out: see `support_features_`.
        A pandas Series, a dict or a frame is aligned with the columns of X by name.
        Scales are in units of the X that this estimator sees: behind a scaler use
        `make_robust_pipeline`, which takes them in the units of the raw data. Beside
        `X_err` it stays at its default.
    error_shape : {"ellipsoid", "box"}, default="ellipsoid"
        Whether `X_err` holds standard errors, any of whose combinations of the same
        total size may occur, or tolerances that all cells may reach at once.
    norm_penalty : float, default=0.0
        s₀, what the norm Ω(w) of the noise costs outside the hinge, whatever the radii:
        with `noise="linf"` it is ‖w‖₁, and the model is the elastic-net SVM. Beside
        `X_err` with error_shape="box" it is ‖w‖₁ too; beside ellipsoids it must be 0.
    ramp : float, default=None
        a ≤ 0, for labels that may be wrong: no sample costs more than c_i(1 − a), and
        those with a robust margin below a count no further. −1 is usual; None and −∞
        are the hinge loss. See `suspects_`. With a ramp the objective is not convex;
        certificates are those of the best model that leaves the same samples out.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It carries no noise.
    class_weight : dict or "balanced", default=None
        Factors on C per class label (1 where none is given), or "balanced": inversely
        proportional to the total sample weight of each class. A label that does not
        occur in y is an error if some class has no factor, and a warning otherwise: a
        fold of a cross-validation may lack a class.
    tol : float, default=1e-4
        Stop when the duality gap plus its rounding is at most `tol` times the
        objective. A classifier that close predicts as the best one does;
        `wideberth.solve` and `path`, whose numbers are results themselves, have 1e-6.
    n_jobs : int, default=None
        Binary problems solved at a time. In threads, which share X and for which the
        products over the rows release the interpreter lock;
        `joblib.parallel_config(backend="loky")` takes processes and a memory map.
    solver_options : dict, default=None
        What is seldom needed:

        * "solver", "screening", "max_iter", "starts": as in `wideberth.solve`;
          "max_seconds" too, for all binary problems together.
        * "intercept_penalty": λ_b, by default 0, a free intercept. What
          `intercept_scaling` is to `LinearSVC`: λ_b = 1 / intercept_scaling².
        * "random_state": decides how a solver proceeds, never what is proven (0).
        * "verbose": print a line for every certified point.
        * "callback": called as `callback(label, entry)` at every certified point, with
          the positive class of the binary problem and what `wideberth.solve` gives a
          callback. If it returns True, that problem ends with what it has.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels with positive weight, sorted.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        `sparsify` turns it into a CSR matrix, `densify` back.
    intercept_ : array of shape (1,) or (n_classes,)
    support_features_ : array of shape (n_support_features,)
        Features that have a weight in some binary problem, by number.
    support_ : array of shape (n_support,)
        Samples with a dual weight in some binary problem.
    dual_coef_ : array of shape (1, n_support) or (n_classes, n_support)
        y·α of those samples, as in `SVC`. With radius 0,
        `coef_` ≈ `dual_coef_ @ X[support_]`.
    suspects_ : structured array of shape (n_suspects,)
        With a `ramp`, training samples whose label the model disbelieves: left out in
        some binary problem and predicted otherwise, the most doubtful first. Fields
        are "sample", its row; "label", the one given; "predicted"; "distance", how far
        on the wrong side it is, in units of `certified_radius`; and "noises", the same
        in units of its own radius, infinite where that is 0: beyond 1 its noise cannot
        explain it. `pandas.DataFrame(model.suspects_)` is a table of them.
    descent_ : list of dict
        With a `ramp`, for each binary problem how many samples the model leaves out
        ("left_out"), and "objectives", "start" and "ending" as in
        `wideberth.results.RampDescent`.
    objective_ : array of shape (1,) or (n_classes,)
        The objective of each binary problem at its solution.
    dual_gap_ : array of shape (1,) or (n_classes,)
        Duality gap of each binary problem, on all samples: how much better any other
        model can be at most.
    relative_gap_ : array of shape (1,) or (n_classes,)
        The duality gaps as shares of the objectives.
    converged_ : array of shape (1,) or (n_classes,)
        Whether each binary problem is proven to `tol`.
    n_iter_ : array of shape (1,) or (n_classes,)
    screening_ : list of dict
        For each binary problem the shares of samples proven irrelevant ("removed") and
        proven at full weight ("saturated"), the "trace" of its certified points, and
        whether it "converged", as `wideberth.results.Solution` defines it.
    noise_ : str, array, Noise or None
        The shape trained against, in units of the X that `fit` saw and in the order of
        its features; None where `X_err` gave every sample its own.
    error_shape_ : str or None
        How `X_err` was read in training; None without. A model trained with `X_err`
        asks for that of the samples it is to judge.
    radius_ : float or None
        The radius trained with; None where every sample had its own. `robust_score` and
        `worst_case` go by it.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only where X has column names.

    See Also
    --------
    wideberth.make_robust_pipeline : noise in the units of the data before scaling.
    wideberth.radius_from_std : radii from a standard deviation.
    wideberth.errors.from_replicates : errors from repeated measurements.

    Notes
    -----
    For probabilities wrap it in `sklearn.calibration.CalibratedClassifierCV`. To
    hand on the features that have a weight alone, use
    `sklearn.feature_selection.SelectFromModel(..., threshold=1e-12)`: weights of the
    others are 0 exactly.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from wideberth import RobustLinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RobustLinearSVC(radius=0.1).fit(X, y)
    >>> bool(model.robust_score(X, y, 0.1) <= model.score(X, y))
    True
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
            float32 is used as it is, without a float64 copy. Or data that is read in
            chunks, as `wideberth.data.open_data` takes it or returned by it. Arrays
            of other libraries are copied to NumPy; `wideberth.solve` leaves them where
            they are.
        y : array of shape (n_samples,)
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            Factors on C. A sample of weight 0 might as well be absent.
        radius : float or array of shape (n_samples,), optional
            How far each sample may be off; takes the place of the parameter `radius`.
        X_err : array or CSR matrix of shape (n_samples, n_features), frame, array of \
                shape (n_samples, n_features, n_features) or pair, optional
            Error bars: how far every cell of X may be off, in its units, and 0 where it
            is exact. Frames are aligned with X by the names of columns, and those of
            pandas by the labels of rows; other labels are refused. A covariance for
            every sample has three dimensions. With error_shape="box" a pair (down, up)
            of magnitudes states lopsided tolerances: two tables in a tuple or a list,
            or `np.stack([down, up], axis=-1)`, of shape (n_samples, n_features, 2),
            which the searches of scikit-learn slice for their folds like other arrays.
            Cells without an error: `wideberth.errors.fill`. Data that is read in chunks
            has them as `wideberth.data.open_data` says. `noise` is left at its default.

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
