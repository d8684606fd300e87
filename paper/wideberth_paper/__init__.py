"""The paper this library starts from: its algorithm, data grid and experiments.

"Gap Safe Screening Rules for Fast Training of Robust Support Vector Machines under
Feature Noise" (Nguyen, Tran, Nguyen).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wideberth.datasets import load_breast_cancer, load_spambase, paper_preprocess

__all__ = ["CS", "DATASETS", "RADII", "configurations", "load"]

DATASETS = {"breast_cancer": load_breast_cancer, "spambase": load_spambase}
CS = (0.01, 0.1, 1.0, 10.0)
RADII = (0.0, 0.01, 0.02, 0.05)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """One of the paper's data sets, preprocessed as there."""
    X, y = DATASETS[name]()
    return paper_preprocess(name, X), y


def configurations() -> Iterator[tuple[str, float, float]]:
    """The paper's 32 configurations as (data set, C, radius)."""
    for name in DATASETS:
        for radius in RADII:
            for C in CS:
                yield name, C, radius
