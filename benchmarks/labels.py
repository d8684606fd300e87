"""Wrong labels and the ramp loss: `python -m benchmarks.labels`.

First the time of a fit with the ramp over that of one with the hinge, and with
screening over without. Then what it is for: a fifth of the training labels are flipped,
those far from the boundary more often, and models are judged on labels that are right.
One thread and its processor time, calls in turns, medians of repeats; accuracies are
means over splits.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.bench.clock import in_turns, timed
from benchmarks.bench.machine import describe
from benchmarks.bench.report import Report
from benchmarks.datasets import Missing, a9a, covtype, spambase
from wideberth import solve
from wideberth.datasets import load_breast_cancer, load_spambase

SPLITS, CS = 6, (0.001, 0.01, 0.1, 1.0)
#: What is given to `solve` beside C, by what it is called in the tables.
LOSSES = {
    "hinge": {},
    "ramp −1": {"ramp": -1.0},
    "ramp −1, 3 starts": {"ramp": -1.0, "starts": 3},
    "ramp −2": {"ramp": -2.0},
    "ramp 0": {"ramp": 0.0},
}


def flipped(y, share: float, chance, rng) -> np.ndarray:
    """The numbers of a share of the labels, drawn without replacement."""
    n = len(y)
    return rng.choice(n, round(share * n), replace=False, p=chance / chance.sum())


def speed(report: Report, repeats: int) -> None:
    """Seconds of the ramp over those of the hinge, and with screening over without."""
    report.say("## Processor time to 1e-4, one start\n")
    report.say(
        "| data | flipped | C | hinge, ms | passes | ramp ÷ hinge | passes | rounds | "
        "left out | screening on ÷ off | passes without |"
    )
    report.say("|---|---|---|---|---|---|---|---|---|---|---|")
    ratios, clock = [], time.process_time
    for data in (spambase, a9a, covtype):
        name = data.__name__.rpartition(".")[2]
        try:
            X, y = data.load()
        except Missing as reason:
            report.say(f"\n{name} is left out: {reason}.\n")
            continue
        for share in (0.0, 0.2):
            rng, labels = np.random.default_rng(0), y.copy()
            labels[flipped(y, share, np.ones(len(y)), rng)] *= -1
            for C in (0.01, 0.1, 1.0):
                options = {"C": C, "tol": 1e-4, "random_state": 0, "quiet": True}
                calls = [
                    partial(solve, X, labels, **options, **given)
                    for given in ({}, {"ramp": -1.0}, {"ramp": -1.0, "screening": None})
                ]
                hinge, ramp, off = (call() for call in calls)  # they may compile
                once = timed(calls[0], clock)[0]
                seconds = in_turns(calls, max(repeats, round(1 / once)), clock)
                ratios.append((seconds[1] / seconds[0], seconds[1] / seconds[2]))
                report.say(
                    f"| {name} | {share:.0%} | {C:g} | {1e3 * seconds[0]:.1f} | "
                    f"{hinge.passes:.0f} | {ratios[-1][0]:.2f} | {ramp.passes:.0f} | "
                    f"{len(ramp.descent.objectives) - 1} | "
                    f"{ramp.descent.left_out.mean():.1%} | "
                    f"{ratios[-1][1]:.2f} | {off.passes:.0f} |"
                )
    to_hinge, to_off = np.transpose(ratios)
    report.say()
    for said, each in (("Ramp ÷ hinge", to_hinge), ("Screening on ÷ off", to_off)):
        report.say(f"{said}: median {np.median(each):.2f}, most {each.max():.2f}.")
        report.say()


def clipped(load: Callable) -> tuple[np.ndarray, np.ndarray]:
    """Data with standardised features, none farther out than five deviations."""
    X, y = load()
    return np.clip((X - X.mean(axis=0)) / X.std(axis=0), -5, 5), y


def trial(X, y, share: float, split: int) -> dict[tuple[str, float], tuple]:
    """Accuracy, and the share of flipped labels found, by loss and C; one split."""
    rng = np.random.default_rng(split)
    order, n = rng.permutation(len(y)), int(0.6 * len(y))
    train, test = order[:n], order[n:]
    options = {"tol": 1e-4, "random_state": 0, "quiet": True}
    everything = solve(X, y, C=0.1, **options)
    distances = np.abs(X @ everything.w + everything.b)
    wrong = flipped(y[train], share, distances[train], rng)
    rows, labels = X[train], y[train].copy()
    labels[wrong] *= -1
    found = {}
    for C in CS:
        for loss, given in LOSSES.items():
            model = solve(rows, labels, C=C, **options, **given)
            right = np.mean((X[test] @ model.w + model.b > 0) == (y[test] > 0))
            margins = labels * (rows @ model.w + model.b)
            first = np.argsort(margins, kind="stable")[: len(wrong)]
            hits = np.isin(first, wrong).mean() if share else np.nan
            found[loss, C] = right, hits
    return found


def accuracy(report: Report) -> None:
    """What each loss makes of flipped labels, at its best C on clean test data."""
    report.say("## Accuracy on clean test data, and flipped labels found\n")
    report.say(
        "| data | flipped | loss | C 0.001 | 0.01 | 0.1 | 1 | best | "
        "more than the hinge | found |"
    )
    report.say("|---|---|---|---|---|---|---|---|---|---|")
    cases = {
        "breast cancer, clipped": partial(clipped, load_breast_cancer),
        "spambase, clipped": partial(clipped, load_spambase),
        "spambase, unit rows": spambase.load,
    }
    for name, load in cases.items():
        X, y = load()
        for share in (0.2, 0.0):
            trials = [trial(X, y, share, split) for split in range(SPLITS)]
            hinge = None
            for loss in LOSSES:
                rows = {C: np.transpose([t[loss, C] for t in trials]) for C in CS}
                means = {C: right.mean() for C, (right, _) in rows.items()}
                best = max(means, key=means.__getitem__)
                right, hits = rows[best]
                hinge = right if hinge is None else hinge
                more = 100 * (right - hinge)
                error = more.std(ddof=1) / np.sqrt(SPLITS)
                found = f"{hits.mean():.1%}" if share else "–"
                each = " | ".join(f"{mean:.3f}" for mean in means.values())
                report.say(
                    f"| {name} | {share:.0%} | {loss} | {each} | {right.mean():.3f} | "
                    f"{more.mean():+.1f} ± {error:.1f} | {found} |"
                )
    report.say()
    report.say(
        f"Means over {SPLITS} splits, 60 % for training. 'Best' is at the C that does "
        "best on the test data, which nobody knows beforehand: each loss has this "
        "favour. 'More than the hinge' is in points, with its standard error. Labels "
        "are flipped without replacement, the chance in proportion to |f| of a hinge "
        "fit to all data at C = 0.1. 'Found' is the share of flipped labels among as "
        "many samples of lowest margin, at the same C."
    )


PARTS = {"speed": speed, "accuracy": lambda report, repeats: accuracy(report)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    report = Report()
    report.say(f"# Wrong labels\n\n`make bench-labels`, one thread. {describe()}\n")
    with threadpool_limits(1):
        for name in given.parts:
            PARTS[name](report, given.repeats)
    if set(given.parts) == set(PARTS):
        report.save("labels.md")


if __name__ == "__main__":
    main()
