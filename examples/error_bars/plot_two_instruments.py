"""
Two instruments: a radius for each sample
=========================================

A test for a disease is learnt from patients of a hospital, whose laboratory reads six
markers precisely, and from visitors of a mobile unit, whose hand-held instrument reads
the same markers about fifteen times less precisely. Most of the sick are seen at the
hospital, most of the healthy at the unit. For the training set every person was
measured five times and the readings were averaged; in use there is one reading.

So the training rows are cleaner than what the model will meet, and by how much depends
on the instrument. The five readings tell: `radius_from_replicates` turns the spread of
each person's readings into a radius, in units of what one reading of the laboratory is
off by, and `make_robust_pipeline` carries those units through the scaler.

Started as a script it takes the number of repetitions of the whole experiment: ``python
examples/error_bars/plot_two_instruments.py 20``.
"""

# %%
# The people are simulated, because a truth is needed to see what was learnt.

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from wideberth import (
    NullModelWarning,
    RobustLinearSVC,
    make_robust_pipeline,
    radius_from_replicates,
)
from wideberth.plotting import MarginDisplay

#: Each marker has units of its own; the laboratory is off by a tenth of them.
UNITS = np.array([1.0, 50.0, 0.2, 10.0, 3.0, 800.0])
EFFECT = np.array([1.5, 1.2, 0.9, 0.6, 0.3, 0.0])  # of the disease, in those units
LABORATORY, HAND_HELD = 0.1, 1.5
READINGS, TRAINING, TEST = 5, 80, 20_000
GRID = {"robustlinearsvc__C": [0.01, 0.1, 1.0, 10.0]}


def people(rng, n):
    """True markers, who is sick, and how far off each person's instrument is."""
    sick = rng.random(n) < 0.5
    markers = 0.5 * rng.normal(size=(n, 6)) + np.where(sick, 1, -1)[:, None] * EFFECT
    at_unit = rng.random(n) < np.where(sick, 0.1, 0.9)
    return markers * UNITS, sick, np.where(at_unit, HAND_HELD, LABORATORY)


def read(rng, markers, precision):
    """One reading of every person."""
    return markers + precision[:, None] * UNITS * rng.normal(size=markers.shape)


# %%
# Five ways to train, each with C from cross-validation, all tested on single readings
# of new people.


def chosen_by_cross_validation(X, y, radius):
    """The usual pipeline with C from five folds; radii travel with the samples."""
    model = make_robust_pipeline(StandardScaler(), RobustLinearSVC(noise=UNITS))
    return GridSearchCV(model, GRID).fit(X, y, robustlinearsvc__radius=radius)


def radii_of(readings, units):
    """What a further reading may be away from the mean, in those units."""
    return radius_from_replicates(
        readings,
        noise=units,
        confidence=0.9,
        between="mean and reading",
    )


def experiment(seed):
    """Accuracy of each way to train, on single readings of new people."""
    rng = np.random.default_rng(seed)
    markers, sick, precision = people(rng, TRAINING)
    readings = np.stack(
        [read(rng, markers, precision) for _ in range(READINGS)], axis=1
    )
    means = readings.mean(axis=1)
    radius = radii_of(readings, UNITS)
    everything = readings.reshape(-1, 6), np.repeat(sick, READINGS)
    ways = {
        "no radius, one reading each": (readings[:, 0], sick, 0.0),
        "no radius, means": (means, sick, 0.0),
        "no radius, all readings as rows": (*everything, 0.0),
        "one radius for all, means": (means, sick, np.full(TRAINING, radius.mean())),
        "a radius for each, means": (means, sick, radius),
    }
    new, new_sick, new_precision = people(rng, TEST)
    new = read(rng, new, new_precision)
    return {
        way: chosen_by_cross_validation(*data).score(new, new_sick)
        for way, data in ways.items()
    }


# %%
# The whole experiment a few times over.

repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 3
with warnings.catch_warnings():
    # A fold may hold so much noise that nothing can be learnt at that C.
    warnings.simplefilter("ignore", NullModelWarning)
    runs = [experiment(seed) for seed in range(repetitions)]
*others, best = runs[0]
for way in runs[0]:
    scores = np.array([run[way] for run in runs])
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    beaten = sum(run[best] > run[way] for run in runs)
    print(
        f"{way:33s} {scores.mean():.4f} ± {error:.4f}"
        + f", beaten by a radius for each {beaten} times" * (way != best)
    )

# %%
# A picture of it: two of the markers, some of the people. The boundary keeps its
# distance from those whose readings are uncertain, which one radius for all cannot
# express.

rng = np.random.default_rng(3)
markers, sick, precision = people(rng, 40)
markers, units = markers[:, :2], UNITS[:2]
spread = precision[:, None, None] * units
readings = markers[:, None] + spread * rng.normal(size=(40, READINGS, 2))
means, labels = readings.mean(axis=1), np.where(sick, "sick", "healthy")
radius = radii_of(readings, units)
fig, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
for ax, used in zip(axes, (np.zeros(40), radius), strict=True):
    model = make_robust_pipeline(StandardScaler(), RobustLinearSVC(noise=units))
    model.fit(means, labels, robustlinearsvc__radius=used)
    MarginDisplay.from_estimator(model, means, labels, radius=radius, ax=ax)
    ax.set_aspect("auto")
    ax.set(xlabel="marker 1", ylabel="marker 2")
    ax.set_title("trained with a radius for each" if used.any() else "without radii")

# %%
# :doc:`/choosing-a-radius` has the numbers of twenty repetitions, and says when radii
# do not help.
