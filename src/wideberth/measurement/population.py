"""The population behind measurements with errors: Gaussians by EM, and posteriors.

True features are N(μ_k, Σ_k) with probability π_k; row i is true + N(0, E_i), measured
in the cells o that are there. With S = (Σ + E_i)_oo, g = S⁻¹(x − μ)_o, filled up with
zeros, and responsibilities γ, a step of EM is

    Δ = ΣΣγg / N,  μ⁺ = μ + Δ,  Σ⁺ = (NΣ + Σ[Σγ(ggᵀ − S⁻¹)]Σ − NΔΔᵀ + νT) / (N + ν)

with N = Σγ: sums over rows, so over blocks of them as well. T is a covariance, and ν
the number of rows that it counts for: a prior, −½ν(log|Σ| + tr Σ⁻¹T), so what EM
maximises never falls (docs/theory/population.md).

Rounding makes Σ⁺ wrong by about ε/λ where λ is the least eigenvalue of Σ and ε that of
float64. So Σ is held above a floor (`fitting.Target`): where the truth is singular,
such as one quantity measured by two instruments, the fit is nearly so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import logsumexp

from wideberth.kernels.gaussians import densities, e_step
from wideberth.noise.reading import check_squares, read_covariances, read_table
from wideberth.problem.validation import check_number, float_array

if TYPE_CHECKING:
    from wideberth.measurement.uncertainty import PopulationUncertainty

#: Least share of a feature's variance that the other features leave open: Σ is at least
#: this times the diagonal of its target T. Rounding changes Σ⁺ by ε/10⁻⁶ = 2·10⁻¹⁰, far
#: below; the scatter that it adds is a thousandth of the feature's standard deviation.
FLOOR = 1e-6
#: Grid of standardised numbers, far finer than measurements are, and far coarser than
#: rounding in another unit: of 10⁶ numbers about ten meet a border of the grid.
_GRID = 2.0**32
#: Rows of one block of sums: many times LANES of `kernels/lanes.h`, few beside a table.
BLOCK = 4096
#: Entries of the covariances of one block of posteriors: 256 MB.
_BLOCK_ENTRIES = 1 << 25


def block_rows(d: int) -> int:
    """Rows of a block of posteriors of d features."""
    return max(min(BLOCK, _BLOCK_ENTRIES // max(d, 1) ** 2), 1)


@dataclass(frozen=True)
class Measurements:
    """Values of shape (n, d), NaN where missing; what is known of their errors."""

    values: np.ndarray
    variances: np.ndarray  # (n, d)
    covariances: np.ndarray  # (n, d, d); (0, d, d) where errors are independent

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows) -> Measurements:
        correlated = len(self.covariances) > 0
        covariances = self.covariances[rows] if correlated else self.covariances
        return Measurements(self.values[rows], self.variances[rows], covariances)

    @staticmethod
    def joined(parts: Sequence[Measurements]) -> Measurements:
        """All rows of several parts."""
        if len(parts) == 1:
            return parts[0]
        return Measurements(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.variances for part in parts]),
            np.concatenate([part.covariances for part in parts]),
        )

    def blocks(self, rows: int = BLOCK) -> Iterator[Measurements]:
        """Parts of at most so many rows."""
        for start in range(0, len(self), rows):
            yield self[start : start + rows]

    def columns(self, chosen: np.ndarray) -> Measurements:
        """Some of the columns, by a mask."""
        if chosen.all():
            return self
        return Measurements(
            np.ascontiguousarray(self.values[:, chosen]),
            np.ascontiguousarray(self.variances[:, chosen]),
            np.ascontiguousarray(self.covariances[:, chosen][:, :, chosen]),
        )

    @property
    def exact(self) -> np.ndarray:
        """Which cells have a value without an error."""
        return (self.variances == 0) & ~np.isnan(self.values)

    def scaled(self, centre: np.ndarray, scale: np.ndarray) -> Measurements:
        """The same in other units: x becomes (x − centre) / scale."""
        return Measurements(
            (self.values - centre) / scale,
            self.variances / scale / scale,  # scale² may overflow
            self.covariances / scale[:, None] / scale,
        )

    def rounded(self) -> Measurements:
        """The same in standard units, to a precision of 2⁻³².

        Measurements in other units, which differ in their last bits, are then the same.
        """

        def to_bits(errors: np.ndarray) -> np.ndarray:
            mantissa, exponent = np.frexp(errors)
            return np.ldexp(np.round(mantissa * _GRID) / _GRID, exponent)

        values = np.round(self.values * _GRID) / _GRID
        return Measurements(values, to_bits(self.variances), to_bits(self.covariances))


@dataclass(frozen=True)
class Population:
    """Gaussians: shares (K,), means (K, d) and covariances (K, d, d)."""

    shares: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def log_likelihood(self, part: Measurements) -> float:
        """Sum of the log densities of all rows."""
        return sums_of(self, part).likelihood

    @staticmethod
    def union(parts: Sequence[Population], shares) -> Population:
        """Populations side by side, with these shares."""
        return Population(
            np.concatenate([s * p.shares for s, p in zip(shares, parts, strict=True)]),
            np.concatenate([p.means for p in parts]),
            np.concatenate([p.covariances for p in parts]),
        )


@dataclass(frozen=True)
class Prior:
    """Covariances T of shape (K, d, d), and how many rows ν each of them counts for.

    Targets that are estimates themselves are known from so many rows.
    """

    targets: np.ndarray
    rows: np.ndarray  # (K,)
    known: np.ndarray | float = np.inf  # (K, d): rows that tell each variance in T

    def log_density(self, population: Population) -> float:
        """−½ν Σ(log|Σ| + tr Σ⁻¹T), up to a constant; −∞ where Σ is singular."""
        total = 0.0
        parts = zip(self.rows, self.targets, population.covariances, strict=True)
        for nu, T, spread in parts:
            if nu > 0 and T.size:
                factor, singular = dpotrf(spread, lower=1)
                if singular:
                    return -np.inf
                half, _ = dpotri(factor, lower=1)  # of Σ⁻¹, the lower one; 0 elsewhere
                trace = 2 * np.vdot(half, T) - half.diagonal() @ T.diagonal()
                total -= nu * (np.log(factor.diagonal()).sum() + 0.5 * trace)
        return float(total)


@dataclass(frozen=True)
class Sums:
    """What a step of EM needs of the rows."""

    likelihood: float
    counts: np.ndarray  # Σγ
    slopes: np.ndarray  # Σγg
    bends: np.ndarray  # Σγ(ggᵀ − S⁻¹)


def sums_of(population: Population, part: Measurements) -> Sums:
    """The E step."""
    with np.errstate(divide="ignore"):
        log_shares = np.log(population.shares)
    cells = part.values, part.variances, part.covariances
    gaussians = log_shares, population.means, population.covariances
    return Sums(*e_step(*cells, *gaussians))


def step(population: Population, sums: Sums, prior: Prior) -> Population:
    """The M step."""
    total = sums.counts.sum()
    means, covariances = population.means.copy(), population.covariances.copy()
    for k, count in enumerate(sums.counts):
        if count == 0:
            continue
        spread = population.covariances[k]
        move = spread @ sums.slopes[k] / count
        means[k] += move
        scatter = count * (spread - np.outer(move, move))
        scatter += spread @ sums.bends[k] @ spread
        scatter += prior.rows[k] * prior.targets[k]
        covariances[k] = 0.5 * (scatter + scatter.T) / (count + prior.rows[k])
    return Population(sums.counts / total, means, covariances)


def among(array: np.ndarray, columns: np.ndarray, axes: int = 1) -> np.ndarray:
    """The array with last axes as long as the mask `columns`; 0 where that is False."""
    made = np.zeros((*array.shape[: array.ndim - axes], *(len(columns),) * axes))
    places: tuple = np.ix_(*(columns,) * axes)
    made[(..., *places)] = array
    return made


# -- posteriors ------------------------------------------------------------------------


@dataclass(frozen=True)
class Posterior:
    """Posterior distribution of the true features of n objects.

    Attributes
    ----------
    mean : array of shape (n, d)
    covariance : array of shape (n, d, d)
    responsibilities : array of shape (n, K)
        Probability that an object belongs to each Gaussian of the population.
    means : array of shape (K, n, d)
        Posterior mean if the object comes from that Gaussian.
    covariances : array of shape (K, n, d, d)
    uncertainty : PopulationUncertainty or None
        Uncertainty of the population, which responsibilities allow for.
    shift : array of shape (n, d)
        Effect of the categories of an object on the means of the population.
    """

    mean: np.ndarray
    covariance: np.ndarray
    responsibilities: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    uncertainty: PopulationUncertainty | None = None
    shift: np.ndarray | float = 0.0

    def take(self, rows: np.ndarray) -> Posterior:
        """That of some of the objects."""
        return replace(
            self,
            mean=self.mean[rows],
            covariance=self.covariance[rows],
            responsibilities=self.responsibilities[rows],
            means=self.means[:, rows],
            covariances=self.covariances[:, rows],
            shift=np.broadcast_to(self.shift, self.mean.shape)[rows],
        )

    def among(self, columns: np.ndarray, shift: np.ndarray) -> Posterior:
        """The same among more features, of which these were the columns (a mask).

        `shift` is added to all means, which are 0 in the others.
        """
        return replace(
            self,
            mean=among(self.mean, columns) + shift,
            covariance=among(self.covariance, columns, 2),
            means=among(self.means, columns) + shift,
            covariances=among(self.covariances, columns, 2),
        )

    def in_units(self, part: Measurements, centre, scale) -> Posterior:
        """The same for `part`, whose x was (x − centre) / scale; exact cells stay."""
        exact, outer = part.exact, scale[:, None] * scale
        uncertain = ~exact[: len(self.covariance)]  # there may be no covariances
        outer = outer * (uncertain[:, :, None] & uncertain[:, None])
        return replace(
            self,
            mean=np.where(exact, part.values, centre + scale * self.mean),
            covariance=outer * self.covariance,
            means=np.where(exact, part.values, centre + scale * self.means),
            covariances=outer * self.covariances,
            uncertainty=self.uncertainty and self.uncertainty.in_units(centre, scale),
            shift=scale * self.shift,
        )


def posterior_of(
    population: Population,
    part: Measurements,
    covariance: bool = True,
    uncertainty: PopulationUncertainty | None = None,
) -> Posterior:
    """Posterior means and, where they are asked for, covariances.

    With an `uncertainty` of the population, responsibilities count it.
    """
    n, d = part.values.shape
    K = len(population.shares)
    logs, means = np.empty((K, n)), np.empty((K, n, d))
    spreads = np.empty((K, n if covariance else 0, d, d))
    ratios = np.zeros((K, n))
    compared = uncertainty if K > 1 else None
    for k, (mean, spread) in enumerate(
        zip(population.means, population.covariances, strict=True)
    ):
        cells = part.values, part.variances, part.covariances
        asked = bool(compared or covariance)
        logs[k], gradients, inverses = densities(*cells, mean, spread, asked)
        means[k] = _means(part, mean, spread, gradients)
        if covariance:
            spreads[k] = _spreads(part, spread, inverses)
        if compared:
            ratios[k] = compared.log_ratio(k, part, gradients, inverses)
    with np.errstate(divide="ignore"):
        logs = logs + np.log(population.shares)[:, None]
    shares = np.exp(logs + ratios - logsumexp(logs + ratios, axis=0)).T
    return Posterior(
        *_mixed(shares, means, spreads, covariance), shares, means, spreads, uncertainty
    )


def _near(part: Measurements, spread: np.ndarray) -> np.ndarray:
    """Cells whose error is below the spread of the population."""
    return ~np.isnan(part.values) & (part.variances <= np.diag(spread))


def _means(part, mean, spread, gradients) -> np.ndarray:
    """x̂ = μ + Σg, which in measured cells is x − Eg; the one that cancels less."""
    from_mean = mean + gradients @ spread
    if len(part.covariances):
        pull = np.einsum("nij,nj->ni", part.covariances, gradients)
    else:
        pull = part.variances * gradients
    return np.where(_near(part, spread), part.values - pull, from_mean)


def _spreads(part, spread, inverses) -> np.ndarray:
    """V = RΣRᵀ + KEKᵀ with K = ΣS⁻¹ and R = I − K, which in measured cells is ES⁻¹.

    It is Σ − ΣS⁻¹Σ without the difference of nearly equal numbers.
    """
    missing = np.isnan(part.values)
    E = np.where(missing, 0.0, part.variances)[:, :, None] * np.eye(len(spread))
    if len(part.covariances):
        either = missing[:, :, None] | missing[:, None, :]
        E = np.where(either, 0.0, part.covariances)
    near = _near(part, spread)[:, :, None]
    gain, rest, unit = spread @ inverses, E @ inverses, np.eye(len(spread))
    R = np.where(near, rest, unit - gain)
    K = np.where(near, unit - rest, gain)
    V = R @ spread @ R.transpose(0, 2, 1) + K @ E @ K.transpose(0, 2, 1)
    return 0.5 * (V + V.transpose(0, 2, 1))


def _mixed(shares, means, spreads, covariance) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the mixture: what is within Gaussians and between them."""
    if len(means) == 1:
        return means[0], spreads[0]
    mean = np.einsum("nk,knd->nd", shares, means)
    if not covariance:
        return mean, spreads[0]
    off = means - mean
    within = np.einsum("nk,knij->nij", shares, spreads)
    return mean, within + np.einsum("nk,kni,knj->nij", shares, off, off)


# -- reading errors --------------------------------------------------------------------


def read_variances(X_err, X, names=None) -> tuple[np.ndarray, np.ndarray]:
    """Squared standard errors (n, d), and covariances (n, d, d) where those are given.

    Cells that X does not have (NaN) may have any error. A number is one for all cells.
    """
    n, d = X.shape
    missing = np.isnan(X)
    if not sp.issparse(X_err) and np.ndim(X_err) == 3:
        either = missing[:, :, None] | missing[:, None, :]
        matrices = float_array(X_err, "X_err").astype(np.float64)
        if matrices.shape == either.shape:
            matrices = np.where(either, 0.0, matrices)
        matrices = read_covariances(matrices, X.shape)
        return np.ascontiguousarray(np.einsum("nii->ni", matrices)), matrices
    if not sp.issparse(X_err) and np.ndim(X_err) == 0:
        X_err = np.full((n, d), check_number(X_err, "X_err"))
    table = read_table(X_err, X.shape, names, missing)
    check_squares(table)
    return np.square(table, dtype=np.float64), np.empty((0, d, d))
