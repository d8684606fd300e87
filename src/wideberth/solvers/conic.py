"""The robust SVM as a second-order cone program, through CVXPY (theory §6.3).

    min ½‖w‖² + ½λ_b b² + Σ c_i ξ_i
    s.t. ξ_i ≥ 1 − ⟨w,z_i⟩ − y_i b + ρ_i t,   ξ ≥ 0,   Ω(w) ≤ t

Clarabel is the accurate oracle of the tests; SCS with `PAPER_OPTIONS` is the baseline
of the paper. The multipliers of the hinge constraints are α. Needs the extra `conic`.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from wideberth.noise import L1, L2, Ellipsoid, Linf
from wideberth.problem import Certificate, Problem

__all__ = ["PAPER_OPTIONS", "ConicResult", "solve_conic"]

#: SCS options of the paper's baseline, with eps_abs = eps_rel = 1e-6.
PAPER_OPTIONS = {
    "eps_abs": 1e-6,
    "eps_rel": 1e-6,
    "normalize": False,
    "scale": 1e-3,
    "rho_x": 1e-6,
    "acceleration_lookback": 1,
}

_ACCURATE_OPTIONS = {
    "tol_gap_abs": 1e-11,
    "tol_gap_rel": 1e-11,
    "tol_feas": 1e-11,
    "tol_ktratio": 1e-9,
    "max_iter": 200,
}


@dataclass(frozen=True)
class ConicResult:
    """What a conic solver returned, as a primal point and a feasible dual one."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    certificate: Certificate
    status: str
    n_iter: int


def solve_conic(problem: Problem, *, backend="clarabel", **options) -> ConicResult:
    """Solve with a general conic solver.

    Parameters
    ----------
    problem : Problem
        The problem, reduced or not.
    backend : {"clarabel", "scs", "qoco"}
        Which solver CVXPY calls; QOCO is no part of the extra `conic`.
    **options
        Passed on to it. Clarabel's default here is tighter than its own, for use as an
        oracle; `PAPER_OPTIONS` are the paper's for SCS.
    """
    cp = _import_cvxpy()
    # By name: older versions of CVXPY have no constant for QOCO.
    solvers = {"clarabel": "CLARABEL", "scs": "SCS", "qoco": "QOCO"}
    if backend not in solvers:
        raise ValueError(
            f"backend={backend!r} is not known; choose one of {sorted(solvers)}."
        )
    if backend == "clarabel":
        options = _ACCURATE_OPTIONS | options
    program, w, b, hinge = _program(cp, problem)
    try:
        with _without_doubts():
            program.solve(solver=solvers[backend], **options)
    except cp.SolverError as error:
        raise RuntimeError(f"{backend} failed on this problem: {error}") from error
    if w.value is None:
        raise RuntimeError(f"{backend} returned no solution: status {program.status}.")
    alpha = np.clip(hinge.dual_value, 0.0, problem.weights)
    intercept = 0.0 if b is None else float(b.value)
    dual = problem.dual_at(alpha)
    return ConicResult(
        w.value,
        intercept,
        dual.alpha,
        problem.certificate(problem.at(w.value, intercept), dual),
        program.status,
        int(program.solver_stats.num_iters or 0),
    )


@contextmanager
def _without_doubts() -> Iterator[None]:
    """Spare users CVXPY's word on accuracy; the certificate says it exactly.

    Filters belong to all threads of a program, so others than the main one leave them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        yield


def _import_cvxpy():
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError(
            "The conic reference solver, which serves noise 'linf' and 'l1', needs "
            "CVXPY with SCS and Clarabel: pip install 'wideberth[conic]'."
        ) from error
    return cvxpy


def _program(cp, problem: Problem):
    n, d, y = problem.n, problem.rows.d, problem.y
    Z = sp.diags_array(y) @ sp.csr_array(problem.rows.X.astype(np.float64))
    if not sp.issparse(problem.rows.X):
        Z = Z.toarray()
    w, t, xi = cp.Variable(d), cp.Variable(), cp.Variable(n, nonneg=True)
    margins, penalty = Z @ w - problem.radii * t, 0.5 * cp.sum_squares(w)
    b = None
    if problem.intercept is not None:
        b = cp.Variable()
        margins = margins + y * b
        if problem.intercept > 0:
            penalty = penalty + 0.5 * problem.intercept * cp.square(b)
    objective = penalty + problem.weights @ xi
    fold = problem.folded
    if fold is not None:
        objective = objective - fold.d @ w + fold.s * t
        if b is not None:
            objective = objective - fold.balance * b
    hinge = xi >= 1 - margins
    support = _support(cp, problem.noise, w) <= t
    return cp.Problem(cp.Minimize(objective), [hinge, support]), w, b, hinge


def _support(cp, noise, w):
    if isinstance(noise, Ellipsoid):
        return cp.norm2(cp.multiply(noise.scales, w))
    norms = {L2: cp.norm2, Linf: cp.norm1, L1: cp.norm_inf}
    return norms[type(noise)](w)
