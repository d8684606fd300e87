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
