"""A lower bound on the ramp objective over all models, by convex problems (theory §11).

Let R̂ be the value of R at some model. A best model (w*,b*) has R ≤ R̂, and wherever its
robust margins are known to be at least l_i < a the ramp lies above a chord,

    min([1−ψ]_+, 1−a) ≥ θ_i[1−ψ]_+   for ψ ≥ l_i,   θ_i = (1−a)/(1−l_i) ≤ 1,

and is the hinge itself, θ_i = 1, where l_i ≥ a. So R* ≥ min E, the robust SVM of
weights θ_ic_i, and any dual point of that, D(α), is a bound. It tells more of (w*,b*)
in turn: R̂ ≥ E(w*,b*) ≥ D(α) + ½‖w*−w(α)‖² + ½λ_b(b*−b(α))², a ball about w(α), hence
larger l_i. With a free intercept b* may be taken where some margin is 1 or a, since R
is linear in b between such places; all samples' ranges bound those.

The first ball, of α = 0, has the radius √(2R̂). It is wide where n·C is large, and the
bound is then a small share of R̂; with few samples, or where C is small, it is close.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem import DualPoint
from wideberth.problem.limits import LITTLE, MOST_STEPS
from wideberth.problem.ramp import Ramp
from wideberth.problem.rows import gamma
from wideberth.screening.bounds import separable
from wideberth.screening.regions import Region
from wideberth.solvers.attempts import NUMERICAL
from wideberth.solvers.base import Control, Random, Solver


def lower_bound(ramp: Ramp, value: float, solver: Solver) -> float:
    """What R is at least at every model; `value` is R at one, with its rounding."""
    problem, control = ramp.problem, Control(LITTLE * LITTLE, screening=None)
    control.random = Random(0)
    least, bound = np.full(problem.n, -np.inf), 0.0
    dual = problem.dual_at(np.zeros(problem.n))
    for _ in range(MOST_STEPS):
        least = np.fmax(least, least_margins(ramp, value, dual))
        easier = problem.with_weights(chords(ramp, least) * problem.weights)
        try:
            found = solver.solve(easier, control).dual
        except NUMERICAL:
            break
        proven = found.value - found.rounding
        if not proven > bound:
            break
        gained, bound, dual = proven - bound, proven, found
        if gained <= LITTLE * LITTLE * bound or control.exhausted():
            break
    return bound


def least_margins(ramp: Ramp, value: float, dual: DualPoint) -> np.ndarray:
    """The least that ψ_i can be at a model of R ≤ `value`, from a dual point of E."""
    problem = ramp.problem
    above = max(value - dual.value, 0.0) + dual.rounding
    radius = np.sqrt(2 * above) * (1 + gamma(8)) + dual.center_rounding
    margins, norm = problem.rows.margins(dual.w), float(np.linalg.norm(dual.w))
    region = Region(dual.w, dual.b, margins, float(radius), above, norm + radius)
    lower, upper = separable(problem, region)(slice(None))
    if problem.intercept != 0:
        return lower
    used = problem.weights > 0
    if not used.any():
        return lower
    positive = problem.y > 0
    low = np.where(positive, ramp.level - upper, lower - 1)[used].min()
    high = np.where(positive, 1 - lower, upper - ramp.level)[used].max()
    shift = np.where(positive, low, -high)
    return lower + shift - gamma(8) * np.abs(shift)


def chords(ramp: Ramp, least: np.ndarray) -> np.ndarray:
    """θ_i: what of the hinge is below the ramp from these margins on."""
    slopes = ramp.most / np.maximum(1 - least, ramp.most)
    return slopes * (1 - gamma(4))
