"""What a run may call certified."""

import numpy as np

from problems import make_problem
from wideberth._solve import solve
from wideberth.problem import Pair
from wideberth.screening import Partition, Screener
from wideberth.solvers.base import Best
from wideberth.solvers.driver import Driver


def test_only_the_gap_of_all_samples_certifies():
    # Samples that matter are "decided" away: the rest is solved exactly, yet nothing
    # is certified, for the certificate is that of all samples.
    problem = make_problem(0, n=30, separation=0.3)
    gone = np.arange(problem.n) < 15
    nothing = np.zeros(problem.n)
    screener = Screener(
        problem, None, Partition(gone, np.zeros_like(gone), nothing, nothing)
    )
    rest = screener.problem
    found = solve(rest.rows.X, rest.y, radius=rest.radii, tol=1e-9, fit_intercept=False)
    best = Best(screener)
    best.keep(Pair(rest.at(found.w), rest.dual_at(found.alpha)))
    assert best.found.meets(1e-6)
    assert not best.certified(1e-6)
    assert best.finish().point.margins.size == problem.n
    assert best.finish().point.value == problem.at(found.w).value


def test_a_search_that_never_has_rows_enough_ends_in_time(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, 1, -1)
    monkeypatch.setattr(Driver, "_too_few", lambda self, work: True)

    def chunks():
        for start in range(0, len(X), 5000):
            yield X[start : start + 5000], y[start : start + 5000]

    found = solve(chunks, C=0.1, tol=1e-9, max_seconds=1.0, quiet=True)
    assert not found.converged
    assert np.isfinite(found.primal)
