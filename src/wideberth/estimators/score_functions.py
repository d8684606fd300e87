"""Scores as functions of true features, and what a posterior says of them.

A posterior is a mixture of Gaussians N(x̂,V). Of a line f(x) = ⟨u,x⟩ + b all is known
(`verdict.py`). A kernel machine is f(x) = Σ v_jk(x,c_j) + b with the RBF kernel
k(x,c) = exp(−γ‖x−c‖²) (`curved.py`). In the axes of V, whose eigenvalues are λ, let
s = γλ and a_j = √γ(x̂−c_j). Then with all sums over axes (theory §19.5)

    E k_j = e_j := exp(−½Σlog(1+2s) − Σa_j²/(1+2s)) ,
    E ∇f  = −2√γ Σ_j v_je_j a_j/(1+2s) ,
    Cov(k_j,k_l) = e_je_l (exp(κ − p_j − p_l + ⟨η_j,η_l⟩) − 1) ,
        κ = ½Σlog(1 + 4s²/(1+4s)),  p_j = 4Σs²a_j²/((1+2s)(1+4s)),
        η_j = 2√(s/(1+4s)) a_j ,
    Cov(f, x) = V E∇f ,

the last one by Stein's lemma. For mixtures the laws of total variance and covariance
add what is between the Gaussians.

f is not Gaussian, and its mean and variance say little of the chance that f < 0. That
is an integral along lines in the direction V E∇f: the sign of f at points of a line
gives the share of the line that is below zero, and points of a low-discrepancy
sequence say where lines run (line sampling; Koutsourelakis, Pradlwarter and Schuëller,
Probabilistic Engineering Mechanics 19, 2004).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtri, stdtr
from scipy.stats.qmc import Sobol

from wideberth.estimators.curved import Curve
from wideberth.measurement.population import Posterior
from wideberth.problem.limits import CACHED_ENTRIES

#: Lines of each Gaussian (a choice: chances near 0.05 are then off by about 0.005).
_LINES = 64
#: Where points of a line begin, in standard deviations, and how far they are apart;
#: beyond them, where a Gaussian has 10⁻⁹, the sign is that of the last point.
_END, _STEP = 6.0, 0.5
#: Kernels whose logarithm is less in the mean are 0: their squares are in float64.
_LEAST_LOG = -300.0


@dataclass(frozen=True)
class LinearFunction:
    """f(x) = ⟨u,x⟩ + b."""

    u: np.ndarray
    shift: float

    def mean(self, found: Posterior) -> np.ndarray:
        """E f."""
        return found.mean @ self.u + self.shift

    def moments(self, found: Posterior) -> tuple[np.ndarray, np.ndarray]:
        """Means and spreads under each Gaussian, (K, n) each.

        Spreads count what is not known of the population.
        """
        assert found.uncertainty is not None
        return self._means(found), found.uncertainty.student(found, self.u)[0]

    def chance_below_zero(self, found: Posterior) -> np.ndarray:
        """Chance that f < 0, and half of that of f = 0."""
        assert found.uncertainty is not None
        student = found.uncertainty.student(found, self.u)
        return chance_below_zero(found.responsibilities, self._means(found), *student)

    def covariance(self, found: Posterior) -> tuple[np.ndarray, np.ndarray]:
        """Cov(f, x) of shape (n, d), and the variance of f."""
        pull = found.covariance @ self.u
        return pull, np.maximum(pull @ self.u, 0.0)

    def _means(self, found: Posterior) -> np.ndarray:
        return found.means @ self.u + self.shift


@dataclass(frozen=True)
class KernelFunction:
    """f(x) = Σ v_jk(x,c_j) + b with the landmarks of an RBF kernel."""

    curve: Curve
    v: np.ndarray
    shift: float

    def kernels(self, found: Posterior) -> np.ndarray:
        """E k_j, of shape (n, m)."""
        total = np.zeros((len(found.mean), len(self.curve.landmarks)))
        for share, (x, V) in zip(
            found.responsibilities.T, _gaussians(found), strict=True
        ):
            for rows, axes in self._blocks(x, V):
                total[rows] += share[rows, None] * np.exp(axes.logs)
        return total

    def mean(self, found: Posterior) -> np.ndarray:
        """E f."""
        return self.kernels(found) @ self.v + self.shift

    def moments(self, found: Posterior) -> tuple[np.ndarray, np.ndarray]:
        """As for a line; what is not known of the population widens all axes alike."""
        parts = [self._moments(x, V) for x, V in _gaussians(found)]
        means, slopes, variances = map(np.array, zip(*parts, strict=True))
        scale = np.array([self._doubt(found, *part)[0] for part in enumerate(slopes)])
        return means, scale * np.sqrt(variances)

    def chance_below_zero(self, found: Posterior) -> np.ndarray:
        """As for a line."""
        total = np.zeros(len(found.mean))
        for k, (x, V) in enumerate(_gaussians(found)):
            slope = self._expected(x, V)[1]
            chance = self._below_zero(x, V, slope, *self._doubt(found, k, slope))
            total += found.responsibilities[:, k] * chance
        return np.minimum(total, 1.0)

    def covariance(self, found: Posterior) -> tuple[np.ndarray, np.ndarray]:
        """As for a line."""
        shares = found.responsibilities.T
        parts = [(x, V, *self._moments(x, V)) for x, V in _gaussians(found)]
        middle = sum(
            share * mean
            for share, (_, _, mean, _, _) in zip(shares, parts, strict=True)
        )
        pull, variance = np.zeros_like(found.mean), np.zeros(len(found.mean))
        for share, (x, V, mean, slope, own) in zip(shares, parts, strict=True):
            inner = np.einsum("nij,nj->ni", V, slope)
            between = (mean - middle)[:, None] * (x - found.mean)
            pull += share[:, None] * (inner + between)
            variance += share * (own + (mean - middle) ** 2)
        return pull, variance

    # -- one Gaussian for each object --------------------------------------------------

    def _expected(self, x: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E f and E∇f."""
        means, slopes = np.zeros(len(x)), np.zeros_like(x)
        for rows, axes in self._blocks(x, V):
            means[rows] = axes.weights(self.v).sum(axis=1) + self.shift
            slopes[rows] = axes.slope(self.v)
        return means, slopes

    def _moments(self, x, V) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E f, E∇f and the variance of f."""
        means, slopes = self._expected(x, V)
        variances = np.zeros(len(x))
        for rows, axes in self._blocks(x, V):
            variances[rows] = axes.variances(self.v)
        # Rounding may have lowered it below that of its linear part (Cacoullos 1982).
        linear = np.einsum("ni,nij,nj->n", slopes, V, slopes)
        return means, slopes, np.maximum(variances, linear)

    def _doubt(self, found: Posterior, k: int, slope) -> tuple[np.ndarray, np.ndarray]:
        """By what the population widens Gaussian k along the slope, and its degrees."""
        assert found.uncertainty is not None
        scales, degrees = found.uncertainty.student(found, slope)
        own = np.einsum("ni,nij,nj->n", slope, found.covariances[k], slope)
        with np.errstate(divide="ignore", invalid="ignore"):
            wider = np.where(own > 0, scales[k] / np.sqrt(own), 1.0)
        return wider, degrees[k]

    def _below_zero(self, x, V, slope, wider, degrees) -> np.ndarray:
        """The chance that f < 0 where a factor `wider` of Student's law widens V."""
        points, offsets = _lines(x.shape[1])
        steps = np.arange(-_END, _END, _STEP) + _STEP * offsets[:, None]
        chances = np.zeros(len(x))
        for rows, axes in self._blocks(x, V, len(points) * steps.shape[1]):
            values = axes.along_lines(self.v, slope[rows], wider[rows], points, steps)
            share = _share_below(values + self.shift, steps, degrees[rows])
            chances[rows] = share.mean(axis=1)
        return chances

    def _blocks(self, x, V, lines: int = 1) -> Iterator[tuple[slice, _Axes]]:
        """Parts of the rows whose arrays fit into memory together."""
        m, d = self.curve.landmarks.shape
        size = max(CACHED_ENTRIES // (m * max(d, lines)), 1)
        for rows in (slice(k, k + size) for k in range(0, len(x), size)):
            yield rows, _Axes.of(self.curve, x[rows], V[rows])


@dataclass(frozen=True)
class _Axes:
    """Gaussians N(x̂,V) in the axes of their covariances, in units of 1/√γ."""

    root_gamma: float
    vectors: np.ndarray  # Q of V = QλQᵀ, (n, d, d)
    sizes: np.ndarray  # s, (n, 1, d)
    apart: np.ndarray  # a_j, (n, m, d)

    @classmethod
    def of(cls, curve: Curve, x, V) -> _Axes:
        lengths, vectors = np.linalg.eigh(curve.gamma * V)
        root = np.sqrt(curve.gamma)
        apart = (root * (x[:, None] - curve.landmarks)) @ vectors
        return cls(root, vectors, np.maximum(lengths, 0.0)[:, None], apart)

    @property
    def logs(self) -> np.ndarray:
        """log e_j, (n, m)."""
        wide = 1 + 2 * self.sizes
        return -0.5 * np.log(wide).sum(axis=2) - (self.apart**2 / wide).sum(axis=2)

    def weights(self, v) -> np.ndarray:
        """v_je_j, (n, m)."""
        return v * np.exp(self.logs)

    def slope(self, v) -> np.ndarray:
        """E∇f, (n, d)."""
        inner = (self.weights(v)[:, None] @ self.apart)[:, 0] / (
            1 + 2 * self.sizes[:, 0]
        )
        return -2 * self.root_gamma * np.einsum("nij,nj->ni", self.vectors, inner)

    def variances(self, v) -> np.ndarray:
        """The variances of f, (n,)."""
        s, logs = self.sizes, self.logs
        # E k_jk_l ≤ e_j, so what is left out is 0 too, and exponents of the rest are
        # at most −log e_j, but for rounding.
        weights = np.where(logs > _LEAST_LOG, v * np.exp(logs), 0.0)
        share = 4 * s / (1 + 4 * s)
        constants = 0.5 * np.log1p(s * share).sum(axis=2)
        powers = (share * s / (1 + 2 * s) * self.apart**2).sum(axis=2)
        crossed = np.sqrt(share) * self.apart
        found = np.zeros(len(s))
        for i in np.flatnonzero(s.any(axis=(1, 2))):
            kept = np.flatnonzero(weights[i])
            u, p, eta = weights[i, kept], powers[i, kept], crossed[i, kept]
            excess = eta @ eta.T
            excess += constants[i] - p
            excess -= p[:, None]
            np.minimum(excess, -_LEAST_LOG, out=excess)
            found[i] = u @ np.expm1(excess, out=excess) @ u
        return found

    def along_lines(self, v, slope, wider, points, steps) -> np.ndarray:
        """Σ v_jk(x,c_j) at the steps of lines, (n, lines, steps)."""
        sizes = wider[:, None] * np.sqrt(self.sizes[:, 0])
        way = sizes * np.einsum("nij,ni->nj", self.vectors, slope)
        length = np.linalg.norm(way, axis=1, keepdims=True)
        last = np.eye(way.shape[1])[-1]  # the longest axis, where f has no slope
        with np.errstate(divide="ignore", invalid="ignore"):
            way = np.where(length > 0, way / length, last)
        beside = points - (points @ way[..., None]) * way[:, None]
        start, way = sizes[:, None] * beside, sizes * way
        # ‖a_j + start + t·way‖², of shape (n, lines, m) without and with t
        crossed = self.apart.transpose(0, 2, 1)
        square = np.square(self.apart).sum(axis=2)[:, None] + 2 * start @ crossed
        square += np.square(start).sum(axis=2)[..., None]
        slant = (way[:, None] @ crossed) + (start @ way[..., None])
        t = steps[None, :, :, None]
        exponents = 2 * t * slant[:, :, None] + square[:, :, None]
        exponents += t**2 * np.square(way).sum(axis=1)[:, None, None, None]
        return np.exp(-exponents) @ v


def chance_below_zero(shares, values, scales, degrees) -> np.ndarray:
    """Σ_c γ_c T(−f_c/s_c), T of Student; without a scale 0, ½ or 1 by the sign of f."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(values == 0, 0.0, values / scales)
    return np.sum(shares.T * stdtr(degrees, -ratios), axis=0)


def _gaussians(found: Posterior) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return zip(found.means, found.covariances, strict=True)


@cache
def _lines(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian points that lines run through, and where their steps begin, in steps."""
    drawn = Sobol(d + 1, rng=np.random.default_rng(0)).random(_LINES)
    return ndtri(drawn[:, :d]), drawn[:, d]


def _share_below(values: np.ndarray, steps: np.ndarray, degrees) -> np.ndarray:
    """The mass of each line where f < 0, linear between its steps; (n, lines)."""
    below = values < 0
    mass = stdtr(degrees[:, None, None], steps)
    found = np.where(below[..., 0], mass[..., 0], 0.0)
    found += np.where(below[..., -1], 1 - mass[..., -1], 0.0)
    found += np.where(below[..., :-1] & below[..., 1:], np.diff(mass), 0.0).sum(axis=-1)
    n, line, k = np.nonzero(below[..., :-1] != below[..., 1:])
    ends = np.abs(values[n, line, k]), np.abs(values[n, line, k + 1])
    root = steps[line, k] + _STEP * ends[0] / (ends[0] + ends[1])
    at_root = stdtr(degrees[n], root)
    falls = below[n, line, k + 1]
    part = np.where(falls, mass[n, line, k + 1] - at_root, at_root - mass[n, line, k])
    np.add.at(found, (n, line), part)
    return found
