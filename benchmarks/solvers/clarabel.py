"""The conic program through CVXPY and Clarabel."""

from benchmarks.solvers import over

NAME = "Clarabel"
LADDER = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)


def long_on(X):
    return over(X, 400_000)


def solve(case, tol):
    import clarabel  # noqa: F401  (so that its absence is told by name)

    limits = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tol)
    return conic(case, "clarabel", limits)


def conic(case, backend, options):
    """Build the problem and hand it to a backend, as `wideberth[conic]` does."""
    from wideberth.problem import Problem
    from wideberth.solvers.conic import solve_conic

    intercept = 0.0 if case.intercept else None
    problem = Problem.from_data(
        case.X, case.y, C=case.C, radius=case.radius, intercept=intercept
    )
    found = solve_conic(problem, backend=backend, **options)
    return (found.w, found.b) if case.intercept else found.w
