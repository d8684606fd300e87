"""Two instruments of different precision: radii that differ from sample to sample.

A test for a disease is learnt from patients of a hospital, whose laboratory reads six
markers precisely, and from visitors of a mobile unit, whose hand-held instrument reads
the same markers about fifteen times less precisely. Most of the sick are seen at the
hospital, most of the healthy at the unit. For the training set every person was
measured five times and the readings were averaged; in use there is one reading.

So the training rows are cleaner than what the model will meet, and by how much depends
on the instrument. The five readings tell: `radius_from_replicates` turns the spread of
each person's readings into a radius, in units of what one reading of the laboratory is
off by, and `make_robust_pipeline` carries those units through the scaler.

    python examples/plot_two_instruments.py [picture.png]

prints the accuracy on single readings of new people, over repetitions of the whole
experiment, and draws two of the markers with and without radii.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from wideberth import (
    NullModelWarning,
    RobustLinearSVC,
    make_robust_pipeline,
    radius_from_replicates,
)

#: Each marker has units of its own; the laboratory is off by a tenth of them.
UNITS = np.array([1.0, 50.0, 0.2, 10.0, 3.0, 800.0])
EFFECT = np.array([1.5, 1.2, 0.9, 0.6, 0.3, 0.0])  # of the disease, in those units
LABORATORY, HAND_HELD = 0.1, 1.5
READINGS, TRAINING, TEST, REPETITIONS = 5, 80, 20_000, 20
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


def chosen_by_cross_validation(X, y, radius):
    """The usual pipeline with C from five folds; radii travel with the samples."""
    model = make_robust_pipeline(StandardScaler(), RobustLinearSVC(noise=UNITS))
    return GridSearchCV(model, GRID).fit(X, y, robustlinearsvc__radius=radius)


def experiment(seed):
    """Accuracy of each way to train, on single readings of new people."""
    rng = np.random.default_rng(seed)
    markers, sick, precision = people(rng, TRAINING)
    readings = np.stack(
        [read(rng, markers, precision) for _ in range(READINGS)], axis=1
    )
    means = readings.mean(axis=1)
    radius = radius_from_replicates(
        readings,
        noise=UNITS,
        confidence=0.9,
        covers="margin",
        between="mean and reading",
    )
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


def draw(path):
    """Two markers of some people, with and without radii."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from wideberth.plotting import MarginDisplay

    rng = np.random.default_rng(3)
    markers, sick, precision = people(rng, 40)
    markers = markers[:, :2]
    readings = markers[:, None] + precision[:, None, None] * UNITS[:2] * rng.normal(
        size=(40, READINGS, 2)
    )
    means, labels = readings.mean(axis=1), np.where(sick, "sick", "healthy")
    radius = radius_from_replicates(
        readings,
        noise=UNITS[:2],
        confidence=0.9,
        covers="margin",
        between="mean and reading",
    )
    fig, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    for ax, used in zip(axes, (np.zeros(40), radius), strict=True):
        model = make_robust_pipeline(
            StandardScaler(), RobustLinearSVC(noise=UNITS[:2])
        ).fit(means, labels, robustlinearsvc__radius=used)
        MarginDisplay.from_estimator(model, means, labels, radius=radius, ax=ax)
        ax.set_aspect("auto")
        ax.set(xlabel="marker 1", ylabel="marker 2")
        ax.set_title(
            "trained with a radius for each" if used.any() else "without radii"
        )
    fig.savefig(path, dpi=80)


def main():
    """Repeat the experiment and print the table."""
    with warnings.catch_warnings():
        # A fold may hold so much noise that nothing can be learnt at that C.
        warnings.simplefilter("ignore", NullModelWarning)
        runs = [experiment(seed) for seed in range(REPETITIONS)]
    print(f"accuracy on {TEST} single readings, {REPETITIONS} repetitions")
    for way in runs[0]:
        scores = np.array([run[way] for run in runs])
        error = scores.std(ddof=1) / np.sqrt(len(scores))
        print(f"{way:33s} {scores.mean():.4f} ± {error:.4f}")
    names = list(runs[0])
    for other in names[:-1]:
        wins = sum(run[names[-1]] > run[other] for run in runs)
        print(f"a radius for each beats {other!r} in {wins} of {REPETITIONS}")
    if len(sys.argv) > 1:
        draw(sys.argv[1])


if __name__ == "__main__":
    main()
