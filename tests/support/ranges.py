"""Random problems along one parameter, and what spans claim held against Clarabel."""

import numpy as np

from measured import make_measured
from problems import make_problem, random_alpha
from wideberth.problem import Pair
from wideberth.problem.changes import Presolved, merge_rows
from wideberth.screening.ranges import Anchor, Span
from wideberth.solvers.base import Options
from wideberth.solvers.conic import ConicError, solve_conic
from wideberth.solvers.registry import choose_solver
from wideberth.solvers.spans import Along

AXES = ("C", "radius", "norm_penalty")
INTERCEPTS = (None, 1.0, 0.0)


def draw_along(seed):
    """A random problem along C, the radius or a norm penalty, and the ends of a range.

    Shapes, error bars of every kind, intercepts, weights, penalties and both losses.
    """
    rng = np.random.default_rng([17, seed])
    axis, intercept = AXES[seed % 3], INTERCEPTS[seed // 3 % 3]
    tilt = [0.0, 0.3, 0.5][rng.integers(3)]
    form = ["shape", "ellipsoid", "box", "covariance", "lopsided"][rng.integers(5)]
    form = "shape" if axis == "norm_penalty" and form != "box" else form
    penalty = [0.0, 0.05][rng.integers(2)] if form in ("shape", "box") else 0.0
    if form == "shape":
        problem = make_problem(
            seed,
            shape=["l2", "linf", "l1", "ellipsoid"][rng.integers(4)],
            intercept=intercept,
            radius=[0.0, 0.1, 0.5][rng.integers(3)] if axis != "radius" else 0.3,
            spread_radii=bool(rng.integers(2)),
            weights=["ones", "random"][rng.integers(2)],
            targets="normal" if tilt else "ones",
        )
    else:
        problem = make_measured(seed, form=form, n=20, intercept=intercept)
        if tilt:
            problem = problem.with_targets(rng.normal(size=problem.n))
    if tilt:
        problem = problem.with_labels(np.full(problem.n, -1.0))
    units = merge_rows(Presolved(problem, tilt=tilt))
    C, s = 10 ** rng.uniform(-2, 1), penalty * problem.n
    control = Options(tol=1e-8).control(problem)
    solver = choose_solver(units.posed, "newton")
    along = Along(units, control, solver, axis, C=C, norm_penalty=s)
    low = {"C": C, "radius": rng.choice([0.0, 0.5]), "norm_penalty": 0.0}[axis]
    wide = 10 ** rng.uniform(-1.5, 0.5)
    high = C * (1 + wide) if axis == "C" else low + wide
    return along, float(low), float(high)


def span_of(along, low, high, kind, rng):
    """A span whose ends are exact, rough, of one pair, or random feasible points."""
    if kind == "exact":
        return Span.between(along.solve(low), along.solve(high))
    if kind == "one pair":
        here = along.solve(low)
        problem, pair = along.problem(high), here.pair
        ratio = high / low if along.axis == "C" else 1.0
        alpha = np.minimum(ratio * pair.dual.alpha, problem.weights)
        there = problem.at(pair.point.w, pair.point.b)
        moved = Pair(there, problem.dual_at(alpha, near=pair.point.w))
        return Span.between(here, Anchor(high, problem, moved, here.moving))
    ends = []
    for at in (low, high):
        anchor, problem = along.solve(at), along.problem(at)
        noise = {"rough": 0.05, "random": 1.0}[kind] * rng.normal(size=problem.rows.d)
        w = anchor.pair.point.w * (1 + noise) + (kind == "random") * noise
        alpha = anchor.pair.dual.alpha * rng.uniform(0.9, 1, size=problem.n)
        alpha = random_alpha(problem, rng) if kind == "random" else alpha
        point = problem.at(w)
        pair = Pair(point, problem.dual_at(alpha, near=w))
        ends.append(Anchor(at, problem, pair, anchor.moving))
    return Span.between(*ends)


def examine_span(along, span, rng, values=4):
    """How often Clarabel's optimum, between the ends, contradicts a span."""
    count = {"outside": 0, "uncertified": 0}
    low, high = span.first.at, span.last.at
    for at in [low, high, *rng.uniform(low, high, size=values)]:
        problem = along.problem(at)
        try:
            oracle = solve_conic(problem)
        except ConicError:
            continue
        found = Pair(problem.at(oracle.w), problem.dual_at(oracle.alpha, near=oracle.w))
        off = np.sqrt(2 * found.certificate.bound)
        t = span.share(at)
        centers = [span.first.center, span.last.center]
        w = (1 - t) * centers[0][0] + t * centers[1][0]
        apart = np.linalg.norm(found.point.w - w)
        if problem.intercept:
            b = (1 - t) * centers[0][1] + t * centers[1][1]
            apart = np.hypot(apart, problem.intercept**0.5 * (found.point.b - b))
        start, end = t * rng.random(), t + (1 - t) * rng.random()
        around = span.radius(start, end)
        count["outside"] += not apart <= min(span.radius(t, t), around) + off
        proof, size = span.proof.at(t), found.certificate.rounding
        (a, b), (v, c) = (
            (e.pair.point.w, e.pair.point.b) for e in (span.first, span.last)
        )
        model = problem.at((1 - t) * a + t * v, (1 - t) * b + t * c)
        above = model.value <= proof.primal + proof.rounding + 2 * model.rounding
        below = proof.dual - proof.rounding <= found.point.value + size
        count["uncertified"] += not (above and below)
    return count
