"""
Choosing C and the radius together
==================================

A small C and a large radius both keep the weights small. The best pair depends on the
errors of new data. `RobustLinearSVCCV` trains all pairs and scores them by
cross-validation, either on the data as measured or under the worst errors of a given
size.
"""

# %%
# Breast Cancer, standardised. Eleven values of C times five radii in five folds are 275
# models. `robust_scorer` gives the accuracy under the worst errors of one size.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVCCV, robust_scorer

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
Cs, radii = np.geomspace(0.001, 100, 11), np.linspace(0, 1.6, 5)
started, searches = time.perf_counter(), {}
for expected in (0.0, 0.8):
    search = RobustLinearSVCCV(Cs=Cs, radii=radii, scoring=robust_scorer(expected))
    searches[expected] = search.fit(X, y)
print(f"2 × 275 models in {time.perf_counter() - started:.1f} s")

# %%
# Left: mean accuracy over the folds on the data as measured. Right: under the worst
# errors of size 0.8. The best pair is marked.

fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), sharey=True, layout="constrained")
for ax, (expected, search) in zip(axes, searches.items(), strict=True):
    scores = search.scores_.mean(axis=2)
    image = ax.pcolormesh(
        Cs, radii, scores, vmin=scores.max() - 0.08, shading="nearest"
    )
    ax.plot(search.C_, search.radius_, "r*", markersize=14)
    ax.set(xscale="log", xlabel="C", title=f"scored under noise of length {expected:g}")
    fig.colorbar(image, ax=ax, label="accuracy", extend="min")
    print(
        f"noise {expected:g}: best {scores.max():.3f} at C = {search.C_:.3g}, "
        f"radius {search.radius_:.1f}; best without radius {scores[0].max():.3f}; "
        f"at C = 100 {scores[0, -1]:.3f} without, {scores[2, -1]:.3f} with radius 0.8"
    )
axes[0].set_ylabel("radius trained with")

# %%
# With a radius any large C is nearly as good as the best one, because the radius limits
# the weights. Without a radius C must be chosen well, and the best C for the data as
# measured is a bad one under errors.
#
# If errors have the same size in all samples and features, every pair is an ordinary
# SVM with a smaller C (:doc:`/theory/problem`), and the best scores hardly differ. If
# errors differ, no C can replace radii, see :doc:`/gallery/first_steps/plot_raw_units`
# and :doc:`/gallery/error_bars/plot_two_instruments`.
