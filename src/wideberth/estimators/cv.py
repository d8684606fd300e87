"""Searches: C, radius and norm penalty by cross-validation, along paths.

Every fold trains one `path` per binary problem and scores all of its models. Choices
are those of `GridSearchCV` on the same folds: all models meet the same certified
accuracy, ties go to the first candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import is_regressor
from sklearn.metrics import get_scorer, make_scorer, mean_pinball_loss
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)

from wideberth._path import read_Cs, read_penalties, read_radii, read_ramps
from wideberth.estimators.folds import (
    GridScores,
    check_folds,
    classifier_scores,
    regressor_scores,
    run_folds,
    score_grid,
)
from wideberth.estimators.linear import LinearClassifier, LinearModel
from wideberth.estimators.proving import (
    ProvenChoice,
    check_provable,
    prove_choice,
    read_proof,
)
from wideberth.estimators.regressor import LinearRegressor, RobustLinearRegressor
from wideberth.estimators.scoring import RobustScorer
from wideberth.estimators.svc import RobustLinearSVC
from wideberth.estimators.training import (
    SolverOptions,
    TrainingRows,
    TrainingTargets,
    noise_beyond_spread,
    read_measured,
    stated_noise,
    statement_of,
    times,
    unknown_classes,
)
from wideberth.problem.changes import build_problem
from wideberth.problem.statement import Statement
from wideberth.problem.validation import check_jobs, check_number
from wideberth.results import convergence_warning, not_proven


class Search(LinearModel):
    """What searches share: a grid of C, radius, norm penalty and ramp, and its folds.

    A search says what it trains (`_kind`), how it reads samples (`_samples`), what it
    is judged by (`_scorer`) and how its models are scored (`_scores`).
    """

    #: What is chosen.
    _kind: type[LinearModel]
    ramps: Sequence[float | None] | None = None

    def fit(self, X, y=None, sample_weight=None, *, radius=None, X_err=None, **params):
        """Choose C, radius and norm penalty, and train the chosen model.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            In memory; Dask collections, paths and chunks are refused.
        y : array of shape (n_samples,)
            Labels of any kind, or numbers to predict.
        sample_weight : array of shape (n_samples,), optional
            Factors on C, in every fold. Scores are weighted only if metadata routing
            requests it.
        radius : float or array of shape (n_samples,), optional
            Factors on the parameter `radii`: sample i has the radius radii[k]·radius_i,
            in training and in `robust_scorer`.
        X_err : error bars, optional
            As for `RobustLinearSVC.fit`. The parameter `radii` multiplies them, and
            every fold has those of its samples. A scorer that asks for `X_err` gets
            an object for the `X_err` of a model's methods.
        **params : dict
            `groups` for the splitter; with metadata routing enabled whatever splitter
            and scorer ask for.

        Returns
        -------
        self
        """
        return self._fit_or_stay(X, y, sample_weight, radius, X_err, params)

    def _fit(self, X, y, sample_weight, radius, X_err, params) -> list[Warning]:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # without `refit` no model of an earlier fit is left
        numbers = is_regressor(self)
        X, y, bars = read_measured(self, X, y, X_err, numbers=numbers)
        given = {"sample_weight": sample_weight, "radius": radius, "X_err": X_err}
        routed = self._route(given, params)
        options = self._options
        data, notes = self._samples(X, y, sample_weight, radius, bars)
        check_jobs(self.n_jobs)
        self.noise_ = self._noise()
        self.scorer_ = self._scorer()
        stated = Statement(radius=radius, noise=self.noise, X_err=bars)
        self.radii_ = read_radii(stated, self.radii)
        self.norm_penalties_ = read_penalties(stated, self.norm_penalties)
        self.ramps_ = read_ramps(stated, self.ramps)
        ends = None
        if self.prove is not None:
            ends = read_proof(self)
            check_provable(self, routed.scorer.score)
        self.Cs_ = self._grid(data)
        splitter = check_cv(self.cv, y, classifier=not numbers)
        splits = list(splitter.split(X, y, **routed.splitter.split))
        if not numbers:
            check_folds(splits, y, data.weight)
        self.n_splits_ = len(splits)
        (seed,) = options.seeds(1)
        if ends is None:
            work = partial(score_grid, self, data, routed.scorer.score, seed)
            folds = run_folds(work, splits, n_jobs=self.n_jobs)
            self._choose(folds)
        else:
            folds = self._choose_proven(*prove_choice(self, data, splits, ends, seed))
            if not self.choice_.proven:
                notes.append(convergence_warning(str(self.choice_)))
        left = np.array([~fold.converged for fold in folds])
        gaps, of = np.array([fold.gaps for fold in folds]), f"{left.size} models"
        advice = "raise solver_options['max_iter'], or tol where rounding forbids more"
        notes += not_proven(left, gaps, self.tol, of, advice)
        one = 1.0 if data.radius is None else np.max(data.radius)
        notes += noise_beyond_spread(self, X, one * self.radii_.max())
        if options.refit:
            notes += self._train(data)
        return list({str(note): note for note in notes}.values())

    def _grid(self, data: TrainingRows | TrainingTargets) -> np.ndarray:
        """Values of C, by default spaced over the ranges of all binary problems."""
        if np.ndim(self.Cs) > 0:
            return read_Cs(self.Cs, [])
        data = data.at(self.radii_.min())
        least = replace(statement_of(self), norm_penalty=self.norm_penalties_.min())
        # Numbers to predict in their unit, in which C and the penalty are stated.
        stated = replace(data.stated(least), C=1.0, norm_penalty=least.norm_penalty)
        units = [
            build_problem(data.X, data.signs(k) / data.unit, stated, factor=None)
            for k in data.positives
        ]
        return read_Cs(self.Cs, units)

    def _choose(self, folds: list[GridScores]) -> None:
        """Set the results and the choice."""
        found = np.stack([fold.scores for fold in folds], axis=-1)
        given = {"ramp": self.ramps, "norm_penalty": self.norm_penalties}
        one = [name for name, values in given.items() if values is None]
        axes = tuple(k for k, name in enumerate(given) if name in one)
        self.scores_ = found.squeeze(axes)
        grid = {"C": self.Cs_, "ramp": self.ramps_}
        grid |= {"norm_penalty": self.norm_penalties_, "radius": self.radii_}
        values = product(*(axis.tolist() for axis in grid.values()))
        candidates = [dict(zip(grid, point, strict=True)) for point in values]
        scores = np.moveaxis(found, 3, 0).reshape(len(candidates), -1)
        told = [name for name in grid if name not in one]
        self.cv_results_ = _results(candidates, told, scores, folds)
        means = self.cv_results_["mean_test_score"]
        ranked = np.where(np.isnan(means), -np.inf, means)
        best = int(ranked.argmax())  # the first of equals, as in GridSearchCV
        self.best_index_ = best
        for name, value in candidates[best].items():
            setattr(self, f"{name}_", value)
        self.best_params_ = self.cv_results_["params"][best]
        self.best_score_ = float(means[best])

    def _choose_proven(
        self, choice: ProvenChoice, tried: list[tuple[dict, list[GridScores]]]
    ) -> list[GridScores]:
        """Set the results and the choice, of which more is known than of a grid."""
        self.choice_ = choice
        candidates = [point for point, _ in tried]
        told = ["C", "radius"]
        told += [] if self.norm_penalties is None else ["norm_penalty"]
        rows = [np.array([fold.scores.item() for fold in folds]) for _, folds in tried]
        self.Cs_ = np.unique([point["C"] for point in candidates])
        scores = np.stack(rows)
        folds = [
            GridScores(
                *(np.stack(parts, axis=3)[..., 0] for parts in zip(*each, strict=True))
            )
            for each in zip(*(folds for _, folds in tried), strict=True)
        ]
        self.cv_results_ = _results(candidates, told, scores, folds)
        named = {
            name: getattr(choice, name) for name in ("C", "radius", "norm_penalty")
        }
        named["ramp"] = -np.inf
        self.best_index_ = candidates.index(named)
        for name, value in named.items():
            setattr(self, f"{name}_", value)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        means = self.cv_results_["mean_test_score"]
        self.best_score_ = float(means[self.best_index_])
        return folds

    def _train(self, data: TrainingRows | TrainingTargets) -> list[Warning]:
        """Fit the chosen model to all data; what it keeps is kept here too."""
        model = self._model().set_params(C=self.C_, radius=self.radius_)
        model.norm_penalty = self.norm_penalty_
        if self.ramp_ > -np.inf:
            model.ramp = self.ramp_
        radius = times(data.radius, self.radius_)
        notes = model._fit(data.X, data.y, data.weight, radius, data.bars)
        self.best_estimator_ = model
        for name, value in vars(model).items():
            if name.endswith("_") and name != "radius_":
                setattr(self, name, value)
        return notes

    def _model(self) -> LinearModel:
        """The model to choose from, against the noise of this search."""
        names = self._kind().get_params().keys() & self.get_params().keys()
        shared = {name: getattr(self, name) for name in names}
        options = dict(self.solver_options or {}, verbose=0)
        for name in ("refit", "max_points"):  # options of the search alone
            options.pop(name, None)
        own = {"noise": stated_noise(self), "solver_options": options}
        return self._kind(**shared | own)

    @property
    def _options(self) -> SolverOptions:
        unused = ["max_seconds", "callback"]
        unused += [] if self.prove is not None else ["max_points"]
        return SolverOptions.read(self.solver_options, unused)

    def _route(self, given: dict, params):
        """Metadata for splitter and scorer, as a `Bunch` of dicts."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given | params)
            return Bunch(**{"scorer": Bunch(score={}), **routed})
        unknown = sorted(params.keys() - {"groups"})
        if unknown:
            raise TypeError(
                f"fit got unexpected arguments {unknown}; beside `groups` they need "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        return Bunch(splitter=Bunch(split=params), scorer=Bunch(score={}))

    def get_metadata_routing(self):
        """Return which metadata goes to the splitter and the scorer.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
        """
        fit_score = MethodMapping().add(caller="fit", callee="score")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(
            splitter=check_cv(self.cv, classifier=not is_regressor(self)),
            method_mapping=MethodMapping().add(caller="fit", callee="split"),
        )
        router.add(scorer=self._scorer(), method_mapping=fit_score)
        return router


class RobustLinearSVCCV(LinearClassifier, Search):
    """Robust linear SVM; cross-validation chooses C, radius and norm penalty.

    In every fold it trains a model for each combination, each starting from its
    neighbours. It scores them on the rows left out, and fits the best combination to
    all data.

    Parameters
    ----------
    Cs : int or array, default=30
        Number of values of C (spaced as by `wideberth.path` on all data), or the
        values; with `prove` the range (low, high).
    radii : array, default=None
        Radii to choose from: factors on the scales of `noise`, or on `radius` or
        `X_err` if `fit` gets them. None is the default radius of `RobustLinearSVC`: 1
        with any of these, 0 for a norm without scales and after `TrueFeatures`.
    norm_penalties : array, default=None
        Values of `norm_penalty` to choose from; None is only 0.
    ramps : list of float or None, default=None
        Values of `ramp` to choose from; in the list None and −∞ are the hinge loss.
        Without a list only the hinge loss is used.
    noise, error_shape, fit_intercept, class_weight
        As in `RobustLinearSVC`.
    cv : int, splitter or iterable, default=None
        As in `GridSearchCV`; None is five stratified folds.
    scoring : str or callable, default=None
        As in `GridSearchCV`; None is accuracy. `wideberth.robust_scorer(0.1)` chooses
        the model with the highest accuracy under the worst errors of size 0.1. Its
        radius is a factor on `radius` or `X_err` if `fit` gets them.
    tol : float, default=1e-4
        As in `RobustLinearSVC`, for every model.
    n_jobs : int, default=None
        Number of folds trained in parallel, in processes; with `prove` in threads.
    prove : float, default=None
        Choose C from all values of the range `Cs`, and prove that no value has a
        cross-validated error (one minus the score) that is lower by more than this: see
        `choice_`. For accuracy, balanced accuracy and `robust_scorer`.
    solver_options : dict, default=None
        Options that are seldom needed: "solver", "screening", "max_iter",
        "intercept_penalty" and "random_state" as in `RobustLinearSVC`, for every model;
        "starts" for the chosen model, since those of the folds start from each other;
        "refit", whether to fit the chosen model to all data (True); "verbose", to print
        a line for every fold; with `prove` "max_points", the most values of C that are
        solved for each radius (1000).

    Attributes
    ----------
    C_, radius_, norm_penalty_, ramp_ : float
        The chosen values. `radius_` is a factor on `radius` or `X_err` if `fit` got
        them; `robust_score` and `worst_case` use `best_estimator_.radius_`.
    best_index_ : int
        Index of the chosen values in `cv_results_`.
    best_score_ : float
        Mean score of the chosen values.
    best_params_ : dict
        "C" and "radius", and "norm_penalty" and "ramp" if there are several values.
    best_estimator_ : RobustLinearSVC
        The chosen model, fitted to all data. Its attributes (`coef_`, `intercept_`,
        `dual_gap_`, …) are attributes of the search, too.
    cv_results_ : dict of arrays
        As in `GridSearchCV`; one candidate per C, ramp, norm penalty and radius, radii
        fastest.
    choice_ : ProvenChoice
        With `prove`: `C`, `error`, the `lower_bound` of the error over the whole range,
        whether that is `proven` to be within `prove` of `error`, the values of C that
        were solved, the bounds between them, and `plot()`. The bounds are about exact
        optima; a free intercept that is not unique is the middle of the best ones.
        Then `cv_results_` has the values that were solved.
    scores_ : array of shape (n_radii, n_Cs, n_splits)
        Without `prove`. With `norm_penalties` an axis of these comes first, and with
        `ramps` before it.
    Cs_ : array of shape (n_Cs,)
    radii_ : array of shape (n_radii,)
    norm_penalties_ : array of shape (n_norm_penalties,)
    ramps_ : array of shape (n_ramps,)
    n_splits_ : int
    scorer_ : callable
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only where X has column names.

    See Also
    --------
    wideberth.path : the models along C and radius, without cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from wideberth import RobustLinearSVCCV, robust_scorer
    >>> X, y = load_wine(return_X_y=True)
    >>> X = scale(X)
    >>> under_noise = robust_scorer(0.5)
    >>> search = RobustLinearSVCCV([1, 10], [0, 0.5], scoring=under_noise)
    >>> search.fit(X, y).radius_
    0.5

    Choose C from all values of a range, with a proof:

    >>> search = RobustLinearSVCCV((0.01, 10.0), prove=0.02).fit(X, y)
    >>> search.choice_.proven, search.choice_.lower_bound >= search.choice_.error - 0.02
    (True, True)
    """

    def __init__(
        self,
        Cs=30,
        radii=None,
        *,
        norm_penalties=None,
        ramps=None,
        noise="l2",
        error_shape="ellipsoid",
        fit_intercept=True,
        class_weight=None,
        cv=None,
        scoring=None,
        tol=1e-4,
        n_jobs=None,
        prove=None,
        solver_options=None,
    ):
        self.Cs = Cs
        self.radii = radii
        self.norm_penalties = norm_penalties
        self.ramps = ramps
        self.noise = noise
        self.error_shape = error_shape
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.n_jobs = n_jobs
        self.prove = prove
        self.solver_options = solver_options

    _kind = RobustLinearSVC

    def _samples(self, X, y, sample_weight, radius, bars):
        """The samples to train on, and warnings about what was given."""
        how = {"bars": bars, "class_weight": self.class_weight}
        data = TrainingRows.of(X, y, sample_weight, radius, **how)
        self.classes_ = data.classes
        return data, unknown_classes(self.class_weight, data.labels)

    def _scores(self, paths, part, rest, params):
        return classifier_scores(self, paths, part, rest, params)

    def _scorer(self):
        scorer = get_scorer("accuracy" if self.scoring is None else self.scoring)
        radius = scorer.radius if isinstance(scorer, RobustScorer) else None
        if radius is not None:
            check_number(radius, "the radius of robust_scorer")
        return scorer


class RobustLinearRegressorCV(LinearRegressor, Search):
    """Robust quantile regression; cross-validation chooses C, radius, norm penalty.

    In every fold it trains a model for each combination, each starting from its
    neighbours. It scores them on the rows left out by the pinball loss, and fits the
    best combination to all data.

    Parameters
    ----------
    quantile : float, default=0.5
        τ, as in `RobustLinearRegressor`.
    Cs : int or array, default=30
        Number of values of C (spaced as by `wideberth.path`), or the values; with
        `prove` the range (low, high).
    radii : array, default=None
        Radii to choose from, as in `RobustLinearSVCCV`. None is the default radius of
        `RobustLinearRegressor`.
    norm_penalties : array, default=None
        Values of `norm_penalty` to choose from; None is only 0.
    noise, error_shape, fit_intercept
        As in `RobustLinearRegressor`.
    cv : int, splitter or iterable, default=None
        As in `GridSearchCV`; None is five folds.
    scoring : str or callable, default=None
        As in `GridSearchCV`; None is the pinball loss at `quantile`, negated.
    tol : float, default=1e-4
        As in `RobustLinearRegressor`, for every model.
    n_jobs : int, default=None
        Number of folds trained in parallel, in processes; with `prove` in threads.
    prove : float, default=None
        As in `RobustLinearSVCCV`, of the pinball loss, in units of the mean distance of
        y from its median (`target_scale_`).
    solver_options : dict, default=None
        As in `RobustLinearSVCCV`.

    Attributes
    ----------
    C_, radius_, norm_penalty_ : float
        The chosen values.
    best_index_, best_score_, best_params_, best_estimator_, cv_results_, scores_
        As in `RobustLinearSVCCV`. The attributes of the chosen `RobustLinearRegressor`
        (`coef_`, `intercept_`, `target_scale_`, `dual_gap_`, …) are attributes of the
        search, too.
    Cs_, radii_, norm_penalties_ : arrays
    choice_ : ProvenChoice
        With `prove`, as in `RobustLinearSVCCV`.
    n_splits_ : int
    scorer_ : callable

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from wideberth import RobustLinearRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = RobustLinearRegressorCV(Cs=[1, 10, 100], radii=[0, 0.01])
    >>> search.fit(X, y).best_score_ > -25
    True
    """

    def __init__(
        self,
        quantile=0.5,
        Cs=30,
        radii=None,
        *,
        norm_penalties=None,
        noise="l2",
        error_shape="ellipsoid",
        fit_intercept=True,
        cv=None,
        scoring=None,
        tol=1e-4,
        n_jobs=None,
        prove=None,
        solver_options=None,
    ):
        self.quantile = quantile
        self.Cs = Cs
        self.radii = radii
        self.norm_penalties = norm_penalties
        self.noise = noise
        self.error_shape = error_shape
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.n_jobs = n_jobs
        self.prove = prove
        self.solver_options = solver_options

    _kind = RobustLinearRegressor

    def _samples(self, X, y, sample_weight, radius, bars):
        """The samples to train on, and warnings about what was given."""
        Statement(loss="quantile", quantile=self.quantile)  # which checks it
        data = TrainingTargets.of(X, y, sample_weight, radius, bars).weighed()
        return data, list[Warning]()

    def _scores(self, paths, part, rest, params):
        return regressor_scores(self, paths, part, rest, params)

    def _scorer(self):
        if self.scoring is not None:
            return get_scorer(self.scoring)
        how = {"alpha": self.quantile, "greater_is_better": False}
        return make_scorer(mean_pinball_loss, **how)


def _results(
    candidates: list[dict], told: list[str], scores: np.ndarray, folds: list[GridScores]
) -> dict:
    """`cv_results_` as `GridSearchCV` has it, with the parameters `told`."""
    table: dict = {}
    for name in ("fit_time", "score_time"):
        parts = [getattr(fold, name) for fold in folds]
        seconds = np.stack([np.moveaxis(part, 3, 0).ravel() for part in parts])
        table[f"mean_{name}"] = seconds.mean(axis=0)
        table[f"std_{name}"] = seconds.std(axis=0)
    for name in told:
        values = [point[name] for point in candidates]
        table[f"param_{name}"] = np.ma.masked_array(values, mask=False)
    table["params"] = [{name: point[name] for name in told} for point in candidates]
    for k, column in enumerate(scores.T):
        table[f"split{k}_test_score"] = column
    table["mean_test_score"] = means = scores.mean(axis=1)
    table["std_test_score"] = scores.std(axis=1)
    worst = np.where(np.isnan(means), np.nanmin(means, initial=0.0) - 1, means)
    table["rank_test_score"] = rankdata(-worst, method="min").astype(np.int32)
    return table
