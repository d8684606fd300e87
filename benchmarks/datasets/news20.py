"""20 newsgroups, classes 1–10 against 11–20, unit rows: 15 935×62 061, sparse."""

import numpy as np

from benchmarks.datasets import libsvm, unit_rows

C, RADIUS = 1.0, 0.02


def load():
    X, classes = libsvm("news20.bz2")
    return unit_rows(X), np.where(classes <= 10, 1, -1)
