"""
Which labels are wrong?
=======================

Somebody clicked the wrong button, or copied the row of another patient. The hinge loss
takes such a label at its word, and the farther a sample is on the wrong side, the more
it costs. The ramp loss stops listening there, and the model names the labels that it
does not believe (:doc:`/gallery/wrong_labels/plot_suspects`).
"""

# %%
# Labels of Breast Cancer are made wrong on purpose, those of clear cases more often
# than those of doubtful ones.

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
# All losses at the same C, 0.1, on six splits. Models are judged by other images,
# whose labels are right.

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
# Where all labels are right, nothing is gained. The ramp hardly minds a few wrong ones.
# The more there are, the more it depends on where the descent starts, and three starts
# are worth their time; with other draws of so many wrong labels they, too, may end in a
# poor minimum. Suspects are for looking at, not for deleting: a rare case with a
# correct label looks the same.
