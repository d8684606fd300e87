"""Lines through measurements with errors: `python -m benchmarks.measured_regression`.

`MeasuredRegressor` on simulated truth (three features with correlation 0.3 or 0.5,
reliability 0.5, one cell in ten missing, 1 000 rows, Gaussian scatter) beside joint
Gaussian maximum likelihood, here by L-BFGS from the formulas; and redshifts of galaxies
from magnitudes beside least squares and least absolute deviations that ignore the
errors, and beside a population of two Gaussians.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import minimize
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.bench.report import Report
from benchmarks.datasets import Missing, shared
from wideberth import (
    MeasuredRegressor,
    RobustLinearRegressor,
    TrueFeatures,
    make_robust_pipeline,
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
            inside = _inside(model, X, y, E)
            order = np.argsort(model.predict(X, E, return_std=True)[1])
            thirds = [inside[part].mean() for part in np.array_split(order, 3)]
            shares.append([inside.mean(), *thirds])
        found = np.mean(shares, axis=0)
        report.say(f"| {loss} | {found[0]:.3f} | {_three(found[1:])} |")


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

        def add(name, values, share=np.nan, rest=rest):
            off = y[rest] - values
            sizes = np.mean(abs(off)), np.sqrt(np.mean(off**2)), share
            found.setdefault(name, []).append(sizes)

        for name, last in plain.items():
            model = make_pipeline(SimpleImputer(), StandardScaler(), last)
            add(name, model.fit(X[rows], y[rows]).predict(X[rest]))
        for loss in ("gaussian", "absolute"):
            model = MeasuredRegressor(loss).fit(X[rows], y[rows], X_err=E[rows])
            share = _inside(model, X[rest], y[rest], E[rest]).mean()
            add(f"measured, {loss}", model.predict(X[rest], E[rest]), share)
        features = TrueFeatures(2, random_state=0)
        mixture = make_robust_pipeline(StandardScaler(), features, plain[absolute])
        mixture.fit(X[rows], y[rows], X_err=E[rows])
        add("two Gaussians, absolute", mixture.predict(X[rest], E[rest]))
    means = {name: np.mean(sizes, axis=0) for name, sizes in found.items()}
    report.say(
        f"| galaxies | mean absolute error | ÷ {absolute} | root mean square | "
        f"÷ {squared} | coverage |"
    )
    report.say("|---|---|---|---|---|---|")
    for name, (mean, root, share) in means.items():
        covered = "" if np.isnan(share) else f"{share:.3f}"
        report.say(
            f"| {name} | {mean:.4f} | {mean / means[absolute][0]:.3f} | {root:.4f} | "
            f"{root / means[squared][1]:.3f} | {covered} |"
        )


def _inside(model, X, y, E) -> np.ndarray:
    low, high = model.predict_interval(X, E).T
    return (low <= y) & (y <= high)


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
