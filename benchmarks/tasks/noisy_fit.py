"""A single fit with noise."""

from benchmarks.tasks import Case

NOISE = True


def cases(X, y, C, radius):
    return [Case(X, y, C, radius)]
