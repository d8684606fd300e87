"""RobustLinearSVCCV: the choices of GridSearchCV on the same folds, from paths."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from wideberth import (
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
    path,
    robust_scorer,
)
from wideberth.datasets import load_breast_cancer, paper_preprocess
from wideberth.estimators.folds import GridScores, run_folds

CS, RADII = [0.01, 0.1, 1.0, 10.0], [0.0, 0.05, 0.2]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer()
    return paper_preprocess("breast_cancer", X), y


@pytest.fixture(scope="module")
def noisy():
    """Two classes that overlap, so that scores differ between models."""
    return make_classification(
        300, 12, n_informative=4, flip_y=0.1, class_sep=0.7, random_state=1
    )


def assert_same_search(search, grid, rtol=1e-9):
    """The same scores, fold by fold, and the same choice."""
    names = [f"split{k}_test_score" for k in range(search.n_splits_)]
    for name in (*names, "mean_test_score", "std_test_score", "rank_test_score"):
        ours, theirs = search.cv_results_[name], grid.cv_results_[name]
        np.testing.assert_allclose(ours, theirs, rtol=rtol)
    assert search.cv_results_["params"] == grid.cv_results_["params"]
    assert search.best_params_ == grid.best_params_
    assert search.best_index_ == grid.best_index_
    assert search.best_score_ == pytest.approx(grid.best_score_, rel=rtol)


def grid_search(X, y, *, radii=RADII, cv=None, scoring=None, **options):
    candidates = {"C": CS, "radius": radii}
    model = RobustLinearSVC(**options)
    return GridSearchCV(model, candidates, cv=cv, scoring=scoring).fit(X, y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"solver_options": {"intercept_penalty": 1.0}, "class_weight": "balanced"},
        {"noise": np.linspace(0, 2, 12)},
        {"solver_options": {"solver": "coordinate"}, "tol": 1e-9},
    ],
    ids=str,
)
def test_choices_are_those_of_grid_search_on_the_same_folds(noisy, options):
    """Of models so exact that no sample is on the other side of one of them."""
    options = {"tol": 1e-8} | options
    search = RobustLinearSVCCV(CS, RADII, **options).fit(*noisy)
    grid = grid_search(*noisy, **options)
    assert_same_search(search, grid)
    best = grid.best_estimator_
    np.testing.assert_allclose(search.coef_, best.coef_, atol=1e-4)
    np.testing.assert_array_equal(search.predict(noisy[0]), grid.predict(noisy[0]))
    assert len(np.unique(search.scores_)) >= 8


@pytest.mark.filterwarnings("ignore::wideberth.NullModelWarning")
def test_norm_penalties_are_chosen_beside_C_and_radius(noisy):
    Cs, radii, penalties = CS[1:3], RADII[1:], [0.0, 3.0, 30.0]
    options = {"noise": "linf", "cv": 3}
    search = RobustLinearSVCCV(Cs, radii, norm_penalties=penalties, **options)
    search.fit(*noisy)
    candidates = {"C": Cs, "radius": radii, "norm_penalty": penalties}
    model = RobustLinearSVC(noise="linf")
    assert_same_search(search, GridSearchCV(model, candidates, cv=3).fit(*noisy))
    assert search.scores_.shape == (3, 2, 2, 3)
    chosen = search.best_estimator_
    assert (search.norm_penalty_, search.radius_) == (
        chosen.norm_penalty,
        chosen.radius,
    )


@pytest.mark.parametrize("scoring", ["f1_macro", None])
def test_more_than_two_classes(scoring):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    options = {"cv": cv, "scoring": scoring}
    search = RobustLinearSVCCV(CS, [0.0, 0.02], **options).fit(X, names)
    assert_same_search(search, grid_search(X, names, radii=[0.0, 0.02], **options))
    assert search.coef_.shape == (3, 4)


def test_any_scorer_will_do(noisy):
    X, y = noisy

    def cautious(model, X, y):
        return model.certified_radius(X).mean() + model.score(X, y)

    by_area = make_scorer(roc_auc_score, response_method="decision_function")
    for scoring, rtol in (("roc_auc", 1e-9), (by_area, 1e-9), (cautious, 1e-3)):
        options = {"scoring": scoring, "cv": 2, "tol": 1e-8}
        search = RobustLinearSVCCV(CS, RADII, **options).fit(X, y)
        assert_same_search(search, grid_search(X, y, **options), rtol)


def test_models_may_be_chosen_for_their_accuracy_under_noise(noisy):
    X, y = noisy

    def under_noise(model, X, y):
        return model.robust_score(X, y, 0.5)

    search = RobustLinearSVCCV(CS, RADII, scoring=robust_scorer(0.5), tol=1e-8).fit(
        X, y
    )
    assert_same_search(search, grid_search(X, y, scoring=under_noise, tol=1e-8))
    clean = RobustLinearSVCCV(CS, RADII).fit(X, y)
    assert search.radius_ > clean.radius_
    assert search.best_score_ == pytest.approx(
        search.scorer_(search.best_estimator_, X, y), abs=0.1
    )
    assert search.robust_score(X, y, 0.5) > clean.robust_score(X, y, 0.5)


def test_under_noise_too_every_class_may_count_the_same(noisy):
    X, y = noisy
    few = np.flatnonzero(y != y[0])[::4]
    kept = np.sort(np.r_[np.flatnonzero(y == y[0]), few])
    X, y = X[kept], y[kept]
    scorer = robust_scorer(0.5, balanced=True)
    search = RobustLinearSVCCV(CS, RADII, scoring=scorer, tol=1e-8).fit(X, y)
    grid = grid_search(X, y, scoring=scorer, tol=1e-8)
    for name in ("mean_test_score", "split0_test_score"):
        expected = grid.cv_results_[name]
        np.testing.assert_allclose(search.cv_results_[name], expected, atol=1e-9)
    one = search.best_estimator_
    right = one._robustly_right(X, y, 0.5)
    shares = [right[y == label].mean() for label in np.unique(y)]
    assert search.scorer_(one, X, y) == pytest.approx(np.mean(shares))


def test_sizes_and_weights_of_samples_are_those_of_each_fold(noisy):
    X, y = noisy
    rng = np.random.default_rng(0)
    weight, sizes = rng.integers(0, 4, len(y)).astype(float), rng.uniform(size=len(y))
    cv = KFold(3)
    search = RobustLinearSVCCV(
        CS, [0.1, 0.5], cv=cv, scoring=robust_scorer(0.2), class_weight="balanced"
    ).fit(X, y, sample_weight=weight, radius=sizes)
    for fold, (train, test) in enumerate(cv.split(X)):
        for k, factor in enumerate([0.1, 0.5]):
            for j, C in enumerate(CS):
                model = RobustLinearSVC(C=C, class_weight="balanced").fit(
                    X[train], y[train], weight[train], radius=factor * sizes[train]
                )
                score = model.robust_score(X[test], y[test], 0.2 * sizes[test])
                assert search.scores_[k, j, fold] == pytest.approx(score)
    final = RobustLinearSVC(C=search.C_, class_weight="balanced").fit(
        X, y, weight, radius=search.radius_ * sizes
    )
    np.testing.assert_allclose(search.coef_, final.coef_, atol=1e-6)


def test_the_default_grid_is_that_of_a_path(cancer):
    X, y = cancer
    search = RobustLinearSVCCV(4, [0.1, 0.2], cv=2).fit(X, y)
    expected = path(X, y, Cs=4, radii=[0.1], fit_intercept=True).Cs
    np.testing.assert_allclose(search.Cs_, expected)
    shapes = search.scores_.shape, search.cv_results_["param_C"].shape
    assert shapes == ((2, 4, 2), (8,))


def test_without_a_final_fit_there_is_a_choice_but_no_model(noisy):
    X, y = noisy
    search = RobustLinearSVCCV(CS, RADII, solver_options={"refit": False}).fit(X, y)
    assert search.C_ in CS
    with pytest.raises(NotFittedError):
        search.predict(X)
    search.set_params(solver_options=None).fit(X, y)
    assert search.score(X, y) > 0.5
    with pytest.raises(NotFittedError):  # nothing is left of an earlier fit
        search.set_params(solver_options={"refit": False}).fit(X, y).predict(X)


def test_a_search_keeps_what_the_chosen_model_keeps(noisy):
    search = RobustLinearSVCCV(CS, RADII).fit(*noisy)
    for name, value in vars(search.best_estimator_).items():
        if name.endswith("_") and name != "radius_":
            assert getattr(search, name) is value
    assert search.converged_.all()


def test_noise_in_raw_units_reaches_every_fold():
    X, y = load_wine(return_X_y=True)
    precision = 0.1 * X.std(axis=0)
    raw = make_robust_pipeline(
        StandardScaler(),
        RobustLinearSVCCV(
            [0.1, 1.0], [0.5, 1.0], noise=precision, scoring=robust_scorer(1.0), cv=2
        ),
    ).fit(X, y)
    scaled = RobustLinearSVCCV(
        [0.1, 1.0], [0.5, 1.0], noise=np.full(13, 0.1), scoring=robust_scorer(1.0), cv=2
    ).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(raw[-1].scores_, scaled.scores_)
    np.testing.assert_allclose(raw[-1].noise_, np.full(13, 0.1))
    in_raw_units = raw.robust_score(X, y, 1.0)
    assert in_raw_units == pytest.approx(
        scaled.robust_score(StandardScaler().fit_transform(X), y, 1.0)
    )


def test_groups_stay_together(noisy):
    X, y = noisy
    groups = np.arange(len(y)) // 30
    search = RobustLinearSVCCV(CS, cv=GroupKFold(3)).fit(X, y, groups=groups)
    folds = list(GroupKFold(3).split(X, y, groups))
    by_hand = RobustLinearSVCCV(CS, cv=folds).fit(X, y)
    np.testing.assert_array_equal(search.scores_, by_hand.scores_)
    with pytest.raises(TypeError, match="enable_metadata_routing"):
        search.fit(X, y, colour=groups)


def test_metadata_is_routed_to_splitter_and_scorer(noisy):
    X, y = noisy
    rng = np.random.default_rng(0)
    groups, weight = np.arange(len(y)) // 30, rng.uniform(size=len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(sklearn.metrics.accuracy_score)
        scorer = scorer.set_score_request(sample_weight=True)
        search = RobustLinearSVCCV(CS, cv=GroupKFold(3), scoring=scorer, tol=1e-8)
        search.set_fit_request(sample_weight=True, radius=True)
        search.fit(X, y, sample_weight=weight, groups=groups)
        model = RobustLinearSVC(tol=1e-8).set_fit_request(sample_weight=True)
        grid = GridSearchCV(model, {"C": CS}, cv=GroupKFold(3), scoring=scorer)
        grid.fit(X, y, sample_weight=weight, groups=groups)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"]
    )


def test_progress_is_told(noisy, capsys):
    RobustLinearSVCCV([0.1, 1.0], cv=2, solver_options={"verbose": 1}).fit(*noisy)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("[RobustLinearSVCCV] fold 2 of 2: 2 models")


def test_models_that_do_not_converge_are_reported_once(noisy):
    with pytest.warns(ConvergenceWarning, match="of 20 models") as caught:
        RobustLinearSVCCV(
            CS, solver_options={"max_iter": 1, "refit": False}, tol=1e-9
        ).fit(*noisy)
    assert len(caught) == 1


def test_a_fit_that_fails_leaves_what_was_fitted(noisy):
    X, y = noisy
    search = RobustLinearSVCCV(CS).fit(X, y)
    before = search.coef_
    with pytest.raises(ValueError, match="radius has shape"):
        search.fit(X, y, radius=[1.0, 2.0])
    assert search.coef_ is before


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"scoring": robust_scorer(-1.0)}, "radius of robust_scorer=-1.0 must be one"),
        ({"solver_options": {"callback": print}}, "solver_options has 'callback'"),
        ({"Cs": [0.0]}, "Cs=0.0"),
        ({"Cs": -1}, "Cs=-1"),
        ({"radii": [-1.0]}, "radii is -1.0"),
        ({"norm_penalties": [-1.0]}, "norm_penalties is -1.0"),
        ({"norm_penalties": []}, "norm_penalties has shape"),
    ],
)
def test_errors_name_the_parameter(noisy, wrong, text):
    with pytest.raises(ValueError, match=text):
        RobustLinearSVCCV(**({"Cs": [1.0]} | wrong)).fit(*noisy)


@pytest.mark.parametrize("seed", range(2))
def test_the_choice_is_the_first_of_the_best(seed):
    rng = np.random.default_rng(seed)
    search = RobustLinearSVCCV(ramps=[0], norm_penalties=[0])
    search.Cs_, search.radii_ = np.array([0.1, 1.0]), np.array([0.0, 0.5])
    search.norm_penalties_, search.ramps_ = np.array([0.0, 2.0]), np.array([-1.0, 0.0])
    search.n_splits_ = 5
    shape = (2, 2, 2, 2)  # ramps, penalties, radii, Cs
    scores = 0.5 + 0.1 * rng.integers(0, 3, size=(*shape, 5))
    if seed % 2:
        scores = 0.5 + 0.1 * rng.normal(size=(*shape, 5))
    scores[0, 0, 0, 0, 2] = np.nan  # a fold that failed
    search._choose(
        [GridScores(scores[..., k], *[np.ones(shape)] * 4) for k in range(5)]
    )
    means = scores.mean(axis=-1)
    best = np.nanmax(means)
    points = {
        (C, ramp, s, radius): means[i, j, k, m]
        for m, C in enumerate(search.Cs_)
        for i, ramp in enumerate(search.ramps_)
        for j, s in enumerate(search.norm_penalties_)
        for k, radius in enumerate(search.radii_)
    }
    chosen = next(point for point, mean in points.items() if mean == best)
    found = search.C_, search.ramp_, search.norm_penalty_, search.radius_
    assert found == chosen
    ranks = search.cv_results_["rank_test_score"]
    assert ranks.min() == 1
    assert ranks[0] == len(ranks)  # the one that failed
    assert search.best_score_ == pytest.approx(points[chosen])


def test_where_all_models_failed_none_is_better():
    search = RobustLinearSVCCV(ramps=[0], norm_penalties=[0])
    search.Cs_, search.radii_ = np.array([0.1, 1.0]), np.array([0.5])
    search.norm_penalties_, search.ramps_ = np.array([0.0]), np.array([0.0])
    search.n_splits_, shape = 2, (1, 1, 1, 2)
    failed = GridScores(np.full(shape, np.nan), *[np.ones(shape)] * 4)
    search._choose([failed] * 2)
    assert search.cv_results_["rank_test_score"].tolist() == [1, 1]
    assert search.C_ == 0.1


def test_folds_that_are_done_are_kept_after_an_interrupt():
    splits = list(KFold(4).split(np.zeros((8, 1))))

    def until(number):
        def work(split):
            if split.number == number:
                raise KeyboardInterrupt
            return split.test.tolist()

        return work

    assert run_folds(until(None), splits) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert run_folds(until(2), splits, keep=2) == [[0, 1], [2, 3]]
    for stopped, keep in ((2, None), (1, 2)):
        with pytest.raises(KeyboardInterrupt):
            run_folds(until(stopped), splits, keep=keep)
