"""
How accurate, and under how much noise?
=======================================

The accuracy of a classifier depends on the size of the errors. So draw it as a curve:
the accuracy that remains if every sample has the worst error of a given size. For
linear models `robust_score` computes this accuracy exactly.
"""

# %%
# Half of the Breast Cancer data is for training, half for the curves. Features are
# standardised, so a radius counts standard deviations. C is 1.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVC
from wideberth.plotting import CertifiedAccuracyDisplay

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

fig, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
for radius in [0.0, 0.3, 1.0]:
    model = RobustLinearSVC(radius=radius).fit(X_train, y_train)
    CertifiedAccuracyDisplay.from_estimator(
        model, X_test, y_test, radii=np.linspace(0, 3, 121), ax=ax
    )
majority = max(np.mean(y_test), 1 - np.mean(y_test))
ax.axhline(majority, color="0.6", lw=1, ls="--")
ax.text(2.98, majority, "always the majority", ha="right", va="bottom", color="0.4")

# %%
# The curves cross. The plain SVM (radius 0) is the best on the data as measured, and
# loses most under errors. Training at radius 1 costs two percentage points at the left
# end, and gains twelve at errors of length 1. The dotted lines mark the radius of
# training.
#
# So choose the model by the errors that you expect, and read the curve there, not at
# its left end. Here all samples have one radius in all directions, so the three models
# are also ordinary SVMs with three values of C (:doc:`/theory/problem`).
