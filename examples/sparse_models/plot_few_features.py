"""
Which measurements can be left out?
===================================

Breast Cancer has thirty features of cell nuclei. Suppose that each has a tolerance from
a data sheet. Fewer measurements would be cheaper. How many are needed, and how accurate
is the model then?

Two things reduce the number of features. First, a feature with a large tolerance gets
the weight 0. Second, a norm penalty adds the absolute weights, each times its
tolerance, to the objective.
"""

# %%
# Each value may be off by 3 % of the median of its feature, all at once.
# ``carry_noise`` converts the tolerances for the scaled features. C is 1 and the radius
# is 1.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from wideberth import Box, path
from wideberth.certify import decision_values, robust_correct
from wideberth.estimators import carry_noise

data = load_breast_cancer()
tolerances = 0.03 * np.median(data.data, axis=0)
train, test, y, truth = train_test_split(data.data, data.target, random_state=0)
scaler = StandardScaler().fit(train)
noise = carry_noise(Box(tolerances), scaler, train)

penalties = np.geomspace(1, 3000, 16)
models = path(
    scaler.transform(train), y, Cs=[1.0], radii=[1.0], noise=noise,
    norm_penalties=penalties, tol=1e-4, quiet=True,
)  # fmt: skip

# %%
# Each model is tested on new samples: as measured, and under the worst errors within
# the tolerances.

rows, labels = scaler.transform(test), truth
measured, certain, kept = [], [], []
for w, b in zip(models.coefs[:, 0], models.intercepts[:, 0], strict=True):
    values = decision_values(rows, w[None], np.array([b]))
    measured.append(np.mean((values > 0) == labels))
    certain.append(robust_correct(values, labels, w[None], 1.0, noise).mean())
    kept.append(np.count_nonzero(w))

fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
axes[0].semilogx(penalties, measured, "C0", label="accuracy as measured")
axes[0].semilogx(penalties, certain, "C1", label="accuracy within the tolerances")
axes[0].set(xlabel="norm penalty", ylabel="share of unseen samples", ylim=(0.5, 1.0))
axes[0].legend(loc="lower left")
count = axes[0].twinx()
count.step(penalties, kept, "0.4", where="mid")
count.set(ylabel="features with a weight (grey)", ylim=(0, 30))
used = models.coefs[:, 0] != 0
last = np.max(np.where(used, penalties[:, None], 0), axis=0)
longest = np.argsort(-last, kind="stable")[:12]
axes[1].barh(data.feature_names[longest], last[longest])
axes[1].set(xscale="log", xlabel="largest norm penalty at which it has a weight")
axes[1].xaxis.set_minor_formatter("")
axes[1].invert_yaxis()

# %%
# Half of the features have the weight 0 at the smallest penalty, because of their
# tolerances. A dozen of the others are enough. The bars show for which penalties each
# feature has a weight.

for k in range(0, len(penalties), 3):
    print(
        f"penalty {penalties[k]:6.0f}: {kept[k]:2d} features, {measured[k]:.1%} right, "
        f"{certain[k]:.1%} within the tolerances"
    )
