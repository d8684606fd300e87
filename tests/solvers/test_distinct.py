"""Data in chunks whose rows repeat: a working set holds each of them once."""

import numpy as np

from wideberth import solve
from wideberth.problem import Problem
from wideberth.solvers.driver import Driver


def test_rows_near_the_margin_are_merged(monkeypatch):
    rng, n = np.random.default_rng(9), 20_700
    J, few = rng.integers(200, size=n), np.round(rng.normal(size=(200, 4)), 3)
    X, radius = few[J], rng.choice([0.0, 0.2], 200)[J]
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    weight = rng.exponential(size=n) * (rng.random(n) < 0.9)
    X[:6_000] = rng.normal(size=(6_000, 4))  # where not all repeat
    ends = [slice(0, 6_000), slice(6_000, 15_000), slice(15_000, n)]
    chunks = [(X[s], y[s], weight[s], radius[s]) for s in ends]
    sizes, solve_rows = [], Driver._solution

    def listen(self, work, problem, control):
        sizes.append((problem.n, work.chance.size))
        return solve_rows(self, work, problem, control)

    monkeypatch.setattr(Driver, "_solution", listen)
    found = solve(chunks, C=0.01)
    assert any(2 * n < handed_over for n, handed_over in sizes)
    options = {"radius": radius, "sample_weight": weight, "C": 0.01}
    problem = Problem.from_data(X, y, **options, intercept=0.0)
    assert problem.gap(found.w, found.b, found.alpha) <= 1e-6 * found.primal
