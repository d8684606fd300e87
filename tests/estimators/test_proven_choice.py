"""Searches that prove their choice: every claim held against models on a grid of C."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.preprocessing import scale

from choices import SCORINGS, draw_search, examine_choice, watch_bounds
from wideberth import RobustLinearRegressorCV, RobustLinearSVCCV, robust_scorer


@pytest.mark.parametrize("metric", [*SCORINGS, "pinball"])
@pytest.mark.parametrize("seed", [0, 1, 2])  # no intercept, a penalised, a free one
def test_no_model_between_is_better_than_the_bound(metric, seed):
    found = examine_choice(*draw_search(seed, metric), values=40)
    assert found["violated"] == 0
    assert found["proven"]


def test_no_model_of_three_classes_is_better_than_the_bound():
    X, y = load_iris(return_X_y=True)
    search = RobustLinearSVCCV(
        Cs=(0.01, 10.0), prove=0.02, cv=KFold(3, shuffle=True, random_state=0),
        fit_intercept=False, radii=[0.1],
    )  # fmt: skip
    found = examine_choice(search, {"X": scale(X), "y": y}, values=20)
    assert found["violated"] == 0
    assert found["proven"]


@pytest.mark.parametrize("seed", range(12))
def test_values_of_every_exact_model_lie_within_their_bounds(seed, monkeypatch):
    rng, (search, fit) = np.random.default_rng(seed), draw_search(seed)
    for trained, exact in watch_bounds(search, fit, monkeypatch):
        solved = np.array(sorted(trained.sights))
        for k in rng.integers(len(solved) - 1, size=2):
            first, C, last = np.sort(rng.uniform(*solved[k : k + 2], size=3))
            found = trained.between(first, last)
            values, off = exact(C)
            assert (found.lower - off <= values).all()
            assert (values <= found.upper + off).all()


def test_the_claim_is_about_the_choice_and_covers_the_range():
    X, y = load_breast_cancer(return_X_y=True)
    search = RobustLinearSVCCV((0.01, 1.0), [0.05], prove=0.01, cv=3)
    choice = search.fit(scale(X)[::2], y[::2]).choice_
    assert choice.proven
    assert choice.error - 0.01 <= choice.lower_bound <= choice.error
    assert choice.lower_bound == choice.bounds.min()
    assert choice.edges[0] == 0.01
    assert choice.edges[-1] == 1.0
    assert choice.error == choice.errors.min() == pytest.approx(1 - search.best_score_)
    assert search.C_ == choice.C == search.best_params_["C"]
    assert len(search.cv_results_["params"]) == len(choice.Cs)
    assert search.best_estimator_.C == choice.C
    assert str(choice).startswith("No C between 0.01 and 1 has a cross-validated error")


def test_several_radii_are_proven_each_and_together():
    X, y = load_iris(return_X_y=True)
    search = RobustLinearSVCCV((0.1, 10.0), [0.0, 0.3], prove=0.02, cv=3, n_jobs=2)
    choice = search.fit(X, y).choice_
    assert [each.radius for each in choice.levels] == [0.0, 0.3]
    assert all(each.proven for each in choice.levels)
    assert choice.lower_bound == min(each.lower_bound for each in choice.levels)
    assert choice.error == min(each.error for each in choice.levels)
    assert search.radius_ == choice.radius
    assert choice.proven


def test_at_its_limit_a_search_claims_no_more_than_it_has_proven():
    X, y = load_breast_cancer(return_X_y=True)
    options = {"max_points": 4}
    search = RobustLinearSVCCV((1e-3, 10.0), prove=1e-3, solver_options=options, cv=3)
    with pytest.warns(ConvergenceWarning, match="max_points"):
        choice = search.fit(scale(X)[::4], y[::4]).choice_
    assert search.best_estimator_.C == choice.C
    assert not choice.proven
    assert len(choice.Cs) <= 4
    assert choice.lower_bound < choice.error - 1e-3
    assert "Not proven" in str(choice)


@pytest.mark.filterwarnings("ignore:The best model is w = 0")
def test_where_more_values_of_C_would_not_help_none_are_advised():
    X, y = load_iris(return_X_y=True)
    search = RobustLinearSVCCV((0.1, 1.0), [100.0], prove=0.01, cv=3)
    with pytest.warns(ConvergenceWarning, match="on the boundary or b is not unique"):
        choice = search.fit(X[50:], y[50:]).choice_
    assert len(choice.Cs) < 100
    assert "max_points" not in str(choice)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"Cs": 30}, "must be the range"),
        ({"Cs": (1.0, 0.1)}, "low < high"),
        ({"Cs": (0.1, 1.0), "prove": 0}, "prove=0"),
        ({"Cs": (0.1, 1.0), "ramps": [-1.0]}, "ramps are not convex"),
        ({"Cs": (0.1, 1.0), "scoring": "roc_auc"}, "There is no proof for scoring"),
    ],
)
def test_what_cannot_be_proven_is_refused(stated, words):
    X, y = load_iris(return_X_y=True)
    search = RobustLinearSVCCV(**{"prove": 0.01} | stated)
    with pytest.raises(ValueError, match=words):
        search.fit(X, y == 0)


def test_a_regression_is_proven_in_units_of_its_targets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.standard_t(3, size=60)
    bounds = []
    for unit in (1.0, 1000.0):
        search = RobustLinearRegressorCV(0.3, (0.01, 1.0), prove=0.02, cv=3)
        choice = search.fit(X, unit * y).choice_
        assert choice.proven
        bounds.append(choice.lower_bound / unit)
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-6)


def test_the_plot_shows_errors_and_bounds():
    pytest.importorskip("matplotlib").use("Agg")
    X, y = load_iris(return_X_y=True)
    search = RobustLinearSVCCV((0.1, 10.0), scoring=robust_scorer(0.1), prove=0.05)
    choice = search.fit(X, y).choice_
    shown = choice.plot().ax_
    labels = [text.get_text() for text in shown.get_legend().get_texts()]
    assert labels == ["found", "none below"]
    assert re.match("C", shown.get_xlabel())
