"""Second attempts on the rows gathered from data too large to hold."""

from __future__ import annotations

from dataclasses import replace

from wideberth.problem import Problem
from wideberth.problem.arrays import host, is_foreign, like
from wideberth.problem.rows import as_rows
from wideberth.solvers.attempts import affordable, prove
from wideberth.solvers.base import Control, Outcome

__all__ = ["solve_again"]


def solve_again(problem: Problem, control: Control, found: Outcome) -> Outcome:
    """What was found, or where it proves less than `tol` the best of second attempts.

    These are for few rows, which come to NumPy for them from wherever they live.
    """
    if problem.certificate(found.point, found.dual).proves(control.tol):
        return found
    if not is_foreign(problem.y):
        return prove(problem, control, found)
    if not affordable(problem):
        return found
    here = replace(
        problem,
        rows=as_rows(host(problem.rows.X), host(problem.y)),
        weights=host(problem.weights),
        radii=host(problem.radii),
    )
    start = Outcome(
        here.at(found.point.w, found.point.b), here.dual_at(host(found.dual.alpha))
    )
    best = solve_again(here, control, start)
    alpha = like(best.dual.alpha, problem.weights)
    return Outcome(problem.at(best.point.w, best.point.b), problem.dual_at(alpha))
