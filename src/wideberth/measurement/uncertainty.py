"""How well a population is known from the rows that it was learned from.

With few rows the fitted μ and Σ are off, and the posteriors of new objects with them.
With P_i = (Σ + E_i)⁻¹ of the rows, filled up with zeros, and responsibilities γ

    δμ ~ N(0, M),                        M = (ΣγP_i)⁻¹
    δΣ ~ as Σ of N rows of N(0, W),      W = (Σγ + ν)(ΣγP_i + νΣ⁻¹)⁻¹

to first order; the target of the prior is an estimate too, which adds an error of the
same form. A wrong μ and Σ move the posterior mean and variance of ⟨u,true⟩ by

    ⟨r, δμ + δΣg⟩  and  rᵀδΣr ,          r = Σ⁻¹Vu,  g = Σ⁻¹(x̂ − μ)

so given the rows ⟨u,true⟩ has about Student's distribution (docs/theory/population.md,
9.7). Gaussian densities of measured rows become Student's in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, ndtr

from wideberth.kernels.gaussians import densities
from wideberth.measurement.population import (
    FLOOR,
    Measurements,
    Population,
    Posterior,
    Prior,
    among,
    posterior_of,
)

#: Degrees of freedom from which on Student's distribution is a Gaussian one: quantiles
#: differ by less than 10⁻⁶.
_GAUSSIAN = 1e6


@dataclass(frozen=True)
class PopulationUncertainty:
    """Errors of the means and covariances of a fitted population, K Gaussians.

    Two sources of error of Σ follow each other on the axis of length 2: the rows, and
    the target of the prior.
    """

    means: np.ndarray  # μ: (K, d)
    precisions: np.ndarray  # Σ⁻¹: (K, d, d)
    shifts: np.ndarray  # M: (K, d, d)
    scatters: np.ndarray  # W: (K, 2, d, d)
    rows: np.ndarray  # N: (K, 2)

    @classmethod
    def of(
        cls, population: Population, part: Measurements, prior: Prior
    ) -> PopulationUncertainty:
        """That of a population fitted to these rows."""
        K, d = population.means.shape
        precisions = np.linalg.inv(population.covariances)
        # A feature that no row of a Gaussian has keeps the information of the floor.
        counts, information = np.zeros(K), FLOOR * precisions
        for k, shares, inverses in _inverses(population, part):
            counts[k] += shares.sum()
            information[k] += np.tensordot(shares, inverses, 1)
        shifts = np.linalg.inv(information)
        # Rows with small errors tell more of Σ than others: Σγ tr(P_iM P_iM) ≥ d / Σγ.
        squares = np.zeros(K)
        for k, shares, inverses in _inverses(population, part):
            each = inverses @ shifts[k]
            squares[k] += shares @ np.einsum("nij,nji->n", each, each)
        nu, total = prior.rows, counts + prior.rows
        scatters = np.linalg.inv(information + nu[:, None, None] * precisions)
        known = np.broadcast_to(prior.known, (K, d))[:, None]
        pulls = nu[:, None, None] * scatters @ precisions * known**-0.25
        targets = pulls @ population.covariances @ pulls.transpose(0, 2, 1)
        return cls(
            population.means,
            precisions,
            shifts,
            np.stack([total[:, None, None] * scatters, targets], axis=1),
            np.column_stack([counts**2 * squares / max(d, 1) + nu, np.ones(K)]),
        )

    def among(self, columns: np.ndarray) -> PopulationUncertainty:
        """The same among more features, of which these were the columns (a mask)."""
        return replace(
            self,
            means=among(self.means, columns),
            precisions=among(self.precisions, columns, 2),
            shifts=among(self.shifts, columns, 2),
            scatters=among(self.scatters, columns, 2),
        )

    def in_units(self, centre, scale) -> PopulationUncertainty:
        """The same for x that was (x − centre) / scale."""
        outer = scale[:, None] * scale
        return replace(
            self,
            means=centre + scale * self.means,
            precisions=self.precisions / outer,
            shifts=self.shifts * outer,
            scatters=self.scatters * outer,
        )

    def student(self, posterior: Posterior, u) -> tuple[np.ndarray, np.ndarray]:
        """Scale and degrees of freedom of ⟨u,true⟩ under each Gaussian, (K, n) each.

        u has shape (n, d), a direction for each object, or (d,).
        """
        u = np.broadcast_to(u, posterior.mean.shape)
        found = [self._student(k, posterior, u) for k in range(len(self.means))]
        scales, degrees = zip(*found, strict=True)
        return np.array(scales), np.array(degrees)

    def _student(self, k: int, posterior: Posterior, u: np.ndarray):
        pull = np.einsum("nij,nj->ni", posterior.covariances[k], u)  # Vu
        r = pull @ self.precisions[k]
        g = posterior.means[k] - posterior.shift - self.means[k]
        g = g @ self.precisions[k]
        own = np.maximum(_form(r, pull), 0.0)  # rᵀΣr, the population's part of uᵀVu
        moved = _form(r @ self.shifts[k], r)
        doubt = np.zeros(len(u))  # variance of rᵀδΣr
        for W, rows in zip(self.scatters[k], self.rows[k], strict=True):
            rW, gW = r @ W, g @ W
            rWr = _form(rW, r)
            moved += (rWr * _form(gW, g) + _form(rW, g) ** 2) / rows
            doubt += 2 * rWr**2 / rows
        # rᵀΣr is not negative: its mean, were it normal and cut off at 0.
        error = np.sqrt(doubt)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            steps = np.where(error > 0, own / error, np.inf)
            lifted = error * np.exp(-0.5 * steps**2) / np.sqrt(2 * np.pi) / ndtr(steps)
            square = np.maximum(_form(u, pull), 0.0) + moved + lifted
            degrees = np.where(doubt > 0, 2 * square**2 / doubt, np.inf)
        return np.sqrt(square), np.minimum(degrees, _GAUSSIAN)

    def log_ratio(self, k: int, part: Measurements, gradients, inverses) -> np.ndarray:
        """Log of Student's density over the Gaussian one of measured rows."""
        cells = (np.einsum("nii->ni", inverses) > 0).sum(axis=1)
        off = np.nan_to_num(part.values - self.means[k])
        square = np.maximum(_form(gradients, off), 0.0)
        there = square > 0
        inverse = 1 / np.where(there, square, 1.0)
        # How much wider S + M is than S: along x − μ, and its determinant per cell.
        along = _form(gradients @ self.shifts[k], gradients) * inverse
        volume = np.einsum("nij,ji->n", inverses, self.shifts[k])
        volume /= np.maximum(cells, 1)
        doubt = np.zeros(len(square))  # variance of gᵀδΣg / gᵀSg
        for W, rows in zip(self.scatters[k], self.rows[k], strict=True):
            doubt += 2 * (_form(gradients @ W, gradients) * inverse) ** 2 / rows
        nu = np.where(doubt > 0, 2 / np.where(doubt > 0, doubt, 1.0), _GAUSSIAN)
        nu = np.minimum(nu, _GAUSSIAN)
        half = 0.5 * (nu + cells)
        norm = gammaln(half) - gammaln(0.5 * nu) - 0.5 * cells * np.log(0.5 * nu)
        norm -= 0.5 * cells * np.log1p(volume)
        return norm - half * np.log1p(square / (1 + along) / nu) + 0.5 * square


def _form(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """⟨a_i, b_i⟩ of all rows."""
    return np.einsum("ni,ni->n", a, b)


def _inverses(population: Population, part: Measurements) -> Iterator[tuple]:
    """Of blocks of rows: the number of a Gaussian, its responsibilities, and S⁻¹."""
    for block in part.blocks():
        shares = posterior_of(population, block, False).responsibilities
        cells = block.values, block.variances, block.covariances
        for k, mean in enumerate(population.means):
            spread = population.covariances[k]
            _, _, inverses = densities(*cells, mean, spread, True)
            yield k, shares[:, k], inverses
