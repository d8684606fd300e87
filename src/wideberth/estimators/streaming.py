"""Answers of a fitted model about rows that are read in chunks: one read for all.

Methods that answer row by row take files, open data and chunks too once they are
`per_row`: their answers come as one array, or as a Dask array for a Dask collection.
`StreamedMixin.stream` hands them over chunk by chunk, where they are many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial, wraps
from inspect import signature
from typing import Any

import numpy as np
import scipy.sparse as sp

from wideberth.data.errors import DataError, agree, listed
from wideberth.data.opening import in_chunks, names_values, open_rows
from wideberth.data.samples import Samples
from wideberth.data.sources import Source
from wideberth.problem.arrays import host, is_dask
from wideberth.problem.labels import class_labels
from wideberth.problem.validation import check_per_sample


def per_row(method: Callable) -> Callable:
    """Let a method of (X, X_err) with one answer per row take data in chunks too."""
    arguments = signature(method)

    @wraps(method)
    def answer(self, X, *args, **kwargs):
        if not in_chunks(X):
            return method(self, X, *args, **kwargs)
        name = method.__name__
        params = arguments.bind(self, X, *args, **kwargs).arguments
        params |= params.pop("params", {})  # of methods that take any
        X_err = params.pop("X_err", None)
        del params["self"], params["X"]
        refused = params.keys() - _SETTINGS.get(name, set())
        if refused:
            raise ValueError(
                f"{listed(sorted(refused))} {agree(len(refused), 'needs', 'need')} "
                f"rows in memory; X is a {type(X).__name__}, read in chunks."
            )
        source: Any = _opened(self, X, X_err=X_err)
        kind = _KINDS[name](self)
        question = _question(self, source, partial(_answers, {name: kind}, **params))
        if is_dask(X):
            return source.answered(question, name, *kind)
        return np.concatenate([part[name] for part in source.map(question)])

    answer.answers_rows = True  # type: ignore[attr-defined]
    return answer


class StreamedMixin:
    """Models that answer about files, chunks and Dask collections."""

    #: Whether cells may be missing in rows that the model is asked about.
    _takes_gaps = False

    def stream(
        self, X, *methods: str, X_err=None, memory=None
    ) -> Iterator[dict[str, np.ndarray]]:
        """Yield results chunk by chunk, for rows that need not fit in memory.

        Parameters
        ----------
        X : path, Dask collection, iterable of chunks, or what `open_data` returns
            As for `wideberth.open_data`; labels are not needed. Columns of a table are
            found by the names of the features.
        *methods : str
            Methods to call, such as "predict", "decision_function" and
            "certified_radius"; by default only "predict".
        X_err : optional
            Error bars, as `wideberth.open_data` takes them.
        memory : int or str, optional
            Memory that the process may hold, such as "500MB".

        Yields
        ------
        dict of str to array
            For each chunk, in order, the results of the methods.
        """
        asked = methods or ("predict",)
        for name in asked:
            if not getattr(getattr(type(self), name, None), "answers_rows", False):
                known = [n for n in dir(type(self)) if n in _KINDS]
                raise ValueError(
                    f"{name!r} is not a method with one answer per row; choose "
                    f"{listed(known)}."
                )
        source = _opened(self, X, X_err=X_err, memory=memory)
        kinds = {name: _KINDS[name](self) for name in asked}
        return source.map(_question(self, source, partial(_answers, kinds)))

    def _share_right(self, method: str, X, y, sample_weight, X_err, **options) -> float:
        """The share of labelled rows in chunks that a method says are right."""
        radius: Any = options.get("radius")
        own = is_dask(radius) or names_values(X, radius) or np.ndim(radius) > 0
        beside = {"y": y, "weight": sample_weight, "radius": radius if own else None}
        source = _opened(self, X, beside, X_err)
        source.require_labels()
        options = dict.fromkeys(options) if own else options
        share = partial(_weigh_right, method, options)
        counts = list(source.map(_question(self, source, share)))
        total = math.fsum(weight for _, weight in counts)
        if not total > 0:
            raise ValueError(
                "sample_weight is 0 for every sample, or there is none; give some > 0."
            )
        return math.fsum(right for right, _ in counts) / total

    def _right(self, X, y, X_err) -> np.ndarray:
        """Which samples are predicted as their label says."""
        predicted = host(self.predict(X, X_err))  # type: ignore[attr-defined]
        return predicted == class_labels(y, self.classes_, len(predicted))  # type: ignore[attr-defined]


def _opened(model, X, beside: dict | None = None, X_err=None, memory=None) -> Source:
    """Rows that a fitted model is asked about, with the features that it knows."""
    names = getattr(model, "feature_names_in_", None)
    return open_rows(
        X,
        beside or {},
        X_err,
        memory=memory,
        columns=None if names is None else [str(name) for name in names],
        d=model.n_features_in_,
        gaps=model._takes_gaps,
    )


#: Parameters of methods that are one number for all rows.
_SETTINGS = {"predict_interval": {"coverage"}}
#: Type and shape of one answer of a model, by method.
_KINDS: dict[str, Callable[[Any], tuple]] = {
    "predict": lambda model: (
        model.classes_.dtype if hasattr(model, "classes_") else np.dtype(float),
        (),
    ),
    "certified_radius": lambda model: (np.dtype(float), ()),
    "chance_of_change": lambda model: (np.dtype(float), ()),
    "decision_function": lambda model: (
        np.dtype(float),
        () if len(model.classes_) == 2 else (len(model.classes_),),
    ),
    "predict_interval": lambda model: (np.dtype(float), (2,)),
    "predict_proba": lambda model: (np.dtype(float), (len(model.classes_),)),
}


def _answers(
    kinds: dict[str, tuple], model, X, chunk: Samples, **settings
) -> dict[str, np.ndarray]:
    """What methods of a model say of the rows of a chunk."""
    if not chunk.n:
        return {name: np.empty((0, *width), t) for name, (t, width) in kinds.items()}
    return {
        name: host(getattr(model, name)(X, chunk.X_err, **settings)) for name in kinds
    }


def _weigh_right(
    method: str, options: dict, model, X, chunk: Samples
) -> tuple[float, float]:
    """The weight of the rows of a chunk that a method says are right, and of all."""
    if not chunk.n:
        return 0.0, 0.0
    if "radius" in options and options["radius"] is None:
        radius = None if chunk.radius is None else host(chunk.radius)
        options = options | {"radius": radius}
    right = getattr(model, method)(X, host(chunk.y), X_err=chunk.X_err, **options)
    if chunk.weight is None:
        return float(right.sum()), float(chunk.n)
    weight = check_per_sample(host(chunk.weight), chunk.n, "sample_weight")
    return math.fsum(weight[right]), math.fsum(weight)


@dataclass(frozen=True)
class Question:
    """A question to chunks: what a function of a model and their rows answers.

    `names` are those of the columns, for models that know theirs by name; `order` has
    the places of the features among the columns, if they are in another order.
    """

    model: Any
    answer: Callable[[Any, Any, Samples], Any]
    names: list[str] | None
    order: np.ndarray | None

    def __call__(self, chunk: Samples) -> Any:
        """Ask about the rows of a chunk."""
        X = chunk.X
        try:
            if self.order is not None:
                X = X[:, self.order]
            if self.names is not None and not sp.issparse(X):
                X = as_frame(X, self.names)
            return self.answer(self.model, X, chunk)
        except DataError:
            raise
        except ValueError as error:
            raise chunk.error(str(error)) from None


def _question(model, source: Source, answer: Callable) -> Question:
    """Ask a fitted model about the rows of a source."""
    names = getattr(model, "feature_names_in_", None)
    order = None if names is None else _order(source, list(names))
    if "feature_names_in_" in vars(model):  # of a pipeline they are its first step's
        model, names = copy(model), None
        del model.feature_names_in_
    return Question(model, answer, None if names is None else list(names), order)


def _order(source: Source, names: list) -> np.ndarray | None:
    """Where the features of a model are among those of a source."""
    if source.names is None or source.names == names:
        return None
    places = {name: k for k, name in enumerate(source.names)}
    absent = [name for name in names if name not in places]
    if absent or source.brings_errors or len(names) != len(places):
        raise DataError(
            f"The data has the features {listed(source.names, 12)}, and the model was "
            f"trained on {listed(names, 12)}; open it with columns={names!r}."
        )
    return np.array([places[name] for name in names])


def as_frame(X: np.ndarray, names):
    """Rows with the names of their columns, for steps that know columns by name."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "The steps of this pipeline know columns by name, and rows that are read "
            "in chunks come to them as frames, which needs pandas: pip install pandas."
        ) from None
    return pd.DataFrame(X, columns=names)
