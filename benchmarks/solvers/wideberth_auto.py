"""`wideberth.solve` and `wideberth.path` as they are: the yardstick of all ratios."""

from itertools import groupby

NAME = "wideberth"
LADDER = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 1e-7)


def solve(case, tol, solver="auto"):
    from wideberth import solve

    found = solve(
        case.X,
        case.y,
        C=case.C,
        radius=case.radius,
        fit_intercept=case.intercept,
        solver=solver,
        tol=tol,
        random_state=0,
        quiet=True,
    )
    return (found.w, found.b) if case.intercept else found.w


def solve_all(cases, tol, solver="auto"):
    if len(cases) == 1:
        return [solve(cases[0], tol, solver)]
    from wideberth import path

    found = []
    for _, group in groupby(cases, key=lambda case: id(case.X)):
        along = list(group)
        models = path(
            along[0].X,
            along[0].y,
            Cs=[case.C for case in along],
            radii=[along[0].radius],
            solver=solver,
            tol=tol,
            random_state=0,
            quiet=True,
            fit_intercept=False,
        )
        found += list(models.coefs[0])
    return found
