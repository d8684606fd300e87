"""Claims about the benchmarks themselves: what they show, and that the guard guards."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import guard
from benchmarks.bench.plan import PLANS
from benchmarks.bench.records import COMPLETE, Records, summaries
from benchmarks.bench.reference import suboptimality
from benchmarks.bench.settings import plugin, plugins
from benchmarks.bench.show import cell_text
from benchmarks.tasks import Case
from wideberth import solve

ROOT = Path(__file__).resolve().parents[2]


# -- the guard -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counted():
    return guard.count()


def test_passes_and_kernel_calls_have_not_grown(counted):
    stored = json.loads(guard.STORED.read_text())
    assert counted.keys() == stored.keys()
    # A step more or less is the processor's affair; `make bench-guard` is strict.
    assert guard.complaints(counted, stored, share=1.0) == []


@pytest.mark.parametrize("what", ["passes", "calls"])
def test_the_guard_complains_of_a_count_that_grew(what, counted):
    name = "text 3 000×10 000, coordinate, radius 0"
    stored = counted | {name: counted[name] | {what: 0.1 * counted[name][what]}}
    (sentence,) = guard.complaints(counted, stored)
    assert name in sentence
    assert f"{what} grew" in sentence


# -- the runner ------------------------------------------------------------------------


def test_a_run_goes_on_behind_its_last_complete_problem(tmp_path):
    records = Records(tmp_path / "runs.csv")
    for data in ("spambase", "a9a"):
        records.add({"task": "fit", "data": data, "solver": "sgd", "event": "failed"})
        if data == "spambase":
            records.add({"task": "fit", "data": data, "event": COMPLETE})
    with records.path.open("a") as stream:
        stream.write("fit,a9a,1")  # the power went off
    assert records.keep_complete() == {("fit", "spambase")}
    assert {row["data"] for row in records} == {"spambase"}
    assert list(summaries(records)["fit", "spambase"]) == ["sgd"]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_processes_that_share_a_run_do_all_of_it_once(plan):
    shards = [plan.sharded(k, 4) for k in (1, 2, 3, 4)]
    assert Counter(p for s in shards for p in s.problems) == Counter(plan.problems)
    assert sum(s.hours for s in shards) == pytest.approx(plan.hours)
    for series in {p.series for p in plan.problems} - {()}:
        owners = [s for s in shards if any(p.series == series for p in s.problems)]
        assert len(owners) == 1


def test_ratios_are_peer_over_ours(tmp_path):
    records = Records(tmp_path / "runs.csv")
    common = {"task": "fit", "data": "spambase", "C": 1, "radius": 0, "tol": 1}
    common |= {"cpu": 1, "memory": 1, "off": 1e-5, "note": ""}
    for solver, walls in {"wideberth_auto": (1, 2, 9), "liblinear": (7, 8, 5)}.items():
        for event, wall in zip(("ladder", "repeat", "repeat"), walls, strict=True):
            records.add(common | {"solver": solver, "event": event, "wall": wall})
    cells = summaries(records)["fit", "spambase"]
    ours, peer = cells["wideberth_auto"], cells["liblinear"]
    assert cell_text(peer, ours, 1e-4) == "3.5×"
    assert cell_text(ours, ours, 1e-4) == "2.00 s"
    assert cell_text(peer, ours, 1e-6) == "off 1e-05"


# -- the solvers -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny():
    """A small problem of each kind, with its optimum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] + 0.3 + 0.5 * rng.normal(size=60) > 0, 1, -1)
    kinds = {
        "plain": Case(X, y, 0.5),
        "noisy": Case(X, y, 0.5, 0.1),
        "intercept": Case(X, y, 0.5, intercept=True),
    }
    for kind, case in kinds.items():
        options = {"radius": case.radius, "fit_intercept": case.intercept}
        found = solve(X, y, C=case.C, tol=1e-10, **options)
        pull = case.radius * found.alpha.sum()
        known = {"lower": found.dual, "norm": np.linalg.norm(found.w), "pull": pull}
        kinds[kind] = replace(case, optimum=known)
    return kinds


@pytest.mark.parametrize("kind", ["plain", "noisy", "intercept"])
@pytest.mark.parametrize("solver", plugins("solvers"))
def test_every_solver_finds_the_same_objective(solver, kind, tiny):
    module, case = plugin("solvers", solver), tiny[kind]
    if getattr(module, "refuses", lambda cases: None)([case, case]):
        pytest.skip("cannot solve this kind")
    try:
        answer = module.solve(case, module.LADDER[-1])
    except ImportError as error:
        pytest.skip(str(error))
    off = suboptimality(case, answer)
    assert -1e-9 < off < (1e-2 if solver == "sgd" else 1e-4)
