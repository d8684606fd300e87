"""What the linear classifiers of this package share: prediction, certificates, noise.

`CertifiedMixin` has the certificates of `certify` as methods; pipelines take it too.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from wideberth import certify
from wideberth.data.opening import errors_in_memory, in_chunks
from wideberth.estimators.streaming import StreamedMixin, per_row
from wideberth.estimators.training import (
    read_rows,
    remedy_for_gaps,
)
from wideberth.noise import (
    L2,
    Correlated,
    Covariances,
    Ellipsoid,
    Ellipsoids,
    ErrorBars,
    align_noise,
    as_shape,
)
from wideberth.noise.reading import IN_SEARCHES, errors_beside, read_errors
from wideberth.problem.arrays import host, is_foreign
from wideberth.problem.labels import class_labels, class_numbers
from wideberth.problem.validation import (
    check_per_sample,
    radius_or_default,
    refuse_chunks,
    short,
)


@dataclass(frozen=True)
class Judged:
    """Samples that a model is asked about, and how noise may move them."""

    values: np.ndarray  # decision values
    classifier: Any
    coef: np.ndarray  # weights in units of X
    noise: object  # in units of X: a shape, or the samples' own sets

    def radii(self, radius, X_err):
        """How far samples may be off; by default as in training."""
        return self.classifier._radii(radius, X_err)

    def certified_radius(self) -> np.ndarray:
        """How far each sample may move before its prediction can change."""
        return certify.certified_radius(self.values, self.coef, self.noise)

    def chance_of_change(self) -> np.ndarray:
        """The chance that normal errors of each sample change its class."""
        noise, d = self.noise, self.coef.shape[1]
        if not isinstance(noise, ErrorBars):
            noise = as_shape(noise, d)
        normal = isinstance(noise, Correlated | Ellipsoid | Ellipsoids | Covariances)
        if not normal or isinstance(noise, L2):
            raise ValueError(
                "chance_of_change needs standard deviations of the errors: a number "
                "for each feature or a covariance as `noise`, or X_err with "
                f"error_shape='ellipsoid'. Here the noise is {short(noise)}."
            )
        return certify.chance_of_change(self.values, self.coef, noise)

    def robust_correct(self, labels: np.ndarray, radii) -> np.ndarray:
        """Whether every move within the radii leaves the label right."""
        given = self.values, labels, self.coef, radii, self.noise
        return certify.robust_correct(*given)

    def worst_case(self, labels: np.ndarray, radii) -> np.ndarray:
        """The move of each sample that favours some wrong class most."""
        return certify.worst_case(self.values, labels, self.coef, radii, self.noise)


def ask_for_errors() -> str:
    """What a model that was trained with error bars says where there are none."""
    return (
        "X_err must be given: this model was trained with error bars and needs those "
        "of new samples. Give X_err=…, one error for every cell of X. "
        f"{IN_SEARCHES}"
    )


class CertifiedMixin(StreamedMixin):
    """What a fitted model promises about samples that are off; see `certify`."""

    @per_row
    def certified_radius(self, X, X_err=None) -> np.ndarray:
        """Return the length of the shortest error that can change each class.

        For linear models it is exact; for kernel models it is a lower bound. It is in
        units of the noise: with `noise="l2"` a Euclidean distance; with a scale for
        each feature a distance after division by the scales; with `X_err` a factor on
        the errors of the sample.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Or data that is read in chunks; see `decision_function`.
        X_err : error bars of these samples, optional
            As for `fit`. Required if the model was trained with error bars.

        Returns
        -------
        array of shape (n_samples,)
            Infinite if no error of this shape can change the class.

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
        return self._judge(X, X_err).certified_radius()

    @per_row
    def chance_of_change(self, X, X_err=None) -> np.ndarray:
        """Return the chance that a fresh normal error changes the class of each sample.

        The error is added to x. It is normal with mean 0 and the stated standard
        deviations: the scales or the covariance of `noise`, or the errors `X_err` of
        the sample, whatever the radius. With r from `certified_radius` the chance is
        Φ(−r) for two classes, Φ the standard normal distribution; for more it is an
        upper bound. It is not the chance that the true features lie on the other side
        of the boundary, which depends on how they are distributed: see
        `MeasuredSVC.verdict`.

        Parameters
        ----------
        X, X_err
            As for `certified_radius`. For linear models whose noise is stated as
            standard deviations; norms without scales, `Box`, `CrossPolytope`, boxes of
            error bars and kernels are refused.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._judge(X, X_err).chance_of_change()

    def robust_score(
        self, X, y=None, radius=None, sample_weight=None, X_err=None
    ) -> float:
        """Return the accuracy under the worst errors of all samples.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Or data that is read in chunks, once; y and the other arguments are then
            given as for `wideberth.open_data`.
        y : array of shape (n_samples,)
            True labels; those that are not in `classes_` count as wrong.
        radius : float or array of shape (n_samples,), optional
            How far samples may be off; by default the radius of training. Required if
            the model was trained with a radius for each sample. With `X_err` it is in
            units of the errors, and 1 by default if the model was trained without
            errors.
        sample_weight : array of shape (n_samples,), optional
        X_err : error bars of these samples, optional
            As for `fit`. Required if the model was trained with error bars.

        Returns
        -------
        float
            Fraction of samples that are right for every error within the radius; for
            kernel models a lower bound.
        """
        if in_chunks(X):
            given = X, y, sample_weight, X_err
            return self._share_right("_robustly_right", *given, radius=radius)
        right, weights = self._robustly_right(X, y, radius, X_err), None
        if sample_weight is not None:
            weights = check_per_sample(sample_weight, len(right), "sample_weight")
            if not weights.any():
                raise ValueError("sample_weight is 0 for every sample; give some > 0.")
        return float(np.average(right, weights=weights))

    def _robustly_right(self, X, y, radius=None, X_err=None) -> np.ndarray:
        """Which samples every move within the radius leaves right."""
        judged = self._judge(X, X_err)
        labels = class_numbers(y, judged.classifier.classes_, _num_samples(X))
        radii = judged.radii(radius, X_err)
        return judged.robust_correct(np.maximum(labels, 0), radii) & (labels >= 0)

    def worst_case(self, X, y, radius=None, X_err=None) -> np.ndarray:
        """Return the error of each sample that lowers its margin most.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            True labels, all of them in `classes_`.
        radius : float or array of shape (n_samples,), optional
            How far samples may be off; by default the radius of training. Required if
            the model was trained with a radius for each sample. With `X_err` it is in
            units of the errors, and 1 by default if the model was trained without
            errors.
        X_err : error bars of these samples, optional
            As for `fit`. Required if the model was trained with error bars.

        Returns
        -------
        array of shape (n_samples, n_features)
            To be added to X.
        """
        refuse_chunks(X, "worst_case")
        judged = self._judge(X, X_err)
        classifier = judged.classifier
        labels = class_numbers(y, classifier.classes_, _num_samples(X))
        if labels.min(initial=0) < 0:
            unknown = host(y)[labels < 0][0]
            raise ValueError(
                f"y holds the label {unknown!s}, unknown to this model; its classes "
                f"are {classifier.classes_.tolist()}."
            )
        return judged.worst_case(labels, judged.radii(radius, X_err))

    @property
    def support_features_(self) -> np.ndarray:
        """Columns of X with a non-zero weight in at least one class."""
        try:
            _, coef, _ = self._robust_model()
        except ValueError as error:  # what is not there must not be an attribute
            raise AttributeError(str(error)) from None
        return np.flatnonzero(np.any(coef != 0, axis=0))

    def _judge(self, X, X_err=None) -> Judged:
        """Samples as a model sees them, and how far they may move."""
        values = host(self.decision_function(X))  # type: ignore[attr-defined]
        classifier, coef, noise = self._robust_model()
        if X_err is None:
            classifier._ask_for_errors()
            return Judged(values, classifier, coef, noise)
        X_err = errors_in_memory(X_err, X)
        names, shape = getattr(self, "feature_names_in_", None), classifier._error_shape
        bars = read_errors(X_err, shape, (len(values), coef.shape[1]), names)
        return Judged(values, classifier, coef, bars)

    def _robust_model(self) -> tuple[LinearClassifier, np.ndarray, object]:
        """The fitted classifier, and its weights and noise shape in units of X."""
        raise NotImplementedError


_MACHINE = "here the algorithm needs no such parameter: leave it out"
#: What takes the place of parameters of scikit-learn's SVMs and linear regressions.
_INSTEAD = {
    "alpha": "C is the weight of the losses, and the penalty is ½‖w‖²; for an ℓ1 "
    "penalty take noise='linf' with norm_penalty",
    "break_ties": "the first of equal scores wins: leave it out",
    "cache_size": _MACHINE,
    "coef0": "there is no polynomial kernel: leave it out",
    "decision_function_shape": "scores are one-vs-rest: leave it out",
    "degree": "there is no polynomial kernel: leave it out",
    "dual": _MACHINE,
    "epsilon": "there is no ε-tube: leave it out",
    "gamma": "for a kernel take RobustKernelSVC(gamma=…)",
    "intercept_scaling": "give solver_options={'intercept_penalty': 1 / "
    "intercept_scaling**2}",
    "kernel": "the model is linear; for an RBF kernel take RobustKernelSVC, for a "
    "Laplacian one put Nystroem before it in make_robust_pipeline",
    "loss": "classifiers have the hinge loss and regressions the pinball loss: leave "
    "it out",
    "max_iter": "give solver_options={'max_iter': …}",
    "multi_class": "classes are trained one against the rest: leave it out",
    "nu": "give C, the weight of the losses",
    "penalty": "the penalty is ½‖w‖²; for an ℓ1 penalty take noise='linf' with "
    "norm_penalty",
    "probability": "wrap the model in sklearn.calibration.CalibratedClassifierCV",
    "random_state": "give solver_options={'random_state': …}, which changes no proven "
    "answer",
    "shrinking": _MACHINE,
    "solver": "give solver_options={'solver': …}",
    "verbose": "give solver_options={'verbose': 1}",
}


class LinearModel(StreamedMixin, SparseCoefMixin, BaseEstimator):
    """A model by `coef_` and `intercept_`, trained against `noise_`."""

    def __new__(cls, *args, **kwargs):
        """Say what to give instead of a parameter that scikit-learn has."""
        known = kwargs.keys() & _INSTEAD.keys()
        for name in sorted(known.difference(cls._get_param_names() if known else ())):
            instead = _INSTEAD[name]
            if name == "kernel" and "gamma" in cls._get_param_names():
                instead = "the kernel is RBF: leave it out"
            raise TypeError(f"{cls.__name__} has no parameter {name!r}: {instead}.")
        return super().__new__(cls)

    # Error bars are for this model and nothing else: it asks for them wherever metadata
    # is routed.
    __metadata_request__fit: ClassVar = {"X_err": True}
    __metadata_request__predict: ClassVar = {"X_err": True}
    __metadata_request__score: ClassVar = {"X_err": True}

    def _values(self, X, X_err, method: str) -> np.ndarray:
        """⟨w,x⟩ + b of every sample and problem, after all checks of X and X_err."""
        check_is_fitted(self, "coef_")
        if X_err is not None:
            X_err = errors_in_memory(X_err, X)
        X, dtypes = read_rows(X, "prediction"), [np.float64, np.float32]
        with remedy_for_gaps(self):
            X = validate_data(self, X, accept_sparse="csr", dtype=dtypes, reset=False)
        if X_err is not None:
            self._measured(X, X_err)
        coef = np.atleast_2d(host(self.coef_))
        return certify.decision_values(X, coef, np.atleast_1d(self.intercept_))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Where the question mark of the HTML representation leads.
    _doc_link_module = "wideberth"
    _doc_link_template = (
        "https://wideberth.readthedocs.io/en/stable/api/{estimator_name}.html"
    )

    def _measured(self, X, X_err):
        """The sets that X_err gives."""
        names = getattr(self, "feature_names_in_", None)
        return errors_beside(X, X_err, self._error_shape, names)

    @property
    def _error_shape(self) -> str:
        """How error bars are read: as in training, where there were any."""
        return getattr(self, "error_shape_", None) or self.error_shape

    @property
    def _trained_with_errors(self) -> bool:
        return getattr(self, "error_shape_", None) is not None

    def _ask_for_errors(self) -> None:
        if self._trained_with_errors:
            raise ValueError(ask_for_errors())

    def _radii(self, radius, X_err=None):
        """What `solve` takes for `radius`: one number or one per sample.

        Where none is given it is the one trained with, which must be one number:
        radii of the training samples say nothing about those of others. A radius in
        other units than the error bars X_err says nothing about those.
        """
        if X_err is not None and not self._trained_with_errors:
            radius = radius_or_default(radius, self.noise, X_err)
        if radius is None:
            radius = vars(self).get("best_estimator_", self).radius_
            if radius is None:
                raise ValueError(
                    "radius must be given: this model was trained with one radius per "
                    "sample and needs those of new samples. Give radius=…, an array "
                    "with one per row of X or one number for all."
                )
        return radius

    def _fit_or_stay(self, *data):
        """Fit, and issue warnings."""
        for note in self._fit_and_tell(*data):
            warnings.warn(note, stacklevel=3)
        return self

    def _fit_and_tell(self, *data) -> list[Warning]:
        """Fit; return the warnings to issue.

        A fit that fails or is interrupted leaves what was fitted before.
        """
        fitted = copy(self)
        notes = fitted._fit(*data)
        self.__dict__ = fitted.__dict__
        return notes

    def _fit(self, *data) -> list[Warning]:
        """Fit in place; return the warnings to issue."""
        raise NotImplementedError

    def _noise(self):
        """The shape to train against; None where error bars take its place."""
        if self._trained_with_errors:
            return None
        return align_noise(self.noise, getattr(self, "feature_names_in_", None))


class LinearClassifier(CertifiedMixin, ClassifierMixin, LinearModel):
    """A classifier by `coef_`, `intercept_`, `classes_`, trained against `noise_`."""

    __metadata_request__decision_function: ClassVar = {"X_err": True}

    @per_row
    def decision_function(self, X, X_err=None) -> np.ndarray:
        """Return the score of each class, or of the second class if there are two.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Or data that is read in chunks, once: a path, chunks, or what
            `wideberth.open_data` returns, with or without labels. For a Dask collection
            the result is a Dask array. `stream` returns the results chunk by chunk.
        X_err : error bars of these samples, optional
            As for `fit`. Scores are those of X as measured; errors do not change them.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes), float64
        """
        return self._values(X, X_err, "decision_function")

    @per_row
    def predict(self, X, X_err=None) -> np.ndarray:
        """Return the label with the highest score for each sample.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Or data that is read in chunks; see `decision_function`.
        X_err : error bars of these samples, optional
            As for `decision_function`.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self, "coef_")
        values = self.decision_function(X, X_err)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(int)]
        return self.classes_[values.argmax(axis=1)]

    def score(self, X, y=None, sample_weight=None, X_err=None):
        """Return the accuracy on samples with labels.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Or data that is read in chunks, once; y and the other arguments are then
            given as for `wideberth.open_data`.
        y : array of shape (n_samples,)
            True labels; those that are not in `classes_` count as wrong.
        sample_weight : array of shape (n_samples,), optional
        X_err : error bars of these samples, optional
            As for `decision_function`.

        Returns
        -------
        float
        """
        check_is_fitted(self, "coef_")
        if in_chunks(X):
            return self._share_right("_right", X, y, sample_weight, X_err)
        if not is_foreign(y):
            y = class_labels(y, self.classes_, _num_samples(X))
        predicted = self.predict(X, X_err)
        return accuracy_score(y, predicted, sample_weight=sample_weight)

    def _robust_model(self):
        return self, host(self.coef_), self.noise_
