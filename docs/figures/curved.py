"""A curved boundary between two half moons, with the certified disc of each sample."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle
from sklearn.datasets import make_moons
from sklearn.kernel_approximation import Nystroem

from wideberth import RobustLinearSVC, make_robust_pipeline

X, y = make_moons(60, noise=0.12, random_state=0)
grid = np.stack(np.meshgrid(np.linspace(-1.7, 2.7, 200), np.linspace(-1.3, 1.8, 200)))
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, radius in zip(axes, [0.0, 0.1], strict=True):
    model = make_robust_pipeline(
        Nystroem(gamma=1.0, n_components=60, random_state=0),
        RobustLinearSVC(C=10, radius=radius),
    ).fit(X, y)
    values = model.decision_function(grid.reshape(2, -1).T).reshape(200, 200)
    ax.contour(*grid, values, levels=[0], colors="black", linewidths=1)
    for point, size in zip(X, model.certified_radius(X), strict=True):
        ax.add_patch(Circle(point, size, color="tab:gray", alpha=0.25, linewidth=0))
    ax.scatter(*X.T, c=y, cmap="coolwarm", s=14, edgecolor="black", linewidth=0.3)
    ax.set(title=f"radius = {radius:g}", aspect="equal")
    ax.set(xlim=(-1.7, 2.7), ylim=(-1.3, 1.8))
