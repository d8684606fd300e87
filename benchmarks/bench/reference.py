"""The optimum of every problem, with proof, and the one function that judges solvers.

References are certified to a relative gap of 1e-10, or as far as rounding lets them,
and kept on disk: the lower bound that the gap proves stays true whoever found it.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from benchmarks.bench.settings import CACHE, Setting
from benchmarks.tasks import Case

__all__ = ["GOAL", "optima", "suboptimality", "told"]

#: Relative gap asked of a reference, and the seconds it may take.
GOAL, _SECONDS = 1e-10, 100.0
#: Most rows or features, whichever are fewer, with which Newton's method is tried: a
#: step of it cannot be stopped.
_DENSE = 3000


def optima(setting: Setting, cases: list[Case]) -> list[dict]:
    """What is known of the optimum of each case: see `_solve`."""
    source = CACHE / "references" / f"{setting.key}.json"
    if source.exists():
        return json.loads(source.read_text())
    found = [_solve(case) for case in cases]
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(json.dumps(found))
    return found


def _solve(case: Case) -> dict:
    """A lower bound on the optimum, the relative gap it has, ‖w*‖ and Σα_iρ_i."""
    from wideberth import solve

    options = {"C": case.C, "radius": case.radius, "fit_intercept": case.intercept}
    options |= {"max_seconds": _SECONDS, "random_state": 0, "quiet": True}
    runs, solvers = [], ["auto", "newton", "coordinate"]
    if min(case.X.shape) > _DENSE:
        solvers.remove("newton")
    for solver in solvers:
        runs.append(solve(case.X, case.y, tol=GOAL, solver=solver, **options))
        if runs[-1].relative_gap <= GOAL:
            break
    best, bound = min(runs, key=lambda r: r.primal), max(runs, key=lambda r: r.dual)
    return {
        "lower": bound.dual,
        "gap": (best.primal - bound.dual) / best.primal,
        "norm": float(np.linalg.norm(best.w)),
        "pull": case.radius * float(bound.alpha.sum()),
    }


def told(cases: list[Case], known: list[dict]) -> list[Case]:
    """The cases, with what the reference knows."""
    pairs = zip(cases, known, strict=True)
    return [replace(case, optimum=optimum) for case, optimum in pairs]


def suboptimality(case: Case, answer) -> float:
    """(P(w) − P*)/P*, at most: the objective of all solvers, evaluated by us.

    A solver that returns no numbers, or none that are finite, is infinitely far off.
    """
    from wideberth.problem import Problem

    w, b = answer if case.intercept else (answer, None)
    w = np.asarray(w, dtype=np.float64).ravel()
    if w.size != case.X.shape[1] or not np.isfinite(w).all():
        return float("inf")
    intercept = 0.0 if case.intercept else None
    problem = Problem.from_data(
        case.X, case.y, C=case.C, radius=case.radius, intercept=intercept
    )
    lower = case.optimum["lower"]
    return (problem.at(w, b).value - lower) / lower
