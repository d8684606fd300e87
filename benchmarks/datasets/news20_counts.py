"""20 newsgroups as `news20`, raw word counts: row norms from 1 to 621."""

import numpy as np

from benchmarks.datasets import libsvm

C, RADIUS = 1.0, 0.02


def load():
    X, classes = libsvm("news20.bz2")
    return X, np.where(classes <= 10, 1, -1)
