"""With a callback the trace of a run says how many samples its points decide."""

import numpy as np
import pytest

from wideberth import RobustLinearSVC, screen, solve

#: One solver, noise and size each for coordinate ascent, Newton's method on small and
#: on larger tables, and columns; with and without an intercept.
RUNS = {
    "coordinate": ({"solver": "coordinate", "fit_intercept": False}, 1500, 20),
    "coordinate with an intercept": ({"solver": "coordinate"}, 1500, 20),
    "newton, small": ({"solver": "newton"}, 300, 10),
    "newton": ({"solver": "newton", "fit_intercept": False}, 20_000, 12),
    "columns": ({"solver": "columns", "noise": "linf", "tol": 1e-8}, 600, 200),
}


def table(n, d):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    direction = np.zeros(d)
    direction[:8] = 1.0
    return X, np.where(X @ direction + rng.normal(size=n) > 0, 1, -1)


def counts(entry):
    return entry["free"], entry["saturated"], entry["removed"]


@pytest.fixture(scope="module", params=RUNS)
def run(request):
    options, n, d = RUNS[request.param]
    X, y = table(n, d)
    options = {"C": 0.1, "radius": 0.05, "random_state": 0, **options}
    heard = []
    return X, y, options, solve(X, y, **options, callback=heard.append), heard


def test_a_callback_hears_the_entries_of_the_trace(run):
    *_, solution, heard = run
    assert heard == solution.trace


def test_undecided_saturated_and_removed_samples_add_up_to_all(run):
    _, y, _, solution, _ = run
    for entry in solution.trace:
        assert sum(counts(entry)) == len(y)


def test_the_last_entry_agrees_with_the_solution_and_with_screen(run):
    X, y, options, solution, _ = run
    last = solution.trace[-1]
    assert last["saturated"] + last["removed"] > len(y) / 2
    # Between the last entry and the answer only the intercept may move, within its
    # interval of best values.
    assert np.abs(np.subtract(counts(last), solution.counts)).max() <= 0.02 * len(y)
    of_the_run = ("solver", "random_state", "tol")
    stated = {k: v for k, v in options.items() if k not in of_the_run}
    found = screen(X, y, solution.w, solution.alpha, b=solution.b, **stated)
    assert not (solution.removed & ~found.removed).any()
    assert not (solution.saturated & ~found.saturated).any()
    assert found.share >= 1 - (last["free"] + 0.02 * len(y)) / len(y)


def test_no_entry_decides_more_samples_than_the_optimum_allows(run):
    X, y, options, solution, _ = run
    exact = solve(X, y, **options | {"solver": "auto", "tol": 1e-12, "quiet": True})
    norm = np.abs(exact.w).sum() if "noise" in options else np.linalg.norm(exact.w)
    margins = y * (X @ exact.w + exact.b) - options["radius"] * norm
    for entry in solution.trace:
        assert entry["removed"] <= np.sum(margins > 1 - 1e-6)
        assert entry["saturated"] <= np.sum(margins < 1 + 1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_more_samples_are_decided_as_the_gap_falls(intercept):
    X, y = table(1500, 20)
    trace = solve(
        X,
        y,
        C=0.1,
        radius=0.05,
        solver="coordinate",
        fit_intercept=intercept,
        random_state=0,
        callback=lambda entry: None,
    ).trace
    decided = [entry["saturated"] + entry["removed"] for entry in trace]
    assert len(trace) > 2
    assert decided[0] < 0.5 * len(y) < 0.9 * len(y) < decided[-1]
    for k, entry in enumerate(trace):
        for before, earlier in zip(trace[:k], decided, strict=False):
            if entry["gap"] < 0.1 * before["gap"]:
                assert decided[k] >= earlier


def test_every_entry_for_a_callback_is_a_proof():
    X, y = table(1500, 20)
    options = {"C": 0.1, "radius": 0.05, "solver": "coordinate", "random_state": 0}
    proven = solve(X, y, **options, callback=lambda entry: None)
    optimum = solve(X, y, C=0.1, radius=0.05, tol=1e-9).primal
    for entry in proven.trace:
        assert entry["dual"] <= optimum * (1 + 1e-9)
        assert entry["primal"] >= optimum * (1 - 1e-9)
        assert entry["gap"] == pytest.approx(entry["primal"] - entry["dual"])


def test_listening_changes_no_answer():
    X, y = table(1500, 20)
    options = {"C": 0.1, "radius": 0.05, "solver": "coordinate", "random_state": 0}
    silent = solve(X, y, **options)
    heard = solve(X, y, **options, callback=lambda entry: None)
    np.testing.assert_allclose(heard.w, silent.w, rtol=1e-12, atol=1e-15)
    assert heard.n_iter == silent.n_iter
    assert len(heard.trace) == len(silent.trace)


def test_without_a_callback_no_entry_claims_a_count():
    X, y = table(300, 10)
    for solver in ("coordinate", "newton"):
        for entry in solve(X, y, C=0.1, radius=0.05, solver=solver).trace:
            assert not {"free", "saturated", "removed"} & set(entry)


def test_the_history_of_an_estimator_ends_at_its_fractions():
    X, y = table(1500, 20)
    options = {"solver": "coordinate", "callback": lambda label, entry: None}
    model = RobustLinearSVC(C=0.1, radius=0.05, solver_options=options).fit(X, y)
    (report,) = model.screening_
    last = report["trace"][-1]
    for name in ("removed", "saturated"):
        assert last[name] / len(y) == pytest.approx(report[name], abs=0.02)
