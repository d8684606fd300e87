import pickle
import sys
import warnings
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, LinearSVC

from benchmarks.datasets import Missing, libsvm
from wideberth import Box, CrossPolytope, NullModelWarning, RobustLinearSVC, solve
from wideberth.estimators import training
from wideberth.noise import as_shape
from wideberth.problem import Problem, changes, merge

IRIS = load_iris(return_X_y=True)


def two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def same_model(first, second, rtol=1e-5):
    np.testing.assert_array_equal(first.classes_, second.classes_)
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(
        first.intercept_, second.intercept_, rtol=rtol, atol=rtol
    )


# -- the same as the linear SVMs of scikit-learn at radius 0 -----------------------


def a9a_part():
    try:
        X, y = libsvm("a9a.bz2")
    except Missing as error:
        pytest.skip(f"no a9a: {error}")
    return X[:3000], y[:3000]


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("load", [digits, two_classes, a9a_part])
def test_radius_zero_is_the_linear_svm_of_libsvm(load, C):
    X, y = load()
    mine = RobustLinearSVC(C=C, tol=1e-10).fit(X, y)
    svc = SVC(kernel="linear", C=C, tol=1e-8, cache_size=500)
    theirs = OneVsRestClassifier(svc) if load is digits else svc
    expected = theirs.fit(X, y).decision_function(X)
    error = np.abs(mine.decision_function(X) - expected).max()
    assert error <= 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("load", [digits, two_classes, a9a_part])
def test_radius_zero_is_the_hinge_svm_of_liblinear(load, C):
    X, y = load()
    mine = RobustLinearSVC(
        C=C, tol=1e-10, solver_options={"intercept_penalty": 1.0}
    ).fit(X, y)
    theirs = LinearSVC(loss="hinge", C=C, tol=1e-8, max_iter=1_000_000, random_state=0)
    expected = theirs.fit(X, y).decision_function(X)
    error = np.abs(mine.decision_function(X) - expected).max()
    assert error <= 1e-4 * np.abs(expected).max()


def test_intercept_penalty_stands_for_intercept_scaling():
    X, y = two_classes()
    theirs = LinearSVC(
        loss="hinge", intercept_scaling=4.0, tol=1e-9, max_iter=1_000_000, C=0.01
    ).fit(X + 1, y)
    mine = RobustLinearSVC(
        C=0.01, tol=1e-10, solver_options={"intercept_penalty": 1 / 16}
    ).fit(X + 1, y)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(mine.intercept_, theirs.intercept_, atol=1e-4)
    heavy = RobustLinearSVC(
        C=0.01, tol=1e-8, solver_options={"intercept_penalty": 1e6}
    ).fit(X + 1, y)
    assert abs(heavy.intercept_[0]) < 1e-3 < abs(mine.intercept_[0])
    none = RobustLinearSVC(C=0.01, tol=1e-8, fit_intercept=False).fit(X + 1, y)
    np.testing.assert_array_equal(none.intercept_, [0.0])
    np.testing.assert_allclose(none.coef_, heavy.coef_, atol=1e-3)


# -- labels, weights, storage --------------------------------------------------------


def test_float32_reaches_the_solver_as_it_is(monkeypatch):
    X, y = two_classes()
    X, seen = X.astype(np.float32), []

    def watch(data, *args, **kwargs):
        seen.append(data)
        return solve(data, *args, **kwargs)

    solve = training.solve_stated
    monkeypatch.setattr(training, "solve_stated", watch)
    model = RobustLinearSVC(radius=0.05).fit(X, y)
    assert seen[0].dtype == np.float32
    assert np.shares_memory(seen[0], X)
    same_model(model, RobustLinearSVC(radius=0.05).fit(X.astype(float), y), rtol=1e-4)


def test_a_class_without_weight_might_as_well_be_absent():
    X, y = IRIS
    present = y != 1
    without = RobustLinearSVC(radius=0.05).fit(X[present], y[present])
    weights = present.astype(float)
    same_model(RobustLinearSVC(radius=0.05).fit(X, y, sample_weight=weights), without)
    by_class = RobustLinearSVC(radius=0.05, class_weight={1: 0.0}).fit(X, y)
    same_model(by_class, without)
    in_chunks = RobustLinearSVC(radius=0.05, tol=1e-9)
    same_model(in_chunks.fit(lambda: [(X, y, weights)]), without)
    in_chunks.set_params(class_weight={1: 0.0})
    same_model(in_chunks.fit(lambda: [(X[::2], y[::2]), (X[1::2], y[1::2])]), without)


def test_class_weights_are_sample_weights():
    X, y = IRIS
    table = {0: 1.0, 1: 5.0, 2: 0.2}
    by_class = RobustLinearSVC(class_weight=table).fit(X, y)
    by_sample = RobustLinearSVC().fit(X, y, sample_weight=[table[k] for k in y])
    same_model(by_class, by_sample)
    partial = RobustLinearSVC(class_weight={1: 5.0}).fit(X, y)
    full = RobustLinearSVC(class_weight={0: 1, 1: 5.0, 2: 1}).fit(X, y)
    same_model(partial, full)


def test_balanced_counts_weights_not_rows():
    X, y = IRIS[0][:120], IRIS[1][:120]
    expected = {k: 120 / (3 * np.sum(y == k)) for k in range(3)}
    balanced = RobustLinearSVC(class_weight="balanced").fit(X, y)
    same_model(balanced, RobustLinearSVC(class_weight=expected).fit(X, y))
    twice = RobustLinearSVC(class_weight="balanced").fit(
        np.vstack([X, X[y == 2]]), np.append(y, y[y == 2])
    )
    weights = np.where(y == 2, 2.0, 1.0)
    weighted = RobustLinearSVC(class_weight="balanced").fit(X, y, sample_weight=weights)
    same_model(twice, weighted, rtol=1e-4)


def test_one_class_or_no_weight_at_all_is_refused():
    X, y = IRIS
    with pytest.raises(ValueError, match="1 class"):
        RobustLinearSVC().fit(X, np.full(len(y), "only"))
    with pytest.raises(ValueError, match="0 of non-zero weight"):
        RobustLinearSVC().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="1 of non-zero weight"):
        RobustLinearSVC(class_weight={0: 0, 1: 0}).fit(X, y)


# -- radii and noise -----------------------------------------------------------------


def many_equal_rows(seed=0, n=5_000, kinds=200):
    """Three classes; every row is there often, and mostly in more than one of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(kinds, 4))[rng.integers(kinds, size=n)]
    y = np.argmax(X[:, :3] + 0.5 * rng.normal(size=(n, 3)), axis=1)
    return X, y, rng.exponential(size=n)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("penalty", [None, 0.0, 1.0])
def test_classes_that_share_the_data_are_solved_as_each_by_itself(wrap, penalty):
    X, y, weights = many_equal_rows()
    params = {"C": 0.01, "tol": 1e-7, "fit_intercept": penalty is not None}
    own = {"intercept_penalty": penalty or 0.0, "random_state": 0}
    radius = np.array([0.0, 0.1, 0.2])[y]
    model = RobustLinearSVC(solver_options=own, **params)
    model.fit(wrap(X), y, sample_weight=weights, radius=radius)
    assert model.converged_.all()
    alphas = np.zeros((3, len(y)))
    alphas[:, model.support_] = model.dual_coef_
    for k, (w, b, alpha) in enumerate(
        zip(model.coef_, model.intercept_, alphas, strict=True)
    ):
        signs = np.where(y == k, 1.0, -1.0)
        given = {"sample_weight": weights, "radius": radius}
        alone = solve(X, signs, **given, **params, **own)
        np.testing.assert_allclose(w, alone.w, atol=1e-3)
        problem = Problem.from_data(X, signs, C=0.01, **given, intercept=penalty)
        value = problem.at(w, b).value
        assert value == pytest.approx(model.objective_[k], rel=1e-10)
        assert problem.gap(w, b, alpha * signs) <= 1e-6 * value


def test_one_against_the_rest_looks_at_the_data_once(monkeypatch):
    X, y, _ = many_equal_rows()
    calls = []

    def counted(place, name):
        work = getattr(place, name)

        def call(*args, **kwargs):
            calls.append(name)
            return work(*args, **kwargs)

        monkeypatch.setattr(place, name, call)

    counted(changes, "measured_data")
    counted(changes, "to_csr")
    counted(merge, "group_samples")
    model = RobustLinearSVC(C=0.01).fit(X, y)
    assert len(model.coef_) == 3
    assert sorted(calls) == ["group_samples", "measured_data", "to_csr"]


@pytest.mark.parametrize(
    "noise", ["linf", "l1", Box([1, 2, 0.5, 1]), CrossPolytope([1, 2, 0.5, 1])], ids=str
)
def test_boxes_and_cross_polytopes_move_samples_to_their_edge(noise, monkeypatch):
    X, y = IRIS
    monkeypatch.setitem(sys.modules, "cvxpy", None)  # no shape needs the conic extra
    model = RobustLinearSVC(radius=0.05, noise=noise).fit(X, y == 2)
    moves = model.worst_case(X, y == 2, 0.1)
    shape = as_shape(noise, 4)
    np.testing.assert_allclose([shape.dual_norm(move) for move in moves], 0.1)
    assert model.robust_score(X, y == 2, 0.1) == model.score(X + moves, y == 2)


# -- few features ------------------------------------------------------------------


def test_features_without_a_weight_are_told_and_selected():
    X, y = two_classes()
    plain = RobustLinearSVC(C=0.1).fit(X, y)
    np.testing.assert_array_equal(plain.support_features_, range(30))
    model = RobustLinearSVC(C=0.1, noise="linf", norm_penalty=2.0).fit(X, y)
    kept = model.support_features_
    np.testing.assert_array_equal(kept, np.flatnonzero(model.coef_[0]))
    assert 0 < len(kept) < 15
    # By default it asks for more than the mean, and it knows scikit-learn's own names.
    chosen = SelectFromModel(clone(model), threshold=1e-12).fit(X, y)
    np.testing.assert_array_equal(chosen.get_support(indices=True), kept)
    again = make_pipeline(chosen, LinearSVC()).fit(X, y)
    assert again.score(X, y) > 0.93


def test_a_feature_counts_where_some_class_weighs_it():
    X, y = IRIS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullModelWarning)
        model = RobustLinearSVC(radius=0.05, noise="linf").fit(X, y)
    used = (model.coef_ != 0).any(axis=0)
    assert not (model.coef_ != 0).all(axis=0)[used].all()  # of some classes only
    np.testing.assert_array_equal(model.support_features_, np.flatnonzero(used))


def test_a_sparse_model_answers_as_the_dense_one_does():
    X, y = two_classes()
    model = RobustLinearSVC(radius=0.1, noise="linf").fit(X, y)
    dense = clone(model).fit(X, y)
    assert sp.issparse(model.sparsify().coef_)
    sent = pickle.loads(pickle.dumps(model))
    forms = (X, X.astype(np.float32), sp.csr_array(X))
    for rows, other in product(forms, (model, sent)):
        expected = dense.decision_function(rows)
        np.testing.assert_array_equal(other.decision_function(rows), expected)
    np.testing.assert_array_equal(model.certified_radius(X), dense.certified_radius(X))
    np.testing.assert_array_equal(model.worst_case(X, y), dense.worst_case(X, y))
    np.testing.assert_array_equal(model.support_features_, dense.support_features_)
    np.testing.assert_array_equal(sent.densify().coef_, dense.coef_)
    same_model(model.fit(X, y), dense, rtol=1e-3)  # a warm start from it, too


def test_the_norm_penalty_is_that_of_the_objective():
    X, y = two_classes()
    tau = np.linspace(0.5, 2, 30)
    for noise in (Box(tau), CrossPolytope(tau), tau, "l2"):
        options = {"radius": 0.1, "noise": noise, "norm_penalty": 3.0}
        model = RobustLinearSVC(C=0.5, **options).fit(X, y)
        omega = as_shape(noise, 30).support(model.coef_[0])
        margins = np.where(y == 1, 1, -1) * model.decision_function(X)
        losses = np.maximum(1 - margins + 0.1 * omega, 0)
        value = 0.5 * np.sum(model.coef_**2) + 3 * omega + 0.5 * losses.sum()
        assert model.objective_[0] == pytest.approx(value, rel=1e-9)
    boxes = RobustLinearSVC(error_shape="box", norm_penalty=3.0, C=0.5)
    boxes.fit(X, y, X_err=np.full(X.shape, 0.1))
    model = RobustLinearSVC(C=0.5, radius=0.1, noise="linf", norm_penalty=3.0).fit(X, y)
    same_model(boxes, model, rtol=0.02)
    with pytest.raises(ValueError, match="norm_penalty=3 beside X_err"):
        RobustLinearSVC(norm_penalty=3.0).fit(X, y, X_err=np.full(X.shape, 0.1))


def test_too_much_noise_is_said_with_the_critical_radius():
    X, y = two_classes()
    with pytest.warns(
        NullModelWarning, match=r"critical radius \(one for all samples\) is"
    ):
        model = RobustLinearSVC(radius=50.0).fit(X, y)
    assert not model.coef_.any()
    assert np.isinf(model.certified_radius(X)).all()
    with pytest.warns(NullModelWarning, match="choose a smaller norm_penalty"):
        model = RobustLinearSVC(norm_penalty=1e4, noise="linf").fit(X, y)
    assert len(model.support_features_) == 0


def test_warnings_name_the_class_and_point_at_the_fit():
    X, y = IRIS
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    with pytest.warns(NullModelWarning, match="versicolor against the rest") as found:
        RobustLinearSVC(radius=0.1).fit(X, names)
    assert [warning.filename for warning in found] == [__file__]
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        pytest.warns(NullModelWarning, match="versicolor against the rest"),
    ):
        RobustLinearSVC(radius=0.1).fit(X, names)


def test_robust_score_takes_weights():
    X, y = IRIS
    model = RobustLinearSVC(radius=0.05).fit(X, y)
    weights = np.random.default_rng(0).random(len(y))
    assert model.robust_score(X, y, 0.0, weights) == pytest.approx(
        model.score(X, y, weights)
    )


# -- what a fit leaves behind --------------------------------------------------------


def test_dual_coefficients_make_the_model_as_in_svc():
    X, y = two_classes()
    mine = RobustLinearSVC(tol=1e-10).fit(X, y)
    np.testing.assert_allclose(
        mine.dual_coef_ @ X[mine.support_], mine.coef_, atol=1e-4
    )
    svc = SVC(kernel="linear", tol=1e-8).fit(X, y)
    large = np.abs(mine.dual_coef_[0]) > 1e-6
    np.testing.assert_array_equal(mine.support_[large], np.sort(svc.support_))
    order = np.argsort(svc.support_)
    np.testing.assert_allclose(
        mine.dual_coef_[0][large], svc.dual_coef_[0][order], atol=1e-3
    )


def test_screening_is_reported_and_was_right():
    X, y = two_classes()
    model = RobustLinearSVC(radius=0.05).fit(X, y)
    (report,) = model.screening_
    assert report["removed"] > 0.5
    assert report["removed"] + report["saturated"] <= 1
    assert len(model.support_) <= (1 - report["removed"]) * len(y) + 1e-9
    assert report["trace"][-1]["gap"] == pytest.approx(model.dual_gap_[0], abs=1e-9)
    off = RobustLinearSVC(radius=0.05, solver_options={"screening": None}).fit(X, y)
    assert off.screening_[0]["removed"] == 0
    same_model(off, model, rtol=1e-4)


def test_classes_in_parallel_are_the_same():
    X, y = digits()
    options = {"radius": 0.1, "solver_options": {"random_state": 0}}
    alone = RobustLinearSVC(**options).fit(X, y)
    same_model(alone, RobustLinearSVC(n_jobs=2, **options).fit(X, y), rtol=1e-6)
    for backend in ("loky", "multiprocessing"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            same_model(alone, RobustLinearSVC(**options).fit(X, y), rtol=1e-6)


def test_limits_are_kept_and_said():
    X, y = digits()
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        RobustLinearSVC(solver_options={"max_iter": 2}).fit(X, y == 3)
    with pytest.warns(ConvergenceWarning, match="raise max_seconds") as said:
        hasty = RobustLinearSVC(solver_options={"max_seconds": 1e-6}).fit(X, y)
    assert np.isfinite(hasty.coef_).all()
    # w = 0 for want of time is not the best model.
    assert not [note for note in said if note.category is NullModelWarning]


def test_verbose_prints_certified_points(capsys):
    X, y = IRIS
    RobustLinearSVC(solver_options={"verbose": 1}).fit(X, np.array(["a", "b", "c"])[y])
    printed = capsys.readouterr().out
    for label in "abc":
        assert f"[RobustLinearSVC] {label}: iteration" in printed
    assert "gap" in printed


BAD = [
    ({"C": -1.0}, {}, "C=-1.0"),
    ({"C": "1"}, {}, "C='1'"),
    ({"radius": -0.5}, {}, "radius is -0.5"),
    ({"radius": np.ones(150)}, {}, "radius has shape"),
    ({"radius": {0: 1.0, 1: 1.0, 2: 0}}, {}, "radius=.* is not a number or"),
    ({}, {"radius": np.ones(7)}, r"radius has shape \(7,\)"),
    ({}, {"radius": np.full(150, np.nan)}, "radius is nan"),
    ({"noise": "l3"}, {}, "noise='l3'"),
    ({"noise": np.ones(3)}, {}, r"noise gives scales of shape \(3,\)"),
    (
        {"solver_options": {"intercept_penalty": -1.0}},
        {},
        "intercept_penalty=-1.0 must be one finite number ≥ 0",
    ),
    (
        {"fit_intercept": False, "solver_options": {"intercept_penalty": 1.0}},
        {},
        "intercept_penalty=1.0",
    ),
    ({"norm_penalty": -1.0}, {}, "norm_penalty=-1.0 must be one finite number ≥ 0"),
    ({"class_weight": "even"}, {}, "class_weight='even'"),
    ({"class_weight": {0: -1.0}}, {}, "class_weight per class is -1.0"),
    ({}, {"sample_weight": np.full(150, -1.0)}, "sample_weight is -1.0"),
    ({}, {"sample_weight": np.ones((150, 2))}, "sample_weight has shape"),
    ({}, {"sample_weight": np.ones((150, 4))}, "given by name.*X_err"),
    ({"solver_options": {"solver": "sgd"}}, {}, "solver='sgd'"),
    ({"solver_options": {"screening": "ball"}}, {}, "screening='ball'"),
    ({"tol": 0.0}, {}, "tol=0.0"),
    ({"ramp": -1.0, "solver_options": {"starts": 9}}, {}, "starts=9 must be 1, 2 or 3"),
    ({"solver_options": {"max_iter": 0}}, {}, "max_iter=0"),
    ({"solver_options": {"max_seconds": -1}}, {}, "max_seconds=-1"),
    ({"solver_options": {"max_itr": 5}}, {}, "did you mean 'max_iter'"),
    ({"solver_options": {"refit": False}}, {}, "solver_options has 'refit'"),
    ({"solver_options": "newton"}, {}, "solver_options='newton' must be a dict"),
]


@pytest.mark.parametrize(("params", "given", "said"), BAD)
def test_bad_input_is_named_and_leaves_what_was_fitted(params, given, said):
    X, y = IRIS
    fresh = RobustLinearSVC(**params)
    with pytest.raises(ValueError, match=said):
        fresh.fit(X, y, **given)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    model = RobustLinearSVC().fit(frame, y > 0)
    before = model.decision_function(frame)
    model.set_params(**params)
    with pytest.raises(ValueError, match=said):
        model.fit(X, y, **given)
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.classes_.tolist() == [False, True]
    np.testing.assert_array_equal(model.decision_function(frame), before)


def test_an_interrupted_fit_leaves_what_was_fitted(monkeypatch):
    X, y = IRIS
    model = RobustLinearSVC().fit(X[:, :2], y > 0)
    state = dict(vars(model))

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(training._SharedRows, "solve", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[name] is state[name] for name in state)


# -- per-sample radii through scikit-learn's machinery ----------------------------------


def expected_folds(X, y, radii, indices):
    """Decision values of models trained by hand on each fold."""
    for train in indices:
        scaler = StandardScaler().fit(X[train])
        model = RobustLinearSVC().fit(
            scaler.transform(X[train]), y[train], radius=radii[train]
        )
        yield model.decision_function(scaler.transform(X))


@pytest.mark.parametrize("routed", [True, False])
def test_per_sample_radii_are_cut_to_the_folds(routed):
    X, y = two_classes()
    rng = np.random.default_rng(0)
    radii, weights = rng.uniform(0, 1, size=len(y)), rng.uniform(0.5, 2, size=len(y))
    with sklearn.config_context(enable_metadata_routing=routed):
        svc, scaler, prefix = RobustLinearSVC(), StandardScaler(), "robustlinearsvc__"
        if routed:
            svc.set_fit_request(radius=True, sample_weight=True)
            scaler.set_fit_request(sample_weight=False)
            prefix = ""
        model = make_pipeline(scaler, svc)
        found = cross_validate(
            model,
            X,
            y,
            cv=3,
            params={f"{prefix}radius": radii},
            return_estimator=True,
            return_indices=True,
        )
        expected = expected_folds(X, y, radii, found["indices"]["train"])
        for fitted, values in zip(found["estimator"], expected, strict=True):
            np.testing.assert_allclose(fitted.decision_function(X), values, atol=1e-5)
        search = GridSearchCV(model, {"robustlinearsvc__C": [0.1, 1.0]}, cv=3)
        search.fit(X, y, **{f"{prefix}radius": radii})
        best = RobustLinearSVC(C=search.best_params_["robustlinearsvc__C"])
        same_model(search.best_estimator_[-1], best.fit(scale(X), y, radius=radii))
        both = {f"{prefix}radius": radii, f"{prefix}sample_weight": weights}
        weighted = RobustLinearSVC().fit(scale(X), y, weights, radius=radii)
        same_model(model.fit(X, y, **both)[-1], weighted)
