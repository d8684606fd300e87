"""Rough slacks of a problem, by a few steps that share one factorised matrix.

The alternating direction method of multipliers (Boyd et al., Found. Trends Mach. Learn.
2011) on min ½⟨x,Qx⟩ + Σc_i[s_i]_+ with s_i = u_i(x), rows e_i = (x_i, 1), x = (w, b)
and the metric τc_i on row i. In a_i, the share of c_i over τ, a step is

    (Q + τΣc_i e_i e_iᵀ + βD) x = fold + τΣ c_i y_i (m_i − s_i + a_i + ρ_iΩ) e_i ,
    g_i = a_i + u_i(x) ,   a_i ← min(max(g_i, 0), 1/τ) ,   s_i ← g_i − a_i .

y_i² = 1: the matrix is the same whatever the labels. Problems that differ in their
labels alone take two products of matrices a step together. Under noise Ω(x) = ‖√D x‖ is
replaced by the parabola that touches it from above at the last x, whose curvature is
β = Σα_iρ_i/Ω, folded samples included. With TᵀMT = I and TᵀDT = diag(δ), where M is the
rest of the matrix, its inverse is T diag(1/(1+βδ)) Tᵀ.

A few steps do not lead to x, but most rows are on their side of the margin then. The
arrays below hold y_i times what is called s_i, u_i, g_i, a_i and m_i here.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.limits import COARSE, LITTLE, TINY

#: Metric τ of the rows (flat from 0.1 to 0.3 on digits and wine).
_METRIC = 0.2
#: Over-relaxation of the steps (Boyd et al., §3.4.3: 1.5 to 1.8).
_RELAXATION = 1.7
#: Number of steps (digits and 20 000×50, ten classes: 10 and 20 take a tenth longer).
_STEPS = 15
#: Products over the rows that an estimate takes for each problem.
ESTIMATE_PRODUCTS = 2 * _STEPS


def can_be_estimated(problem: Problem) -> bool:
    """Whether the noise is smooth, if there is any."""
    noisy = problem.outside.scale > 0 or problem.radii.any()
    return problem.noise.smooth or not noisy


def estimated_slacks(problem: Problem, labels: np.ndarray) -> np.ndarray | None:
    """Slacks of all rows under each of the labels, of shape (problems, n).

    None where weights or features are out of all proportion.
    """
    n, d, b = problem.n, problem.rows.d, problem.intercept
    metric, noise = _METRIC * problem.weights, np.zeros(d + (b is not None))
    E: np.ndarray = np.ones((n, noise.size))
    E[:, :d] = problem.rows.array
    # In float32, twice as quick, while its rounding stays far below that of ½‖w‖².
    coarse = COARSE * float(metric @ np.einsum("ij,ij->i", E, E)) <= LITTLE
    real = np.float32 if coarse else np.float64
    E = E.astype(real, copy=False)
    weighted = E * metric.astype(real)[:, None]
    matrix = np.asarray(weighted.T @ E, dtype=np.float64)
    matrix.reshape(-1)[:: noise.size + 1] += np.append(
        np.ones(d), [b] * (noise.size - d)
    )
    try:
        T = np.linalg.inv(np.linalg.cholesky(matrix)).T
    except np.linalg.LinAlgError:
        return None
    delta: np.ndarray = np.zeros(noise.size, real)
    outside = problem.outside.scale
    if outside > 0 or problem.radii.any():
        noise[:d] = problem.noise.shape.squares
        delta, U = np.linalg.eigh(T.T * noise @ T)
        delta, T = delta.astype(real), T @ U
    noise, T = noise.astype(real), T.astype(real)
    y: np.ndarray = labels.astype(real)
    target, moves = y * problem.targets.astype(real), y * problem.radii.astype(real)
    pull = (metric * problem.radii).astype(real)
    low, high = np.minimum(y, 0.0) / _METRIC, np.maximum(y, 0.0) / _METRIC
    fold: np.ndarray = np.zeros(noise.size, real)
    if problem.folded is not None:
        fold[:d], fold[d:] = problem.folded.d, problem.folded.balance
    # Under the quantile loss from α = qc, where w = 0.
    a, rest = problem.tilt / _METRIC * y, np.zeros_like(y)
    omega: np.ndarray = np.zeros((len(y), 1), real)
    beta: np.ndarray = np.zeros((len(y), 1))
    for _ in range(_STEPS):
        pulled = (target + moves * omega - rest + a) @ weighted + fold
        x = (pulled @ T / (1.0 + beta * delta)).astype(real) @ T.T
        omega = np.sqrt((x * x) @ noise)[:, None]
        slack = target + moves * omega
        slack -= x @ E.T
        g = _RELAXATION * slack
        g += (1.0 - _RELAXATION) * rest
        g += a
        a = np.minimum(np.maximum(g, low), high)
        rest = g - a
        mass = ((a * y) @ pull)[:, None] + outside
        beta = mass / np.maximum(omega, TINY, dtype=np.float64)
    slack *= y
    return slack.astype(np.float64)
