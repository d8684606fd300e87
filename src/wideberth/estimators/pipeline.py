"""Noise given in the units of the raw data, carried through a pipeline.

Scalers change units, and with them what a noise level means. If the steps before the
classifier are linear, a move δ of the raw data moves what it sees by Aδ: the noise set
U becomes AU, its support function Ω'(w) = Ω(Aᵀw). For an ellipsoid of covariance Σ (the
unit ball has Σ = I, scales τ have Σ = diag τ²) that is again an ellipsoid,

    Ω'(w)² = wᵀ(AΣAᵀ)w ,

of scales √diag(AΣAᵀ) where AΣAᵀ is diagonal (scalers; PCA of isotropic noise, truncated
or whitened too) and of factor AF otherwise, Σ = FFᵀ. Nothing is lost either way, and
radii keep their numbers, because they count units of the noise shape.

Error bars X_err are carried alike, the set of every sample by itself: standard errors
stay such where A keeps features apart, and become covariances otherwise; boxes need
such an A. Which steps are linear is known from `moves.py`. A `Nystroem` step directly
before the model is not linear; `curved.py` bounds how far its features move.

Cells may be missing where a step before the classifier fills them in. A missing cell
stays missing when noise moves the others, so such a row moves in fewer directions. If
U treats features apart (every shape but a covariance), Ω of the weights that are left
is at most Ω of all of them, and what is certified for a complete row holds for it.
With correlated noise it need not: there, missing cells are refused.
"""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_is_fitted

from wideberth.data.opening import (
    errors_in_memory,
    in_chunks,
    is_scaled,
    names_values,
    open_labelled,
)
from wideberth.data.sources import ChangedSource, Source
from wideberth.estimators.chunked_steps import fit_steps
from wideberth.estimators.curved import (
    Curve,
    CurvedChunks,
    CurvedFront,
    JudgedCurve,
)
from wideberth.estimators.denoised import Denoised, consumed, place_of_features
from wideberth.estimators.linear import CertifiedMixin, LinearModel, ask_for_errors
from wideberth.estimators.moves import dense, linear_steps, text_columns
from wideberth.estimators.regressor import LinearRegressor, ranges_of
from wideberth.estimators.streaming import per_row
from wideberth.estimators.training import remembered_radius
from wideberth.estimators.verdict import Verdict, verdict
from wideberth.measurement.true_features import refuse_empty_columns
from wideberth.noise import (
    Covariances,
    ErrorBars,
    Shape,
    align_noise,
    as_shape,
    is_covariance,
)
from wideberth.noise.reading import check_errors_alone, read_errors
from wideberth.problem.arrays import host, is_foreign
from wideberth.problem.validation import (
    check_per_sample,
    default_radius,
    feature_names,
    listed,
    own_names,
    radius_or_default,
)


def make_robust_pipeline(*steps, memory=None, verbose=False) -> RobustPipeline:
    """Return a pipeline like `sklearn.pipeline.make_pipeline`, with noise in raw units.

    Parameters
    ----------
    *steps : estimators
        Linear transformers (scalers, PCA, feature selection, a `ColumnTransformer` of
        these and of encoders of categories, …), then a `RobustLinearSVC`, a
        `RobustKernelSVC`, a `RobustLinearRegressor` or a search of one of them. See
        `wideberth.estimators.RobustPipeline`.
    memory : str or joblib.Memory, optional
        Where fitted transformers are cached.
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
    >>> model.fit(X, y)[-1].noise_.round(6)  # in units of the scaled features
    array([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.])
    """
    return RobustPipeline(make_pipeline(*steps).steps, memory=memory, verbose=verbose)


class RobustPipeline(CertifiedMixin, Pipeline):
    """A scikit-learn pipeline whose last step takes its noise in raw units.

    `noise` of the last step is in the units of the X given to the pipeline. That step
    is a `RobustLinearSVC`, a `RobustKernelSVC`, a `RobustLinearRegressor` or a search
    of one of the linear models. Each fit converts the noise
    for the last step, with the steps as fitted there (in cross-validation on the
    training folds). Radii do not change, because they count units of `noise`.
    `norm_penalty` is s₀Ω of the weights in raw units; with `X_err` it is s₀‖w‖₁ of the
    weights of the last step. `certified_radius`, `robust_score`, `worst_case`,
    `prediction_range` and `support_features_` are in raw units, too. So are error bars,
    given to `fit` as `robustlinearsvc__X_err`, or as `X_err` if metadata is routed.
    Columns of text, and columns that a `ColumnTransformer` encodes as categories, are
    exact.

    **Steps** must be linear: transform(x + δ) = transform(x) + Aδ for every x and δ.
    Those of scikit-learn are known. A transformer of your own declares it by a fitted
    attribute `linear_map_`: the matrix A, an array or sparse matrix of shape
    (n_features_out, n_features_in). Other steps are refused by name, unless all their
    columns are text or categories. The page on noise has a table of steps and an
    example.

    **Curved boundaries.** A `Nystroem` step of scikit-learn with an RBF or Laplacian
    kernel may stand directly before a `RobustLinearSVC` or `RobustLinearRegressor`. The
    model is then trained against the longest move that the noise of each sample can
    cause in the features of the kernel. `certified_radius` and `robust_score` are lower
    bounds, `prediction_range` is an outer bound, and `worst_case` is the worst error
    that a search finds.

    **True features.** With `TrueFeatures` as a step, for example after a scaler, the
    classifier is trained on posterior means of the true features, with posterior
    covariances as noise sets. Its radius counts posterior standard deviations and is 0
    by default. Give `X_err` to predict as well. `verdict` says how certain each class
    is; certificates are about errors of the measurement, in its own standard errors.
    The classifier may be a `RobustKernelSVC`.

    Parameters are those of `sklearn.pipeline.Pipeline`, without `transform_input`.

    Attributes
    ----------
    linear_map_ : CSR matrix of shape (n_transformed, n_features) or None
        A of all steps before the classifier; None with `TrueFeatures` or `Nystroem`.
    noise_ : str, array, shape or None
        The noise in raw units, in the order of the features; None if every sample has
        errors of its own (`X_err`).
    denoised_ : object or None
        The fitted parts before and after `TrueFeatures`, if that is a step.
    curved_ : object or None
        The data for certificates of `Nystroem`, if that is a step.
    """

    # Scorers of scikit-learn 1.6 ask a pipeline itself, not its classifier.
    __metadata_request__score: ClassVar = {"X_err": True}

    steps: list[tuple[str, Any]]
    linear_map_: sp.csr_array | None
    denoised_: Denoised | None
    curved_: CurvedFront | None = None

    def fit(self, X, y=None, **params):
        """Fit the steps in turn, the last one against noise in raw units.

        Parameters
        ----------
        X, y, **params
            As for `sklearn.pipeline.Pipeline.fit`.

        Returns
        -------
        self
        """
        name, classifier = self.steps[-1]
        self._check(X, classifier)
        place = place_of_features(self.steps)
        if is_scaled(X, y):
            with self._restored_on_failure():
                self._fit_in_chunks(X, y, place, params)
            return self
        names = {"X_err", f"{name}__X_err"}
        if place is not None:
            names.add(f"{self.steps[place][0]}__X_err")
        given = [params[key] for key in names & params.keys()]
        X_err = next((errors for errors in given if errors is not None), None)
        if X_err is not None:
            X_err = errors_in_memory(X_err, X)
        params = {key: value for key, value in params.items() if key not in names}
        own = _routed_to_last(self, params)
        if place is not None and isinstance(classifier, LinearRegressor):
            raise ValueError(
                "TrueFeatures goes before a classifier; a RobustLinearRegressor takes "
                "errors as they are, X_err, and no missing values."
            )
        with self._restored_on_failure():
            if place is not None:
                self._fit_denoised(X, y, X_err, params, own)
            else:
                self._fit_carried(X, y, X_err, params, own)
        return self

    def _check(self, X, classifier) -> None:
        if is_foreign(X):
            raise ValueError(
                f"X is a {type(X).__name__}; a robust pipeline needs the data in "
                "memory, as a NumPy array, a SciPy sparse matrix or a frame, or data "
                "that is read in chunks. Arrays of other libraries are for "
                "RobustLinearSVC alone."
            )
        if not isinstance(classifier, LinearModel):
            raise TypeError(
                f"The last step is {type(classifier).__name__}; it must be a "
                "RobustLinearSVC, a RobustLinearRegressor or a search of one of them, "
                "whose noise the pipeline carries. Use sklearn.pipeline.Pipeline for "
                "other estimators."
            )
        if self.transform_input is not None:
            raise ValueError(
                f"transform_input={self.transform_input!r}; a robust pipeline carries "
                "X_err through its steps itself, and no other metadata has columns. "
                "Leave transform_input at None."
            )

    def _fit_carried(self, X, y, X_err, params: dict, own: dict) -> None:
        """Fit the steps, carry noise or error bars through them, fit the classifier."""
        name, classifier = self.steps[-1]
        bars, noise = None, None
        if X_err is not None:
            bars = _measured(X, X_err, classifier.error_shape)
        options = {"memory": self.memory, "verbose": self.verbose}
        ahead = Pipeline([*self.steps[:-1], (name, "passthrough")], **options)
        try:
            Z = ahead.fit_transform(X, y, **consumed(ahead, params))
            self.steps = [*ahead.steps[:-1], self.steps[-1]]
            curve, front = self._curve(), ahead
            if curve is not None:  # what is linear ends before it
                front = Pipeline([*self.steps[:-2], (name, "passthrough")])
            linear, exact = linear_steps(front, X)
            if bars is None:
                noise = _raw_noise(classifier.noise, X, exact)
                _check_missing(X, noise)
            else:
                _check_missing(X, bars)
                _refuse_levels(bars, exact, feature_names(X))
            curved = None
            if curve is not None:
                sets = as_shape(noise, linear.shape[1]) if bars is None else bars
                curved = fit_curved(curve, linear, sets, classifier, Z, y, own)
            elif bars is None:
                _fit_against(_carried(noise, linear), classifier, Z, y, own)
            else:
                classifier.fit(Z, y, **own, X_err=bars.carried(linear))
            if _bends(classifier):
                curved = replace(classifier.curved_, linear=linear)
        except ValueError as error:
            raise _naming_text(X, error) from error.__cause__
        self.linear_map_ = linear if curved is None else None
        self.noise_, self.denoised_, self.curved_ = noise, None, curved

    def _fit_in_chunks(self, X, y, place: int | None, params: dict) -> None:
        """Fit the steps in turn, then the classifier, on rows read in chunks."""
        own = _routed_to_last(self, params)
        if place is not None or hasattr(self[-1], "Cs"):
            what = "TrueFeatures" if place is not None else "a search"
            raise ValueError(
                f"X is a {type(X).__name__}, which is read in chunks; a robust "
                f"pipeline with {what} needs the data in memory."
            )
        radius = own.pop("radius", None)
        of_rows = np.ndim(radius) > 0 or names_values(X, radius)
        beside = {name: own.pop(name, None) for name in ("sample_weight", "X_err")}
        beside["radius"] = radius if of_rows else None
        source = open_labelled(X, y, **beside)
        if source.brings_errors:
            raise ValueError(
                "X is read in chunks with errors, which a pipeline does not carry "
                "through its steps; error bars need the data in memory here. Or give "
                "such data to a RobustLinearSVC or RobustKernelSVC without steps "
                "before it."
            )
        curved = len(self.steps) > 1 and type(self[-2]) is Nystroem
        kernel_steps = 2 if curved else 1
        ahead, rows, first = fit_steps(self.steps[:-kernel_steps], source)
        last, classifier = self.steps[-1]
        linear, exact = linear_steps(Pipeline([*ahead, (last, "passthrough")]), first)
        noise = _raw_noise(classifier.noise, first, exact)
        own["radius"], front = None if of_rows else radius, None
        if curved:
            kernel, _, _ = fit_steps(self.steps[-2:-1], rows)
            Curve.of(*kernel[0])
            given = kernel[0][1], linear, noise, classifier, rows, own["radius"]
            front, ahead = fit_curved_chunks(*given), [*ahead, *kernel]
        else:
            _fit_against(_carried(noise, linear), classifier, rows, None, own)
        if _bends(classifier):
            front = replace(classifier.curved_, linear=linear)
        self.steps = [*ahead, self.steps[-1]]
        self.linear_map_ = linear if front is None else None
        self.noise_, self.denoised_, self.curved_ = noise, None, front

    def _curve(self) -> Curve | None:
        """What a fitted `Nystroem` before the classifier does, if there is one."""
        name, step = self.steps[-2] if len(self.steps) > 1 else ("", None)
        return Curve.of(name, step) if type(step) is Nystroem else None

    def _fit_denoised(self, X, y, X_err, params: dict, own: dict) -> None:
        """Fit steps, `TrueFeatures` and the classifier; see `denoised.py`."""
        *ahead, (_, features), (_, classifier) = self.steps
        check_errors_alone(classifier.noise, classifier.error_shape)
        if classifier.error_shape != "ellipsoid":
            raise ValueError(
                f"error_shape={classifier.error_shape!r} is for tolerances; after "
                "TrueFeatures sets are ellipsoids of posteriors. Leave error_shape at "
                "'ellipsoid', and give standard errors."
            )
        text = text_columns(X)
        if text.any():
            raise ValueError(
                f"X holds text in {_named(X, text)}; TrueFeatures describes "
                "measurements, and categories are none. Leave these columns out, or "
                "use a pipeline without TrueFeatures."
            )
        given = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        refuse_empty_columns(given, feature_names(X))
        options = {"memory": self.memory, "verbose": self.verbose}
        before = Pipeline(ahead, **options) if ahead else None
        front = Denoised.fit(before, features, X, y, X_err, params)
        if before is not None:
            self.steps = [*before.steps, *self.steps[-2:]]
        self.denoised_ = front.trained(classifier, X, y, X_err, own)
        self.linear_map_ = self.noise_ = self.curved_ = None

    @contextmanager
    def _restored_on_failure(self):
        """If fit fails, restore every step's previous state."""
        steps, parts = self.steps, self.get_params().values()
        before = [(p, vars(p).copy()) for p in parts if isinstance(p, BaseEstimator)]
        try:
            yield
        except BaseException:
            self.steps = steps
            for part, state in before:
                part.__dict__ = state
            raise

    #: Steps may fill them in; if none does they complain.
    _takes_gaps = True

    @per_row
    def decision_function(self, X, X_err=None, **params):
        """Return the scores of the classifier.

        Parameters
        ----------
        X, X_err
            As for `RobustLinearSVC.decision_function`, in raw units. Behind
            `TrueFeatures` scores depend on the errors.
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

    def prediction_range(self, X, *, radius=None, X_err=None) -> np.ndarray:
        """Return the smallest and the largest prediction within the noise.

        Parameters
        ----------
        X, radius, X_err
            As for `RobustLinearRegressor.prediction_range`, in raw units.

        Returns
        -------
        array of shape (n_samples, 2)
            The smallest and the largest prediction.
        """
        model = self[-1]
        check_is_fitted(model, "coef_")
        if not isinstance(model, LinearRegressor):
            raise AttributeError(
                f"prediction_range is for numbers; {type(model).__name__} predicts "
                "classes, and certified_radius says how far a sample may move."
            )
        if self.curved_ is not None:
            return self._curved_range(X, radius, X_err)
        assert self.linear_map_ is not None
        values, radii = host(self.predict(X, X_err)), model._radii(radius, X_err)
        w, X_err = host(model.coef_) @ self.linear_map_, _with_exact(X_err, X)
        if X_err is None:
            model._ask_for_errors()
            return ranges_of(values, w, as_shape(self.noise_, w.size), radii)
        bars = _measured(X, errors_in_memory(X_err, X), model._error_shape)
        return ranges_of(values, w, bars, radii)

    def _curved_range(self, X, radius, X_err) -> np.ndarray:
        values = host(self.predict(X))
        judged = self._judge_curved(X, X_err, values)
        radii = check_per_sample(judged.radii(radius, X_err), len(values), "radius")
        half = judged.half_widths(radii)
        return np.column_stack((values - half, values + half))

    def _judge_curved(self, X, X_err, values: np.ndarray) -> JudgedCurve:
        """Samples in front of a kernel, and how far they may move."""
        curved, model = self.curved_, self[-1]
        assert curved is not None
        rows, kernel_steps = X, 1 if _bends(model) else 2
        for _, step in _steps_before(self.steps[:-kernel_steps]):
            rows = step.transform(rows)
        blur = 0.0 if rows is X else curved.blur(X, rows)
        rows = dense(rows)
        X_err = _with_exact(X_err, X)
        sets: Shape | ErrorBars
        if X_err is not None:
            shape = curved.error_shape or model.error_shape
            sets = _measured(X, errors_in_memory(X_err, X), shape)
        elif curved.error_shape is not None:
            raise ValueError(ask_for_errors())
        else:
            sets = as_shape(self.noise_, curved.linear.shape[1])
        return curved.judge(values, rows, model, sets, blur)

    def verdict(self, X, X_err=None, confidence=0.95) -> Verdict:
        """Return the verdict on each object, if `TrueFeatures` is a step.

        Parameters
        ----------
        X, X_err, confidence
            As for `MeasuredSVC.verdict`.

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
            return Pipeline(self.steps[-1:]), self._denoised.means(X, X_err)
        if X_err is not None:
            _measured(X, X_err, self[-1]._error_shape)
        return self, X

    @classmethod
    def around(cls, classifier) -> RobustPipeline:
        """A fitted pipeline of one fitted `RobustLinearSVC` and nothing before it."""
        made = cls([(type(classifier).__name__.lower(), classifier)])
        made.linear_map_ = sp.eye_array(classifier.n_features_in_, format="csr")
        made.noise_ = classifier.noise_
        made.denoised_ = made.curved_ = None
        return made

    @classmethod
    def behind(cls, step: Nystroem, classifier, front: CurvedFront, noise):
        """A fitted pipeline of a fitted kernel step and the classifier behind it."""
        made = cls(make_pipeline(step, classifier).steps)
        made.linear_map_ = made.denoised_ = None
        made.noise_, made.curved_ = noise, front
        return made

    def _judge(self, X, X_err=None):
        check_is_fitted(self[-1], "coef_")
        if isinstance(self[-1], LinearRegressor):
            raise AttributeError(
                "certified_radius is for classes; for numbers use prediction_range."
            )
        if self._denoised is not None:
            return self._denoised.judge(X, X_err)
        if self.curved_ is not None:
            return self._judge_curved(X, X_err, host(self.decision_function(X)))
        X_err = _with_exact(X_err, X)
        judged = super()._judge(X, X_err)
        _check_missing(X, judged.noise)
        return judged

    def _robust_model(self):
        if self.linear_map_ is None:
            step = "TrueFeatures" if self.curved_ is None else "Nystroem"
            raise ValueError(
                f"After {step} a model has no weights in raw units. Use what the "
                "classifier sees: "
                "model[:-1].transform(X), and model[-1]."
            )
        return self[-1], host(self[-1].coef_) @ self.linear_map_, self.noise_


def _routed_to_last(pipeline: Pipeline, params: dict) -> dict:
    """Metadata for the last step; what no step asks for is refused."""
    last = pipeline.steps[-1][0]
    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(pipeline, "fit", **params)[last].fit)
    names = {name for name, _ in pipeline.steps}
    parts = {key: key.partition("__") for key in params}
    unknown = [key for key, (name, _, _) in parts.items() if name not in names]
    if unknown:
        raise ValueError(
            f"fit got {unknown}, which name no step; give them as step__argument, "
            f"with one of the steps {sorted(names)}."
        )
    return {arg: params[key] for key, (name, _, arg) in parts.items() if name == last}


def _fit_against(noise, classifier, Z, y, own: dict) -> None:
    """Train against noise in units of Z; parameters stay as the user stated them."""
    with _trained_against(noise, classifier, own):
        classifier.fit(Z, y, **own)


@contextmanager
def _trained_against(noise, classifier, own: dict):
    """Noise in units of what the classifier sees, in place of the user's."""
    changed = {"noise": noise}
    size = "radii" if hasattr(classifier, "radii") else "radius"
    if getattr(classifier, size) is None and own.get("radius") is None:
        changed[size] = default_radius(classifier.noise)
    stated = {key: getattr(classifier, key) for key in changed}
    vars(classifier).update(changed)
    yield
    vars(classifier).update(stated)


def _fit_on_features(classifier, Z, y, radius, sample_weight=None) -> None:
    """Train on features of a kernel; warnings speak of no radius in their units."""
    own = {"radius": radius}
    with _trained_against("l2", classifier, own):
        notes = classifier._fit_and_tell(Z, y, sample_weight, radius, None)
    for note in notes:
        said = re.sub(
            r"The critical radius \(one for all samples\) is [^;]*; choose",
            "Choose",
            str(note),
        )
        warnings.warn(type(note)(said), stacklevel=4)


def fit_curved(curve: Curve, linear, sets, classifier, Z, y, own: dict) -> CurvedFront:
    """Train on Nyström features against the longest moves that noise causes there."""
    if hasattr(classifier, "Cs"):
        raise ValueError(
            f"{type(classifier).__name__} has radii in the units of what it sees, and "
            "after Nystroem these are not those of X. Search with GridSearchCV over "
            "the whole pipeline, whose last step is a RobustLinearSVC or a "
            "RobustLinearRegressor."
        )
    stated = own.pop("radius", None)
    stated = classifier.radius if stated is None else stated
    error_shape = None
    if isinstance(sets, ErrorBars):
        check_errors_alone(classifier.noise, classifier.error_shape)
        error_shape = classifier.error_shape
    given = None if error_shape is None else sets
    stated = radius_or_default(stated, classifier.noise, given)
    kept = remembered_radius(stated)
    front = CurvedFront(curve, linear, kept, error_shape)
    _fit_on_features(
        classifier, Z, y, front.trained_radius(stated, sets, len(y)), **own
    )
    return front


def fit_curved_chunks(
    step: Nystroem, linear, noise, classifier, source: Source, radius=None
) -> CurvedFront:
    """Train on Nyström features of rows in chunks, which may bring radii and errors.

    `noise` is in the units of X; None where chunks bring errors.
    """
    curve, error_shape = Curve.of("nystroem", step), None
    if source.brings_errors:
        check_errors_alone(classifier.noise, classifier.error_shape)
        error_shape = classifier.error_shape
    stated = None
    if not source.brings_radii:
        stated = classifier.radius if radius is None else radius
        stated = radius_or_default(stated, classifier.noise, error_shape)
    kept = None if stated is None else remembered_radius(stated)
    front = CurvedFront(curve, linear, kept, error_shape)
    shape = None if error_shape else as_shape(noise, linear.shape[1])
    change = CurvedChunks(step, front, shape, stated)
    rows = ChangedSource(source, change, len(curve.landmarks), change.varies)
    size = 0.0  # chunks bring them
    if shape is not None and not change.varies:
        size = front.trained_radius(stated, shape, 1)
    _fit_on_features(classifier, rows, None, size)
    return front


def _bends(classifier) -> bool:
    """Whether a classifier has a kernel of its own."""
    return hasattr(classifier, "gamma")


def _steps_before(steps) -> list[tuple[str, Any]]:
    """The steps that do something."""
    return [(name, step) for name, step in steps if step not in (None, "passthrough")]


# -- noise and error bars of tables ----------------------------------------------------


def carry_noise(noise, transformer, X):
    """Convert noise from the units of X to those of `transformer.transform(X)`.

    Parameters
    ----------
    noise : {"l2", "linf", "l1"}, scales, covariance, Box, CrossPolytope or Correlated
        As for `RobustLinearSVC`, in the units of X; aligned with its column names.
    transformer : fitted transformer or pipeline of transformers
        It must be linear, and for boxes and cross-polytopes it must not mix features;
        otherwise a ValueError is raised.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        Data as the transformer takes it, such as the training data.

    Returns
    -------
    str, array of shape (n_transformed,), Box, CrossPolytope or Correlated
        The `noise` for a classifier after the transformer. Radii do not change.
    """
    linear, exact = linear_steps(transformer, X)
    return _carried(_raw_noise(noise, X, exact), linear)


def _carried(noise, linear: sp.csr_array):
    """The shape AU of the carried noise, as `RobustLinearSVC` takes it."""
    shape = as_shape(noise, linear.shape[1])
    carried = shape.carried(linear)
    return noise if carried is shape else carried.as_parameter()


def _raw_noise(noise, X, exact: np.ndarray):
    """`noise` in the order of the columns of X, without any on the exact ones.

    Noise that goes by name need not name those, and a norm has no level there.
    """
    names = feature_names(X)
    if not exact.any():
        return align_noise(noise, names)
    stated = np.ones(exact.size, dtype=bool)
    own = None if isinstance(noise, str) else own_names(noise)
    if isinstance(noise, str):
        stated = ~exact
    elif own is not None and names is not None:
        stated = ~exact | [name in own for name in names]
    places = np.flatnonzero(stated)
    kept = None if names is None else [names[k] for k in places]
    into = sp.eye_array(exact.size, format="csr")[:, places]
    shape = as_shape(noise, len(places), kept).carried(sp.csr_array(into))
    _refuse_levels(shape, exact, names)
    return shape.as_parameter()


def _measured(X, X_err, error_shape) -> ErrorBars:
    """The sets that X_err gives of raw data."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    return read_errors(_with_exact(X_err, X), error_shape, shape, feature_names(X))


def _with_exact(X_err, X):
    """A frame of error bars with 0 for columns of text that it does not name."""
    names, own = feature_names(X), feature_names(X_err)
    if names is None or own is None:
        return X_err
    text = zip(names, text_columns(X), strict=True)
    missing = [name for name, chosen in text if chosen and name not in own]
    if not missing:
        return X_err
    zeros = np.zeros((len(X_err), len(missing)))
    if hasattr(X_err, "iloc"):
        return X_err.join(type(X_err)(zeros, columns=missing, index=X_err.index))
    return X_err.hstack(type(X_err)(zeros, schema=missing))


def _check_missing(X, noise) -> None:
    """Refuse missing cells where noise is correlated; see the head of this file."""
    if isinstance(noise, Covariances):
        given = "X_err holds covariances", "one standard error per cell"
    elif not isinstance(noise, ErrorBars) and is_covariance(noise):
        given = "noise is a covariance", "one noise scale per feature"
    else:
        return
    if sp.issparse(X):
        missing = np.isnan(X.data)
    else:
        measured = _safe_indexing(X, np.flatnonzero(~text_columns(X)), axis=1)
        missing = np.isnan(np.asarray(measured, dtype=np.float64))
    if not np.any(missing):
        return
    raise ValueError(
        f"X has missing values and {given[0]}. What is certified for complete rows "
        "need not hold where one of two correlated features is missing. Give "
        f"{given[1]}, or complete the rows before this pipeline."
    )


def _refuse_levels(noise: Shape | ErrorBars, exact: np.ndarray, names) -> None:
    """Refuse noise or error bars on columns that do not move."""
    what = "X_err" if isinstance(noise, ErrorBars) else "noise"
    moved = []
    for k in np.flatnonzero(exact).tolist():
        unit = np.eye(1, exact.size, k)
        if isinstance(noise, ErrorBars):
            level = noise.carried(sp.csr_array(unit)).largest
        else:
            level = noise.support(unit[0])
        if level > 0:
            moved.append(k if names is None else names[k])
    if moved:
        raise ValueError(
            f"{what} gives a level above 0 to {listed(moved)}: text, or what the "
            "pipeline encodes as categories, which small moves do not change. Give 0 "
            "there, or leave such columns out where noise goes by name."
        )


def _named(X, mask: np.ndarray) -> str:
    names = feature_names(X) or range(mask.size)
    return listed([name for name, chosen in zip(names, mask, strict=True) if chosen])


def _naming_text(X, error: ValueError) -> ValueError:
    """The error of a step that met text, with all columns of it named and a remedy."""
    met = ("could not convert string", "must be real numbers")
    text = text_columns(X)
    if not text.any() or not any(words in str(error) for words in met):
        return error
    return ValueError(
        f"X holds text in {_named(X, text)}, and a step before the classifier, or the "
        f"classifier, takes numbers only ({error}). Encode them in the first step: "
        "ColumnTransformer([('measured', StandardScaler(), [...]), ('categories', "
        "OneHotEncoder(handle_unknown='ignore'), [...])])."
    )
