"""What the noise shape does: in which directions a flower may be off."""

import matplotlib.pyplot as plt
from irises import X, y

from wideberth import Box, RobustLinearSVC
from wideberth.plotting import MarginDisplay

shapes = {
    'noise="l2": alike in all directions': "l2",
    "noise=[2, 0.5]: a scale for each feature": [2.0, 0.5],
    "noise=Box([2, 0.5]): tolerances": Box([2.0, 0.5]),
}
fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, (title, noise) in zip(axes, shapes.items(), strict=True):
    model = RobustLinearSVC(radius=0.1, noise=noise).fit(X, y)
    MarginDisplay.from_estimator(model, X, y, ax=ax)
    ax.set_title(title, fontsize=9)
    ax.set(xlabel="petal length (cm)", ylabel="", aspect="auto")
    ax.set(xlim=(2.8, 7.2), ylim=(0.8, 2.7))
    ax.legend(loc="lower right").set_visible(ax is axes[0])
axes[0].set_ylabel("petal width (cm)")
