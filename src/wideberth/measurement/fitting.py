"""Gaussians fitted to measurements by EM: one, one per class, or a free mixture.

Each has the prior of `population.Prior`. For one Gaussian its target T is diagonal: the
features taken one by one. For several it is the covariance that they have in common.
The number ν of rows that T counts for is the one under which rows that were left out
are likeliest. A small sample of the rows is enough to choose it.

Steps of EM are accelerated by Anderson's mixing of the last few, in the precisions Σ⁻¹:
there EM's step Σ⁺ − Σ ∝ ΣSΣ is −S to first order, whatever the size of Σ, so that small
variances move as quickly as large ones. An accelerated point where the objective falls
is replaced by the plain step. A plain step can fall only by rounding; it ends EM at the
point before. EM ends by the length of a plain step in standard errors, which is what it
gains: the difference of two objectives has lost that in its rounding, and rounding
would decide where EM ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dpotrf
from sklearn.model_selection import KFold

from wideberth.measurement.population import (
    BLOCK,
    FLOOR,
    Measurements,
    Population,
    Prior,
    Sums,
    posterior_of,
    step,
    sums_of,
)
from wideberth.problem.limits import EPS

#: Earlier steps that Anderson's mixing looks at. To the last digits EM took 49, 32 and
#: 39 steps with 5, 10 and 15 of them for 100 rows of 4 columns with gaps, and 836, 531
#: and 484 for 2000 rows of 11 columns with errors as large as their spread.
_MEMORY = 10
#: Parts into which rows are split to choose ν, one left out at a time: as many as
#: scikit-learn's cross-validation has, 5.
FOLDS = KFold().get_n_splits()
#: Gain per row by which EM over a sample of the rows ends, where that is only a start:
#: the other rows move it further. To the last digits, all steps for 2000 rows of 11
#: columns with errors as large as their spread took 1.6 times as long.
_START_TOL = 1e-4
#: Part of the scatter of a feature below which its variance is none: the square of its
#: inverse, which weighs exact values, is still within the range of float64.
_LEAST = 1e-60
#: Part of the objective by which rounding may change it, where Σ is at its floor.
_ROUNDING = EPS / FLOOR
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Fit:
    """Where EM ended, the objective at all its points, and whether it converged."""

    population: Population
    objectives: list[float]
    converged: bool


@dataclass(frozen=True)
class Target:
    """A covariance that others are drawn to, and how well it is known itself."""

    covariance: np.ndarray
    known: np.ndarray  # rows that tell the variance of each feature

    def prior(self, rows: float, n: int) -> Prior:
        """The prior of one Gaussian of n rows: the target, and its diagonal as a floor.

        The diagonal counts for `FLOOR` of the n rows, so that EM's steps keep
        Σ ≥ FLOOR·diag(T), nearly, whatever the target and its rows are.
        """
        floor = FLOOR * n
        diagonal = np.diag(np.diag(self.covariance))
        scatter = rows * self.covariance + floor * diagonal
        total = np.array([rows + floor])
        return Prior(scatter[None] / total, total, self.known[None])


class GaussianFitter:
    """Fits to measurements in standard units, with given settings.

    `report` is called with a line of text now and then.
    """

    def __init__(
        self,
        shrinkage: float | str = "auto",
        tol: float = 1e-4,
        max_iter: int = 200,
        report: Callable[[str], None] | None = None,
    ):
        self.shrinkage, self.tol, self.max_iter = shrinkage, tol, max_iter
        self.report = report

    def fit(
        self, part: Measurements, labels: np.ndarray | None, n_components, seed=None
    ) -> tuple[Fit, Prior]:
        """A population as `TrueFeatures` takes `n_components`; labels are 0, 1, …"""
        if n_components not in ("auto", "per_class", 1):
            return self.mixture(part, self._clusters(part, n_components, seed))
        groups, classes = [part], np.zeros(1, dtype=int)
        if labels is not None:
            # In the order of their first rows, so that names do not matter.
            _, first = np.unique(labels, return_index=True)
            classes = np.argsort(np.argsort(first))
            groups = [part[labels == labels[row]] for row in np.sort(first)]
        if n_components == "per_class" or len(groups) == 1:
            return _in_order(classes, self.groups(groups, self.choose(groups)))
        one, several = self.choose([part]), None
        if n_components == "auto" and min(map(len, groups)) > part.values.shape[1]:
            several, few = self.choose(groups), thinned(groups)
            alike = self.held_out([Measurements.joined(few)], one)
            if self.held_out(few, several) > alike:
                return _in_order(classes, self.groups(groups, several))
        return self.groups([part], one)

    def choose(self, parts: Sequence[Measurements]) -> list[float]:
        """ν of the prior of each group, and before them that of what they share."""
        if self.shrinkage != "auto":
            return [float(self.shrinkage)] * (len(parts) + (len(parts) > 1))
        if len(parts) == 1:
            return [self._best([(*split, None) for split in _splits(_few(*parts))])]
        centred = _few(self._centred(parts))
        nu = self._best([(*split, None) for split in _splits(centred)])
        splits = [_splits(_few(part)) for part in parts]
        trains = zip(*([train for train, _ in split] for split in splits), strict=True)
        common = [self._common(train, nu) for train in trains]
        folds = ([(*f, c) for f, c in zip(s, common, strict=True)] for s in splits)
        return [nu, *map(self._best, folds)]

    def groups(self, parts: Sequence[Measurements], rows) -> tuple[Fit, Prior]:
        """A Gaussian for each group of rows, with ν as chosen.

        The prior of one is diagonal. That of several is what they have in common: the
        covariance of all rows about the means of their groups.
        """
        if len(parts) == 1:
            return self._fitted(parts[0], None, rows[0])
        common = self._common(parts, rows[0])
        found = [
            self._fitted(part, common, nu)
            for part, nu in zip(parts, rows[1:], strict=True)
        ]
        return _joined(parts, *zip(*found, strict=True))

    def mixture(self, part: Measurements, parts) -> tuple[Fit, Prior]:
        """Gaussians that start as those of groups and share all rows."""
        fit, prior = self.groups(parts, self.choose(parts))
        return self._fit(part, fit.population, prior), prior

    def begun_by(self, part: Measurements, groups, prior: Prior) -> Population:
        """A mixture that starts as the Gaussians of groups, all with the same prior."""
        target = Target(prior.targets[0], np.ravel(prior.known))
        found = [self._fitted(group, target, prior.rows[0]) for group in groups]
        fit, priors = _joined(groups, *zip(*found, strict=True))
        return self._fit(part, fit.population, priors).population

    def held_out(self, parts: Sequence[Measurements], rows) -> float:
        """Log likelihood per row of rows left out, from groups of the others."""
        total, n = 0.0, 0
        for fold in zip(*map(_splits, parts), strict=True):
            trains, tests = zip(*fold, strict=True)
            population = self.groups(trains, rows)[0].population
            total += sum(map(population.log_likelihood, tests))
            n += sum(map(len, tests))
        return total / n

    def _clusters(self, part: Measurements, K: int, seed) -> list[Measurements]:
        """Rows by k-means of their posterior means under one Gaussian."""
        from sklearn.cluster import KMeans

        if len(part) < K:
            raise ValueError(
                f"n_components={K} Gaussians need as many rows; X has {len(part)}."
            )
        fit, _ = self.groups([part], self.choose([part]))
        means = posterior_of(fit.population, part, False).mean
        labels = KMeans(K, random_state=seed, n_init=1).fit_predict(means)
        return [part[labels == k] for k in range(labels.max() + 1)]

    def _centred(self, parts) -> Measurements:
        """Rows of all groups about the means of their groups."""
        means = [marginals(part, self.max_iter, self.tol**0.5)[0] for part in parts]
        moved = [part.values - mean for part, mean in zip(parts, means, strict=True)]
        return replace(Measurements.joined(parts), values=np.concatenate(moved))

    def _common(self, parts, nu: float) -> Target:
        centred = self._centred(parts)
        fit, _ = self._fitted(centred, None, nu)
        spread = fit.population.covariances[0]
        return Target(spread, rows_behind(centred, np.diag(spread)))

    def _best(self, folds) -> float:
        """ν from the grid …, ¼, 1, 4, … ≤ n, from its largest down to the first loss.

        Folds are rows to fit, rows left out, and a target.
        """
        n = sum(len(test) for _, test, _ in folds)
        folds = [
            (train, test, *self._start(train, target))
            for train, test, target in folds
            if len(train)
        ]
        nu = best = 4.0 ** int(np.log2(n) / 2)
        highest = -np.inf
        while nu > n * FLOOR:
            likelihood = 0.0
            for k, (train, test, target, start) in enumerate(folds):
                prior = target.prior(nu, len(train))
                found = self._fit(train, start, prior).population
                folds[k] = train, test, target, found
                likelihood += found.log_likelihood(test)
            if likelihood < highest:
                break
            highest, best, nu = likelihood, nu, nu / 4
        return best

    def _fitted(self, part, target: Target | None, nu) -> tuple[Fit, Prior]:
        target, start = self._start(part, target)
        prior = target.prior(nu, len(part))
        few = _few(part)
        if len(few) < len(part):  # a start near the end saves steps over all rows
            few_prior, tol = target.prior(nu, len(few)), max(self.tol, _START_TOL)
            start = self._fit(few, start, few_prior, tol).population
        return self._fit(part, start, prior), prior

    def _start(self, part: Measurements, target) -> tuple[Target, Population]:
        """The target, diagonal where none is given, and where EM starts."""
        mean, variance = marginals(part, self.max_iter, self.tol**0.5)
        variance = (len(part) * variance + 1.0) / (len(part) + 1)
        if target is None:
            target = Target(np.diag(variance), rows_behind(part, variance))
        spread = moments(part, mean, variance)
        return target, Population(np.ones(1), mean[None], spread[None])

    def _fit(
        self, part: Measurements, start: Population, prior: Prior, tol=None
    ) -> Fit:
        def e_step(here: Population) -> Sums:
            sums = sums_of(here, part)
            if self.report:
                size = f"{len(part)} rows, {part.values.shape[1]} columns"
                self.report(f"EM, {size}: log likelihood {sums.likelihood:.6g}")
            return sums

        tol = self.tol if tol is None else tol
        return expectation_maximisation(
            e_step, start, prior, len(part), tol, self.max_iter
        )


def _joined(parts, fits, priors) -> tuple[Fit, Prior]:
    """Fits of groups side by side, with their shares of the rows."""
    sizes = np.array([len(part) for part in parts], dtype=float)
    fit = Fit(
        Population.union([fit.population for fit in fits], sizes / sizes.sum()),
        max((fit.objectives for fit in fits), key=len),
        all(fit.converged for fit in fits),
    )
    joined = (
        np.concatenate([getattr(prior, name) for prior in priors])
        for name in ("targets", "rows", "known")
    )
    return fit, Prior(*joined)


def _in_order(groups: np.ndarray, found: tuple[Fit, Prior]) -> tuple[Fit, Prior]:
    """The same with the Gaussians of groups in another order."""
    (fit, prior), fields = found, ("targets", "rows", "known")
    own = fit.population
    own = Population(own.shares[groups], own.means[groups], own.covariances[groups])
    return replace(fit, population=own), Prior(
        *(getattr(prior, name)[groups] for name in fields)
    )


def thinned(parts: Sequence[Measurements]) -> list[Measurements]:
    """An even sample of all rows of groups, enough of the largest to choose by.

    That is a block of rows over the number of folds, 819: the fits of all folds then
    cost what one block does, and held-out likelihoods differ by less than their noise
    between neighbours of the grid 1, 4, 16, …
    """
    stride = max(-(-max(map(len, parts)) * FOLDS // BLOCK), 1)
    return [part[::stride] for part in parts]


def _few(part: Measurements) -> Measurements:
    return thinned([part])[0]


def _splits(part: Measurements) -> list[tuple[Measurements, Measurements]]:
    """Rows to fit and rows left out, several times."""
    shuffled = np.random.default_rng(0).permutation(len(part))
    folds = np.array_split(shuffled, FOLDS)
    return [(part[np.setdiff1d(shuffled, fold)], part[np.sort(fold)]) for fold in folds]


# -- categories ------------------------------------------------------------------------

#: Penalties on squared effects to choose from; they count rows. Effects are of the size
#: of a feature's standard deviation, or of 0.3, 0.1 or 0.03 of it.
_PENALTIES = (1.0, 10.0, 100.0, 1000.0)


def category_effects(
    part: Measurements, categories: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Effects B of categories C on the means of features, x ≈ CB, by ridge regression.

    All are in standard units. A cell counts as 1/(1 + e²) rows. The penalty is the one
    under which rows left out are predicted best; where none of them predicts better
    than no effect, B is 0. Returns B, and CB of each row by the effects that were
    learned without it: so that its residual is like that of a new row.
    """
    n, d = part.values.shape
    there = ~np.isnan(part.values)
    weights = there / (1 + np.where(there, part.variances, 0.0))
    values = np.where(there, part.values, 0.0)
    folds = np.array_split(np.random.default_rng(0).permutation(n), FOLDS)
    folds = [fold for fold in folds if len(fold)]
    sums = [_normal_equations(categories[f], values[f], weights[f]) for f in folds]
    gram, side = (np.sum(parts, axis=0) for parts in zip(*sums, strict=True))
    unit = np.eye(categories.shape[1])
    least = np.sum(weights * values**2)
    effects, predicted = np.zeros((categories.shape[1], d)), np.zeros((n, d))
    for penalty in _PENALTIES:
        found = np.empty((n, d))
        for fold, (G, h) in zip(folds, sums, strict=True):
            found[fold] = categories[fold] @ _solved(
                gram - G + penalty * unit, side - h
            )
        loss = np.sum(weights * (values - found) ** 2)
        if loss < least:
            least, predicted = loss, found
            effects = _solved(gram + penalty * unit, side)
    return effects, predicted


def _normal_equations(C, values, weights) -> tuple[np.ndarray, np.ndarray]:
    """CᵀWC and CᵀWx of every feature."""
    gram = np.stack([C.T @ (C * w[:, None]) for w in weights.T])
    return gram, (C.T @ (weights * values)).T[..., None]


def _solved(gram: np.ndarray, side: np.ndarray) -> np.ndarray:
    return np.linalg.solve(gram, side)[..., 0].T


# -- EM --------------------------------------------------------------------------------


def expectation_maximisation(
    e_step: Callable[[Population], Sums],
    start: Population,
    prior: Prior,
    n: int,
    tol: float,
    max_iter: int,
) -> Fit:
    """Maximise log likelihood plus log prior; `e_step` gives the sums over all n rows.

    EM has converged when a plain step gains at most `tol` per row; it also ends after
    `max_iter` steps, and has converged then if the last gain is lost in rounding. The
    last of the objectives is that of the population returned, up to rounding.
    """
    here = plain = best = start
    objectives: list[float] = []
    steps: list[tuple[np.ndarray, np.ndarray]] = []  # where they led, how far they went
    gain = rounding = 0.0
    for _ in range(max_iter):
        sums = e_step(here)
        objective = sums.likelihood + prior.log_density(here)
        highest = objectives[-1] if objectives else -np.inf
        rounding = _ROUNDING * (n + abs(objective))
        if not objective >= highest - rounding:
            if here is plain:
                return Fit(best, objectives, bool(highest - objective <= tol * n))
            here = plain
            continue
        objectives.append(max(objective, highest))
        best, plain = here, step(here, sums, prior)
        gain = _gain(here, plain, sums.counts + prior.rows)
        if gain <= tol * n:
            return Fit(best, objectives, True)
        led = _coordinates(plain)
        steps = [*steps[-_MEMORY:], (led, led - _coordinates(here))]
        here = _mixed(steps, plain)
    return Fit(best, objectives, bool(gain <= rounding))


def _gain(here: Population, plain: Population, rows: np.ndarray) -> float:
    """By how much a plain step raises the objective: a bound, for short steps.

    That is its squared length in the information of rows whose true features and
    Gaussians are known; at least half of it is gained. In the rounding of objectives it
    would be lost.
    """
    moved = plain.means - here.means
    precisions = np.linalg.inv(here.covariances)
    turned = precisions @ (plain.covariances - here.covariances)
    squares = np.einsum("ki,kij,kj->k", moved, precisions, moved)
    squares += 0.5 * np.einsum("kij,kji->k", turned, turned)
    shares = (plain.shares - here.shares) ** 2 / np.maximum(plain.shares, _TINY)
    return float(rows @ squares + rows.sum() * shares.sum())


def _mixed(steps, plain: Population) -> Population:
    """The mixture of steps whose length would be least; `plain` where it is none."""
    led, moved = (np.array(part) for part in zip(*steps, strict=True))
    if not np.isfinite(moved).all():
        return plain
    weights = np.linalg.lstsq((moved[:-1] - moved[-1]).T, moved[-1], rcond=None)[0]
    return _from_coordinates(led[-1] - weights @ (led[:-1] - led[-1]), plain)


def _coordinates(point: Population) -> np.ndarray:
    with np.errstate(divide="ignore"):
        logs = np.log(point.shares)
    precisions = np.linalg.inv(point.covariances)
    return np.concatenate([logs, point.means.ravel(), precisions.ravel()])


def _from_coordinates(numbers: np.ndarray, plain: Population) -> Population:
    K = len(plain.shares)
    logs, means = numbers[:K], numbers[K : K + plain.means.size]
    precisions = numbers[K + plain.means.size :].reshape(plain.covariances.shape)
    try:
        spreads = np.linalg.inv(precisions)
    except np.linalg.LinAlgError:
        return plain
    spreads = 0.5 * (spreads + spreads.transpose(0, 2, 1))
    if not all(map(_regular, spreads)):
        return plain
    shares = np.exp(logs - logs.max())
    return Population(shares / shares.sum(), means.reshape(plain.means.shape), spreads)


def _regular(spread: np.ndarray) -> bool:
    """Whether Σ is as far from singular as plain steps leave it, nearly."""
    least = 0.5 * FLOOR * np.diag(spread)
    return dpotrf(spread - np.diag(least))[1] == 0


# -- where EM starts -------------------------------------------------------------------


def marginals(part: Measurements, max_iter: int, tol: float):
    """Mean and variance of every feature by itself, by maximum likelihood.

    Fisher's scoring on 1/(T + e²)-weighted moments. A variance that cannot be told
    from none, because errors explain all scatter, is taken as its standard error; one
    of exact values that are all the same is 0.
    """
    x, v = part.values, np.where(np.isnan(part.values), 0.0, part.variances)
    there = ~np.isnan(x)
    filled = np.where(there, x, 0.0)
    count = np.maximum(there.sum(axis=0), 1)
    mean = filled.sum(axis=0) / count
    variance = (there * (filled - mean) ** 2).sum(axis=0) / count
    least = np.where(there, v, np.inf).min(axis=0, initial=np.inf)
    constant = (variance == 0) & ~((least > 0) & np.isfinite(least))
    variance = np.where(variance == 0, np.where(constant, 1.0, least), variance)
    least = _LEAST * variance
    for _ in range(max_iter):
        w = there / (variance + v)
        mean = (w * filled).sum(axis=0) / np.maximum(w.sum(axis=0), _TINY)
        square = np.maximum((w * w).sum(axis=0), _TINY)
        raw = (w * w * ((filled - mean) ** 2 - v)).sum(axis=0) / square
        error = np.sqrt(2.0 / square)
        last, variance = variance, np.maximum.reduce((raw, variance / 2, least))
        if (np.abs(variance - last) <= tol * error).all():
            break
    return mean, np.where(constant, 0.0, np.maximum(variance, error))


def rows_behind(part: Measurements, variance: np.ndarray) -> np.ndarray:
    """Exact rows that would tell the variance T of each feature as well: Σ(T/(T+e²))².

    At least 1.
    """
    there = ~np.isnan(part.values)
    shares = there * variance / (variance + np.where(there, part.variances, 0.0))
    return np.maximum((shares**2).sum(axis=0), 1.0)


def moments(part: Measurements, mean, variance) -> np.ndarray:
    """A positive definite start for Σ: products of two cells, whose errors cancel.

    Each weighs as 1/(T + e²) of its cells. Eigenvalues are lifted to the size of the
    most negative one, which is how far they are off, and at least to the floor.
    """
    there = ~np.isnan(part.values)
    w = there / (variance + np.where(there, part.variances, 0.0))
    z = w * np.where(there, part.values - mean, 0.0)
    overlap = w.T @ w
    spread = (z.T @ z) / np.where(overlap > 0, overlap, np.inf)
    root = np.sqrt(variance)
    correlation = spread / (root[:, None] * root)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(np.clip(correlation, -1.0, 1.0))
    values = np.maximum(values, max(-values.min(initial=0.0), FLOOR))
    correlation = (vectors * values) @ vectors.T
    size = np.sqrt(np.diag(correlation))
    return correlation / (size[:, None] * size) * (root[:, None] * root)
