"""Error bars for every cell: what classifiers make of `X_err`, and how they judge."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from wideberth import (
    RobustLinearSVC,
    RobustLinearSVCCV,
    critical_radius,
    make_robust_pipeline,
    robust_scorer,
    solve,
)
from wideberth.estimators.training import TrainingRows, statement_of
from wideberth.noise.reading import read_errors
from wideberth.plotting import CertifiedAccuracyDisplay, MarginDisplay

RNG = np.random.default_rng(7)
N, D = 90, 3
Y3 = np.repeat(["a", "b", "c"], N // 3)
Y = np.where(Y3 == "a", "a", "b")
X = (
    RNG.normal(size=(N, D))
    + 1.5 * np.array([[0, 0, 0], [2, 0, 1], [0, 2, -1]])[np.repeat([0, 1, 2], N // 3)]
)
E = RNG.uniform(0.1, 0.8, size=(N, D)) * RNG.integers(0, 2, size=(N, D))
UP = RNG.uniform(0, 1, size=(N, D))
ROOTS = 0.2 * RNG.normal(size=(N, D, D))
COLUMNS = ["u", "v", "w"]

KINDS = {
    "ellipsoid": (E, "ellipsoid"),
    "box": (E, "box"),
    "sparse": (sp.csr_array(E), "ellipsoid"),
    "sparse box": (sp.csr_array(E), "box"),
    "frame": (pd.DataFrame(E, columns=COLUMNS)[["w", "u", "v"]], "ellipsoid"),
    "pair": ((E, UP), "box"),
    "stacked pair": (np.stack([E, UP], axis=-1), "box"),
    "covariances": (ROOTS @ ROOTS.transpose(0, 2, 1), "ellipsoid"),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def rows_of(kind, rows):
    """Error bars of some samples."""
    errors, shape = KINDS[kind]
    if kind == "pair":
        return tuple(part[rows] for part in errors), shape
    return (errors.iloc[rows] if kind == "frame" else errors[rows]), shape


def data_of(kind):
    return pd.DataFrame(X, columns=COLUMNS) if kind == "frame" else X


def fitted(kind, y=Y, **options):
    errors, shape = KINDS[kind]
    model = RobustLinearSVC(error_shape=shape, **options)
    return model.fit(data_of(kind), y, X_err=errors), errors


def moves_within(kind, rng, count):
    """Random moves to the boundaries of the sets."""
    errors, shape = KINDS[kind]
    bars = read_errors(errors, shape, X.shape, COLUMNS)
    if "pair" in kind:
        return [rng.choice([1, 0], size=X.shape) * (E + UP) - E for _ in range(count)]
    w = rng.normal(size=(count, D))
    return [bars.gradients(v) for v in w]


# -- training --------------------------------------------------------------------------


@each_kind
def test_a_classifier_is_what_solve_finds(kind):
    model, errors = fitted(kind, tol=1e-8)
    options = {"X_err": errors, "error_shape": KINDS[kind][1], "tol": 1e-8}
    expected = solve(data_of(kind), Y, **options)
    np.testing.assert_allclose(model.coef_[0], expected.w, atol=1e-5)
    np.testing.assert_allclose(model.objective_[0], expected.primal, rtol=1e-7)
    assert model.radius_ == 1.0
    assert model.noise_ is None
    assert model.error_shape_ == KINDS[kind][1]
    plain = RobustLinearSVC(tol=1e-8).fit(X, Y)
    assert np.abs(plain.coef_ - model.coef_).max() > 1e-3
    assert plain.error_shape_ is None


def test_radii_per_sample_count_errors():
    radii = np.where(Y == "a", 0.5, 2.0)
    each = RobustLinearSVC(tol=1e-8).fit(X, Y, radius=radii, X_err=E)
    scaled = RobustLinearSVC(tol=1e-8).fit(X, Y, X_err=radii[:, None] * E)
    np.testing.assert_allclose(each.coef_, scaled.coef_, atol=1e-5)
    with pytest.raises(ValueError, match="radius must be given"):
        each.robust_score(X, Y, X_err=E)
    expected = scaled.robust_score(X, Y, X_err=radii[:, None] * E)
    assert each.robust_score(X, Y, radii, X_err=E) == expected


def test_what_a_fit_leaves_goes_on_working():
    model = RobustLinearSVC().fit(X, Y, X_err=E)
    assert model.fit(X, Y, X_err=E).converged_.all()
    again = pickle.loads(pickle.dumps(model))
    assert again.robust_score(X, Y, X_err=E) == model.robust_score(X, Y, X_err=E)
    # The parameter is for the next fit.
    judged = model.certified_radius(X, X_err=E)
    model.set_params(error_shape="box")
    np.testing.assert_array_equal(model.certified_radius(X, X_err=E), judged)
    assert model.fit(X, Y).noise_ == "l2"
    assert model.error_shape_ is None
    bars = read_errors(E, "ellipsoid", X.shape)
    svc = RobustLinearSVC().fit(X, Y, X_err=E)
    (problem,) = TrainingRows.of(X, Y, None, 1.0, bars).problems(statement_of(svc))
    expected = critical_radius(X, Y, X_err=E)
    found = critical_radius(problem)
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper


def test_a_pair_is_two_tables_or_one_of_pairs():
    pair, stacked = fitted("pair")[0], fitted("stacked pair")[0]
    listed = RobustLinearSVC(error_shape="box").fit(X, Y, X_err=[E, UP])
    np.testing.assert_array_equal(pair.coef_, stacked.coef_)
    np.testing.assert_array_equal(pair.coef_, listed.coef_)
    with pytest.raises(
        ValueError, match=r"shape \(90, 3, 3\);.*np\.stack.*'ellipsoid'"
    ):
        RobustLinearSVC(error_shape="box").fit(X, Y, X_err=KINDS["covariances"][0])
    bad = KINDS["stacked pair"][0].copy()
    bad[2, 1, 1] = -1.0
    with pytest.raises(ValueError, match=r"X_err is -1 at row 2, column 1"):
        RobustLinearSVC(error_shape="box").fit(X, Y, X_err=bad)
    # Two samples with a covariance each are no pair, but two tables of errors are one.
    rows, matrices = X[[0, -1]], [np.diag([0.1, 0.2, 0.3]), np.eye(D)]
    of_list = RobustLinearSVC().fit(rows, [0, 1], X_err=matrices)
    of_array = RobustLinearSVC().fit(rows, [0, 1], X_err=np.array(matrices))
    np.testing.assert_array_equal(of_list.coef_, of_array.coef_)
    for two in ([E[:2], UP[:2]], (matrices[0], matrices[1])):
        with pytest.raises(ValueError, match="X_err is a pair"):
            RobustLinearSVC().fit(rows, [0, 1], X_err=two)


# -- judging ---------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("labels", [Y, Y3], ids=["two", "three"])
def test_no_point_of_a_set_is_worse_than_the_worst(kind, labels):
    model, errors = fitted(kind, labels)
    frame = data_of(kind)
    moves = model.worst_case(frame, labels, 0.7, X_err=errors)
    points = moves_within(kind, np.random.default_rng(0), 300)

    def margins(at):
        values = at @ model.coef_.T + model.intercept_
        if values.shape[1] == 1:
            values = np.column_stack([-values, values])
        places = np.searchsorted(model.classes_, labels)[:, None]
        own = np.take_along_axis(values, places, 1)
        np.put_along_axis(values, places, -np.inf, 1)
        return own[:, 0] - values.max(axis=1)

    worst = margins(X + moves)
    for point in points:
        for share in (0.7, 0.2) if "pair" in kind else (0.7, -0.7, 0.2):
            assert np.all(margins(X + share * point) >= worst - 1e-9)
    right = np.mean(worst > 0)
    assert model.robust_score(frame, labels, 0.7, X_err=errors) == pytest.approx(right)
    assert right <= np.mean(margins(X) > 0)


@each_kind
@pytest.mark.parametrize("labels", [Y, Y3], ids=["two", "three"])
def test_predictions_change_at_the_certified_factor_and_not_before(kind, labels):
    model, errors = fitted(kind, labels)
    frame = data_of(kind)
    factors = model.certified_radius(frame, X_err=errors)
    points = moves_within(kind, np.random.default_rng(1), 200)
    predicted = model.predict(frame, X_err=errors)
    known = np.isfinite(factors)
    assert known.any()

    def classes(at):
        values = at @ model.coef_.T + model.intercept_
        numbers = values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1)
        return model.classes_[numbers.astype(int)]

    np.testing.assert_array_equal(classes(X), predicted)
    within = np.where(known, 0.999 * factors, 50.0)[:, None]
    for point in points:
        np.testing.assert_array_equal(classes(X + within * point), predicted)
    for share, flips in ((0.999, False), (1.001, True)):
        radii = np.where(known, share * factors, 0.0)
        moves = model.worst_case(frame, predicted, radii, X_err=errors)
        changed = classes(X + moves) != predicted
        assert np.all(changed[known] == flips)
    sets = read_errors(errors, KINDS[kind][1], X.shape, COLUMNS)
    if labels is Y:
        values, w = model.decision_function(frame, X_err=errors), model.coef_[0]
        kappa = sets.supports(w)
        if "pair" in kind:  # against the sign of the score
            down = E @ np.maximum(w, 0) + UP @ np.maximum(-w, 0)
            up = UP @ np.maximum(w, 0) + E @ np.maximum(-w, 0)
            kappa = np.where(values > 0, down, up)
        values = np.abs(values)
        np.testing.assert_allclose(factors[known], (values / kappa)[known])
        np.testing.assert_array_equal(known, kappa > 0)


@pytest.mark.parametrize("radius", [0.0, 0.4, 1.0, 3.0])
def test_lopsided_boxes_reach_radius_times_each_tolerance_and_x_is_scored(radius):
    model, errors = fitted("pair", radius=radius)
    middle, half = X + radius * (UP - E) / 2, 0.5 * (UP + E)
    alike = RobustLinearSVC(error_shape="box", radius=radius)
    alike.fit(middle, Y, X_err=half)
    np.testing.assert_allclose(model.coef_, alike.coef_, atol=1e-9)
    for name in ("decision_function", "predict"):
        np.testing.assert_array_equal(
            getattr(model, name)(X, X_err=errors), getattr(model, name)(X)
        )
    assert model.score(X, Y, X_err=errors) == model.score(X, Y)
    worst = X + model.worst_case(X, Y, X_err=errors)
    assert np.all(worst >= X - radius * E - 1e-12)
    assert np.all(worst <= X + radius * UP + 1e-12)
    right = np.mean(model.predict(worst) == Y)
    assert model.robust_score(X, Y, X_err=errors) == right


def test_a_model_trained_without_errors_can_be_judged_by_them():
    model = RobustLinearSVC(radius=0.05).fit(X, Y)
    factors = model.certified_radius(X, X_err=E)
    right = model.predict(X) == Y
    assert model.robust_score(X, Y, X_err=E) == np.mean(right & (factors > 1))
    assert model.robust_score(X, Y, 2, X_err=E) == np.mean(right & (factors > 2))
    assert model.robust_score(X, Y) == model.robust_score(X, Y, 0.05)
    sure = CertifiedAccuracyDisplay.from_estimator(model, X, Y, radii=[1], X_err=E)
    assert sure.accuracy[0] == model.robust_score(X, Y, X_err=E)


# -- cross-validation ------------------------------------------------------------------


@each_kind
def test_a_search_slices_errors_like_samples(kind):
    errors, shape = KINDS[kind]
    labels = Y3 if kind in ("box", "covariances") else Y
    cv, frame = StratifiedKFold(3), data_of(kind)
    search = RobustLinearSVCCV(
        [0.1, 1.0],
        [0.5, 1.0],
        error_shape=shape,
        cv=cv,
        scoring=robust_scorer(1.0),
        tol=1e-7,
    ).fit(frame, labels, X_err=errors)
    for s, (train, test) in enumerate(cv.split(X, labels)):
        part, rest = rows_of(kind, train)[0], rows_of(kind, test)[0]
        take = frame.iloc.__getitem__ if kind == "frame" else frame.__getitem__
        for k, radius in enumerate(search.radii_):
            for j, C in enumerate(search.Cs_):
                model = RobustLinearSVC(C, radius, error_shape=shape, tol=1e-7)
                model.fit(take(train), labels[train], X_err=part)
                score = model.robust_score(take(test), labels[test], 1.0, X_err=rest)
                assert abs(search.scores_[k, j, s] - score) <= 1.01 / len(test)
    best = RobustLinearSVC(search.C_, search.radius_, error_shape=shape, tol=1e-7)
    best.fit(frame, labels, X_err=errors)
    np.testing.assert_allclose(search.coef_, best.coef_, atol=1e-5)
    assert search.robust_score(frame, labels, X_err=errors) == pytest.approx(
        best.robust_score(frame, labels, X_err=errors)
    )
    with pytest.raises(ValueError, match="X_err must be given"):
        search.certified_radius(frame)


# -- metadata routing ------------------------------------------------------------------


def robust(model, X, y, X_err):
    return model.robust_score(X, y, X_err=X_err)


class RobustScorer:
    """A scorer that asks for error bars."""

    def __call__(self, model, X, y, X_err=None):
        return robust(model, X, y, X_err)

    def get_metadata_routing(self):
        request = sklearn.utils.metadata_routing.MetadataRequest(owner="RobustScorer")
        request.score.add_request(param="X_err", alias=True)
        return request


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("sparse", True),
        ("frame", False),
        ("covariances", True),
        ("stacked pair", False),
    ],
)
def test_errors_are_routed_through_pipelines_and_searches(kind, asked):
    errors, shape = KINDS[kind]
    frame, cv = data_of(kind), StratifiedKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        svc = RobustLinearSVC(error_shape=shape, tol=1e-7)
        if asked:
            svc.set_fit_request(X_err=True)
        steps = Pipeline([("same", FunctionTransformer()), ("svc", svc)])
        direct = clone(svc).fit(frame, Y, X_err=errors)
        steps.fit(frame, Y, X_err=errors)
        np.testing.assert_array_equal(steps[-1].coef_, direct.coef_)
        for model, prefix in ((svc, ""), (steps, "svc__")):
            grid = {f"{prefix}C": [0.3, 2.0], f"{prefix}radius": [0.5, 1.0]}
            search = GridSearchCV(model, grid, cv=cv, error_score="raise")
            search.fit(frame, Y, X_err=errors)
            own = RobustLinearSVCCV(
                [0.3, 2.0], [0.5, 1.0], error_shape=shape, cv=cv, tol=1e-7
            ).fit(frame, Y, X_err=errors)
            np.testing.assert_allclose(
                search.cv_results_["mean_test_score"],
                own.cv_results_["mean_test_score"],
            )
        scored = cross_validate(
            svc, frame, Y, cv=cv, params={"X_err": errors}, scoring=RobustScorer()
        )
        own = RobustLinearSVCCV(
            [1.0], [1.0], error_shape=shape, cv=cv, tol=1e-7, scoring=RobustScorer()
        ).fit(frame, Y, X_err=errors)
        np.testing.assert_allclose(scored["test_score"], own.scores_[0, 0])
        expected = RobustLinearSVCCV(
            [1.0], [1.0], error_shape=shape, cv=cv, tol=1e-7, scoring=robust_scorer(1.0)
        ).fit(frame, Y, X_err=errors)
        np.testing.assert_allclose(own.scores_, expected.scores_)


# -- pipelines in raw units ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ellipsoid", "box", "sparse", "frame", "pair"])
def test_a_robust_pipeline_carries_errors_through_a_scaler(kind):
    errors, shape = KINDS[kind]
    frame = data_of(kind)
    svc = RobustLinearSVC(error_shape=shape, tol=1e-8)
    model = make_robust_pipeline(StandardScaler(), svc)
    model.fit(frame, Y, robustlinearsvc__X_err=errors)
    bars = read_errors(errors, shape, X.shape, COLUMNS)
    scale = X.std(axis=0)
    sizes = bars.dense
    sizes = (sizes if shape == "box" else np.sqrt(sizes)) / scale
    sizes = (E / scale, UP / scale) if "pair" in kind else sizes
    alike = clone(svc).fit((X - X.mean(axis=0)) / scale, Y, X_err=sizes)
    np.testing.assert_allclose(model[-1].coef_, alike.coef_, atol=1e-5)
    assert model.noise_ is None
    raw = RobustLinearSVC(error_shape=shape).fit(frame, Y, X_err=errors)
    raw.coef_ = model[-1].coef_ / scale
    shift = model[-1].coef_ @ (X.mean(axis=0) / scale)
    raw.intercept_ = model[-1].intercept_ - shift
    np.testing.assert_allclose(
        model.certified_radius(frame, X_err=errors),
        raw.certified_radius(frame, X_err=errors),
    )
    np.testing.assert_allclose(
        model.worst_case(frame, Y, X_err=errors),
        raw.worst_case(frame, Y, X_err=errors),
        atol=1e-12,
    )
    assert model.robust_score(frame, Y, X_err=errors) == raw.robust_score(
        frame, Y, X_err=errors
    )
    np.testing.assert_allclose(
        model.decision_function(frame, X_err=errors),
        raw.decision_function(frame, X_err=errors),
        atol=1e-9,
    )
    assert model.score(frame, Y, X_err=errors) == raw.score(frame, Y, X_err=errors)
    np.testing.assert_array_equal(
        model.predict(frame, X_err=errors), raw.predict(frame, X_err=errors)
    )
    with pytest.raises(ValueError, match="X_err must be given"):
        model.robust_score(frame, Y)


@pytest.mark.parametrize("kind", ["ellipsoid", "sparse", "covariances"])
def test_ellipsoids_go_through_steps_that_mix_features(kind):
    errors, _ = KINDS[kind]
    model = make_robust_pipeline(PCA(2), RobustLinearSVC(tol=1e-8))
    model.fit(X, Y, robustlinearsvc__X_err=errors)
    A = model.linear_map_.toarray()
    bars = read_errors(errors, "ellipsoid", X.shape)
    full = bars.matrices if kind == "covariances" else None
    if full is None:
        full = np.array([np.diag(row) for row in bars.dense])
    alike = RobustLinearSVC(tol=1e-8)
    alike.fit(model[:-1].transform(X), Y, X_err=A @ full @ A.T)
    np.testing.assert_allclose(model[-1].coef_, alike.coef_, atol=1e-5)
    factors = model.certified_radius(X, X_err=errors)
    inside = alike.certified_radius(model[:-1].transform(X), X_err=A @ full @ A.T)
    np.testing.assert_allclose(factors, inside, rtol=1e-6)
    boxes = make_robust_pipeline(PCA(2), RobustLinearSVC(error_shape="box"))
    with pytest.raises(ValueError, match="mixes features"):
        boxes.fit(X, Y, robustlinearsvc__X_err=E)
    assert not hasattr(boxes[-1], "_carried_errors")


def test_missing_cells_are_filled_beside_standard_errors_but_not_covariances():
    holes = X.copy()
    holes[3, 1] = np.nan
    model = make_robust_pipeline(SimpleImputer(), RobustLinearSVC())
    model.fit(holes, Y, robustlinearsvc__X_err=E)
    full = SimpleImputer().fit_transform(holes)
    alike = RobustLinearSVC().fit(full, Y, X_err=E)
    np.testing.assert_allclose(model[-1].coef_, alike.coef_)
    covariances = KINDS["covariances"][0]
    said = r"X has missing values and X_err holds covariances.*one standard error"
    with pytest.raises(ValueError, match=said):
        model.certified_radius(holes, X_err=covariances)
    with pytest.raises(ValueError, match=said):
        model.fit(holes, Y, robustlinearsvc__X_err=covariances)


# -- what is refused -------------------------------------------------------------------


def test_a_model_trained_with_errors_asks_for_them():
    model = RobustLinearSVC().fit(X, Y, X_err=E)
    said = r"X_err must be given: this model was trained with error bars.*Give X_err="
    for ask in (
        lambda: model.robust_score(X, Y),
        lambda: model.certified_radius(X),
        lambda: model.worst_case(X, Y),
        lambda: CertifiedAccuracyDisplay.from_estimator(model, X, Y),
    ):
        with pytest.raises(ValueError, match=said):
            ask()
    assert model.score(X, Y) == model.score(X, Y, X_err=E)
    two = RobustLinearSVC().fit(X[:, :2], Y, X_err=E[:, :2])
    with pytest.raises(ValueError, match=said):
        MarginDisplay.from_estimator(two, X[:, :2], Y)


@pytest.mark.parametrize("noise", ["linf", np.ones(D), np.eye(D)])
def test_errors_and_another_noise_exclude_each_other(noise):
    for model in (RobustLinearSVC(noise=noise), RobustLinearSVCCV([1.0], noise=noise)):
        with pytest.raises(ValueError, match=r"X_err and noise.*one of them.*'l2'"):
            model.fit(X, Y, X_err=E)
        assert not hasattr(model, "coef_")


def test_errors_are_for_data_in_memory(tmp_path):
    import array_api_strict as strict
    import dask.array as da

    said = r"X_err is for data in memory.*{} is a {}.*Load it"
    np.save(tmp_path / "X.npy", X)
    foreign, lazy = strict.asarray(X), da.from_array(X, chunks=(30, D))
    for model in (RobustLinearSVC(), RobustLinearSVCCV([1.0], cv=3)):
        for given, kind in (
            (str(tmp_path / "X.npy"), "str"),
            (lazy, "Array"),
            (foreign, "Array"),
            (lambda: iter([(X, Y)]), "function"),
        ):
            y = None if callable(given) else Y
            if isinstance(model, RobustLinearSVCCV) or given is foreign:
                with pytest.raises(ValueError, match=said.format("X", kind)):
                    model.fit(given, y, X_err=E)
        for given in (da.from_array(E, chunks=30), strict.asarray(E)):
            with pytest.raises(ValueError, match=said.format("X_err", "Array")):
                model.fit(X, Y, X_err=given)
    with pytest.raises(ValueError, match="another of the same blocks"):
        RobustLinearSVC().fit(lazy, da.from_array(Y, chunks=30), X_err=E)
    with pytest.raises(ValueError, match="X_err must come with them"):
        RobustLinearSVC().fit(lambda: iter([(X, Y)]), X_err=E)
    model = RobustLinearSVC().fit(X, Y, X_err=E)
    apart = RobustLinearSVC().fit(str(tmp_path / "X.npy"), Y, X_err=E)
    np.testing.assert_allclose(apart.objective_, model.objective_, rtol=2e-4)
    assert (apart.error_shape_, apart.radius_, apart.noise_) == ("ellipsoid", 1.0, None)
    for judge in (model.certified_radius, model.predict):
        with pytest.raises(ValueError, match="another of the same blocks"):
            judge(lazy, X_err=E)
        there = judge(lazy, X_err=da.from_array(E, chunks=(30, D))).compute()
        assert np.array_equal(there, judge(X, X_err=E))
        with pytest.raises(ValueError, match="X_err is for data in memory"):
            judge(foreign, X_err=E)


def test_errors_that_do_not_fit_are_refused_wherever_they_are_given():
    model = RobustLinearSVC().fit(X, Y, X_err=E)
    pipeline = make_robust_pipeline(StandardScaler(), RobustLinearSVC()).fit(X, Y)
    for ask in (
        lambda bad: RobustLinearSVC().fit(X, Y, X_err=bad),
        lambda bad: RobustLinearSVCCV([1.0]).fit(X, Y, X_err=bad),
        lambda bad: model.predict(X, X_err=bad),
        lambda bad: model.certified_radius(X, X_err=bad),
        lambda bad: model.robust_score(X, Y, X_err=bad),
        lambda bad: pipeline.predict(X, X_err=bad),
        lambda bad: pipeline.worst_case(X, Y, X_err=bad),
    ):
        with pytest.raises(ValueError, match=r"X_err has shape .* one error for every"):
            ask(E[:-1])
        with pytest.raises(ValueError, match=r"X_err is -1 at row 3, column 0"):
            ask(np.where(np.arange(N * D).reshape(N, D) == 9, -1.0, E))
        with pytest.raises(ValueError, match=r"X_err is a pair .*error_shape='box'"):
            ask((E, E))
    with pytest.raises(ValueError, match="error_shape='ball' is not known"):
        RobustLinearSVC(error_shape="ball").fit(X, Y, X_err=E)
