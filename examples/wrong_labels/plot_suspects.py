"""
A list of labels to check
=========================

One label in ten is swapped. The ramp loss limits the loss of samples that are far on
the wrong side. The fitted model lists those whose label is probably wrong. Check these
first.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from wideberth import RobustLinearSVC

flowers = load_iris()
two = flowers.target < 2
X, y = flowers.data[two][:, :2], flowers.target[two]
rng = np.random.default_rng(0)
labels = y.copy()
swapped = rng.choice(y.size, 10, replace=False)
labels[swapped] = 1 - labels[swapped]

model = RobustLinearSVC(C=1.0, ramp=-1.0, solver_options={"starts": 3}).fit(X, labels)
suspects = model.suspects_["sample"]
fig, ax = plt.subplots(figsize=(7, 5), layout="constrained")
for k, name in enumerate(flowers.target_names[:2]):
    ax.scatter(*X[labels == k].T, color=f"C{k}", s=20, label=f"labelled {name}")
ax.scatter(*X[suspects].T, s=150, facecolors="none", edgecolors="k", label="suspects")
(a, b), c = model.coef_[0], model.intercept_[0]
ax.axline((4, -(c + 4 * a) / b), slope=-a / b, color="k", lw=1)
ax.set(xlabel=flowers.feature_names[0], ylabel=flowers.feature_names[1])
ax.set(xlim=(4.1, 7.2), ylim=(1.8, 4.6))
ax.legend(loc="upper left")
found = np.isin(suspects, swapped).sum()
print(f"{found} of {suspects.size} suspects were swapped; 10 were swapped in all.")

# %%
# Check suspects; do not delete them unseen. A swapped label near the boundary is not
# listed, because it might be right. An unusual flower with a correct label may be
# listed. :doc:`/gallery/wrong_labels/plot_wrong_labels` shows what the ramp gains on
# new data.
