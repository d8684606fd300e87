"""Cross-validation: the loop over folds, and what a search does in one of them.

`run_folds` is the loop of the package: searches, evaluations and calibrations give it a
function of a fold. `score_grid` is that of searches: paths over the grid on
the part to train on, then scores of all their models on the part left out. Its arrays
have the axes ramp, norm penalty, radius and C, in this order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, TypeVar

import numpy as np
from sklearn.metrics import mean_pinball_loss
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from wideberth._path import follow, read_levels
from wideberth.certify import decision_values, robust_correct
from wideberth.estimators.scoring import BALANCED, RobustScorer
from wideberth.estimators.training import (
    TrainingRows,
    TrainingTargets,
    remembered_radius,
    statement_of,
    times,
)
from wideberth.problem.labels import class_numbers
from wideberth.problem.limits import CACHED_ENTRIES

Result = TypeVar("Result")


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows left out; the first fold has the number 0."""

    number: int
    train: np.ndarray
    test: np.ndarray


def check_folds(splits: list, y, weight: np.ndarray, every: bool = False) -> None:
    """Refuse folds that train on a single class, or with `every` not on each class.

    Rows of weight 0 do not count.
    """
    labels, numbers = np.unique(y, return_inverse=True)
    numbers = np.where(weight > 0, numbers, -1)
    wanted = np.unique(numbers[numbers >= 0])
    if len(wanted) < 2:
        return  # the fault is that of y, not of cv
    for k, (train, _) in enumerate(splits):
        trained = np.intersect1d(wanted, numbers[train])
        if len(trained) >= (len(wanted) if every else 2):
            continue
        lacks = labels[np.setdiff1d(wanted, trained)].tolist()[0]
        need = "every class" if every else "at least two classes"
        raise ValueError(
            f"Fold {k + 1} of {len(splits)} in cv has no row of class {lacks!r} to "
            f"train on, and a classifier needs {need}. Give cv=5, whose folds have "
            "rows of every class, or other splits."
        )


def run_folds(
    work: Callable[[Split], Result],
    splits: Iterable[tuple[np.ndarray, np.ndarray]],
    *,
    n_jobs: int | None = None,
    keep: int | None = None,
) -> list[Result]:
    """Call `work` with every fold, and return its results in the order of the folds.

    Parameters
    ----------
    work : callable
        A function of a `Split`. With several jobs it runs in processes.
    splits : iterable of pairs (train, test)
        What the `split` of a splitter of scikit-learn yields.
    n_jobs : int, optional
        Folds worked on at a time.
    keep : int, optional
        After an interrupt (Ctrl-C) the results of the folds that are done are returned,
        if there are at least so many. Otherwise, and by default, the interrupt goes on.
    """
    folds = [Split(k, np.asarray(a), np.asarray(b)) for k, (a, b) in enumerate(splits)]
    done: list[Result] = []
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
        for result in parallel(delayed(work)(fold) for fold in folds):
            done.append(result)
    except KeyboardInterrupt:
        if keep is None or len(done) < keep:
            raise
    return done


class GridScores(NamedTuple):
    """Scores of the models of a grid in one fold, the time they took, their proofs."""

    scores: np.ndarray
    fit_time: np.ndarray
    score_time: np.ndarray
    converged: np.ndarray
    gaps: np.ndarray


def score_grid(
    search,
    data: TrainingRows | TrainingTargets,
    params: dict,
    seed: int,
    split: Split,
) -> GridScores:
    """Train along the grid of a search, and score every model on the rows left out.

    `params` is what the scorer is given besides, for all rows.
    """
    started = time.perf_counter()
    part, rest = data.take(split.train), data.take(split.test)
    paths = [_follow(search, part, k, seed) for k in part.positives]
    routed = {
        name: _safe_indexing(value, split.test) if np.ndim(value) else value
        for name, value in params.items()
        if name != "X_err"
    }
    if params.get("X_err") is not None:
        routed["X_err"] = rest.bars
    trained = time.perf_counter()
    scores = np.empty([len(axis) for axis in _grid(search).values()])
    scored = search._scores(paths, part, rest, routed)
    for at, score in scored:
        scores[at] = score
    now = time.perf_counter()
    if search._options.verbose:
        print(
            f"[{type(search).__name__}] fold {split.number + 1} of {search.n_splits_}: "
            f"{scores.size} models, best score {np.nanmax(scores):.4f}, "
            f"{now - started:.1f} s",
            flush=True,
        )
    return GridScores(
        scores,
        np.sum([path.seconds for path in paths], axis=0),
        np.full(scores.shape, (now - trained) / scores.size),
        np.all([path.converged for path in paths], axis=0),
        np.max([path.relative_gaps for path in paths], axis=0),
    )


def _grid(search) -> dict[str, np.ndarray]:
    return {
        "ramps": search.ramps_,
        "norm_penalties": search.norm_penalties_,
        "radii": search.radii_,
        "Cs": search.Cs_,
    }


class Models(NamedTuple):
    """Along the grid for one class against the rest, as of `Path`."""

    coefs: np.ndarray
    intercepts: np.ndarray
    seconds: np.ndarray
    converged: np.ndarray
    relative_gaps: np.ndarray


def _follow(
    search, part: TrainingRows | TrainingTargets, positive: int, seed: int
) -> Models:
    """Paths over the grid, each along C and the longest axis that it can vary.

    That is the ramps or the norm penalties, where there are several, or else the radii.
    """
    grid = _grid(search)
    Cs = grid.pop("Cs")
    several = [name for name in ("ramps", "norm_penalties") if len(grid[name]) > 1]
    along = [*several, "radii"][0]
    shape = tuple(len(axis) for axis in grid.values())
    options = search._options.solving(search.tol, random_state=seed)
    models: dict[str, np.ndarray] = {}
    others = {name: range(len(grid[name])) for name in grid if name != along}
    for at in product(*others.values()):
        where = dict(zip(others, at, strict=True))
        levels = {name: grid[name][[k]] for name, k in where.items()}
        levels[along], data = grid[along], part
        levels["norm_penalties"] = part.unit * levels["norm_penalties"]
        if along != "radii":
            data, levels["radii"] = part.at(levels["radii"][0]), np.ones(1)
        stated, y = data.stated(statement_of(search)), data.signs(positive)
        axes = read_levels(stated, **levels)
        found = follow(data.X, y, stated, part.unit * Cs, axes, options, proofs=False)
        place = tuple(where.get(name, slice(None)) for name in grid)
        for name in Models._fields:
            values = getattr(found, name)
            if name not in models:
                models[name] = np.empty((*shape, *values.shape[1:]), values.dtype)
            models[name][place] = values
    return Models(**models)


def regressor_scores(
    search, paths: list[Models], part: TrainingTargets, rest: TrainingTargets, params
) -> Iterator:
    """The score of every model of a number on the samples left out."""
    model = _fitted(search)
    *levels, Cs = _grid(search).values()
    for at in np.ndindex(*(len(axis) for axis in levels)):
        _, model.norm_penalty, model.radius = (
            axis[k] for axis, k in zip(levels, at, strict=True)
        )
        model.radius_ = remembered_radius(times(rest.radius, model.radius))
        for j, values in enumerate(_decisions(paths, at, rest.X)):
            if search.scoring is None and not params:
                yield (
                    (*at, j),
                    -mean_pinball_loss(rest.y, values, alpha=search.quantile),
                )
                continue
            model.C, model.coef_ = Cs[j], paths[0].coefs[at][j]
            model.intercept_ = float(paths[0].intercepts[at][j])
            yield (*at, j), search.scorer_(model, rest.X, rest.y, **params)


def _fitted(search):
    """A model of the search as if it were fitted, but for its weights."""
    model = search._model()
    model.noise_, model.error_shape_ = search.noise_, search.error_shape_
    model.n_features_in_ = search.n_features_in_
    return model


def classifier_scores(
    search, paths: list[Models], part: TrainingRows, rest: TrainingRows, params
) -> Iterator:
    """The score of every classifier on the samples left out."""
    robust, classes = by_accuracy(search, params), part.classes
    labels = class_numbers(rest.y, classes, rest.n)
    group = np.zeros(rest.n, dtype=int)  # classes that count the same
    if robust is not None and robust.balanced:
        group = np.unique(rest.y, return_inverse=True)[1]
    noise = search.noise_ if rest.bars is None else rest.bars
    model = _fitted(search)
    model.classes_ = classes
    *levels, Cs = _grid(search).values()
    for at in np.ndindex(*(len(axis) for axis in levels)):
        model.ramp, model.norm_penalty, model.radius = (
            axis[k] for axis, k in zip(levels, at, strict=True)
        )
        model.radius_ = remembered_radius(times(rest.radius, model.radius))
        for j, values in enumerate(_decisions(paths, at, rest.X)):
            coef = np.vstack([path.coefs[at][j] for path in paths])
            model.C, model.coef_ = Cs[j], coef
            model.intercept_ = np.array([path.intercepts[at][j] for path in paths])
            if robust is None:
                yield (*at, j), search.scorer_(model, rest.X, rest.y, **params)
                continue
            factor = model.radius if robust.radius is None else robust.radius
            radii = factor if rest.radii is None else factor * rest.radii
            right = robust_correct(values, np.maximum(labels, 0), coef, radii, noise)
            shares = np.bincount(group, right & (labels >= 0)) / np.bincount(group)
            yield (*at, j), float(shares.mean())


def by_accuracy(search, params: dict) -> RobustScorer | None:
    """The scorer, if it goes by accuracy: decision values say it for many models."""
    if isinstance(search.scorer_, RobustScorer) and params.keys() <= {"X_err"}:
        return search.scorer_
    if search.scoring in (None, "accuracy", BALANCED) and not params:
        return RobustScorer(0.0, balanced=search.scoring == BALANCED)
    return None


def _decisions(paths: list[Models], at: tuple, X) -> Iterator[np.ndarray]:
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
