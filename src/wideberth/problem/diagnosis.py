"""Which quantity of a problem to blame where float64 does not prove an answer."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from wideberth.noise.sets import Sets
from wideberth.problem.arrays import host
from wideberth.problem.certificate import PROVABLE
from wideberth.problem.limits import EPS
from wideberth.problem.presolve import Presolved
from wideberth.problem.problem import Problem


def out_of_range(problem: Problem, presolved: Presolved) -> str:
    """Which quantity is too large or too small beside the others; what to do."""
    norms, used, noise = problem.rows.norms(), problem.weights > 0, problem.noise
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
    blurred = blur(noise.sets, problem.rows.d) if widest > 0 else 0.0
    causes = {
        f"the features of X differ in size by a factor of {spread:.1e}: scale them to "
        "similar size": spread,
        f"sample_weight spans a factor of {span:.1e}: bring the weights closer "
        "together": span,
        f"radius reaches {radius:.1e} beside entries of X up to {largest:.1e}: lower "
        "the largest radius": widest,
        f"intercept_penalty is {faint:.1e} times smaller than the weights: choose 0, a "
        "free intercept": faint,
        noise.sets.remedy: blurred,
        f"C·sample_weight·‖x‖² reaches {push:.1e}: lower C, or scale X down": push,
    }
    factor, words = max((factor, words) for words, factor in causes.items())
    if factor * EPS < PROVABLE:  # of float64's digits it leaves those of a proof
        return "raise tol, or scale the features of X"
    return words


def blur(sets: Sets, n_features: int) -> float:
    """Roundings by which support functions may be off, as a share of their size.

    About d^1.5 for a covariance, or 10⁸ where it leaves open what it is; 1 where there
    is no noise to compare with.
    """
    errors, sizes = sets.axes_errors(), sets.lipschitz(n_features)
    errors, sizes = (np.atleast_1d(host(part)) for part in (errors, sizes))
    shares = np.divide(
        errors, sizes, out=np.full(sizes.shape, 2.0**-53), where=sizes > 0
    )
    return float(np.where(errors > 0, shares, 0.0).max(initial=0.0)) / 2.0**-53


def _column_sizes(X) -> np.ndarray:
    """Largest absolute value of every column."""
    if sp.issparse(X):
        return np.asarray(abs(X).max(axis=0).todense()).ravel().astype(np.float64)
    return np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
