"""The robust SVM as a second-order cone program, through CVXPY (theory §6.3).

    min ½‖w‖² + ½λ_b b² + Σ c_i ξ_i
    s.t. ξ_i ≥ m_i − ⟨w,z_i⟩ − y_i b + ρ_i t,   ξ ≥ 0,   Ω(w) ≤ t

Clarabel is the accurate oracle of the tests; SCS with `PAPER_OPTIONS` is the baseline
of the paper. The multipliers of the hinge constraints are α. Needs the extra `conic`.

t stands for Ω(w) times the largest radius, so that small radii weigh as much as others.
What costs nothing is left out: samples of no weight, whose ξ_i could grow for ever, and
t where no sample of weight has a radius. An interior-point method follows such a
direction until its arithmetic fails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from wideberth.noise.sets import Sets
from wideberth.problem import Certificate, Pair, Problem
from wideberth.problem.arrays import quietly
from wideberth.screening import Reduction
from wideberth.solvers.base import Solver

#: SCS options of the paper's baseline, with eps_abs = eps_rel = 1e-6.
PAPER_OPTIONS = {
    "eps_abs": 1e-6,
    "eps_rel": 1e-6,
    "normalize": False,
    "scale": 1e-3,
    "rho_x": 1e-6,
    "acceleration_lookback": 1,
}


#: Clarabel's options under its names, tighter than its defaults: for an oracle.
CLARABEL_OPTIONS = {
    "tol_gap_abs": 1e-11,  # duality gap at which it stops
    "tol_gap_rel": 1e-11,  # the same, relative to the objective
    "tol_feas": 1e-11,  # violation of constraints, relative to the data
    "tol_ktratio": 1e-9,  # κ/τ below which its homogeneous embedding is solvable
}


class ConicError(RuntimeError):
    """A conic solver gave up without a point to go on with."""


class Conic(Solver):
    """The reference for every shape of noise: Clarabel, from a cold start."""

    name = "conic"
    #: The tests of far ends hold it to C = 1e12; at 1e12 here some of them fail.
    weight_limit = 1e10

    def supports(self, problem):
        """Shapes that can state their support function to CVXPY."""
        if type(problem.noise.sets).conic is not Sets.conic:
            return None
        return (
            f"The conic solver needs the method `conic` of noise "
            f"{problem.noise.name!r}: Ω(w) as an expression of CVXPY."
        )

    def run(self, problem, control, start, decided):
        """Solve without the samples that are decided already."""
        free = Reduction.without(problem, decided)
        result = solve_conic(free.problem)
        control.steps = result.n_iter
        alpha = free.unfold(result.alpha)
        found = Pair(problem.at(result.w, result.b), problem.dual_at(alpha))
        control.record_pair(problem, found)
        return found


@dataclass(frozen=True)
class ConicResult:
    """What a conic solver returned, as a primal point and a feasible dual one."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    certificate: Certificate
    status: str
    n_iter: int


def solve_conic(
    problem: Problem, *, backend="clarabel", unit: float = 1.0, **options
) -> ConicResult:
    """Solve with a general conic solver.

    Parameters
    ----------
    problem : Problem
        The problem, reduced or not.
    backend : {"clarabel", "scs", "qoco"}
        Which solver CVXPY calls; QOCO is no part of the extra `conic`.
    unit : float
        What the objective is divided by, for the solver's eyes only.
    **options
        Passed on to it, beside `CLARABEL_OPTIONS`; `PAPER_OPTIONS` are the paper's for
        SCS.
    """
    cp = _import_cvxpy()
    # By name: older versions of CVXPY have no constant for QOCO.
    solvers = {"clarabel": "CLARABEL", "scs": "SCS", "qoco": "QOCO"}
    if backend not in solvers:
        raise ValueError(
            f"backend={backend!r} is not known; choose one of {sorted(solvers)}."
        )
    if backend == "clarabel":
        options = CLARABEL_OPTIONS | options
        # Where CVXPY can, it returns the point where Clarabel stopped, not an error.
        known = cp.reductions.solvers.defines.SOLVER_MAP_CONIC
        if hasattr(known.get("CLARABEL"), "ACCEPT_UNKNOWN"):
            options = {"accept_unknown": True} | options
    used = problem.weights > 0
    program, w, b, hinge = _program(cp, problem, used, unit)
    try:
        with quietly("Solution may be inaccurate"):  # the certificate says it exactly
            program.solve(solver=solvers[backend], **options)
    except cp.SolverError as error:
        raise ConicError(f"{backend} failed on this problem: {error}") from error
    if w.value is None or not np.isfinite(w.value).all():
        raise ConicError(f"{backend} returned no solution: status {program.status}.")
    alpha = np.zeros(problem.n)
    alpha[used] = np.clip(unit * hinge.dual_value, 0.0, problem.weights[used])
    intercept = 0.0 if b is None else float(b.value)
    dual = problem.dual_at(alpha, near=w.value)
    return ConicResult(
        w.value,
        intercept,
        dual.alpha,
        problem.certificate(problem.at(w.value, intercept), dual),
        program.status,
        int(program.solver_stats.num_iters or 0),
    )


def _import_cvxpy():
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError(
            "The conic reference solver, which serves noise 'linf' and 'l1', needs "
            "CVXPY with SCS and Clarabel: pip install 'wideberth[conic]'."
        ) from error
    return cvxpy


def _program(cp, problem: Problem, used: np.ndarray, unit: float):
    """The program on the samples `used`, a mask, its objective divided by `unit`."""
    y, radii, fold = problem.y[used], problem.radii[used], problem.folded
    Z = sp.diags_array(y) @ sp.csr_array(problem.rows.X.astype(np.float64))[used]
    if not sp.issparse(problem.rows.X):
        Z = Z.toarray()
    w, xi = cp.Variable(problem.rows.d), cp.Variable(y.size, nonneg=True)
    margins, cost = Z @ w, 0.5 / unit * cp.sum_squares(w)
    cost = cost + (problem.weights[used] / unit) @ xi
    b, constraints = None, []
    if problem.intercept is not None:
        b = cp.Variable()
        margins = margins + y * b
        if problem.intercept > 0:
            cost = cost + 0.5 * problem.intercept / unit * cp.square(b)
    if fold is not None:
        cost = cost - (fold.d / unit) @ w
        if b is not None:
            cost = cost - fold.balance / unit * b
    sets, outside = problem.noise.sets, problem.outside
    if not problem.noise.proportional:
        noise = cp.multiply(problem.radii, sets.conic(cp, w))
        margins = margins - noise[np.flatnonzero(used)]
        cost = cost + outside.times(1 / unit).conic(cp, w)
    elif radii.any() or outside.scale > 0:
        t, widest = cp.Variable(), float(radii.max(initial=0.0)) or 1.0
        margins = margins - (radii / widest) * t
        cost = cost + outside.scale / widest / unit * t
        constraints.append(widest * sets.conic(cp, w) <= t)
    hinge = xi >= problem.targets[used] - margins
    return cp.Problem(cp.Minimize(cost), [hinge, *constraints]), w, b, hinge
