"""
Is this the best model? Reading the certificate
===============================================

A solver may stop far from the optimum. On features of very different scale `LinearSVC`
often does; it warns, but cannot say how far. wideberth returns a *duality gap* with
every model: no other model has an objective that is lower by more than the gap.
"""

# %%
# Spambase in raw units has word frequencies below one and run lengths in the thousands.
# Both solvers minimise the same objective, with C = 1: `LinearSVC` with the hinge loss,
# wideberth with a penalised intercept and radius 0.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from wideberth import solve
from wideberth.datasets import load_spambase

X, y = load_spambase()
X, y = X[::2], y[::2]  # half of the messages, to be quick


def objective(w, b):
    """What both minimise, C = 1."""
    return 0.5 * (w @ w + b * b) + np.maximum(1 - y * (X @ w + b), 0).sum()


epochs, reached = [10, 30, 100, 300, 1000, 3000, 10_000], []
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for count in epochs:
        model = LinearSVC(loss="hinge", max_iter=count, random_state=0).fit(X, y)
        reached.append(objective(model.coef_[0], model.intercept_[0]))

solution = solve(X, y, fit_intercept=True, intercept_penalty=1.0, solver="coordinate")
print(solution)

# %%
# The trace of `solve` has an objective and a lower bound for every certified point. The
# optimum lies between the lowest objective and the highest lower bound. `solve` stops
# when they are close enough.

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
axes[0].plot(epochs, reached, "o-", color="C1", label="objective")
axes[0].set(xscale="log", yscale="log", ylabel="objective")
axes[0].set(xlabel="epochs allowed", title="LinearSVC: where it stopped")
steps = [point["iteration"] for point in solution.trace]
best = np.minimum.accumulate([point["primal"] for point in solution.trace])
bound = np.maximum.accumulate([point["dual"] for point in solution.trace])
axes[1].fill_between(steps, bound, best, alpha=0.2, label="where the optimum can be")
axes[1].plot(steps, best, ".-", color="C0", label="best objective")
axes[1].plot(steps, bound, ".-", color="C2", label="proven lower bound")
axes[1].set(xlabel="epochs", title="wideberth: between two bounds", ylim=(20, None))
for ax in axes:
    ax.axhline(solution.dual, color="0.5", lw=1, ls="--")
    ax.legend()

# %%
# More epochs of `LinearSVC` do not help here; the objective may even be higher. On
# scaled features `LinearSVC` is accurate and fast, but only a gap shows that. If
# `solve` does not reach its tolerance, it warns and states the gap. `RobustLinearSVC`
# stores it as `dual_gap_`.

worst = max(reached[4:])
print(
    f"LinearSVC ends between {min(reached[4:]) / solution.primal:.1f} and "
    f"{worst / solution.primal:.1f} times the optimum from 1000 epochs on"
)
print(f"wideberth is proven within {solution.relative_gap:.1e} of it")
