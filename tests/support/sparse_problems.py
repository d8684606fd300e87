"""Random problems whose noise leaves features out, and pairs of points of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from problems import intercept_options
from wideberth import Box
from wideberth._solve import solve
from wideberth.problem import Pair, Problem
from wideberth.solvers.conic import solve_conic

KINDS = ("linf", "box", "cells")
INTERCEPTS = (None, 0.0, 1.0, 1e-3)
#: How far points are from the solution, as a share of its size.
LEVELS = (1.0, 0.1, 1e-2, 1e-3, 1e-5, 0.0)


@dataclass(frozen=True)
class Sparse:
    """A problem, its solution, and how far its w and b may be from the optimum."""

    problem: Problem
    w: np.ndarray
    b: float
    alpha: np.ndarray
    distance: float
    gap: float

    @property
    def exact(self) -> bool:
        """Whether it is close enough to the optimum to judge by."""
        primal = self.problem.at(self.w, self.b).value
        return self.gap <= 1e-8 * max(primal, 1e-300)

    @property
    def zeros(self) -> int:
        """Features whose weight may be 0."""
        return int(np.sum(np.abs(self.w) <= self.distance))

    def wrong(self, zero: np.ndarray) -> int:
        """Features called zero whose weight is certainly not."""
        return int(np.sum(zero & (np.abs(self.w) > self.distance)))

    def wrong_samples(self, partition) -> int:
        """Samples called decided whose dual weight contradicts it.

        α_i|ψ_i − 1| ≤ G holds at the solution, and ψ_i is off by what w is.
        """
        problem = self.problem
        reach = problem.rows.norms() + problem.noise.lipschitz(problem.rows.d)
        above = -problem.at(self.w, self.b).slack
        if problem.intercept:
            reach = np.hypot(reach, problem.intercept**-0.5)
        error = self.distance * reach
        force = np.minimum(self.alpha, problem.weights - self.alpha)
        if problem.intercept == 0:  # as certain as the best sample between its bounds
            with np.errstate(divide="ignore"):
                slack = 2 * self.gap / np.maximum(force, 0.0)
            error = error + np.min(error + slack)
        used = problem.weights > 0
        wrong = partition.removed & (above < -error) & used
        return int(np.sum(wrong | (partition.saturated & (above > error) & used)))


def make_sparse(seed: int, *, kind=None, n=None, d=None) -> Sparse:
    """One of them, drawn in all respects; the solution is good to 1e-10 or so."""
    rng = np.random.default_rng([seed, 29])
    kind = KINDS[seed % 3] if kind is None else kind
    intercept = INTERCEPTS[seed // 3 % 4]
    n = int(rng.integers(4, 40)) if n is None else n
    d = int(rng.integers(1, 30)) if d is None else d
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1, -1
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-0.5, 0.5, size=d)
    truth = rng.normal(size=d) * (rng.random(d) < 0.3)
    X += rng.choice([0.0, 0.5, 2.0]) * y[:, None] * truth
    if rng.integers(3) == 0 and d > 1:  # nearly alike
        X[:, -1] = X[:, 0] * (1 + 1e-3 * rng.normal(size=n))
    sparse = bool(rng.integers(2))
    if sparse:
        X[rng.random(X.shape) < 0.6] = 0.0
    C = 10.0 ** rng.uniform(-2, 2)
    weights = rng.choice([0.0, 1.0, 2.0, 0.3], size=n)
    weights[:2] = 1.0
    options = {"C": C, "sample_weight": weights if rng.integers(2) else None}
    size = C * np.abs((X * y[:, None]).sum(axis=0)).max()
    share = float(rng.choice([0.0, 0.01, 0.1, 0.5]))
    options["norm_penalty"] = share * size
    radius = float(rng.choice([0.0, 0.05, 0.3])) if share else 0.1
    options["radius"] = (
        radius * rng.uniform(0, 2, size=n) if rng.integers(2) else radius
    )
    if kind == "cells":
        errors = rng.uniform(0, 1.5, size=(n, d)) * (rng.random((n, d)) < 0.7)
        options |= {"X_err": sp.csr_array(errors) if sparse else errors}
        options["error_shape"] = "box"
    else:
        options["noise"] = "linf" if kind == "linf" else Box(rng.uniform(0, 2, size=d))
    X = sp.csr_array(X) if sparse else X.astype([np.float64, np.float32][seed % 2])
    if seed % 5 == 0:
        options = nearly_degenerate(X, y, options, intercept, rng)
    problem = Problem.from_data(X, y, intercept=intercept, **options)
    return solved(problem, X, y, options, intercept)


def nearly_degenerate(X, y, options, intercept, rng) -> dict:
    """The same with the norm penalty next to where a feature comes in or leaves."""
    if options.get("error_shape") == "box" or np.any(options["radius"]):
        return options
    first = Problem.from_data(X, y, intercept=intercept, **options)
    near = solved(first, X, y, options, intercept)
    dual = first.dual_at(near.alpha)
    scales = np.broadcast_to(first.noise.sets.scales, dual.d.shape)
    levels = np.abs(dual.d) / np.maximum(scales, 1e-3)
    move = 1 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-12, -2)
    return options | {"norm_penalty": float(rng.choice(levels)) * move}


def by_oracle(problem: Problem) -> Sparse:
    """The problem with the conic solver's solution."""
    found = solve_conic(problem)
    return judged(problem, found.w, found.b, found.alpha)


def solved(problem: Problem, X, y, options, intercept) -> Sparse:
    """The problem with its solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = solve(
            X, y, **intercept_options(intercept), tol=1e-10, screening=None, **options
        )
    return judged(problem, found.w, found.b, found.alpha)


def judged(problem: Problem, w, b, alpha) -> Sparse:
    """What a solution proves: w is within √(2G) of the optimum."""
    gap = problem.certificate(problem.at(w, b), problem.dual_at(alpha)).bound
    alpha = np.clip(alpha, 0.0, problem.weights)
    return Sparse(problem, w, b, alpha, float(np.sqrt(2 * gap)), gap)


def pairs(solved: Sparse, rng, levels=LEVELS):
    """Pairs from poor to optimal: perturbed, drawn towards 0, and of the dual point."""
    problem = solved.problem
    size = np.linalg.norm(solved.w) + 1e-3
    for level in levels:
        w = solved.w + level * size * rng.normal(size=problem.rows.d)
        move = level * problem.weights * rng.normal(size=problem.n)
        dual = problem.dual_at(np.clip(solved.alpha + move, 0.0, problem.weights))
        yield Pair(problem.at(w), dual)
        yield Pair(problem.at(dual.w, dual.b if problem.intercept else None), dual)
        drawn = problem.dual_at((1 - level) * solved.alpha)
        yield Pair(problem.at((1 - level) * solved.w), drawn)
        yield Pair(problem.at(solved.w, solved.b), drawn)
