"""Steps of the interior-point method against the equations that they are to solve."""

import numpy as np
import pytest
from support.problems import make_problem

from wideberth.solvers.interior import InteriorPoint, class_barrier, even_barrier

BARRIERS = [lambda problem: None, even_barrier, class_barrier]


def under_way(barrier, noise, seed, radius=0.1, steps=3):
    """The method after some steps on a problem with unequal weights."""
    problem = make_problem(
        seed, shape=noise, n=60, d=4, radius=radius, weights="random", intercept=0.0
    )
    engine = InteriorPoint(problem, barrier=barrier(problem))
    for _ in range(steps):
        assert engine.step()
    return engine


def predicted(engine):
    """dx of a predictor, its relative move of the dual_slack, and what is to be corrected."""
    block = engine.block
    block.scale(engine)
    weights, per_mu = engine.hinge_curvature()
    theta = engine.c * weights
    factor, sums = block.system(theta, (engine.slack, per_mu))
    right = engine.combined - block.rows.penalty * engine.x
    engine.factor = factor
    return engine._predict(right, theta, weights, engine.slack, sums)[:3]


@pytest.mark.parametrize("barrier", BARRIERS)
@pytest.mark.parametrize("noise", ["l2", "linf", "l1"])
def test_steps_keep_the_equations_that_are_linear(barrier, noise):
    """u = p − q, (1−a) + a = 1 and Σα_ie_i hold after every step, whatever its length."""
    engine = under_way(barrier, noise, 0)
    for _ in range(4):
        assert engine.step()
        scale = np.abs(engine.multiplier).max()
        difference = engine.multiplier[0] - engine.multiplier[1]
        np.testing.assert_allclose(difference, engine.slack, atol=1e-9 * scale)
        np.testing.assert_allclose(engine.dual_slack.sum(axis=0), 1.0, atol=1e-12)
        slack = 1 - engine.block.rows.products(engine.x)
        np.testing.assert_allclose(engine.slack, slack, atol=1e-9 * scale)
        combined = engine.block.rows.combine(engine.alpha) + engine.block.rows.folded
        size = np.abs(engine.combined).max()
        np.testing.assert_allclose(engine.combined, combined, atol=1e-9 * size)


@pytest.mark.parametrize("barrier", BARRIERS)
@pytest.mark.parametrize("radius", [0.0, 0.1])
@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_mu_after_a_predictor_is_told_without_taking_it(barrier, radius, steps):
    """Mehrotra's rule asks for the mean product at the longest step of a predictor."""
    engine = under_way(barrier, "l2", 2, radius, steps)
    mu, (dx, rate, lifts) = engine.mu, predicted(engine)
    target, _ = engine._correct(dx, rate, lifts)
    longest = min(1.0, engine.block.longest())
    for rates in (rate, -1 - rate):
        longest = min(longest, 1 / max(-rates.min(), 1.0))
    dual_slack = engine.dual_slack * (1 + longest * rate)
    multiplier = engine.multiplier * (1 - longest * (1 + rate))
    units = 1.0 if engine.barrier is None else engine.barrier
    after = float((units * dual_slack * multiplier).mean())
    assert target == pytest.approx(mu * min(max(after / mu, 0.0), 1.0) ** 3, rel=1e-8)
