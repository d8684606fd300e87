"""The conic program through CVXPY and QOCO."""

from benchmarks.solvers import clarabel

NAME = "QOCO"
LADDER = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
long_on = clarabel.long_on


def solve(case, tol):
    import qoco  # noqa: F401  (so that its absence is told by name)

    limits = dict.fromkeys(("abstol", "reltol", "abstol_inacc", "reltol_inacc"), tol)
    return clarabel.conic(case, "qoco", limits | {"max_iters": 1000})
