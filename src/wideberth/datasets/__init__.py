"""The paper's two data sets and its preprocessing; galaxies, measured with errors."""

from __future__ import annotations

import gzip
from importlib.resources import files

import numpy as np

__all__ = [
    "load_breast_cancer",
    "load_galaxies",
    "load_spambase",
    "paper_preprocess",
]


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
    _, table = _bundled("spambase.csv.gz")
    return table[:, :-1], np.where(table[:, -1] == 1, 1, -1)


def load_galaxies():
    """Simulated galaxies of the Rubin telescope (10 225×6), with standard errors.

    Each galaxy has six magnitudes, u, g, r, i, z and y, with a standard error for every
    cell, and NaN if it is too faint to be seen. The task is to find far galaxies: the
    class is +1 if the redshift is above the median. Rows are not in random order;
    shuffle them.

    Simulated photometry of the LSST DC2 sample as shipped in the package pz-rail-base
    2.0.11 (MIT licence), rounded to a thousandth of a magnitude, and errors to a tenth
    of that.

    Returns
    -------
    sklearn.utils.Bunch
        `data` and `errors` of shape (10225, 6), `target` of −1 and +1, `redshift`, and
        `feature_names`.

    Examples
    --------
    >>> from wideberth.datasets import load_galaxies
    >>> sky = load_galaxies()
    >>> sky.data.shape, sky.errors.shape, sky.feature_names[0]
    ((10225, 6), (10225, 6), 'mag_u')
    """
    from sklearn.utils import Bunch

    names, table = _bundled("galaxies.csv.gz")
    redshift = table[:, 12]
    return Bunch(
        data=table[:, :6],
        errors=table[:, 6:12],
        target=np.where(redshift > np.median(redshift), 1, -1),
        redshift=redshift,
        feature_names=names[:6],
    )


def _bundled(name: str) -> tuple[list[str], np.ndarray]:
    """Names of the columns and numbers of a table, NaN where there is none."""
    source = files(__package__) / name
    with source.open("rb") as stream, gzip.open(stream, "rt") as text:
        names = text.readline().strip().split(",")
        table = np.genfromtxt(text, delimiter=",")
    return names, table


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
