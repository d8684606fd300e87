"""
Galaxies: what error bars are worth
===================================

The task is to find far galaxies by six magnitudes. Each magnitude has its own standard
error, and some are missing. Faint galaxies have large errors, which mislead a
classifier that ignores them. `TrueFeatures` estimates the true magnitudes of a galaxy
from all its measurements and from the other galaxies. `MeasuredSVC` is trained on these
estimates and their uncertainty.
"""

# %%
# Two models, trained on few galaxies and on many, and tested on 3000 others. "Errors
# ignored" is a linear SVM that fills gaps with the mean and does not use the errors.

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wideberth import MeasuredSVC, RobustLinearSVC
from wideberth.datasets import load_galaxies

sky = load_galaxies()
X, E, y = sky.data, sky.errors, sky.target
sizes, repetitions = [100, 300, 1000], 3


def ignored(train, test):
    """Scores of a classifier that ignores the errors."""
    model = make_pipeline(SimpleImputer(), StandardScaler(), RobustLinearSVC())
    return model.fit(X[train], y[train]).decision_function(X[test])


def measured(train, test):
    """The same on what the true magnitudes probably were, in one line."""
    model = MeasuredSVC().fit(X[train], y[train], X_err=E[train])
    return model.decision_function(X[test], X_err=E[test])


ways = {"errors ignored": ignored, "MeasuredSVC": measured}
scores = {way: np.empty((len(sizes), repetitions)) for way in ways}
for k in range(repetitions):
    order = np.random.default_rng(k).permutation(len(y))
    test = order[-3000:]
    for i, size in enumerate(sizes):
        for way, score in ways.items():
            scores[way][i, k] = roc_auc_score(y[test], score(order[:size], test))

# %%
# The verdict on a galaxy contains the probability that its true magnitudes lie on the
# other side of the boundary. The probability of a wrong class is larger, because the
# classes overlap even if all magnitudes are exact. Galaxies that are doubtful by their
# measurements are classified wrongly more often.

train, test = order[:1000], order[-3000:]
model = MeasuredSVC().fit(X[train], y[train], X_err=E[train])
verdict = model.verdict(X[test], X_err=E[test])
wrong = verdict.label != y[test]
edges = [0, 1e-6, 0.01, 0.1, 0.25, 0.5]
cells = [(verdict.chance >= a) & (verdict.chance <= b) for a, b in pairwise(edges)]

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
for way, found in scores.items():
    error = found.std(axis=1, ddof=1) / np.sqrt(repetitions)
    left.errorbar(sizes, found.mean(axis=1), error, marker="o", capsize=3, label=way)
left.set(xscale="log", xlabel="galaxies to train on", ylabel="area under the ROC curve")
left.set_xticks(sizes, [str(size) for size in sizes], minor=False)
left.minorticks_off()
left.legend(loc="lower right")
right.bar(range(len(cells)), [100 * wrong[cell].mean() for cell in cells], color="C2")
names = ["below 10⁻⁶", "to 1 %", "to 10 %", "to 25 %", "to 50 %"]
right.set_xticks(range(len(cells)), names)
right.set(
    xlabel="chance that the true magnitudes are on the other side",
    ylabel="galaxies in the wrong class, %",
    title="3000 galaxies, grouped by this chance",
)

# %%
# The gain is largest with few training galaxies. `verdict.remeasure` is the magnitude
# to measure again first.
