"""
Breast Cancer with its standard errors
======================================

The Breast Cancer table has thirty columns, and ten of them are errors: columns 0 to 9
are means over the cell nuclei of an image, columns 10 to 19 the standard errors of the
same ten. Usually both are used as features. Here the errors are used as errors.
"""

# %%
# The errors are a tenth to two thirds of the standard deviation of their features. To
# see the effect of larger errors, noise of known size is added to a third of the cells,
# and to their standard errors. The population has one Gaussian for each of the two
# classes.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wideberth import MeasuredSVC, RobustLinearSVC

table, y = load_breast_cancer(return_X_y=True)
X, E = table[:, :10], table[:, 10:20]
print("median error over spread:", np.round(np.median(E, axis=0) / X.std(axis=0), 2))
rng, REPETITIONS = np.random.default_rng(0), 3
added = [0.0, 1.0, 3.0]  # standard deviations of a feature
splits = ShuffleSplit(REPETITIONS, train_size=150, random_state=0)
plain, measured = (np.empty((len(added), REPETITIONS)) for _ in range(2))
for i, size in enumerate(added):
    more = size * X.std(axis=0) * (rng.random(X.shape) < 0.3)
    noisy = X + more * rng.normal(size=X.shape)
    errors = np.sqrt(E**2 + more**2)
    for k, (train, test) in enumerate(splits.split(X)):
        usual = make_pipeline(StandardScaler(), RobustLinearSVC())
        plain[i, k] = usual.fit(noisy[train], y[train]).score(noisy[test], y[test])
        model = MeasuredSVC(n_components="per_class")
        model.fit(noisy[train], y[train], X_err=errors[train])
        measured[i, k] = model.score(noisy[test], y[test], X_err=errors[test])
for size, one, two in zip(added, plain, measured, strict=True):
    print(f"{size:3.1f} added: without errors {one.mean():.3f}, with {two.mean():.3f}")

# %%
# On the original table both models are equally accurate within the statistical error.
# The larger the added errors, the more accurate is the model that uses them, compared
# with the one that ignores them.

fig, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
for scores, label in (
    (measured, "MeasuredSVC, with errors"),
    (plain, "without errors"),
):
    error = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    ax.errorbar(added, scores.mean(axis=1), error, marker="o", capsize=3, label=label)
ax.set(
    xlabel="error added to a third of the cells, in standard deviations of a feature",
    ylabel="accuracy on new images",
)
ax.legend(loc="lower left")
