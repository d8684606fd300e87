"""Ten values of C, from a hundredth of the usual one to ten times as much."""

import numpy as np

from benchmarks.tasks import Case

NOISE = False


def cases(X, y, C, radius):
    return [Case(X, y, float(c), radius) for c in C * np.geomspace(0.01, 10, 10)]
