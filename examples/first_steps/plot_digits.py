"""
Which predictions would survive?
================================

`certified_radius` is the length of the shortest error of a sample that can change its
predicted class. It is exact, for any number of classes. `worst_case` is the error that
lowers the margin most. With images you can see both.
"""

# %%
# Handwritten digits in ten classes, with 8×8 pixels between 0 and 16. Both models have
# C = 0.01. The robust model is trained against errors of Euclidean length 2 over all
# pixels.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from wideberth import RobustLinearSVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
plain = RobustLinearSVC(C=0.01).fit(X_train, y_train)
robust = RobustLinearSVC(C=0.01, radius=2.0).fit(X_train, y_train)

# %%
# Certified radii of the digits that are classified correctly. Those of the robust model
# are larger. All digits have one radius here, and each class of the robust model is
# therefore an ordinary SVM with a smaller C (:doc:`/theory/problem`).

fig, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
bins = np.linspace(0, 20, 41)
for name, model in [("plain", plain), ("robust", robust)]:
    right = model.predict(X_test) == y_test
    radii = model.certified_radius(X_test)[right]
    ax.hist(radii, bins, alpha=0.6, label=f"{name}: {right.mean():.3f} recognised")
ax.set(xlabel="certified radius", ylabel="digits")
ax.legend()

# %%
# The digits with the largest and with the smallest certified radius, and the error that
# changes their class.

radii = np.where(
    robust.predict(X_test) == y_test, robust.certified_radius(X_test), np.nan
)
order = np.argsort(radii)[: np.sum(~np.isnan(radii))]
chosen = np.concatenate([order[-3:][::-1], order[[0, 1, 2]]])
moved = robust.worst_case(X_test[chosen], y_test[chosen], radius=1.01 * radii[chosen])
fig, axes = plt.subplots(3, 6, figsize=(9.5, 5.2), layout="constrained")
for column, (i, move) in enumerate(zip(chosen, moved, strict=True)):
    after = robust.predict([X_test[i] + move])[0]
    images = [X_test[i], move, X_test[i] + move]
    titles = [f"a {y_test[i]}, radius {radii[i]:.1f}", "change", f"taken for a {after}"]
    styles = [("gray_r", 0, 16), ("RdBu_r", -8, 8), ("gray_r", 0, 16)]
    for ax, image, title, (colors, low, high) in zip(
        axes[:, column], images, titles, styles, strict=True
    ):
        ax.imshow(image.reshape(8, 8), cmap=colors, vmin=low, vmax=high)
        ax.set_title(title, fontsize=9)
        ax.set_axis_off()

# %%
# On the left are digits with a large certified radius. On the right are digits whose
# class is changed by an error that is too small to see. A human should check those.
