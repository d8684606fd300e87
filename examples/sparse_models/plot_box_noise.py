"""
Every feature off by a little: sparse models
============================================

If each feature may be off by up to ρ, independently of the others, the noise set is a
box, and the worst error lowers a margin by ρ‖w‖₁. Training against a box therefore acts
like a lasso penalty, whose strength is the resolution of the instrument. Features whose
effect is small compared with their error get the weight 0.
"""

# %%
# Breast Cancer, standardised, C = 1, with a box and with a ball, for increasing radii.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVC

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data), data.target
radii = np.concatenate([[0.0], np.geomspace(0.003, 0.5, 14)])
paths = {
    noise: np.array(
        [RobustLinearSVC(radius=r, noise=noise).fit(X, y).coef_[0] for r in radii]
    )
    for noise in ("linf", "l2")
}

fig, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
titles = {"linf": "box: every feature off by up to ρ", "l2": "ball: length at most ρ"}
for ax, (noise, coefs) in zip(axes, paths.items(), strict=True):
    last = np.argsort(-np.abs(coefs[8]))
    for rank, j in enumerate(last):
        chosen = rank < 4 and noise == "linf"
        ax.plot(
            radii,
            coefs[:, j],
            color=f"C{rank}" if chosen else "0.75",
            label=data.feature_names[j] if chosen else None,
            zorder=3 if chosen else 1,
        )
    ax.set(xscale="symlog", xlabel="radius ρ", title=titles[noise])
    ax.set_xscale("symlog", linthresh=0.003)
    ax.set_xlim(0, radii[-1])
axes[0].set_ylabel("weight")
axes[0].legend()

# %%
# With the box, the weights become exactly zero one after the other. With the ball they
# become smaller together, and none is zero.

for k in (0, 5, 8, 11):
    used = {name: np.count_nonzero(c[k]) for name, c in paths.items()}
    print(f"radius {radii[k]:.3f}: {used['linf']:2d} features, ball {used['l2']:2d}")
