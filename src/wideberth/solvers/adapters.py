"""The solvers behind one call, `solve(problem, control, start, decided)`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.noise import L2
from wideberth.problem.presolve import CACHED_ENTRIES, cap_weights
from wideberth.problem.validation import check_positive, check_whole
from wideberth.screening import Partition, Screener, carry_dual
from wideberth.screening.regions import REGIONS
from wideberth.solvers.attempts import Attempt
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.newton import solve_newton
from wideberth.solvers.registry import added_solver, solver_names

__all__ = [
    "carried_dual",
    "check_choices",
    "choose_solver",
    "first_attempt",
    "make_control",
    "run_conic",
]

#: Rows or features up to which Newton's method is quick.
_NARROW = 100
#: Σc_i‖z_i‖² for each feature up to which the coordinate solver is the quicker one.
_EASY = 1500.0
#: Share of stored entries from which on sparse data is as good as dense, and the
#: products of a Gram matrix up to which Newton's method takes about a second.
_DENSE, _SECONDS = 0.3, 2_000_000_000
#: Distance of a margin from 1 below which a warm start leaves α as it is.
_DOUBT = 1e-3

#: Largest c_i‖z_i‖² that a solver takes as it is, where it is not 1e30: squares of
#: that stay within float64, and `tests/problem/test_ends.py` holds Clarabel to 1e10.
BEARABLE = {"conic": 1e10}
#: Least relative gap that runs on small data go on to; beyond it rounding takes over.
_SMALL_AIM = 1e-9

#: A primal point and dual weights, if there are any, to start from.
Start = tuple[PrimalPoint, np.ndarray | None]


def check_choices(solver, screening) -> None:
    """Check the names of a solver and of a region."""
    names = solver_names()
    if not isinstance(solver, str) or solver not in names:
        raise ValueError(f"solver={solver!r} is not known; choose one of {names}.")
    known = isinstance(screening, str) and screening in REGIONS
    if screening is not None and not known:
        raise ValueError(
            f"screening={screening!r} is not known; choose None or one of "
            f"{sorted(REGIONS)}."
        )


def make_control(
    entries: float, tol, max_iter, max_seconds, callback, started: float
) -> Control:
    """Check the limits of a run; on small data it aims beyond its tolerance."""
    max_iter, tol = check_whole(max_iter, "max_iter"), check_positive(tol, "tol")
    if callback is not None and not callable(callback):
        raise ValueError(
            f"callback={callback!r} must be a function of one dict, or None."
        )
    deadline = np.inf
    if max_seconds is not None:
        deadline = started + check_positive(max_seconds, "max_seconds")
    aim = max(tol * tol, _SMALL_AIM) if entries <= CACHED_ENTRIES else np.inf
    return Control(tol, max_iter, deadline, callback, started=started, aim=aim)


def choose_solver(problem: Problem, along_path: bool = False) -> str:
    """The solver that "auto" stands for.

    Sweeps are cheap where single samples push w little, Σc_i‖z_i‖² says how much in
    all, and the more rows there are the fewer of them Newton's method reads. Its dense
    algebra grows with d³ and with rows × d²; where sweeping turns out to be hard, the
    coordinate solver hands over to it. Where Newton is quick anyhow it spares the
    compiler, and along a path it needs but a few steps from point to point.
    (`make bench-choice`)
    """
    rows, n, d = problem.rows, problem.n, problem.rows.d
    if not problem.noise.smooth:
        return "conic"
    if not isinstance(problem.noise, L2) or n * d <= CACHED_ENTRIES or n <= _NARROW:
        return "newton"
    dense = rows.entries() > _DENSE * n * d and d <= n
    algebra_is_quick = d <= _NARROW or (dense and n * d**2 <= _SECONDS)
    if along_path or not algebra_is_quick:
        return "newton" if algebra_is_quick else "coordinate"
    push = float(problem.weights @ rows.norms() ** 2)
    return "coordinate" if push <= _EASY * d else "newton"


def first_attempt(
    name: str, screening: str | None, start: Start | None, random_state
) -> Attempt:
    """The solver of this name, on weights that it can bear."""
    solver = _get_solver(name, screening, start, random_state)
    return Attempt(partial(cap_weights, most=BEARABLE.get(name, 1e30)), solver)


def _get_solver(
    name: str, screening: str | None, start: Start | None, random_state
) -> Callable[[Problem, Control], Outcome]:
    """The solver as a function of a problem and its limits."""
    if (added := added_solver(name)) is not None:
        return partial(added, region=screening)
    if name == "conic":
        return run_conic
    point, alpha = (None, None) if start is None else start
    if name == "newton":
        init = None if point is None else (point.w, point.b)
        return partial(
            solve_newton, region=screening, init=init, random_state=random_state
        )
    from wideberth.solvers.coordinate import solve_coordinate  # loads numba

    def sweep(problem: Problem, control: Control) -> Outcome:
        init = None
        if point is not None:
            init = carried_dual(problem, point.w, point.b, alpha)
        return solve_coordinate(
            problem, control, region=screening, init=init, random_state=random_state
        )

    return sweep


def run_conic(
    problem: Problem, control: Control, decided: Partition | None = None
) -> Outcome:
    """Solve by Clarabel, without the samples that are decided already."""
    from wideberth.solvers.conic import solve_conic

    screener = Screener(problem, None, decided)
    result = solve_conic(screener.problem)
    control.steps = result.n_iter
    alpha = screener.reduction.unfold(result.alpha)
    outcome = Outcome(problem.at(result.w, result.b), problem.dual_at(alpha))
    passes = problem.rows.passes.count
    control.record(passes, outcome.certificate, screener.counts)
    return outcome


def carried_dual(problem: Problem, w, b, alpha) -> np.ndarray:
    """A dual start from a solution, which may be that of other weights or radii.

    Where w leaves no doubt about a sample it goes to the bound it has now (theory §2,
    KKT); the others keep their α. Without one, all are taken for settled and scaled.
    """
    slack = problem.at(w, b).slack
    if alpha is None:
        settled = problem.weights * (slack > 0)
        return carry_dual(problem, settled, problem.weights).alpha
    kept = np.where(slack < -_DOUBT, 0.0, alpha)
    return np.where(slack > _DOUBT, problem.weights, kept)
