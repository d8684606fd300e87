"""Problems all of whose rows matter: what is left of data too large to hold.

In NumPy the rounds of `newton.py` run on them. In other namespaces the engine runs
alone, on all rows: where these live, products are nearly free.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.arrays import host, is_foreign, like, namespace
from wideberth.problem.rows import as_rows
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.interior import InteriorPoint, Start
from wideberth.solvers.newton import Guess, Level, ridge_start, solve_newton
from wideberth.solvers.polish import polished
from wideberth.solvers.rescue import affordable, rescued

__all__ = ["solve_again", "solve_near", "solve_sample", "solve_whole"]

_MOST_STEPS = 60
#: Steps on groups of rows, whose weights differ much: covtype's class 3 takes 100.
_STEPS_ON_GROUPS = 200


def solve_sample(problem: Problem, control: Control, random_state=None) -> Outcome:
    """Solve a problem of which nothing is known yet."""
    if is_foreign(problem.y):
        return _run(problem, control, ridge_start(problem))
    return solve_newton(problem, control, region=None, random_state=random_state)


def solve_whole(problem: Problem, control: Control) -> Outcome:
    """Solve a problem all of whose rows matter, from nothing, by the engine alone."""
    return _run(problem, control, ridge_start(problem), _STEPS_ON_GROUPS)


def solve_near(problem: Problem, control: Control, w: np.ndarray, b: float) -> Outcome:
    """Solve a problem all of whose rows are near the margin at (w, b)."""
    if not is_foreign(problem.y):
        everywhere = Guess(w, b, lambda part: np.full(part.n, np.inf))
        return Level(problem, control, None).solve(everywhere)
    point = problem.at(w, b)
    spread = max(float(namespace(point.slack).mean(point.slack**2)) ** 0.5, 1e-9)
    share = 0.5 + point.slack / (3 * spread)
    return _run(problem, control, Start(w, b, point.margins, share))


def solve_again(problem: Problem, control: Control, found: Outcome) -> Outcome:
    """What was found, or where it proves less than `tol` the best of second attempts.

    These are for few rows, which come to NumPy for them from wherever they live.
    """
    if problem.certificate(found.point, found.dual).proves(control.tol):
        return found
    if not is_foreign(problem.y):
        return rescued(problem, control, polished(problem, found, control.tol))
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


def _run(
    problem: Problem, control: Control, start: Start, most: int = _MOST_STEPS
) -> Outcome:
    engine = InteriorPoint(problem, start)
    for _ in range(most):
        if engine.relative_gap <= control.tol or control.exhausted():
            break
        control.steps += 1
        if not engine.step():
            break
    return Outcome(problem.at(engine.w, engine.b), problem.dual_at(engine.alpha))
