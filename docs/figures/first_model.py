"""The first model: how accuracy falls as measurements get worse."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVC, make_robust_pipeline

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
steps = np.linspace(0, 0.8, 81)
fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for radius, name in [(0, "an ordinary SVM"), (0.1, "trained with radius 0.1")]:
    model = make_robust_pipeline(
        StandardScaler(), RobustLinearSVC(radius=radius, noise=X_train.std(axis=0))
    ).fit(X_train, y_train)
    ax.plot(steps, [model.robust_score(X_test, y_test, r) for r in steps], label=name)
ax.axvline(0.1, color="0.6", ls=":")
ax.text(0.11, 0.52, "the stated precision", color="0.35")
ax.set(xlabel="length of the worst error of each sample, in standard deviations")
ax.set(ylabel="accuracy on new samples", ylim=(0.5, 1))
ax.legend()
