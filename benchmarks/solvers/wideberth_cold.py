"""`wideberth.solve` for every point of a path by itself: what a path spares."""

from benchmarks.solvers import wideberth_auto

NAME = "wideberth, cold fits"
LADDER = wideberth_auto.LADDER
solve = wideberth_auto.solve


def refuses(cases):
    return "a single fit starts cold anyway" if len(cases) == 1 else None
