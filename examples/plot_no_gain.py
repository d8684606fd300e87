"""
When error bars do not help
===========================

Error bars say which measurements to trust. If all of them are equally good, there is
nothing to say, and a classifier that was never told the errors is as good as one that
was. This example goes from that case to one in which errors differ widely.
"""

# %%
# Simulated objects with eight features that go together. The errors of all cells have
# the same mean square in every panel of the experiment; what changes is how unequal
# they are, from all alike to a factor of a thousand between the best and the worst.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wideberth import MeasuredSVC, RobustLinearSVC

MIX = np.random.default_rng(3).normal(size=(8, 8)) / np.sqrt(8)
DIRECTION = np.random.default_rng(4).normal(size=8) / np.sqrt(8)


def measured(rng, n, unequal):
    """Measurements, their errors and two classes."""
    true = rng.normal(size=(n, 8)) @ MIX
    y = true @ DIRECTION > 0
    errors = np.exp(np.log(unequal) * (rng.random((n, 8)) - 0.5))
    errors *= 0.8 / np.sqrt(np.mean(errors**2))
    return true + errors * rng.normal(size=(n, 8)), errors, y


factors, repetitions = [1, 3, 10, 100, 1000], 5
plain, told = (np.empty((len(factors), repetitions)) for _ in range(2))
for i, unequal in enumerate(factors):
    for k in range(repetitions):
        rng = np.random.default_rng(k)
        (X, E, y), (new, new_errors, truth) = (
            measured(rng, n, unequal) for n in (300, 4000)
        )
        usual = make_pipeline(StandardScaler(), RobustLinearSVC()).fit(X, y)
        plain[i, k] = usual.score(new, truth)
        model = MeasuredSVC(probability=False).fit(X, y, X_err=E)
        told[i, k] = model.score(new, truth, X_err=new_errors)
gain = 100 * (told - plain)
for unequal, each in zip(factors, gain, strict=True):
    error = each.std(ddof=1) / np.sqrt(repetitions)
    print(f"errors unequal by {unequal:4d}: gain {each.mean():5.2f} ± {error:.2f} %")

# %%
# With errors that are all alike, the posterior mean is the same affine function of
# every row, and a linear classifier can undo it: no gain, by theory. The gain grows
# with how unequal errors are. Three more cases in which there is none: errors that are
# small beside the distance of objects from the boundary; features that do not go
# together, whose bad cells nothing else can mend; and errors that are wrong.

fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
ax.axhline(0, color="0.6", lw=0.8)
ax.errorbar(
    factors,
    gain.mean(axis=1),
    gain.std(axis=1, ddof=1) / np.sqrt(repetitions),
    marker="o",
    capsize=3,
)
ax.set(
    xscale="log",
    xlabel="largest error over smallest error",
    ylabel="gain in accuracy, percentage points",
)
