"""The ramp loss: descent, certificates, starts, paths and many rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from support.ramp import judged, objective, wrong_labels
from wideberth import path, solve
from wideberth.problem import Problem
from wideberth.problem.ramp import Ramp
from wideberth.solvers.base import Control
from wideberth.solvers.ramp import Descent
from wideberth.solvers.registry import get_solver


@pytest.mark.parametrize("seed", range(24))
def test_the_descent_keeps_its_word_on_random_problems(seed):
    assert {name for name, true in judged(seed).items() if not true} == set()


@pytest.mark.parametrize("ramp", [-np.inf, None, -1e300])
@pytest.mark.parametrize("noise", ["l2", "linf", "l1"])
def test_a_ramp_without_end_is_the_hinge(ramp, noise):
    X, y, _ = wrong_labels(3)
    options = {"C": 0.5, "radius": 0.1, "noise": noise, "tol": 1e-9}
    hinge, found = solve(X, y, **options), solve(X, y, **options, ramp=ramp)
    assert found.primal == pytest.approx(hinge.primal, rel=1e-8)
    np.testing.assert_allclose(found.w, hinge.w, atol=1e-4)
    if ramp == -1e300:
        assert not found.descent.left_out.any()
    else:
        assert found.descent is None


def test_more_starts_are_never_worse_and_each_is_what_it_says():
    better = set()
    for seed in range(18):
        X, y, _ = wrong_labels(seed, n=60, d=3, share=0.3)
        found = [
            solve(X, y, C=5.0, ramp=-0.5, starts=starts, random_state=0).descent
            for starts in (1, 2, 3)
        ]
        ends = [each.objectives[-1] for each in found]
        assert ends[0] >= ends[1] >= ends[2]
        assert found[0].start == "hinge"
        better |= {each.start for each in found}
    assert better == {"hinge", "class means", "trimmed"}


def begun(problem, name):
    ramp = Ramp(problem, -1.0)
    descent = Descent(ramp, Control(1e-6), get_solver("newton"))
    return descent.first(name)


def test_targets_other_than_those_of_classification_are_refused():
    X, y, _ = wrong_labels(2)
    problem = Problem.from_data(X, y).with_targets(np.linspace(0, 1, len(y)))
    with pytest.raises(ValueError, match="ramp=-1 is for classification"):
        Ramp(problem, -1.0)


def test_class_means_leave_out_what_is_beyond_the_middle():
    X, y, _ = wrong_labels(2)
    X += 2  # the middle is not at 0
    c = np.random.default_rng(0).random(len(y))
    means = [np.average(X[y == side], axis=0, weights=c[y == side]) for side in (1, -1)]
    across, middle = means[0] - means[1], 0.5 * (means[0] + means[1])
    for intercept, center in ((0.0, middle), (1.0, middle), (None, 0 * middle)):
        problem = Problem.from_data(
            X, y, sample_weight=c, radius=0.0, intercept=intercept
        )
        left = begun(problem, "class means")
        np.testing.assert_array_equal(left.samples, y * ((X - center) @ across) < 0)
        assert left.point is None
    one_class = Problem.from_data(X, y, sample_weight=(y > 0).astype(float), radius=0.0)
    assert begun(one_class, "class means") is None


def test_the_trimmed_start_leaves_out_what_the_hinge_gets_wrong():
    X, y, _ = wrong_labels(2)
    problem = Problem.from_data(X, y, radius=0.1, intercept=0.0)
    out = begun(problem, "trimmed").samples
    hinge = solve(X, y, radius=0.1, tol=1e-9)
    psi = 1 - problem.at(hinge.w, hinge.b).slack
    sure = np.abs(psi) > 0.2
    np.testing.assert_array_equal(out[sure], psi[sure] < 0)


def test_a_start_may_be_given_and_stays_where_it_is():
    X, y, _ = wrong_labels(4)
    first = solve(X, y, ramp=-1.0, starts=3, radius=0.1, tol=1e-8)
    again = solve(X, y, ramp=-1.0, radius=0.1, init=first, tol=1e-8)
    assert again.descent.start == "init"
    assert again.descent.ending == "repeats"
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.descent.left_out, first.descent.left_out)
    far = solve(X, y, ramp=-1.0, radius=0.1, init=(-first.w, -first.b, None))
    assert np.all(np.diff(far.descent.objectives) <= 0)


def test_sparse_rows_and_columns_descend():
    X, y, _ = wrong_labels(7, n=60, d=200)
    X[np.abs(X) < 1] = 0.0
    dense = solve(X, y, ramp=-1.0, noise="linf", radius=0.05, C=0.1, tol=1e-7)
    found = solve(
        sp.csr_array(X), y, ramp=-1.0, noise="linf", radius=0.05, C=0.1, tol=1e-7
    )
    assert found.solver == "columns"
    assert found.primal == pytest.approx(dense.primal, rel=1e-6)


def test_screening_decides_only_what_the_last_problem_says():
    X, y, _ = wrong_labels(8, n=80)
    options = {"C": 0.3, "radius": 0.1, "tol": 1e-6}
    found = solve(X, y, ramp=-1.0, **options)
    out = found.descent.left_out
    kept = (~out).astype(float)
    same = solve(X, y, sample_weight=kept, **options | {"tol": 1e-10})
    slack = Problem.from_data(X, y, radius=0.1, intercept=0.0).slack(same.w, same.b)
    assert np.all(found.removed[out])
    assert not found.alpha[out].any()
    assert np.all(slack[found.removed & ~out] <= 1e-6)
    assert np.all(slack[found.saturated] >= -1e-6)
    assert found.removed[~out].any()
    assert found.saturated.any()
    without = solve(X, y, ramp=-1.0, screening=None, **options)
    assert without.primal == pytest.approx(found.primal, rel=1e-6)


# -- limits ----------------------------------------------------------------------------


def test_limits_cut_a_descent_short():
    X, y, _ = wrong_labels(9, n=200, d=10, share=0.3)
    with pytest.warns(UserWarning, match="Not converged"):
        found = solve(X, y, ramp=-1.0, C=10.0, max_iter=3)
    assert found.descent.ending == "cut short"
    assert not found.converged
    assert np.all(np.diff(found.descent.objectives) <= 0)


def test_a_callback_hears_of_points_with_the_cost_of_what_is_left_out():
    X, y, _ = wrong_labels(9, n=200, d=10, share=0.3)
    heard, asked = [], {"ramp": -1.0, "C": 10.0, "quiet": True}
    found = solve(X, y, **asked, callback=lambda entry: heard.append(entry["primal"]))
    assert min(heard) >= found.descent.objectives[-1] * (1 - 1e-9)
    stopped = solve(X, y, **asked, callback=lambda entry: True)
    assert stopped.descent.ending == "cut short"
    assert len(stopped.trace) < len(found.trace)


# -- paths -----------------------------------------------------------------------------


def test_paths_with_a_ramp_certify_every_point():
    X, y, _ = wrong_labels(10, n=80)
    Cs, ramps = [0.01, 0.1, 1.0, 10.0], [-1.0, None, -0.3]
    options = {"tol": 1e-7, "solver": "newton"}  # from the same hinge solutions
    found = path(X, y, Cs=Cs, ramps=ramps, radii=[0.1], **options)
    np.testing.assert_array_equal(found.ramps, [-1.0, -np.inf, -0.3])
    assert found.converged.all()
    for k, ramp in enumerate(ramps):
        for j, C in enumerate(Cs):
            cold = solve(X, y, C=C, radius=0.1, ramp=ramp, **options)
            value = cold.primal if ramp is None else cold.descent.objectives[0]
            assert found.objectives[k, j] <= value * (1 + 1e-6)
            w, b = found.coefs[k, j], found.intercepts[k, j]
            level = -np.inf if ramp is None else ramp
            here = objective(X, y, w, b, {"C": C, "radius": 0.1, "ramp": level})
            assert here <= found.objectives[k, j] * (1 + 1e-6)
    assert found.left_out[1].max() == 0
    assert found.left_out[0].min() > 0
    assert "3 ramps" in repr(found)
    assert list(found.to_frame()["ramp"].unique()) == [-1.0, -np.inf, -0.3]


def test_a_path_takes_the_lower_of_two_starts():
    X, y, _ = wrong_labels(11, n=80, share=0.1, separation=3.0)
    Cs = [1e-4, 1.0]  # at the first hardly anything is learnt
    found = path(X, y, Cs=Cs, ramp=0.0, radii=[0.0], tol=1e-7)
    alone = solve(X, y, C=1.0, ramp=0.0, tol=1e-7)
    assert found.objectives[0, 1] <= alone.descent.objectives[0] * (1 + 1e-9)
    assert found.null[0, 0]
    assert not found.null[0, 1]


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"ramps": [-1.0, 1.0]}, "ramp=1.0 must be None"),
        ({"ramps": []}, "ramps=.* must be a list"),
        ({"ramps": -1.0}, "ramps=-1.0 must be a list"),
        ({"ramps": [-1, -2], "radii": [0, 1]}, "2 radii and 2 ramps are given"),
    ],
)
def test_ramps_of_a_path_are_checked(wrong, match):
    X, y, _ = wrong_labels(0)
    with pytest.raises(ValueError, match=match):
        path(X, y, Cs=[1.0], **wrong)


# -- many rows -------------------------------------------------------------------------


def many(seed, n=33_000):
    X, y, flipped = wrong_labels(seed, n=n, d=3, share=0.1, separation=2.0)
    return X, y, flipped


def test_many_rows_begin_on_a_sample():
    X, y, flipped = many(0)
    found = solve(X, y, C=0.01, ramp=-1.0, tol=1e-5, random_state=0)
    assert found.converged
    assert np.all(np.diff(found.descent.objectives) <= 0)
    assert len(found.descent.objectives) <= 5
    assert found.descent.objectives[0] <= 1.005 * found.descent.objectives[-1]
    assert np.isin(np.flatnonzero(found.descent.left_out), flipped).mean() > 0.9
    problem = Problem.from_data(X, y, C=0.01, radius=0.0, intercept=0.0)
    descent = Descent(Ramp(problem, -1.0), Control(1e-5), get_solver("newton"))
    slow = descent.go_on(descent.first("hinge"), "hinge")
    assert found.primal == pytest.approx(slow.objectives[-1], rel=1e-4)
