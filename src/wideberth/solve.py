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

from wideberth._validation import check_data, check_per_sample, check_positive
from wideberth.bounds import available_tests
from wideberth.endpoints import critical_radius, null_certificate
from wideberth.noise import L2, Correlated, as_shape
from wideberth.problem import DualPoint, PrimalPoint, Problem
from wideberth.regions import REGIONS
from wideberth.scale.opening import is_scaled
from wideberth.screening import Partition, Screener, carry_dual, screen_points
from wideberth.solution import NullModelWarning, Solution, not_converged, null_model
from wideberth.solvers.control import Control, Outcome
from wideberth.solvers.newton import solve_newton

__all__ = ["NullModelWarning", "Solution", "solve"]

#: Size of X, and rows or features, up to which Newton's method is quick.
_QUICK, _NARROW = 100_000, 100
#: Share of stored entries from which on sparse data is as good as dense.
_DENSE = 0.3
#: Distance of a margin from 1 below which a warm start leaves α as it is.
_DOUBT = 1e-3
_SOLVERS = ("auto", "newton", "coordinate", "conic")
#: Entries of X up to which Newton's last digits are nearly free, and how far it goes.
_SMALL_ENTRIES = 1 << 18
_SMALL_AIM = 1e-9


def solve(
    X,
    y=None,
    *,
    C=1.0,
    radius=0.0,
    noise="l2",
    fit_intercept=False,
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
        float32 or float64 is used as it is, without a copy. Files, Dask collections,
        arrays of other libraries and iterables of chunks are described in
        `wideberth.scale.open_data`.
    y : array of shape (n,)
        Labels −1 and +1.
    C : float
        Weight of the losses; c_i = C · sample_weight_i.
    radius : float or array of shape (n,)
        ρ_i, how far each sample may be off.
    noise : {"l2", "linf", "l1"}, array of shape (d,) or array of shape (d, d)
        Shape of the noise: Euclidean ball, box, cross-polytope, an ellipsoid given by
        one noise level per feature, or one given by a covariance. The last is solved
        and certified in its principal axes, on a dense float64 copy of X.
    fit_intercept : bool
        Whether to fit b. It carries no noise.
    intercept_penalty : float
        λ_b; 0 leaves the intercept free.
    sample_weight : array of shape (n,), optional
    solver : {"auto", "newton", "coordinate", "conic"}
        "newton" for tall data, "l2" or per-feature noise; "coordinate" for sparse or
        wide data, "l2" noise; "conic" is the reference for every shape (extra
        `conic`). "auto" takes the quickest by noise, shape and density; the choice is
        in `Solution.solver`.
    screening : {"ellipsoid", "midpoint", "gap"} or None
        Safe region that decides which samples cannot matter.
    tol : float
        Stop when gap ≤ tol · objective, on the full problem. Newton goes on to 1e-9 on
        data that fits a cache, where the last digits cost next to nothing.
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
        If the tolerance was not met.
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
    if is_scaled(X, y, memory):
        from wideberth.scale.solving import solve_data

        solution = solve_data(
            X,
            y,
            **asked,
            solver=solver,
            screening=screening,
            tol=tol,
            max_iter=max_iter,
            max_seconds=max_seconds,
            init=init,
            callback=callback,
            random_state=random_state,
            memory=memory,
            verbose=verbose,
        )
        return _announced(solution, quiet)
    problem, turn = build_problem(X, y, **asked)
    entries = problem.n * problem.rows.d
    control = make_control(entries, tol, max_iter, max_seconds, callback, started)
    name = choose_solver(problem) if solver == "auto" else solver
    if turn is not None and init is not None:
        w, b, alpha = _read_init(problem, init)
        init = turn.T @ w, b, alpha
    outcome = _known(problem, control, init)
    if outcome is None:
        outcome = _run(problem, control, name, screening, init, random_state)
    solution = _solution(problem, control, outcome, name, screening)
    if turn is not None:
        solution = replace(solution, w=turn @ solution.w)
    return _announced(solution, quiet)


def _announced(solution: Solution, quiet: bool) -> Solution:
    for note in () if quiet else solution.notes:
        warnings.warn(note, stacklevel=3)
    return solution


def check_choices(solver, screening) -> None:
    """Check the names of a solver and of a region."""
    if solver not in _SOLVERS:
        raise ValueError(f"solver={solver!r} is not known; choose one of {_SOLVERS}.")
    if screening is not None and screening not in REGIONS:
        raise ValueError(
            f"screening={screening!r} is not known; choose None or one of "
            f"{sorted(REGIONS)}."
        )


def build_problem(
    X, y, *, noise, fit_intercept, intercept_penalty, **options
) -> tuple[Problem, np.ndarray | None]:
    """The problem of user data, and the axes it was turned to, if any.

    Correlated noise is noise of one level per feature in its principal axes.
    """
    intercept = read_intercept(fit_intercept, intercept_penalty)
    X = check_data(X)
    shape, turn = as_shape(noise, X.shape[1]), None
    if isinstance(shape, Correlated):
        turn, shape = shape.axes, shape.principal
        X = X @ turn
    problem = Problem.from_data(X, y, noise=shape, intercept=intercept, **options)
    return problem, turn


def read_intercept(fit_intercept, intercept_penalty) -> float | None:
    """None, 0 or λ_b from what the user says about the intercept."""
    penalty = check_per_sample(intercept_penalty, 1, "intercept_penalty")[0]
    if not fit_intercept and penalty:
        raise ValueError(
            f"intercept_penalty={intercept_penalty!r} needs fit_intercept=True."
        )
    return float(penalty) if fit_intercept else None


def make_control(
    entries: float, tol, max_iter, max_seconds, callback, started: float
) -> Control:
    """Check the limits of a run; on small data it aims beyond its tolerance."""
    if not isinstance(max_iter, int | np.integer) or max_iter < 1:
        raise ValueError(f"max_iter={max_iter!r} must be a whole number ≥ 1.")
    deadline = np.inf
    if max_seconds is not None:
        deadline = started + check_positive(max_seconds, "max_seconds")
    small = entries <= _SMALL_ENTRIES
    return Control(
        check_positive(tol, "tol"),
        int(max_iter),
        deadline,
        callback,
        started=started,
        aim=_SMALL_AIM if small else np.inf,
    )


def choose_solver(problem: Problem) -> str:
    """The solver that "auto" stands for, by the table of `make bench-coordinate`.

    Newton's dense algebra grows with d³ and with rows × d², the coordinate solver with
    the stored entries. They cross near 100 features on sparse data; on dense data of
    more rows than features Newton stays ahead until d³ alone is slow. Where either is
    quick, Newton spares the compiler.
    """
    n, d, entries = problem.n, problem.rows.d, problem.rows.entries()
    if not problem.noise.smooth:
        return "conic"
    quick = n * d <= _QUICK or min(n, d) <= _NARROW
    if not isinstance(problem.noise, L2) or quick:
        return "newton"
    dense = entries > _DENSE * n * d
    return "newton" if d <= (min(n, 1500) if dense else _NARROW) else "coordinate"


def _known(problem: Problem, control: Control, init) -> Outcome | None:
    """The answer, where the start or a closed form has it already."""
    if init is not None:
        w, b, alpha = _read_init(problem, init)
        if alpha is not None:
            start = Outcome(problem.at(w, b), problem.dual_at(alpha))
            if start.point.value - start.dual.value <= control.tol * start.point.value:
                return start
    weightless = not problem.weights.any()
    alpha = np.zeros(problem.n) if weightless else null_certificate(problem)
    if alpha is None:
        return None
    return Outcome(problem.at(np.zeros(problem.rows.d)), problem.dual_at(alpha))


def _run(problem, control, name, screening, init, random_state) -> Outcome:
    if name != "conic":
        found = _iterate(problem, control, name, screening, init, random_state)
        return null_if_optimal(problem, found, control.tol)
    return run_conic(problem, control)


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
    certificate = problem.certificate(outcome.point, outcome.dual)
    control.record(problem.rows.passes.count, certificate, screener.counts)
    return outcome


def null_if_optimal(problem: Problem, found: Outcome, tol: float) -> Outcome:
    """The null model in place of w ≈ 0, if w(α) = 0 and its gap agrees (theory §2)."""
    if problem.radii.any() and not found.dual.w.any():
        null = problem.at(np.zeros(problem.rows.d))
        if null.value - found.dual.value <= tol * null.value:
            return Outcome(null, found.dual)
    return found


def _iterate(problem, control, name, screening, init, random_state) -> Outcome:
    """Run one of the solvers that screen while they go."""
    w, b, alpha = (None, 0.0, None) if init is None else _read_init(problem, init)
    if name == "newton":
        start = None if w is None else (w, b)
        return solve_newton(
            problem, control, region=screening, init=start, random_state=random_state
        )
    from wideberth.solvers.coordinate import solve_coordinate  # loads numba

    if w is not None:
        alpha = carried_dual(problem, w, b, alpha)
    return solve_coordinate(
        problem, control, region=screening, init=alpha, random_state=random_state
    )


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


def _solution(problem, control, outcome, name, screening) -> Solution:
    point, dual = outcome.point, outcome.dual
    certificate = problem.certificate(point, dual)
    converged = certificate.gap <= control.tol * point.value
    removed = saturated = np.zeros(problem.n, dtype=bool)
    passes = problem.rows.passes.count
    if screening is not None:
        removed, saturated = proven(problem, point, dual, screening)
    seconds = time.perf_counter() - control.started
    notes = []
    if not converged:
        notes.append(not_converged(control, certificate, seconds))
    if not point.w.any():
        notes.append(null_model(_critical(problem)))
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
    )


def proven(problem: Problem, point: PrimalPoint, dual: DualPoint, region: str):
    """Samples decided by the final certificate; one test does, the gap being small."""
    test = available_tests(problem, region)[0]
    partition = screen_points(problem, point, dual, region=region, test=test)
    return partition.removed, partition.saturated


def _read_init(problem: Problem, init) -> tuple[np.ndarray, float, np.ndarray | None]:
    if isinstance(init, Solution):
        return init.w, init.b, init.alpha
    try:
        w, b, alpha = init
        w = np.asarray(w, dtype=np.float64)
        alpha = None if alpha is None else np.asarray(alpha, dtype=np.float64)
        b = float(b)
    except (TypeError, ValueError):
        raise ValueError(
            f"init={init!r} must be a Solution or a tuple (w, b, alpha or None)."
        ) from None
    n, d = problem.n, problem.rows.d
    if w.shape != (d,) or (alpha is not None and alpha.shape != (n,)):
        raise ValueError(
            f"init has w of shape {w.shape} and alpha of shape "
            f"{None if alpha is None else alpha.shape}; expected ({d},) and ({n},)."
        )
    if not all(np.isfinite(part).all() for part in (w, b, alpha) if part is not None):
        raise ValueError(f"init={init!r} must be finite.")
    return w, b, alpha


def _critical(problem: Problem) -> str:
    """The critical uniform radius in words."""
    bracket = critical_radius(problem, max_iter=50)
    if bracket.lower < bracket.upper:
        return f"between {bracket.lower:.4g} and {bracket.upper:.4g}"
    return f"{bracket.upper:.6g}"
