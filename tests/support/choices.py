"""Random searches with `prove`, and their claims held against dense grids of C."""

from functools import partial

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from wideberth import (
    Box,
    CrossPolytope,
    RobustLinearRegressor,
    RobustLinearRegressorCV,
    RobustLinearSVC,
    RobustLinearSVCCV,
    robust_scorer,
)
from wideberth.estimators import proving

SCORINGS = {
    "accuracy": None,
    "balanced": "balanced_accuracy",
    "robust": robust_scorer(0.2),
    "robust, balanced": robust_scorer(balanced=True),
}
NOISES = ("l2", "linf", "l1", "scales", "box", "cross-polytope", "covariance")
#: Error bars of every cell, instead of a shape.
ERRORS = ("ellipsoid", "box", "lopsided")
INTERCEPTS = ((False, 0.0), (True, 0.3), (True, 0.0))


def draw_search(seed, metric=None):
    """A search that proves, the arguments of its fit, and the range of C."""
    rng = np.random.default_rng([43, seed])
    n, d = int(rng.integers(24, 60)), int(rng.integers(2, 6))
    numbers = metric == "pinball" if metric else rng.random() < 0.2
    classes = int(rng.choice([2, 2, 3]))
    y = rng.integers(0, classes, size=n)
    y[: 2 * classes] = np.tile(np.arange(classes), 2)
    centers = rng.normal(size=(classes, d)) * rng.choice([0.5, 2.0])
    X = (rng.normal(size=(n, d)) + centers[y]) * 10.0 ** rng.choice([-3, 0, 0, 3])
    X += rng.choice([0.0, 0.0, 20.0]) * X.std()
    size = X.std()
    if numbers:
        y = X @ rng.normal(size=d) / size + rng.standard_t(3, size=n)
    fit, stated = {"X": X, "y": y}, {}
    kind = [*NOISES, *ERRORS][rng.integers(len(NOISES) + len(ERRORS))]
    scales = rng.uniform(0, 0.3, size=d) * size
    radius = float(rng.choice([0.0, 0.1, 1.0]))
    if kind in ERRORS:
        errors = rng.uniform(0, 0.3, size=X.shape) * size
        fit["X_err"] = errors
        stated["error_shape"] = "ellipsoid" if kind == "ellipsoid" else "box"
        if kind == "lopsided":
            fit["X_err"] = errors, rng.uniform(0, 0.3, size=X.shape) * size
    elif kind in ("l2", "linf", "l1"):
        stated["noise"], radius = kind, 0.3 * size * radius
    else:
        factor = rng.normal(size=(d, d))
        stated["noise"] = {
            "scales": scales,
            "box": Box(scales),
            "cross-polytope": CrossPolytope(scales),
            "covariance": factor @ factor.T * (0.1 * size) ** 2,
        }[kind]
    if rng.random() < 0.3:
        fit["sample_weight"] = rng.exponential(size=n)
    intercept, penalty = INTERCEPTS[seed % 3]
    stated |= {"fit_intercept": intercept, "radii": [radius]}
    stated["solver_options"] = {"intercept_penalty": penalty, "refit": False}
    if kind in ("linf", "l2") and rng.random() < 0.3:
        stated["norm_penalties"] = [float(rng.choice([0.01, 0.1]) * n / size)]
    low = 10.0 ** rng.uniform(-3, -1) / size**2
    high = low * 10.0 ** rng.uniform(0.5, 2.5)
    stated["prove"] = float(rng.choice([0.01, 0.05]))
    folds = KFold if numbers or rng.random() < 0.5 else StratifiedKFold
    stated["cv"] = folds(3, shuffle=True, random_state=seed)
    if numbers:
        tau = float(rng.choice([0.2, 0.5, 0.9]))
        return RobustLinearRegressorCV(tau, (low, high), **stated), fit
    names = list(SCORINGS)
    name = names[rng.integers(len(names))] if metric is None else metric
    scoring = SCORINGS[name]
    if name == "robust":
        scoring = robust_scorer(0.5 * radius)
    if rng.random() < 0.2:
        stated["class_weight"] = "balanced"
    return RobustLinearSVCCV((low, high), scoring=scoring, **stated), fit


def examine_choice(search, fit, values):
    """What a proven choice claims, held against `values` values of C.

    Returns how often a bound was over the error there, the number of values, and
    whether the search proved what it was asked to.
    """
    X, y = fit["X"], fit["y"]
    beside = {name: fit[name] for name in fit if name not in ("X", "y")}
    choice = search.fit(X, y, **beside).choice_
    low, high = search.Cs
    grid = np.geomspace(low, high, values + 2)[1:-1]
    # On a grid every model is trained by another way, to the last digits.
    plain = type(search)(
        **search.get_params(deep=False) | {"prove": None, "Cs": grid, "tol": 1e-9}
    )
    found = plain.fit(X, y, **beside).cv_results_
    scores = found["mean_test_score"]
    errors = (0.0 if hasattr(search, "quantile") else 1.0) - scores
    k = np.searchsorted(choice.edges, grid, side="right") - 1
    bounds = choice.bounds[np.clip(k, 0, len(choice.bounds) - 1)]
    over = bounds > errors + 1e-9 * max(abs(errors).max(), 1.0)
    least = choice.lower_bound <= min(bounds.min(), choice.error)
    return {
        "violated": int(over.sum()) + int(not least),
        "values": grid.size,
        "proven": int(choice.proven),
        "points": len(choice.Cs),
    }


def watch_bounds(search, fit, monkeypatch):
    """Fit a search that proves; what it knew of every problem of every fold.

    Pairs of the bounds that it takes for an interval of C (`between`), and an exact
    model at any C: its values of the rows left out, and how far they may be off.
    """
    seen = []
    inner = proving._prove_level

    def watched(search, states, ends, within):
        seen.extend(states)
        return inner(search, states, ends, within)

    monkeypatch.setattr(proving, "_prove_level", watched)
    X, y = fit["X"], fit["y"]
    search.fit(X, y, **{name: fit[name] for name in fit if name not in ("X", "y")})
    splits = search.cv.split(X, y)
    for state, (train, test) in zip(seen, splits, strict=True):
        own = {name: _rows(fit[name], train) for name in fit}
        for number, trained in enumerate(state.trained):
            yield trained, partial(_exact, search, own, X[test], number)


def _rows(given, rows):
    if isinstance(given, tuple):
        return tuple(part[rows] for part in given)
    return given[rows]


def _exact(search, own, X, number, C):
    """Values of rows left out, and how far they may be off, of the model at C."""
    stated = {"noise": search.noise, "error_shape": search.error_shape, "tol": 1e-10}
    (radius,), (penalty,) = search.radii, search.norm_penalties or (0.0,)
    stated |= {"fit_intercept": search.fit_intercept, "norm_penalty": penalty}
    options = search.solver_options
    stated["solver_options"] = {"intercept_penalty": options["intercept_penalty"]}
    if hasattr(search, "quantile"):
        model = RobustLinearRegressor(search.quantile, C=C, radius=radius, **stated)
        model.fit(**own)
        coef, b, gap = model.coef_, model.intercept_, model.dual_gap_
    else:
        stated["class_weight"] = search.class_weight
        model = RobustLinearSVC(C, radius, **stated).fit(**own)
        coef, b, gap = model.coef_[number], model.intercept_[number], model.dual_gap_
    off = np.sqrt(2 * max(np.max(gap), 0.0)) * (1 + np.linalg.norm(X, axis=1).max())
    return X @ coef + b, off
