"""Every forty-eighth case of `make torture`, and proof that its harness can fail."""

import itertools
import time

import numpy as np
import pytest

import torture
from oracle import Answer, Task, dual_value, judge, primal_value
from torture import Worker, examine, run, run_solve
from torture_problems import Case, cases, clouds

ALL = cases()
FAMILIES = itertools.groupby(ALL, key=lambda case: case.family)


def test_the_problems_are_many_and_distinct():
    assert len(ALL) >= 500
    assert len({case.title for case in ALL}) == len(ALL)


def test_every_family_ends_in_a_certificate_or_in_plain_words():
    results = run([case for _, some in FAMILIES for case in list(some)[::48]])
    assert len(results) > 35
    broken = {r.title: r.complaints for r in results if r.outcome == "wrong"}
    assert not broken
    certified = sum(result.outcome == "certified" for result in results)
    assert certified > 0.75 * len(results)


def test_the_oracle_agrees_with_a_problem_done_by_hand():
    # One sample of each class at ±1: w* = 1 where C ≥ ½, α = ½ each, P = D = ½.
    task = Task(np.array([[1.0], [-1.0]]), [1, -1], C=2.0)
    assert primal_value(task, [1.0], 0.0) == 0.5
    assert dual_value(task, [0.5, 0.5]) == 0.5
    assert primal_value(task, [0.5], 0.0) == 0.125 + 2
    noisy = Task(np.array([[1.0], [-1.0]]), [1, -1], C=2.0, radius=0.5)
    assert dual_value(noisy, [2.0, 2.0]) == 4 - (4 - 2) ** 2 / 2


@pytest.fixture(scope="module")
def certified():
    X, y = clouds(1)
    ((task, answer),) = run_solve(Case("any", "case", X, y, {"radius": 0.2}, 0.0))
    return task, answer


def test_a_true_certificate_passes(certified):
    verdict = judge(*certified, torture.TOL)
    assert not verdict.complaints
    assert 0 <= verdict.ratio <= 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: {"primal": 0.999 * a.primal}, "primal"),
        (lambda a: {"dual": 1.001 * a.dual}, "dual"),
        (lambda a: {"dual": 1.001 * a.dual}, "negative beyond rounding"),
        (lambda a: {"w": 1.01 * a.w}, "primal"),
        (lambda a: {"alpha": 0.9 * a.alpha}, "dual"),
        (lambda a: {"alpha": a.alpha + 1}, "outside"),
        (lambda a: {"alpha": -a.alpha}, "outside"),
        (lambda a: {"alpha": np.arange(len(a.alpha)) / 100}, "free intercept"),
        (lambda a: {"w": np.nan * a.w}, "not finite"),
    ],
)
def test_a_tampered_certificate_is_caught(certified, change, said):
    task, answer = certified
    tampered = Answer(**vars(answer) | change(answer))
    assert any(said in text for text in judge(task, tampered, torture.TOL).complaints)


def test_a_gap_that_is_claimed_honestly_but_too_large_is_caught(certified):
    task, answer = certified
    w = 1.01 * answer.w
    primal = float(primal_value(task, w, answer.b))
    honest = Answer(**vars(answer) | {"w": w, "primal": primal})
    assert any("true gap" in text for text in judge(task, honest, 1e-6).complaints)


def never(case):
    time.sleep(60)


def mute(case):
    raise ValueError("something went wrong")


def crash(case):
    raise ZeroDivisionError("division by zero")


def unfinished(case):
    ((task, answer),) = run_solve(case)
    return [(task, Answer(**vars(answer) | {"converged": False}))]


def test_a_hang_is_ended_and_counted(monkeypatch):
    monkeypatch.setitem(torture._CALLS, "solve", never)
    worker = Worker()
    result = worker.examine(ALL[0], limit=0.1)
    worker.close()
    assert result.outcome == "wrong"
    assert "hung" in result.complaints[0]


@pytest.mark.parametrize("call", [mute, crash, unfinished])
def test_mute_errors_crashes_and_silent_failures_are_violations(monkeypatch, call):
    monkeypatch.setitem(torture._CALLS, "solve", call)
    X, y = clouds(1)
    assert examine(Case("any", "case", X, y)).outcome == "wrong"
