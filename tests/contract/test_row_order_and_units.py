"""Models of measurements depend on the data, not on how the data are written down.

The order of the rows, the names of the classes and the units of the columns change
decisions, predictions and intervals by at most a millionth of the largest.
"""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import KFold

from wideberth import MeasuredRegressor, MeasuredSVC, TrueFeatures

UNITS = np.array([1000.0, 0.3, 1e-5])


def measured(seed, kind="plain", classes=2, n=80):
    """Rows to learn from: features, errors, targets and classes; then new rows."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n + 40, 3)) @ (0.6 * rng.normal(size=(3, 3)) + np.eye(3))
    E = rng.uniform(0.05, 0.9, size=true.shape)
    X = true + E * rng.normal(size=true.shape)
    if kind == "missing":
        X[rng.random(X.shape) < 0.25] = np.nan
    if kind == "integer":  # ties, equal rows with other labels, exact cells
        X, E = np.clip(np.round(X), -1, 1), np.round(E)
    t = true[:, 0] + 0.5 * true[:, 1] ** 2 - 0.5 * true[:, 2]
    t += 0.5 * rng.normal(size=len(t))
    y = np.digitize(t, np.quantile(t, np.arange(1, classes) / classes))
    return X[:n], E[:n], t[:n], y[:n], X[n:], E[n:]


def fitted(model, *given, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*given, **named)


def apart(one, other):
    """The largest change relative to the largest number."""
    return np.abs(one - other).max() / np.abs(one).max()


CLASSIFIERS = [
    ({}, 2, "missing"),
    ({}, 2, "integer"),
    ({"n_components": "per_class"}, 3, "plain"),
    ({"n_components": 2, "random_state": 0}, 2, "plain"),
    (
        {"cv": 2, "Cs": (0.1, 1.0), "radii": (0.0,), "probability": True},
        2,
        "plain",
    ),
    ({"kernel": "rbf"}, 3, "plain"),
]


@pytest.mark.parametrize(("settings", "classes", "kind"), CLASSIFIERS)
@pytest.mark.parametrize("seed", [0])
def test_classifiers_depend_on_the_data_alone(settings, classes, kind, seed):
    X, E, _, y, Z, F = measured(seed, kind, classes)
    model = fitted(MeasuredSVC(**settings), X, y, X_err=E)
    names = np.roll(np.arange(classes), 1)  # class k is called names[k]

    def answers(model, units=1.0, order=None):
        found = [model.decision_function(Z * units, X_err=F * units)]
        if settings.get("probability"):
            found.append(model.predict_proba(Z * units, X_err=F * units))
        if order is None:
            return found
        values = -found[0] if classes == 2 else found[0][:, order]
        return [values, *(part[:, order] for part in found[1:])]

    rows = np.random.default_rng(seed).permutation(len(y))
    permuted = fitted(MeasuredSVC(**settings), X[rows], y[rows], X_err=E[rows])
    renamed = fitted(MeasuredSVC(**settings), X, names[y], X_err=E)
    scaled = fitted(MeasuredSVC(**settings), X * UNITS, y, X_err=E * UNITS)
    for others in (
        answers(permuted),
        answers(renamed, order=names),
        answers(scaled, UNITS),
    ):
        for one, other in zip(answers(model), others, strict=True):
            assert apart(one, other) <= 1e-6


@pytest.mark.parametrize(
    "settings", [{}, {"loss": "absolute"}, {"kernel": "rbf", "cv": 2}]
)
@pytest.mark.parametrize(("seed", "kind"), [(0, "plain"), (1, "missing")])
def test_regressions_depend_on_the_data_alone(settings, seed, kind):
    X, E, t, _, Z, F = measured(seed, kind)
    e = 0.2 * np.random.default_rng(seed).random(len(t))

    def answers(rows=slice(None), units=1.0, unit=1.0):
        model = fitted(
            MeasuredRegressor(**settings),
            X[rows] * units,
            unit * t[rows],
            X_err=E[rows] * units,
            y_err=unit * e[rows],
        )
        Y, G = Z * units, F * units
        found = [model.predict(Y, X_err=G), model.predict_interval(Y, X_err=G)]
        found.append(np.array([model.scatter_]))
        if hasattr(model, "coef_"):
            found += [model.coef_ * units, model.coef_std_ * units]
        return [part / unit for part in found]

    expected = answers()
    rows = np.random.default_rng(seed).permutation(len(t))
    for others in (answers(rows), answers(units=UNITS), answers(unit=1e6)):
        for one, other in zip(expected, others, strict=True):
            assert apart(one, other) <= 1e-6


@pytest.mark.parametrize("components", ["auto", "per_class", 2])
def test_populations_depend_on_the_data_alone(components):
    X, E, _, y, *_ = measured(2, "missing")
    rows = np.random.default_rng(2).permutation(len(y))

    def means(rows, y):
        model = TrueFeatures(components, random_state=0)
        return fitted(model, X[rows], y[rows], X_err=E[rows]).transform(X, X_err=E)

    expected = means(slice(None), y)
    for others in (means(rows, y), means(slice(None), 1 - y)):
        assert apart(expected, others) <= 1e-6


def test_gaussians_of_classes_are_in_the_order_of_the_labels():
    X, E, _, y, *_ = measured(0, classes=3)
    model = fitted(TrueFeatures("per_class"), X, y, X_err=E)
    for label, weight, mean in zip(range(3), model.weights_, model.means_, strict=True):
        assert weight == pytest.approx(np.mean(y == label))
        assert np.abs(mean - X[y == label].mean(axis=0)).max() < 0.5


@pytest.mark.parametrize("model", [MeasuredSVC, MeasuredRegressor])
def test_folds_that_users_state_are_of_the_rows_as_given(model):
    X, E, t, y, Z, F = measured(0)
    y = t if model is MeasuredRegressor else y
    rows = np.random.default_rng(0).permutation(len(y))
    place = np.argsort(rows)
    splits = list(KFold(2).split(X))
    moved = [(place[train], place[test]) for train, test in splits]

    def answers(rows, cv):
        settings = {"probability": True} if model is MeasuredSVC else {}
        found = fitted(model(cv=cv, **settings), X[rows], y[rows], X_err=E[rows])
        if model is MeasuredSVC:
            return found.cv_scores_, found.predict_proba(Z, X_err=F)
        return found.interval_scores_, found.predict_interval(Z, X_err=F)

    expected = answers(slice(None), splits)
    for one, other in zip(expected, answers(rows, moved), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    for one, other in zip(expected, answers(slice(None), KFold(2)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_weights_of_zero_leave_rows_out_of_the_folds():
    X, E, _, y, Z, F = measured(3)
    weights = np.random.default_rng(3).integers(2, size=len(y)).astype(float)
    kept = weights > 0
    settings = {"cv": 2, "Cs": (0.1, 1.0), "radii": (0.0,), "probability": True}
    model = fitted(MeasuredSVC(**settings), X, y, weights, X_err=E)
    fewer = fitted(MeasuredSVC(**settings), X[kept], y[kept], X_err=E[kept])
    np.testing.assert_array_equal(model.cv_scores_, fewer.cv_scores_)
    one, other = (each.predict_proba(Z, X_err=F) for each in (model, fewer))
    assert apart(one, other) <= 1e-9


@pytest.mark.parametrize("model", [MeasuredSVC, MeasuredRegressor, TrueFeatures])
def test_remarks_name_rows_as_they_were_given(model):
    X, E, t, y, *_ = measured(0)
    X[17, 1] = 1e4
    target = t if model is MeasuredRegressor else y
    with pytest.warns(UserWarning, match="row 17"):
        model().fit(X, target, X_err=E)


def test_support_vectors_are_numbered_as_the_rows_were_given():
    X, E, _, y, *_ = measured(0)
    model = fitted(MeasuredSVC(), X, y, X_err=E)
    last = model.pipeline_[-1]
    scaler, features, _ = (step for _, step in model.pipeline_.steps)
    means = features.transform(scaler.transform(X), X_err=E / scaler.scale_)
    np.testing.assert_allclose(
        last.dual_coef_ @ means[last.support_], last.coef_, atol=0.02
    )
