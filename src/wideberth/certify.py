"""What a linear classifier can promise about samples that may have moved.

Class k scores f_k(x) = ⟨w_k,x⟩ + b_k and the highest score wins, the first of equals. A
move δ ∈ ρU changes f_p − f_k by at most ρΩ(w_p − w_k), and some δ attains that (theory
§1), so for a predicted class p and any move of size below

    r(x) = min_{k≠p} (f_p(x) − f_k(x)) / Ω(w_p − w_k)                      (exact)

nothing changes, while beyond it something can. "Size" is in units of the noise shape: δ
has size r when δ ∈ rU and no smaller multiple of U holds it. Two classes with one
weight vector w are the case w_1 = −w_0 = w/2, where r(x) = |f(x)|/Ω(w).

A random move that is normal with the covariance of U, an ellipsoid, changes f_p − f_k
by a normal number of standard deviation Ω(w_p − w_k). With r_k for class k it changes
the class with a chance of Σ_k Φ(−r_k) at most, and of Φ(−r) for two classes (theory
§1.4).

With error bars every sample has a set U_i of its own, and κ_i in place of Ω (theory
§8): r(x_i) counts its own errors.

Pure functions of arrays, which the estimators call. `values` are the scores f_k(x_i),
or those of the second class alone where `coef` is one vector; `labels` are class
numbers; `noise` is a shape, or the sets of the samples as `ErrorBars`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from wideberth.noise import ErrorBars, as_shape
from wideberth.problem.limits import CACHED_ENTRIES
from wideberth.problem.validation import check_per_sample


def decision_values(X, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """f_k(x_i) in float64, shape (n, K) or (n,) for one vector.

    float32 data is read in blocks and never copied whole.
    """
    n = X.shape[0]
    if X.dtype == np.float64:
        values = np.asarray(X @ coef.T) + intercept
    else:
        step = max(CACHED_ENTRIES // X.shape[1], 1)
        blocks = (X[k : min(k + step, n), :] for k in range(0, n, step))
        values = np.concatenate(
            [b.astype(np.float64) @ coef.T + intercept for b in blocks]
        )
    return values[:, 0] if len(coef) == 1 else values


def certified_radius(values, coef, noise="l2") -> np.ndarray:
    """r(x_i): how far each sample may move before its prediction can change.

    It is the length of the whole move in units of the noise, all features together. For
    ellipsoids it is also a z-score: a fresh normal move with the stated scales changes
    the prediction with probability Φ(−r), at most (K − 1)Φ(−r) for K classes. If every
    feature may be off at once in the worst direction, state a box (theory §1.4).

    Infinite where no move of this noise shape can change it; 0 on a tie that a move can
    break. For correlated noise it is rounded down by what a covariance leaves open.
    """
    return _class_radii(values, coef, noise).min(axis=1)


def chance_of_change(values, coef, noise) -> np.ndarray:
    """Σ_k Φ(−r_k(x_i)): the chance that a normal move changes each prediction.

    For more than two classes it is an upper bound.
    """
    chances = ndtr(-_class_radii(values, coef, noise))
    return np.minimum(chances.sum(axis=1), 1.0)


def _class_radii(values, coef, noise) -> np.ndarray:
    """r_k(x_i) for every class k, infinite for the predicted one."""
    values, coef = every_class(values, coef)
    winner = values.argmax(axis=1)
    lead = np.take_along_axis(values, winner[:, None], 1) - values
    support = falls(coef, noise, winner)
    # Where support is 0 the lead is what it is: no move changes it.
    return np.divide(lead, support, out=np.full_like(lead, np.inf), where=support > 0)


def label_distances(values, labels, coef, noise="l2") -> tuple[np.ndarray, np.ndarray]:
    """How far each sample is on the wrong side of its label, and the class it is in.

    The size of the least move that could make its label win: no smaller one does. 0
    where it wins already, infinite where no move of this noise can make it.
    """
    values, coef = every_class(values, coef)
    labels = np.asarray(labels)
    lead = values - np.take_along_axis(values, labels[:, None], 1)
    support = falls(-coef, noise, labels)
    worst = np.where(lead > 0, np.inf, 0.0)
    sizes = np.divide(lead, support, out=worst, where=support > 0)
    return np.maximum(sizes, 0.0).max(axis=1), values.argmax(axis=1)


def robust_correct(values, labels, coef, radius, noise="l2") -> np.ndarray:
    """Whether every move within radius_i leaves sample i predicted as labels_i."""
    values, coef = every_class(values, coef)
    lead = _robust_lead(values, labels, coef, radius, noise)
    # The first of equal scores wins, so a class beats later ones on a tie.
    later = np.arange(lead.shape[1]) > np.asarray(labels)[:, None]
    return np.all((lead > 0) | ((lead == 0) & later), axis=1)


def worst_case(values, labels, coef, radius, noise="l2") -> np.ndarray:
    """The move δ_i ∈ radius_i·U that favours some wrong class most, shape (n, d)."""
    labels, rival = np.asarray(labels), rivals(values, labels, coef, radius, noise)
    values, coef = every_class(values, coef)
    radii = check_per_sample(radius, len(labels), "radius")
    moves = np.empty((len(labels), coef.shape[1]))
    for label, other in np.unique(np.column_stack([labels, rival]), axis=0):
        rows = np.flatnonzero((labels == label) & (rival == other))
        unit = worst_moves(noise, rows, coef[other] - coef[label])
        moves[rows] = radii[rows, None] * unit
    return moves


def rivals(values, labels, coef, radius, noise="l2") -> np.ndarray:
    """The class that moves within radius_i favour most against labels_i."""
    values, coef = every_class(values, coef)
    return _robust_lead(values, labels, coef, radius, noise).argmin(axis=1)


def worst_moves(noise, rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Moves of the samples `rows` that attain κ_i(w) or Ω(w), one in a row or for all.

    Under a shape they are all the same.
    """
    if not isinstance(noise, ErrorBars):
        return np.atleast_2d(as_shape(noise, w.size).maximizer(w))
    return noise.take(rows).moves(w)


def every_class(values, coef) -> tuple[np.ndarray, np.ndarray]:
    """Scores and weights of all classes; one vector stands for −w/2 and w/2."""
    values, coef = np.asarray(values), np.asarray(coef, dtype=np.float64)
    if len(coef) > 1:
        return values, coef
    halves = np.array([[-0.5], [0.5]])
    return values[:, None] * halves.T, coef * halves


def falls(coef, noise, classes: np.ndarray) -> np.ndarray:
    """How far a move of size 1 lowers f_p − f_k, p = `classes`, for all k.

    That is κ_i(w_p − w_k), or Ω of it; of lopsided boxes it is the side that counts.
    """
    if not isinstance(noise, ErrorBars):
        return _pairwise_support(coef, noise)[classes]
    support = np.zeros((len(classes), len(coef)))
    for p in np.unique(classes).tolist():
        rows = np.flatnonzero(classes == p)
        own = noise.take(rows)
        for k in range(len(coef)):
            w = coef[p] - coef[k]  # 0 for k = p
            support[rows, k] = own.rises(-w) + own.support_errors(w)
    return support


def _pairwise_support(coef, noise) -> np.ndarray:
    """Ω(w_p − w_k) for every pair of classes."""
    shape, n_classes = as_shape(noise, coef.shape[1]), len(coef)
    support = np.zeros((n_classes, n_classes))
    for p in range(n_classes):
        for k in range(p):
            w = coef[p] - coef[k]
            # Never too little: what rounding leaves open of Ω counts as noise.
            open_part = shape.support_error * float(np.linalg.norm(w))
            support[p, k] = support[k, p] = shape.support(w) + open_part
    return support


def _robust_lead(values, labels, coef, radius, noise) -> np.ndarray:
    """The least f_y − f_k over all moves; infinite at k = y."""
    labels = np.asarray(labels)[:, None]
    radii = check_per_sample(radius, len(labels), "radius")[:, None]
    lead = np.take_along_axis(values, labels, 1) - values
    if radii.any():  # where nothing moves, how far a move leads is not asked
        lead -= radii * falls(coef, noise, labels[:, 0])
    np.put_along_axis(lead, labels, np.inf, 1)
    return lead
