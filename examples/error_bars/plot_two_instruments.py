"""
Two instruments: a radius for each sample
=========================================

A hospital measures two markers of a disease precisely, a mobile unit fifteen times less
precisely. Most of the sick come to the hospital, most of the healthy to the mobile
unit. Everybody is measured five times. The scatter of the five readings gives each
person a radius, and the boundary keeps away from people with large errors.
"""

# %%
# The people are simulated, so that the true values are known.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVC, make_robust_pipeline, radius_from_std
from wideberth.plotting import MarginDisplay

rng = np.random.default_rng(3)
units = np.array([1.0, 50.0])  # of the two markers
sick = rng.random(40) < 0.5
at_unit = rng.random(40) < np.where(sick, 0.1, 0.9)
off = np.where(at_unit, 1.5, 0.1)[:, None, None] * units  # what one reading is off by
true = (
    0.5 * rng.normal(size=(40, 2)) + np.where(sick, 1, -1)[:, None] * [1.5, 1.2]
) * units
readings = true[:, None] + off * rng.normal(size=(40, 5, 2))
means, labels = readings.mean(axis=1), np.where(sick, "sick", "healthy")
variance = np.mean(readings.var(axis=1, ddof=1) / units**2, axis=1)  # of one reading
away = np.sqrt(variance * (1 + 1 / 5))  # of a further reading from a mean of five
radius = radius_from_std(away, n_features=2, noise=units, confidence=0.9)

fig, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
for ax, used in zip(axes, (np.zeros(40), radius), strict=True):
    model = make_robust_pipeline(StandardScaler(), RobustLinearSVC(noise=units))
    model.fit(means, labels, robustlinearsvc__radius=used)
    MarginDisplay.from_estimator(model, means, labels, radius=radius, ax=ax)
    ax.set(xlabel="marker 1", ylabel="marker 2", aspect="auto")
    ax.set_title("trained with a radius for each" if used.any() else "without radii")

# %%
# With six markers and C from cross-validation, radii remove nearly half of the wrong
# predictions of a plain SVM on new people. :doc:`/choosing-a-radius` has the numbers,
# and says when radii do not help.
