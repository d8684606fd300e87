"""Lines and curves through measured rows: `python -m benchmarks.measured_regression`.

`MeasuredRegressor` on simulated truth (three features with correlation 0.3 or 0.5,
reliability 0.5, one cell in ten missing, 1 000 rows, Gaussian scatter) beside joint
Gaussian maximum likelihood, here by L-BFGS from the formulas; and redshifts of galaxies
from magnitudes beside least squares and least absolute deviations that ignore the
errors, and beside a population of two Gaussians. Intervals are held against MAPIE,
where that is installed (`pip install mapie`).
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.bench.report import Report
from benchmarks.datasets import Missing, shared
from wideberth import (
    MeasuredRegressor,
    RobustLinearRegressor,
    TrueFeatures,
)

SLOPES = np.array([1.0, -0.5, 0.25])
SCATTER = 0.5


def simulated(n: int, seed: int, correlation: float = 0.3):
    """Measurements, targets and errors."""
    rng = np.random.default_rng(seed)
    d = len(SLOPES)
    spread = (1 - correlation) * np.eye(d) + correlation
    true = rng.multivariate_normal(np.zeros(d), spread, n)
    y = true @ SLOPES + 2.0 + SCATTER * rng.normal(size=n)
    E = rng.uniform(0.5, 1.5, true.shape)
    E /= np.sqrt(np.mean(E**2))  # as large as the spread of the truth
    X = true + E * rng.normal(size=true.shape)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, E


def maximum_likelihood(X, y, E) -> np.ndarray:
    """Slopes of the Gaussian of (x, t) that makes the measurements likeliest."""
    Z = np.column_stack((X, y))
    D = Z.shape[1]
    V = np.column_stack((E**2, np.zeros(len(y))))
    lower = np.tril_indices(D)
    gone = np.isnan(Z)
    V[gone], filled = 1e10, np.where(gone, np.nanmean(Z, axis=0), Z)

    def loss(point):
        L = np.zeros((D, D))
        L[lower] = point[D:]
        S = L @ L.T + V[:, :, None] * np.eye(D)
        P, r = np.linalg.inv(S), filled - point[:D]
        g = np.einsum("nij,nj->ni", P, r)
        value = 0.5 * np.sum(np.linalg.slogdet(S)[1]) + 0.5 * np.sum(r * g)
        by_spread = 0.5 * (P.sum(axis=0) - g.T @ g)
        slopes = np.concatenate((-g.sum(axis=0), (2 * by_spread @ L)[lower]))
        return value / len(y), slopes / len(y)

    start = np.concatenate((np.nanmean(Z, axis=0), np.eye(D)[lower]))
    options = {"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-8}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    L = np.zeros((D, D))
    L[lower] = found.x[D:]
    spread = L @ L.T
    return np.linalg.solve(spread[:-1, :-1], spread[:-1, -1])


def slopes(report: Report, repeats: int) -> None:
    """Bias, spread and standard errors of slopes over many samples."""
    report.say(f"By chance alone bias ÷ sd is ± {repeats**-0.5:.2f}.")
    report.say()
    report.say(
        "| correlation | loss | bias ÷ sd | of the median | sd ÷ maximum likelihood | "
        "coef_std_ ÷ sd | farthest from maximum likelihood, in sd |"
    )
    report.say("|---|---|---|---|---|---|---|")
    for correlation in (0.3, 0.5):
        rows = [simulated(1000, seed, correlation) for seed in range(repeats)]
        best = np.array([maximum_likelihood(*row) for row in rows])
        sd = best.std(axis=0)
        line = f"| {correlation} |"
        report.say(f"{line} maximum likelihood | {_biases(best)} | 1 | | 0 |")
        for loss in ("gaussian", "absolute"):
            models = [
                MeasuredRegressor(loss, cv=None).fit(X, y, X_err=E) for X, y, E in rows
            ]
            found = np.array([model.coef_ for model in models])
            std = np.array([model.coef_std_ for model in models]).mean(axis=0)
            own = found.std(axis=0)
            far = "" if loss == "absolute" else f"{np.max(abs(found - best) / sd):.2f}"
            report.say(
                f"{line} {loss} | {_biases(found)} | {_three(own / sd)} | "
                f"{_three(std / own)} | {far} |"
            )


def _biases(found: np.ndarray) -> str:
    """Of the mean and the median of slopes, in standard deviations."""
    sd = found.std(axis=0)
    middles = found.mean(axis=0), np.median(found, axis=0)
    return " | ".join(_three(abs(middle - SLOPES) / sd) for middle in middles)


def coverage(report: Report, repeats: int) -> None:
    """Share of true targets in 90 % intervals, of all and by thirds of the spread."""
    report.say("| loss | coverage | small, middle, large spread |")
    report.say("|---|---|---|")
    for loss in ("gaussian", "absolute"):
        shares = []
        for seed in range(repeats):
            X, y, E = simulated(1000, seed)
            model = MeasuredRegressor(loss).fit(X, y, X_err=E)
            X, y, E = simulated(3000, 10_000 + seed)
            order = np.argsort(model.predict(X, E, return_std=True)[1])
            shares.append(_by_thirds(model.predict_interval(X, E), y, order))
        found = np.mean(shares, axis=0)
        report.say(f"| {loss} | {found[0]:.3f} | {_three(found[1:])} |")


class Stated(RegressorMixin, BaseEstimator):
    """`MeasuredRegressor` on tables whose right half has the errors of the left one."""

    def fit(self, X, y):
        X, E = np.hsplit(X, 2)
        self.model_ = MeasuredRegressor(cv=None).fit(X, y, X_err=E)
        return self

    def predict(self, X):
        return self.model_.predict(*np.hsplit(X, 2))


def mapie(report: Report, repeats: int) -> None:
    """Intervals beside fold conformal prediction by MAPIE, on the same folds.

    Where all rows have the same errors its intervals and ours are nearly the same: the
    spread is one number in each fold, so residual ÷ spread is in the order of
    residuals there. The spreads of folds differ a little.
    """
    try:
        from mapie.regression import CrossConformalRegressor
    except ImportError:
        raise Missing("no MAPIE: pip install mapie") from None
    folds = KFold(5, shuffle=True, random_state=0)
    shares, apart = [], []
    for seed in range(repeats):
        for alike in (True, False):
            X, y, E = simulated(1000, seed)
            new, true, errors = simulated(3000, 10_000 + seed)
            if alike:
                E, errors = np.ones_like(E), np.ones_like(errors)
                X, new = (np.nan_to_num(each) for each in (X, new))
            theirs = CrossConformalRegressor(
                Stated(), confidence_level=0.9, method="base", cv=folds
            ).fit_conformalize(np.hstack((X, E)), y)
            ends = theirs.predict_interval(np.hstack((new, errors)))[1][:, :, 0]
            model = MeasuredRegressor(cv=folds).fit(X, y, X_err=E)
            own = model.predict_interval(new, errors)
            if alike:
                apart.append(np.max(abs(ends - own)) / np.mean(own[:, 1] - own[:, 0]))
                continue
            order = np.argsort(model.predict(new, errors, return_std=True)[1])
            shares.append([_by_thirds(e, true, order) for e in (own, ends)])
    report.say(
        f"Same errors in all rows: MAPIE's intervals and ours are at most "
        f"{max(apart):.1g} of their length apart ({repeats} samples)."
    )
    report.say()
    report.say("| own errors for each row | coverage | small, middle, large spread |")
    report.say("|---|---|---|")
    for name, found in zip(("ours", "MAPIE"), np.mean(shares, axis=0), strict=True):
        report.say(f"| {name} | {found[0]:.3f} | {_three(found[1:])} |")


def _by_thirds(ends: np.ndarray, y: np.ndarray, order: np.ndarray) -> list[float]:
    """Coverage of all rows, and of thirds of them in this order."""
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    parts = [inside, *(inside[part] for part in np.array_split(order, 3))]
    return [part.mean() for part in parts]


def galaxies(report: Report, repeats: int) -> None:
    """Errors of redshifts, each beside what ignores errors, and 90 % intervals."""
    import pandas

    table = pandas.read_csv(shared("lsst_photometry.csv.gz"))
    errors = [name for name in table if "err" in name]
    bands = [name for name in table if name not in errors and name != "redshift"]
    X, E = table[bands].to_numpy(), np.nan_to_num(table[errors].to_numpy())
    y = table["redshift"].to_numpy()
    absolute, squared = "least absolute deviations", "least squares"
    plain = {absolute: RobustLinearRegressor(C=100.0), squared: LinearRegression()}
    found: dict[str, list] = {}
    folds = RepeatedKFold(n_splits=2, n_repeats=repeats, random_state=0)
    for rows, rest in folds.split(X):

        def add(name, values, share=(), rest=rest):
            off = y[rest] - values
            sizes = [np.mean(abs(off)), np.sqrt(np.mean(off**2)), *share]
            found.setdefault(name, []).append(sizes)

        for name, last in plain.items():
            model = make_pipeline(SimpleImputer(), StandardScaler(), last)
            add(name, model.fit(X[rows], y[rows]).predict(X[rest]))
        for name, model in {
            "gaussian": MeasuredRegressor("gaussian"),
            "absolute": MeasuredRegressor("absolute"),
            "curve": MeasuredRegressor(kernel="rbf"),
        }.items():
            model.fit(X[rows], y[rows], X_err=E[rows])
            ends = model.predict_interval(X[rest], E[rest])
            spreads = model.predict(X[rest], E[rest], return_std=True)[1]
            share = _by_thirds(ends, y[rest], np.argsort(spreads))
            add(f"measured, {name}", model.predict(X[rest], E[rest]), share)
        features = TrueFeatures(2, random_state=0).fit(X[rows], X_err=E[rows])
        model = make_pipeline(StandardScaler(), plain[absolute])
        model.fit(features.transform(X[rows], E[rows]), y[rows])
        values = model.predict(features.transform(X[rest], E[rest]))
        add("two Gaussians, absolute", values)
    means = {name: np.mean(sizes, axis=0) for name, sizes in found.items()}
    report.say(
        f"| galaxies | mean absolute error | ÷ {absolute} | root mean square | "
        f"÷ {squared} | coverage | small, middle, large spread |"
    )
    report.say("|---|---|---|---|---|---|---|")
    for name, (mean, root, *share) in means.items():
        covered = f"{share[0]:.3f} | {_three(share[1:])}" if share else " | "
        report.say(
            f"| {name} | {mean:.4f} | {mean / means[absolute][0]:.3f} | {root:.4f} | "
            f"{root / means[squared][1]:.3f} | {covered} |"
        )


def _three(numbers) -> str:
    return ", ".join(f"{number:.2f}" for number in numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    report = Report()
    report.say("# Lines through measurements with errors and gaps")
    for case, size in (
        (slopes, given.samples),
        (coverage, given.samples),
        (mapie, min(given.samples, 20)),
        (galaxies, given.repeats),
    ):
        report.say()
        try:
            case(report, size)
        except Missing as why:
            report.say(str(why))
    report.save("measured_regression.md")


if __name__ == "__main__":
    main()
