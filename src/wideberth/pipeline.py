"""Noise given in the units of the raw data, carried through a pipeline.

Scalers change units, and with them what a noise level means. If the steps before the
classifier are affine, x' = Ax + c, then x + δ becomes x' + Aδ: the noise set U becomes
AU, its support function Ω'(w) = Ω(Aᵀw). For an ellipsoid of covariance Σ (the unit ball
has Σ = I, scales τ have Σ = diag τ²) that is again an ellipsoid,

    Ω'(w)² = wᵀ(AΣAᵀ)w ,

of scales √diag(AΣAᵀ) where AΣAᵀ is diagonal (scalers; PCA of isotropic noise, truncated
or whitened too) and of covariance AΣAᵀ otherwise. Nothing is lost either way, and radii
keep their numbers, because they count units of the noise shape.

A is read off the fitted steps themselves by transforming unit moves, and whether they
are affine is tested on rows of the data, so steps need not be known by name.

Public: `RobustPipeline`, `make_robust_pipeline`, and `carry_noise` beneath them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from wideberth._arrays import is_foreign
from wideberth._certified import CertifiedMixin
from wideberth._linear import LinearClassifier
from wideberth.noise import L1, L2, Correlated, Ellipsoid, Linf, as_shape
from wideberth.scale.opening import is_scaled

__all__ = ["RobustPipeline", "carry_noise", "linear_map", "make_robust_pipeline"]

#: Rows transformed at a time, and rows on which the steps must prove to be affine.
_BATCH = 1024
_TRIALS = 16
#: What counts as rounding of a transform, and of a product of two.
_ROUNDING = 1e-6
_NOTHING = 1e-10


def make_robust_pipeline(
    *steps, memory=None, transform_input=None, verbose=False
) -> RobustPipeline:
    """Like `sklearn.pipeline.make_pipeline`, with noise in the units of the raw data.

    Parameters
    ----------
    *steps : estimators
        Affine transformers (scalers, PCA, feature selection, …), then a
        `RobustLinearSVC` or `RobustLinearSVCCV`.
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
    they count units of `noise`. `certified_radius`, `robust_score` and `worst_case`
    speak of the raw data.

    Parameters are those of `sklearn.pipeline.Pipeline`.

    Attributes
    ----------
    linear_map_ : CSR matrix of shape (n_transformed, n_features)
        What the steps before the classifier do to a move of the raw data.
    noise_ : str or array
        The noise shape trained against, in raw units.
    """

    steps: list[tuple[str, Any]]

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
        _refuse_chunks(X, y)
        steps = self.steps
        classifier, maps = steps[-1][1], []
        if not isinstance(classifier, LinearClassifier):
            raise TypeError(
                f"The last step is {type(classifier).__name__}; it must be a "
                "RobustLinearSVC or RobustLinearSVCCV, whose noise the pipeline "
                "carries. Use "
                "sklearn.pipeline.Pipeline for other estimators."
            )

        def carried_noise():  # called once the steps before have been fitted
            ahead = self[:-1] if len(steps) > 1 else FunctionTransformer()
            maps.append(linear_map(ahead, X))
            return _carry(classifier.noise, maps[0])

        before = [(s, vars(s).copy()) for _, s in steps if hasattr(s, "__dict__")]
        classifier._carried_noise = carried_noise
        try:
            super().fit(X, y, **params)
        except BaseException:
            # As before: never one step of this fit beside another of the last.
            self.steps = steps
            for step, state in before:
                step.__dict__ = state
            raise
        del classifier._carried_noise
        self.linear_map_, self.noise_ = maps[0], classifier.noise
        return self

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
        made.noise_ = classifier.noise
        return made

    def _robust_model(self):
        return self[-1], self[-1].coef_ @ self.linear_map_, self.noise_


def _refuse_chunks(X, y) -> None:
    """Refuse what scikit-learn's transformers cannot read, or would read whole."""
    if is_scaled(X, y) or is_foreign(X):
        raise ValueError(
            f"X is a {type(X).__name__}; a robust pipeline needs the data in memory: a "
            "NumPy array, a SciPy sparse matrix or a frame. Files, chunks, Dask "
            "collections and arrays of other libraries are for RobustLinearSVC alone."
        )


def carry_noise(noise, transformer, X):
    """Noise in the units of X, expressed in those of `transformer.transform(X)`.

    Parameters
    ----------
    noise : {"l2", "linf", "l1"} or array of scales or covariance
        As for `RobustLinearSVC`, in the units of X.
    transformer : fitted transformer or pipeline of transformers
        Must be affine; a ValueError says so where it is not.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        Data to test that on, such as the training data.

    Returns
    -------
    str or array of shape (n_transformed,) or (n_transformed, n_transformed)
        For the `noise` of a classifier behind the transformer. Radii stay as they are.
    """
    return _carry(noise, linear_map(transformer, X))


def linear_map(transformer, X) -> sp.csr_array:
    """A of a fitted affine transformer x' = Ax + c, read off its transform of moves.

    Parameters
    ----------
    transformer : fitted transformer
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        Rows of it are where the transformer is shown to be affine.

    Returns
    -------
    CSR matrix of shape (n_transformed, n_features)
    """
    probe = _Probe(transformer, X)
    units = sp.diags_array(probe.steps, format="csr")
    moved = [
        probe.change(probe.base, units[start : start + _BATCH])
        for start in range(0, units.shape[0], _BATCH)
    ]
    linear = (sp.diags_array(1 / probe.steps) @ sp.vstack(moved)).T.tocsr()
    probe.require_affine(linear)
    return linear


def _carry(noise, linear: sp.csr_array):
    """The shape AU of the carried noise, as `RobustLinearSVC` takes it."""
    shape = as_shape(noise, linear.shape[1])
    if isinstance(shape, L1 | Linf) and _only_selects(linear):
        return noise
    if not isinstance(shape, L2 | Ellipsoid | Correlated):
        raise ValueError(
            f"noise={noise!r} in raw units is no longer of that shape behind these "
            "steps, which scale or mix features. Give one noise scale per feature "
            "instead, or use a plain Pipeline with noise in transformed units."
        )
    root = linear
    if isinstance(shape, Correlated):
        root, shape = linear @ shape.axes, shape.principal
    if isinstance(shape, Ellipsoid):
        root = root @ sp.diags_array(shape.scales)
    covariance = sp.csr_array(root @ root.T)
    variances = covariance.diagonal()
    scales = np.sqrt(variances)
    # Off the diagonal, relative to the scales: correlations.
    rest = (covariance - sp.diags_array(variances)).tocoo()
    allowed = _NOTHING * scales[rest.coords[0]] * scales[rest.coords[1]]
    if np.any(np.abs(rest.data) > allowed):
        return covariance.toarray()
    if isinstance(noise, str) and np.all(np.abs(scales - 1) <= _NOTHING):
        return noise
    return scales


def _only_selects(linear: sp.csr_array) -> bool:
    """Whether A only picks, orders or flips features."""
    magnitude = abs(linear)
    ones = np.all(np.abs(magnitude.data - 1) <= _NOTHING)
    rows, columns = magnitude.sum(axis=1), magnitude.sum(axis=0)
    return bool(ones and np.all(rows > 0.5) and np.all(columns < 1.5))


class _Probe:
    """Moves a transformer's input about rows of its data and watches the output."""

    def __init__(self, transformer, X):
        self.transformer, self.frame = transformer, X if hasattr(X, "columns") else None
        self.sparse, self.rows = sp.issparse(X), _some_rows(X)
        size = abs(self.rows).max(axis=0)
        size = np.ravel(size.toarray() if self.sparse else size)
        #: Moves of about the size of the data keep rounding relative to it.
        self.steps = np.where(size > 0, size, 1.0)
        self.base = 0 * self.rows[[0]] if self.sparse else self.rows[[0]]

    def change(self, rows, moves: sp.csr_array) -> sp.csr_array:
        """T(x + δ) − T(x), for as many rows x as moves δ, or one row."""
        if rows.shape[0] == 1:
            before = self._transform(rows)[[0] * moves.shape[0]]
            rows = rows[[0] * moves.shape[0]]
        else:
            before = self._transform(rows)
        after = self._transform(rows + (moves if self.sparse else moves.toarray()))
        return sp.csr_array(after - before)

    def require_affine(self, linear: sp.csr_array) -> None:
        """Compare A with what random moves do at rows of the data."""
        rng = np.random.default_rng(0)
        moves = sp.csr_array(0.1 * rng.normal(size=self.rows.shape) * self.steps)
        change, expected = self.change(self.rows, moves), moves @ linear.T
        if abs(change - expected).max() > _ROUNDING * abs(expected).max():
            raise ValueError(
                f"{self._describe()} is not affine on the data: the same move does not "
                "have the same effect everywhere, so noise in raw units has no one "
                "shape behind it. Use scalers, PCA or feature selection, or give noise "
                "in transformed units to a plain Pipeline."
            )

    def _describe(self) -> str:
        steps = getattr(self.transformer, "steps", [(str(self.transformer), None)])
        return " → ".join(name for name, _ in steps)

    def _transform(self, rows):
        if self.frame is not None:
            names = {"columns" if hasattr(self.frame, "iloc") else "schema"}
            rows = type(self.frame)(rows, **dict.fromkeys(names, self.frame.columns))
        out = self.transformer.transform(rows)
        return out.tocsr() if sp.issparse(out) else np.asarray(out, dtype=np.float64)


def _some_rows(X):
    """Rows spread over the data, as float64; a missing entry might be any: 0."""
    if not sp.issparse(X) and not hasattr(X, "shape"):
        X = np.asarray(X)
    rows = np.linspace(0, X.shape[0] - 1, min(_TRIALS, X.shape[0])).astype(int)
    if sp.issparse(X):
        return sp.csr_array(X.tocsr()[rows], dtype=np.float64)
    chosen = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    try:
        return np.nan_to_num(np.asarray(chosen, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "X holds entries that are not numbers, for which noise in raw units means "
            f"nothing ({error}). Encode them before this pipeline."
        ) from None
