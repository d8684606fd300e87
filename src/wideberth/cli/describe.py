"""What there is to say about the rows and the model of a fit, without other models.

A pass over the rows counts classes, ranges, and right predictions. It finds:

* **Leaks**: columns that tell any two classes apart by themselves. The AUC of the
  values, or of where they are missing, is next to 1 or to 0 for every pair of classes,
  and chance does not explain it. For two classes of m and n rows AUC = U/(mn) with the
  statistic U of Mann and Whitney. Columns tell numbers alone where the rank correlation
  of Spearman is next to 1 or to −1.
* **Flips**: the least noise that turns a row x from class p to class k. A move δ
  changes f_k − f_p by ⟨w_k − w_p, δ⟩. Of the worst move of a given size (`worst_case`)
  feature j has the share (w_k − w_p)_j δ_j / ⟨w_k − w_p, δ⟩: what measuring it more
  precisely would save. Behind a kernel the gradient of f_k − f_p at x takes the place
  of w_k − w_p, and the least noise is a lower bound, the certified radius.
* **Suspects**: rows that look mislabelled (`RobustLinearSVC.suspects_`), and
  **verdicts**: rows whose errors leave their class in doubt (`MeasuredSVC.verdict`).
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import stats

from wideberth import certify
from wideberth.cli.evaluation import asked_radius
from wideberth.cli.model import decider_of
from wideberth.cli.options import FitOptions
from wideberth.cli.prepare import Columns, PreparedRows, moments
from wideberth.cli.result import (
    Choice,
    DataFacts,
    DoubtfulRow,
    FeatureFacts,
    Flip,
    Flips,
    KernelFacts,
    Leak,
    LineFacts,
    ModelFacts,
    NoiseFacts,
    NumberFacts,
    ProblemFacts,
    Remeasure,
    Slope,
    Suspect,
    Suspects,
    Training,
    VerdictFacts,
)
from wideberth.cli.training import certain, fit_model, losses
from wideberth.cli.uncertainty import Uncertainty, columns_by_name
from wideberth.estimators import (
    RobustKernelSVC,
    RobustLinearRegressor,
    RobustLinearSVC,
)
from wideberth.estimators.curved import JudgedCurve
from wideberth.estimators.measured_regressor import MeasuredRegressor
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.estimators.pipeline import RobustPipeline
from wideberth.estimators.training import (
    TrainingRows,
    TrainingTargets,
    statement_of,
)
from wideberth.estimators.verdict import Verdict
from wideberth.problem.changes import build_problem
from wideberth.problem.endpoints import critical_radius, critical_scale
from wideberth.problem.ramp import Ramp

#: Smallest number of steps of exactly one from row to row that is taken for a counter
#: of rows; a choice, which only decides whether a warning is given.
_SEVERAL = 8
#: Smallest AUC, of any two classes, at which a column is said to tell them apart alone.
#: The best columns of the tables at hand that are true measurements stay below it:
#: 0.98 of Breast Cancer, 0.98 of iris, 0.97 of covtype.
_ALONE = 0.99
#: Smallest rank correlation with numbers at which a column is said to tell them alone:
#: a copy, or the number in another unit. A law that is measured well stays below it (a
#: choice, which only decides whether a warning is given).
_SAME = 0.9999
#: Largest probability that chance separates classes like this in some column; one false
#: alarm in a thousand tables.
_CHANCE = 1e-3
#: Number of rows, the first ones in an order drawn by the seed, that are looked at for
#: leaks; the AUC of so many is known to 0.001 where it is 0.99.
_ROWS = 20_000
#: Number of rows that are listed as the most easily flipped, and as the most doubtful.
_FLIPPED = 15
_DOUBTFUL = 25
#: Number of features that are listed as those to measure more precisely.
_FEATURES = 10
#: Number of rows, the most easily flipped first, that shares of features are means of.
_AVERAGED = 200


class RowFindings(NamedTuple):
    """What the rows say, and how the model does on them."""

    data: DataFacts
    uncertainty: NoiseFacts
    training: Training
    verdicts: VerdictFacts | None
    flips: Flips | None
    suspects: Suspects | None


def describe_rows(
    options: FitOptions,
    rows: PreparedRows,
    given: Uncertainty,
    trained: Uncertainty,
    model: RobustPipeline | MeasuredSVC | MeasuredRegressor,
    choice: Choice | None,
    seconds: float,
) -> RowFindings:
    """Data, uncertainty, training, verdicts, flips, suspects: from one pass over rows.

    Radii are those `trained` with. Rows flip at those that were asked for.
    """
    asked = asked_radius(options, given, trained)
    seen, verdicts, flips = _Tallied(), None, None
    pieces = rows.pieces(trained.radius, options.error_shape)
    for X, y, radii, bars in pieces:
        seen.add(X, y, radii)
        if isinstance(model, MeasuredRegressor):
            errors = losses(y - model.predict(X, X_err=bars), options)
            seen.judge(errors, errors)
        elif rows.numbers:
            errors = losses(y - model.predict(X), options)
            ends = model.prediction_range(X, radius=radii, X_err=bars)
            worst = np.maximum(*(losses(y - end, options) for end in ends.T))
            seen.judge(errors, worst)
        elif isinstance(model, MeasuredSVC):
            said = model.verdict(X, X_err=bars)
            verdicts = doubts(said, X, y, rows.kept, rows.columns.features)
            correct = said.label == y
            seen.judge(correct, correct & said.certain)
        else:
            correct = model.predict(X) == y
            reach = model.certified_radius(X, bars)
            seen.judge(correct, certain(correct, reach, radii))
            if rows.y is not None:
                flips = easily_flipped(model, rows, correct, reach, asked, bars)
    none = asked is None or options.measured or not np.any(asked)
    noise = _describe_noise(options, trained, rows.columns, seen)
    noise["asked"] = None if none else float(np.median(asked))
    noise["factor"] = choice.factor if choice else 1.0
    suspects = None
    if not rows.numbers:
        suspects = _describe_suspects(options, rows, decider_of(model))
    return RowFindings(
        _describe_data(options, rows, seen),
        NoiseFacts(**(noise | trained.facts)),
        _describe_training(options, rows, trained, model, seen, seconds),
        verdicts,
        flips,
        suspects,
    )


def _describe_training(
    options: FitOptions,
    rows: PreparedRows,
    trained: Uncertainty,
    model: RobustPipeline | MeasuredSVC | MeasuredRegressor,
    seen: _Tallied,
    seconds: float,
) -> Training:
    """The problems that were solved, and means of what the rows were judged by."""
    problems, support, tol = [], None, options.tol
    if not isinstance(model, MeasuredRegressor):
        last, limits = decider_of(model), _noise_limits(model, rows, trained)
        tol = last.tol
        names = [str(options.target)]
        if not rows.numbers:
            labels = list(last.classes_)
            names = labels[1:] if len(limits) == 1 else labels
            support = None if rows.y is None else len(last.support_)
        problems = [
            _describe_problem(last, str(name), k, *limits[k])
            for k, name in enumerate(names)
        ]
    return Training(
        problems=problems,
        support=support,
        as_measured=seen.right / seen.n,
        under_noise=seen.certified / seen.n,
        tol=tol,
        seconds=seconds,
    )


# -- rows ------------------------------------------------------------------------------


@dataclass
class _Tallied:
    """What a pass over the rows finds: counts, ranges, and how the model does."""

    classes: Counter = field(default_factory=Counter)
    #: Rows and the `moments` of their features.
    moments: tuple = ()
    #: The least and the largest radius.
    smallest: float = np.inf
    largest: float = -np.inf
    #: Sums over rows: whether the model is right, or its error; the same under noise.
    right: float = 0
    certified: float = 0
    #: Numbers to predict, and their weights if they have any.
    numbers: list = field(default_factory=list)

    @property
    def n(self) -> int:
        """Rows."""
        return self.moments[0]

    def add(self, X, y, radii) -> None:
        """Take in a piece."""
        if y.dtype.kind == "f":
            self.numbers.append(y)
        else:
            self.classes.update(y.tolist())
        part = (len(y), *moments(X))
        self.moments = _together(self.moments, part) if self.moments else part
        self.smallest = min(self.smallest, np.min(radii))
        self.largest = max(self.largest, np.max(radii))

    def judge(self, correct, sure) -> None:
        """Take in which rows of a piece the model gets right, and which for sure.

        Or by how much it is off, and at most under noise.
        """
        self.right += float(correct.sum())
        self.certified += float(sure.sum())


def _together(one: tuple, other: tuple) -> tuple:
    """Rows and `moments` of two parts as those of both."""
    (m, mean, variance, low, high), (n, mean_n, variance_n, low_n, high_n) = one, other
    shift, share = mean_n - mean, n / (m + n)
    within = (1 - share) * variance + share * variance_n
    between = share * (1 - share) * shift**2
    ends = np.minimum(low, low_n), np.maximum(high, high_n)
    return m + n, mean + share * shift, within + between, *ends


def _describe_data(
    options: FitOptions, rows: PreparedRows, seen: _Tallied
) -> DataFacts:
    _, mean, variance, low, high = seen.moments
    scales = np.array([mean, np.sqrt(variance), low, high]).T.tolist()
    names, n_numeric = rows.columns.features, len(rows.columns.numeric)
    return DataFacts(
        **rows.facts,
        target=str(options.target),
        task=str(options.task),
        task_story=rows.task_story,
        numbers=_describe_numbers(seen, rows.y_err) if rows.numbers else None,
        classes={str(label): seen.classes[label] for label in sorted(seen.classes)},
        row_counters=_row_counters(rows),
        leaks=find_leaks(rows, options.seed),
        undeclared_errors=columns_by_name("auto", rows.columns.numeric),
        features=[
            FeatureFacts(name, j >= n_numeric, *scales[j])
            for j, name in enumerate(names)
        ],
    )


def _describe_numbers(seen: _Tallied, errors: np.ndarray | None) -> NumberFacts:
    """The scale of numbers to predict, every row counted once."""
    y = np.concatenate(seen.numbers)
    return NumberFacts(
        mean=float(y.mean()),
        std=float(y.std()),
        min=float(y.min()),
        max=float(y.max()),
        scale=float(np.abs(y - np.median(y)).mean()),
        error=None if errors is None else float(np.median(errors)),
    )


def _row_counters(rows: PreparedRows) -> list[str] | None:
    """Features that go up by one from row to row of the file."""
    if rows.kept is None:
        return None  # only rows side by side would tell
    steps, X, numeric = np.diff(rows.kept), rows.X, rows.columns.numeric
    if rows.columns.categories:
        X = X[:, : len(numeric)]
        X = X.toarray() if sp.issparse(X) else X
    if sp.issparse(X) or len(steps) < _SEVERAL or not np.all(steps > 0):
        return []
    columns = zip(numeric, X.T, strict=True)
    return [name for name, x in columns if np.array_equal(np.diff(x), steps)]


def _describe_noise(
    options: FitOptions, trained: Uncertainty, columns: Columns, seen: _Tallied
) -> dict[str, Any]:
    """The shape of the noise, its radii, and what they count."""
    noise, shape, scales = trained.noise, str(trained.noise), {}
    if not isinstance(noise, str):
        shape = getattr(noise, "name", "scales")
        each = np.asarray(getattr(noise, "scales", noise))
        scales = dict(zip(columns.features, each.tolist(), strict=True))
    unit = "in units of the noise"
    if options.radius.std:
        unit = "in standard deviations"
    elif options.noise.scales is None and options.replicates is None:
        unit = "in the units of the data"
    alike = all(scales.get(name, 1) == 1 for name in columns.numeric)
    return {
        "story": trained.story,
        "column": options.radius_column,
        "smallest": float(seen.smallest),
        "median": trained.median,
        "largest": float(seen.largest),
        "shape": shape,
        "isotropic": options.errors is None and alike,
        "unit": unit,
        "scales": scales,
        "per_row": trained.per_row,
    }


def find_leaks(rows: PreparedRows, seed: int) -> list[Leak]:
    """Features that tell the target alone, all classes or the number.

    Of classes the AUC is the least of all pairs. `gaps` says that it is not the values
    but where they are missing. Data in pieces is not looked at.
    """
    if rows.y is None:
        return []
    if rows.numbers:
        return _copies(rows)
    X, y = rows.X, np.unique(rows.y, return_inverse=True)[1]
    if len(y) > _ROWS:
        kept = np.sort(np.random.default_rng(seed).permutation(len(y))[:_ROWS])
        X, y = X[kept], y[kept]
    sparse, names = sp.issparse(X), rows.columns.features
    columns = [*range(len(names))]
    if sparse:
        # Where shares p and q of two classes are 0 their AUC is at most 1 − pq/2, so a
        # column that tells all classes apart fills most rows of all but one.
        others = len(y) - np.bincount(y).max()
        X, filled = sp.csc_array(X), (X != 0).sum(axis=0)
        columns = np.flatnonzero(2 * filled > others).tolist()
    chance, found = _CHANCE / len(names), []
    for j in columns:
        x = X[:, [j]].toarray().ravel() if sparse else X[:, j]
        holes = np.isnan(x)
        for gaps in (False, True) if holes.any() else (False,):
            auc = separation(holes.astype(float) if gaps else x, y, chance)
            if auc >= _ALONE:
                found.append(Leak(names[j], auc, None, gaps))
    return found


def _copies(rows: PreparedRows) -> list[Leak]:
    """Features in the order of the numbers, or in the opposite one."""
    if sp.issparse(rows.X) or rows.X.shape[1] < 2 or len(rows.y) < _SEVERAL:
        return []
    found, ranks = [], stats.rankdata(rows.y)
    for name, x in zip(rows.columns.features, rows.X.T, strict=True):
        there = ~np.isnan(x)
        if there.sum() < _SEVERAL or len(np.unique(x[there])) < _SEVERAL:
            continue
        own = ranks if there.all() else stats.rankdata(rows.y[there])
        r = float(np.corrcoef(stats.rankdata(x[there]), own)[0, 1])
        if abs(r) >= _SAME:
            found.append(Leak(name, None, r, False))
    return found


def separation(x: np.ndarray, y: np.ndarray, chance: float) -> float:
    """The least AUC of any two classes, upwards or downwards; 0 where it may be chance.

    y counts the classes from 0. Missing values do not take part.
    """
    there = ~np.isnan(x)
    x, y = x[there], y[there]
    least = 1.0
    for one, other in combinations(np.unique(y), 2):
        pair = (y == one) | (y == other)
        least = min(least, _auc(x[pair], y[pair] == one, chance))
        if least < _ALONE:
            return 0.0
    return least if len(np.unique(y)) > 1 else 0.0


def _auc(x: np.ndarray, positive: np.ndarray, chance: float) -> float:
    """Of one pair of classes; 0 where chance may explain it (Mann and Whitney)."""
    test = stats.mannwhitneyu(
        x[positive], x[~positive], method="asymptotic", use_continuity=False
    )
    m = positive.sum()
    auc = test.statistic / (m * (len(x) - m))
    return float(max(auc, 1 - auc)) if test.pvalue <= chance else 0.0


# -- the model -------------------------------------------------------------------------


def describe_model(
    options: FitOptions,
    model: RobustPipeline | MeasuredSVC | MeasuredRegressor,
    rows: PreparedRows,
    given: Uncertainty,
    found: RowFindings,
) -> ModelFacts:
    """The decision functions in raw units."""
    columns, line, last, kernel = rows.columns, None, None, None
    classes: list[str] = []
    if isinstance(model, MeasuredRegressor):
        coef, intercept = model.coef_[None], np.array([model.intercept_])
        line = _describe_line(model, rows)
        labels = [str(options.target)]
    elif rows.numbers:
        coef, intercept = raw_line(model)
        labels = [str(options.target)]
        last = decider_of(model)
        noisy = found.uncertainty.largest > 0 or last.norm_penalty > 0
        plain = None
        if noisy and rows.y is not None:
            exact, *_ = fit_model(options.ordinary(last.C), given, rows.plain())
            weights = raw_line(exact)[0][0].tolist()
            plain = dict(zip(columns.features, weights, strict=True))
        line = LineFacts(last.quantile, last.target_scale_, None, plain, None, None)
    else:
        last = decider_of(model)
        if isinstance(model, MeasuredSVC):
            coef, intercept = raw_weights(model)
        elif isinstance(last, RobustKernelSVC):
            coef, intercept = np.zeros((len(last.coef_), 0)), last.intercept_
            kernel = _describe_kernel(options, last)
        else:
            coef = np.asarray(model._robust_model()[1])
            intercept = model.decision_function(np.zeros((1, coef.shape[1])))[0]
        classes = [str(label) for label in last.classes_.tolist()]
        labels = classes[1:] if len(coef) == 1 else classes
    ramp = getattr(last, "ramp", None)
    named = columns.features if kernel is None else ()
    each = dict(zip(named, coef.T.tolist(), strict=True))
    return ModelFacts(
        classes=classes,
        scores_for=labels,
        intercepts=np.atleast_1d(intercept).tolist(),
        coefficients=each,
        left_out=[name for name, own in each.items() if not any(own)],
        C=None if last is None else float(last.C),
        norm_penalty=float(getattr(last, "norm_penalty", 0.0)),
        ramp=None if ramp is None else float(ramp),
        line=line,
        kernel=kernel,
    )


def raw_weights(model: MeasuredSVC) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercepts of true values, in the units of the data."""
    parts = model._denoised
    coef, intercept = parts.weights
    origin = np.zeros((1, parts.linear.shape[1]))
    if parts.before is not None:
        origin = parts.before.transform(origin)
    return coef @ parts.linear, intercept + coef @ origin[0]


def _describe_kernel(options: FitOptions, last: RobustKernelSVC) -> KernelFacts:
    asked, rule = options.kernel, "found from the data"
    assert asked is not None
    given = "as given" if len(asked.gammas) == 1 else "chosen by cross-validation"
    return KernelFacts(
        name="rbf",
        gamma=last.gamma_,
        gamma_from=given if asked.gammas else rule,
        landmarks=last.n_components_,
        landmarks_from=rule if asked.landmarks is None else "as given",
    )


def raw_line(model: RobustPipeline) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercept of a regression, in the units of the data."""
    coef = np.atleast_2d(np.asarray(model[-1].coef_) @ model.linear_map_)
    return coef, model.predict(np.zeros((1, coef.shape[1])))


def _describe_line(model: MeasuredRegressor, rows: PreparedRows) -> LineFacts:
    """Slopes with and without the errors, and which values leave most doubt."""
    names = rows.columns.features
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which the line itself has warned of
        plain = MeasuredRegressor(cv=None).fit(rows.X, rows.y)
    pairs = model.coef_, model.coef_std_, plain.coef_, plain.coef_std_
    slopes = {
        name: Slope(*map(float, values))
        for name, *values in zip(names, *pairs, strict=True)
    }
    cells, shares = model.remeasure(rows.X, X_err=rows.X_err)
    cells = np.array([-1 if cell is None else cell for cell in cells.tolist()])
    again = []
    for j in np.unique(cells[cells >= 0]).tolist():
        own = cells == j
        gaps = int(np.isnan(rows.X[own, j]).sum())
        again.append(
            Remeasure(names[j], int(own.sum()), gaps, float(shares[own].mean()))
        )
    return LineFacts(
        quantile=0.5,
        scale=None,
        scatter=model.scatter_,
        plain=None,
        slopes=slopes,
        remeasure=sorted(again, key=lambda one: -one.rows),
    )


#: Bounds on the critical radius, and on the critical factor; one or none is known.
_Limits = tuple[tuple[float, float] | None, tuple[float, float] | None]


def _describe_problem(
    last: RobustLinearSVC | RobustKernelSVC | RobustLinearRegressor,
    name: str,
    k: int,
    radius,
    factor,
) -> ProblemFacts:
    """Certificate, screening if it is kept, and the limit of the noise of a problem."""

    def own(values) -> np.ndarray:
        return np.ravel(values)[k]

    screened = last.screening_[k] if hasattr(last, "screening_") else {}
    descent, trace = getattr(last, "descent_", None), screened.get("trace")
    beyond = factor is not None and factor[1] <= 1
    return ProblemFacts(
        class_=name,
        objective=float(own(last.objective_)),
        gap=float(own(last.dual_gap_)),
        relative_gap=float(own(last.relative_gap_)),
        converged=bool(own(last.converged_)),
        iterations=int(own(last.n_iter_)),
        passes=float(trace[-1]["passes"]) if trace else None,
        removed=screened.get("removed"),
        saturated=screened.get("saturated"),
        null=bool(not np.atleast_2d(last.coef_)[k].any() or beyond),
        descent=descent and descent[k],
        critical_radius=radius,
        critical_factor=factor,
    )


def _noise_limits(
    model: RobustPipeline | MeasuredSVC, rows: PreparedRows, uncertainty: Uncertainty
) -> list[_Limits]:
    """For each binary problem bounds on the noise from which on nothing can be learnt.

    A radius, or a factor on the radii. It is infinite where features without noise tell
    the classes apart. With the ramp it is that of the rows not left out. Not looked for
    in pieces, in posteriors and behind kernels.
    """
    svc = decider_of(model)
    curved = isinstance(svc, RobustKernelSVC)
    if rows.y is None or curved or isinstance(model, MeasuredSVC):
        return [(None, None)] * (1 if rows.numbers else len(svc.screening_))
    X, bars = rows.X, rows.X_err
    if len(model.steps) > 1:
        X = model[:-1].transform(X)
        bars = None if bars is None else bars.carried(model.linear_map_)
    noisy, stated = np.any(uncertainty.radius), statement_of(svc)
    given = X, rows.y, rows.weight, uncertainty.radius, bars
    bounds: list[tuple[float, float]] = []
    if rows.numbers:
        targets = TrainingTargets.of(*given)
        with np.errstate(all="ignore"):
            changed = build_problem(targets.X, targets.y, targets.stated(stated))
            found = critical_scale(changed.posed if noisy else changed.unit_radii)
        ends = found.lower, found.upper
        bounds = [ends if noisy else (changed.radius(ends[0]), changed.radius(ends[1]))]
    else:
        data = TrainingRows.of(*given, class_weight=svc.class_weight)
        for k, problem in enumerate(data.problems(stated)):
            if svc.ramp is not None:
                ramp = Ramp(problem, svc.ramp)
                slack = problem.slack(svc.coef_[k], np.ravel(svc.intercept_)[k])
                problem = ramp.rest(ramp.left_out(slack))
            found = critical_scale(problem) if noisy else critical_radius(problem)
            bounds.append((found.lower, found.upper))
    plain = [(float(low), float(high)) for low, high in bounds]
    return [(None, own) if noisy else (own, None) for own in plain]


# -- single rows -----------------------------------------------------------------------


def easily_flipped(
    model: RobustPipeline, rows: PreparedRows, right, reach: np.ndarray, radius, bars
) -> Flips:
    """Those `right` with the least certified radii `reach`, and what to measure again.

    `flippable` counts right rows that noise of their radius can flip. The features are
    those through which the worst noise enters, in the mean over these rows.
    """
    X, y = rows.X, rows.y
    finite = np.flatnonzero(right & np.isfinite(reach))
    order = finite[np.argsort(reach[finite], kind="stable")]
    flippable = int(np.sum(right & ~certain(right, reach, radius)))
    first = order[: max(_FLIPPED, min(flippable, _AVERAGED))]
    if not len(first):
        return Flips(int(right.sum()), flippable, [], {})
    own = None if bars is None else bars.take(first)
    rivals, shares = _entries(model, X[first], y[first], reach[first], own)
    names, radii = rows.columns.features, np.broadcast_to(radius, len(y))
    lines = [
        Flip(
            row=int(rows.kept[i]) + 1,
            id=None if rows.names is None else rows.names[i],
            class_=str(y[i]),
            rival=str(rival),
            radius=float(reach[i]),
            noises=float(reach[i] / radii[i]) if radii[i] > 0 else None,
            feature=names[int(share.argmax())],
            share=float(share.max()),
        )
        for i, rival, share in zip(first[:_FLIPPED], rivals, shares, strict=False)
    ]
    noisy = shares[:flippable]
    mean = noisy.mean(axis=0) if len(noisy) else np.zeros(len(names))
    largest = np.argsort(-mean, kind="stable")[:_FEATURES]
    features = {names[j]: float(mean[j]) for j in largest if mean[j] > 0}
    return Flips(int(right.sum()), flippable, lines, features)


def _entries(
    model: RobustPipeline, X, y: np.ndarray, reach: np.ndarray, bars
) -> tuple[np.ndarray, np.ndarray]:
    """The class that each row flips to, and the share of every feature in that."""
    judged, classes = model._judge(X, bars), model[-1].classes_
    if isinstance(judged, JudgedCurve):
        rival, pull = judged.first_moves(np.searchsorted(classes, y))
        return classes[rival], _shares(pull)
    given, sizes = np.searchsorted(classes, y), np.where(reach > 0, reach, 1.0)
    asked = judged.values, given, judged.coef, sizes, judged.noise
    rival, moves = certify.rivals(*asked), certify.worst_case(*asked)
    _, coef = certify.every_class(judged.values, judged.coef)
    return classes[rival], _shares((coef[rival] - coef[given]) * moves)


def _shares(pull: np.ndarray) -> np.ndarray:
    """Of each row's sum; 0 where nothing moves."""
    total = pull.sum(axis=1, keepdims=True)
    return np.divide(pull, total, out=np.zeros_like(pull), where=total != 0)


def _describe_suspects(
    options: FitOptions, rows: PreparedRows, svc: RobustLinearSVC | RobustKernelSVC
) -> Suspects | None:
    """Rows whose label a model disbelieves, the most doubtful first.

    They are counted as in the file, those that are not trained on included. None where
    labels are not in doubt.
    """
    if getattr(svc, "ramp", None) is None:
        return None
    name = options.id or options.replicates
    found = [
        Suspect(
            int(rows.kept[sample]) + 1,
            None if rows.names is None else rows.names[sample],
            str(label),
            str(predicted),
            *distances,
        )
        for sample, label, predicted, *distances in svc.suspects_.tolist()
    ]
    return Suspects(name, len(found), found)


def doubts(
    verdict: Verdict, X: np.ndarray, y: np.ndarray, numbers: np.ndarray, features
) -> VerdictFacts:
    """How many rows are doubtful, which most so, and which cells make them so.

    `numbers` are those of the rows in the file, from 0. A cell without a value is a
    gap: to be measured at all, not again.
    """
    doubtful = np.flatnonzero(~verdict.certain)
    order = doubtful[np.argsort(-verdict.chance[doubtful], kind="stable")]
    cells, again = verdict.remeasure[doubtful], []
    for j in np.unique(cells[cells >= 0]):
        rows = doubtful[cells == j]
        gaps, share = np.isnan(X[rows, j]).sum(), verdict.share[rows].mean()
        again.append(Remeasure(features[j], len(rows), int(gaps), float(share)))
    cell = verdict.remeasure
    return VerdictFacts(
        confidence=verdict.confidence,
        certain=int(verdict.certain.sum()),
        doubtful=len(doubtful),
        most_doubtful=[
            DoubtfulRow(
                row=int(numbers[k]) + 1,
                class_=str(y[k]),
                prediction=str(verdict.label[k]),
                margin=float(verdict.margin[k]),
                spread=float(verdict.spread[k]),
                chance=float(verdict.chance[k]),
                runner_up=str(verdict.runner_up[k]),
                remeasure=features[cell[k]] if cell[k] >= 0 else None,
                share=float(verdict.share[k]),
            )
            for k in order[:_DOUBTFUL].tolist()
        ],
        remeasure=sorted(again, key=lambda one: -one.rows),
    )
