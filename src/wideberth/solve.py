"""`solve`: train a robust SVM and prove how good the answer is.

Picks a solver, drives it, and returns a `Solution` whose certificate was evaluated on
all n samples of the original problem, with the exact pair (w,b), α that it holds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from wideberth.data.opening import is_scaled, is_small
from wideberth.problem import Problem
from wideberth.problem.arrays import host, is_foreign, like
from wideberth.problem.endpoints import critical_radius, null_certificate
from wideberth.problem.feature_names import feature_names
from wideberth.problem.noise import as_shape
from wideberth.problem.presolve import Units, cut_radii, in_units, out_of_range
from wideberth.problem.thin import thinned
from wideberth.problem.validation import (
    check_positive,
    check_vector,
    check_whole,
    measured_data,
    read_intercept,
    short,
)
from wideberth.screening import (
    Partition,
    carry_dual,
    null_point,
    screen_points,
    tells_something,
)
from wideberth.screening.bounds import strongest_test
from wideberth.screening.regions import REGIONS
from wideberth.solution import NullModelWarning, Solution, not_converged, null_model
from wideberth.solvers.base import Control, Outcome, Solver
from wideberth.solvers.polish import polished
from wideberth.solvers.registry import choose_solver, get_solver
from wideberth.solvers.rescue import attempt, rescued

__all__ = ["NullModelWarning", "Solution", "solve"]

#: Entries of X up to which Newton's last digits are nearly free, and how far it goes
#: for them: to the square of the tolerance, but no further than this.
_SMALL_ENTRIES = 1 << 18
_SMALL_AIM = 1e-9
#: Steps of the descent that decides whether a model of tiny weights is the null model.
_NULL_STEPS = 200


def solve(
    X,
    y=None,
    *,
    C=1.0,
    radius=0.0,
    noise="l2",
    fit_intercept=True,
    intercept_penalty=0.0,
    sample_weight=None,
    solver="auto",
    screening="ellipsoid",
    tol=1e-6,
    max_iter=10_000,
    max_seconds=None,
    init=None,
    callback: Callable[[dict], bool | None] | None = None,
    random_state=None,
    quiet=False,
    memory=None,
    verbose=False,
) -> Solution:
    """Train a robust SVM to a certified accuracy.

    Minimises ½‖w‖² + ½λ_b b² + Σ c_i [1 − y_i(⟨w,x_i⟩ + b) + ρ_i Ω(w)]_+ .

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), or data that is read in chunks
        float32 or float64 is used as it is, without a copy; only large, wide arrays
        that are mostly zeros are worked on as a sparse one. Files, Dask collections,
        arrays of other libraries and iterables of chunks are described in
        `wideberth.data.open_data`.
    y : array of shape (n,)
        Labels of two classes, of any kind; sorted, the second is the positive one, as
        in scikit-learn. `Solution.classes` holds them.
    C : float
        Weight of the losses; c_i = C · sample_weight_i.
    radius : float or array of shape (n,)
        ρ_i, how far each sample may be off.
    noise : {"l2", "linf", "l1"}, array of shape (d,) or (d, d), or Noise
        Shape of the noise: Euclidean ball, box, cross-polytope, an ellipsoid given by
        one noise level per feature, or one given by a covariance or its factor
        (`wideberth.Correlated`). The last is solved in its principal axes, on a
        dense float64 copy of X; the certificate is that of X and the covariance as
        given. A Series, dict or frame is aligned with the columns of X by name.
    fit_intercept : bool
        Whether to fit b. It carries no noise.
    intercept_penalty : float
        λ_b; 0 leaves the intercept free.
    sample_weight : array of shape (n,), optional
    solver : {"auto", "newton", "coordinate", "conic"} or Solver
        "newton" for tall data, "l2" or per-feature noise; "coordinate" for sparse or
        wide data, "l2" noise; "conic" is the reference for every shape (extra
        `conic`). "auto" takes the quickest by noise, shape and density; the choice is
        in `Solution.solver`. `wideberth.solvers.registry` adds others.
    screening : {"ellipsoid", "midpoint", "gap"} or None
        Safe region that decides which samples cannot matter.
    tol : float
        Stop when gap plus rounding is at most `tol` times the objective, on the full
        problem. Below 1e-9 the gap as computed must be within `tol`, and gap plus
        rounding within 1e-9: float64 does not prove less. On data that fits a cache
        Newton goes on to tol², at most to 1e-9: its last digits cost next to nothing.
    max_iter : int
        Most Newton steps, those on subsamples included, or epochs of the coordinate
        solver.
    max_seconds : float, optional
        Stop after about this long with the best answer so far.
    init : Solution or (w, b, alpha), optional
        Warm start. At the solution it costs the two products that certify it.
    callback : callable, optional
        Called with a dict at every certified point; return True to stop.
    random_state : int or Generator, optional
        Decides which subsamples a start is made from, and the order in which the
        coordinate solver visits samples; the answer is within `tol` whatever it is,
        and the same for the same number.
    quiet : bool
        Leave warnings in `Solution.notes` instead of issuing them.
    memory : int or str, optional
        Data that is read in chunks: bytes that the process may hold, such as "2GB".
    verbose : bool
        Data that is read in chunks: show reads and gap on standard error.

    Returns
    -------
    Solution

    Warns
    -----
    ConvergenceWarning
        If `tol` was not proven: gap plus rounding is larger.
    NullModelWarning
        If the noise leaves no better model than w = 0.
    """
    started = time.perf_counter()
    check_choices(solver, screening)
    asked = {
        "C": C,
        "radius": radius,
        "noise": noise,
        "fit_intercept": fit_intercept,
        "intercept_penalty": intercept_penalty,
        "sample_weight": sample_weight,
    }
    how = {
        "solver": solver,
        "screening": screening,
        "tol": tol,
        "max_iter": max_iter,
        "max_seconds": max_seconds,
        "init": init,
        "callback": callback,
        "random_state": random_state,
    }
    if is_small(X):
        solution = solve(host(X), y, **asked, **how, quiet=True)
        return _announced(_moved_to(solution, X), quiet)
    if is_scaled(X, y, memory):
        from wideberth.solvers.chunked import solve_data

        solution = solve_data(X, y, **asked, **how, memory=memory, verbose=verbose)
        return _announced(solution, quiet)
    problem, units = cut_radii(*build_problem(X, y, **asked))
    entries, told = problem.n * problem.rows.d, units.callback(callback)
    control = make_control(entries, tol, max_iter, max_seconds, told, started)
    control.screening, control.rng = screening, np.random.default_rng(random_state)
    with units.quiet():
        start = _start(problem, units, init)
        outcome = _known(problem, control, start)
        chosen = choose_solver(problem) if solver == "auto" else get_solver(solver)
        if outcome is None:
            outcome = _run(problem, control, chosen, start)
        outcome = finished(problem, control, outcome)
        units.check_cut(outcome.point.omega)
        solution = _solution(problem, control, outcome, chosen.name, screening, units)
    return _announced(units.restore(solution), quiet)


def _moved_to(solution: Solution, X) -> Solution:
    """The solution with what is as long as the data beside X."""
    own = {name: getattr(solution, name) for name in ("alpha", "removed", "saturated")}
    return replace(solution, **{name: like(part, X) for name, part in own.items()})


def _announced(solution: Solution, quiet: bool) -> Solution:
    for note in () if quiet else solution.notes:
        warnings.warn(note, stacklevel=3)
    return solution


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


def build_problem(
    X, y, *, noise, fit_intercept, intercept_penalty, factor=1.0, **options
) -> tuple[Problem, Units]:
    """The problem of user data, and the units and axes it is stated in.

    `factor` is what its weights will be multiplied by; see `in_units`. Correlated noise
    is noise of one level per feature in its principal axes; how far those are from
    exact is part of every certificate (`covariance`).
    """
    intercept = read_intercept(fit_intercept, intercept_penalty)
    names = feature_names(X)
    X, size = measured_data(X)
    shape = as_shape(noise, X.shape[1], names)
    axes, shape = shape.axes, shape.principal
    X = X if axes is None else X @ axes
    X = thinned(X)
    problem = Problem.from_matrix(X, y, noise=shape, intercept=intercept, **options)
    return in_units(problem, size, axes, factor)


def make_control(
    entries: float, tol, max_iter, max_seconds, callback, started: float
) -> Control:
    """Check the limits of a run; on small data it aims beyond its tolerance."""
    max_iter = check_whole(max_iter, "max_iter")
    if callback is not None and not callable(callback):
        raise ValueError(
            f"callback={callback!r} must be a function of one dict, or None."
        )
    deadline = np.inf
    if max_seconds is not None:
        deadline = started + check_positive(max_seconds, "max_seconds")
    tol = check_positive(tol, "tol")
    small = entries <= _SMALL_ENTRIES
    return Control(
        tol,
        max_iter,
        deadline,
        callback,
        started=started,
        aim=max(tol * tol, _SMALL_AIM) if small else np.inf,
    )


def _start(problem: Problem, units: Units, init) -> Outcome | None:
    """A warm start given by the user in the problem's units, if it is of any use."""
    if init is None:
        return None
    w, b, alpha = _read_init(problem, init)
    with np.errstate(all="ignore"):
        if not units.plain:
            w, b, alpha = units.inward(w, b, alpha)
        point = problem.at(w, b)
    if not tells_something(point, null_point(problem)):
        return None
    if alpha is None:  # all samples are taken to be at a bound, and scaled
        alpha = problem.weights * (point.slack > 0)
        return Outcome(point, carry_dual(problem, alpha, problem.weights))
    return Outcome(point, problem.dual_at(alpha))


def _known(problem: Problem, control: Control, start: Outcome | None):
    """The answer, where the start or a closed form has it already."""
    if start is not None:
        if start.gap <= control.tol * start.point.value:
            start = polished(problem, start, control.tol)
        if start.meets(control.tol):
            return start
    alpha = null_certificate(problem)
    if alpha is None:
        return None
    return Outcome(problem.at(np.zeros(problem.rows.d)), problem.dual_at(alpha))


def _run(problem: Problem, control: Control, solver: Solver, start) -> Outcome:
    def call(easier: Problem) -> Outcome:
        return solver.solve(easier, control, start=start)

    found = attempt(problem, call, solver.weight_limit)
    return null_if_optimal(problem, found, control.tol)


def finished(problem: Problem, control: Control, found: Outcome) -> Outcome:
    """What was found, its last digits mended, or a second attempt where none helps."""
    found = polished(problem, found, control.tol)
    if found.certificate.proves(control.tol) or control.exhausted():
        return found
    return rescued(problem, control, found)


def null_if_optimal(problem: Problem, found: Outcome, tol: float) -> Outcome:
    """The null model in place of w ≈ 0, where a dual point proves it (theory §2).

    P(0) ≥ P* + ½‖w*‖² and ‖w−w*‖² ≤ 2·gap: a w that is too long for w = 0 to be within
    `tol` of the optimum is left alone, unread.
    """
    point, dual = found.point, found.dual
    longest = 4 * (tol * abs(point.value) + found.gap)
    if not problem.largest_radius or not 0.5 * float(point.w @ point.w) <= longest:
        return found
    null = Outcome(null_point(problem), dual)
    if not null.gap <= tol * null.point.value:
        return found
    if dual.w.any():
        alpha = None
        if not is_foreign(problem.y):
            alpha = null_certificate(problem, dual.alpha, _NULL_STEPS)
        if alpha is None:
            return found
        null = Outcome(null.point, problem.dual_at(alpha))
    return null if null.meets(tol) else found


def _solution(problem, control, outcome, name, screening, units) -> Solution:
    point, dual = outcome.point, outcome.dual
    certificate = outcome.certificate
    converged = certificate.proves(control.tol)
    removed = saturated = np.zeros(problem.n, dtype=bool)
    passes = problem.rows.passes.count
    if screening is not None:
        partition = proven(problem, outcome, screening)
        removed, saturated = partition.removed, partition.saturated
    seconds = time.perf_counter() - control.started
    notes = []
    if not converged:
        remedy = None if control.exhausted() else out_of_range(problem, units)
        notes.append(not_converged(control, certificate, seconds, remedy))
    elif not point.w.any():
        notes.append(null_model(_critical(problem, units), dual.s > 0))
    return Solution(
        point.w,
        point.b,
        dual.alpha,
        certificate,
        bool(converged),
        name,
        control.steps,
        passes,
        seconds,
        removed,
        saturated,
        control.trace,
        tuple(notes),
        problem.classes,
    )


def proven(problem: Problem, found: Outcome, region: str) -> Partition:
    """Samples decided by the final certificate; one test does, the gap being small."""
    test = strongest_test(problem, region)
    return screen_points(problem, found.point, found.dual, region=region, test=test)


def _read_init(problem: Problem, init) -> tuple[np.ndarray, float, np.ndarray | None]:
    """A start as a point of the problem; where it comes from makes no difference."""
    if isinstance(init, Solution):
        init = init.w, init.b, init.alpha
    if not isinstance(init, tuple | list) or len(init) != 3:
        raise ValueError(
            f"init={short(init)} must be a Solution or a tuple (w, b, alpha or None)."
        )
    w, b, alpha = init
    w = check_vector(w, problem.rows.d, "w of init")
    if np.ndim(b) > 0:
        raise ValueError(f"b of init has shape {np.shape(b)}; it must be one number.")
    b = float(check_vector([b], 1, "b of init")[0])
    if alpha is not None:
        alpha = check_vector(alpha, problem.n, "alpha of init")
    return w, b, alpha


def _critical(problem: Problem, units: Units) -> str:
    """The critical uniform radius in words."""
    bracket = critical_radius(problem, max_iter=50)
    lower, upper = units.radius(bracket.lower), units.radius(bracket.upper)
    return f"between {lower:.4g} and {upper:.4g}" if lower < upper else f"{upper:.6g}"
