"""Three quantiles of one number, without noise and with an uncertain feature."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from wideberth import RobustLinearRegressor

table = load_diabetes(scaled=False, as_frame=True)
X, y = table.data[["bmi"]].to_numpy(), table.target.to_numpy()
ends = np.array([[X.min()], [X.max()]])
fig, axes = plt.subplots(
    1, 2, figsize=(9, 3.8), sharex=True, sharey=True, layout="constrained"
)
for ax, radius in zip(axes, [0, 1], strict=True):
    ax.errorbar(
        X[:, 0], y, xerr=radius or None, fmt="o", ms=3, color="0.6", ecolor="0.88"
    )
    for quantile, style in [(0.9, "--"), (0.5, "-"), (0.1, ":")]:
        model = RobustLinearRegressor(quantile, radius=radius).fit(X, y)
        label = f"quantile {quantile}"
        ax.plot(ends[:, 0], model.predict(ends), style, color="C0", lw=2, label=label)
    ax.set(title=f"body mass index known to ±{radius}" if radius else "taken as exact")
    ax.set(xlabel="body mass index (kg/m²)", ylim=(0, 360))
axes[0].set_ylabel("progression after a year")
axes[0].legend(loc="upper left")
