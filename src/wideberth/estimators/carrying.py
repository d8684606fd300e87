"""Noise, errors and metadata that a robust pipeline carries: see `pipeline.py`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import process_routing

from wideberth.estimators.affine import linear_map, steps_of
from wideberth.estimators.categories import (
    exact_columns,
    raw_noise,
    text_columns,
    with_exact,
)
from wideberth.noise import Covariances, ErrorBars, as_shape, is_covariance
from wideberth.noise.reading import read_errors
from wideberth.problem.validation import feature_names


def check_asked_for(pipeline: Pipeline, params: dict) -> None:
    """Refuse metadata that no step asks for, as scikit-learn does."""
    if get_config()["enable_metadata_routing"]:
        process_routing(pipeline, "fit", **params)
        return
    names = {name for name, _ in pipeline.steps}
    unknown = [key for key in params if key.partition("__")[0] not in names]
    if unknown:
        raise ValueError(
            f"fit got {unknown}, which name no step; give them as step__argument, "
            f"with one of the steps {sorted(names)}."
        )


def carry_noise(noise, transformer, X):
    """Noise in the units of X, expressed in those of `transformer.transform(X)`.

    Parameters
    ----------
    noise : {"l2", "linf", "l1"}, scales, covariance, Box, CrossPolytope or Correlated
        As for `RobustLinearSVC`, in the units of X; aligned with its column names.
    transformer : fitted transformer or pipeline of transformers
        Must be affine, and for boxes and cross-polytopes keep features apart; a
        ValueError says so where it does not.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        Data to test that on, such as the training data.

    Returns
    -------
    str, array of shape (n_transformed,), Box, CrossPolytope or Correlated
        For the `noise` of a classifier behind the transformer. Radii stay as they are.
    """
    exact = exact_columns(list(steps_of(transformer)), X)
    return carried(raw_noise(noise, X, exact), linear_map(transformer, X))


def carried(noise, linear: sp.csr_array):
    """The shape AU of the carried noise, as `RobustLinearSVC` takes it."""
    shape = as_shape(noise, linear.shape[1])
    carried = shape.carried(linear)
    return noise if carried is shape else carried.as_parameter()


def measured(X, X_err, error_shape) -> ErrorBars:
    """The sets that X_err gives of raw data."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    return read_errors(with_exact(X_err, X), error_shape, shape, feature_names(X))


def check_missing(X, noise) -> None:
    """Refuse missing cells where noise is correlated; see the head of this file."""
    if isinstance(noise, Covariances):
        given = "X_err holds covariances", "one standard error per cell"
    elif not isinstance(noise, ErrorBars) and is_covariance(noise):
        given = "noise is a covariance", "one noise scale per feature"
    else:
        return
    if sp.issparse(X):
        missing = np.isnan(X.data)
    else:
        moving = np.flatnonzero(~text_columns(X))
        chosen = X.iloc[:, moving] if hasattr(X, "iloc") else np.asarray(X)[:, moving]
        missing = np.isnan(np.asarray(chosen, dtype=np.float64))
    if not np.any(missing):
        return
    raise ValueError(
        f"X has missing values and {given[0]}. What is certified for complete rows "
        "need not hold where one of two correlated features is missing. Give "
        f"{given[1]}, or complete the rows before this pipeline."
    )
