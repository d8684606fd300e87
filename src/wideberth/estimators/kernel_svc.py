"""`RobustKernelSVC`: a curved boundary with certificates, in one estimator."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from wideberth.data.opening import errors_in_memory, is_scaled
from wideberth.estimators.curved import Curve, JudgedCurve
from wideberth.estimators.linear import LinearClassifier
from wideberth.estimators.pipeline import RobustPipeline, fit_curved
from wideberth.estimators.svc import RobustLinearSVC
from wideberth.estimators.training import (
    SolverOptions,
    TrainingRows,
    read_measured,
    read_rows,
    remedy_for_gaps,
)
from wideberth.noise import as_shape
from wideberth.problem.arrays import is_foreign
from wideberth.problem.validation import check_number, short

#: Entries of the kernel between rows and landmarks that are computed at a time, 32 MB
#: of them (a choice).
_ENTRIES = 1 << 22


class RobustKernelSVC(LinearClassifier):
    """Support vector classifier with a curved boundary that expects noise.

    The short spelling of `make_robust_pipeline(Nystroem(), RobustLinearSVC())` with an
    RBF kernel, k(x,x') = exp(−γ‖x−x'‖²). Some rows are landmarks, the values of the
    kernel at them become features, and a `RobustLinearSVC` is trained on these against
    the longest moves that the noise of each sample causes behind the kernel. Noise and
    radii are in units of X; put a scaler before it with `make_robust_pipeline`.

    `certified_radius` and `robust_score` are lower bounds here: no move within them
    changes a class, longer ones may or may not. `worst_case` is the worst move that a
    search finds.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses; smaller values regularise more.
    radius : float or dict, default=None
        How far a sample may be off, as for `RobustLinearSVC`, in units of X.
    gamma : float or "scale", default="scale"
        γ, how quickly the kernel falls with the distance. "scale" is 1 over the number
        of features times the variance of X, as for `sklearn.svm.SVC`.
    n_components : int, default=300
        How many landmarks, drawn evenly among the rows that differ; all of them where
        there are fewer.
    noise, error_shape, class_weight, tol, n_jobs
        As for `RobustLinearSVC`.
    solver_options : dict, default=None
        As for `RobustLinearSVC`; "random_state" also says which rows are landmarks.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    pipeline_ : RobustPipeline
        The fitted `Nystroem` and `RobustLinearSVC`.
    gamma_ : float
        γ of the kernel.
    n_components_ : int
        The number of landmarks.
    coef_ : array of shape (1, n_components_) or (n_classes, n_components_)
        Weights of the features of the kernel.
    intercept_ : array of shape (1,) or (n_classes,)
    curved_ : object
        What certificates go by.
    noise_, radius_, error_shape_
        As for `RobustLinearSVC`, in units of X.
    objective_, dual_gap_, relative_gap_, converged_, n_iter_, screening_, support_, \
            dual_coef_
        As for `RobustLinearSVC`, of the problem on the features of the kernel.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only where X has column names.

    See Also
    --------
    wideberth.make_robust_pipeline : the long spelling, with scalers and other kernels.

    Notes
    -----
    For probabilities wrap it in `sklearn.calibration.CalibratedClassifierCV`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from wideberth import RobustKernelSVC
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = RobustKernelSVC(C=10, radius=0.1).fit(X, y)
    >>> model.score(X, y), bool(model.robust_score(X, y, radius=0.05) > 0.9)
    (1.0, True)
    """

    def __init__(
        self,
        C=1.0,
        radius=None,
        *,
        gamma="scale",
        n_components=300,
        noise="l2",
        error_shape="ellipsoid",
        class_weight=None,
        tol=1e-4,
        n_jobs=None,
        solver_options=None,
    ):
        self.C = C
        self.radius = radius
        self.gamma = gamma
        self.n_components = n_components
        self.noise = noise
        self.error_shape = error_shape
        self.class_weight = class_weight
        self.tol = tol
        self.n_jobs = n_jobs
        self.solver_options = solver_options

    def fit(self, X, y, sample_weight=None, *, radius=None, X_err=None):
        """Train on labelled samples.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        y, sample_weight, radius, X_err
            As for `RobustLinearSVC.fit`.

        Returns
        -------
        self
        """
        return self._fit_or_stay(X, y, sample_weight, radius, X_err)

    def _fit(self, X, y, sample_weight, radius, X_err) -> list[Warning]:
        _refuse_sparse(X)
        if not is_foreign(X) and is_scaled(X, y):
            raise ValueError(
                f"X is a {type(X).__name__}; RobustKernelSVC is trained on data in "
                "memory. Give a NumPy array or a frame."
            )
        X, y, bars = read_measured(self, X, y, X_err)
        how = {"bars": bars, "class_weight": self.class_weight}
        X = X.astype(np.float64, copy=False)
        data = TrainingRows.of(X, y, sample_weight, **how)
        self.classes_, self.noise_ = data.classes, self._noise()
        step = self._kernel(data)
        Z, d = features(step, data.X), data.X.shape[1]
        sets = as_shape(self.noise_, d) if bars is None else bars
        classifier = RobustLinearSVC(
            self.C,
            self.radius,
            noise=self.noise if bars is not None else self.noise_,
            error_shape=self.error_shape,
            class_weight=self.class_weight,
            tol=self.tol,
            n_jobs=self.n_jobs,
            solver_options=self.solver_options,
        )
        own = {"sample_weight": data.weight, "radius": radius}
        linear = sp.eye_array(d, format="csr")
        curve = Curve.of("nystroem", step)
        front = fit_curved(curve, linear, sets, classifier, Z, y, own)
        self.pipeline_ = RobustPipeline.behind(step, classifier, front, self.noise_)
        self.curved_ = front
        self.gamma_, self.n_components_ = curve.gamma, len(curve.landmarks)
        of_features = ("noise_", "error_shape_", "n_features_in_")
        for name, value in vars(classifier).items():
            if name.endswith("_") and name not in of_features:
                setattr(self, name, value)
        self.radius_ = front.radius
        return []

    def _kernel(self, data: TrainingRows) -> Nystroem:
        """The fitted kernel step on landmarks among samples of positive weight."""
        m = int(check_number(self.n_components, "n_components", whole=True))
        (seed,) = self._options.seeds(1)
        gamma = read_gamma(self.gamma, data)
        landmarks = draw_landmarks(data.X[data.weight > 0], m, seed)
        m = len(landmarks)
        return Nystroem(gamma=gamma, n_components=m, random_state=seed).fit(landmarks)

    @property
    def _options(self) -> SolverOptions:
        return SolverOptions.read(self.solver_options, unused=("refit", "max_points"))

    def _values(self, X, X_err, method: str) -> np.ndarray:
        check_is_fitted(self, "coef_")
        if X_err is not None:
            X_err = errors_in_memory(X_err, X)
        X = self._rows(X)
        if X_err is not None:
            self._measured(X, X_err)
        step, last = self.pipeline_
        parts = [
            last.decision_function(step.transform(X[rows]))
            for rows in gen_batches(len(X), _ENTRIES // self.n_components_ + 1)
        ]
        return np.concatenate(parts)

    def _rows(self, X) -> np.ndarray:
        _refuse_sparse(X)
        X = read_rows(X, "prediction")
        with remedy_for_gaps(self):
            return validate_data(self, X, dtype=np.float64, reset=False)

    def _judge(self, X, X_err=None) -> JudgedCurve:
        values = self.decision_function(X)
        if X_err is None:
            self._ask_for_errors()
            sets = as_shape(self.noise_, self.n_features_in_)
        else:
            sets = self._measured(X, errors_in_memory(X_err, X))
        return self.curved_.judge(values, self._rows(X), self, sets, 0.0)

    def _robust_model(self):
        raise ValueError(
            "Behind a kernel a model has no weights of features. What it weighs are "
            "the features of the kernel: model.pipeline_[0].transform(X), model.coef_."
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def read_gamma(gamma, data: TrainingRows) -> float:
    """γ as a number; "scale" is that of the weighted samples."""
    if isinstance(gamma, str):
        if gamma != "scale":
            raise ValueError(
                f"gamma={short(gamma)} is not known; give a positive number or 'scale'."
            )
        X, weight = data.X, data.weight / data.weight.sum()
        mean = weight @ X.mean(axis=1)
        variance = weight @ np.square(X - mean).mean(axis=1)
        return float(1 / (X.shape[1] * variance)) if variance > 0 else 1.0
    gamma = check_number(gamma, "gamma")
    if not 0 < gamma < np.inf:
        raise ValueError(f"gamma={gamma:g}; give a positive number or 'scale'.")
    return gamma


def draw_landmarks(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """At most m rows that differ, drawn evenly, in order; fewer are a part of more."""
    order = check_random_state(seed).permutation(len(X))
    size = m
    while True:
        drawn = X[order[:size]]
        _, first = np.unique(drawn, axis=0, return_index=True)
        if len(first) >= m or size >= len(X):
            return np.unique(drawn[np.sort(first)[:m]], axis=0)
        size *= 2


def features(step: Nystroem, X: np.ndarray) -> np.ndarray:
    """What a fitted kernel step makes of rows, block by block."""
    Z = np.empty((len(X), len(step.components_)))
    for rows in gen_batches(len(X), _ENTRIES // Z.shape[1] + 1):
        Z[rows] = step.transform(X[rows])
    return Z


def _refuse_sparse(X) -> None:
    if sp.issparse(X):
        raise TypeError(
            "Sparse X was given; RobustKernelSVC needs a dense array, for the kernel "
            "is of distances between rows. Give X.toarray(), or take RobustLinearSVC."
        )
