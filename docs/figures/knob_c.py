"""What C does: three models of the same irises."""

import matplotlib.pyplot as plt
from irises import X, y

from wideberth import RobustLinearSVC
from wideberth.plotting import MarginDisplay

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, C in zip(axes, [0.05, 1, 100], strict=True):
    MarginDisplay.from_estimator(RobustLinearSVC(C=C).fit(X, y), X, y, ax=ax)
    ax.set(title=f"C = {C:g}", xlabel="petal length (cm)", ylabel="", aspect="auto")
    ax.set(xlim=(2.8, 7.2), ylim=(0.8, 2.7))
    ax.legend(loc="lower right").set_visible(ax is axes[0])
axes[0].set_ylabel("petal width (cm)")
