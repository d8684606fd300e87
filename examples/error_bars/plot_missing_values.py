"""
Missing values: imputed, but not certain
========================================

An imputed value is uncertain. Several imputations of the same row show how uncertain.
`errors.from_imputations` converts their scatter to an error for every cell, 0 for
measured cells. This example measures what such rows are worth, and what their errors
add.
"""

# %%
# Ten measurements of cell nuclei, 60 images for training. 85 % of these lack 60 % of
# their values. All other images are complete and serve to test. scikit-learn's
# `IterativeImputer` fills the gaps six times, each time with other random draws given
# the known values.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVC, errors

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :10]
factors = [0, 0.1, 0.3, 1]


def experiment(seed):
    """Accuracy by factor on the errors, for complete rows, and without holes."""
    rng = np.random.default_rng(seed)
    train, test, y_train, y_test = train_test_split(
        X, y, train_size=60, stratify=y, random_state=seed
    )
    scaler = StandardScaler().fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    poor = rng.random(len(train)) < 0.85
    holes = poor[:, None] & (rng.random(train.shape) < 0.6)
    imputations = [
        IterativeImputer(
            sample_posterior=True, max_iter=3, random_state=k
        ).fit_transform(np.where(holes, np.nan, train))
        for k in range(6)
    ]
    rows, X_err = errors.from_imputations(imputations)
    model = RobustLinearSVC()
    scores = [
        model.fit(rows, y_train, X_err=X_err, radius=f).score(test, y_test)
        for f in factors
    ]
    whole = ~holes.any(axis=1)
    dropped = model.fit(train[whole], y_train[whole]).score(test, y_test)
    return [*scores, dropped, model.fit(train, y_train).score(test, y_test)]


with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # of the imputer: three rounds
    runs = np.array([experiment(seed) for seed in range(16)])

# %%
# Differences from the model that takes imputed values as exact (factor 0), in
# percentage points. They are paired over 16 splits, and the bars are two standard
# errors long in each direction.

gains = 100 * (runs - runs[:, :1])
mean, error = gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
names = [f"imputed, factor {f:g} on the errors" for f in factors]
names += ["complete rows only", "nothing missing"]
fig, ax = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
ax.errorbar(mean[1:], names[1:], xerr=2 * error[1:], fmt="o", capsize=3)
ax.axvline(0, color="0.6", lw=1)
ax.invert_yaxis()
ax.set(xlabel="accuracy compared with imputed values taken as exact, points")
for name, score, gain, off in zip(names, runs.mean(axis=0), mean, error, strict=True):
    print(f"{name:34s} {score:.3f}  {gain:+.2f} ± {off:.2f} points")

# %%
# Rows with gaps are worth keeping: without them the accuracy is lower by more than
# chance explains. The errors of the imputed cells make no measurable difference here.
# They protect against the worst values that the gaps may have had, which is not the
# same as a higher accuracy on average.
