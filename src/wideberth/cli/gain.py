"""What one model is ahead of another on rows that neither has seen.

Both predict every one of n rows once, in the same folds, so each row has a difference
d_i = −1, 0 or 1 between right and wrong. The gain is the mean of d_i, and its standard
error √(var d/n), over rows and paired: predictions that agree count for nothing, as in
McNemar's test. As an interval for the difference of the models of the folds it is valid
for cross-validation of procedures that depend little on any single row, in the limit of
many rows (Bayle, Bayle, Janson and Mackey 2020, Cross-validation confidence intervals
for test error); the limit is taken by Student's t.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

#: Confidence at which one model is said to be ahead of another.
CONFIDENCE = 0.95


def paired_gain(own: np.ndarray, other: np.ndarray, fold: np.ndarray) -> dict:
    """Mean difference, its standard error, and an interval of `CONFIDENCE` for it.

    `own` and `other` say which rows each model has right, `fold` where they were left
    out, from 0.
    """
    difference = own.astype(float) - other
    n, mean = len(difference), float(difference.mean())
    error = float(np.sqrt(difference.var(ddof=1) / n))
    half = error * float(stats.t.isf((1 - CONFIDENCE) / 2, n - 1))
    return {
        "mean": mean,
        "error": error,
        "low": mean - half,
        "high": mean + half,
        "confidence": CONFIDENCE,
        "folds": (np.bincount(fold, difference) / np.bincount(fold)).tolist(),
    }


def tell_points(gain: dict) -> str:
    """Write a gain with its standard error, in percentage points."""
    mean = round(100 * gain["mean"], 1) + 0.0  # no −0.0
    return f"{mean:+.1f} ± {100 * gain['error']:.1f}".replace("-", "−")
