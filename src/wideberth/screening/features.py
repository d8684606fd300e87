"""Features proven zero, from bounds on the dual weights of free samples (theory §10).

Under boxes a feature k has w*_k = 0 iff Φ_k = ±d*_k − t*_k ≤ 0 for both signs, where

    d*_k = Σα*_i z_ik,   t*_k = s₀τ_k + Σα*_i e_ik,   e_ik = ρ_iτ_k or that of the cell.

α*_i of decided samples is known, and they are folded. Of the free samples F a pair of
points proves three things:

* the box, 0 ≤ α*_i ≤ c_i;
* a budget. With the slacks u_i = m_i − ψ_i(w,b) of the primal point and the midpoint
  ball (m, r), the inequalities behind that ball (theory §4.2) bound the loss of
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
min(c_i, β/|u_i|), the width of the interval that box and budget leave α*_i: one
factorisation for all features, and at the optimum h = 0 wherever 0 < α*_i < c_i. ν is
the best of a few.

Rounding. Any λ and ν are safe, so only the evaluation of the right side is rounded.
Each of its terms passes through at most 8(|F| + d + 16) operations, and Σ|terms| is at
most (1 + ‖λ‖)·`size` + ν(β + 2Σc_i|u_i|) + ‖λ‖²/4ν. Errors of the slacks
(`slack_rounding`) enter with the factor 2c_iν, those of d⁰ and t⁰ with bounds of their
own. All of it is added: a feature is proven if the right side is at most 0 in exact
arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from wideberth.problem import Pair, Problem
from wideberth.problem.limits import CACHED_ENTRIES, EPS, LITTLE, MOST_STEPS, TINY
from wideberth.problem.rounding import accurate_sum, slack_rounding, totals_rounding
from wideberth.problem.rows import gamma
from wideberth.screening.decisions import Partition, Reduction, screen_points
from wideberth.screening.regions import midpoint_radius
from wideberth.screening.tests import quick_test

#: Powers of the ratio of the largest ν to the least, in the order in which they are
#: tried: a choice; on 25 problems of five kinds 4 prove 1 % fewer zeros than 8 do.
_POWERS = 0.4, 0.6, 0.2, 0.8, 0.0, 1.0


def screen_features(
    problem: Problem, pair: Pair, partition: Partition | None = None
) -> np.ndarray:
    """Mask of the features proven to have w*_j = 0, of shape (d,).

    Any pair of points will do; the closer to the optimum, the more is proven. Noise
    that is not a box, shared or per cell, proves nothing. `partition` says what is
    decided of the samples; by default what the pair proves.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth.problem import Pair, Problem
    >>> X = np.array([[2.0, 0.1], [1.5, -0.1], [-2.0, 0.1], [-1.5, -0.1]])
    >>> problem = Problem.from_data(X, [1, 1, 0, 0], radius=0.2, noise="linf")
    >>> point = problem.at(np.array([0.7, 0.0]))
    >>> pair = Pair(point, problem.dual_at(np.array([0.0, 0.3, 0.0, 0.3])))
    >>> screen_features(problem, pair)
    array([False,  True])
    """
    zero = np.zeros(problem.rows.d, dtype=bool)
    radius = midpoint_radius(problem, pair)
    if not problem.noise.separable or not np.isfinite(radius):
        return zero
    if partition is None:
        test = quick_test(problem, "ellipsoid")
        partition = screen_points(problem, pair, test=test)
    free = FreeDuals.of(problem, pair, partition, radius)
    # The right side is never below Φ_k of the dual point, whatever the multipliers.
    columns = np.flatnonzero(pair.dual.w == 0)
    with np.errstate(all="ignore"):  # what overflows proves nothing
        zero[columns] = free.stored(columns)
        columns = columns[~zero[columns]]
        near = np.abs(pair.dual.d[columns]) / free.most[columns]
        columns = columns[np.argsort(near)][: free.affordable(problem.rows.entries())]
        at_once = max(CACHED_ENTRIES // max(free.problem.n, 1), 1)
        for start in range(0, columns.size, at_once):
            part = columns[start : start + at_once]
            zero[part] = free.proves(part)
    return zero


def screen_both(
    problem: Problem, pair: Pair, region: str = "ellipsoid", test: str | None = None
) -> Partition:
    """Samples decided and features proven zero, each with the help of the other.

    Without the features that are 0 samples are shorter and less noisy, which decides
    more of them; and the fewer are free, the more features are proven. The region of
    the partition is that of the problem as given.
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
    return replace(found, removed_features=zero)


@dataclass(frozen=True)
class FreeDuals:
    """The free samples, and what a pair of points proves of their α*."""

    problem: Problem  # of the free samples, saturated ones folded
    slack: np.ndarray  # u
    budget: float  # β
    d: np.ndarray  # d⁰
    t: np.ndarray  # t⁰
    most: np.ndarray  # t_k at its largest, never 0
    known: np.ndarray  # features of known sign
    rows: np.ndarray  # A: a column for each of them, and for an intercept
    beyond: np.ndarray  # m_j − d⁰_j + σ_jt⁰_j of these columns
    costs: np.ndarray  # 1, or 0 for the column of a free intercept
    size: float  # Σ|terms| for λ of length 1, of which `relative` bounds the rounding
    relative: float
    fold_error: float  # of d⁰ and t⁰
    slack_error: float  # of Σ_F c_iu_i

    @classmethod
    def of(cls, problem, pair: Pair, partition: Partition, radius: float) -> FreeDuals:
        """Fold the decided samples, and sum up what is known of the others."""
        point, dual, intercept = pair.point, pair.dual, problem.intercept
        small = Reduction.of(problem).shrink(partition).problem
        fold, outside = small.folded, small.outside
        d, t = np.zeros(small.rows.d), outside.box(small.rows.d)
        largest = outside.lipschitz(small.rows.d)  # of any entry of t
        fold_error = outside.rounding * largest
        if fold is not None:
            d = fold.d
            fold_error += fold.rounding + gamma(small.chain) * largest
        # Of ½‖w*−w_α‖², which is part of β, w_α is known but for its rounding.
        off = dual.center_rounding
        budget = radius**2 + 2 * off * (np.sqrt(2 * pair.certificate.bound) + off)
        budget *= 1 + gamma(16)
        reach = radius * (1 + gamma(8))
        center = 0.5 * (point.w + dual.w)
        known = np.flatnonzero(np.abs(center) > reach)
        signs = np.sign(center[known])
        z, e = dense_cells(small, known)
        rows, beyond = z - signs * e, center[known] - d[known] + signs * t[known]
        costs, extra = np.ones(known.size + (intercept is not None)), 0.0
        if intercept is not None:
            # √λ_b b* is known like a weight, Σα*_iy_i = 0 without any cost.
            extra, costs[-1] = 1 / np.sqrt(intercept or 1.0), float(intercept > 0)
            b = 0.5 * (point.b + dual.b) * np.sqrt(intercept)
            balance = 0.0 if fold is None else fold.balance
            rows = np.column_stack((rows, extra * small.y))
            beyond = np.append(beyond, b - extra * balance)
        reach = small.rows.norms() + small.noise.lipschitz(small.rows.d) + extra
        size = accurate_sum(small.weights * reach) + float(np.linalg.norm(t))
        size += float(np.linalg.norm(beyond)) + float(np.linalg.norm(center))
        if fold is not None:
            size += fold.mass + extra * fold.weight
        supports = small.noise.supports(point.w)
        errors = slack_rounding(small, point.w, point.b, supports)
        return cls(
            small,
            point.slack[partition.free],
            max(budget, TINY),
            d,
            t,
            np.maximum(t + small.noise.sum(small.weights).box(small.rows.d), TINY),
            known,
            rows,
            beyond,
            costs,
            size,
            gamma(8 * (small.n + small.rows.d + 16)) + 4 * totals_rounding(small),
            fold_error,
            2 * accurate_sum(small.weights * errors),
        )

    def affordable(self, entries: int) -> int:
        """How many columns may be tested at the price of a few passes over the rows."""
        each = max(self.problem.n, 1) * (self.rows.shape[1] + MOST_STEPS)
        return int(MOST_STEPS * max(entries, CACHED_ENTRIES) // each)

    def proves(self, J: np.ndarray) -> np.ndarray:
        """Which of the features J are proven zero, with multipliers of all rows."""
        z, e = dense_cells(self.problem, J)
        above = self._proves(J, 1.0, z - e)
        both = np.flatnonzero(above)
        above[both] = self._proves(J[both], -1.0, -z[:, both] - e[:, both])
        return above

    def _proves(self, J: np.ndarray, sign: float, g: np.ndarray) -> np.ndarray:
        """Whether ±d*_k − t*_k ≤ 0, by the ridge solution or by λ = 0."""
        multipliers = self.multipliers(g)
        proven = self.highest(J, sign, g, multipliers) <= 0
        left = np.flatnonzero(~proven)
        plain = self.highest(J[left], sign, g[:, left], 0 * multipliers[:, left])
        proven[left] = plain <= 0
        return proven

    @cached_property
    def _ridge(self):
        """W, the scales of λ, WA in these, and the factor that is the smaller one."""
        u = np.maximum(np.abs(self.slack), TINY)
        width = np.minimum(self.problem.weights, self.budget / u)[:, None]
        # A free intercept costs nothing; next to nothing keeps the matrix regular.
        scale = np.sqrt(self.budget * np.where(self.costs > 0, 1.0, np.sqrt(EPS)))
        M = width * self.rows / scale
        gram = M @ M.T if M.shape[0] < M.shape[1] else M.T @ M
        return width, scale, M, la.cho_factor(np.eye(len(gram)) + gram)

    def multipliers(self, g: np.ndarray) -> np.ndarray:
        """λ of min ‖W(g − Aλ)‖² + β‖λ‖², a column for each of g."""
        try:
            width, scale, M, factor = self._ridge
            if M.shape[0] < M.shape[1]:
                found = M.T @ la.cho_solve(factor, width * g)
            else:
                found = la.cho_solve(factor, M.T @ (width * g))
        except (la.LinAlgError, ValueError):  # overflow: then box and budget alone
            return np.zeros((self.rows.shape[1], g.shape[1]))
        found = found / scale[:, None]
        return np.where(np.abs(found) > np.sqrt(TINY), found, 0.0)

    def stored(self, J: np.ndarray) -> np.ndarray:
        """Which of the features J are proven zero by box and budget alone.

        Of sparse rows only what they store is read: cells that are 0 have h_i ≤ 0,
        which adds nothing.
        """
        proven = np.zeros(J.size, dtype=bool)
        X, small = self.problem.rows.X, self.problem
        if not sp.issparse(X) or not J.size:
            return proven
        i, k = np.repeat(np.arange(small.n), np.diff(X.indptr)), X.indices
        z, e = X.data * small.y[i], small.noise.cells(i, k)
        c, u, d = self.problem.weights[i], self.slack[i], self.d.size
        worst = np.full(d, -np.inf)
        for sign in (1.0, -1.0):
            h = sign * z - e

            def hinges(nu, left, h=h):
                each = np.zeros(d)
                each[left] = nu
                loss = np.maximum(h + each[k] * u, 0.0) - each[k] * np.maximum(u, 0.0)
                return np.bincount(k, c * loss, minlength=d)[left]

            fixed, none = sign * self.d - self.t, np.zeros(d)
            worst = np.maximum(worst, self._least(fixed, none, none, self.most, hinges))
        return worst[J] <= 0

    def highest(self, J, sign, g, multipliers) -> np.ndarray:
        """The right side with its rounding, for the best ν."""
        c, u = self.problem.weights, self.slack[:, None]
        h = g - self.rows @ multipliers
        loss = accurate_sum(c * np.maximum(self.slack, 0.0))

        def hinges(nu, left):
            moved = u * nu
            moved += h if left.size == J.size else h[:, left]
            return c @ np.maximum(moved, 0.0, out=moved) - nu * loss

        return self._least(
            sign * self.d[J] - self.t[J] + self.beyond @ multipliers,
            np.linalg.norm(multipliers, axis=0),
            self.costs @ multipliers**2,
            self.most[J],
            hinges,
        )

    def _least(self, fixed, length, squares, most, hinges) -> np.ndarray:
        """The right side for the first ν that makes it at most 0, or for the best one.

        `hinges` are Σ_F c_i([h_i+νu_i]_+ − ν[u_i]_+) of given ν and features.
        ‖λ‖²/4ν + νβ alone is least at ν = ‖λ‖/2√β, and the hinges ask for a larger one,
        up to where the budget alone costs all of t_k.
        """
        beta, c, relative = self.budget, self.problem.weights, self.relative
        fixed = fixed + (1 + length) * (relative * self.size + self.fold_error)
        slope = beta + 2 * relative * (beta + accurate_sum(c * np.abs(self.slack)))
        slope += self.slack_error
        end = most / beta
        start = np.hypot(np.sqrt(squares / beta) / 2, LITTLE**4 * end)
        start = np.minimum(start, end)
        best = np.full(fixed.size, np.inf)
        for power in _POWERS:
            left = np.flatnonzero(~(best <= 0))
            nu = start[left] * (end[left] / start[left]) ** power
            level = fixed[left] + hinges(nu, left) + nu * slope
            level += (1 + 2 * relative) * squares[left] / (4 * nu)
            best[left] = np.fmin(best[left], level)
        left = np.flatnonzero((squares == 0) & ~(best <= 0))  # where ν may be 0
        level = fixed[left] + hinges(np.zeros(left.size), left)
        best[left] = np.fmin(best[left], level)
        return best


def dense_cells(problem: Problem, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """z_ij and e_ij of the features J."""
    X, i = problem.rows.X, np.arange(problem.n)[:, None]
    z = X[:, J].toarray() if sp.issparse(X) else X[:, J]
    return z * problem.y[:, None], problem.noise.cells(i, J[None, :])
