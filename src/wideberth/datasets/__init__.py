"""The paper's two data sets, bundled, and its preprocessing."""

from __future__ import annotations

import gzip
from importlib.resources import files

import numpy as np

__all__ = ["load_breast_cancer", "load_spambase", "paper_preprocess"]


def load_breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    """Breast Cancer Wisconsin (569×30) with the paper's labels: benign is +1."""
    from sklearn.datasets import load_breast_cancer as load

    X, y = load(return_X_y=True)
    return X, np.where(y == 1, 1, -1)


def load_spambase() -> tuple[np.ndarray, np.ndarray]:
    """Spambase (4601×57), spam is +1 (1813 of 4601 messages).

    Created by Mark Hopkins, Erik Reeber, George Forman and Jaap Suermondt
    (Hewlett-Packard Labs, 1999); UCI Machine Learning Repository, CC BY 4.0.
    """
    source = files(__package__) / "spambase.csv.gz"
    with source.open("rb") as stream, gzip.open(stream, "rt") as text:
        table = np.loadtxt(text, delimiter=",", skiprows=1)
    return table[:, :-1], np.where(table[:, -1] == 1, 1, -1)


def paper_preprocess(
    name: str, X: np.ndarray, fitted_on: np.ndarray | None = None
) -> np.ndarray:
    """Scale X as the paper did for the data set `name`.

    "breast_cancer": every column to mean 0 and standard deviation 1. "spambase": the
    same, then every row to norm 1. Mean and deviation are those of the rows
    `fitted_on`, such as a training fold; of X itself by default.
    """
    if name not in ("breast_cancer", "spambase"):
        raise ValueError(
            f"name={name!r} is not one of the paper's data sets; choose "
            "'breast_cancer' or 'spambase'."
        )
    X = np.asarray(X, dtype=np.float64)
    fitted_on = X if fitted_on is None else np.asarray(fitted_on, dtype=np.float64)
    deviation = fitted_on.std(axis=0)
    X = (X - fitted_on.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    if name == "spambase":
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return X
