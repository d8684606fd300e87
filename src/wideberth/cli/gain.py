"""What one model is ahead of another on rows that neither has seen.

Both predict every one of n rows once, in the same folds, so each row has a difference
d_i = −1, 0 or 1 between right and wrong. The gain is the mean of d_i, and its standard
error √(var d/n), over rows and paired: predictions that agree count for nothing, as in
McNemar's test. In balanced accuracy each of K classes counts the same: the gain is the
mean of the means m_k of its classes, with standard error √(Σ_k var_k d/n_k)/K and the
degrees of freedom of Welch and Satterthwaite. One class, K = 1, is the plain case.

As an interval for the difference of the models of the folds it is valid for
cross-validation of procedures that depend little on any single row, in the limit of
many rows (Bayle, Bayle, Janson and Mackey 2020, Cross-validation confidence intervals
for test error); the limit is taken by Student's t.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from wideberth.cli.output import with_error

#: Confidence at which one model is said to be ahead of another.
CONFIDENCE = 0.95


def shares(right: np.ndarray, fold: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Of rows that are right, in each fold: the mean over the groups of their shares.

    `group` and `fold` number those of each row from 0; every fold has rows of each.
    """
    shape = int(fold.max()) + 1, int(group.max()) + 1
    cell = np.ravel_multi_index((fold, group), shape)
    count = np.prod(shape)
    each = np.bincount(cell, right, count) / np.bincount(cell, minlength=count)
    return each.reshape(shape).mean(axis=1)


def paired_gain(
    own: np.ndarray, other: np.ndarray, fold: np.ndarray, group: np.ndarray
) -> dict:
    """Mean difference, its standard error, and an interval of `CONFIDENCE` for it.

    `own` and `other` say which rows each model has right, `fold` where they were left
    out and `group` which class they count for, from 0; all are of one group in plain
    accuracy.
    """
    difference = own.astype(float) - other
    parts = [difference[group == k] for k in range(int(group.max()) + 1)]
    mean = float(np.mean([part.mean() for part in parts]))
    squares = np.array([part.var(ddof=1) / len(part) for part in parts])
    error = float(np.sqrt(squares.sum()) / len(parts))
    half = 0.0
    if error > 0:
        each = np.array([len(part) - 1 for part in parts])
        freedom = squares.sum() ** 2 / np.sum(squares**2 / each)
        half = error * float(stats.t.isf((1 - CONFIDENCE) / 2, freedom))
    return {
        "mean": mean,
        "error": error,
        "low": mean - half,
        "high": mean + half,
        "confidence": CONFIDENCE,
        "folds": shares(difference, fold, group).tolist(),
    }


def tell_points(gain: dict) -> str:
    """Write a gain with its standard error, in percentage points."""
    mean, error = with_error(100 * gain["mean"], 100 * gain["error"], "+")
    return f"{mean} ± {error}"
