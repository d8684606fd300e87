"""
Which labels are wrong?
=======================

Labels can be wrong by a wrong click, or by a copied row. With the hinge loss a sample
costs the more, the farther it is on the wrong side, so wrong labels move the boundary.
The ramp loss has an upper limit, and the model lists the labels that are probably wrong
(:doc:`/gallery/wrong_labels/plot_suspects`).
"""

# %%
# Labels of Breast Cancer are flipped at random, those of clear cases more often than
# those of doubtful ones.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import ShuffleSplit

from wideberth import RobustLinearSVC

X, y = load_breast_cancer(return_X_y=True)
X = np.clip((X - X.mean(axis=0)) / X.std(axis=0), -5, 5)
clear = np.abs(RobustLinearSVC(C=0.1).fit(X, y).decision_function(X))
rng = np.random.default_rng(0)


def spoil(rows, share):
    """The labels of some rows, a share of them wrong; and which."""
    chance, labels = clear[rows] / clear[rows].sum(), y[rows]
    wrong = rng.choice(rows.size, round(share * rows.size), replace=False, p=chance)
    labels[wrong] = 1 - labels[wrong]
    return labels, wrong


# %%
# All models have C = 0.1. Accuracy is measured on other images with correct labels,
# over six splits.

shares, splits = np.linspace(0, 0.3, 4), ShuffleSplit(6, train_size=0.6, random_state=0)
losses: dict[str, dict] = {
    "hinge": {},
    "ramp": {"ramp": -1.0},
    "ramp, three starts": {"ramp": -1.0, "solver_options": {"starts": 3}},
}
scores = {loss: np.empty((shares.size, 6)) for loss in losses}
found: dict[str, list] = {loss: [] for loss in losses}
for k, (train, test) in enumerate(splits.split(X)):
    for i, share in enumerate(shares):
        labels, wrong = spoil(train, share)
        for loss, given in losses.items():
            model = RobustLinearSVC(C=0.1, **given).fit(X[train], labels)
            scores[loss][i, k] = model.score(X[test], y[test])
            if share == shares[2]:
                margins = (2 * labels - 1) * model.decision_function(X[train])
                met = np.isin(np.argsort(margins), wrong).cumsum()
                found[loss].append(100 * met / wrong.size)

fig, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for loss in losses:
    curve = np.mean(found[loss], axis=0)
    axes[0].plot(100 * np.arange(1, curve.size + 1) / curve.size, curve, label=loss)
    means = scores[loss].mean(axis=1)
    error = scores[loss].std(axis=1, ddof=1) / np.sqrt(6)
    axes[1].errorbar(100 * shares, means, error, marker="o", capsize=3, label=loss)
axes[0].axvline(20, color="0.6", linestyle=":")
axes[0].set(
    title="20 % of the labels are wrong", xlim=(0, 40), ylim=(0, 102),
    xlabel="training samples looked at, lowest margin first, %",
    ylabel="wrong labels found, %",
)  # fmt: skip
axes[1].set(
    title="New images, with their true labels",
    xlabel="wrong training labels, %", ylabel="accuracy",
)  # fmt: skip
axes[0].legend(loc="upper left")
axes[1].legend(loc="lower left")

# %%
# If all labels are correct, the ramp gains nothing. A few wrong labels hardly reduce
# its accuracy. With many wrong labels the result depends on the starting point, and
# three starts help; even they may end in a poor local minimum. Check suspects before
# you delete them: a rare case with a correct label looks the same.
