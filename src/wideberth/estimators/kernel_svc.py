"""`RobustKernelSVC`: a curved boundary with certificates, in one estimator.

Landmarks are drawn by k-means++ behind the kernel: the first at random, each of the
others with a probability proportional to its squared distance from the nearest one
before it, which is R²(ρ) = 2 − 2k(ρ) there (theory §19). Their number is settled by
ridge regression of the labels on the features, whose cross-validated error takes one
product ZᵀZ: the number doubles while that error falls much.

All of this, and the choice of C, γ and radius where no folds are given, needs at most
5000 rows, which are drawn. For the choice the features are made once for each γ and
fold, with landmarks of the part to train on; for each radius models follow a path
along C. Then one model is trained on all rows, which may be read in chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn import config_context
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from wideberth.data.opening import errors_in_memory, is_scaled
from wideberth.estimators.curved import (
    Curve,
    CurvedFront,
    JudgedCurve,
    blocks,
    features,
)
from wideberth.estimators.cv import RobustLinearSVCCV
from wideberth.estimators.drawn import Drawn
from wideberth.estimators.folds import Split, check_folds, run_folds
from wideberth.estimators.linear import LinearClassifier
from wideberth.estimators.pipeline import (
    RobustPipeline,
    fit_curved,
    fit_curved_chunks,
)
from wideberth.estimators.scoring import RobustScorer
from wideberth.estimators.svc import RobustLinearSVC
from wideberth.estimators.training import (
    SolverOptions,
    TrainingChunks,
    TrainingRows,
    noise_beyond_spread,
    read_measured,
    read_rows,
    remedy_for_gaps,
    remembered_radius,
    training_data,
)
from wideberth.noise import as_shape
from wideberth.problem.arrays import is_foreign, quietly
from wideberth.problem.validation import (
    check_jobs,
    check_number,
    radius_or_default,
    short,
)

#: The first number of landmarks, and the most (a choice).
_FIRST, _MOST = 128, 1_024
#: The number is doubled while the last doubling explained more than this part of the
#: variance of the labels: an exact machine is then at most 0.8 points better on the
#: tables of `python -m benchmarks.kernels`.
_GAIN = 0.02
#: Folds and penalties of that regression; 1/penalty is about what C is to the hinge.
_FOLDS = 3
_PENALTIES = (0.01, 0.1, 1.0, 10.0)
#: Rows that are left out in all where nobody says on which folds to choose (a choice).
_LEFT_OUT = 2_000
#: Relative gap of the models that C, gamma and radius are chosen from (with 1e-4 scores
#: change by 0.3 points at most, and a search takes 1.1 to 1.3 times as long).
_CHOICE_TOL = 1e-2
#: Rows with 1 − k below this count as equal (that of the eigenvalues in `Nystroem`).
_EQUAL = 1e-12


class RobustKernelSVC(LinearClassifier):
    """Support vector classifier with a curved boundary, trained against noise.

    It stands for `make_robust_pipeline(Nystroem(), RobustLinearSVC())` with an RBF
    kernel, k(x,x') = exp(−γ‖x−x'‖²). Some rows serve as landmarks. The values of the
    kernel between a sample and the landmarks are its new features, and a
    `RobustLinearSVC` is trained on these, against the largest changes that the noise of
    each sample can cause in them. Noise and radii are in units of X; put a scaler
    before it with `make_robust_pipeline`.

    `certified_radius` and `robust_score` are lower bounds here: no error within the
    certified radius changes the class; a larger one may or may not. `worst_case` is the
    worst error that a search finds.

    Parameters
    ----------
    C : float or list, default=1.0
        Weight of the losses; smaller values regularise more. Of a list, here and in
        `radius` and `gamma`, the best is chosen by cross-validation.
    radius : float or list, default=None
        How far a sample may be off, as for `RobustLinearSVC`, in units of X. One radius
        for all samples is another C (theory §1.3).
    gamma : float, "scale" or list, default="scale"
        γ, how quickly the kernel falls with the distance. "scale" is 1 over the number
        of features times the variance of X, as for `sklearn.svm.SVC`.
    n_components : int or "auto", default="auto"
        How many landmarks. "auto" begins with 128 and doubles their number, to 1024 at
        most. It stops when a doubling explains less than 2 % more of the variance of
        the labels, by a cross-validated ridge regression on at most 5000 rows.
        Landmarks are drawn among these rows by k-means++, with distances in the space
        of the kernel. Equal rows count once; if there are fewer different rows than
        landmarks, all of them are landmarks.
    noise, error_shape, class_weight
        As for `RobustLinearSVC`.
    cv : int, splitter or iterable, default=None
        Folds for the choice, as in `GridSearchCV`. None is five stratified folds of
        shuffled rows; it uses as many of them as are needed to score 2000 rows. If
        there are more than 5000 rows, 5000 are drawn, half to train on and half to
        score.
    scoring : str or callable, default=None
        The score to choose by, as for `RobustLinearSVCCV`; None is accuracy.
    tol : float, default=1e-4
        As for `RobustLinearSVC`. The models of the choice are trained to 0.01.
    n_jobs : int, default=None
        Number of folds trained in parallel; without lists to choose from, of binary
        problems.
    solver_options : dict, default=None
        As for `RobustLinearSVC`; "random_state" also says which rows are landmarks.
        With "refit": False there are scores (`cv_scores_`) and no model.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    pipeline_ : RobustPipeline
        The fitted `Nystroem` and `RobustLinearSVC`.
    C_, gamma_ : float
        C and γ of the model, the chosen ones of a list.
    cv_scores_ : array of shape (n_Cs, n_gammas, n_radii, n_splits) or None
        Scores on the parts left out, where there was a choice.
    n_components_ : int
        The number of landmarks.
    coef_ : array of shape (1, n_landmarks) or (n_classes, n_landmarks)
        Weights of the features of the kernel.
    intercept_ : array of shape (1,) or (n_classes,)
    curved_ : object
        The bounds from which certificates are computed.
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
    wideberth.make_robust_pipeline : the same in steps, with scalers and other kernels.

    Notes
    -----
    For probabilities wrap it in `sklearn.calibration.CalibratedClassifierCV`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from wideberth import RobustKernelSVC
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = RobustKernelSVC(C=10, radius=0.1).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> bool(model.robust_score(X, y, radius=0.05) > 0.9)  # a lower bound
    True
    """

    def __init__(
        self,
        C=1.0,
        radius=None,
        *,
        gamma="scale",
        n_components="auto",
        noise="l2",
        error_shape="ellipsoid",
        class_weight=None,
        cv=None,
        scoring=None,
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
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.n_jobs = n_jobs
        self.solver_options = solver_options

    def fit(self, X, y=None, sample_weight=None, *, radius=None, X_err=None):
        """Train on labelled samples.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Or data that is read in chunks: files, Dask collections, chunks, or what
            `wideberth.open_data` returns. Features of the kernel are made anew at each
            read, chunk by chunk.
        y, sample_weight, radius, X_err
            As for `RobustLinearSVC.fit`.

        Returns
        -------
        self
        """
        return self._fit_or_stay(X, y, sample_weight, radius, X_err)

    def _fit(self, X, y, sample_weight, radius, X_err) -> list[Warning]:
        Cs, gammas, radii = map(several, (self.C, self.gamma, self.radius))
        if radius is not None and len(radii) > 1:
            raise ValueError(
                "radius is given to fit, and the parameter radius has several values "
                "to choose from. Give one of the two."
            )
        for C in Cs:
            check_number(C, "C", positive=True)
        data = self._samples(X, y, sample_weight, radius, X_err)
        if radius is not None:
            radii = [data.radius]
        (seed,) = self._options.seeds(1)
        drawn = Drawn.of(data, seed)
        sizes = [self._size(drawn, gamma, seed) for gamma in gammas]
        best, shape = (0, 0, 0), (len(Cs), len(gammas), len(radii))
        self.cv_scores_: np.ndarray | None = None
        if max(shape) > 1 or not self._options.refit:
            grid = Cs, list(zip(gammas, sizes, strict=True)), radii
            best = self._choose(data, drawn, grid, seed)
        self.C_ = float(Cs[best[0]])
        if not self._options.refit:
            return []
        step = kernel_step(drawn, gammas[best[1]], sizes[best[1]], seed)
        self._train(data, step, radii[best[2]])
        if isinstance(data, TrainingChunks):
            return []
        trained = data.radius if self.radius_ is None else self.radius_
        return noise_beyond_spread(self, data.X, trained)

    def _samples(
        self, X, y, sample_weight, radius, X_err
    ) -> TrainingRows | TrainingChunks:
        """The samples to train on; what is wrong with them is refused."""
        _refuse_sparse(X)
        if not is_foreign(X) and is_scaled(X, y):
            return self._chunks(X, y, sample_weight, radius, X_err)
        X, y, bars = read_measured(self, X, y, X_err)
        how = {"bars": bars, "class_weight": self.class_weight}
        X = X.astype(np.float64, copy=False)
        data = TrainingRows.of(X, y, sample_weight, radius, **how)
        self.classes_, self.noise_ = data.classes, self._noise()
        return data

    def _chunks(self, X, y, sample_weight, radius, X_err):
        """Samples that are read in chunks."""
        stated, self.radius = self.radius, several(self.radius)[0]
        try:
            data = training_data(self, X, y, sample_weight, radius, X_err)
        finally:
            self.radius = stated
        self.classes_, self.noise_ = data.classes, self._noise()
        return data

    def _size(self, drawn: Drawn, gamma, seed: int) -> int:
        """How many landmarks to draw."""
        m = self.n_components
        if not isinstance(m, str):
            return int(check_number(m, "n_components", whole=True))
        if m != "auto":
            raise ValueError(
                f"n_components={short(m)} must be a whole number ≥ 1, or 'auto'."
            )
        return settled_size(drawn, read_gamma(gamma, drawn.scale), seed)

    def _train(self, data, step: Nystroem, radius) -> None:
        """Fit the classifier behind the kernel; what it keeps is kept here too."""
        classifier = RobustLinearSVC(
            self.C_,
            radius if np.ndim(radius) == 0 else None,
            noise=self.noise if self._trained_with_errors else self.noise_,
            error_shape=self.error_shape,
            class_weight=self.class_weight,
            tol=self.tol,
            n_jobs=self.n_jobs,
            solver_options=self.solver_options,
        )
        linear = sp.eye_array(self.n_features_in_, format="csr")
        with config_context(enable_metadata_routing=False):
            if isinstance(data, TrainingChunks):
                own = None if data.X.brings_radii else radius
                given = step, linear, self.noise_, classifier, data.X
                front = fit_curved_chunks(*given, own)
            else:
                own = {"sample_weight": data.weight, "radius": radius}
                curve, sets = Curve.of("nystroem", step), self._sets(data)
                Z = features(step, data.X)
                front = fit_curved(curve, linear, sets, classifier, Z, data.y, own)
        self._behind(step, classifier, front)

    def _sets(self, data: TrainingRows):
        """How far samples may move."""
        if data.bars is not None:
            return data.bars
        return as_shape(self.noise_, data.X.shape[1])

    # -- the choice --------------------------------------------------------------------

    def _choose(self, data, drawn: Drawn, grid: tuple, seed: int) -> tuple:
        """Where in the grid the best of all is; of equals the first."""
        check_jobs(self.n_jobs)
        if self.cv is None:
            data, most = drawn.rows, -(-5 * _LEFT_OUT // drawn.rows.n)
            parts, most = (5, most) if drawn.complete else (2, 1)
            splitter = StratifiedKFold(parts, shuffle=True, random_state=seed)
        elif isinstance(data, TrainingChunks):
            raise ValueError(
                f"cv={short(self.cv)} needs the data in memory, and X is read in "
                "chunks. Leave cv at None: then rows are drawn for the choice."
            )
        else:
            splitter, most = check_cv(self.cv, data.y, classifier=True), None
        splits = list(islice(splitter.split(data.X, data.y), most))
        check_folds(splits, data.y, data.weight)
        work = partial(self._scores, data, grid, seed)
        with quietly(), config_context(enable_metadata_routing=False):
            found = run_folds(work, splits, n_jobs=self.n_jobs)
        scores = np.stack(found, axis=-1)
        self.cv_scores_ = scores
        means = np.nan_to_num(scores.mean(axis=-1), nan=-np.inf)
        return tuple(map(int, np.unravel_index(means.argmax(), means.shape)))

    def _scores(self, data: TrainingRows, grid, seed: int, split: Split) -> np.ndarray:
        """Scores on the part left out, of shape (n_Cs, n_gammas, n_radii)."""
        parts = data.take(split.train), data.take(split.test)
        Cs, kernels, radii = grid
        drawn, found = Drawn.of(parts[0], seed), []
        for gamma, m in kernels:
            step = kernel_step(drawn, gamma, m, seed)
            found.append(self._scores_along(parts, step, Cs, radii))
        return np.stack(found, axis=1)

    def _scores_along(self, parts: tuple, step: Nystroem, Cs, radii) -> np.ndarray:
        """Scores of one kernel, of shape (n_Cs, n_radii).

        Models follow a path along C for each radius.
        """
        part, rest = parts
        linear = sp.eye_array(part.X.shape[1], format="csr")
        front = CurvedFront(Curve.of("nystroem", step), linear, None, self.error_shape_)
        Z = np.concatenate([features(step, rows.X) for rows in parts])
        y = np.concatenate([rows.y for rows in parts])
        weight = np.concatenate([rows.weight for rows in parts])
        search = RobustLinearSVCCV(
            Cs,
            class_weight=self.class_weight,
            cv=[(np.arange(part.n), np.arange(part.n, part.n + rest.n))],
            scoring=self.scoring,
            tol=max(self.tol, _CHOICE_TOL),
            solver_options=dict(self.solver_options or {}, refit=False),
        )
        sets, found = self._sets(part), []
        for radius in radii:
            radius = radius if part.radius is None else part.radius
            radius = radius_or_default(radius, self.noise, part.bars)
            size = front.trained_radius(radius, sets, part.n)
            if not isinstance(self.scoring, str | None):
                front = replace(front, radius=remembered_radius(radius))
                search.scoring = _BehindKernel(self, step, front, rest)
            sizes = np.zeros(len(y))
            sizes[: part.n] = size
            search.fit(Z, y, weight, radius=sizes)
            found.append(search.scores_[0, :, 0])
        return np.stack(found, axis=1)

    def _behind(self, step: Nystroem, classifier, front: CurvedFront) -> None:
        """Keep a fitted kernel and classifier, and what certificates go by."""
        self.pipeline_ = RobustPipeline.behind(step, classifier, front, self.noise_)
        self.curved_, self.radius_ = front, front.radius
        self.gamma_, self.n_components_ = front.curve.gamma, len(front.curve.landmarks)
        for name in ("support_", "dual_coef_"):  # chunks have none
            if hasattr(self, name):
                delattr(self, name)
        of_features = ("noise_", "error_shape_", "n_features_in_", "radius_")
        for name, value in vars(classifier).items():
            if name.endswith("_") and name not in of_features:
                setattr(self, name, value)

    @property
    def _options(self) -> SolverOptions:
        return SolverOptions.read(self.solver_options, unused=("max_points",))

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
            for rows in blocks(len(X), self.n_components_)
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
            "A model with a kernel has no weights of features. It weighs the features "
            "of the kernel: model.pipeline_[0].transform(X), model.coef_."
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


class _BehindKernel:
    """A scorer of classifiers on features, by what kernel machines say of X."""

    def __init__(self, model: RobustKernelSVC, step, front: CurvedFront, rest):
        self.model, self.step, self.front, self.rest = model, step, front, rest

    def __call__(self, classifier, Z, y) -> float:
        """Score a classifier on the samples left out."""
        model, rest, scorer = copy(self.model), self.rest, self.model.scoring
        if hasattr(model, "feature_names_in_"):
            del model.feature_names_in_  # X is an array here
        model._behind(self.step, classifier, self.front)
        if not isinstance(scorer, RobustScorer):
            return scorer(model, rest.X, y)
        if scorer.radius is None and rest.radius is not None:
            scorer = RobustScorer(rest.radius, scorer.balanced)
        return scorer(model, rest.X, y, rest.bars)


def several(value) -> list:
    """Values of a parameter to choose from; one value is one of them."""
    listed = isinstance(value, list | tuple) or np.ndim(value) > 0
    values = [*value] if listed else [value]
    if not values:
        raise ValueError("C, gamma and radius must each have a value to choose from.")
    return values


def read_gamma(gamma, scale: float) -> float:
    """γ as a number; `scale` is what "scale" stands for."""
    if isinstance(gamma, str):
        if gamma != "scale":
            raise ValueError(
                f"gamma={short(gamma)} is not known; give a positive number or 'scale'."
            )
        return scale
    gamma = check_number(gamma, "gamma")
    if not 0 < gamma < np.inf:
        raise ValueError(f"gamma={gamma:g}; give a positive number or 'scale'.")
    return gamma


def landmark_order(X: np.ndarray, gamma: float, seed: int) -> Iterator[int]:
    """Rows in the order in which they become landmarks; equal rows count once."""
    random = check_random_state(seed)
    X = X - X.mean(axis=0)  # for the rounding of distances
    squares = np.square(X).sum(axis=1)
    apart, chosen = np.ones(len(X)), int(random.randint(len(X)))
    while True:
        yield chosen
        distances = squares - 2 * (X @ X[chosen]) + squares[chosen]
        np.minimum(apart, -np.expm1(-gamma * np.maximum(distances, 0)), out=apart)
        apart[chosen] = 0
        apart[apart < _EQUAL] = 0
        totals = np.cumsum(apart)
        if not totals[-1] > 0:
            return
        aim = random.random_sample() * totals[-1]
        chosen = int(np.searchsorted(totals, aim, side="right"))


def kernel_step(drawn: Drawn, gamma, m: int, seed: int) -> Nystroem:
    """The fitted kernel step on landmarks among the drawn samples."""
    return step_on(drawn.rows.X, read_gamma(gamma, drawn.scale), m, seed)


def step_on(X: np.ndarray, gamma: float, m: int, seed: int) -> Nystroem:
    """The same on landmarks among the rows X."""
    landmarks = np.unique(X[[*islice(landmark_order(X, gamma, seed), m)]], axis=0)
    step = Nystroem(gamma=gamma, n_components=len(landmarks), random_state=0)
    return step.fit(landmarks)


def settled_size(drawn: Drawn, gamma: float, seed: int) -> int:
    """The number of landmarks from which on more do not pay; see the head."""
    data = drawn.rows
    order, rows = landmark_order(data.X, gamma, seed), list[int]()
    signs = np.stack([data.signs(k) for k in data.positives], axis=1)
    values, gain, error = np.empty((data.n, 0)), np.inf, np.inf
    while gain > _GAIN and len(rows) < _MOST:
        wanted = 2 * len(rows) or _FIRST
        new = [*islice(order, wanted - len(rows))]
        if not new:  # these are all that differ
            break
        rows += new
        values = np.column_stack([values, rbf_kernel(data.X, data.X[new], gamma)])
        Z = values @ _inverse_root(values[rows])
        before, error = error, ridge_error(Z, signs, data.factored_weight)
        gain = before - error
    return len(rows)


def _inverse_root(K: np.ndarray) -> np.ndarray:
    """W of features k(x,c_j)W; `Nystroem` has another one, of the same products."""
    values, vectors = scipy.linalg.eigh(K, driver="evd")
    return vectors / np.sqrt(np.maximum(values, 1e-12))


def ridge_error(Z: np.ndarray, signs: np.ndarray, weight: np.ndarray) -> float:
    """The part of the variance of signs that ridge regression leaves open.

    Cross-validated, with the best penalty p, and w, b of each training part by

        min p‖w‖² + Σ weight_i (⟨w,z_i⟩ + b − sign_i)² .
    """
    signs = signs - np.average(signs, axis=0, weights=weight)
    errors = _ridge_errors(np.column_stack([Z, np.ones(len(Z))]), signs, weight)
    return float(errors.min() / (weight @ np.square(signs).sum(axis=1)))


def quick_answers(data: TrainingRows, X: np.ndarray, seed: int) -> list[np.ndarray]:
    """The classes of rows X by ridge regression: on the features, and on a kernel.

    Of at most 5000 samples, with 128 landmarks and γ by the rule "scale".
    """
    rows = Drawn.of(data, seed).rows
    centre = rows.X.mean(axis=0)
    drawn, X = Drawn.of(replace(rows, X=rows.X - centre), seed), X - centre
    data, step = drawn.rows, kernel_step(drawn, "scale", _FIRST, seed)
    signs = np.stack([data.signs(k) for k in data.positives], axis=1)
    weight, found = data.factored_weight, []
    spread = data.X.std(axis=0)
    units = np.where(spread > 0, spread, 1.0)  # for the rounding of products
    straight = data.X / units, X / units
    for Z, new in (straight, (features(step, data.X), features(step, X))):
        Z, new = (np.column_stack([part, np.ones(len(part))]) for part in (Z, new))
        penalty = _PENALTIES[int(_ridge_errors(Z, signs, weight).argmin())]
        scores = new @ _ridge((weight * Z.T) @ Z, (weight * Z.T) @ signs, penalty)
        places = scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0
        found.append(data.classes[places.astype(int)])
    return found


def _ridge(gram: np.ndarray, side: np.ndarray, penalty: float) -> np.ndarray:
    """Weights, the last of which is free, for the products of columns."""
    free = np.r_[np.ones(len(gram) - 1), 0.0]
    tiny = np.finfo(float).eps * np.trace(gram)
    matrix = gram + np.diag(penalty * free + tiny)
    return scipy.linalg.solve(matrix, side, assume_a="pos")


def _ridge_errors(Z: np.ndarray, signs: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Cross-validated sums of squares of every penalty; the last column is ones."""
    folds = [slice(k, None, _FOLDS) for k in range(min(_FOLDS, len(Z)))]
    grams = [(weight[f] * Z[f].T) @ Z[f] for f in folds]
    sides = [(weight[f] * Z[f].T) @ signs[f] for f in folds]
    gram, side = sum(grams), sum(sides)
    errors = np.zeros(len(_PENALTIES))
    for f, one, other in zip(folds, grams, sides, strict=True):
        for k, penalty in enumerate(_PENALTIES):
            w = _ridge(gram - one, side - other, penalty)
            errors[k] += weight[f] @ np.square(Z[f] @ w - signs[f]).sum(axis=1)
    return errors


def _refuse_sparse(X) -> None:
    if sp.issparse(X):
        raise TypeError(
            "Sparse X was given; RobustKernelSVC needs a dense array, because it "
            "uses distances between rows. Give X.toarray(), or use RobustLinearSVC."
        )
