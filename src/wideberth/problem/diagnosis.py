"""Which quantity of a problem to blame where float64 does not prove an answer."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from wideberth.problem.arrays import host
from wideberth.problem.certificate import PROVABLE
from wideberth.problem.limits import EPS
from wideberth.problem.presolve import Presolved
from wideberth.problem.problem import Problem
from wideberth.problem.shape import Noise

#: What to do where a covariance leaves its directions without noise open.
BLURRED = (
    "noise is a covariance whose own rounding blurs the directions without noise: give "
    "a factor of it (wideberth.Correlated.from_factor)"
)
#: The same of a covariance per sample.
_BLURRED_SETS = (
    "X_err holds covariances that are singular within rounding, which leaves the "
    "directions without errors open: give standard errors, lower radius, or add a "
    "small variance to their diagonals"
)


def out_of_range(problem: Problem, presolved: Presolved) -> str:
    """Which quantity is too large or too small beside the others; what to do."""
    norms, used = problem.rows.norms(), problem.weights > 0
    weights = problem.weights[used]
    push = float((weights * norms[used] ** 2).max(initial=0.0))
    columns = _column_sizes(problem.rows.X)
    columns = columns[columns > 0]
    spread = float(columns.max() / columns.min()) if columns.size else 1.0
    span = float(weights.max() / weights.min()) if weights.size else 1.0
    largest = float(columns.max(initial=0.0)) * presolved.sigma
    widest = float(problem.radii.max()) if presolved.cut is None else np.inf
    radius = presolved.cut or presolved.radius(widest)
    faint = float(weights.sum()) / problem.intercept if problem.intercept else 0.0
    causes = {
        f"the features of X differ in size by a factor of {spread:.1e}: scale them to "
        "similar size": spread,
        f"sample_weight spans a factor of {span:.1e}: bring the weights closer "
        "together": span,
        f"radius reaches {radius:.1e} beside entries of X up to {largest:.1e}: lower "
        "the largest radius": widest,
        f"intercept_penalty is {faint:.1e} times smaller than the weights: choose 0, a "
        "free intercept": faint,
        BLURRED if problem.shared else _BLURRED_SETS: _blur_of(problem),
        f"C·sample_weight·‖x‖² reaches {push:.1e}: lower C, or scale X down": push,
    }
    factor, words = max((factor, words) for words, factor in causes.items())
    if factor * EPS < PROVABLE:  # of float64's digits it leaves those of a proof
        return "raise tol, or scale the features of X"
    return words


def _blur_of(problem: Problem) -> float:
    """Roundings by which the noise of a sample may be off, as a share of its reach."""
    if problem.shared:
        return blur(problem.noise)
    reach = problem.sample_noise.lipschitz(problem.rows.d)
    shares = problem.axes_error() / np.where(reach > 0, reach, 1.0)
    return float(host(shares).max(initial=0.0)) / 2.0**-53


def blur(noise: Noise) -> float:
    """Roundings by which Ω may be off: about d^1.5, or 10⁸ where Σ leaves it open."""
    if noise.support_error == 0:
        return 0.0
    largest = noise.lipschitz(1)  # the largest scale, or 1 where there are none
    return noise.support_error / largest / 2.0**-53 if largest > 0 else 1.0


def _column_sizes(X) -> np.ndarray:
    """Largest absolute value of every column."""
    if sp.issparse(X):
        return np.asarray(abs(X).max(axis=0).todense()).ravel().astype(np.float64)
    return np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
