"""Problems in numbers of a size that float64 can square: an exact change of units.

With x_i = σx_i', ρ_i = σρ_i' and w = w'/σ every robust margin stays what it is, and

    σ²P(w,b) = ½‖w'‖² + ½(σ²λ_b)b² + Σ (σ²c_i) [1 − ψ_i(w,b)]_+

is the problem of (x', ρ', σ²c, σ²λ_b), with the dual point α' = σ²α and all values σ²
times as large (theory §1: Ω is homogeneous). For σ a power of two nothing is rounded on
the way there or back, so a certificate of the one is a certificate of the other. Noise
scales τ may be divided by a power of two that the radii take on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from wideberth.problem.limits import power_of_two
from wideberth.problem.problem import Problem
from wideberth.problem.rows import as_rows

__all__ = ["EXTREME", "USUAL", "Step", "Units", "in_units"]

#: Largest entry of X, or noise scale, that is used as it is, as is its reciprocal;
#: proof: sums of fourth powers of such numbers stay within float64.
USUAL = 2.0**30
#: Reciprocal of the least weight, and largest radius in units of the largest entry of
#: X, that are used as they are; proof: w is about as small as c‖x‖, and neither its
#: square nor that of the radius, times a weight of usual size, leaves float64.
EXTREME = 2.0**200
#: Largest Σc_i, largest λ_b and reciprocal of the least λ_b: a hundredth of the largest
#: float64, since values are sums of a few such terms.
_LARGEST = float(np.finfo(np.float64).max) / 100


class Step:
    """A change of problem: its points there and back. This one changes nothing."""

    def inward(self, w, b, alpha):
        """A point of the problem given as one of the problem changed."""
        return w, b, alpha

    def outward(self, w, b, alpha):
        """A point of the problem changed as one of the problem given."""
        return w, b, alpha


@dataclass(frozen=True)
class Units(Step):
    """Rows divided by σ, noise scales by `stretch`; powers of two."""

    sigma: float = 1.0
    stretch: float = 1.0

    def inward(self, w, b, alpha):
        scale = self.sigma
        return w * scale, b, None if alpha is None else alpha * scale * scale

    def outward(self, w, b, alpha):
        return w / self.sigma, b, None if alpha is None else self.value(alpha)

    def value(self, value):
        """Dual weights or an objective."""
        return value / self.sigma / self.sigma


def in_units(problem: Problem, size: float, heaviest: float) -> tuple[Problem, Units]:
    """The problem in units that suit float64; the same object where it is in such.

    `size` is ‖X‖ (Frobenius) or infinite, `heaviest` the largest weight there will be,
    or 0 where that depends on the units.
    """
    noise, stretch = problem.noise, problem.noise.magnitude
    if 1 / USUAL <= stretch <= USUAL:
        stretch = 1.0
    entries = problem.n * problem.rows.d  # ‖X‖ may tell already that they are usual
    usual = math.sqrt(entries) / USUAL <= size <= USUAL
    usual = usual or 1 / USUAL <= _largest_entry(problem.rows.X) <= USUAL
    usual = usual and (heaviest >= 1 / EXTREME or heaviest == 0)
    sigma = 1.0 if usual else _sigma(problem.rows.X, heaviest)
    if not heaviest * sigma * sigma * problem.n < _LARGEST:
        raise ValueError(
            f"C·sample_weight reaches {heaviest:.3g} and X {sigma:.0e}: C·‖x‖² is more "
            "than float64 can hold. Lower C, or scale X down."
        )
    if sigma == stretch == 1.0:
        return problem, Units()
    rows, units = problem.rows, Units(sigma, stretch)
    if sigma != 1.0:
        rows = as_rows(rows.X.astype(np.float64) * (1 / sigma), problem.y)
    with np.errstate(over="ignore", under="ignore"):
        changed = replace(
            problem,
            rows=rows,
            weights=problem.weights * sigma * sigma,
            radii=problem.radii / sigma * stretch,
            noise=noise.divided(stretch),
            intercept=_penalty(problem.intercept, sigma),
        )
    return changed, units


def _penalty(penalty: float | None, sigma: float) -> float | None:
    if not penalty:
        return penalty
    scaled = penalty * sigma * sigma
    if not 1 / _LARGEST <= scaled <= _LARGEST:
        raise ValueError(
            f"intercept_penalty={penalty:.3g} beside X of size {sigma:.0e} is out of "
            "the range of float64: penalty·‖x‖² must lie within 1e±306. Choose 0 (a "
            "free intercept) or scale X."
        )
    return scaled


def _sigma(X, heaviest: float) -> float:
    """The power of two that makes the largest entry at most 1.

    Larger ones where the weights would vanish: then every sample is saturated, and
    entries far below 1 do no harm.
    """
    largest = _largest_entry(X)
    exponent = math.frexp(largest)[1] if largest > 0 else 0
    if heaviest > 0:
        least = math.frexp(1 / EXTREME)[1] - math.frexp(heaviest)[1]
        exponent = max(exponent, least // 2)
    return power_of_two(exponent)


def _largest_entry(X) -> float:
    values = X.data if sp.issparse(X) else X
    return max(float(values.max()), -float(values.min())) if values.size else 0.0
