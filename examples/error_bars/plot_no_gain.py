"""
When error bars do not help
===========================

Error bars tell which measurements are precise. If all are equally precise, a classifier
that ignores the errors is as good as one that uses them. This example goes from that
case to one in which errors differ widely. It also shows a case in which robust training
makes predictions worse.
"""

# %%
# Simulated objects with eight correlated features, drawn from one Gaussian. The mean
# square of the errors is always the same. What changes is their range, from all equal
# to a factor of a thousand between the smallest and the largest.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wideberth import MeasuredSVC, NullModelWarning, RobustLinearSVC, TrueFeatures

MIX = np.random.default_rng(3).normal(size=(8, 8)) / np.sqrt(8)
DIRECTION = np.random.default_rng(4).normal(size=8) / np.sqrt(8)


def measured(rng, n, unequal):
    """Measurements, their errors and two classes."""
    true = rng.normal(size=(n, 8)) @ MIX
    y = true @ DIRECTION > 0
    errors = np.exp(np.log(unequal) * (rng.random((n, 8)) - 0.5))
    errors *= 0.8 / np.sqrt(np.mean(errors**2))
    return true + errors * rng.normal(size=(n, 8)), errors, y


def usual(X, E, y, new, new_errors):
    """A classifier that ignores the errors."""
    return make_pipeline(StandardScaler(), RobustLinearSVC()).fit(X, y).predict(new)


def denoised(X, E, y, new, new_errors):
    """The same classifier on what the true features probably were."""
    true = TrueFeatures(1).fit(X, y, X_err=E)
    model = make_pipeline(StandardScaler(), RobustLinearSVC())
    model.fit(true.transform(X, E), y)
    return model.predict(true.transform(new, new_errors))


def robust(X, E, y, new, new_errors):
    """Robust besides, against one posterior standard deviation."""
    model = MeasuredSVC(radius=1.0, n_components=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullModelWarning)  # it is what is shown below
        model.fit(X, y, X_err=E)
    return model.predict(new, X_err=new_errors)


factors, repetitions = [1, 3, 10, 100, 1000], 3
ways = {"TrueFeatures": denoised, "MeasuredSVC, radius 1": robust}
gains = {way: np.empty((len(factors), repetitions)) for way in ways}
for i, unequal in enumerate(factors):
    for k in range(repetitions):
        rng = np.random.default_rng(k)
        data, (*new, truth) = (measured(rng, n, unequal) for n in (300, 4000))
        plain = np.mean(usual(*data, *new) == truth)
        for way, predicted in ways.items():
            score = np.mean(predicted(*data, *new) == truth)
            gains[way][i, k] = 100 * (score - plain)

# %%
# If all errors are equal, the posterior mean is the same affine function of every row.
# A linear classifier can undo that, so there is no gain. The more the errors differ,
# the larger is the gain.
#
# A radius above 0 can make the model less accurate. Here no object is known well. A
# model that must be right within one posterior standard deviation of every object
# becomes less accurate, and in the end constant (`NullModelWarning`). So the radius is
# 0 by default, and `MeasuredSVC(cv=5)` chooses one by cross-validation.
#
# Nothing is gained in three more cases: if errors are small compared with the distances
# of the objects from the boundary; if features are uncorrelated, so that no feature
# helps to estimate another; and if the stated errors are wrong.

fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
ax.axhline(0, color="0.6", lw=0.8)
for way, gain in gains.items():
    error = gain.std(axis=1, ddof=1) / np.sqrt(repetitions)
    ax.errorbar(factors, gain.mean(axis=1), error, marker="o", capsize=3, label=way)
ax.set(xscale="log", xlabel="largest error over smallest error")
ax.set(ylabel="gain in accuracy, percentage points")
ax.set_xticks(factors, [str(factor) for factor in factors])
ax.minorticks_off()
ax.legend(loc="lower right")
