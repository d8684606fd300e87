"""`MeasuredSVC`: measurements with errors and gaps in, classes and their doubt out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from types import MethodType
from typing import ClassVar

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import check_cv
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from wideberth.data.opening import in_chunks
from wideberth.data.samples import Samples
from wideberth.estimators.cv import RobustLinearSVCCV
from wideberth.estimators.denoised import Denoised, Scores
from wideberth.estimators.folds import Split, check_folds, run_folds
from wideberth.estimators.kernel_svc import RobustKernelSVC, several
from wideberth.estimators.pipeline import RobustPipeline, make_robust_pipeline
from wideberth.estimators.scoring import BALANCED
from wideberth.estimators.spread_calibration import SpreadCalibration
from wideberth.estimators.streaming import StreamedMixin, per_row
from wideberth.estimators.svc import RobustLinearSVC
from wideberth.estimators.training import read_rows
from wideberth.estimators.verdict import Verdict, verdict
from wideberth.measurement.population import Measurements, block_rows, read_variances
from wideberth.measurement.radius import check_confidence
from wideberth.measurement.row_order import row_order
from wideberth.measurement.true_features import TrueFeatures, refuse_empty_columns
from wideberth.noise.reading import IN_SEARCHES, in_order_of
from wideberth.problem.arrays import quietly
from wideberth.problem.labels import class_labels, uniform
from wideberth.problem.validation import as_array, check_per_sample, short


class _WithProbability:
    """A method that models have with probability=True only."""

    def __init__(self, method: Callable):
        self.method = method

    def __get__(self, model: MeasuredSVC | None, owner: type) -> Callable:
        if model is None:
            return self.method
        if not model.probability:
            raise AttributeError(
                "predict_proba needs MeasuredSVC(probability=True), which calibrates "
                "probabilities in fit; set it and fit again. decision_function, "
                "predict and verdict need no calibration."
            )
        return MethodType(self.method, model)


class MeasuredModel(StreamedMixin, BaseEstimator):
    """Models of measurements with errors and gaps: how they read both."""

    _takes_gaps = True
    _measured: bool  # whether `fit` was given errors
    verbose: int

    def _asked(self, X, X_err) -> tuple:
        """X as an array, and its errors, as the pipeline takes them."""
        check_is_fitted(self)
        X_err = in_order_of(X_err, X)
        X = self._validated(X, reset=False)
        if X_err is None and self._measured:
            raise ValueError(
                "X_err must be given: this model was trained on measurements with "
                "errors and needs those of new objects. Give X_err=…, one standard "
                "error for every cell of X, or X_err=0 if all values are exact. "
                f"{IN_SEARCHES}"
            )
        return X, self._errors(X, X_err)

    def _validated(self, X, **data):
        given = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        return validate_data(self, read_rows(X, type(self).__name__), **given, **data)

    def _errors(self, X, X_err) -> np.ndarray | None:
        """Errors that can be sliced by rows: standard errors, or covariances."""
        if X_err is None:
            return None
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else list(names)
        variances, matrices = read_variances(X_err, X, names)
        return matrices if len(matrices) else np.sqrt(variances)

    def _report(self, line: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {line}", flush=True)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    _doc_link_module = "wideberth"
    _doc_link_template = (
        "https://wideberth.readthedocs.io/en/stable/api/{estimator_name}.html"
    )


class MeasuredSVC(ClassifierMixin, MeasuredModel):
    """Classifier of measurements with errors and missing values, linear or curved.

    It stands for `make_robust_pipeline(StandardScaler(), TrueFeatures(),
    RobustLinearSVC())`: it estimates the true features of each object and classifies
    these. With `kernel="rbf"` the last step is a `RobustKernelSVC`, whose boundary is
    curved. In addition it can choose C and the radius by cross-validation, and
    calibrate probabilities that depend on the errors of each object.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses; smaller values regularise more. Not used with `cv`.
    radius : float, default=None
        How far true features may be from their posterior means, in posterior standard
        deviations. None is 0, because the means allow for the errors already. A radius
        above 0 may gain a little accuracy, or cost much if errors are large or all
        equal: let `cv` choose. Not used with `cv`.
    kernel : {"linear", "rbf"}, default="linear"
        With "rbf" a kernel machine is trained on the posterior means.
    gamma : float, "scale" or list, default="scale"
        γ of the kernel, as for `RobustKernelSVC`, for scaled features. Of a list `cv`
        chooses the best. Not used without a kernel.
    n_components : {"auto", "per_class"} or int, default="auto"
        Number of Gaussians of the population, as for `TrueFeatures`.
    cv : int, splitter or iterable, default=None
        Folds to choose C and the radius by accuracy on held-out rows, with their own
        errors. An int makes folds that do not depend on the order of rows; others
        refer to the rows as given. None uses `C` and `radius` as given.
    Cs : array, default=None
        Values of C to choose from. None is (0.01, 0.1, 1, 10), and with a kernel, whose
        features have length 1 at most, (0.1, 1, 10, 100).
    radii : array, default=(0, 0.5, 1, 2)
        Radii to choose from.
    confidence : float, default=0.95
        Smallest probability of a class for which `verdict` calls it certain.
    probability : bool, default=False
        Whether `fit` calibrates `predict_proba` on folds (those of `cv`, otherwise
        five). That takes one more fit per fold.
    class_weight : dict or "balanced", default=None
        As for `RobustLinearSVC`.
    verbose : bool or int, default=0
        Whether to print the progress of learning the population, and of verdicts that
        take longer than two seconds.
    random_state : int, RandomState instance or None, default=None
        For the starting point of a mixture with `n_components` > 1. Otherwise it
        affects the path of the solver, not the solution.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    C_, radius_ : float
        Values that the classifier was trained with.
    gamma_ : float
        γ of the kernel; only with a kernel.
    cv_scores_ : array of shape (n_Cs, n_radii, n_splits)
        Accuracy on the rows left out (balanced accuracy with class_weight="balanced");
        only with `cv`. With a kernel its shape is (n_Cs, n_gammas, n_radii, n_splits).
    calibration_ : list of objects with `slope` and `shift`
        For each binary problem; only with `probability`; None if a class has a single
        row.
    pipeline_ : RobustPipeline
        The fitted pipeline, with `robust_score` and `worst_case`.
    coef_, intercept_ : arrays
        Weights and intercept of its last step, for scaled features or for the features
        of the kernel.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only where X has column names.

    See Also
    --------
    wideberth.TrueFeatures : posteriors of the true features, for any model.
    wideberth.make_robust_pipeline : the same pipeline with other steps.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import MeasuredSVC
    >>> rng = np.random.default_rng(0)
    >>> true = rng.normal(size=(300, 1)) + 0.3 * rng.normal(size=(300, 4))
    >>> y = np.where(true.sum(axis=1) > 0, "star", "galaxy")
    >>> E = rng.uniform(0.1, 1.0, size=true.shape)
    >>> X = true + E * rng.normal(size=true.shape)
    >>> X[0, 0] = np.nan
    >>> model = MeasuredSVC().fit(X[:200], y[:200], X_err=E[:200])
    >>> found = model.verdict(X[200:], X_err=E[200:])
    >>> sure = found.certain
    >>> bool(np.mean(found.label[sure] == y[200:][sure]) > 0.95)
    True
    """

    __metadata_request__fit: ClassVar = {"X_err": True}
    __metadata_request__decision_function: ClassVar = {"X_err": True}
    __metadata_request__predict: ClassVar = {"X_err": True}
    __metadata_request__predict_proba: ClassVar = {"X_err": True}
    __metadata_request__score: ClassVar = {"X_err": True}

    def __init__(
        self,
        C=1.0,
        radius=None,
        *,
        kernel="linear",
        gamma="scale",
        n_components="auto",
        cv=None,
        Cs=None,
        radii=(0.0, 0.5, 1.0, 2.0),
        confidence=0.95,
        probability=False,
        class_weight=None,
        verbose=0,
        random_state=None,
    ):
        self.C = C
        self.radius = radius
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.cv = cv
        self.Cs = Cs
        self.radii = radii
        self.confidence = confidence
        self.probability = probability
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None, *, X_err=None) -> MeasuredSVC:
        """Fit the population and the classifier.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Measurements, NaN where there is none.
        y : array of shape (n_samples,)
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            Factors on C, and in the calibration. The population is learned from all
            rows whose weight is not 0.
        X_err : array or frame of shape (n_samples, n_features), or a number, optional
            Standard errors in the units of X, 0 where a value is exact; or covariances
            of the errors of each row. By default all values are exact.

        Returns
        -------
        self
        """
        check_confidence(self.confidence)
        self._check_kernel()
        X_err = in_order_of(X_err, X)
        y = None if y is None else as_array(y, "y")
        y = uniform(y) if y is not None and y.dtype.kind == "O" and y.ndim == 1 else y
        X, y = self._validated(X, y=y)
        check_classification_targets(y)
        refuse_empty_columns(X, getattr(self, "feature_names_in_", None))
        E = self._errors(X, X_err)
        weights = np.ones(len(y))
        if sample_weight is not None:
            weights = check_per_sample(sample_weight, len(y), "sample_weight")
        if not weights.any():
            raise ValueError("sample_weight is zero for every row; give some > 0.")
        data = Samples(X, y, weights, errors=() if E is None else (E,))
        weighty = np.flatnonzero(weights > 0)  # others might as well be absent
        with config_context(enable_metadata_routing=False):  # none inside
            self._fit(data, weighty[self._order(data.take(weighty))])
        self._measured = E is not None and bool(np.any(E))
        return self

    def _order(self, data: Samples) -> np.ndarray:
        """Numbers of rows, such that their order and names of classes do not matter."""
        E = 0.0 if data.X_err is None else data.X_err
        labels = np.unique(data.y, return_inverse=True)[1]
        part = Measurements(data.X, *read_variances(E, data.X))
        return row_order(part, labels, data.weight)

    def _fit(self, data: Samples, rows: np.ndarray) -> None:
        """Fit to some rows of the data, in this order."""
        wanted = self.cv is not None or self.probability
        self.C_ = self.C
        classifier = self._classifier(self.C, self.gamma, self.radius)
        with quietly():  # what folds repeat; the model says it of itself
            folds = self._folds(data, rows) if wanted else []
            if self.cv is not None:
                classifier = self._chosen(folds)
                self.C_ = classifier.C
        self.pipeline_ = self._trained(data, rows, classifier)
        last = self.pipeline_[-1]
        self.radius_, self.classes_ = last.radius_, last.classes_
        self.coef_, self.intercept_ = last.coef_, last.intercept_
        self.n_iter_ = last.n_iter_
        if self.kernel == "rbf":
            self.gamma_ = last.gamma_
        self.calibration_ = None
        if self.probability and folds:
            with quietly():
                self.calibration_ = self._calibrated(folds, classifier)

    @per_row
    def decision_function(self, X, X_err=None) -> np.ndarray:
        """Return the scores of posterior means.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Measurements, NaN where there is none. Or data that is read in chunks, as
            for `RobustLinearSVC.decision_function`.
        X_err : error bars of these objects, optional
            As for `fit`. Required if the model was trained with errors; `X_err=0` says
            that all values are exact.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        X, X_err = self._asked(X, X_err)
        return self.pipeline_.decision_function(X, X_err)

    @per_row
    def predict(self, X, X_err=None) -> np.ndarray:
        """Return the class of each object.

        Parameters
        ----------
        X, X_err
            As for `decision_function`.

        Returns
        -------
        array of shape (n_samples,)
        """
        X, X_err = self._asked(X, X_err)
        return self.pipeline_.predict(X, X_err)

    @per_row
    def certified_radius(self, X, X_err=None) -> np.ndarray:
        """Return the length of the shortest error that can change the prediction.

        That is the smallest ρ for which some move δ of the measured cells, with
        Σ(δ_j/e_j)² ≤ ρ² and standard errors e_j, changes the class. Exact and missing
        cells do not move. It is exact for a population of one Gaussian, where the score
        is linear in the measurements: f(x) = ⟨w,x̂⟩ + b with x̂ = μ + K(x − μ), so `ρ =
        |f| / √Σ e_j²(Kᵀw)_j²`. With several Gaussians the score is not linear, and the
        method is refused. With a kernel it is a lower bound: errors beyond it may or
        may not change the class. It is about errors of the measurement; `verdict` is
        about probabilities of true values.

        Parameters
        ----------
        X, X_err
            As for `decision_function`.

        Returns
        -------
        array of shape (n_samples,)
            In standard errors; infinite if no cell has an error.

        Notes
        -----
        **How to read a certified radius r.** It is the length of the whole error
        vector, in units of the noise: no shorter error changes the class. Only for
        boxes is it an error that every column may have at once.

        * **Random errors.** For a linear model r is a z-score. Suppose that normal
          errors of the stated size (scales, covariance or `X_err`) are added to the
          row. They are independent of the training and, unless you state covariances,
          of each other. With two classes, the class then changes with a chance of
          Φ(−r), where Φ is the normal distribution function: 16 % for r = 1, 2.3 % for
          r = 2, 0.1 % for r = 3. With K classes the chance is at most (K − 1) Φ(−r).
          With `noise="l2"` and errors of standard deviation σ in every column, take r/σ
          in place of r.
        * **All columns at once.** In the worst direction smaller errors suffice: in d
          columns, errors of r/√d units in each column can be enough. If you mean such
          errors, use `Box`.
        * **Not covered.** For boxes, cross-polytopes and kernels r is no z-score. And
          Φ(−r) is not the chance that the true features of a measured row belong to
          another class; `MeasuredSVC` estimates that chance.
        """
        X, X_err = self._asked(X, X_err)
        return np.concatenate(
            [
                self.pipeline_.certified_radius(
                    X[rows], None if X_err is None else X_err[rows]
                )
                for rows in gen_batches(len(X), block_rows(X.shape[1]))
            ]
        )

    @_WithProbability
    @per_row
    def predict_proba(self, X, X_err=None) -> np.ndarray:
        """Return the probability of each class, given the errors of the object.

        With more than two classes each class has its probability against the rest;
        these are scaled to sum to 1. Probabilities are calibrated apart from the
        boundary: near it the most likely class may not be the one that `predict`
        gives, as with `sklearn.svm.SVC`.

        Parameters
        ----------
        X, X_err
            As for `decision_function`.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        X, X_err = self._asked(X, X_err)
        if self.calibration_ is None:
            raise ValueError(
                "This model has no probabilities: some class has a single row, which "
                "cannot be left out to calibrate on. Give more rows of it."
            )
        scores = self._denoised.scores(X, X_err)
        found = np.column_stack(
            [one.probability(scores.take(k)) for k, one in enumerate(self.calibration_)]
        )
        if found.shape[1] == 1:
            return np.hstack([1 - found, found])
        total = found.sum(axis=1, keepdims=True)
        even = np.full_like(found, 1 / found.shape[1])
        return np.divide(found, total, out=even, where=total > 0)

    def score(self, X, y=None, sample_weight=None, X_err=None) -> float:
        """Return the accuracy on objects with labels.

        Parameters
        ----------
        X, X_err
            As for `decision_function`.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if in_chunks(X):
            return self._share_right("_right", X, y, sample_weight, X_err)
        predicted = self.predict(X, X_err)
        y = class_labels(y, self.classes_, len(predicted))
        return accuracy_score(y, predicted, sample_weight=sample_weight)

    def verdict(self, X, X_err=None, confidence=None) -> Verdict:
        """Return class, certainty, and what to measure again, of each object.

        Parameters
        ----------
        X, X_err
            As for `decision_function`.
        confidence : float, optional
            In place of the parameter `confidence`.

        Returns
        -------
        Verdict
        """
        X, X_err = self._asked(X, X_err)
        level = self.confidence if confidence is None else confidence
        names = getattr(self, "feature_names_in_", None)
        return verdict(self._denoised, X, X_err, level, names, self._report)

    @property
    def _denoised(self) -> Denoised:
        parts = self.pipeline_.denoised_
        assert parts is not None
        return parts

    def _check_kernel(self) -> None:
        if self.kernel not in ("linear", "rbf"):
            raise ValueError(
                f"kernel={short(self.kernel)} is not known; give 'linear' or 'rbf'."
            )
        if self.kernel == "rbf" and self.cv is None and len(several(self.gamma)) > 1:
            raise ValueError(
                f"gamma={short(self.gamma)} has several values, of which cv chooses "
                "the best; set cv=5, or give one value."
            )

    def _trained(self, data: Samples, rows: np.ndarray, classifier) -> RobustPipeline:
        data = data.take(rows)
        steps = StandardScaler(), self._features(rows), classifier
        pipeline = make_robust_pipeline(*steps)
        name = pipeline.steps[-1][0]
        given = {"X_err": data.X_err, "sample_weight": data.weight}
        own = {f"{name}__{key}": value for key, value in given.items()}
        pipeline.fit(data.X, data.y, **own)
        last = pipeline[-1]
        order = np.argsort(rows[last.support_])
        last.support_ = rows[last.support_][order]
        last.dual_coef_ = last.dual_coef_[:, order]
        return pipeline

    def _features(self, rows: np.ndarray) -> TrueFeatures:
        features = TrueFeatures(
            self.n_components,
            verbose=self.verbose,
            random_state=self.random_state,
        )
        features._sorted_rows = rows
        return features

    @property
    def _Cs(self) -> list:
        """Values of C to choose from."""
        if self.Cs is not None:
            return list(self.Cs)
        return (
            [0.1, 1.0, 10.0, 100.0] if self.kernel == "rbf" else [0.01, 0.1, 1.0, 10.0]
        )

    def _classifier(self, C, gamma, radius) -> RobustLinearSVC | RobustKernelSVC:
        given = {
            "C": C,
            "radius": radius,
            "class_weight": self.class_weight,
            "solver_options": {"random_state": self.random_state},
        }
        if self.kernel == "linear":
            return RobustLinearSVC(**given)
        return RobustKernelSVC(gamma=gamma, **given)

    def _chosen(self, folds: list[HeldOut]) -> RobustLinearSVC | RobustKernelSVC:
        """With the first best of all parameters, on rows left out with their errors."""
        bent = self.kernel == "rbf"
        Cs, radii = self._Cs, list(self.radii)
        given = {
            "class_weight": self.class_weight,
            "scoring": BALANCED if self.class_weight == "balanced" else None,
            "solver_options": {"random_state": self.random_state, "refit": False},
        }
        gammas = several(self.gamma)
        if bent:
            search = RobustKernelSVC(Cs, radii, gamma=gammas, **given)
            self.cv_scores_ = np.stack([f.kernel_scores(search) for f in folds], -1)
        else:
            search = RobustLinearSVCCV(Cs, radii, **given)
            self.cv_scores_ = np.stack([fold.scores(search) for fold in folds], -1)
        means = self.cv_scores_.mean(axis=-1)
        C, *gamma, radius = np.unravel_index(means.argmax(), means.shape)
        return self._classifier(
            float(Cs[C]), gammas[gamma[0]] if bent else None, float(radii[radius])
        )

    def _calibrated(self, folds: list[HeldOut], classifier) -> list[SpreadCalibration]:
        """From the scores of rows that were left out."""
        classifier = clone(classifier).set_params(radius=self.radius_)
        scores = Scores.joined([fold.decisions(classifier) for fold in folds])
        y = np.concatenate([fold.test.y for fold in folds])
        weights = np.concatenate([fold.test.weight for fold in folds])
        return [
            SpreadCalibration.fit(scores.take(k), y == label, weights)
            for k, label in enumerate(self.classes_[-scores.values.shape[-1] :])
        ]

    def _folds(self, data: Samples, rows: np.ndarray) -> list[HeldOut]:
        """Parts to train on and parts left out; none where a class has one row.

        An int makes folds of the sorted rows. Splitters and iterables make them of the
        rows in the order in which they were given.
        """
        cv, sorted_data = self.cv, data.take(rows)
        if cv is None:
            fewest = np.unique(sorted_data.y, return_counts=True)[1].min()
            if fewest < 2:
                return []
            cv = min(int(fewest), check_cv().get_n_splits())
        by_number = isinstance(cv, Integral)
        given = sorted_data if by_number else data
        splits = [*check_cv(cv, given.y, classifier=True).split(given.X, given.y)]
        check_folds(splits, given.y, given.weight, every=self.probability)

        def held_out(fold: Split) -> HeldOut:
            parts = fold.train, fold.test
            if by_number:
                chosen = [rows[part] for part in parts]
            else:
                chosen = [rows[np.isin(rows, part)] for part in parts]
            train, test = map(data.take, chosen)
            steps = make_pipeline(StandardScaler()), self._features(chosen[0])
            given = train.X, train.y, train.X_err
            return HeldOut(train, test, Denoised.fit(*steps, *given, {}))

        return run_folds(held_out, splits)


@dataclass(frozen=True)
class HeldOut:
    """Rows to train on, rows left out, and a population fitted to the first."""

    train: Samples
    test: Samples
    fitted: Denoised

    def scores(self, search: RobustLinearSVCCV) -> np.ndarray:
        """Accuracy on the rows left out, of shape (n_Cs, n_radii)."""
        return self._searched(search, search.radii).scores_[:, :, 0].T

    def kernel_scores(self, search: RobustKernelSVC) -> np.ndarray:
        """The same behind a kernel, of shape (n_Cs, n_gammas, n_radii)."""
        scores = self._searched(search, search.radius).cv_scores_
        assert scores is not None
        return scores[..., 0]

    def _searched(self, search, radii):
        """A search on the posterior means, that is trained on one part of them."""
        parts = self.train, self.test
        n, m = self.train.n, self.test.n
        search = clone(search).set_params(cv=[(np.arange(n), np.arange(n, n + m))])
        given = {"sample_weight": np.concatenate([part.weight for part in parts])}
        y = np.concatenate([part.y for part in parts])
        if np.any(radii):
            found = [self.fitted.posterior(part.X, part.X_err) for part in parts]
            given["X_err"] = np.concatenate([one.covariance for one in found])
            means = [one.mean for one in found]
        else:
            means = [self.fitted.means(part.X, part.X_err) for part in parts]
        return search.fit(np.concatenate(means), y, **given)

    def decisions(self, classifier: RobustLinearSVC | RobustKernelSVC) -> Scores:
        """Decision values of the rows left out, under a classifier with settings."""
        data = self.train
        weights = {"sample_weight": data.weight}
        trained = self.fitted.trained(classifier, data.X, data.y, data.X_err, weights)
        return trained.scores(self.test.X, self.test.X_err)
