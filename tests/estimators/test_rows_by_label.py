"""Errors in a frame belong to the rows with the same labels, on every road."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from wideberth import (
    MeasuredSVC,
    RobustLinearSVC,
    RobustLinearSVCCV,
    TrueFeatures,
    critical_radius,
    make_robust_pipeline,
    path,
    solve,
)
from wideberth.errors import fill
from wideberth.estimators import measured_scorer
from wideberth.problem import Problem

RNG = np.random.default_rng(0)
N = 60
NAMES = ["mass", "temp"]
LABELS = [f"star {i}" for i in RNG.permutation(N)]
Y = RNG.integers(0, 2, N)
E = pd.DataFrame(RNG.uniform(0.05, 1, (N, 2)), LABELS, NAMES)
X = pd.DataFrame(RNG.normal(size=(N, 2)) + 2 * Y[:, None], LABELS, NAMES)
X += E * RNG.normal(size=E.shape)
OTHER = RNG.permutation(N)
SHUFFLED = E.iloc[OTHER]

SVC = RobustLinearSVC(radius=0.5).fit(X, Y, X_err=E)
PIPE = make_robust_pipeline(StandardScaler(), RobustLinearSVC(radius=0.5))
PIPE.fit(X, Y, robustlinearsvc__X_err=E)
QUICK = MeasuredSVC().fit(X, Y, X_err=E)
TRUE = TrueFeatures().fit(X, X_err=E)
DENOISED = make_robust_pipeline(StandardScaler(), TrueFeatures(), RobustLinearSVC())
DENOISED.fit(X, Y, robustlinearsvc__X_err=E)


def chunks(errors):
    return [(X[:40], Y[:40], None, None, errors), (X[40:], Y[40:], None, None, E[40:])]


ROADS = {
    "solve": lambda e: solve(X, Y, X_err=e).w,
    "path": lambda e: path(X, Y, X_err=e, Cs=[1.0]).coefs,
    "problem": lambda e: Problem.from_data(X, Y, X_err=e).at(np.ones(2)).value,
    "critical radius": lambda e: critical_radius(X, Y, X_err=e).lower,
    "a pair": lambda e: solve(X, Y, X_err=(e, e), error_shape="box").w,
    "fit": lambda e: RobustLinearSVC().fit(X, Y, X_err=e).coef_,
    "search": lambda e: RobustLinearSVCCV([1.0]).fit(X, Y, X_err=e).coef_,
    "certified radius": lambda e: SVC.certified_radius(X, X_err=e),
    "robust score": lambda e: SVC.robust_score(X, Y, X_err=e),
    "worst case": lambda e: SVC.worst_case(X, Y, X_err=e),
    "pipeline": lambda e: PIPE.fit(X, Y, robustlinearsvc__X_err=e)[-1].coef_,
    "pipeline, judged": lambda e: PIPE.certified_radius(X, X_err=e),
    "true features": lambda e: TrueFeatures().fit(X, X_err=e).transform(X, X_err=e),
    "posterior": lambda e: TRUE.posterior(X, X_err=e).mean,
    "measured": lambda e: MeasuredSVC().fit(X, Y, X_err=e).coef_,
    "measured, predicted": lambda e: QUICK.decision_function(X, X_err=e),
    "verdict": lambda e: QUICK.verdict(X, X_err=e).chance,
    "denoised pipeline": lambda e: DENOISED.decision_function(X, X_err=e),
    "denoised verdict": lambda e: DENOISED.verdict(X, X_err=e).chance,
    "filled": lambda e: fill(e.where(e < 0.9), 0.05, X),
}


@pytest.mark.parametrize("road", ROADS)
def test_rows_in_another_order_are_found_by_their_labels(road):
    np.testing.assert_array_equal(ROADS[road](SHUFFLED), ROADS[road](E))


@pytest.mark.parametrize("road", ROADS)
def test_rows_of_others_are_refused(road):
    for strangers in (E.reset_index(drop=True), E.rename(index={LABELS[3]: "sun"})):
        with pytest.raises(ValueError, match=r"only one of them.*X_err\.to_numpy"):
            ROADS[road](strangers)


def test_labels_that_occur_twice_tell_no_order():
    twice = [0, 0, *range(2, N)]
    same, x = E.set_axis(twice), X.set_axis(twice)
    np.testing.assert_array_equal(solve(x, Y, X_err=same).w, solve(X, Y, X_err=E).w)
    with pytest.raises(ValueError, match="occur more than once"):
        solve(x, Y, X_err=same.iloc[::-1])


def test_rows_without_labels_are_taken_in_the_order_given():
    expected = solve(X, Y, X_err=E).w
    np.testing.assert_array_equal(solve(X, Y, X_err=E.to_numpy()).w, expected)
    np.testing.assert_array_equal(solve(X.to_numpy(), Y, X_err=E).w, expected)


def test_so_are_those_of_chunks():
    def trained(errors):
        return solve(lambda: iter(chunks(errors)), None).w

    first = E[:40]
    np.testing.assert_array_equal(trained(first.iloc[::-1]), trained(first))
    with pytest.raises(ValueError, match="only one of them"):
        trained(E[20:])


def test_what_scikit_learn_slices_by_position_is_refused():
    """It cuts X and X_err at the same places, before either is seen here."""
    settings = {"scoring": measured_scorer(), "cv": 2, "error_score": "raise"}
    search = GridSearchCV(MeasuredSVC(), {"C": [1.0]}, **settings)
    with config_context(enable_metadata_routing=True):
        assert search.fit(X, Y, X_err=E).best_score_ > 0.5
        with pytest.raises(ValueError, match="only one of them"):
            search.fit(X, Y, X_err=SHUFFLED)
