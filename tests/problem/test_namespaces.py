"""Arrays of other libraries: the same answers, and nothing beyond the standard."""

import importlib

import array_api_compat
import numpy as np
import pytest

from tall import INTERCEPTS, tall_data
from wideberth import solve
from wideberth.problem import Problem
from wideberth.problem.arrays import host, like

OPTIONS = {"C": 0.05, "tol": 1e-9, "random_state": 0, "fit_intercept": False}


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request):
    try:
        importlib.import_module(request.param)
    except ImportError:
        pytest.skip(f"{request.param} is not installed")
    module = importlib.import_module(request.param)
    return array_api_compat.array_namespace(module.asarray([1.0]))


@pytest.mark.parametrize("shape", ["ellipsoid", "box"])
@pytest.mark.parametrize("n", [500, 50_000])
def test_error_bars_have_the_answer_of_numpy(xp, shape, n):
    X, y = tall_data(n, dtype="float64")
    errors = np.random.default_rng(0).exponential(0.3, size=X.shape)
    options = OPTIONS | {"error_shape": shape, "fit_intercept": True, "tol": 1e-7}
    expected = solve(X, y, X_err=errors, **options)
    arrays = [xp.asarray(part) for part in (X, y, errors)]
    found = solve(*arrays[:2], X_err=arrays[2], **options)
    assert found.converged
    assert found.primal == pytest.approx(expected.primal, rel=2e-7)
    worst = sum(np.sqrt(2 * max(part.gap, 0.0)) for part in (found, expected))
    assert np.linalg.norm(found.w - expected.w) <= worst + 1e-9
    assert array_api_compat.is_array_api_obj(found.alpha)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda E: E[:, :2], "one error for every cell"),
        (lambda E: -E, "not negative"),
        (lambda E: E * np.nan, "finite"),
        (lambda E: (E, E), "copy X and X_err to NumPy"),
    ],
)
def test_errors_that_cannot_be_are_named_on_a_device(xp, change, said):
    X, y = tall_data(50_000, dtype="float64")
    changed = change(np.abs(X))
    pair = isinstance(changed, tuple)
    errors = changed if pair else xp.asarray(changed)
    with pytest.raises(ValueError, match=said):
        solve(xp.asarray(X), xp.asarray(y), X_err=errors, **OPTIONS)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_answer_is_that_of_numpy(xp, intercept, dtype):
    X, y = tall_data(40_000, dtype=dtype)
    rng = np.random.default_rng(0)
    weight, radius = rng.uniform(0.5, 2, len(y)), rng.uniform(0, 0.2, len(y))
    options = OPTIONS | INTERCEPTS[intercept]
    expected = solve(X, y, sample_weight=weight, radius=radius, **options)
    arrays = [xp.asarray(part) for part in (X, y, weight, radius)]
    found = solve(*arrays[:2], sample_weight=arrays[2], radius=arrays[3], **options)
    assert found.converged
    assert found.primal == pytest.approx(expected.primal, rel=1e-8)
    assert array_api_compat.array_namespace(found.alpha) is xp
    problem = Problem.from_data(
        X,
        y,
        C=0.05,
        radius=radius,
        sample_weight=weight,
        intercept={"none": None, "free": 0.0, "penalised": 2.0}[intercept],
    )
    own = problem.gap(found.w, found.b, host(found.alpha))
    assert own == pytest.approx(found.gap, abs=1e-10 * found.primal)


def test_arrays_that_are_not_finite_are_refused(xp):
    X, y = tall_data(40_000)
    X[31, 2] = np.inf
    with pytest.raises(ValueError, match="not finite in row 31"):
        solve(xp.asarray(X), xp.asarray(y), fit_intercept=False)


@pytest.mark.parametrize("n", [400, 60_000])
def test_whole_numbers_are_taken_for_what_they_are(xp, n):
    X, y = tall_data(n)
    X = (4 * X).astype(int)
    found = solve(xp.asarray(X), xp.asarray(y), **OPTIONS)
    expected = solve(X, y, **OPTIONS)
    assert found.primal == pytest.approx(expected.primal, rel=1e-8)


def test_like_moves_between_namespaces(xp):
    array = xp.asarray([1.0, 2.0])
    assert isinstance(like(array, np.empty(0)), np.ndarray)
    assert like(array, array) is array
