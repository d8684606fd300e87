"""The tables of docs/regression.md: `python -m benchmarks.regression`, under a minute.

Diabetes (442 patients, 10 columns), five times five folds: mean absolute errors of
robust medians under rougher measurements than in training, and of three losses where
one target in twenty is ten times too large.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import HuberRegressor, LinearRegression
from sklearn.model_selection import RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.bench.report import Report
from wideberth import RobustLinearRegressor, make_robust_pipeline

RADII = (0, 0.25, 0.5, 1, 1.6)
LOSSES = {
    "squared": LinearRegression(),
    "Huber's": HuberRegressor(),
    "absolute": RobustLinearRegressor(radius=0),
}


def under_noise(X, y, splits, share: float) -> np.ndarray:
    """Errors as measured, with errors, and at worst: an array (fold, radius, 3)."""
    rng, noise = np.random.default_rng(0), share * X.std(axis=0)
    noise[:2] = 0  # age and sex
    found = np.empty((len(splits), len(RADII), 3))
    for k, (train, test) in enumerate(splits):
        rough = X[test] + noise * rng.normal(size=X[test].shape)
        for i, radius in enumerate(RADII):
            model = RobustLinearRegressor(radius=radius, noise=noise)
            model = make_robust_pipeline(StandardScaler(), model).fit(
                X[train], y[train]
            )
            ends = model.prediction_range(X[test], radius=1).T
            found[k, i] = (
                abs(model.predict(X[test]) - y[test]).mean(),
                abs(model.predict(rough) - y[test]).mean(),
                abs(ends - y[test]).max(axis=0).mean(),
            )
    return found


def with_outliers(X, y, splits) -> np.ndarray:
    """Errors after training on correct and on spoilt targets: (fold, loss, 2)."""
    rng, found = np.random.default_rng(0), np.empty((len(splits), len(LOSSES), 2))
    for k, (train, test) in enumerate(splits):
        wrong = rng.random(len(train)) < 0.05
        for i, loss in enumerate(LOSSES.values()):
            for j, spoilt in enumerate((y[train], np.where(wrong, 10, 1) * y[train])):
                model = make_pipeline(StandardScaler(), loss).fit(X[train], spoilt)
                found[k, i, j] = abs(model.predict(X[test]) - y[test]).mean()
    return found


def with_error(mean: float, error: float, sign: str = "") -> str:
    """A mean and its standard error, which has two significant digits."""
    digits = max(0, 1 - int(np.floor(np.log10(error)))) if error > 0 else 0
    return f"{mean:{sign}.{digits}f} ± {error:.{digits}f}"


def show(report: Report, heads: str, names, found: np.ndarray) -> None:
    """A table of means ± their standard errors over folds."""
    report.say(f"\n| {heads} |\n|{'---|' * (found.shape[2] + 1)}")
    means, errors = found.mean(axis=0), found.std(axis=0) / np.sqrt(len(found))
    for name, mean, error in zip(names, means, errors, strict=True):
        cells = (with_error(m, e) for m, e in zip(mean, error, strict=True))
        report.say(f"| {name} | {' | '.join(cells)} |")
    gains = found - found[:, :1]
    means, errors = gains.mean(axis=0), gains.std(axis=0) / np.sqrt(len(found))
    report.say("\nDifferences from the first row, fold by fold:\n")
    for name, mean, error in zip(names, means[:, -2:], errors[:, -2:], strict=True):
        cells = (with_error(m, e, "+") for m, e in zip(mean, error, strict=True))
        report.say(f"* {name}: {', '.join(cells)}")


def main() -> None:
    """Print the tables and save them."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    splits = list(RepeatedKFold(n_splits=5, n_repeats=5, random_state=0).split(X))
    report = Report()
    report.say("`python -m benchmarks.regression`: mean absolute errors, 5 × 5 folds.")
    for share in (0.3, 0.1):
        heads = f"radius, noise of {share} std | as measured | with errors | worst case"
        show(report, heads, RADII, under_noise(X, y, splits, share))
    heads = "loss | all correct | 1 in 20 wrong"
    show(report, heads, LOSSES, with_outliers(X, y, splits))
    report.save("regression.md")


if __name__ == "__main__":
    main()
