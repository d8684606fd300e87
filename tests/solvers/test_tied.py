"""Rows tied at the margin, the method for many rows, and the rules of working sets."""

from contextlib import nullcontext
from copy import copy
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import make_problem

from wideberth import NullModelWarning, solve
from wideberth.problem import Problem
from wideberth.screening import Reduction
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.interior import InteriorPoint, class_barrier
from wideberth.solvers.newton.rounds import Rounds, assume, wrongly_settled
from wideberth.solvers.tall import tied
from wideberth.solvers.tall.line_search import pulled_back
from wideberth.solvers.tall.passes import Gather
from wideberth.solvers.tall.tied import OnPath, Path, centred_force, is_tied, solve_tied


def rare_class(n=60_000, d=6, share=0.02, seed=0):
    """Labels that hardly depend on the features: w is nearly 0, and rows are tied."""
    rng = np.random.default_rng(seed)
    X = rng.integers(5, size=(n, d)) + 1e-3 * rng.normal(size=(n, d))
    y = np.where(rng.random(n) < share * (1 + 0.2 * (X[:, 0] > 3)), 1.0, -1.0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def large_problem(sparse=False, radius=0.1, seed=0):
    """One whose rows are too many for a table of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6_000, 50))
    y = np.where(X[:, 0] + rng.normal(size=6_000) > 0.5, 1.0, -1.0)
    X = sp.csr_array(np.where(np.abs(X) > 1, X, 0.0)) if sparse else X
    return Problem.from_data(X, y, C=0.1, radius=radius, intercept=0.0)


def weighted_by_class(problem, heavy=50.0):
    """The problem as a sample has it: few rows of the common class, heavy ones."""
    weights = np.where(problem.y < 0, heavy, 1.0) * problem.weights
    return problem.take(np.arange(problem.n), weights=weights)


# -- barriers and reads --------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_a_step_reads_the_rows_three_times(sparse, radius):
    """And does what five products on a table of all rows do."""
    problem = weighted_by_class(large_problem(sparse, radius))
    blocks = InteriorPoint(problem, barrier=class_barrier(problem))
    table = blocks.copied()
    assert blocks.block.rows.table is None
    table.block.rows = copy(blocks.block.rows)
    table.block.rows.table = table.block.rows.dense()
    for _ in range(4):
        before = problem.rows.passes.rows_touched
        assert blocks.step()
        assert problem.rows.passes.rows_touched - before == 3 * problem.n
        assert table.step()
        np.testing.assert_allclose(blocks.x, table.x, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(blocks.room, table.room, rtol=1e-5, atol=1e-10)
        np.testing.assert_allclose(blocks.force, table.force, rtol=1e-5, atol=1e-10)


def test_classes_weigh_the_same_in_the_barrier():
    problem = weighted_by_class(make_problem(0, n=200, d=3))
    barrier = class_barrier(problem)
    by_class = [(problem.weights / barrier)[problem.y == side] for side in (-1, 1)]
    assert by_class[0].mean() == pytest.approx(by_class[1].mean())
    assert barrier.max() == 1
    assert class_barrier(problem.take(np.flatnonzero(problem.y > 0))) is None


def test_small_problems_of_even_weights_have_an_even_barrier():
    assert class_barrier(make_problem(0, n=200, d=3)) is None


def test_a_rare_class_does_not_end_every_step():
    """Without barriers by class a hundred steps do not do."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(4_000) < 1_000, 1.0, -1.0)
    X = rng.normal(size=(4_000, 20)) + 0.3 * (y > 0)[:, None]
    problem = Problem.from_data(X, y, C=1.0, intercept=0.0)
    problem = weighted_by_class(problem, 100.0)
    engine, steps = InteriorPoint(problem, barrier=class_barrier(problem)), 0
    while engine.relative_gap > 1e-5 and steps < 60:
        assert engine.step()
        steps += 1
    assert engine.relative_gap <= 1e-5


# -- the central path ----------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e-12, 1e-3, 10.0])
def test_centred_pairs_solve_their_equations(mu):
    slack = np.array([-1e6, -3.0, -1e-9, 0.0, 1e-9, 0.5, 1e6])
    p, q = centred_force(slack, mu)
    assert min(p.min(), q.min()) > 0
    np.testing.assert_allclose(mu / p + mu / q, 1.0, rtol=1e-12)  # 1−a and a
    np.testing.assert_allclose(p - q, slack, rtol=1e-9, atol=4 * mu * 1e-15)


def on_path(problem, goal=1e-4):
    path, control = Path(problem), Control(goal)
    path.follow(control, goal)
    path.centre(control)
    return path


@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_a_path_carried_over_to_its_own_rows_is_where_it_was(radius):
    X, y = rare_class(3_000)
    problem = Problem.from_data(X, y, C=1.0, radius=radius, intercept=0.0)
    path = on_path(problem)
    products = path.room * path.force / path.held
    assert np.sqrt(np.mean((products - 1) ** 2)) <= 0.1
    before = problem.rows.passes.rows_touched
    other = path.carried_over(problem)
    assert problem.rows.passes.rows_touched == before + problem.n
    assert other.mismatch() < 0.1
    np.testing.assert_allclose(other.room.sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        other.combined,
        other.block.rows.combine(other.alpha) + other.block.rows.folded,
        atol=1e-9,
    )
    np.testing.assert_allclose(other.slack, path.slack, atol=1e-9)


def test_a_path_ends_no_farther_than_asked():
    X, y = rare_class(3_000)
    path = Path(Problem.from_data(X, y, C=1.0, intercept=0.0))
    path.follow(Control(), 1e-4)
    assert 3e-5 < path.relative_gap <= 1e-4


def test_ties_are_told_from_a_vertex():
    X, y = rare_class(3_000)
    problem = Problem.from_data(X, y, C=1.0, intercept=0.0)
    tie = on_path(problem)
    found = Outcome(problem.at(tie.w, tie.b), problem.dual_at(tie.alpha))
    assert is_tied(problem, found)
    vertex = make_problem(1, n=3_000, d=6, separation=0.5)
    path = on_path(vertex, 1e-7)
    found = Outcome(vertex.at(path.w), vertex.dual_at(path.alpha))
    assert not is_tied(vertex, found)


@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_tied_rows_are_solved_in_few_passes_and_steps(radius, monkeypatch):
    X, y = rare_class()
    steps, step = [], InteriorPoint.step

    def watched(engine):
        steps.append(engine.problem.n)
        return step(engine)

    monkeypatch.setattr(InteriorPoint, "step", watched)
    options = {"C": 1.0, "radius": radius, "tol": 1e-4, "random_state": 0}
    with pytest.warns(NullModelWarning) if radius else nullcontext():
        found = solve(X, y, solver="newton", **options)
    assert found.converged
    assert sum(n > 0.5 * len(y) for n in steps) <= 4  # typically 1 or 2
    assert found.passes <= 25


def test_a_path_of_other_data_is_not_gone_on_with():
    X, y = rare_class(3_000)
    path = on_path(Problem.from_data(X, y, C=1.0, intercept=0.0), 1e-6)
    other = make_problem(1, n=3_000, d=6, C=1.0, intercept=0.0, separation=2.0)
    before = other.rows.passes.rows_touched
    assert solve_tied(other, Control(1e-4), path) is None
    assert other.rows.passes.rows_touched == before + other.n  # one read tells


def test_a_path_that_does_not_lead_to_the_tolerance_is_given_up(monkeypatch):
    X, y = rare_class(3_000)
    problem = Problem.from_data(X, y, C=1.0, intercept=0.0)
    path = on_path(problem, 1e-2)
    monkeypatch.setattr(Path, "follow", lambda *_: None)
    assert solve_tied(problem, Control(1e-8), path) is None


def test_noise_takes_part_in_the_mismatch():
    problem = large_problem(radius=0.1)
    path = on_path(problem, 1e-5)
    assert np.linalg.norm(path.w) > 0.1
    other = path.carried_over(problem)
    whole, other.block.h = other.mismatch(), 0.0 * other.block.h
    assert whole < 0.3 * other.mismatch()  # what noise holds back counts


def test_search_goes_on_where_a_path_leads_nowhere(monkeypatch):
    X, y = rare_class()
    asked = []

    def nowhere(*given):
        asked.append(given)

    monkeypatch.setattr(tied, "solve_tied", nowhere)
    found = solve(X, y, C=1.0, solver="newton", tol=1e-4, random_state=0)
    assert asked
    assert found.converged


def test_a_path_without_a_step_is_not_trusted():
    path = Path(make_problem(0, n=60, d=3))
    assert path.mismatch() == np.inf


def test_a_solution_on_the_path_is_certified_afresh():
    X, y = rare_class(6_000)
    problem = Problem.from_data(X, y, C=1.0, intercept=0.0)
    found = solve_tied(problem, Control(1e-5), on_path(problem))
    assert isinstance(found, OnPath)
    assert found.certificate.proves(1e-5)
    assert found.point.value == problem.at(found.point.w, found.point.b).value


# -- rules of working sets -------------------------------------------------------------


def gathered(problem, start, end, **how):
    best = problem.at(start)
    question = Gather(end, 0.0, before=best, good=lambda point: False, **how)
    return question(0, problem), best


def test_a_worse_point_is_pulled_back_to_a_better_one():
    problem = make_problem(3, n=2_000, d=4, separation=0.5)
    path = on_path(problem, 1e-6)
    best = 0.9 * path.w
    answer, before = gathered(problem, best, 40.0 * path.w)
    assert problem.at(40.0 * path.w).value > before.value
    assert answer.point.value < before.value
    np.testing.assert_allclose(answer.point.margins, problem.at(answer.point.w).margins)
    way = answer.point.w - best
    toward = 40.0 * path.w - best
    share = float(way @ toward) / float(toward @ toward)
    least = min(problem.at(best + t * toward).value for t in np.linspace(0, 1, 2001))
    gain = before.value - least
    assert before.value - answer.point.value > 0.9 * gain  # nearly the best on the way
    # Rows that cross up to twice as far are handed over.
    farther = problem.at(best + 2 * share * toward)
    crossed = np.flatnonzero((before.slack > 0) != (farther.slack > 0))
    assert np.isin(crossed, answer.piece.indices).all()


def test_no_better_point_on_the_way_leaves_the_best_one():
    problem = make_problem(3, n=2_000, d=4, separation=0.5)
    path = on_path(problem, 1e-12)
    answer, best = gathered(problem, path.w, -50.0 * path.w)
    assert answer.point is best


def test_pulling_back_grows_the_working_set_by_a_tenth():
    problem = make_problem(3, n=2_000, d=4, separation=0.5)
    path = on_path(problem, 1e-12)
    pinned = {0: np.arange(500)}
    none, best = gathered(problem, path.w, -50.0 * path.w)
    more, _ = gathered(problem, path.w, -50.0 * path.w, pinned=pinned)
    assert np.isin(pinned[0], more.piece.indices).all()
    asked = problem.at(-50.0 * path.w)
    _, early = pulled_back(problem, best, asked, held=500)
    assert early.sum() >= 50
    assert more.piece.n > none.piece.n


def test_a_better_point_is_not_pulled_back():
    problem = make_problem(3, n=2_000, d=4, separation=0.5)
    w = on_path(problem, 1e-9).w
    answer, _ = gathered(problem, 0.5 * w, w)
    np.testing.assert_array_equal(answer.point.w, w)


def test_the_last_fork_with_all_wrong_rows_is_gone_back_to():
    problem = make_problem(0, n=40, d=3)
    whole = Reduction.of(problem)
    slack = np.linspace(-1.0, 1.0, 40)
    some = whole.shrink(assume(np.arange(40) < 30, slack))
    few = some.shrink(assume(np.arange(30) < 10, slack[:30]))
    rounds = Rounds(problem, Control())
    for wrong, expected, left in ((25, "some", 1), (35, "whole", 0), (5, "few", 2)):
        rounds.forks = [(whole, "whole"), (some, "some"), (few, "few")]
        mask = np.arange(40) == wrong
        assert rounds._last_with(mask)[1] == expected
        assert len(rounds.forks) == left
    rounds.forks = [(whole, "whole"), (some, "some"), (few, "few")]
    assert rounds._last_with(np.isin(np.arange(40), (5, 25)))[1] == "some"
    rounds.forks = [(some, "some")]
    assert rounds._last_with(np.arange(40) == 35) is None
    rounds.forks = [(some, "some")]
    assert rounds._last_with(np.zeros(40, dtype=bool)) is None


def test_rows_that_were_settled_wrongly_are_pinned():
    problem = make_problem(0, n=40, d=3)
    found = Outcome(problem.at(np.ones(3)), problem.dual_at(np.zeros(40)))
    rounds = Rounds(problem, Control(1e-6))
    rounds.screener = SimpleNamespace(update=lambda *_: None)
    rounds.best = SimpleNamespace(keep=lambda _: None)
    rounds.point, rounds.goal, rounds.band = None, 1.0, np.ones(40)
    rounds.pinned, wrong = np.zeros(40, dtype=bool), np.arange(40) < 3
    rounds._accept(found, wrong)
    assert np.array_equal(rounds.pinned, wrong)
    assert rounds.goal == 1
    rounds._accept(found, np.zeros(40, dtype=bool))
    assert np.array_equal(rounds.pinned, wrong)


def test_rows_that_were_settled_wrongly_stay_in_every_working_set(monkeypatch):
    problem = make_problem(6, n=20_000, d=4, C=10.0, separation=0.2)
    rounds, seen = Rounds(problem, Control(1e-6, screening=None)), []
    verify, working_set = Rounds._verify, Rounds._working_set
    pinned = np.zeros(problem.n, dtype=bool)

    def watched_set(self):
        work, engine = working_set(self)
        assert np.isin(np.flatnonzero(pinned), work.free).all()
        seen.append(int(pinned.sum()))
        return work, engine

    def watched(self, work, engine):
        found = verify(self, work, engine)
        wrong = wrongly_settled(work, found.point.slack)
        if wrong.sum() <= 8 * work.free.size:
            pinned[wrong] = True
        return found

    monkeypatch.setattr(Rounds, "_working_set", watched_set)
    monkeypatch.setattr(Rounds, "_verify", watched)
    start = problem.at(np.full(4, 0.05))
    found = rounds.solve(start, np.full(problem.n, 0.02))
    assert found.meets(1e-6)
    assert max(seen) > 0
