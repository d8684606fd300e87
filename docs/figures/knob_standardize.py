"""Why to standardise: in raw units the columns with large numbers decide."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVC, make_robust_pipeline

data = load_breast_cancer()
models = {
    "raw units": make_robust_pipeline(RobustLinearSVC()),
    "standardised": make_robust_pipeline(StandardScaler(), RobustLinearSVC()),
}
size = {"figsize": (10, 6.5), "layout": "constrained"}
fig, axes = plt.subplots(1, 2, sharex=True, sharey=True, **size)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    score = cross_val_score(model, data.data, data.target).mean()
    model.fit(data.data, data.target)
    seen = model[:-1].transform(data.data) if len(model) > 1 else data.data
    part = (np.abs(model[-1].coef_) * seen.std(axis=0)).sum(axis=0)
    ax.barh(data.feature_names, part / part.sum(), color="C0")
    ax.set(title=f"{name}: accuracy {score:.3f}", xlabel="share in the decision")
axes[0].invert_yaxis()
