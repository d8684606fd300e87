"""A single fit without noise."""

from benchmarks.tasks import Case

NOISE = False


def cases(X, y, C, radius):
    return [Case(X, y, C)]
