"""The path with noise."""

from benchmarks.tasks import path

NOISE = True
cases = path.cases
