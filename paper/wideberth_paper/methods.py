"""The methods set side by side, each behind one call: data in, `Fit` out.

All start from X and y and build what they need themselves, so that a clock around the
call measures the same thing for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wideberth._solve import solve
from wideberth.problem import Problem
from wideberth.screening import Partition
from wideberth.solvers.conic import PAPER_OPTIONS, solve_conic
from wideberth_paper.algorithm1 import Fit, run_algorithm1

#: Relative gap that `wideberth.solve` is asked to certify.
TOLERANCE = 1e-6

#: Clarabel's own defaults; `solve_conic` would ask for more.
_CLARABEL_DEFAULTS = {
    "tol_gap_abs": 1e-8,
    "tol_gap_rel": 1e-8,
    "tol_feas": 1e-8,
    "tol_ktratio": 1e-6,
}


@dataclass(frozen=True)
class Method:
    """A method and how the report speaks of it."""

    label: str
    about: str
    run: Callable[[np.ndarray, np.ndarray, float, float], Fit]
    #: Rough cost against the others, for the progress display alone.
    effort: float


def _conic(backend: str, options: dict):
    def run(X, y, C, radius) -> Fit:
        problem = Problem.from_data(X, y, C=C, radius=radius)
        result = solve_conic(problem, backend=backend, **options)
        return Fit(result.w, result.alpha)

    return run


def _algorithm1(variant: str):
    def run(X, y, C, radius) -> Fit:
        return run_algorithm1(Problem.from_data(X, y, C=C, radius=radius), variant)

    return run


def _wideberth(region: str | None):
    def run(X, y, C, radius) -> Fit:
        found = solve(
            X,
            y,
            C=C,
            radius=radius,
            screening=region,
            tol=TOLERANCE,
            random_state=0,
            fit_intercept=False,
        )
        if region is None:
            return Fit(found.w, found.alpha)
        unknown = np.full(found.alpha.size, np.nan)
        partition = Partition(found.removed, found.saturated, unknown, unknown)
        return Fit(found.w, found.alpha, partition)

    return run


BASELINE = "scs"
METHODS = {
    "scs": Method(
        "SCS",
        "The paper's baseline: the conic program through CVXPY and SCS, eps 1e-6, "
        "with the paper's options.",
        _conic("scs", PAPER_OPTIONS),
        3.0,
    ),
    "clarabel": Method(
        "Clarabel",
        "The same conic program through CVXPY and Clarabel, at its default tolerances.",
        _conic("clarabel", _CLARABEL_DEFAULTS),
        2.0,
    ),
    "as_published": Method(
        "Algorithm 1, as published",
        "As in the authors' code: rounds train on F alone, gap over F alone; the last "
        "solve is stopped at eps 1e-2 and 500 iterations.",
        _algorithm1("as_published"),
        3.0,
    ),
    "as_printed": Method(
        "Algorithm 1, as printed",
        "The text taken literally: rounds train on F alone, gap over all samples; the "
        "last solve goes to eps 1e-6.",
        _algorithm1("as_printed"),
        6.0,
    ),
    "repaired": Method(
        "Algorithm 1, repaired",
        "S stays in the problem as one linear and one norm term; the last solve goes "
        "to eps 1e-6.",
        _algorithm1("repaired"),
        4.0,
    ),
    "wideberth": Method(
        "wideberth, no screening",
        f"wideberth.solve to a certified relative gap of {TOLERANCE:g}.",
        _wideberth(None),
        0.1,
    ),
    "wideberth_gap": Method(
        "wideberth, GAP ball",
        "The same, screening with the paper's region.",
        _wideberth("gap"),
        0.1,
    ),
    "wideberth_midpoint": Method(
        "wideberth, midpoint ball",
        "The same, screening with the ball about the midpoint of w and w(α).",
        _wideberth("midpoint"),
        0.1,
    ),
    "wideberth_ellipsoid": Method(
        "wideberth, ellipsoid",
        "The same, screening with the robust ellipsoid; the default.",
        _wideberth("ellipsoid"),
        0.1,
    ),
}
#: The methods of this library, all of which must be right.
OURS = tuple(key for key in METHODS if key.startswith("wideberth"))
