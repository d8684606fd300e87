"""`wideberth.solve` with the Newton solver."""

from benchmarks.solvers import wideberth_auto

NAME = "wideberth, newton"
LADDER = wideberth_auto.LADDER


def long_on(X):
    return "over 2,000 rows and features" if min(X.shape) > 2_000 else None


def solve(case, tol):
    return wideberth_auto.solve(case, tol, "newton")


def solve_all(cases, tol):
    return wideberth_auto.solve_all(cases, tol, "newton")
