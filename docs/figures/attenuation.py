"""Errors in a feature flatten the line of least squares; with X_err it is not flat."""

import matplotlib.pyplot as plt
import numpy as np

from wideberth import MeasuredRegressor

rng = np.random.default_rng(0)
true = rng.normal(size=3000)
y = true + 0.7 * rng.normal(size=3000)  # the slope is 1
noise = rng.normal(size=(7, 3000))
sizes = np.array([0.01, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5])
plain, models = [], []
for size, drawn in zip(sizes, noise, strict=True):
    X = (true + size * drawn)[:, None]
    plain.append(np.polyfit(X[:, 0], y, 1)[0])
    models.append(MeasuredRegressor(cv=None).fit(X, y, X_err=size))
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
at = 4  # errors as large as the spread
X, model, ends = true + sizes[at] * noise[at], models[at], np.array([[-3.5], [3.5]])
left.errorbar(
    X[::30], y[::30], xerr=sizes[at], fmt="o", ms=3, color="0.55", ecolor="0.85"
)
flat = np.polynomial.Polynomial.fit(X, y, 1)
left.plot(ends, flat(ends), "--", color="C3", lw=2, label="least squares")
left.plot(
    ends, model.coef_ * ends + model.intercept_, color="C0", lw=2, label="with X_err"
)
left.plot(ends, ends, ":", color="k", label="truth")
left.set(xlabel="measured feature", ylabel="target", ylim=(-3.6, 3.6), xlim=(-4, 4))
left.legend(loc="upper left")
found = [each.coef_[0] for each in models]
errors = [2 * each.coef_std_[0] for each in models]
right.axhline(1, ls=":", color="k")
right.plot(sizes, plain, "--o", color="C3", label="least squares")
right.errorbar(
    sizes, found, errors, fmt="-o", color="C0", capsize=3, label="with X_err ± 2 errors"
)
right.set(xlabel="error ÷ spread of the true feature", ylabel="slope", ylim=(0, 1.7))
right.legend(loc="lower left")
