"""
What a radius does
==================

The irises were measured with a ruler, to the nearest millimetre. An ordinary classifier
treats the numbers as exact. With a radius it keeps its distance from all the places
where the true measurements of a flower may be.
"""

# %%
# Two species, two measurements.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from wideberth import RobustLinearSVC
from wideberth.plotting import MarginDisplay

flowers = load_iris(as_frame=True)
two = flowers.target < 2
X = flowers.data.loc[two, ["sepal length (cm)", "sepal width (cm)"]]
y = flowers.target_names[flowers.target[two]]

# %%
# Three classifiers with C = 10: without a radius; with a radius of 1.5 mm for every
# flower; and with 3 mm for one class, which was measured in the field, and 0.5 mm for
# the other. Discs show where a flower may be. Dashed lines are the margins. Training
# keeps the discs, not only the points, outside the margins where it can.

panels = {
    "no radius": 0.0,
    "1.5 mm for all": 0.15,
    "versicolor 3 mm, setosa 0.5 mm": np.where(y == "versicolor", 0.3, 0.05),
}
fig, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
for ax, (title, radius) in zip(axes, panels.items(), strict=True):
    model = RobustLinearSVC(C=10).fit(X, y, radius=radius)
    MarginDisplay.from_estimator(model, X, y, radius=radius, ax=ax)
    ax.set(title=title, xlabel="sepal length (cm)", xlim=(4, 7.4), ylim=(1.7, 4.7))
    ax.legend(loc="lower right").set_visible(ax is axes[0])
    plain = RobustLinearSVC(C=10).fit(X, y)
    scores = [m.robust_score(X, y, radius) for m in (model, plain)]
    print(f"{title}: worst-case accuracy {scores[0]:.2f}, plain SVM {scores[1]:.2f}")
axes[0].set_ylabel("sepal width (cm)")

# %%
# Without a radius the margins touch the nearest flowers. With the same radius for all
# they touch the discs of the nearest flowers, and the boundary turns a little; that is
# the boundary of an ordinary SVM with a smaller C (:doc:`/theory/problem`). With a
# radius for each class the boundary moves away from the class with the larger errors.
# Radii may also differ from flower to flower, see
# :doc:`/gallery/error_bars/plot_two_instruments`. :doc:`/choosing-a-radius` explains
# how to get them.
