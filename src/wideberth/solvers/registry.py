"""The solvers there are, by name, and the one that "auto" stands for."""

from __future__ import annotations

from math import inf

from wideberth.problem import Problem
from wideberth.problem.limits import CACHED_ENTRIES, FEW_FEATURES, MOSTLY_ZERO
from wideberth.screening.regions import REGIONS
from wideberth.solvers.base import Solver
from wideberth.solvers.columns import FewColumns
from wideberth.solvers.conic import Conic
from wideberth.solvers.cost import Cost
from wideberth.solvers.newton import Newton
from wideberth.solvers.sampling import sample_size
from wideberth.solvers.small import Small, is_small
from wideberth.solvers.sweeps import Coordinate, SweepsFirst

#: The solvers that have names, in the order in which "auto" asks whether they fit.
_BUILT_IN: dict[str, Solver] = {
    solver.name: solver for solver in (Newton(), Coordinate(), FewColumns(), Conic())
}
#: What "auto" takes for small problems, "newton" to users.
_SMALL = Small()
#: What "auto" takes under Euclidean noise, "coordinate" to users.
_SWEEPS = SweepsFirst()

#: Largest number of entries of a table at which Newton's method is taken at once: it
#: takes 0.1 ms there, about as much as sweeps, and gives all digits (150×4).
_TINY = 2_000
#: Largest Σc_i‖z_i‖² for each feature at which sweeps are taken for a path: at the
#: largest C of ten, on 18 tables, radii 0 to 0.1, bounds of 300 to 800 take 12 to 14 %
#: longer than the better of both solvers, none at all 20 % and 10 000 15 %.
_EASY = 400.0
#: Largest cost of a Gram matrix, in entries read, at which it is still quick: it takes
#: 0.1 s (20 000×316 and 200 000×100, one thread), and a solution a dozen of them.
_QUICK = 200_000_000


def get_solver(solver: str | Solver) -> Solver:
    """The solver of this name; a solver is taken as it is."""
    if isinstance(solver, Solver):
        return solver
    if isinstance(solver, str) and solver in _BUILT_IN:
        return _BUILT_IN[solver]
    raise ValueError(
        f"solver={solver!r} is not known; choose one of {('auto', *_BUILT_IN)}, or "
        "give an object of a subclass of wideberth.solvers.base.Solver."
    )


def check_choices(solver, screening) -> None:
    """Check the names of a solver and of a region."""
    if not isinstance(solver, str) or solver != "auto":
        get_solver(solver)
    known = isinstance(screening, str) and screening in REGIONS
    if screening is not None and not known:
        raise ValueError(
            f"screening={screening!r} is not known; choose None or one of "
            f"{sorted(REGIONS)}."
        )


def choose_solver(
    problem: Problem,
    solver: str | Solver = "auto",
    along_path: bool = False,
) -> Solver:
    """The solver asked for; "auto" is the first of these that fits.

    1. Tiny problems: `Small`.
    2. Euclidean noise, not along a path: sweeps, and then Newton's method if need be.
       Other small problems: `Small`.
    3. Wide data under boxes: few columns, or Newton's method if most of them count.
    4. Paths that are easy to sweep: sweeps.
    5. The first solver that supports the problem: as a rule Newton's method.
    """
    if not isinstance(solver, str) or solver != "auto":
        return get_solver(solver)
    small = is_small(problem)
    if small and problem.n * problem.rows.d <= _TINY:
        return _SMALL
    if not along_path and _SWEEPS.supports(problem) is None:
        return _SWEEPS
    if small:
        return _SMALL
    columns = _BUILT_IN["columns"]
    many = problem.rows.d > FEW_FEATURES
    if many and _is_wide(problem) and columns.supports(problem) is None:
        return columns if _leaves_out_many(problem) else _BUILT_IN["newton"]
    if problem.n * problem.rows.d > CACHED_ENTRIES and problem.n > FEW_FEATURES:
        coordinate = _BUILT_IN["coordinate"]
        if coordinate.supports(problem) is None and _easy_to_sweep(problem):
            return coordinate
    reasons = []
    for candidate in _BUILT_IN.values():
        reason = candidate.supports(problem)
        if reason is None:
            return candidate
        reasons.append(reason)
    raise ValueError(" ".join(reasons))


def _is_wide(problem: Problem) -> bool:
    """Whether there are more features than rows, or most entries are 0."""
    rows, n, d = problem.rows, problem.n, problem.rows.d
    return d > n or rows.entries() <= MOSTLY_ZERO * n * d


def _leaves_out_many(problem: Problem) -> bool:
    """Whether boxes may leave out many features, or dense algebra is too slow.

    Columns without noise, as one-hot ones beside measurements, are not left out.
    """
    d = problem.rows.d
    noise = problem.noise
    noisy = not noise.proportional or noise.shape.degrees(d) > FEW_FEATURES
    return noisy or _gram_cost(problem) > 1


def _easy_to_sweep(problem: Problem) -> bool:
    """Whether sweeps over the samples are quicker than Newton's method on a path.

    They are where single samples move w little, as Σc_i‖z_i‖² tells, and where dense
    algebra is too slow.
    """
    rows, d = problem.rows, problem.rows.d
    if float(problem.weights @ rows.norms() ** 2) <= _EASY * d:
        return True
    return d > FEW_FEATURES and _gram_cost(problem) > 1


def _gram_cost(problem: Problem) -> float:
    """Cost of a Gram matrix of a sample of the rows; up to 1 it is quick.

    Infinite where its factor costs more than the matrix and a product.
    """
    cost, n, d = Cost(problem), problem.n, problem.rows.d
    gram = cost.gram(min(n, sample_size(n, d)))
    fits = d <= n and cost.factor <= max(gram, cost.product)
    return gram / _QUICK if fits else inf
