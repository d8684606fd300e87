"""Gaussians fitted to measurements: one, one per group of rows, or a free mixture.

Each has the prior of `population.Prior`. For one Gaussian its target T is diagonal: the
features taken one by one. For groups it is what they have in common. The number ν of
rows that T counts for is the one under which rows that were left out are likeliest. It
is a property of the population, so a sample of the rows is enough to choose it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import KFold

from wideberth.measurement.em import (
    Fit,
    expectation_maximisation,
    marginals,
    moments,
    rows_behind,
)
from wideberth.measurement.population import (
    FLOOR,
    Measurements,
    Population,
    Prior,
    step,
)
from wideberth.measurement.tables import BLOCK, MeasurementTable, MemoryTable

#: Parts into which rows are split to choose ν, one left out at a time: as many as
#: scikit-learn's cross-validation has, 5.
_FOLDS = KFold().get_n_splits()


@dataclass(frozen=True)
class Target:
    """A covariance that others are drawn to, and how well it is known itself."""

    covariance: np.ndarray
    known: np.ndarray  # rows that tell the variance of each feature

    def prior(self, rows: float, n: int) -> Prior:
        """That of one Gaussian of n rows: the target, and its diagonal as a floor.

        The diagonal counts for `FLOOR` of the n rows, so that EM's steps keep
        Σ ≥ FLOOR·diag(T), nearly, whatever the target and its rows are.
        """
        floor = FLOOR * n
        diagonal = np.diag(np.diag(self.covariance))
        scatter = rows * self.covariance + floor * diagonal
        total = np.array([rows + floor])
        return Prior(scatter[None] / total, total, self.known[None])


class GaussianFitter:
    """Fits to measurements in standard units, with given settings."""

    def __init__(self, shrinkage="auto", tol=1e-4, max_iter=200, n_jobs=None):
        self.shrinkage, self.tol, self.max_iter = shrinkage, tol, max_iter
        self.n_jobs = n_jobs

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

    def fit(self, parts: Sequence[Measurements], rows) -> tuple[Fit, Prior]:
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
        fit, prior = self.fit(parts, self.choose(parts))
        return self._fit(part, fit.population, prior), prior

    def begun_by(self, part: Measurements, groups, prior: Prior) -> Population:
        """A mixture that starts as the Gaussians of groups, all with the same prior."""
        target = Target(prior.targets[0], np.ravel(prior.known))
        found = [self._fitted(group, target, prior.rows[0]) for group in groups]
        fit, priors = _joined(groups, *zip(*found, strict=True))
        return self._fit(part, fit.population, priors).population

    def over_all(
        self,
        table: MeasurementTable,
        sample: MeasurementTable,
        counts: np.ndarray,
        fit: Fit,
        prior: Prior,
    ) -> Fit:
        """EM over all rows, from where it ended on a sample of them, which leads.

        `counts` are the rows of the table, by class where it is labelled; Gaussians
        are those of the classes then.
        """
        e_step, few = table.e_step(self.n_jobs), sample.e_step(self.n_jobs)
        taken = few(fit.population).counts
        share = (taken if len(counts) > 1 else taken.sum()) / counts
        weaker = replace(prior, rows=prior.rows * share)
        return expectation_maximisation(
            e_step,
            fit.population,
            prior,
            int(counts.sum()),
            self.tol,
            self.max_iter,
            lambda here: step(here, few(here), weaker),
        )

    def held_out(self, parts: Sequence[Measurements], rows) -> float:
        """Log likelihood per row of rows left out, from groups of the others."""
        total, n = 0.0, 0
        for fold in zip(*map(_splits, parts), strict=True):
            trains, tests = zip(*fold, strict=True)
            population = self.fit(trains, rows)[0].population
            total += sum(map(population.log_likelihood, tests))
            n += sum(map(len, tests))
        return total / n

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
        return self._fit(part, start, prior), prior

    def _start(self, part: Measurements, target) -> tuple[Target, Population]:
        """The target, diagonal where none is given, and where EM starts."""
        mean, variance = marginals(part, self.max_iter, self.tol**0.5)
        variance = (len(part) * variance + 1.0) / (len(part) + 1)
        if target is None:
            target = Target(np.diag(variance), rows_behind(part, variance))
        spread = moments(part, mean, variance)
        return target, Population(np.ones(1), mean[None], spread[None])

    def _fit(self, part: Measurements, start: Population, prior: Prior) -> Fit:
        e_step = MemoryTable(part).e_step(self.n_jobs)
        n, tol = len(part), self.tol
        return expectation_maximisation(e_step, start, prior, n, tol, self.max_iter)


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


def thinned(parts: Sequence[Measurements]) -> list[Measurements]:
    """An even sample of all rows of groups, enough of the largest to choose by.

    That is a block of rows over the number of folds, 819: the fits of all folds then
    cost what one block does, and held-out likelihoods differ by less than their noise
    between neighbours of the grid 1, 4, 16, …
    """
    stride = max(-(-max(map(len, parts)) * _FOLDS // BLOCK), 1)
    return [part[::stride] for part in parts]


def _few(part: Measurements) -> Measurements:
    return thinned([part])[0]


def _splits(part: Measurements) -> list[tuple[Measurements, Measurements]]:
    """Rows to fit and rows left out, several times."""
    shuffled = np.random.default_rng(0).permutation(len(part))
    folds = np.array_split(shuffled, _FOLDS)
    return [(part[np.setdiff1d(shuffled, fold)], part[np.sort(fold)]) for fold in folds]
