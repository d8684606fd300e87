"""The solvers behind one call, `solve(problem, control, start, decided)`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.certificate import PROVABLE
from wideberth.problem.noise import L2
from wideberth.problem.presolve import CACHED_ENTRIES
from wideberth.problem.validation import check_positive, check_whole
from wideberth.screening import Partition, Screener
from wideberth.screening.regions import REGIONS
from wideberth.solvers.attempts import CONIC_PUSH, LARGEST_PUSH
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.newton import solve_newton
from wideberth.solvers.registry import added_solver, solver_names

__all__ = [
    "carried_dual",
    "check_choices",
    "choose_solver",
    "get_solver",
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
    aim = max(tol * tol, PROVABLE) if entries <= CACHED_ENTRIES else np.inf
    return Control(tol, max_iter, deadline, callback, started=started, aim=aim)


def choose_solver(problem: Problem, along_path: bool = False) -> Adapter:
    """The solver that "auto" stands for."""
    return Adapter(_choose(problem, along_path))


def _choose(problem: Problem, along_path: bool) -> str:
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


@dataclass(frozen=True)
class Adapter:
    """A solver by its name, behind the call that all of them share."""

    name: str

    @property
    def weight_limit(self) -> float:
        """Largest c_i‖z_i‖² that the solver is handed."""
        return CONIC_PUSH if self.name == "conic" else LARGEST_PUSH

    def solve(
        self, problem: Problem, control: Control, *, start: Outcome | None = None
    ) -> Outcome:
        """Solve from the points of `start`, if there are any."""
        region, rng = control.screening, control.rng
        if (added := added_solver(self.name)) is not None:
            return added(problem, control, region=region)
        if self.name == "conic":
            return run_conic(problem, control)
        if self.name == "newton":
            init = None if start is None else (start.point.w, start.point.b)
            return solve_newton(
                problem, control, region=region, init=init, random_state=rng
            )
        from wideberth.solvers.coordinate import solve_coordinate  # loads numba

        alpha = None
        if start is not None:
            point = start.point
            alpha = carried_dual(problem, point.w, point.b, start.dual.alpha)
        return solve_coordinate(
            problem, control, region=region, init=alpha, random_state=rng
        )


get_solver = Adapter


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
    KKT); the others keep their α.
    """
    slack = problem.at(w, b).slack
    kept = np.where(slack < -_DOUBT, 0.0, alpha)
    return np.where(slack > _DOUBT, problem.weights, kept)
