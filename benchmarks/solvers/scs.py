"""The conic program through CVXPY and SCS, its own defaults but for the accuracy."""

from benchmarks.solvers import clarabel

NAME = "SCS"
LADDER = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
long_on = clarabel.long_on
#: Never the reason to stop; the clock is.
ITERATIONS = 10_000_000


def solve(case, tol, **options):
    import scs  # noqa: F401  (so that its absence is told by name)

    limits = {"eps_abs": tol, "eps_rel": tol, "max_iters": ITERATIONS}
    return clarabel.conic(case, "scs", options | limits)
