"""A proof of the choice: no C of a range has a smaller cross-validated error (§17).

Every fold is solved at some values of C, the same for all folds. Between two of them
the optimum lies in a ball of known radius (`screening/ranges.py`), so that the values
⟨w*,x⟩ + b* of the rows left out have bounds for every C of an interval. A row that is
certainly wrong counts as an error, and errors summed over folds are a lower bound of
the cross-validated error on the interval.

The interval of the lowest bound is worked on first: cut in two where that would do,
which costs nothing but bounds, and solved in the middle otherwise. It ends when no
bound is below the least error found by more than what is asked for.

What is claimed is about exact optima. A free b that is not unique is the middle of the
best ones, as in `solve`.
"""

from __future__ import annotations

import bisect
import heapq
import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.metrics import mean_pinball_loss
from sklearn.utils.parallel import Parallel, delayed

from wideberth.certify import decision_values, every_class, falls
from wideberth.estimators.folds import (
    GridScores,
    Models,
    Split,
    by_accuracy,
)
from wideberth.estimators.scoring import RobustScorer
from wideberth.estimators.training import (
    TrainingRows,
    TrainingTargets,
    statement_of,
)
from wideberth.noise import ErrorBars, as_shape
from wideberth.problem.certificate import PROVABLE
from wideberth.problem.changes import build_problem, check_radii, merge_rows
from wideberth.problem.labels import class_numbers
from wideberth.problem.rows import gamma
from wideberth.problem.validation import check_number, check_per_sample, short
from wideberth.screening.ranges import Anchor, Span, intercept_range
from wideberth.solvers.registry import check_choices, choose_solver
from wideberth.solvers.spans import Along

#: Least width of an interval in log C that is cut: a choice, far below the distance of
#: two values of C that anybody tells apart.
_NARROWEST = 1e-6


@dataclass(frozen=True)
class ProvenChoice:
    """What a search proved about every C of a range.

    Attributes
    ----------
    C, radius, norm_penalty : float
        The choice.
    error : float
        Its cross-validated error: one minus the score, or the pinball loss.
    lower_bound : float
        No C of the range has an error below, for the exact optimum.
    low, high : float
        The range of C.
    within : float
        How far below `error` nothing was to be left, in units of the error.
    proven : bool
        Whether `lower_bound` is at least ``error − within``. Otherwise the search ended
        at its limit.
    Cs, errors : arrays of shape (n_points,)
        Values of C that were solved, and their errors.
    edges, bounds : arrays of shape (n_intervals + 1,) and (n_intervals,)
        ``bounds[k]`` holds for every C from ``edges[k]`` to ``edges[k + 1]``.
    levels : tuple of ProvenChoice
        The same for each radius and norm penalty, where there are several.
    """

    C: float
    radius: float
    norm_penalty: float
    error: float
    lower_bound: float
    low: float
    high: float
    within: float
    Cs: np.ndarray = field(repr=False)
    errors: np.ndarray = field(repr=False)
    edges: np.ndarray = field(repr=False)
    bounds: np.ndarray = field(repr=False)
    levels: tuple[ProvenChoice, ...] = field(repr=False, default=())

    @property
    def proven(self) -> bool:
        """Whether the lower bound is where it was asked to be."""
        return self.lower_bound >= self.error - self.within

    def __str__(self):
        reach = f"between {self.low:g} and {self.high:g}"
        if len(self.levels) > 1:
            reach += ", at any of the radii and norm penalties tried,"
        found = f"C = {self.C:.4g}, which has {self.error:.4g}"
        if self.proven:
            return (
                f"No C {reach} has a cross-validated error below "
                f"{self.lower_bound:.4g}; chosen is {found}."
            )
        return (
            f"Not proven within {self.within:g}: it is only known that no C {reach} "
            f"has a cross-validated error below {self.lower_bound:.4g}; chosen is "
            f"{found}. {self._remedy}"
        )

    @property
    def _remedy(self) -> str:
        """What to do where the search ended without a proof."""
        last = min(self.levels or (self,), key=lambda level: level.lower_bound)
        k = int(last.bounds.argmin())
        low, high = last.edges[k], last.edges[k + 1]
        if math.log(high / low) > _NARROWEST:
            return "Raise solver_options['max_points'], or prove."
        return (
            f"At C = {low:.4g} some row is on the boundary or b is not unique, and "
            "more values of C would not help; raise prove."
        )

    def plot(self, *, ax=None):
        """Draw errors and their lower bound over C.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        wideberth.plotting.ChoiceDisplay
        """
        from wideberth.plotting import ChoiceDisplay

        return ChoiceDisplay.from_choice(self, ax=ax)


# -- one problem of one fold -----------------------------------------------------------


@dataclass(frozen=True)
class _Sight:
    """An anchor, and what its centre says of the rows left out and of those trained on.

    `coef` is the centre in units as given; b is part of `values` where it is penalised.
    `margins` and `supports` are asked for beside a free intercept.
    """

    anchor: Anchor
    coef: np.ndarray
    values: np.ndarray
    margins: np.ndarray | None
    supports: np.ndarray | float


@dataclass(frozen=True)
class _Between:
    """Bounds over an interval: values in [lower, upper], for centres that move.

    `first` and `last` are the ends of the span, `start` and `end` the shares of the
    interval in it, `radius` that of the ball and `spread` the largest distance of two
    of its centres, both in units as given. `intercept` are bounds on b + ⟨w − c, μ⟩,
    where b is free: c is the centre, μ the mean of the rows trained on.
    """

    first: _Sight
    last: _Sight
    start: float
    end: float
    radius: float
    own_radius: float
    lower: np.ndarray
    upper: np.ndarray
    intercept: tuple[float, float] | None


class _Trained:
    """One class against the rest in one fold, or one fold of a regression."""

    def __init__(self, search, part, rest, positive: int, level, ends, seed: int):
        radius, penalty = level
        options = search._options.solving(search.tol, random_state=seed)
        options = replace(options, tol=max(search.tol**2, PROVABLE))
        check_choices(options.solver, options.screening)
        stated = part.at(radius).stated(statement_of(search))
        stated = replace(stated, C=1.0, norm_penalty=0.0, ramp=None)
        self.unit = part.unit
        most = self.unit * ends[1]
        signs = part.signs(positive)
        units = build_problem(part.X, signs, stated, most)
        check_radii(units)
        units = merge_rows(units)
        problem = units.level(1.0, self.unit * penalty)
        solver = choose_solver(problem.times(most), options.solver, along_path=True)
        control = replace(options.control(units.problem), screening=None)
        self.along = Along(units, control, solver, norm_penalty=self.unit * penalty)
        self.units, self.problem, self.X = units, problem, rest.X
        self.sights: dict[float, _Sight] = {}
        self.spans: dict[tuple[float, float], Span] = {}
        self._measure()

    def _measure(self) -> None:
        """Lengths of all rows, about their mean beside a free b, which absorbs it."""
        problem, sigma, d = self.problem, self.units.sigma, self.X.shape[1]
        self.norms = _lengths(self.X) / sigma
        self.trained_norms = problem.rows.norms()
        if problem.intercept == 0:
            weights = problem.weights / problem.weights.sum()
            mean = problem.rows.combine(weights * problem.y)
            length = float(np.linalg.norm(mean))
            own = problem.y * problem.rows.margins(mean)
            center = self.units.weights(mean) * sigma / self.units.kappa
            theirs = decision_values(self.X, center[None], np.zeros(1)) / sigma
            self.mean = sigma * center
            self.trained_norms = _about(self.trained_norms, own, length, d)
            self.norms = _about(self.norms, theirs, length, d)
        elif problem.intercept:
            extra = 1 / problem.intercept
            self.norms = np.sqrt(self.norms**2 + extra)
            self.trained_norms = np.sqrt(self.trained_norms**2 + extra)
        turned = problem.noise.sets.rotation_error
        self.slack = gamma(4 * d + 64) + turned
        self.noise_errors = problem.axes_error()
        self.lipschitz = problem.noise.lipschitz(d)
        self.raw_norms = _lengths(self.X) / sigma

    def solve(self, C: float) -> None:
        """Add the anchor at C."""
        around = self._around(C) if len(self.sights) > 1 else None
        span = None if around is None else self._span(*around)
        anchor = self.along.solve(self.unit * C, span)
        w, b = anchor.center
        problem, units = self.problem, self.units
        coef = units.weights(w)
        free = problem.intercept == 0
        intercept = 0.0 if free else units.intercept(b)
        values = decision_values(self.X, coef[None], np.array([intercept]))
        margins = problem.rows.margins(w) if free else None
        supports = problem.noise.supports(w) if free else 0.0
        self.sights[C] = _Sight(anchor, coef, values, margins, supports)

    def _around(self, C: float) -> tuple[float, float]:
        """Neighbouring anchors about a value of C, and the interval from there."""
        places = sorted(self.sights)
        k = min(bisect.bisect_right(places, C), len(places) - 1)
        return places[k - 1], places[k]

    def _span(self, first: float, last: float) -> Span:
        if (first, last) not in self.spans:
            ends = self.sights[first].anchor, self.sights[last].anchor
            self.spans[first, last] = Span.between(*ends)
        return self.spans[first, last]

    def between(self, first: float, last: float) -> _Between:
        """Bounds for every C from `first` to `last`, between two anchors."""
        ends = self._around(first)
        span, (a, b) = self._span(*ends), (self.sights[end] for end in ends)
        start, end = span.share(self.unit * first), span.share(self.unit * last)
        if first < last:  # rounding of the shares
            start, end = max(start - 2.0**-50, 0.0), min(end + 2.0**-50, 1.0)
        radius, kappa = span.radius(start, end), self.units.kappa
        centers = [np.linalg.norm(s.anchor.center[0]) for s in (a, b)]
        largest = float(max(centers)) + radius
        size = kappa * largest * self.slack
        lower, upper = _ends(a.values, b.values, start, end)
        swing = kappa * radius * self.norms + size * self.raw_norms
        swing += gamma(16) * (abs(a.values) + abs(b.values))
        intercept = None
        if self.problem.intercept == 0:
            intercept = self._intercept(a, b, span, start, end, radius, largest)
            lower, upper = lower + intercept[0], upper + intercept[1]
        scale = kappa / self.units.sigma
        return _Between(
            a,
            b,
            start,
            end,
            radius * scale,
            radius,
            lower - swing,
            upper + swing,
            intercept,
        )

    def _intercept(self, a, b, span, start, end, radius, largest):
        """Bounds on b + ⟨w − c, μ⟩, in units as given, on the balls of an interval."""
        problem = self.problem
        lower, upper = _ends(a.margins, b.margins, start, end)
        swing = radius * self.trained_norms + largest * (
            self.slack * problem.rows.norms() + self.noise_errors
        )
        noise = problem.noise
        if noise.radii.any():
            most = np.maximum(*_ends(a.supports, b.supports, start, end))
            step = float(np.linalg.norm(span.step))
            least = np.maximum(
                a.supports - end * step * self.lipschitz,
                b.supports - (1 - start) * step * self.lipschitz,
            )
            reach = (radius + self.slack * largest) * self.lipschitz
            lower = lower - (most + reach)
            upper = upper - np.maximum(least - reach, 0.0)
        bounds = intercept_range(problem, lower - swing, upper + swing)
        low, high = (self.units.intercept(bound) for bound in bounds)
        return low - gamma(8) * abs(low), high + gamma(8) * abs(high)

    @property
    def model(self) -> Callable[[float], tuple]:
        """The primal point at a solved C, in units as given, and its gap."""

        def at(C: float):
            found = self.along.found[self.unit * C]
            pair, units = found.outcome, self.units
            point = pair.point
            return units.weights(point.w), units.intercept(point.b), found

        return at


def _all_classes(coefs: list[np.ndarray]) -> np.ndarray:
    """Weights of all classes, as `certify` has them."""
    coef = np.vstack(coefs)
    return every_class(np.zeros(1), coef)[1]


def _ends(first, last, start: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest of values on a line, from one share to another."""
    step = last - first
    here, there = first + start * step, first + end * step
    return np.minimum(here, there), np.maximum(here, there)


def _lengths(X) -> np.ndarray:
    if sp.issparse(X):
        return np.sqrt(np.asarray(X.multiply(X).sum(axis=1), dtype=float).ravel())
    return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def _about(norms, along, length: float, d: int) -> np.ndarray:
    """‖x − μ‖ at most, from ‖x‖, ⟨x,μ⟩ and ‖μ‖."""
    squares = norms * norms - 2 * along + length * length
    squares += gamma(8 * d + 64) * (norms + length) ** 2
    return np.sqrt(np.maximum(squares, 0.0))


# -- folds and their errors ------------------------------------------------------------


class _Fold:
    """A fold at one radius and norm penalty: its problems, and bounds on its error."""

    def __init__(self, search, data, split: Split, level, ends, seed: int):
        self.search, self.level = search, level
        self.part, self.rest = data.take(split.train), data.take(split.test)
        given = self.part, self.rest
        self.trained = [
            _Trained(search, *given, k, level, ends, seed) for k in self.part.positives
        ]
        self.bound = (
            self._bound_of_loss if is_regressor(search) else self._bound_of_errors
        )
        self.results: dict[float, tuple[float, float, bool, float]] = {}

    def solve(self, C: float) -> float:
        """Solve at C; the score of the model on the rows left out."""
        found = []
        for trained in self.trained:
            trained.solve(C)
            found.append(trained.model(C))
        models = [
            Models(
                w.reshape(1, 1, 1, 1, -1),
                np.full((1, 1, 1, 1), b),
                np.full((1, 1, 1, 1), each.seconds),
                np.full((1, 1, 1, 1), each.outcome.status == "solved"),
                np.full((1, 1, 1, 1), each.certificate.relative_gap),
            )
            for w, b, each in found
        ]
        single = copy(self.search)
        radius, penalty = self.level
        single.Cs_, single.radii_ = np.array([C]), np.array([radius])
        single.norm_penalties_, single.ramps_ = np.array([penalty]), np.array([-np.inf])
        ((_, score),) = single._scores(models, self.part, self.rest, {})
        seconds = sum(each.seconds for *_, each in found)
        gaps = max(each.certificate.relative_gap for *_, each in found)
        solved = all(each.certificate.proves(self.search.tol) for *_, each in found)
        self.results[C] = score, seconds, solved, gaps
        return score

    # -- errors of classes -------------------------------------------------------------

    @cached_property
    def _labels(self) -> np.ndarray:
        rest = self.rest
        return class_numbers(rest.y, self.part.classes, rest.n)

    @property
    def _scorer(self) -> RobustScorer:
        """Accuracy under a radius, which is 0 for accuracy as measured."""
        scorer = by_accuracy(self.search, {})
        assert scorer is not None  # by `check_provable`
        return scorer

    @cached_property
    def _weights(self) -> np.ndarray:
        """What an error of each row counts."""
        scorer = self._scorer
        if not scorer.balanced:
            return np.full(self.rest.n, 1 / self.rest.n)
        group = np.unique(self.rest.y, return_inverse=True)[1]
        counts = np.bincount(group)
        return (1 / counts[group]) / counts.size

    @cached_property
    def _radii(self) -> np.ndarray | None:
        """Radii that errors are judged under; None where all are 0."""
        scorer, rest = self._scorer, self.rest
        factor = self.level[0] if scorer.radius is None else scorer.radius
        radii = check_per_sample(factor, rest.n, "radius")
        radii = radii if rest.radii is None else radii * rest.radii
        return radii if radii.any() else None

    @cached_property
    def _noise(self):
        """The sets of the rows left out, and the longest vector of each."""
        bars, d = self.rest.bars, self.rest.X.shape[1]
        noise = as_shape(self.search.noise_, d) if bars is None else bars
        reach = noise.lipschitz(d) + noise.axes_errors()
        if noise.offsets is not None:
            reach = reach + np.linalg.norm(noise.offsets, axis=1)
        return noise, np.broadcast_to(reach, (self.rest.n,))

    def _bound_of_errors(self, first: float, last: float) -> float:
        """Share of the rows that are wrong for every C of an interval."""
        between = [each.between(first, last) for each in self.trained]
        labels = np.maximum(self._labels, 0)
        if len(between) == 1:
            (only,) = between
            lead = np.where(labels == 1, only.upper, -only.lower)[:, None]
        else:
            lower = np.column_stack([each.lower for each in between])
            upper = np.column_stack([each.upper for each in between])
            lead = np.take_along_axis(upper, labels[:, None], 1) - lower
            np.put_along_axis(lead, labels[:, None], np.inf, 1)
        if self._radii is not None:
            lead = lead - self._radii[:, None] * self._falls(between, labels)
        wrong = (lead < 0).any(axis=1) | (self._labels < 0)
        return float(self._weights @ wrong) * (1 - gamma(len(labels) + 8))

    def _falls(self, between: list[_Between], labels: np.ndarray) -> np.ndarray:
        """What a move of size 1 lowers the lead of the right class by, at least."""
        noise, reach = self._noise
        bars = noise if isinstance(noise, ErrorBars) else self.search.noise_
        falling = [
            falls(_all_classes([getattr(b, end).coef for b in between]), bars, labels)
            for end in ("first", "last")
        ]
        steps = np.array([np.linalg.norm(b.last.coef - b.first.coef) for b in between])
        radii = np.array([each.radius for each in between])
        sizes = np.array([np.linalg.norm(b.first.coef) for b in between]) + steps
        start, end = between[0].start, between[0].end
        if len(between) > 1:
            steps, radii, sizes = (v[labels, None] + v for v in (steps, radii, sizes))
        else:  # the other class, against which the lead is
            falling = [np.take_along_axis(f, 1 - labels[:, None], 1) for f in falling]
        reach = reach[:, None]
        least = np.maximum(
            falling[0] - end * steps * reach,
            falling[1] - (1 - start) * steps * reach,
        )
        rounding = gamma(8 * self.rest.X.shape[1] + 64)
        open_part = 2 * np.broadcast_to(noise.axes_errors(), (self.rest.n,))[:, None]
        least = least - radii * reach - sizes * (rounding * reach + open_part)
        return np.maximum(least, 0.0)

    # -- loss of numbers ---------------------------------------------------------------

    def _bound_of_loss(self, first: float, last: float) -> float:
        """The least pinball loss over the balls of an interval.

        By convexity it is at least L(m) − r‖g‖, g a subgradient at a middle m.
        """
        (trained,), (X, y) = self.trained, (self.rest.X, self.rest.y)
        between, quantile = trained.between(first, last), self.search.quantile
        a, b, units = between.first, between.last, trained.units
        share, width = 0.5 * (between.start + between.end), between.end - between.start
        values = a.values + share * (b.values - a.values)
        if between.intercept is not None:
            low, high = between.intercept
            if not np.isfinite([low, high]).all():
                return 0.0
            values = values + 0.5 * (low + high)
        slope = np.where(y > values, -quantile, 1 - quantile) / y.size
        loss = mean_pinball_loss(y, values, alpha=quantile)
        pull = np.asarray(X.T @ slope, dtype=float).ravel()
        total, lost = float(slope.sum()), 0.0
        if between.intercept is not None:
            pull = pull - total * trained.mean
            lost = 0.5 * abs(total) * (high - low)
        length = float(np.linalg.norm(pull)) / units.sigma
        if trained.problem.intercept:
            length = float(np.hypot(length, total / trained.problem.intercept**0.5))
        lost += units.kappa * between.own_radius * length
        lost += 0.5 * width * abs(float(slope @ (b.values - a.values)))
        sizes = float(np.mean(abs(values) + abs(y) + abs(a.values) + abs(b.values)))
        reach = float(np.mean(trained.raw_norms)) * units.kappa
        lengths = [float(np.linalg.norm(s.anchor.center[0])) for s in (a, b)]
        largest = max(lengths) + between.own_radius
        lost += gamma(4 * y.size + 64) * sizes + trained.slack * reach * largest
        lost += gamma(y.size + X.shape[1] + 64) * reach * between.own_radius
        return max(loss - lost, 0.0)


# -- the search ------------------------------------------------------------------------


def read_proof(search) -> tuple[float, float]:
    """Check what a search with `prove` states; the ends of its range of C."""
    check_number(search.prove, "prove", positive=True)
    if not isinstance(search.Cs, tuple | list | np.ndarray) or len(search.Cs) != 2:
        raise ValueError(
            f"Cs={short(search.Cs)} must be the range (low, high) with prove: the "
            "proof covers every C between."
        )
    ends = [check_number(each, "Cs", positive=True) for each in search.Cs]
    if not ends[0] < ends[1]:
        raise ValueError(f"Cs={short(search.Cs)} must be (low, high) with low < high.")
    ramps = getattr(search, "ramps", None)
    if ramps is not None:
        raise ValueError(
            "ramps are not convex, and nothing is proven about the models between two "
            "values of C; leave out prove or ramps."
        )
    return ends[0], ends[1]


def check_provable(search, params: dict) -> None:
    """Refuse scorers about which nothing is proven."""
    if is_regressor(search):
        known, named = search.scoring is None, "the pinball loss (scoring=None)"
    else:
        known = by_accuracy(search, params) is not None
        named = "accuracy, balanced accuracy, robust_scorer and the pinball loss"
    if params or not known:
        raise ValueError(
            f"There is no proof for scoring={short(search.scoring)}; prove takes "
            f"{named}, without weights or other metadata. Leave out prove, or take one "
            "of these."
        )


def prove_choice(
    search, data: TrainingRows | TrainingTargets, splits, ends, seed: int
) -> tuple[ProvenChoice, list[tuple[dict, list[GridScores]]]]:
    """The choice and its proof, and the scores of all models that were trained."""
    folds = [Split(k, np.asarray(a), np.asarray(b)) for k, (a, b) in enumerate(splits)]
    choices, tried = [], []
    for penalty in search.norm_penalties_.tolist():
        for radius in search.radii_.tolist():
            level = radius, penalty
            given = search, data
            states = [_Fold(*given, split, level, ends, seed) for split in folds]
            within = search.prove * data.unit
            choices.append(_prove_level(search, states, ends, within))
            for C in choices[-1].Cs.tolist():
                point = {"C": C, "ramp": -np.inf, "norm_penalty": penalty}
                results = [_scores_at(state, C) for state in states]
                tried.append((point | {"radius": radius}, results))
    best = min(choices, key=lambda choice: choice.error)
    if len(choices) > 1:
        least = min(choice.lower_bound for choice in choices)
        best = replace(best, lower_bound=least, levels=tuple(choices))
    return best, tried


def _scores_at(state: _Fold, C: float) -> GridScores:
    score, seconds, solved, gap = state.results[C]
    shape = (1, 1, 1, 1)
    return GridScores(
        *(np.full(shape, value) for value in (score, seconds, 0.0, solved, gap))
    )


def _prove_level(search, states: list[_Fold], ends, within: float) -> ProvenChoice:
    """Cut and solve until no interval has a bound that is too low, or to the limit."""
    low, high = ends
    most = search._options.max_points
    offset = 0.0 if is_regressor(search) else 1.0  # errors are 1 − score, or −score
    errors: dict[float, float] = {}
    parallel = Parallel(n_jobs=search.n_jobs, prefer="threads")

    def solve(C: float) -> None:
        if parallel.n_jobs == 1:
            scores = [state.solve(C) for state in states]
        else:
            scores = parallel(delayed(state.solve)(C) for state in states)
        errors[C] = offset - float(np.mean(scores))

    def bound(first: float, last: float) -> float:
        each = [state.bound(first, last) for state in states]
        return float(np.mean(each)) * (1 - gamma(len(each) + 8))

    solve(low)
    solve(high)
    heap = [(bound(low, high), low, high)]
    while heap[0][0] < (target := min(errors.values()) - within):
        known, first, last = heapq.heappop(heap)
        fresh = bound(first, last)
        if fresh > known:  # anchors were added around it
            heapq.heappush(heap, (fresh, first, last))
            continue
        middle = math.sqrt(first * last)
        if not math.log(last / first) > _NARROWEST or not first < middle < last:
            heapq.heappush(heap, (known, first, last))
            break
        if bound(middle, middle) < target:
            if len(errors) >= most:
                heapq.heappush(heap, (known, first, last))
                break
            if middle not in errors:
                solve(middle)
        for part in ((first, middle), (middle, last)):
            heapq.heappush(heap, (max(bound(*part), known), *part))
    Cs = np.array(sorted(errors))
    best = min(errors, key=lambda C: (errors[C], C))
    parts = sorted((first, last, value) for value, first, last in heap)
    edges = np.array([parts[0][0], *(last for _, last, _ in parts)])
    return ProvenChoice(
        C=best,
        radius=states[0].level[0],
        norm_penalty=states[0].level[1],
        error=errors[best],
        lower_bound=heap[0][0],
        low=low,
        high=high,
        within=within,
        Cs=Cs,
        errors=np.array([errors[C] for C in Cs.tolist()]),
        edges=edges,
        bounds=np.array([value for *_, value in parts]),
    )
