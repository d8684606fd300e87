"""Problems in numbers of a size that float64 can square: an exact change of units.

With x_i = σx_i', ρ_i = σρ_i' and w = w'/σ every robust margin stays what it is, and

    σ²P(w,b) = ½‖w'‖² + ½(σ²λ_b)b² + Σ (σ²c_i) [1 − ψ_i(w,b)]_+

is the problem of (x', ρ', σ²c, σ²λ_b), with the dual point α' = σ²α and all values σ²
times as large (theory §1: Ω is homogeneous). For σ a power of two nothing is rounded on
the way there or back, so a certificate of the one is a certificate of the other. Noise
scales τ may be divided by a power of two that the radii take on.

Data whose entries, weights and radii are of usual size are left as they are, uncopied.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from wideberth.problem.certificate import Certificate
from wideberth.problem.noise import Noise
from wideberth.problem.problem import Problem
from wideberth.problem.rows import as_rows
from wideberth.screening.regions import Region
from wideberth.solution import Solution

__all__ = [
    "BLURRED",
    "USUAL",
    "Units",
    "blur",
    "check_radii",
    "cut_radii",
    "in_units",
    "out_of_range",
]

#: Largest entry of X up to which, and from whose reciprocal on, X is used as it is.
USUAL = 2.0**30
#: The same of the weights c_i, and of noise scales.
_USUAL_WEIGHT, _USUAL_NOISE = 2.0**100, 2.0**30
#: Least largest weight: far from where float64 loses digits.
_FAINT = -300
#: Σc_i beyond which values overflow.
_MOST_WEIGHT = 1e306
#: Radius in units of the largest entry of X from which on only w = 0 is sought.
_LARGEST_RADIUS = 2.0**200


#: What to do where a covariance leaves its directions without noise open.
BLURRED = (
    "noise is a covariance whose own rounding blurs the directions without noise: give "
    "a factor of it (wideberth.Correlated.from_factor)"
)


@dataclass(frozen=True)
class Units:
    """What the numbers of a problem were divided by, and the axes it was turned to."""

    sigma: float = 1.0
    axes: np.ndarray | None = None
    #: What noise scales were divided by.
    stretch: float = 1.0
    #: The largest radius given, where it was cut down; the largest weight.
    cut: float | None = None
    heaviest: float = 1.0

    @property
    def usual(self) -> bool:
        """Whether the problem is in the user's units, those being of usual size."""
        return self.sigma == self.stretch == 1.0 and self.cut is None

    def quiet(self):
        """Context in which overflow passes without a word unless units are usual.

        What comes of it is certified, or not.
        """
        return nullcontext() if self.usual else np.errstate(all="ignore")

    @property
    def plain(self) -> bool:
        """Whether nothing has to be undone."""
        return self.sigma == 1.0 and self.axes is None

    def inward(self, w, b, alpha):
        """A point given by the user, in the problem's units."""
        w = w if self.axes is None else self.axes.T @ w
        scale = self.sigma
        return w * scale, b, None if alpha is None else alpha * scale * scale

    def weights(self, w: np.ndarray) -> np.ndarray:
        """Weights of the features in the user's units."""
        w = w if self.sigma == 1.0 else w / self.sigma
        return w if self.axes is None else self.axes @ w

    def value(self, value):
        """Dual weights or an objective, in the user's units."""
        return value if self.sigma == 1.0 else value / self.sigma / self.sigma

    def radius(self, radius: float) -> float:
        """A radius in the user's units."""
        return radius * self.sigma / self.stretch

    def certificate(self, certificate: Certificate) -> Certificate:
        """The same proof in the user's units."""
        if self.sigma == 1.0:
            return certificate
        primal = self.value(certificate.primal)
        if certificate.primal > 0 and primal < np.finfo(float).tiny:
            raise ValueError(
                f"The objective, {primal:.1e}, is below the range of float64 for C·"
                f"sample_weight={self.heaviest:.1e} and X of this size: raise C, or "
                "scale X down."
            )
        dual, rounding = self.value(certificate.dual), self.value(certificate.rounding)
        return Certificate(primal, dual, rounding)

    def region(self, region: Region) -> Region:
        """A region of the optimum in the user's units."""
        if self.sigma == self.stretch == 1.0:
            return region
        w, s, curvature, anchor = self.weights, self.sigma, region.curvature, None
        if curvature is not None:  # s and Zv scale like α‖x‖ and like ‖x‖
            curvature = replace(
                curvature,
                s=self.value(curvature.s) * s / self.stretch,
                v=self.stretch * curvature.v,
                factor=self.stretch * s * curvature.factor,
            )
        if region.anchor is not None:
            anchor = w(region.anchor[0]), region.anchor[1]
        return replace(
            region,
            w=w(region.w),
            radius=region.radius / s,
            gap=self.value(region.gap),
            norm_bound=region.norm_bound / s,
            curvature=curvature,
            anchor=anchor,
        )

    def entry(self, entry: dict) -> dict:
        """An entry of a trace in the user's units."""
        changed = {name: self.value(entry[name]) for name in ("primal", "dual", "gap")}
        return entry | changed

    def callback(self, callback):
        """A callback that is told the user's units."""
        if callback is None or self.sigma == 1.0:
            return callback
        return lambda entry: callback(self.entry(entry))

    def check_cut(self, omega: float) -> None:
        """Refuse an answer that radii beyond the range still bear on.

        With Ω(w) = 0 the primal knows of no radius, and a larger one only raises the
        dual value: such an answer holds for the radii as given.
        """
        if self.cut is not None and omega > 0:
            raise ValueError(
                f"radius (times noise scale) reaches {self.cut:.3g}, more than "
                f"{_LARGEST_RADIUS:.0e} times the largest entry of X, and yet it does "
                "not rule out every model: out of the range of float64. Lower that "
                "radius, or drop its samples or features."
            )

    def restore(self, solution: Solution) -> Solution:
        """A solution in the user's units."""
        if self.plain:
            return solution
        trace = solution.trace
        return replace(
            solution,
            w=self.weights(solution.w),
            alpha=self.value(solution.alpha),
            certificate=self.certificate(solution.certificate),
            trace=trace if self.sigma == 1.0 else [self.entry(e) for e in trace],
        )


def in_units(
    problem: Problem, size: float, axes=None, factor: float | None = 1.0
) -> tuple[Problem, Units]:
    """The problem in units that suit float64, and what brings answers back.

    `size` is ‖X‖ (Frobenius), or infinite where that overflows; `factor` what the
    weights will be multiplied by, or None where that depends on the units.
    """
    X, weights = problem.rows.X, problem.weights
    noise, stretch = _usual_noise(problem.noise)
    heaviest = 0.0 if factor is None else factor * float(weights.max())
    usual = _is_usual(X, size)
    usual_weight = 1 / _USUAL_WEIGHT <= heaviest <= _USUAL_WEIGHT or heaviest == 0
    if usual and usual_weight and stretch == 1.0:
        return problem, Units(axes=axes)
    sigma = 1.0 if usual and usual_weight else _sigma(X, heaviest)
    rows = problem.rows
    if sigma != 1.0:
        rows = as_rows(_divided(X, sigma), problem.y)
    with np.errstate(over="ignore", under="ignore"):
        radii = problem.radii / sigma * stretch
        weights = weights * sigma * sigma
        total = float(weights.sum())
    if not total < _MOST_WEIGHT:
        raise ValueError(
            f"C·sample_weight reaches {heaviest:.3g} and X {sigma:.0e}: C·‖x‖² is more "
            "than float64 can hold. Lower C, or scale X down."
        )
    intercept = problem.intercept
    if intercept:
        intercept = _penalty(intercept, sigma)
    scaled = replace(
        problem,
        rows=rows,
        weights=weights,
        radii=radii,
        noise=noise,
        intercept=intercept,
    )
    return scaled, Units(sigma, axes, stretch, heaviest=heaviest)


def cut_radii(problem: Problem, units: Units) -> tuple[Problem, Units]:
    """The problem with radii that float64 can square; `Units.check_cut` must follow."""
    widest = float(problem.radii.max())
    if widest <= _LARGEST_RADIUS:
        return problem, units
    cut = units.radius(widest) * units.stretch
    radii = np.minimum(problem.radii, _LARGEST_RADIUS)
    return replace(problem, radii=radii), replace(units, cut=cut)


def check_radii(problem: Problem, units: Units, factor: float) -> None:
    """Refuse radii, `factor` times those of a problem, that are out of range."""
    widest = factor * float(problem.radii.max())
    if not widest <= _LARGEST_RADIUS:
        raise ValueError(
            f"radii reach {units.radius(widest):.3g}, more than {_LARGEST_RADIUS:.0e} "
            "times the largest entry of X: out of the range of float64, and no model "
            "survives a fraction of it. Lower the largest of them."
        )


def _penalty(penalty: float, sigma: float) -> float:
    scaled = penalty * sigma * sigma
    if not 1e-306 <= scaled <= 1e306:
        raise ValueError(
            f"intercept_penalty={penalty:.3g} beside X of size {sigma:.0e} is out of "
            "the range of float64: penalty·‖x‖² must lie within 1e±306. Choose 0 (a "
            "free intercept) or scale X."
        )
    return scaled


def _usual_noise(noise: Noise) -> tuple[Noise, float]:
    """Noise scales of usual size, and the factor that the radii take on."""
    usual, factor = noise.normalized()
    if 1 / _USUAL_NOISE <= factor <= _USUAL_NOISE:
        return noise, 1.0
    return usual, factor


def _sigma(X, heaviest: float) -> float:
    """The power of two that makes the largest entry at most 1.

    Larger ones where the weights would vanish: then every sample is saturated, and
    entries far below 1 do no harm.
    """
    largest = _largest_entry(X)
    exponent = math.frexp(largest)[1] if largest > 0 else 0
    if heaviest > 0:
        least = (_FAINT - math.frexp(heaviest)[1]) // 2
        exponent = max(exponent, least)
    return 2.0 ** min(max(exponent, -1000), 1000)


def _is_usual(X, size: float) -> bool:
    """Whether the largest entry is of usual size; ‖X‖ = `size` may tell already."""
    entries = X.shape[0] * X.shape[1]
    if entries**0.5 / USUAL <= size <= USUAL:
        return True
    return 1 / USUAL <= _largest_entry(X) <= USUAL


def _largest_entry(X) -> float:
    values = X.data if sp.issparse(X) else X
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def _power_of_two(value: float) -> float:
    return 2.0 ** min(max(math.frexp(value)[1], -1000), 1000)


def _divided(X, sigma: float):
    """X/σ as float64, in the same form."""
    if sp.issparse(X):
        return sp.csr_array(
            (X.data.astype(np.float64) / sigma, X.indices, X.indptr), X.shape
        )
    return X.astype(np.float64) / sigma


def out_of_range(problem: Problem, units: Units) -> str:
    """Which quantity is too large or too small beside the others; what to do."""
    norms, used = problem.rows.norms(), problem.weights > 0
    weights, sigma = problem.weights[used], units.sigma
    pull = float((weights * norms[used] ** 2).max(initial=0.0))
    columns = _column_sizes(problem.rows.X)
    columns = columns[columns > 0]
    spread = float(columns.max() / columns.min()) if columns.size else 1.0
    span = float(weights.max() / weights.min()) if weights.size else 1.0
    largest = float(columns.max()) * sigma if columns.size else 0.0
    widest = float(problem.radii.max()) if units.cut is None else np.inf
    faint = float(weights.sum()) / problem.intercept if problem.intercept else 0.0
    causes = [
        (
            spread / 1e6,
            f"the features of X differ in size by a factor of {spread:.1e}: scale them "
            "to similar size",
        ),
        (
            span / 1e6,
            f"sample_weight spans a factor of {span:.1e}: bring the weights closer "
            "together",
        ),
        (
            widest / 1e6,
            f"radius reaches {units.cut or units.radius(widest):.1e} beside entries of "
            f"X up to {largest:.1e}: lower the largest radius",
        ),
        (
            faint / 1e6,
            f"intercept_penalty is {faint:.1e} times smaller than the weights: choose "
            "0, a free intercept",
        ),
        (blur(problem.noise) / 1e6, BLURRED),
        (
            pull / 1e6,
            f"C·sample_weight·‖x‖² reaches {pull:.1e}: lower C, or scale X down",
        ),
    ]
    size, words = max(causes)
    if size < 1:
        words = "raise tol, or scale the features of X"
    return words


def blur(noise: Noise) -> float:
    """Roundings by which Ω may be off: about d^1.5, or 10⁸ where Σ leaves it open."""
    largest = noise.lipschitz(1)  # the largest scale, or 1 where there are none
    return noise.support_error / largest / 2.0**-53 if largest > 0 else 1.0


def _column_sizes(X) -> np.ndarray:
    """Largest absolute value of every column."""
    if sp.issparse(X):
        return np.asarray(abs(X).max(axis=0).todense()).ravel().astype(np.float64)
    return np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
