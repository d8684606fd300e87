"""
Measurements beside categories
==============================

Most tables have two kinds of columns: measurements with errors, and categories without
errors, such as a type of soil. A robust pipeline scales the measurements, encodes the
categories, and applies the noise to the measurements only.
"""

# %%
# The task is to tell two kinds of trees apart by three measurements, the soil, and the
# side of the hill. The precision of each measurement is known in its own units.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from wideberth import RobustLinearSVC, make_robust_pipeline

rng, n = np.random.default_rng(0), 1200
soils, sides = ["clay", "peat", "rock", "sand"], ["north", "south"]
table = pd.DataFrame(
    {
        "altitude": rng.normal(2800, 250, n),  # metres
        "slope": rng.gamma(4, 4, n),  # degrees
        "to water": rng.gamma(2, 140, n),  # metres
        "soil": rng.choice(soils, n),
        "side": rng.choice(sides, n),
    }
)
hidden = (table["altitude"] - 2800) / 250 - (table["slope"] - 16) / 8
hidden += 1.5 * (table["soil"] == "rock") - 0.8 * (table["side"] == "south")
y = np.where(hidden + 0.5 * rng.normal(size=n) > 0, "pine", "spruce")
precision = {"altitude": 150.0, "slope": 1.0, "to water": 20.0}

# %%
# Noise is given by the names of the measured columns.


def trained(radius):
    """The recommended pipeline for a table of both kinds."""
    columns = ColumnTransformer(
        [
            ("measured", StandardScaler(), list(precision)),
            ("kinds", OneHotEncoder(handle_unknown="ignore"), ["soil", "side"]),
        ]
    )
    classifier = RobustLinearSVC(C=0.1, radius=radius, noise=precision)
    return make_robust_pipeline(columns, classifier).fit(table[:600], y[:600])


radii = np.linspace(0, 3, 13)
fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
for trained_for in (0.0, 1.0):
    model = trained(trained_for)
    right_share = [model.robust_score(table[600:], y[600:], radius=r) for r in radii]
    left.plot(radii, right_share, marker="o", label=f"radius {trained_for:g}")
left.set(xlabel="error of the measurements, in units of their precision")
left.set(ylabel="fraction right under all such errors")
left.legend(title="trained for")

names = [name.split("__")[1] for name in model[:-1].get_feature_names_out()]
for shift, trained_for in enumerate((0.0, 1.0)):
    weights = trained(trained_for)[-1].coef_[0]
    right.barh(np.arange(len(names)) + 0.4 * shift, weights, 0.38)
right.set(yticks=np.arange(len(names)) + 0.2, yticklabels=names, xlabel="weight")
right.invert_yaxis()

# %%
# The altitude has large errors. The robust model gives it less weight, and more to the
# soil and the side of the hill, which are exact. If the encoder returns a sparse
# matrix, training keeps it sparse.
#
# Certified radii of six trees, in units of the precision (:doc:`/the-answer`):

print(model.certified_radius(table[600:606]).round(2))
