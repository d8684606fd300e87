"""One file per task: `cases(X, y, C, radius)` says which problems are to be solved.

`NOISE` says whether the data set's radius is used; without, the radius is 0. A task is
one call for the clock, and as accurate as the worst of its cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Case"]


@dataclass(frozen=True)
class Case:
    """One robust SVM: ½‖w‖² + C Σ[1 − y_i(⟨w,x_i⟩ + b) + radius·‖w‖]_+ .

    There is no b, or a free one with `intercept`. `optimum` is what the reference knows
    of the solution ("norm" of w, "pull" Σα_iρ_i), for solvers that must be told.
    """

    X: Any
    y: np.ndarray
    C: float
    radius: float = 0.0
    intercept: bool = False
    optimum: dict | None = None
