"""Where the interior-point method starts, inside all bounds.

From a point that is known, or from least squares on the slacks, of which one product
with all rows and one factor tell; t starts beyond Ω(w) by the room of the cone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from wideberth.problem.limits import EPS, LITTLE, TINY
from wideberth.solvers.newton.algebra import cholesky
from wideberth.solvers.newton.extended_rows import ExtendedRows
from wideberth.solvers.newton.settings import SETTINGS


@dataclass(frozen=True)
class Start:
    """Where to start: a primal point with its margins Zw, and shares α/c."""

    w: np.ndarray
    b: float
    margins: np.ndarray
    share: np.ndarray


def least_squares(rows: ExtendedRows) -> Start:
    """Minimise ½‖w‖² + ½λ_b b² + ¼Σc_i u_i² without noise, whose α is ½c_i u_i.

    From nothing where weights or features are out of all proportion.
    """
    problem, d, half = rows.problem, rows.problem.rows.d, 0.5 * rows.c
    matrix, right = (
        rows.curvature(half),
        rows.folded + rows.combine(half * problem.targets),
    )
    matrix.reshape(-1)[:: matrix.shape[0] + 1] += rows.penalty
    if rows.noisy:  # t stays 0
        matrix[d, :] = matrix[:, d] = right[d] = 0.0
        matrix[d, d] = 1.0
    if matrix[-1, -1] == 0:  # no row has a weight: b stays 0
        matrix[-1, -1] = 1.0
    factor = cholesky(matrix)
    x = right if factor is None else lapack.dpotrs(factor, right, lower=1)[0]
    b = 0.0 if problem.intercept is None else float(x[-1])
    x[d:] = 0.0
    margins = rows.products(x)
    if factor is None or not rows.xp.all(rows.xp.isfinite(margins)):
        x, b, margins = np.zeros_like(x), 0.0, 0.0 * rows.c
    facets = rows.noisy and not problem.noise.smooth
    if facets and problem.n < d:  # all rows on the margin leave no room
        x, b, margins = 0.5 * x, 0.5 * b, 0.5 * margins
    return Start(x[:d], b, margins, 0.5 * (problem.targets - margins - problem.y * b))


def cone_room(rows: ExtendedRows, distance: float, omega: float) -> float:
    """How far inside the cone to start, relative to Ω(w).

    As far as makes t, whose weight is Σα_iρ_i, count for as much as all the rows,
    which start `distance` inside their bounds; a tenth at most if Ω is smooth, and
    each facet of other shapes for no more than ten rows, and the noise that is lost
    in rounding for nothing.
    """
    problem, c = rows.problem, rows.c
    weight = 0.5 * float(c @ problem.radii) + problem.outside.scale
    total = 0.5 * distance * float(rows.xp.sum(c))
    most = LITTLE
    if not problem.noise.smooth:
        most = 1 / EPS
        facets = 2 * problem.noise.shape.degrees(problem.rows.d)
        total *= min(facets / (LITTLE * max(problem.n, 1)), 1.0)
    room = total / max(weight * omega, TINY)
    return min(max(room, SETTINGS.least_distance), most)
