"""A single fit without noise, with a free intercept, as libsvm has it."""

from benchmarks.tasks import Case

NOISE = False


def cases(X, y, C, radius):
    return [Case(X, y, C, intercept=True)]
