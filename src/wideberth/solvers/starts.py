"""Warm starts: points of one problem as points of another on the same rows."""

from __future__ import annotations

import numpy as np

from wideberth.problem import PrimalPoint, Problem
from wideberth.solvers.base import Outcome


def carried(problem: Problem, point: PrimalPoint, alpha: np.ndarray) -> Outcome:
    """Points of a problem on the same rows, as points of this one.

    Margins are known, so that the primal point reads no row. α is cut to the weights.
    """
    there = problem.at(point.w, point.b, point.margins)
    dual = problem.dual_at(np.minimum(alpha, problem.weights), near=point.w)
    return Outcome(there, dual)
