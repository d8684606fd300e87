"""
A catalogue with asymmetric errors and gaps
===========================================

Astronomical catalogues have entries such as 3.1 −0.2 +0.9, and empty cells. The true
value is then more likely above 3.1 than below. `errors.from_sides` converts such
entries to means and standard errors. `MeasuredSVC` takes these, and the missing values.
"""

# %%
# The catalogue is simulated, so that the true values are known. It has five correlated
# properties of two kinds of stars. Errors differ by a factor of up to thirty from cell
# to cell, and upper errors are mostly larger than lower ones. A quarter of the cells
# are empty.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wideberth import MeasuredSVC, RobustLinearSVC, errors


def catalogue(rng, n, d=5):
    """Most likely values, errors down and up, the kind, and the truth."""
    kind = rng.random(n) < 0.5
    true = rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, d))
    true += np.where(kind, 0.6, -0.6)[:, None] * np.array([1, -1, 1, 0, -1])
    down = np.exp(rng.uniform(np.log(0.05), np.log(1.5), size=(n, d)))
    up = down * rng.uniform(1.0, 4.0, size=(n, d))
    above = rng.random((n, d)) < up / (up + down)  # where the truth is
    value = true - np.where(above, up, -down) * np.abs(rng.normal(size=(n, d)))
    value[rng.random((n, d)) < 0.25] = np.nan
    return value, down, up, kind, true


def usual(train, test):
    """Gaps filled with the mean, errors ignored."""
    model = make_pipeline(SimpleImputer(), StandardScaler(), RobustLinearSVC())
    return model.fit(train[0], train[3]).score(test[0], test[3])


def symmetric(train, test):
    """The larger error for both sides, the value left where it is."""
    model = MeasuredSVC().fit(train[0], train[3], X_err=train[2])
    return model.score(test[0], test[3], X_err=test[2])


def asymmetric(train, test):
    """Moments of the two sides."""
    X, E = errors.from_sides(*train[:3])
    model = MeasuredSVC().fit(X, train[3], X_err=E)
    X, E = errors.from_sides(*test[:3])
    return model.score(X, test[3], X_err=E)


ways = {"errors ignored": usual, "larger error": symmetric, "both errors": asymmetric}
scores = {way: [] for way in ways}
ideal = []
for seed in range(4):
    rng = np.random.default_rng(seed)
    train, test = catalogue(rng, 300), catalogue(rng, 3000)
    for way, score in ways.items():
        scores[way].append(score(train, test))
    best = make_pipeline(StandardScaler(), RobustLinearSVC()).fit(train[4], train[3])
    ideal.append(best.score(test[4], test[3]))

fig, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
ax.boxplot(list(scores.values()), widths=0.5)
ax.set_xticks(range(1, 4), list(scores))
ax.axhline(np.mean(ideal), color="0.5", ls="--")
ax.text(0.6, np.mean(ideal), "exact values", va="bottom", color="0.4")
ax.set(ylabel="accuracy on new stars", ylim=(None, np.mean(ideal) + 0.02))

# %%
# With lower and upper errors given, the model regains most of the accuracy that the
# errors cost.
