"""
What a radius does
==================

The irises were measured with a ruler, to the nearest millimetre. A classifier trained
on the numbers as written trusts each of them fully. With a radius it keeps its distance
from all the places where a flower may really be.
"""

# %%
# Two species, two measurements.

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from wideberth import RobustLinearSVC
from wideberth.plotting import MarginDisplay

flowers = load_iris(as_frame=True)
two = flowers.target < 2
X = flowers.data.loc[two, ["sepal length (cm)", "sepal width (cm)"]]
y = flowers.target_names[flowers.target[two]]

# %%
# The same classifier three times: trusting the ruler, with 1.5 mm for every flower, and
# with a class that was measured in the field, to 3 mm. Discs show where a flower may
# be; dashed lines are the margins, which the discs, not the dots, try to stay outside
# of.

panels = {
    "no radius": 0.0,
    "1.5 mm for all": 0.15,
    "versicolor 3 mm, setosa 0.5 mm": {"setosa": 0.05, "versicolor": 0.3},
}
fig, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
for ax, (title, radius) in zip(axes, panels.items(), strict=True):
    model = RobustLinearSVC(C=10, radius=radius).fit(X, y)
    MarginDisplay.from_estimator(model, X, y, ax=ax)
    ax.set(title=title, xlabel="sepal length (cm)", xlim=(4, 7.4), ylim=(1.7, 4.7))
    ax.legend(loc="lower right").set_visible(ax is axes[0])
    plain = RobustLinearSVC(C=10).fit(X, y)
    scores = [m.robust_score(X, y, radius) for m in (model, plain)]
    print(f"{title}: worst-case accuracy {scores[0]:.2f}, plain SVM {scores[1]:.2f}")
axes[0].set_ylabel("sepal width (cm)")

# %%
# Without a radius the margin rests on the few flowers that are nearest. With one for
# all it rests on their discs, and the boundary turns a little. With a radius for each
# class it moves away from the uncertain one: the model gives a wide berth to what is
# not known well. Radii may also differ from flower to flower, see
# :doc:`/gallery/error_bars/plot_two_instruments`. How to get them from what you know
# of your data
# is told in :doc:`/choosing-a-radius`.
