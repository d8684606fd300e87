"""How to read the curve of certified accuracy."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVC

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = RobustLinearSVC(radius=0.5).fit(X_train, y_train)
radii = np.linspace(0, 3, 121)
curve = [model.robust_score(X_test, y_test, radius) for radius in radii]
majority = max(np.mean(y_test), 1 - np.mean(y_test))
fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
ax.plot(radii, curve, color="C0", lw=2)
ax.axhline(majority, color="0.6", ls="--", lw=1)
ax.axvline(0.5, color="0.6", ls=":")
arrow = {"arrowprops": {"arrowstyle": "->", "color": "0.35"}, "color": "0.2"}
ax.annotate("data as measured", (0, curve[0]), (0.25, 1.03), **arrow)
trained = model.robust_score(X_test, y_test, 0.5)
ax.annotate("at the radius of training", (0.5, trained), (0.8, 0.95), **arrow)
below = next(r for r, s in zip(radii, curve, strict=True) if s < majority)
text = "from here on no better than\nalways naming the larger class"
ax.annotate(text, (below, majority), (below + 0.1, majority + 0.12), **arrow)
ax.set(xlabel="radius: length of the worst error of each sample", ylim=(0, 1.08))
ax.set(ylabel="certified accuracy")
