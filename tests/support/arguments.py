"""Data, and every road that takes it in memory, for tests of arguments."""

import numpy as np
import pandas as pd

from wideberth import RobustLinearSVC, RobustLinearSVCCV, path, solve
from wideberth._screen import screen
from wideberth.problem import Problem

N, D = 60, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, 1, -1)
POSITIVE = Y > 0
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
START = np.ones(D), np.zeros(N)
FITTED = RobustLinearSVC().fit(X, Y)

#: Every road that takes data in memory, as a function of X and y.
ROADS = {
    "solve": lambda X, y: solve(X, y, fit_intercept=False),
    "path": lambda X, y: path(X, y, Cs=[1.0], fit_intercept=False),
    "screen": lambda X, y: screen(X, y, *START, C=1.0, radius=0.1),
    "Problem": lambda X, y: Problem.from_data(X, y),
    "RobustLinearSVC": lambda X, y: RobustLinearSVC().fit(X, y),
    "RobustLinearSVCCV": lambda X, y: RobustLinearSVCCV(Cs=[1.0]).fit(X, y),
}
IN_MEMORY = [name for name in ROADS if name not in ("solve", "RobustLinearSVC")]


def with_gap(values):
    """Nullable, the second value missing."""
    column = pd.Series(values).astype("Int64")
    column[1] = pd.NA
    return column


def masked(values):
    mask = np.zeros(np.shape(values), dtype=bool)
    mask.flat[4] = True
    return np.ma.masked_array(values, mask=mask)
