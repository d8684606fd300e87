"""Screening as a strip of frames: grey samples are proven not to matter."""

import matplotlib.pyplot as plt
import numpy as np
from irises import X, y

from wideberth import screen, solve

X, signs = np.asarray(X), np.where(y == "virginica", 1, -1)
X = (X - X.mean(axis=0)) / X.std(axis=0)
asked = {"C": 1.0, "radius": 0.1, "fit_intercept": False}
fig, axes = plt.subplots(1, 4, figsize=(11, 3.2), sharey=True, layout="constrained")
for ax, epochs in zip(axes, [1, 2, 4, 8], strict=True):
    at = solve(
        X, signs, **asked, solver="coordinate", max_iter=epochs, tol=1e-9,
        random_state=0, quiet=True,
    )  # fmt: skip
    known = screen(X, signs, at.w, at.alpha, **asked)
    free = ~(known.removed | known.saturated)
    for rows, color, label in [
        (free, "C3", "not yet decided"),
        (known.saturated, "C1", "proven: full weight"),
        (known.removed, "0.75", "proven: no influence"),
    ]:
        ax.scatter(*X[rows].T, s=16, color=color, label=label)
    for level, style in [(-1, "--"), (0, "-"), (1, "--")]:
        foot = level * at.w / (at.w @ at.w)
        ax.axline(foot, foot + np.array([-at.w[1], at.w[0]]), color="k", ls=style, lw=1)
    ax.set(title=f"gap {at.relative_gap:.0e}, {free.sum()} undecided")
    ax.set(xlabel="petal length", xlim=(-2.6, 2.6), ylim=(-2.3, 2.3))
axes[0].set_ylabel("petal width")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
