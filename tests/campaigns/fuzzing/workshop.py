"""Where cases are written to, and what is done with data that was opened."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

import numpy as np

from fuzzing import Violation
from wideberth._solve import solve
from wideberth.data.samples import Terms
from wideberth.noise import L2

__all__ = ["PLACE", "check_solution", "look_through"]

#: A folder of this process alone, in memory where the system has such a place.
_FOLDER = tempfile.TemporaryDirectory(
    prefix="wideberth-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None
)
PLACE = Path(_FOLDER.name) / "data"


def look_through(source, solve_it: bool = False) -> None:
    """Read all of a source as a fit would."""
    if source.d < 1:
        raise Violation(f"{source.d} features")
    if source.d > 1000:
        solve(
            source, max_iter=1, fit_intercept=False
        )  # must be refused, or be done, in little memory
        return
    terms = Terms(source.d, 1.0, 0.0, L2(), None)
    rows = 0
    for chunk in source.chunks():
        rows += terms.problem(chunk, check=True).n
    for labels, _ in source.labels():
        np.asarray(labels)
    if source.n is not None and rows != source.n:
        raise Violation(f"{rows} rows of {source.n}")
    if solve_it:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_solution(solve(source, max_iter=50, fit_intercept=False))


def check_solution(found) -> None:
    """An answer must be finite, and its gap one that a true lower bound can have."""
    numbers = [found.w, [found.b, found.primal, found.gap]]
    if not all(np.isfinite(part).all() for part in numbers):
        raise Violation(f"not finite: {found}")
    if found.gap < -found.certificate.rounding - 1e-9 * abs(found.primal):
        raise Violation(f"a negative gap: {found}")
