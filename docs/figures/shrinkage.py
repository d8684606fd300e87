"""What true features probably were: badly measured galaxies move towards the others."""

import matplotlib.pyplot as plt
import numpy as np

from wideberth import TrueFeatures
from wideberth.datasets import load_galaxies

sky = load_galaxies()
known = ~np.isnan(sky.data).any(axis=1)
X, errors = sky.data[known], sky.errors[known]
population = TrueFeatures(2, random_state=0).fit(X[:3000], X_err=errors[:3000])
worst = np.argsort(-errors[3000:4500].max(axis=1))[:40] + 3000
shown = population.transform(X[worst], X_err=errors[worst])
colour, true = X[:, 0] - X[:, 1], shown[:, 0] - shown[:, 1]
other, probable = X[:, 1] - X[:, 2], shown[:, 1] - shown[:, 2]
fig, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
ax.scatter(other[:3000], colour[:3000], s=2, color="0.8", label="other galaxies")
ax.scatter(other[worst], colour[worst], s=16, color="C3", label="as measured, badly")
ax.scatter(probable, true, s=16, color="C0", label="what they probably were")
for k, row in enumerate(worst):
    ax.annotate(
        "", (probable[k], true[k]), (other[row], colour[row]),
        arrowprops={"arrowstyle": "-", "color": "C0", "alpha": 0.5},
    )  # fmt: skip
ax.set(xlabel="g − r (magnitudes)", ylabel="u − g (magnitudes)")
ax.set(xlim=(-1, 2.5), ylim=(-1.5, 5))
ax.legend(loc="upper left")
