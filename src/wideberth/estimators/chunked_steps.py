"""Steps of a pipeline before the model, fitted on rows that are read in chunks.

A step with `partial_fit` learns in one read of all rows, those that need no learning in
none; `Nystroem` takes landmarks among rows that are drawn, each with the same chance.
What a step makes of the rows is made anew in every read that follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import get_tags
from sklearn.utils.random import check_random_state

from wideberth.data.samples import Samples
from wideberth.data.sources import ChangedSource, Source
from wideberth.estimators.streaming import as_frame
from wideberth.problem.arrays import host


def fit_steps(
    steps: Sequence[tuple[str, Any]], source: Source
) -> tuple[list[tuple[str, Any]], Source, Any]:
    """Fit copies of steps in turn on the rows of a source.

    Returns the fitted steps, their rows, and some rows as the first step is given them.
    """
    names, first, fitted = source.names, None, list[tuple[str, Any]]()
    for name, step in steps:
        first = _some(source, names) if first is None else first
        if step is None or step == "passthrough":
            fitted.append((name, step))
            continue
        step = _fitted(name, clone(step), source, names)
        fitted.append((name, step))
        change = _Through(step, names)
        width = change.rows(_some(source, names)).shape[1]
        source, names = ChangedSource(source, change, width, source.brings_radii), None
    return fitted, source, _some(source, names) if first is None else first


def _fitted(name: str, step, source: Source, names):
    """A step that has learned from all rows, or from some that are drawn."""
    if type(step) is Nystroem:
        seed = check_random_state(step.random_state).randint(2**31)
        _, drawn = source.draw(step.n_components, seed)
        return step.fit(_rows(drawn, names))
    if not get_tags(step).requires_fit:
        return step.fit(_some(source, names))
    if not hasattr(step, "partial_fit"):
        raise ValueError(
            f"X is read in chunks, and the step {name!r} ({type(step).__name__}) has "
            "no partial_fit, so it can be fitted on data in memory only. Load the data "
            "into memory, or leave this step out."
        )
    for chunk in source.map(_itself):
        step.partial_fit(_rows(chunk, names))
    return step


@dataclass(frozen=True)
class _Through:
    """Makes of a chunk what a fitted step makes of its rows."""

    step: Any
    names: list[str] | None

    def __call__(self, chunk: Samples) -> Samples:
        """The chunk with the rows behind the step."""
        return replace(chunk, X=self.rows(_rows(chunk, self.names)))

    def rows(self, X):
        """What the step makes of rows."""
        made = self.step.transform(X)
        return made.tocsr() if sp.issparse(made) else np.asarray(made)


def _itself(chunk: Samples) -> Samples:
    return chunk


def _rows(chunk: Samples, names):
    """The rows of a chunk as a step takes them."""
    X = chunk.X if sp.issparse(chunk.X) else host(chunk.X)
    return X if names is None or sp.issparse(X) else as_frame(X, names)


def _some(source: Source, names):
    """The rows of the first chunk."""
    (chunk,) = islice(source.chunks(), 1)
    return _rows(chunk, names)
