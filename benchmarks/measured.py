"""Measurements with errors and gaps: `python -m benchmarks.measured`.

`MeasuredSVC` against a plain SVM that ignores the errors: Breast Cancer with errors on
30 % of the cells, the same without any, and galaxies with their photometric errors. And
`MeasuredSVC` with a kernel, C chosen, against itself without one.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.bench.report import Report
from benchmarks.datasets import Missing, shared
from wideberth import MeasuredSVC, RobustLinearSVC


def plain():
    """The SVM that takes measurements for what they say."""
    return make_pipeline(SimpleImputer(), StandardScaler(), RobustLinearSVC())


def measured():
    """The short spelling with its defaults."""
    return MeasuredSVC()


def breast_cancer(errors: bool, seeds: int) -> tuple[list[float], list[float]]:
    """Accuracies of both on 10 splits; errors are of 1 to 3 standard deviations."""
    X, y = load_breast_cancer(return_X_y=True)
    scores: tuple[list[float], list[float]] = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        sizes = rng.uniform(1, 3, X.shape) * X.std(axis=0)
        E = np.where(rng.random(X.shape) < 0.3, sizes, 0.0) * errors
        seen = X + E * rng.normal(size=X.shape)
        split = {"train_size": 150, "random_state": seed, "stratify": y}
        rows, rest = train_test_split(np.arange(len(y)), **split)
        simple = plain().fit(seen[rows], y[rows])
        model = measured().fit(seen[rows], y[rows], X_err=E[rows])
        scores[0].append(simple.score(seen[rest], y[rest]))
        scores[1].append(model.score(seen[rest], y[rest], X_err=E[rest]))
    return scores


def curved():
    """A kernel, C and the radius chosen on five folds."""
    return MeasuredSVC(kernel="rbf", cv=5)


def galaxies(repeats: int) -> tuple[list[float], ...]:
    """AUC of all three: farther than the median or not, from magnitudes and errors."""
    import pandas

    table = pandas.read_csv(shared("lsst_photometry.csv.gz"))
    errors = [name for name in table if "err" in name]
    redshift = next(name for name in table if "redshift" in name)
    bands = [name for name in table if name not in errors and name != redshift]
    X, E = table[bands].to_numpy(), np.nan_to_num(table[errors].to_numpy())
    y = (table[redshift] > table[redshift].median()).to_numpy()
    scores: tuple[list[float], ...] = [], [], []
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=repeats, random_state=0)
    for rows, rest in folds.split(X, y):
        simple = plain().fit(X[rows], y[rows]).decision_function(X[rest])
        scores[0].append(roc_auc_score(y[rest], simple))
        for kept, model in zip(scores[1:], (measured(), curved()), strict=True):
            model.fit(X[rows], y[rows], X_err=E[rows])
            values = model.decision_function(X[rest], X_err=E[rest])
            kept.append(roc_auc_score(y[rest], values))
    return scores


def row(report: Report, name: str, before, after) -> None:
    """The means of paired scores, and of what the second gains."""
    gain = np.array(after) - np.array(before)
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    report.say(
        f"| {name} | {np.mean(before):.4f} | {np.mean(after):.4f} | "
        f"{gain.mean():+.4f} ± {error:.4f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    report = Report()
    report.say("# Measurements with errors and gaps")
    report.say()
    report.say("| case | plain | MeasuredSVC | difference, its standard error |")
    report.say("|---|---|---|---|")
    row(
        report,
        "Breast Cancer, errors on 30 %, accuracy",
        *breast_cancer(True, given.seeds),
    )
    row(
        report, "Breast Cancer, no errors, accuracy", *breast_cancer(False, given.seeds)
    )
    try:
        simple, line, curve = galaxies(given.repeats)
    except Missing as why:
        report.say(f"| galaxies, AUC | {why} | | |")
    else:
        row(report, "galaxies, AUC", simple, line)
        report.say()
        report.say('| case | MeasuredSVC() | kernel="rbf", cv=5 | difference |')
        report.say("|---|---|---|---|")
        row(report, "galaxies, AUC", line, curve)
    report.save("measured.md")


if __name__ == "__main__":
    main()
