"""One fold of a cross-validation over C, radius, penalty and ramp: paths, then scores.

Arrays have the axes ramp, norm penalty, radius and C, in this order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from wideberth._path import follow, read_levels
from wideberth.certify import decision_values
from wideberth.estimators.judging import Judged
from wideberth.estimators.one_vs_rest import (
    OneVsRest,
    radii_of,
    remembered_radius,
    scaled_radius,
    statement_of,
)
from wideberth.estimators.scoring import BALANCED, RobustScorer
from wideberth.estimators.training_data import RowsInMemory
from wideberth.problem.labels import class_numbers
from wideberth.problem.limits import CACHED_ENTRIES
from wideberth.solvers.base import Options


def run_fold(
    search, data: RowsInMemory, number: int, train, test, params: dict, seed: int
) -> dict[str, np.ndarray]:
    """Train on `train` along the grid, score every model on `test`.

    Returns scores of every model, and what it took.
    """
    started, verbose = time.perf_counter(), search._options.verbose
    part = data.take(np.asarray(train))
    problems = OneVsRest.of(part, search.class_weight)
    paths = [_follow(search, part, problems, k, seed) for k in problems.positives]
    rest = data.take(np.asarray(test))
    routed = {name: value for name, value in params.items() if name != "X_err"}
    routed = {
        name: _safe_indexing(value, test) if np.ndim(value) else value
        for name, value in routed.items()
    }
    if params.get("X_err") is not None:
        routed["X_err"] = rest.bars
    grid = search.ramps_, search.norm_penalties_, search.radii_, search.Cs_
    shape = tuple(len(axis) for axis in grid)
    scores, seconds = np.empty(shape), np.empty(shape)
    begun = time.perf_counter()
    for at, score in _scores(search, paths, problems.classes, rest, routed):
        scores[at], now = score, time.perf_counter()
        seconds[at], begun = now - begun, now
        if verbose > 1:
            ramp, s, radius, C = (axis[i] for axis, i in zip(grid, at, strict=True))
            where = f"C={C:.4g}, radius={radius:.4g}"
            where += f", norm penalty={s:.4g}" if shape[1] > 1 else ""
            where += f", ramp={ramp:.4g}" if shape[0] > 1 else ""
            _tell(search, number, f"{where}: score {score:.4f}")
    if verbose:
        best, taken = np.nanmax(scores), time.perf_counter() - started
        report = f"{scores.size} models, best score {best:.4f}, {taken:.1f} s"
        _tell(search, number, report)
    return {
        "scores": scores,
        "fit_time": np.sum([path.seconds for path in paths], axis=0),
        "score_time": seconds,
        "converged": np.all([path.converged for path in paths], axis=0),
        "gaps": np.max([path.relative_gaps for path in paths], axis=0),
    }


class _Models(NamedTuple):
    """Along the grid for one class against the rest, as of `Path`."""

    coefs: np.ndarray
    intercepts: np.ndarray
    seconds: np.ndarray
    converged: np.ndarray
    relative_gaps: np.ndarray


def _follow(search, part: RowsInMemory, problems, positive: int, seed: int) -> _Models:
    """Paths over the grid, each along C and the longest axis that it can vary.

    That is the ramps or the norm penalties, where there are several, or else the radii.
    """
    grid = {"ramps": search.ramps_, "norm_penalties": search.norm_penalties_}
    several = [name for name, values in grid.items() if len(values) > 1]
    grid["radii"] = search.radii_
    along = [*several, "radii"][0]
    shape = tuple(len(axis) for axis in grid.values())
    given = search._options
    options = Options(
        solver=given.solver,
        screening=given.screening,
        tol=search.tol,
        max_iter=given.max_iter,
        random_state=seed,
    )
    models: dict[str, np.ndarray] = {}
    others = {name: range(len(grid[name])) for name in grid if name != along}
    for at in product(*others.values()):
        where = dict(zip(others, at, strict=True))
        levels = {name: grid[name][[k]] for name, k in where.items()}
        levels[along], data = grid[along], part
        if along != "radii":
            data, levels["radii"] = part.at(levels["radii"][0]), [1.0]
        stated = problems.stated(data, statement_of(search))
        found = follow(
            data.X,
            problems.signs(data, positive),
            stated,
            search.Cs_,
            read_levels(stated, **levels),
            options,
            proofs=False,
        )
        place = tuple(where.get(name, slice(None)) for name in grid)
        for name in _Models._fields:
            values = getattr(found, name)
            if name not in models:
                models[name] = np.empty((*shape, *values.shape[1:]), values.dtype)
            models[name][place] = values
    return _Models(**models)


def _scores(search, paths, classes, rest: RowsInMemory, params) -> Iterator:
    """The score of every model on the samples left out."""
    labels = class_numbers(rest.y, classes, len(rest.y))
    robust = _by_accuracy(search, params)
    group = np.zeros(len(rest.y), dtype=int)  # classes that count the same
    if robust is not None and robust.balanced:
        group = np.unique(rest.y, return_inverse=True)[1]
    model = search._model()
    model.classes_, model.noise_ = classes, search.noise_
    model.error_shape_ = search.error_shape_
    model.n_features_in_ = search.n_features_in_
    grid = search.ramps_, search.norm_penalties_, search.radii_
    for at in np.ndindex(*(len(axis) for axis in grid)):
        ramp, model.norm_penalty, radius = (
            axis[k] for axis, k in zip(grid, at, strict=True)
        )
        model.ramp = ramp
        model.radius = radius
        model.radius_ = remembered_radius(scaled_radius(rest.radius, radius))
        for j, values in enumerate(_decisions(paths, at, rest.X)):
            coef = np.vstack([path.coefs[at][j] for path in paths])
            model.C, model.coef_ = search.Cs_[j], coef
            model.intercept_ = np.array([path.intercepts[at][j] for path in paths])
            if robust is not None:
                factor = radius if robust.radius is None else robust.radius
                radii = radii_of(factor, rest.y)
                radii = radii if rest.radii is None else radii * rest.radii
                noise = search.noise_ if rest.bars is None else rest.bars
                judged = Judged(values, model, coef, noise)
                right = judged.correct(np.maximum(labels, 0), radii)
                right &= labels >= 0
                shares = np.bincount(group, right) / np.bincount(group)
                yield (*at, j), float(shares.mean())
            else:
                yield (*at, j), search.scorer_(model, rest.X, rest.y, **params)


def _by_accuracy(search, params: dict) -> RobustScorer | None:
    """The scorer, if it goes by accuracy: decision values say it for many models."""
    if isinstance(search.scorer_, RobustScorer) and params.keys() <= {"X_err"}:
        return search.scorer_
    if search.scoring in (None, "accuracy", BALANCED) and not params:
        return RobustScorer(0.0, balanced=search.scoring == BALANCED)
    return None


def _decisions(paths: list[_Models], at: tuple, X) -> Iterator[np.ndarray]:
    """Decision values of all Cs at a level, many models in one product."""
    coefs = np.stack([path.coefs[at] for path in paths], axis=1)
    intercepts = np.stack([path.intercepts[at] for path in paths], axis=1)
    n_Cs, n_problems, d = coefs.shape
    step = max(CACHED_ENTRIES // (X.shape[0] * n_problems), 1)
    for start in range(0, n_Cs, step):
        part = slice(start, start + step)
        flat = coefs[part].reshape(-1, d), intercepts[part].ravel()
        values = decision_values(X, *flat).reshape(X.shape[0], -1, n_problems)
        for j in range(values.shape[1]):
            yield values[:, j, 0] if n_problems == 1 else values[:, j]


def _tell(search, number: int, text: str) -> None:
    name = type(search).__name__
    print(f"[{name}] fold {number + 1} of {search.n_splits_}: {text}", flush=True)
