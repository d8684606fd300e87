"""Problems that solvers and attempts at a proof solve in place of the one given.

They have the same solution, or one that tells it, and suit float64 or a solver better.
What is found is evaluated on the original, so nothing here bears on correctness.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from wideberth.problem.layouts import DenseRows
from wideberth.problem.presolve import USUAL, Presolved
from wideberth.problem.problem import Problem


def span_of_rows(problem: Problem) -> Presolved:
    """The problem in the span of its rows, where w* must lie under ℓ2 noise.

    ‖w‖ and ⟨w,x_i⟩ are all that matters there, so wide data of n rows becomes n×n.
    Folded samples may pull out of the span: with them, nothing changes.
    """
    wide = problem.n < problem.rows.d and problem.folded is None
    if not wide or not problem.noise.isotropic:
        return Presolved(problem)
    rotated = problem.rows.rotated
    rows = DenseRows(rotated.coordinates, problem.y, problem.rows.passes)
    changed = replace(problem, rows=rows)
    return Presolved(changed, turned=rotated.inward, turned_back=rotated.outward)


def cap_weights(problem: Problem, most: float) -> Problem:
    """The problem with no c_i‖z_i‖² beyond `most`; the same object if none is.

    Where the optimum has α_i < c_i for the largest weights, they may as well be
    smaller: the problem has the same solution, and its dual points are feasible.
    """
    heaviest = float(problem.weights.max(initial=0.0))
    if heaviest * problem.rows.d * USUAL**2 <= most:
        return problem  # entries are at most `USUAL`: no pass is needed to see it
    largest = float(problem.rows.norms().max(initial=0.0))
    cap = most / largest / largest if largest > 0 else np.inf
    if heaviest <= cap:
        return problem
    return problem.with_weights(np.minimum(problem.weights, cap))


def centre_columns(problem: Problem) -> Problem:
    """The problem with columns of mean 0, where a free intercept makes up for it.

    The same w and α in exact arithmetic, and far better conditioned where columns
    hardly vary: dates, or anything constant.
    """
    X = problem.rows.X
    X = X.toarray() if sp.issparse(X) else X
    means = X.mean(axis=0, dtype=np.float64)
    rows, fold = DenseRows(X - means, problem.y, problem.rows.passes), problem.folded
    if fold is not None:  # Σc_iy_i(x_i − means)
        fold = replace(fold, d=fold.d - fold.balance * means)
    return replace(problem, rows=rows, folded=fold)
