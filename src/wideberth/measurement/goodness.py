"""Does a population fit the rows it was learned from? Tails and lumps it does not have.

If it fits, the probability integral transforms of rows are uniform: of each measured
cell by itself, u = Σπ_kΦ((x − μ_k)/√(Σ_k + e²)); for one Gaussian also of each cell
given the others of its row, Φ(g_j/√P_jj), and of the whole row, the χ² distribution at
(x − μ)ᵀP(x − μ). The first sees lumps and tails of a column, the others what columns
have together (Dawid 1984; docs/theory/population.md, 9.3). Lumps beside each other in a
direction of their own are seen by a second Gaussian: two of them, begun where k-means
of whitened posterior means begins, that are likelier by more than the Bayesian
information criterion asks for. Lumps are looked for where one Gaussian was fitted,
tails always.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc, ndtr

from wideberth.data.errors import agree, counted
from wideberth.kernels.gaussians import densities
from wideberth.measurement.fitting import GaussianFitter, thinned
from wideberth.measurement.population import (
    FLOOR,
    Measurements,
    Population,
    Prior,
    posterior_of,
)

#: Share of the rows that must lie elsewhere than a population says before it is called
#: lumpy: a choice. Kolmogorov's distance of two equal lumps 3 (4) standard deviations
#: apart from one Gaussian is 0.09 (0.15).
_LUMPS = 0.1
#: Times 1 % of the rows that must lie outside the range of 99 % before tails are called
#: heavy: a choice. Student's distribution with 3 degrees of freedom has 1.7 %, a tenth
#: of the rows with four times the spread 3.3 %.
_TAILS = 2.5
#: Times the floor of covariances below which a variance may be made up by the floor,
#: which EM nears slowly: a choice. Less than a thousandth of the variance is left out.
_HELD = 1000.0
#: Standard errors that either must exceed, so that chance does not warn: one in 10⁴.
_CLEAR = 4.0
#: How far from the median of its column a measurement is warned of, in units of its
#: error and the range of the middle half: a choice, far outside any Gaussian.
FAR = 20.0
#: Part of what their errors explain that values must scatter less before errors are
#: called too large: a choice. Errors too large by the factor √2 leave half of it.
_TOO_LARGE = 0.5

#: What rows may have and a population may lack, as users read it.
_LACKS = {"lumps": "several clusters or a skew", "tails": "heavy tails"}
#: The place of whole rows among the columns.
ROWS = -1


def lacks(found: dict[str, list[int]], names) -> str:
    """What a population has not, by the names of the columns; empty where it fits."""
    return "; ".join(
        f"{_LACKS[what]} in {_listed(columns, names)}"
        for what, columns in found.items()
        if columns
    )


def far_cells(part: Measurements, beside: np.ndarray, rows, names) -> str:
    """A sentence about measurements far outside their columns; empty if there is none.

    Columns `beside` the population, a mask, are not looked at.
    """
    low, middle, high = np.nanpercentile(part.values, [25, 50, 75], axis=0)
    width = np.where((high > low) & ~beside, high - low, np.inf)
    off = np.abs(part.values - middle) / np.sqrt(part.variances + width**2)
    off[np.isnan(off)] = 0.0
    far = (off > FAR).sum(axis=0)
    if not far.any():
        return ""
    row, column = np.unravel_index(off.argmax(), off.shape)
    columns, n = ", ".join(str(names[j]) for j in np.flatnonzero(far)), far.sum()
    return (
        f"{counted(n, 'measurement')} {agree(n, 'is', 'are')} more than {FAR:g} times "
        "as far from the median of the column as the error and the middle half of the "
        f"column explain, in {columns}. The worst is in row {rows[row]}, column "
        f"{names[column]!s}."
    )


def errors_too_large(off: np.ndarray, variances: np.ndarray, spread) -> float:
    """How much larger errors are than values `off` their mean admit; 0 if they fit.

    Values scatter with the variances and with `spread`, that of the truth. Of those
    whose errors are the larger part, the squares of off/√(v + spread) have the mean 1
    and, Gaussian, the variance 2.
    """
    spread = np.broadcast_to(spread, off.shape)
    told = ~np.isnan(off) & (variances >= spread) & (variances > 0)
    k = int(told.sum())
    if k == 0:
        return 0.0
    square = float(np.mean(off[told] ** 2 / (variances[told] + spread[told])))
    if square >= 1 - max(_TOO_LARGE, _CLEAR * (2 / k) ** 0.5):
        return 0.0
    return max(square, FLOOR) ** -0.5


def _listed(columns: list[int], names) -> str:
    several = [str(names[j]) for j in columns if j != ROWS]
    parts = []
    if several:
        more = len(several) - 5
        shown = ", ".join(several[:5]) + (f" and {more} more" if more > 0 else "")
        parts.append(("column " if len(several) == 1 else "columns ") + shown)
    if ROWS in columns:
        parts.append("whole rows")
    return ", and in ".join(parts)


def misfit(
    fitter: GaussianFitter, population: Population, part: Measurements, prior: Prior
) -> dict[str, list[int]]:
    """Columns whose lumps and tails the population has not, and `ROWS` for all."""
    lumps, tails, alone = set(), set(), len(population.shares) == 1
    if alone and _two_are_likelier(fitter, population, part, prior):
        lumps.add(ROWS)
    for columns, transforms in _transforms(population, part):
        for j, u in zip(columns, transforms, strict=True):
            u = u[~np.isnan(u)]
            if alone and _lumpy(u):
                lumps.add(j)
            if _heavy(u if j == ROWS else np.abs(2 * u - 1)):
                tails.add(j)
    return {"lumps": sorted(lumps), "tails": sorted(tails)}


def _lumpy(u: np.ndarray) -> bool:
    """Whether what should be uniform is not, by Kolmogorov's distance.

    By chance that has the mean 0.87/√n and the standard deviation 0.26/√n.
    """
    n, u = len(u), np.sort(u)
    steps = np.arange(n + 1) / max(n, 1)
    distance = np.max([steps[1:] - u, u - steps[:-1]], initial=0.0)
    return distance > max(_LUMPS, (0.87 + 0.26 * _CLEAR) / max(n, 1) ** 0.5)


def _heavy(u: np.ndarray) -> bool:
    """Whether far more than 1 % of what should be uniform is above 0.99."""
    n, outside = len(u), np.sum(u > 0.99)
    by_chance = 0.01 * n + _CLEAR * max((0.01 * n) ** 0.5, 1.0)
    return outside > max(0.01 * _TAILS * n, by_chance)


def _two_are_likelier(
    fitter: GaussianFitter, one: Population, part: Measurements, prior: Prior
) -> bool:
    """Whether two Gaussians fit clearly better than one, by their BIC."""
    from scipy.linalg import solve_triangular
    from sklearn.cluster import KMeans

    (part,) = thinned([part])
    n, d = part.values.shape
    if d == 0 or n <= 2 * d:
        return False
    asked = 0.5 * (1 + d + d * (d + 1) / 2) * np.log(n)
    factor = np.linalg.cholesky(one.covariances[0])
    off = posterior_of(one, part, False).mean - one.means[0]
    white = solve_triangular(factor, off.T, lower=True).T
    labels = KMeans(2, random_state=0, n_init=1).fit_predict(white)
    groups = [part[labels == k] for k in range(2)]
    if min(map(len, groups)) <= d:
        return False
    two = fitter.begun_by(part, groups, prior)
    return two.log_likelihood(part) - one.log_likelihood(part) > asked


def _transforms(population: Population, part: Measurements):
    """Numbers of columns, and for each of them the transforms of the rows, or NaN."""
    n, d = part.values.shape
    cells = np.zeros((d, n))
    for share, mean, spread in zip(
        population.shares, population.means, population.covariances, strict=True
    ):
        scale = np.sqrt(part.variances + np.diag(spread))
        cells += share * ndtr((part.values - mean) / scale).T
    yield range(d), cells
    if len(population.shares) > 1:
        return
    measured = part.values, part.variances, part.covariances
    _, g, inverses = densities(*measured, mean, spread, True)
    diagonal = np.einsum("nii->ni", inverses)
    with np.errstate(divide="ignore", invalid="ignore"):
        residuals = g / np.sqrt(diagonal)
        # A cell that the others determine has the variance of the floor, not its own.
        held = 1 / diagonal <= _HELD * FLOOR * np.diag(spread)
    gone = np.isnan(part.values) | held
    yield range(d), np.where(gone, np.nan, ndtr(residuals)).T
    square = np.einsum("ni,ni->n", g, np.nan_to_num(part.values - mean))
    count = np.sum(~np.isnan(part.values), axis=1)
    whole = gammainc(0.5 * np.maximum(count, 1), 0.5 * np.maximum(square, 0.0))
    yield [ROWS], np.where(held.any(axis=1), np.nan, whole)[None]
