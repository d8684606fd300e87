"""What error bars do: every flower has an ellipse of its own."""

import matplotlib.pyplot as plt
import numpy as np
from irises import X, y

from wideberth import RobustLinearSVC
from wideberth.plotting import MarginDisplay

errors = np.random.default_rng(0).choice([0.02, 0.1, 0.4], size=X.shape)
errors[:, 1] *= 0.5
fig, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
plain = RobustLinearSVC(C=1, radius=0).fit(X, y)
MarginDisplay.from_estimator(plain, X, y, X_err=errors, radius=1, ax=axes[0])
axes[0].set(title="errors ignored", ylabel="petal width (cm)")
model = RobustLinearSVC(C=1).fit(X, y, X_err=errors)
MarginDisplay.from_estimator(model, X, y, X_err=errors, ax=axes[1])
axes[1].set(title="X_err given: flowers known badly count less")
for ax in axes:
    ax.set(xlabel="petal length (cm)", xlim=(2.8, 7.2), ylim=(0.8, 2.7), aspect="auto")
    ax.legend(loc="lower right").set_visible(ax is axes[0])
