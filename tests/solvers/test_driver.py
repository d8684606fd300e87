"""The loop that settles rows, solves the others, verifies and takes rows back."""

import numpy as np
import pytest

from problems import make_problem
from wideberth import solve
from wideberth.solvers.base import Control
from wideberth.solvers.batches import Batches, FirstPass, Gather, part_of
from wideberth.solvers.driver import Driver, solve_in_memory


def far_off(n=20_000):
    """A problem, and a start whose first working set has too few of its rows."""
    problem = make_problem(6, n=n, d=4, C=10.0, separation=0.2)
    return problem, problem.at(np.full(4, 0.05))


# -- gathering -------------------------------------------------------------------------


def test_rows_without_weight_are_not_handed_over():
    problem = make_problem(3, n=400, d=4)
    problem = problem.with_weights(problem.weights * (np.arange(400) % 2))
    for asked in (FirstPass(np.zeros(4), 1.0, 0, True), Gather(np.ones(4), 0.0)):
        answer = asked(0, problem)
        np.testing.assert_array_equal(answer.piece.indices, np.arange(1, 400, 2))


# -- the loop --------------------------------------------------------------------------


def test_rows_that_were_settled_wrongly_stay_in_every_working_set(monkeypatch):
    problem, start = far_off()
    solve, seen, pinned = Driver.solve_part, [], []

    def watched(self, work):
        assert np.isin(pinned, work.problem and work.members[0]).all()
        found = solve(self, work)
        seen.append(len(pinned))
        return found

    gather = Driver._gather

    def noted(self, question, solved):
        work = gather(self, question, solved)
        pinned.extend(work.crossed.get(0, []))
        return work

    monkeypatch.setattr(Driver, "solve_part", watched)
    monkeypatch.setattr(Driver, "_gather", noted)
    assert solve_in_memory(problem, Control(1e-6), start, 0.02).meets(1e-6)
    assert max(seen) > 0


def test_what_is_settled_does_not_bear_on_the_answer():
    problem, start = far_off()
    best = solve_in_memory(problem, Control(1e-9))
    for band in (0.0, 0.1, np.inf):
        found = solve_in_memory(problem, Control(1e-7), start, band)
        assert found.meets(1e-7)
        assert found.point.value == problem.at(found.point.w, found.point.b).value
        afresh = problem.dual_at(found.dual.alpha)
        assert abs(found.dual.value - afresh.value) <= 1e-9 * best.point.value
        assert found.dual.value <= best.point.value * (1 + 1e-12)


@pytest.mark.parametrize("intercept", [None, 0.0, 2.0])
def test_rows_in_memory_are_one_batch_of_many(intercept):
    """The same loop over one batch and over several ends at the same optimum."""
    problem = make_problem(2, n=30_000, d=6, C=0.1, radius=0.05, intercept=intercept)

    class Several(Batches):
        capacity, sets, intercept = problem.n, problem.noise.sets, problem.intercept
        n, d = problem.n, problem.rows.d

        def ask(self, question):
            for number, J in enumerate(np.array_split(np.arange(problem.n), 5)):
                yield part_of(question, number)(number, problem.take(J))

        def grouping(self, n):
            raise NotImplementedError

        def spares(self, size):
            return True

    one = solve_in_memory(problem, Control(1e-6))
    several = Driver(Several(), Control(1e-6))
    several.run()
    assert one.meets(1e-6)
    assert several.certificate.meets(1e-6)
    assert several.passes <= 5
    assert several.point.value == pytest.approx(one.point.value, rel=2e-6)
    alpha, _, _ = several.dual_weights()
    value = problem.dual_at(alpha).value
    assert value == pytest.approx(several.certificate.dual, rel=1e-9)


def test_a_sample_costs_no_read_that_only_evaluates_the_objective(monkeypatch):
    xp = pytest.importorskip("array_api_strict")
    monkeypatch.setattr("wideberth.data.sources.DEVICE_ENTRIES", 1 << 17)
    ask, asked = Driver._ask, []

    def recorded(driver, question):
        asked.append((driver.proof is not None, getattr(question, "most", None)))
        return ask(driver, question)

    monkeypatch.setattr(Driver, "_ask", recorded)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 20))
    y = np.where(X[:, 0] + rng.normal(size=60_000) > 0, 1.0, -1.0)
    X, y = xp.asarray(X), xp.asarray(y)
    solve(X, y, C=0.01, radius=0.05, fit_intercept=False, random_state=0)
    assert len(asked) > 2  # a sample, its rows, and what proves them
    assert (False, 0) not in asked
    assert (True, 0) in asked
