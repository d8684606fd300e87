"""The solvers there are, by name, and the one that "auto" stands for.

Others may be added while a program runs. An added solver serves `solve`, `path`, the
estimators and their cross-validation like one of the package's own. It belongs to the
process that added it: workers of a parallel search have to add it too.
"""

from __future__ import annotations

from math import inf

from wideberth.problem import Problem
from wideberth.problem.limits import (
    CACHED_ENTRIES,
    FEW_FEATURES,
    LITTLE,
    MOSTLY_ZERO,
)
from wideberth.screening.regions import REGIONS
from wideberth.solvers.base import Solver
from wideberth.solvers.columns import FewColumns
from wideberth.solvers.conic import Conic
from wideberth.solvers.cost import Cost
from wideberth.solvers.newton import Newton, smoothing_pays
from wideberth.solvers.sampling import sample_size
from wideberth.solvers.small import Small, is_small
from wideberth.solvers.sweeps import Coordinate, SweepsFirst

#: The package's own solvers, in the order in which "auto" prefers them.
_BUILT_IN: dict[str, Solver] = {
    solver.name: solver for solver in (Newton(), Coordinate(), FewColumns(), Conic())
}
#: Newton's method where "auto" chooses it for small problems.
_SMALL = Small()
#: Where "auto" begins with sweeps.
_SWEEPS = SweepsFirst()
_ADDED: dict[str, Solver] = {}

#: Largest Σc_i‖z_i‖² for each feature at which sweeps over the samples are taken for
#: quicker than Newton's method; `make bench-choice` compares the two.
_EASY = 1500.0
#: The same where Newton's method is quick. It is where it smooths the hinge, which
#: spares Gram matrices: at 330 and less sweeps take from a fifth less to a third of its
#: time, at 450 and more from as long to five times as long (1e-4; 5 000×200 to
#: 100 000×1 000, dense and sparse). And it is along paths: at the largest C of ten, on
#: 18 tables, radii 0 to 0.1, bounds of 300 to 800 take 12 to 14 % longer than the
#: better of both, none at all 20 % and 10 000 15 %.
_EASY_QUICK = 400.0
#: Factor by which both are larger, but for paths, where noise curves the objective more
#: than ½‖w‖²: samples move w the less then (13 tables of 4 600 to 200 000 rows, radii
#: 0.02 to 0.3, C 0.01 to 10: with factors of 4 to 8 a solution takes 8 % longer than by
#: the better of both solvers, with none 13 %).
_EASED_BY_NOISE = 6.0
#: Largest cost of a Gram matrix, in entries read, at which it is still quick: it takes
#: 0.1 s (20 000×316 and 200 000×100, one thread), and a solution a dozen of them.
_QUICK = 200_000_000
#: How many times as large a Gram matrix may be where sweeping is hard: sweeps then take
#: hundreds of passes and hand over to Newton's method in the end (MNIST, 6 times as
#: large, takes 2 s by Newton's method and 7 s by sweeps; 20 000×600 0.5 s and 2 s).
_HARD_SECONDS = 10


def register_solver(solver: Solver | type[Solver]) -> None:
    """Make a solver known under its name; one added before under it is replaced.

    Parameters
    ----------
    solver : Solver, or a class of them
        A class is called without arguments.
    """
    if isinstance(solver, type) and issubclass(solver, Solver):
        solver = solver()
    if not isinstance(solver, Solver):
        raise ValueError(
            f"solver={solver!r} is not a solver; give an object of a subclass of "
            "wideberth.solvers.base.Solver."
        )
    name, taken = getattr(solver, "name", None), ("auto", *_BUILT_IN)
    if not isinstance(name, str) or name in ("", *taken):
        raise ValueError(
            f"name={name!r} cannot name a solver to add; choose text other than "
            f"{taken}."
        )
    _ADDED[name] = solver


def solver_names() -> tuple[str, ...]:
    """All names that `solver` may be, "auto" first."""
    return "auto", *_BUILT_IN, *_ADDED


def get_solver(solver: str | Solver) -> Solver:
    """The solver of this name; a solver is taken as it is."""
    if isinstance(solver, Solver):
        return solver
    found = (_BUILT_IN | _ADDED).get(solver) if isinstance(solver, str) else None
    if found is None:
        raise ValueError(
            f"solver={solver!r} is not known; choose one of {solver_names()}."
        )
    return found


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
    """The solver asked for; for "auto" the first that supports the problem.

    Small problems take the compiled steps of `small.py`. Elsewhere "auto" begins with
    sweeps, which change over to Newton's method where that is predicted to be quicker.
    """
    if not isinstance(solver, str) or solver != "auto":
        return get_solver(solver)
    small, swept = is_small(problem), _SWEEPS.supports(problem) is None
    if small and (along_path or not swept or Cost(problem).newton_at_once):
        return _SMALL
    if swept and not along_path:
        return _SWEEPS
    columns = _BUILT_IN["columns"]
    many = problem.rows.d > FEW_FEATURES
    if many and _is_wide(problem) and columns.supports(problem) is None:
        return columns if _leaves_out_many(problem) else _BUILT_IN["newton"]
    if problem.n * problem.rows.d > CACHED_ENTRIES and problem.n > FEW_FEATURES:
        coordinate = _BUILT_IN["coordinate"]
        fits = coordinate.supports(problem) is None
        if fits and _sweeps_are_quicker(problem, along_path):
            return coordinate
    reasons = []
    for candidate in [*_BUILT_IN.values(), *_ADDED.values()]:
        reason = candidate.supports(problem)
        if reason is None:
            return candidate
        reasons.append(reason)
    raise ValueError(" ".join(reasons))


def _is_wide(problem: Problem) -> bool:
    """Whether dense algebra of all features is out of place."""
    rows, n, d = problem.rows, problem.n, problem.rows.d
    return d > n or rows.entries() <= MOSTLY_ZERO * n * d


def _leaves_out_many(problem: Problem) -> bool:
    """Whether boxes may leave out many features, or all of them are too many.

    One-hot columns beside a few measurements have no noise, and keep their weights.
    """
    d = problem.rows.d
    noise = problem.noise
    noisy = not noise.proportional or noise.shape.degrees(d) > FEW_FEATURES
    return noisy or _algebra(problem) > 1


def _sweeps_are_quicker(problem: Problem, along_path: bool) -> bool:
    """Whether sweeps over the samples beat Newton's method.

    Sweeps are cheap where single samples move w little, Σc_i‖z_i‖² says how much in
    all, and the more rows there are the fewer of them Newton's method reads. Its dense
    algebra grows with d³ and with rows × d²; where sweeping turns out to be hard, the
    coordinate solver hands over to it. Along a path Newton's method needs but a few
    steps from point to point.
    """
    rows, d = problem.rows, problem.rows.d
    algebra = 0.0 if d <= FEW_FEATURES else _algebra(problem)
    easy = _EASY_QUICK if along_path or smoothing_pays(problem) else _EASY
    if not along_path and _noise_outweighs_penalty(problem):
        easy *= _EASED_BY_NOISE
    if float(problem.weights @ rows.norms() ** 2) <= easy * d:
        return True
    return algebra > (1 if along_path else _HARD_SECONDS)


def _noise_outweighs_penalty(problem: Problem) -> bool:
    """Whether the curvature Σα_iρ_i/‖w‖ of the noise is far above that of ½‖w‖².

    With α_i = c_i and a w of usual length, √d over that of the rows.
    """
    rows, moved = problem.rows, problem.weights * problem.radii
    curvature = float(moved @ rows.norms()) / rows.d**0.5
    return curvature * LITTLE >= 1.0


def _algebra(problem: Problem) -> float:
    """Cost of the Gram matrix of a sample, in that of one which is still quick.

    Infinite where its factor costs more than what is summed.
    """
    cost, n, d = Cost(problem), problem.n, problem.rows.d
    gram = cost.gram(min(n, sample_size(n, d)))
    fits = d <= n and cost.factor <= max(gram, cost.product)
    return gram / _QUICK if fits else inf
