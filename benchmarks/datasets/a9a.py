"""Adult, one-hot: 32 561×123, sparse."""

from benchmarks.datasets import libsvm

C, RADIUS = 0.1, 0.05


def load():
    X, y = libsvm("a9a.bz2")
    return X, y.astype(int)
