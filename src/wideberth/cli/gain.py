"""What one model is ahead of another on rows that neither has seen.

Both predict every row once, in the same K folds. The gain is the mean over the folds of
the difference d_k between their shares of right rows. Folds share training rows, so the
squared standard error of that mean is (1/K + 1/(K − 1)) times the variance of d_k: the
share of rows tested to rows trained on is 1/(K − 1) (Nadeau and Bengio 2003, Inference
for the generalization error). A handful of folds may agree by chance, on few rows most
easily. So the error is at least that over rows, where the difference of each is −1, 0
or 1: √(variance/n), which is what McNemar's test of paired predictions rests on.
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
    each = np.bincount(fold, difference) / np.bincount(fold)
    K, mean = len(each), float(each.mean())
    over_folds = np.sqrt(each.var(ddof=1) * (1 / K + 1 / (K - 1)))
    over_rows = np.sqrt(difference.var() / len(difference))
    error = float(max(over_folds, over_rows))
    half = error * float(stats.t.isf((1 - CONFIDENCE) / 2, K - 1))
    return {
        "mean": mean,
        "error": error,
        "low": mean - half,
        "high": mean + half,
        "confidence": CONFIDENCE,
        "folds": each.tolist(),
    }


def tell_points(gain: dict) -> str:
    """Write a gain with its standard error, in percentage points."""
    mean = round(100 * gain["mean"], 1) + 0.0  # no −0.0
    return f"{mean:+.1f} ± {100 * gain['error']:.1f}".replace("-", "−")
