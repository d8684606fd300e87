"""Robust pipelines that hold `TrueFeatures`: errors and gaps, posteriors, a classifier.

Steps before `TrueFeatures` are linear, with matrix A, and carry errors: variances e²
become A∘A e² where A keeps features apart, and AEAᵀ otherwise. Gaps stay gaps. The
classifier behind it is trained on posterior means x̂_i with their covariances V_i as
sets: a radius counts posterior standard deviations, 0 by default. It may be a kernel
machine (`score_functions.py`).

With one Gaussian x̂ is affine in the measurement, x̂ = μ + K(x − μ), and KE = V in the
cells that are there (docs/theory/population.md). A move δ of the measurement changes
⟨w,x̂⟩ by ⟨Kᵀw,δ⟩, over the ellipsoid of its own errors by at most

    κ(w) = √(Σ_j e_j² (Kᵀw)_j²) = √(Σ_j (Vw)_j² / e_j²) ,   attained at δ = Vw / κ ,

so certificates of the measurement are those of sets {Fq : ‖q‖ ≤ 1}, F = V diag(1/e),
about x̂. Behind a kernel they are lower bounds, by the longest of these moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches

from wideberth import certify
from wideberth.estimators.curved import JudgedCurve
from wideberth.estimators.linear import Judged
from wideberth.estimators.moves import linear_steps
from wideberth.estimators.score_functions import KernelFunction, LinearFunction
from wideberth.estimators.streaming import as_frame
from wideberth.measurement.population import (
    FLOOR,
    Posterior,
    block_rows,
    read_variances,
)
from wideberth.measurement.true_features import TrueFeatures
from wideberth.noise import Covariances, Posteriors, as_shape, keeps_apart
from wideberth.noise.reading import in_order_of
from wideberth.noise.sums import ratio
from wideberth.problem.arrays import host
from wideberth.problem.limits import EPS
from wideberth.problem.validation import feature_names, float_array, radius_or_default


def place_of_features(steps) -> int | None:
    """Where `TrueFeatures` stands among the steps; None where it does not."""
    places = [k for k, (_, s) in enumerate(steps) if isinstance(s, TrueFeatures)]
    if len(places) > 1:
        raise ValueError(
            f"TrueFeatures occurs at the places {places} of this pipeline; after the "
            "first no errors are left for another. Keep one of them."
        )
    if places and places[0] != len(steps) - 2:
        raise ValueError(
            f"'{steps[places[0] + 1][0]}' stands between TrueFeatures and the "
            "classifier. Put it before TrueFeatures."
        )
    return places[0] if places else None


@dataclass(frozen=True)
class Scores:
    """Decision values of n objects, one Gaussian of their posterior after the other.

    shares (n, K); values and spreads (K, n, m), for m binary problems.
    """

    shares: np.ndarray
    values: np.ndarray
    spreads: np.ndarray

    @staticmethod
    def joined(parts: list[Scores]) -> Scores:
        """Those of several groups of objects, one after the other.

        Populations may differ in their number of Gaussians: shares of others are 0.
        """
        most = max(part.shares.shape[1] for part in parts)
        parts = [part._padded(most) for part in parts]
        return Scores(
            np.concatenate([part.shares for part in parts]),
            np.concatenate([part.values for part in parts], axis=1),
            np.concatenate([part.spreads for part in parts], axis=1),
        )

    def _padded(self, K: int) -> Scores:
        more = K - self.shares.shape[1]
        behind = ((0, more), (0, 0), (0, 0))
        return Scores(
            np.pad(self.shares, ((0, 0), (0, more))),
            np.pad(self.values, behind),
            np.pad(self.spreads, behind),
        )

    def take(self, problem: int) -> Scores:
        """Those of one binary problem, without the last axis."""
        return Scores(
            self.shares, self.values[..., problem], self.spreads[..., problem]
        )


@dataclass(frozen=True)
class Denoised:
    """A fitted pipeline in its parts: before `TrueFeatures`, itself, the classifier."""

    before: Pipeline | None  # linear steps
    linear: sp.csr_array  # A of those
    features: TrueFeatures
    classifier: Any  # on posterior means

    @classmethod
    def fit(cls, before: Pipeline | None, features, X, y, X_err, params) -> Denoised:
        """Fit steps and `TrueFeatures`; the classifier is yet to be `trained`."""
        Z = X
        if before is not None:
            Z = before.fit_transform(X, y, **consumed(before, params))
        linear = _linear(before, X)
        errors = carried_errors(X, X_err, Z, linear)
        return cls(before, linear, features.fit(Z, y, X_err=errors), None)

    def trained(self, classifier, X, y, X_err, params: dict) -> Denoised:
        """The same with a classifier that is fitted here, with arguments of its `fit`.

        At radius 0, the default, covariances of posteriors are not needed.
        """
        stated = params.get("radius", getattr(classifier, "radius", 1.0))
        if stated is None or (np.ndim(stated) == 0 and stated == 0):
            params = {name: params[name] for name in params.keys() - {"radius"}}
            classifier.fit(self.means(X, X_err), y, **params)
        else:
            found = self.posterior(X, X_err)
            sets = Posteriors.of(found.covariance)
            classifier.fit(found.mean, y, **params, X_err=sets)
        return replace(self, classifier=classifier)

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights and intercepts of what the classifier weighs.

        That are posterior means, or behind a kernel its features.
        """
        return host(self.classifier.coef_), host(self.classifier.intercept_)

    @property
    def columns(self) -> np.ndarray | None:
        """The raw feature in each cell of the posterior; None where it has several."""
        apart = (self.linear.astype(bool).sum(axis=1) == 1).all()
        return self.linear.indices if apart else None

    def means(self, X, X_err) -> np.ndarray:
        """Posterior means, which the rest of the pipeline sees."""
        return np.asarray(self.features.transform(*self._read(X, X_err)))

    def posteriors(self, X, X_err):
        """Posteriors of blocks of rows, one after the other."""
        Z, errors = self._read(X, X_err)
        Z = float_array(Z, "X")
        for rows in gen_batches(len(Z), block_rows(Z.shape[1])):
            part = errors[rows] if np.ndim(errors) else errors
            yield self._posterior(Z[rows], part)

    def posterior(self, X, X_err) -> Posterior:
        """Posteriors of all rows."""
        Z, errors = self._read(X, X_err)
        return self.features.posterior(Z, errors)

    def scores(self, X, X_err) -> Scores:
        """Decision values, and how far they may be off.

        That counts the objects' own errors, and what is not known of the population.
        """
        functions = [self.function(*each) for each in zip(*self.weights, strict=True)]
        parts = []
        for found in self.posteriors(X, X_err):
            moments = zip(*(each.moments(found) for each in functions), strict=True)
            values, spreads = (np.stack(each, axis=-1) for each in moments)
            parts.append(Scores(found.responsibilities, values, spreads))
        return Scores.joined(parts)

    def class_scores(self, means: np.ndarray) -> np.ndarray:
        """The scores of all classes at posterior means."""
        values = host(self.classifier.decision_function(means))
        return certify.every_class(values, self.weights[0])[0]

    def function(self, w, shift) -> LinearFunction | KernelFunction:
        """A score as a function of true features, of weights as in `weights`."""
        front = getattr(self.classifier, "curved_", None)
        if front is None:
            return LinearFunction(w, float(shift))
        return KernelFunction(front.curve, w @ front.curve.matrix, float(shift))

    def judge(self, X, X_err) -> JudgedMeans | JudgedCurvedMeans:
        """Objects whose measurements may move within their own errors."""
        if self.features.n_components_ > 1:
            raise ValueError(
                f"The population has {self.features.n_components_} Gaussians, and the "
                "posterior mean is not linear in the measurement, so no exact radius "
                "is known. Use n_components=1, or ask for verdict(X, X_err), which "
                "holds for any number of them."
            )
        Z, errors = self._read(X, X_err)
        if np.ndim(errors) == 3:
            raise ValueError(
                "X_err holds covariances, or a step before TrueFeatures mixes "
                "features; certificates after it are for one standard error per cell "
                "and steps that keep features apart, such as scalers."
            )
        Z = float_array(Z, "X")
        found = self._posterior(Z, errors)
        spread = np.broadcast_to(0.0 if errors is None else errors, Z.shape)
        inverse = ratio(1.0, np.where(np.isnan(Z), 0.0, spread))
        roots = found.covariance * inverse[:, None, :]
        bars = Covariances.of_factors(roots)
        raw = _variances(X, X_err)[0]
        values = host(self.classifier.decision_function(found.mean))
        back = (raw, inverse, self.linear)
        given = values, self.classifier, self.weights[0], bars
        front = getattr(self.classifier, "curved_", None)
        if front is None:
            return JudgedMeans(*given, back)
        blur = self._rounding(found.mean)
        return JudgedCurvedMeans(*given, front, found.mean, blur, back)

    def _rounding(self, means: np.ndarray) -> np.ndarray:
        """How far rounding may have moved posterior means.

        In standard units by ε times the condition of Σ + E, in d products.
        """
        centre, scale = self.features._centre, self.features._scale
        sizes = np.linalg.norm(np.abs(means - centre) + scale, axis=1)
        return means.shape[1] * EPS / FLOOR * sizes

    def _posterior(self, Z, errors) -> Posterior:
        names = getattr(self.features, "feature_names_in_", None)
        Z = Z if names is None else as_frame(Z, names)
        return self.features.posterior(Z, errors)

    def _read(self, X, X_err) -> tuple:
        """X and its errors, as `TrueFeatures` takes them."""
        Z = X if self.before is None else self.before.transform(X)
        return Z, carried_errors(X, X_err, Z, self.linear)


@dataclass(frozen=True)
class MovedMeans:
    """Objects whose posterior means move as their measurements do."""

    #: Squared errors of raw cells, 1/e behind the steps ahead, and A of those.
    back: tuple

    def radii(self, radius, X_err):
        """Factors on the errors of measurements; training counts other units."""
        noise = self.classifier.noise  # type: ignore[attr-defined]
        return radius_or_default(radius, noise, X_err)

    def _measured_moves(self, q: np.ndarray) -> np.ndarray:
        """The moves δ of raw measurements that move the means by Fq, each e_j q_j."""
        variances, inverse, linear = self.back
        return variances * ((q * inverse) @ linear)


@dataclass(frozen=True)
class JudgedMeans(MovedMeans, Judged):
    """Objects with sets of posterior means that moves of measurements lead to."""

    def worst_case(self, labels: np.ndarray, radii) -> np.ndarray:
        """The move of each measurement that favours some wrong class most."""
        rival = certify.rivals(self.values, labels, self.coef, radii, self.noise)
        _, coef = certify.every_class(self.values, self.coef)
        weights = coef[rival] - coef[labels]
        parts = np.einsum("nd,nde->ne", weights, self.noise.roots)  # type: ignore[attr-defined]
        sizes = np.linalg.norm(parts, axis=1)
        longest = np.asarray(radii) * ratio(1.0, sizes)
        return self._measured_moves(parts) * longest[:, None]


@dataclass(frozen=True)
class JudgedCurvedMeans(MovedMeans, JudgedCurve):
    """The same in front of a kernel."""

    def worst_case(self, labels: np.ndarray, radii) -> np.ndarray:
        """A move of each measurement that favours some wrong class, found by search."""
        return self._measured_moves(super().worst_case(labels, radii))

    def _search(self, i: int, v: np.ndarray, radius: float) -> np.ndarray:
        """The best q found for one object, whose mean moves by Fq."""
        F = self.noise.roots[i]  # type: ignore[attr-defined]
        front = replace(self.front, linear=sp.csr_array(F))
        ball = replace(self, front=front, noise=as_shape("l2", len(F)))
        return JudgedCurve._search(ball, i, v, radius)


def carried_errors(X, X_err, Z, linear: sp.csr_array):
    """Errors of X behind linear steps that make Z of it, as `TrueFeatures` reads them.

    Standard errors, or covariances where steps mix features; None and 0 as they are.
    """
    values, after = float_array(X, "X"), float_array(Z, "X")
    filled = np.isnan(values).any(axis=1) & ~np.isnan(after).any(axis=1)
    if filled.any() and linear.shape[0] >= linear.shape[1]:
        raise ValueError(
            f"A step before TrueFeatures fills gaps (row {int(filled.argmax())}), and "
            "guesses would count as exact. Leave them NaN: TrueFeatures fills "
            "them and allows for the uncertainty."
        )
    if X_err is None:
        return None
    variances, matrices = _variances(X, X_err)
    if not len(matrices) and keeps_apart(linear):
        return np.sqrt(variances @ (linear * linear).T)
    A = linear.toarray()
    if not len(matrices):
        matrices = variances[:, :, None] * np.eye(A.shape[1])
    return A @ matrices @ A.T


def _variances(X, X_err) -> tuple[np.ndarray, np.ndarray]:
    values = float_array(X, "X").astype(np.float64)
    X_err = 0.0 if X_err is None else in_order_of(X_err, X)
    return read_variances(X_err, values, feature_names(X))


def _linear(before, X) -> sp.csr_array:
    """A of the steps before `TrueFeatures`."""
    try:
        return linear_steps(before, X)[0]
    except ValueError as error:
        raise ValueError(
            f"{error} Before TrueFeatures transform X_err with X: the error of log(x) "
            "is X_err / x."
        ) from None


def consumed(part: Pipeline, params: dict) -> dict:
    """The metadata that steps of a part ask for."""
    if get_config()["enable_metadata_routing"]:
        wanted = part.get_metadata_routing().consumes("fit", params.keys())
    else:
        names = {name for name, step in part.steps if not isinstance(step, str)}
        wanted = [key for key in params if key.partition("__")[0] in names]
    return {key: params[key] for key in wanted}
