"""`RobustLinearSVC`: the robust SVM as a scikit-learn classifier, on top of `solve`.

Two classes are one problem, more are one against the rest each. Every fact about a
parameter is checked where it is used (`solve`, `Problem`), so nothing is checked twice.
A fit works on a copy of the estimator and takes its place when all is done: a fit that
fails or is interrupted leaves what was fitted before.
"""

from __future__ import annotations

import time
import warnings
from copy import copy
from functools import partial

import numpy as np
import scipy
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from wideberth.data.opening import is_scaled
from wideberth.estimators.callbacks import CallbackSupport, Progress, with_callbacks
from wideberth.estimators.linear import (
    LinearClassifier,
    dispatched,
    notes_of,
    read_data,
    remembered_radius,
    weighted_classes,
)
from wideberth.problem.arrays import is_foreign
from wideberth.problem.validation import check_jobs, check_positive
from wideberth.solve import Solution, solve

__all__ = ["RobustLinearSVC"]

#: scikit-learn hands on arrays of other libraries only beside a SciPy that does.
_DISPATCHES = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 14)


class RobustLinearSVC(CallbackSupport, LinearClassifier):
    """Linear support vector classifier that expects its features to be off.

    Minimises, with a proof of how close it came::

        ½‖w‖² + ½λ_b b² + Σ c_i [1 − y_i(⟨w,x_i⟩ + b) + ρ_i Ω(w)]_+

    the hinge loss under the worst perturbation of every sample within radius ρ_i. With
    `radius=0` it is the linear SVM: `SVC(kernel="linear")` as it stands, and
    `LinearSVC(loss="hinge")` with `intercept_penalty=1`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses; smaller values regularise more.
    radius : float or dict, default=0.0
        How far a sample may be off, in units of `noise`: one number, or one per class
        label, where every class needs one. Radii that differ from sample to sample are
        given to `fit`.
    noise : {"l2", "linf", "l1"}, array of shape (n_features,) or \
            (n_features, n_features), Series, dict, frame or Correlated, default="l2"
        Shape of the noise: a Euclidean ball; a box, every feature off by up to ρ; a
        cross-polytope, absolute errors summing to at most ρ; one noise scale per
        feature; or a covariance, which `wideberth.Correlated.from_factor` takes
        as a factor besides. "linf" and "l1" need the extra `conic`. A pandas Series, a
        dict or a frame is aligned with the columns of X by name. Scales are in
        units of the X that this estimator sees: behind a scaler use
        `make_robust_pipeline`, which takes them in the units of the raw data.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It carries no noise.
    intercept_penalty : float, default=0.0
        λ_b; 0 leaves the intercept free. What `intercept_scaling` is to `LinearSVC`:
        λ_b = 1 / intercept_scaling².
    class_weight : dict or "balanced", default=None
        Factors on C per class label (1 where none is given), or "balanced": inversely
        proportional to the total sample weight of each class. A label that does not
        occur in y is an error if some class has no factor, and a warning otherwise: a
        fold of a cross-validation may lack a class.
    solver : str, default="auto"
        See `wideberth.solve`.
    screening : {"ellipsoid", "midpoint", "gap"} or None, default="ellipsoid"
        Safe region that decides which samples cannot matter.
    tol : float, default=1e-4
        Stop when the duality gap plus its rounding is at most `tol` times the
        objective; see `wideberth.solve`.
    max_iter : int, default=10000
        Most iterations for each binary problem.
    max_seconds : float, default=None
        Stop after about this long, all binary problems together.
    warm_start : bool, default=False
        Start from the previous fit where classes and features are the same.
    n_jobs : int, default=None
        Binary problems solved at a time. In threads, which share X and for which the
        products over the rows release the interpreter lock;
        `joblib.parallel_config(backend="loky")` takes processes and a memory map.
    random_state : int, RandomState instance or None, default=None
        Decides how a solver proceeds, never the solution.
    verbose : int, default=0
        Print a line for every certified point.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels with positive weight, sorted.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    support_ : array of shape (n_support,)
        Samples with a dual weight in some binary problem.
    dual_coef_ : array of shape (1, n_support) or (n_classes, n_support)
        y·α of those samples, as in `SVC`. With radius 0,
        `coef_` ≈ `dual_coef_ @ X[support_]`.
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
        whether it "converged", as `wideberth.Solution` defines it.
    noise_ : str, array or Correlated
        The shape trained against, in units of the X that `fit` saw and in the order of
        its features.
    radius_ : float, dict or None
        The radius trained with, one number or one per class label; None where every
        sample had its own. `robust_score` and `worst_case` go by it.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only where X has column names.

    See Also
    --------
    wideberth.make_robust_pipeline : noise in the units of the data before scaling.
    wideberth.radius_from_std : radii from a standard deviation.
    wideberth.radius_from_replicates : radii from repeated measurements.

    Notes
    -----
    For probabilities wrap it in `sklearn.calibration.CalibratedClassifierCV`.

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
        radius=0.0,
        *,
        noise="l2",
        fit_intercept=True,
        intercept_penalty=0.0,
        class_weight=None,
        solver="auto",
        screening="ellipsoid",
        tol=1e-4,
        max_iter=10_000,
        max_seconds=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.C = C
        self.radius = radius
        self.noise = noise
        self.fit_intercept = fit_intercept
        self.intercept_penalty = intercept_penalty
        self.class_weight = class_weight
        self.solver = solver
        self.screening = screening
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, sample_weight=None, radius=None):
        """Train on labelled samples.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            float32 is used as it is, without a float64 copy. Or data that is read in
            chunks, as `wideberth.data.open_data` takes it or returned by it. Arrays
            of other libraries stay where they are under `array_api_dispatch`, and are
            copied to NumPy without.
        y : array of shape (n_samples,)
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            Factors on C. A sample of weight 0 might as well be absent.
        radius : float or array of shape (n_samples,), optional
            How far each sample may be off; takes the place of the parameter `radius`.

        Returns
        -------
        self
        """
        fitted = copy(self)
        for note in fitted._fit(X, y, sample_weight, radius):
            warnings.warn(note, stacklevel=2)
        self.__dict__ = fitted.__dict__
        return self

    @with_callbacks
    def _fit(self, X, y, sample_weight, radius) -> list[Warning]:
        """Fit in place; return the warnings to issue."""
        if dispatched(X):
            from wideberth.estimators.chunked import fit_elsewhere

            return fit_elsewhere(self, X, y, sample_weight, radius)
        if not is_foreign(X) and is_scaled(X, y):
            from wideberth.estimators.chunked import fit_source

            return fit_source(self, X, y, sample_weight, radius)
        return self._fit_here(X, y, sample_weight, radius)

    def _fit_here(self, X, y, sample_weight, radius) -> list[Warning]:
        """Fit to data in NumPy or SciPy, or in what becomes that."""
        X, y = read_data(self, X, y)
        check_jobs(self.n_jobs)
        radius = self._radius_to_train_with(radius)
        notes = self._unknown_classes(np.unique(y), radius)
        weights = self._weights(y, sample_weight)
        classes, numbers = weighted_classes(y, weights)
        radii = self._radii(y, radius)
        noise = self._noise()
        positives = [1] if len(classes) == 2 else list(range(len(classes)))
        starts = self._starts(classes, X.shape, len(positives))
        seeds = check_random_state(self.random_state).randint(2**31, size=len(classes))
        deadline = np.inf
        if self.max_seconds is not None:
            seconds = check_positive(self.max_seconds, "max_seconds")
            deadline = time.monotonic() + seconds
        options = self._options() | {
            "quiet": True,
            "sample_weight": weights,
            "radius": radii,
            "noise": noise,
        }
        progress = Progress(self, len(positives), X=X, y=y)
        solutions = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_one_against_the_rest)(
                X,
                numbers,
                k,
                options | {"init": start, "random_state": int(seeds[k])},
                deadline,
                progress,
                self._printer(classes[k]),
            )
            for k, start in zip(positives, starts, strict=True)
        )
        self.classes_, self.noise_ = classes, noise
        self.radius_ = remembered_radius(radius)
        self._keep(solutions, np.array(positives), numbers)
        progress.end(**{name: getattr(self, name) for name in _PREDICTIVE})
        return notes + notes_of(solutions, classes)

    def _options(self) -> dict:
        """Parameters that `solve` takes as they are, and checks."""
        names = (
            "C",
            "fit_intercept",
            "intercept_penalty",
            "solver",
            "screening",
            "tol",
            "max_iter",
        )
        return {name: getattr(self, name) for name in names}

    def _keep(self, solutions: list[Solution], positives, numbers) -> None:
        """Set the fitted attributes from one solution per binary problem."""
        self.coef_ = np.vstack([solution.w for solution in solutions])
        self.intercept_ = np.array([solution.b for solution in solutions])
        used = np.zeros(len(numbers), dtype=bool)
        for solution in solutions:
            used |= (solution.alpha > 0) & ~solution.removed
        self.support_ = np.flatnonzero(used)
        signs = np.where(numbers[self.support_] == positives[:, None], 1.0, -1.0)
        alpha = [solution.alpha[self.support_] for solution in solutions]
        self.dual_coef_ = signs * np.vstack(alpha)
        proofs = [solution.certificate for solution in solutions]
        self.objective_ = np.array([proof.primal for proof in proofs])
        self.dual_gap_ = np.array([proof.gap for proof in proofs])
        self.relative_gap_ = np.array([proof.relative_gap for proof in proofs])
        self.converged_ = np.array([solution.converged for solution in solutions])
        self.n_iter_ = np.array([solution.n_iter for solution in solutions])
        self.screening_ = [
            {
                "removed": float(solution.removed.mean()),
                "saturated": float(solution.saturated.mean()),
                "trace": solution.trace,
                "converged": solution.converged,
            }
            for solution in solutions
        ]

    def _starts(self, classes, shape, n_problems) -> list:
        """Previous solutions to start from, or None for each binary problem."""
        previous = getattr(self, "classes_", None) if self.warm_start else None
        same = previous is not None and np.array_equal(previous, classes)
        if not same or self.coef_.shape[1] != shape[1]:
            return [None] * n_problems
        alpha = np.zeros((n_problems, shape[0]))
        here = self.support_ < shape[0]
        alpha[:, self.support_[here]] = np.abs(self.dual_coef_[:, here])
        return list(zip(self.coef_, self.intercept_, alpha, strict=True))

    def _radius_to_train_with(self, radius):
        """The one given to `fit`, or the parameter, which is never one per sample."""
        if radius is not None:
            return radius
        if not isinstance(self.radius, dict) and np.ndim(self.radius) > 0:
            raise ValueError(
                f"radius has shape {np.shape(self.radius)}; as a parameter it must be "
                "one number or a dict of class label to number. Give one radius per "
                "sample to fit: fit(X, y, radius=...)."
            )
        return self.radius

    def _trained_radius(self):
        if not hasattr(self, "radius_"):
            raise ValueError(
                "radius must be given: this model was saved by a version that did not "
                "keep the radius it was trained with. Give radius=... ."
            )
        return self.radius_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = _DISPATCHES
        return tags

    def _printer(self, label):
        return (
            partial(_print_point, type(self).__name__, label) if self.verbose else None
        )


_PREDICTIVE = (
    *("classes_", "coef_", "intercept_", "noise_", "radius_"),
    "n_features_in_",
)


def _one_against_the_rest(
    X, numbers, k: int, options: dict, deadline: float, progress: Progress, printer
) -> Solution:
    """Class number k against the rest, in whatever thread or process."""
    callback, done = progress.watch(k, printer)
    left = None if deadline == np.inf else max(deadline - time.monotonic(), 1e-9)
    labels = np.where(numbers == k, 1.0, -1.0)
    solution = solve(X, labels, max_seconds=left, callback=callback, **options)
    done()
    return solution


def _print_point(name: str, label, entry: dict) -> None:
    print(
        f"[{name}] {label!s}: iteration {entry['iteration']}, "
        f"objective {entry['primal']:.6g}, gap {entry['gap']:.2e}, "
        f"{entry['free']} samples undecided, {entry['seconds']:.2f} s"
    )
