"""`wideberth.solve` with the coordinate solver."""

from benchmarks.solvers import wideberth_auto

NAME = "wideberth, coordinate"
LADDER = wideberth_auto.LADDER


def solve(case, tol):
    return wideberth_auto.solve(case, tol, "coordinate")


def solve_all(cases, tol):
    return wideberth_auto.solve_all(cases, tol, "coordinate")
