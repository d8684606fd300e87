"""
Every sample has its own ellipse
================================

Images of cell nuclei give two numbers, and a standard error for each. The ellipses show
where a nucleus may be. With `X_err` the margins keep away from the ellipses, so images
with small errors determine the boundary.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from wideberth import RobustLinearSVC
from wideberth.plotting import MarginDisplay

data = load_breast_cancer()
X, errors = data.data[:80, [0, 1]], data.data[:80, [10, 11]]  # radius and texture
y = data.target_names[data.target[:80]]

fig, axes = plt.subplots(1, 2, figsize=(11, 5), sharey=True, layout="constrained")
for ax, size in zip(axes, [0.0, 1.0], strict=True):
    model = RobustLinearSVC(C=1.0, radius=size).fit(X, y, X_err=errors)
    MarginDisplay.from_estimator(model, X, y, X_err=errors, radius=1, ax=ax)
    inside = model.robust_score(X, y, 1, X_err=errors)
    ax.set(title=f"trained with radius {size:g}: {inside:.0%} safe")
    ax.set(xlabel="mean radius of the nuclei", xlim=(8, 24), ylim=(9, 31))
    ax.set(aspect="auto")
    ax.legend(loc="upper left")
axes[0].set_ylabel("mean texture")

# %%
# Left: errors are ignored in training. Right: the model is trained against one standard
# error of each image. "Safe" is the fraction of images that are classified correctly
# wherever they lie in their ellipse. The robust model has more safe images, a wider
# margin, and sometimes more images on the wrong side. To use errors for more accurate
# predictions see :doc:`/gallery/error_bars/plot_nuclei`.
