"""What the radius does: larger discs turn and move the boundary."""

import matplotlib.pyplot as plt
from irises import X, y

from wideberth import RobustLinearSVC
from wideberth.plotting import MarginDisplay

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, radius in zip(axes, [0, 0.05, 0.15], strict=True):
    model = RobustLinearSVC(radius=radius).fit(X, y)
    MarginDisplay.from_estimator(model, X, y, ax=ax)
    ax.set(title=f"radius = {radius:g} cm", xlabel="petal length (cm)", ylabel="")
    ax.set(xlim=(2.8, 7.2), ylim=(0.8, 2.7), aspect="auto")
    ax.legend(loc="lower right").set_visible(ax is axes[0])
axes[0].set_ylabel("petal width (cm)")
