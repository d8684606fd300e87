"""Noise given in the units of the raw data, carried through a pipeline.

Scalers change units, and with them what a noise level means. If the steps before the
classifier are affine, x' = Ax + c, then x + δ becomes x' + Aδ: the noise set U becomes
AU, its support function Ω'(w) = Ω(Aᵀw). For an ellipsoid of covariance Σ (the unit ball
has Σ = I, scales τ have Σ = diag τ²) that is again an ellipsoid,

    Ω'(w)² = wᵀ(AΣAᵀ)w ,

of scales √diag(AΣAᵀ) where AΣAᵀ is diagonal (scalers; PCA of isotropic noise, truncated
or whitened too) and of factor AF otherwise, Σ = FFᵀ. Nothing is lost either way, and
radii keep their numbers, because they count units of the noise shape.

Error bars X_err are carried alike, the set of every sample by itself: standard errors
stay such where A keeps features apart, and become covariances otherwise; boxes need
such an A.

A is read off the fitted steps themselves, which must prove to be affine: `affine.py`.
Columns of categories do not move, and steps may do with them what they like:
`categories.py`.
Boxes go through steps that are known to be monotone as well, such as logarithms, one
image for every radius: `images.py`.

Cells may be missing where a step before the classifier fills them in. A missing cell
stays missing when noise moves the others, so such a row moves in fewer directions. If
U treats features apart (every shape but a covariance), Ω of the weights that are left
is at most Ω of all of them, and what is certified for a complete row holds for it.
With correlated noise it need not: there, missing cells are refused.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from wideberth.data.opening import errors_in_memory, in_chunks, is_scaled
from wideberth.estimators.affine import steps_of
from wideberth.estimators.carrying import (
    carried,
    check_asked_for,
    check_missing,
    measured,
)
from wideberth.estimators.categories import (
    exact_columns,
    naming_text,
    raw_noise,
    refuse_categories,
    refuse_errors,
    with_exact,
)
from wideberth.estimators.denoised import Denoised, place_of_features
from wideberth.estimators.images import Course
from wideberth.estimators.judging import JudgedImages
from wideberth.estimators.linear import CertifiedMixin, LinearClassifier
from wideberth.estimators.streaming import per_row
from wideberth.estimators.verdict import Verdict, verdict
from wideberth.measurement.true_features import refuse_empty_columns
from wideberth.problem.arrays import host, is_foreign
from wideberth.problem.validation import feature_names


def make_robust_pipeline(
    *steps, memory=None, transform_input=None, verbose=False
) -> RobustPipeline:
    """Like `sklearn.pipeline.make_pipeline`, with noise in the units of the raw data.

    Parameters
    ----------
    *steps : estimators
        Affine transformers (scalers, PCA, feature selection, a `ColumnTransformer` of
        such and of encoders of categories, …), and for error bars
        with error_shape="box" monotone ones (`FunctionTransformer(np.log)`,
        `PowerTransformer`, `QuantileTransformer`, …); then a `RobustLinearSVC` or
        `RobustLinearSVCCV`.
    memory : str or joblib.Memory, optional
        Where fitted transformers are cached.
    transform_input : list of str, optional
        Metadata that the steps transform as they do X.
    verbose : bool, default=False

    Returns
    -------
    RobustPipeline

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from wideberth import RobustLinearSVC, make_robust_pipeline
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_robust_pipeline(
    ...     StandardScaler(), RobustLinearSVC(radius=0.1, noise=X.std(axis=0))
    ... )
    >>> model.fit(X, y)[-1].noise_.round(6)  # one tenth of what a scaled feature varies
    array([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.])
    """
    named = make_pipeline(*steps).steps
    return RobustPipeline(
        named, memory=memory, transform_input=transform_input, verbose=verbose
    )


class RobustPipeline(CertifiedMixin, Pipeline):
    """A scikit-learn pipeline whose classifier takes its noise in raw units.

    `noise` of the last step, a `RobustLinearSVC` or `RobustLinearSVCCV`, is read in the
    units of the X given to the pipeline, and each fit carries it through the steps as
    fitted there (in cross-validation: on the training folds). Radii need no change:
    they count units of `noise`. Nor does `norm_penalty`, which prices the norm Ω of
    `noise` carried along: s₀Ω of the weights in raw units; beside `X_err` it is s₀‖w‖₁
    of the weights that the classifier sees. `certified_radius`, `robust_score`,
    `worst_case` and `support_features_` speak of the raw data. So do error bars,
    given to `fit` as `robustlinearsvc__X_err`, or as `X_err` where metadata is routed.
    Text, and what a `ColumnTransformer` encodes as categories, does not move.

    With error_shape="box" steps may also be monotone in every feature: logarithms and
    other functions of NumPy in a `FunctionTransformer`, `PowerTransformer`,
    `QuantileTransformer`, `KBinsDiscretizer(encode="ordinal")`, `Binarizer`, scalers
    that clip, and a `ColumnTransformer` of such and of scalers. A radius then grows the
    intervals of raw data, before the steps, and `certified_radius` is the largest
    factor on them. Intervals that lead where a step is not defined are refused in
    training; `certified_radius` ends there, and to `robust_score` they are not right.

    With `TrueFeatures` as a step, behind scalers say, errors and gaps (NaN) in raw
    units become posteriors of the true features, and the classifier is trained on
    their means with their covariances as sets; its radius counts posterior standard
    deviations, and is 0 by default. Give `X_err` at prediction as well. `verdict` says
    how certain each class is; certificates speak of moves of the measurement within
    its own errors.

    Parameters are those of `sklearn.pipeline.Pipeline`.

    Attributes
    ----------
    linear_map_ : CSR matrix of shape (n_transformed, n_features) or None
        What the steps before the classifier do to a move of the raw data; None where
        one of them bends.
    step_maps_ : list of CSR matrices and None, or None
        Where a step bends, the same for every step by itself, and None for those.
    noise_ : str, array, Noise or None
        The noise shape trained against, in raw units and in the order of the features;
        None where `X_err` gave every sample its own.
    denoised_ : object or None
        The fitted parts before and behind a `TrueFeatures`, where that is a step.
    """

    # Scorers of scikit-learn 1.6 ask a pipeline itself, not its classifier.
    __metadata_request__score: ClassVar = {"X_err": True}

    steps: list[tuple[str, Any]]
    linear_map_: Any
    step_maps_: Any
    denoised_: Any

    def fit(self, X, y=None, **params):
        """Fit the steps in turn, the classifier against noise in raw units.

        Parameters
        ----------
        X, y, **params
            As for `sklearn.pipeline.Pipeline.fit`.

        Returns
        -------
        self
        """
        if is_scaled(X, y) or is_foreign(X):
            raise ValueError(
                f"X is a {type(X).__name__}; a robust pipeline needs the data in "
                "memory: a NumPy array, a SciPy sparse matrix or a frame. Files, "
                "chunks, Dask collections and arrays of other libraries are for "
                "RobustLinearSVC alone."
            )
        steps = self.steps
        classifier, courses, noises = steps[-1][1], list[Course](), [None]
        if not isinstance(classifier, LinearClassifier):
            raise TypeError(
                f"The last step is {type(classifier).__name__}; it must be a "
                "RobustLinearSVC or RobustLinearSVCCV, whose noise the pipeline "
                "carries. Use sklearn.pipeline.Pipeline for other estimators."
            )

        place = place_of_features(steps)
        if place is not None:
            return self._fit_denoised(place, X, y, params)
        names = {"X_err", f"{steps[-1][0]}__X_err"} & params.keys()
        errors = [params[name] for name in names if params[name] is not None]
        if errors:
            X_err = errors_in_memory(errors[0], X)
            bars = measured(X, X_err, classifier.error_shape)
            if not get_config()["enable_metadata_routing"]:
                params = {name: params[name] for name in params.keys() - names}
                names = {f"{steps[-1][0]}__X_err"}
            params |= dict.fromkeys(names, bars)

        def read_course():  # once the steps before have been fitted
            courses.append(Course.of(self._steps_ahead(), X, bool(errors)))
            return courses[0]

        def carried_noise():
            noises[0] = raw_noise(classifier.noise, X, self._exact(X))
            check_missing(X, noises[0])
            return carried(noises[0], read_course().linear)

        def carried_errors(bars):
            check_missing(X, bars)
            refuse_errors(bars, X, self._exact(X))
            course = read_course()
            if course.bent is None:
                return bars.carried(course.linear)
            return course.images(X, bars)

        with self._or_as_before():
            classifier._carried_noise = carried_noise
            classifier._carried_errors = carried_errors
            try:
                super().fit(X, y, **params)
            except ValueError as error:
                raise naming_text(X, error) from error.__cause__
        del classifier._carried_noise, classifier._carried_errors
        bent = courses[0].bent is not None
        self.linear_map_ = None if bent else courses[0].linear
        self.step_maps_ = courses[0].maps if bent else None
        self.noise_ = noises[0]
        self.denoised_ = None
        return self

    def _exact(self, X):
        """Columns of the raw data that noise does not move; see `categories.py`."""
        return exact_columns(self._steps_ahead(), X)

    def _fit_denoised(self, k: int, X, y, params: dict):
        """Fit a pipeline whose step k is `TrueFeatures`; see `denoised.py`."""
        refuse_categories(X)
        given = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        refuse_empty_columns(given, feature_names(X))
        names = {"X_err"} | {f"{self.steps[j][0]}__X_err" for j in (k, -1)}
        errors = [params[name] for name in names & params.keys()]
        X_err = next((given for given in errors if given is not None), None)
        if X_err is not None:
            X_err = errors_in_memory(X_err, X)
        others = {name: value for name, value in params.items() if name not in names}
        check_asked_for(self, others)
        with self._or_as_before():
            found = Denoised.fit(self, k, X, y, X_err, others)
        ahead, behind = found.steps
        self.steps = [*ahead, self.steps[k], *behind]
        self.linear_map_ = self.step_maps_ = self.noise_ = None
        self.denoised_ = found
        return self

    @contextmanager
    def _or_as_before(self):
        """Never leave one step of this fit beside another of the last."""
        steps = self.steps
        before = [(s, vars(s).copy()) for _, s in steps if hasattr(s, "__dict__")]
        try:
            yield
        except BaseException:
            self.steps = steps
            for step, state in before:
                step.__dict__ = state
            raise

    def _steps_ahead(self) -> list:
        return list(steps_of(self[:-1])) if len(self.steps) > 1 else []

    #: Steps may fill them in; if none does they complain.
    _takes_gaps = True

    @per_row
    def decision_function(self, X, X_err=None, **params):
        """Return the scores of the classifier.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Or data that is read in chunks, once: a path, chunks, or what
            `wideberth.open_data` returns, labels or not. For a Dask collection the
            answer is a Dask array. `stream` hands answers over chunk by chunk.
        X_err : error bars of these samples, in the units of X, optional
            Scores are those of X as measured; behind `TrueFeatures` they depend on it.
        **params
            As for `sklearn.pipeline.Pipeline.decision_function`.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        decides, rows = self._asked(X, X_err)
        return Pipeline.decision_function(decides, rows, **params)

    @per_row
    def predict(self, X, X_err=None, **params):
        """Return the label with the highest score for each sample.

        Parameters
        ----------
        X, X_err, **params
            As for `decision_function`.

        Returns
        -------
        array of shape (n_samples,)
        """
        decides, rows = self._asked(X, X_err)
        return Pipeline.predict(decides, rows, **params)

    def score(self, X, y=None, sample_weight=None, X_err=None, **params):
        """Return the accuracy on samples with labels.

        Parameters
        ----------
        X, X_err, **params
            As for `decision_function`.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if in_chunks(X):
            return self._share_right("_right", X, y, sample_weight, X_err)
        decides, rows = self._asked(X, X_err)
        return Pipeline.score(decides, rows, y, sample_weight, **params)

    def verdict(self, X, X_err=None, confidence=0.95) -> Verdict:
        """Return class and doubt of each object, where `TrueFeatures` is a step.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Measurements, NaN where there is none.
        X_err : error bars of these objects, in the units of X, optional
        confidence : float, default=0.95
            Least chance of the class at which it counts as certain.

        Returns
        -------
        Verdict
        """
        check_is_fitted(self[-1], "coef_")
        if self._denoised is None:
            raise ValueError(
                "A verdict needs TrueFeatures before the classifier, which says what "
                "the true features of an object may be: make_robust_pipeline("
                "StandardScaler(), TrueFeatures(), RobustLinearSVC()), or MeasuredSVC."
            )
        names = getattr(self, "feature_names_in_", None)
        return verdict(self._denoised, X, X_err, confidence, names)

    @property
    def _denoised(self) -> Denoised | None:
        return getattr(self, "denoised_", None)

    def _asked(self, X, X_err) -> tuple:
        """The pipeline that decides, and the rows that it decides on.

        Behind `TrueFeatures` those are posterior means, and elsewhere X as measured.
        """
        if X_err is not None:
            X_err = errors_in_memory(X_err, X)
        if self._denoised is not None:
            return self._denoised.behind, self._denoised.means(X, X_err)
        if X_err is not None:
            measured(X, X_err, self[-1]._error_shape)
        return self, X

    @classmethod
    def around(cls, classifier) -> RobustPipeline:
        """A pipeline of one fitted classifier and nothing before it.

        Parameters
        ----------
        classifier : fitted RobustLinearSVC

        Returns
        -------
        RobustPipeline
            Fitted: it predicts what the classifier predicts.
        """
        made = cls([(type(classifier).__name__.lower(), classifier)])
        made.linear_map_ = sp.eye_array(classifier.n_features_in_, format="csr")
        made.noise_ = classifier.noise_
        made.step_maps_ = made.denoised_ = None
        return made

    def _judge(self, X, X_err=None):
        check_is_fitted(self[-1], "coef_")
        if self._denoised is not None:
            return self._denoised.judge(X, X_err)
        X_err = with_exact(X_err, X)
        if self.linear_map_ is not None:
            judged: Any = super()._judge(X, X_err)
            check_missing(X, judged.noise)
            return judged
        if X_err is None:
            self[-1]._ask_for_errors()
        X_err = errors_in_memory(X_err, X)
        names = getattr(self, "feature_names_in_", None)
        if names is not None and {*names} <= {*getattr(X, "columns", ())}:
            X = X[list(names)]  # as they were in training
        bars = measured(X, X_err, self[-1]._error_shape)
        course = Course(self._steps_ahead(), self.step_maps_)
        return JudgedImages(self[-1], course.images(X, bars))

    def _robust_model(self):
        if self.linear_map_ is None:
            raise ValueError(
                "A step of this pipeline bends, so that its model has no weights in "
                "raw units. Use what the classifier sees: model[:-1].transform(X), and "
                "model[-1]."
            )
        return self[-1], host(self[-1].coef_) @ self.linear_map_, self.noise_
