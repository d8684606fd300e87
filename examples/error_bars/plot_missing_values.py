"""
Missing values: imputed, but not certain
========================================

An imputed value is uncertain. Several imputations of the same row show how uncertain.
`errors.from_imputations` converts their scatter to an error for every cell, 0 for
measured cells.
"""

# %%
# Thirteen measurements of wines from three growers. In the training half 85 % of the
# wines lack 60 % of their values. The other half is complete and serves to test.
# scikit-learn's `IterativeImputer` fills the gaps six times, each time with other
# random draws given the known values.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVC, errors

X, y = load_wine(return_X_y=True)
factors = [0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1]


def experiment(seed):
    """Accuracy by factor on the errors, for complete rows, and without holes."""
    rng = np.random.default_rng(seed)
    train, test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=seed
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
    return scores, dropped, model.fit(train, y_train).score(test, y_test)


with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # of the imputer: three rounds
    runs = [experiment(seed) for seed in range(6)]
scores, dropped, without_holes = (
    np.mean(part, axis=0) for part in zip(*runs, strict=True)
)

# %%
# These errors are used at radius 1: measured cells are exact, and imputed cells may be
# off by their error.

fig, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
ax.plot(factors, scores, "o-", label="imputed, with an error for each cell")
ax.axhline(without_holes, color="0.5", ls="--", label="nothing missing")
ax.axhline(dropped, color="C1", ls=":", label="complete rows only")
ax.set(xlabel="factor on errors", ylabel="accuracy on complete wines")
ax.legend(loc="center right")

print(f"imputed, no error: {scores[0]:.3f}")
print(f"complete rows only: {dropped:.3f}")
print(f"imputed, with errors: {scores[-1]:.3f}")
print(f"nothing missing: {without_holes:.3f}")

# %%
# At the left end (radius 0) imputed values count as exact. At radius 1 the model
# regains a part of the accuracy that the gaps cost.
