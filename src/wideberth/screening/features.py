"""Features proven to have no weight, under noise that selects features (theory §10).

Under boxes a feature k has w*_k = 0 iff Φ_k = ±d*_k − t*_k ≤ 0 for both signs, where

    d*_k = Σα*_i z_ik,   t*_k = s₀τ_k + Σα*_i e_ik,   e_ik = ρ_iτ_k or that of the cell.

Of α* the decided samples are known, and folded; of the free ones F three things are:

* the box, 0 ≤ α*_i ≤ c_i;
* a budget. With the slacks u_i = 1 − ψ_i(w,b) of the primal point and the midpoint ball
  (m, r), the inequalities behind that ball (theory §4.2) leave room for the loss of
  complementarity between w and α*, every term of which is at least 0:

      Σ_F (c_i[u_i]_+ − α*_i u_i) ≤ β − ‖w* − m‖²,   β = r²;

* a row for every feature j whose sign σ_j the ball proves: d*_j − σ_jt*_j = w*_j. A
  penalised intercept is such a row, of √λ_b b*; a free one is a row of 0.

Weak duality. For any multipliers λ of the rows and ν > 0 of the budget, with a_ij =
z_ij − σ_je_ij, h_i = ±z_ik − e_ik − Σ_jλ_ja_ij, and d⁰, t⁰ what is folded,

    Φ_k ≤ ±d⁰_k − t⁰_k + Σ_jλ_j(m_j − d⁰_j + σ_jt⁰_j) + ‖λ‖²/4ν + νβ
          + Σ_F c_i([h_i + νu_i]_+ − ν[u_i]_+)

since ⟨λ,w*⟩ − ν‖w* − m‖² ≤ ⟨λ,m⟩ + ‖λ‖²/4ν. With λ = 0 and ν = 0 it is the box alone.
Every choice is safe. λ is the ridge solution of min ‖W(g − Aλ)‖² + β‖λ‖² with W_i =
min(c_i, β/|u_i|), the room that box and budget leave α*_i: one factorisation for all
features, and at the optimum h = 0 wherever 0 < α*_i < c_i. ν is the best of a few.

Rounding. λ and ν are the numbers that they are; what is rounded is the right side. It
is a sum of at most 2|F| + 2|J| + d terms in a row, each a product of a few numbers, of
which none is larger in sum than `_Free.size`; slacks are off by `slack_rounding`, of
which a sample adds c_iν times, and folded sums by their own bounds. A feature is proven
if the right side and all of this are at most 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from wideberth.problem import Folded, Pair, Problem
from wideberth.problem.error_bars import Boxes
from wideberth.problem.limits import CACHED_ENTRIES, EPS, LITTLE, MOST_STEPS, TINY
from wideberth.problem.polyhedra import Box
from wideberth.problem.rounding import accurate_sum, slack_rounding, totals_rounding
from wideberth.problem.rows import Rows, gamma
from wideberth.screening.bounds import quick_test
from wideberth.screening.partition import Partition, screen_points
from wideberth.screening.reduction import Reduction
from wideberth.screening.regions import midpoint_radius

#: Powers of the ratio between the largest and the least ν that are tried.
_SHARES = np.linspace(0.0, 1.0, 8)
#: Multiples of the ridge solution that are tried; 0 is box and budget alone.
_PARTS = (1.0, 0.5, 0.0)


def screen_features(
    problem: Problem,
    pair: Pair,
    partition: Partition | None = None,
    columns: np.ndarray | None = None,
) -> np.ndarray:
    """Mask of the features proven to have w*_j = 0.

    Parameters
    ----------
    problem : Problem
        Of any noise; what is not a box, for all samples or for every cell, proves
        nothing.
    pair : Pair
        Any points of it. The closer they are to the optimum, the more is proven.
    partition : Partition, optional
        What is decided of the samples; by default what the pair tells.
    columns : array of indices, optional
        Features to test; by default all.
    """
    zero, d = np.zeros(problem.rows.d, dtype=bool), problem.rows.d
    radius = midpoint_radius(problem, pair)
    if not isinstance(problem.noise, Box | Boxes) or not np.isfinite(radius):
        return zero
    if partition is None:
        test = quick_test(problem, "ellipsoid")
        partition = screen_points(problem, pair, test=test)
    free = _Free.of(problem, pair, partition, radius)
    columns = np.arange(d) if columns is None else np.asarray(columns)
    # The right side is never below Φ_k of the dual point, whatever the multipliers.
    columns = columns[pair.dual.w[columns] == 0]
    zero[columns] = free.stored(columns)
    columns = columns[~zero[columns]]
    columns = columns[np.argsort(np.abs(pair.dual.d[columns]) / free.most[columns])]
    columns = columns[: free.affordable(problem.rows.entries())]
    at_once = max(CACHED_ENTRIES // max(free.problem.n, 1), 1)
    for start in range(0, columns.size, at_once):
        part = columns[start : start + at_once]
        zero[part] = free.proves(part)
    return zero


def screen_both(
    problem: Problem, pair: Pair, region: str = "ellipsoid", test: str | None = None
) -> tuple[Partition, np.ndarray]:
    """Samples decided and features proven zero, each with the help of the other.

    Without the features that are 0 samples are shorter and less noisy, which decides
    more of them; and the fewer are free, the more features are proven.
    """
    found = screen_points(problem, pair, region=region, test=test)
    zero = screen_features(problem, pair, found)
    small, kept, news = problem, np.arange(problem.rows.d), zero
    for _ in range(MOST_STEPS):
        if not news.any():
            break
        stay = np.flatnonzero(~news)
        small, kept = small.with_features(stay), kept[stay]
        point = small.at(pair.point.w[stay], pair.point.b)
        pair = Pair(point, small.dual_at(pair.dual.alpha, near=pair.dual.w[stay]))
        more = screen_points(small, pair, region=region, test=test)
        removed = found.removed | more.removed
        found = replace(
            found,
            removed=removed,
            saturated=(found.saturated | more.saturated) & ~removed,
            lower=np.fmax(found.lower, more.lower),
            upper=np.fmin(found.upper, more.upper),
        )
        news = screen_features(small, pair, found)
        zero[kept[news]] = True
    return found, zero


@dataclass(frozen=True)
class _Free:
    """The free samples, and what a pair tells of their α*."""

    problem: Problem  # reduced to them
    slack: np.ndarray  # u
    budget: float  # β
    d: np.ndarray  # d⁰
    t: np.ndarray  # t⁰
    most: np.ndarray  # t_k at its largest, never 0
    known: np.ndarray  # features of known sign
    rows: np.ndarray  # A: a column for each of them, and for an intercept
    beyond: np.ndarray  # m_j − d⁰_j + σ_jt⁰_j of these columns
    costs: np.ndarray  # 1, or 0 for the column of a free intercept
    size: float  # what rounding is a share of: Σ|terms|, for λ of length 1
    share: float
    fold_error: float  # of d⁰ and t⁰
    slack_error: float  # of Σ_F c_iu_i
    columns: _Columns

    @classmethod
    def of(cls, problem, pair: Pair, partition: Partition, radius: float) -> _Free:
        """Fold what is decided, and gather what is known."""
        point, dual, intercept = pair.point, pair.dual, problem.intercept
        small = Reduction.of(problem).shrink(partition).problem
        fold = small.folded
        columns = _Columns(small.rows, small.radii, small.noise)
        d, t = np.zeros(small.rows.d), np.zeros(small.rows.d)
        if fold is not None:
            d, t = fold.d, columns.folded(fold)
        # Of ½‖w*−w_α‖², which is part of β, w_α is known but for its rounding.
        off = dual.center_rounding
        budget = radius**2 + 2 * off * (np.sqrt(2 * pair.certificate.bound) + off)
        center = 0.5 * (point.w + dual.w)
        known = np.flatnonzero(np.abs(center) > radius * (1 + gamma(8)))
        signs = np.sign(center[known])
        z, e = columns(known)
        rows, beyond = z - signs * e, center[known] - d[known] + signs * t[known]
        costs, extra = np.ones(known.size + (intercept is not None)), 0.0
        if intercept is not None:
            # √λ_b b* is known like a weight, Σα*_iy_i = 0 without any cost.
            extra, costs[-1] = 1 / np.sqrt(intercept or 1.0), float(intercept > 0)
            b = 0.5 * (point.b + dual.b) * np.sqrt(intercept)
            balance = 0.0 if fold is None else fold.balance
            rows = np.column_stack((rows, extra * small.y))
            beyond = np.append(beyond, b - extra * balance)
        reach = small.rows.norms() + small.sample_noise.lipschitz(small.rows.d) + extra
        size = accurate_sum(small.weights * reach) + float(np.linalg.norm(t))
        size += float(np.linalg.norm(beyond)) + float(np.linalg.norm(center))
        if fold is not None:
            size += fold.mass + extra * fold.total
        supports = small.sample_noise.supports(point.w)
        errors = slack_rounding(small, point.w, point.b, supports)
        return cls(
            small,
            point.slack[partition.free],
            max(budget * (1 + gamma(16)), TINY),
            d,
            t,
            np.maximum(t + columns.totals(small.weights), TINY),
            known,
            rows,
            beyond,
            costs,
            size,
            gamma(8 * (small.n + small.rows.d + 16)) + 4 * totals_rounding(small),
            0.0 if fold is None else fold.rounding + columns.fold_error(fold),
            2 * accurate_sum(small.weights * errors),
            columns,
        )

    def affordable(self, entries: int) -> int:
        """How many columns may be tested at the price of a few passes over the rows."""
        each = max(self.problem.n, 1) * (self.rows.shape[1] + MOST_STEPS)
        return int(MOST_STEPS * max(entries, CACHED_ENTRIES) // each)

    def proves(self, J: np.ndarray) -> np.ndarray:
        """Which of the features J are proven zero, with multipliers of all rows."""
        z, e = self.columns(J)
        proven = np.ones(J.size, dtype=bool)
        for sign in (1.0, -1.0):
            left = np.flatnonzero(proven)
            g = sign * z[:, left] - e[:, left]
            multipliers = self.multipliers(g)
            highest = [
                self._highest(J[left], sign, g, part * multipliers) for part in _PARTS
            ]
            proven[left] = np.min(highest, axis=0) <= 0
        return proven

    def multipliers(self, g: np.ndarray) -> np.ndarray:
        """λ of min ‖W(g − Aλ)‖² + β‖λ‖², a column for each of g."""
        c, u = self.problem.weights, np.abs(self.slack)
        width = np.minimum(c, self.budget / np.maximum(u, TINY))[:, None]
        scale = np.sqrt(self.budget * np.where(self.costs > 0, 1.0, np.sqrt(EPS)))
        M, right = width * self.rows / scale, width * g
        ridge = np.eye(min(M.shape))
        try:
            if M.shape[0] < M.shape[1]:
                found = M.T @ la.solve(ridge + M @ M.T, right, assume_a="pos")
            else:
                found = la.solve(ridge + M.T @ M, M.T @ right, assume_a="pos")
        except (la.LinAlgError, ValueError):  # overflow: then the plain budget
            found = np.zeros((M.shape[1], g.shape[1]))
        return found / scale[:, None]

    def stored(self, J: np.ndarray) -> np.ndarray:
        """Which of the features J are proven zero by box and budget alone.

        Of sparse rows only what they store is read: cells that are 0 have h_i ≤ 0,
        which adds nothing.
        """
        proven = np.zeros(J.size, dtype=bool)
        if not self.columns.sparse or not J.size:
            return proven
        z, e, i, k = self.columns.stored()
        c, u, d = self.problem.weights[i], self.slack[i], self.d.size
        worst = np.full(d, -np.inf)
        for sign in (1.0, -1.0):
            h = sign * z - e

            def hinges(nu, h=h):
                loss = np.maximum(h + nu[k] * u, 0.0) - nu[k] * np.maximum(u, 0.0)
                return np.bincount(k, c * loss, minlength=d)

            fixed, none = sign * self.d - self.t, np.zeros(d)
            worst = np.maximum(worst, self._least(fixed, none, none, self.most, hinges))
        return worst[J] <= 0

    def _highest(self, J, sign, g, multipliers) -> np.ndarray:
        """The right side with its rounding, for the best ν."""
        c, u = self.problem.weights, self.slack[:, None]
        h = g - self.rows @ multipliers
        loss = accurate_sum(c * np.maximum(self.slack, 0.0))
        return self._least(
            sign * self.d[J] - self.t[J] + self.beyond @ multipliers,
            np.linalg.norm(multipliers, axis=0),
            self.costs @ multipliers**2,
            self.most[J],
            lambda nu: c @ np.maximum(h + u * nu, 0.0) - nu * loss,
        )

    def _least(self, fixed, length, squares, most, hinges) -> np.ndarray:
        """The right side for the best ν; Σ_F c_i([h_i+νu_i]_+ − ν[u_i]_+) by `hinges`.

        ‖λ‖²/4ν + νβ alone is least at ν = ‖λ‖/2√β, and the hinges ask for a larger one,
        up to where the budget alone costs all of t_k.
        """
        beta, c, share = self.budget, self.problem.weights, self.share
        error = share * self.size + self.fold_error
        fixed = fixed + (1 + length) * error
        best = np.where(squares == 0, fixed + hinges(np.zeros(fixed.size)), np.inf)
        force = beta + 2 * share * (beta + accurate_sum(c * np.abs(self.slack)))
        force += self.slack_error
        end = most / beta
        start = np.minimum(
            np.maximum(np.sqrt(squares / beta) / 2, LITTLE**4 * end), end
        )
        for part in _SHARES:
            nu = start * (end / start) ** part
            level = fixed + hinges(nu) + nu * force
            level += (1 + 2 * share) * squares / (4 * nu)
            np.fmin(best, level, out=best)
        return best


@dataclass(frozen=True)
class _Columns:
    """z_ij and e_ij of the free samples, feature by feature."""

    rows: Rows
    radii: np.ndarray
    noise: Any  # Box or Boxes

    @property
    def sparse(self) -> bool:
        """Whether cells that are 0 are not stored, and their noise is known by row."""
        return sp.issparse(self.rows.X) and isinstance(self.noise, Box)

    @cached_property
    def _tables(self) -> list:
        """What columns are picked out of."""
        tables = [self.rows.X]
        if isinstance(self.noise, Boxes):
            tables.append(self.noise.table.X)
        return [table.tocsc() if sp.issparse(table) else table for table in tables]

    @property
    def _tolerances(self) -> np.ndarray:
        return np.broadcast_to(self.noise.scales, (self.rows.d,))

    def __call__(self, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z_ij and e_ij of the features J, dense."""
        X, *errors = (
            table[:, J].toarray() if sp.issparse(table) else table[:, J]
            for table in self._tables
        )
        z = X * self.rows.y[:, None]
        if errors:
            return z, errors[0] * self.radii[:, None]
        return z, np.outer(self.radii, self._tolerances[J])

    def stored(self) -> tuple[np.ndarray, ...]:
        """z_ij, e_ij, i and j of the cells that sparse rows store."""
        X = self.rows.X
        i = np.repeat(np.arange(self.rows.n), np.diff(X.indptr))
        e = self.radii[i] * self._tolerances[X.indices]
        return X.data * self.rows.y[i], e, i, X.indices

    def totals(self, a: np.ndarray) -> np.ndarray:
        """Σ a_ie_ij of every feature."""
        if isinstance(self.noise, Boxes):
            return self.noise.table.combine(a * self.radii)
        return accurate_sum(a * self.radii) * self._tolerances

    def folded(self, fold: Folded) -> np.ndarray:
        """Σ c_ie_ij of folded samples, and a norm penalty."""
        if isinstance(self.noise, Box):
            return fold.s * self._tolerances
        parts = (bars.table.combine(a) for bars, a in fold.pushes.parts)
        return sum(parts, np.zeros(self.rows.d))

    @staticmethod
    def fold_error(fold: Folded) -> float:
        """What rounding changes that by, beyond the number of terms."""
        parts = fold.pushes.parts
        return sum(
            bars.pull_rounding * float(a @ bars.lipschitz()) for bars, a in parts
        )
