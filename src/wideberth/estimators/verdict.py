"""A verdict for every object: class, margin, doubt, and what to measure again.

With scores f_k(x) = ⟨w_k,x⟩ + b_k the class p is that of the posterior mean x̂. Against
another class k the object leads by f = ⟨u,x̂⟩ + c, u = w_p − w_k, with the spread
σ = √(uᵀVu). Were the population known exactly, the chance that its true features are on
the other side would be Φ(−f/σ). It is estimated, so the lead has Student's
distribution with a scale s ≥ σ (`measurement/uncertainty.py`), and the chance is
T(−f/s); for several Gaussians Σ_c γ_c T_c(−f_c/s_c). Chances of other classes add up to
no less than the chance that any of them wins; with two classes to that chance itself.

Were cell j known exactly, the variance uᵀVu would fall by (Vu)_j²/V_jj, whatever its
value is (docs/theory/population.md). The cell where that is most is the one to measure
again; gaps count like cells with errors.

Behind a kernel f is no line (`score_functions.py`). Its variance then falls in the mean
by Cov(f, x_j)²/V_jj at least, which for a line is the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from wideberth.certify import every_class
from wideberth.measurement.radius import check_confidence
from wideberth.noise.sums import ratio

#: Seconds between lines of progress.
_PAUSE = 2.0


@dataclass(frozen=True)
class Verdict:
    """Classes of n objects and their certainty, given the errors of each object.

    Attributes
    ----------
    label : array of shape (n,)
        The predicted class.
    margin : array of shape (n,)
        Score of the class minus that of the runner-up, ≥ 0.
    spread : array of shape (n,)
        Standard deviation of the margin, from errors and missing values of the object.
    chance : array of shape (n,)
        Probability that the true features belong to another class. With more than two
        classes it is an upper bound, the sum over the other classes. It allows for the
        number of rows from which the population was learned.
    certain : array of bool of shape (n,)
        Whether `chance` is at most 1 − `confidence`.
    runner_up : array of shape (n,)
        The most probable other class.
    remeasure : array of shape (n,)
        The cell whose exact value would reduce the variance of the margin most: the
        name of a feature, or its number if features have no names; None or −1 if all
        cells are exact.
    share : array of shape (n,)
        The fraction of this variance that would be removed.
    confidence : float
    """

    label: np.ndarray
    margin: np.ndarray
    spread: np.ndarray
    chance: np.ndarray
    certain: np.ndarray
    runner_up: np.ndarray
    remeasure: np.ndarray
    share: np.ndarray
    confidence: float = 0.95

    def __len__(self) -> int:
        return len(self.label)


def verdict(denoised, X, X_err, confidence, names=None, report=None) -> Verdict:
    """Verdicts of a fitted pipeline in its parts (`denoised.py`).

    `names` are those of the raw features, where they have any. `report` is called with
    a line every two seconds.
    """
    check_confidence(confidence)
    parts, done, said = [], 0, time.perf_counter()
    for found in denoised.posteriors(X, X_err):
        parts.append(_block(denoised, found))
        done += len(found.mean)
        if report is not None and time.perf_counter() > said + _PAUSE:
            said = time.perf_counter()
            report(f"verdicts of {done} of {len(X)} rows")
    winner, rival, margin, spread, chance, cell, share = map(
        np.concatenate, zip(*parts, strict=True)
    )
    classes = np.asarray(denoised.classifier.classes_)
    return Verdict(
        label=classes[winner],
        margin=margin,
        spread=spread,
        chance=chance,
        certain=chance <= 1 - confidence,
        runner_up=classes[rival],
        remeasure=_named(cell, denoised.columns, names),
        share=share,
        confidence=float(confidence),
    )


def _block(denoised, found) -> tuple:
    """Winner, rival, margin, spread, chance, cell and share of a block of objects."""
    coef, intercept = denoised.weights
    shifts, coef = every_class(intercept, coef)
    shifts = np.ravel(shifts)
    scores = denoised.class_scores(found.mean)
    rows, winner = np.arange(len(scores)), scores.argmax(axis=1)
    chances, lead = np.zeros_like(scores), scores[rows, winner][:, None] - scores
    variances, pulls = (
        np.zeros_like(scores),
        np.zeros((*scores.shape, found.mean.shape[1])),
    )
    for p in np.unique(winner).tolist():
        own = np.flatnonzero(winner == p)
        part = found.take(own)
        for k in range(len(coef)):
            if k != p:
                ahead = denoised.function(coef[p] - coef[k], shifts[p] - shifts[k])
                chances[own, k], pulls[own, k], variances[own, k] = (
                    ahead.chance_and_covariance(part)
                )
    chances[rows, winner] = -1.0  # never its own rival, of two that are equal neither
    rival = np.lexsort((lead, -chances), axis=1)[:, 0]
    chances[rows, winner] = 0.0
    variance = variances[rows, rival]
    cell, share = cell_to_measure(found.covariance, pulls[rows, rival], variance)
    margin, chance = lead[rows, rival], np.minimum(chances.sum(axis=1), 1.0)
    return winner, rival, margin, np.sqrt(variance), chance, cell, share


def cell_to_measure(covariance, pull, variance) -> tuple[np.ndarray, np.ndarray]:
    """The cell of each row whose exact value lowers the variance of f most, the share.

    `pull` is Cov(f, x), of shape (n, d). The cell is −1 where nothing falls.
    """
    falls = pull**2 * ratio(1.0, np.einsum("ndd->nd", covariance))
    cell = falls.argmax(axis=1)
    most = np.take_along_axis(falls, cell[:, None], axis=1)[:, 0]
    share = np.minimum(most * ratio(1.0, variance), 1.0)
    return np.where(share > 0, cell, -1), share


def _named(cell: np.ndarray, columns: np.ndarray | None, names) -> np.ndarray:
    """Numbers of cells behind the steps ahead as raw features, by name if they have."""
    if columns is None:
        return cell
    return named_cells(np.where(cell >= 0, columns[cell], -1), names)


def named_cells(cell: np.ndarray, names) -> np.ndarray:
    """Numbers of features by name, if they have; −1 becomes None."""
    if names is None:
        return cell
    return np.array([None if j < 0 else names[j] for j in cell.tolist()], dtype=object)
