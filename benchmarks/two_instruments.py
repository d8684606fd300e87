"""A radius for each sample, where two instruments differ: `docs/choosing-a-radius.md`.

`python -m benchmarks.two_instruments 20` repeats the whole experiment twenty times. A
hospital reads six markers precisely, a mobile unit fifteen times less precisely. Most
of the sick are seen at the hospital, most of the healthy at the unit. Training rows are
means of five readings; in use there is one reading.
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
    radius_from_std,
)

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


def chosen_by_cross_validation(X, y, radius):
    """The usual pipeline with C from five folds; radii travel with the samples."""
    model = make_robust_pipeline(StandardScaler(), RobustLinearSVC(noise=UNITS))
    return GridSearchCV(model, GRID).fit(X, y, robustlinearsvc__radius=radius)


def radii_of(readings, units):
    """What a further reading may be away from the mean, in those units."""
    variance = np.mean(readings.var(axis=1, ddof=1) / units**2, axis=1)
    away = np.sqrt(variance * (1 + 1 / readings.shape[1]))
    return radius_from_std(away, len(units), noise=units, confidence=0.9)


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


def main():
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with warnings.catch_warnings():
        # A fold may hold so much noise that nothing can be learnt at that C.
        warnings.simplefilter("ignore", NullModelWarning)
        runs = [experiment(seed) for seed in range(repetitions)]
    best = list(runs[0])[-1]
    for way in runs[0]:
        scores = np.array([run[way] for run in runs])
        error = scores.std(ddof=1) / np.sqrt(len(scores))
        beaten = sum(run[best] > run[way] for run in runs)
        print(
            f"{way:33s} {scores.mean():.4f} ± {error:.4f}"
            + f", beaten by a radius for each {beaten} times" * (way != best)
        )


if __name__ == "__main__":
    main()
