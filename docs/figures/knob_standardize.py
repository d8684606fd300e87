"""Why to standardise: in raw units one feature decides alone."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVC, make_robust_pipeline

wine = load_wine()
plain = RobustLinearSVC(C=1e-5)
models = {
    "raw units": make_robust_pipeline(plain),
    "standardised": make_robust_pipeline(StandardScaler(), plain),
}
fig, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    score = cross_val_score(model, wine.data, wine.target).mean()
    model.fit(wine.data, wine.target)
    seen = model[:-1].transform(wine.data) if len(model) > 1 else wine.data
    part = (np.abs(model[-1].coef_) * seen.std(axis=0)).sum(axis=0)
    ax.barh(wine.feature_names, part / part.sum(), color="C0")
    ax.set(title=f"{name}: accuracy {score:.2f}", xlabel="share in the decision")
