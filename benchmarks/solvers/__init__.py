"""One file per solver.

    NAME        as the tables show it
    LADDER      its own tolerances, or whatever it calls them, loosest first
    solve(case, tol)        returns w, or (w, b) where the case has an intercept
    solve_all(cases, tol)   optional: the same for all cases of a task at once
    refuses(cases)          optional: why it cannot do such a task, or None
    long_on(X)              optional: why the short benchmark does without it on such
                            data, or None

Packages are imported inside `solve`, so that the first call in a fresh process pays for
them as a user's first call does. What goes wrong is shown: an ImportError as "not
installed", any other exception as "failed", each with its own words.
"""

from __future__ import annotations

__all__ = ["no_intercept", "no_noise", "over"]


def over(X, most: int) -> str | None:
    """The reason of solvers that take long on more than so many stored numbers."""
    entries = int(X.indptr[-1]) if hasattr(X, "indptr") else X.size
    return f"over {most:,} stored numbers" if entries > most else None


def no_noise(cases) -> str | None:
    """The reason of solvers that know no noise."""
    return "has no noise model" if any(case.radius for case in cases) else None


def no_intercept(cases) -> str | None:
    """The reason of solvers whose intercept is penalised, or not there."""
    free = any(case.intercept for case in cases)
    return "has no free intercept" if free else None
