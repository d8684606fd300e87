"""
Redshifts of galaxies: a number from measurements with errors
=============================================================

The task is to predict the redshift of a galaxy, which measures its distance, from six
magnitudes. Each magnitude has an error of its own, and some are missing.
`MeasuredRegressor` fits a linear function of the true magnitudes, and gives each galaxy
a prediction interval.
"""

# %%
# Four in ten galaxies are for training, the others for testing. Some far galaxies look
# like near ones, so the scatter has a heavy tail, and the loss is the absolute one.
# With the default loss `fit` warns of the heavy tail. With both losses it warns that
# one Gaussian does not fit the magnitudes; the comparison below shows the effect.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wideberth import MeasuredRegressor, RobustLinearRegressor, TrueFeatures
from wideberth.datasets import load_galaxies

sky = load_galaxies()
X, E, z = sky.data, sky.errors, sky.redshift
order = np.random.default_rng(0).permutation(len(z))
train, test = np.split(order, [4 * len(z) // 10])

with warnings.catch_warnings(record=True) as remarks:
    warnings.simplefilter("always")
    MeasuredRegressor(cv=None).fit(X[train], z[train], X_err=E[train])
    model = MeasuredRegressor("absolute").fit(X[train], z[train], X_err=E[train])
for remark in remarks:
    print(remark.message)

# %%
# For comparison: a regression that ignores the errors and fills gaps with the mean, and
# a regression on posterior means under a population of *two* Gaussians.

lad = make_pipeline(StandardScaler(), RobustLinearRegressor(C=100))
plain = make_pipeline(SimpleImputer(), lad).fit(X[train], z[train]).predict(X[test])
features = TrueFeatures(2, random_state=0).fit(X[train], X_err=E[train])
lad.fit(features.transform(X[train], E[train]), z[train])
predicted = {
    "errors ignored": plain,
    "MeasuredRegressor": model.predict(X[test], E[test]),
    "two Gaussians": lad.predict(features.transform(X[test], E[test])),
}
for name, values in predicted.items():
    print(f"{name:<18} mean absolute error {np.mean(abs(values - z[test])):.3f}")

# %%
# Prediction intervals of 90 %. Galaxies with large errors have longer ones.

low, high = model.predict_interval(X[test], E[test], coverage=0.9).T
inside = (low <= z[test]) & (z[test] <= high)
spread = model.predict(X[test], E[test], return_std=True)[1]
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
some = np.random.default_rng(1).choice(len(test), 150, replace=False)
middle = predicted["MeasuredRegressor"][some]
sides = np.maximum([middle - low[some], high[some] - middle], 0)
left.errorbar(z[test][some], middle, sides, fmt="o", ms=3, color="C0", ecolor="0.8")
left.plot([0, 3], [0, 3], ":", color="k")
left.set(xlabel="redshift", ylabel="predicted, with 90 % intervals")
fifths = np.array_split(np.argsort(spread), 5)
right.bar(range(5), [100 * inside[part].mean() for part in fifths], color="C2")
right.axhline(90, color="k", ls=":")
lengths = [f"{np.median((high - low)[part]):.2f}" for part in fifths]
right.set_xticks(range(5), lengths)
right.set(xlabel="length of the interval, in fifths", ylabel="redshifts inside, %")
right.set(ylim=(60, 100), title=f"{100 * inside.mean():.1f} % of all")

# %%
# Over all galaxies about 90 % of the redshifts lie in their interval. For long or short
# intervals alone the fraction may differ, because the true relation is not linear. The
# last lines say for how many galaxies each magnitude should be measured again first.

cell, share = model.remeasure(X[test], E[test])
numbers, counts = np.unique(cell, return_counts=True)
for number, count in zip(numbers, counts, strict=True):
    print(
        f"{sky.feature_names[number]}: for {100 * count / len(test):.0f} % of galaxies"
    )
