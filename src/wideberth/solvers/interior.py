"""The primal–dual interior-point method for the robust SVM (theory §6.1, §8, §10.2).

With x for weights, intercept and what noise adds to them (`blocks.py`), the problem is

    min ½xᵀQx + Σ c_i [u_i]_+ ,   u_i = m_i − ⟨x,e_i⟩ ,

under constraints that a block brings: x = (w, t, b) with rows e_i = (z_i, −ρ_i, y_i)
and the cone t ≥ Ω(w) where all samples share one shape. Perturbing complementarity by μ
> 0, with dual variables α_i = c_ia_i, a_i ∈ (0,1), multipliers p, q > 0 of the hinge
and h of the block,

    Qx = Σα_i e_i + Bᵀh,   u = p − q,   (1−a)p = μ = aq,   and k·h → μ likewise.

Newton's method, all but x eliminated, has the matrix Q + Σθ_i e_i e_iᵀ + the block's
curvature, with θ_i = c_i / (p_i/(1−a_i) + q_i/a_i). This is the Hessian of theory §6.1
with its hard set J replaced by smooth weights θ: a dozen or two of steps whatever C,
scale or collinearity, kinks of Ω included, where the semismooth form creeps along its
pieces. Steps are Mehrotra's (SIAM J. Optim. 1992). Three things make them cheap:

* after a step of length t, Σα_i e_i becomes (1−t)·(old) + t·(Q(x+dx) − Bᵀ(h+dh)), so
  the gap costs vector operations only;
* the predictor, which aims at μ = 0, moves a and q (1−a and p) by r·a and −(1+r)·q. So
  its pairs have the products aq(1−t) − t²·aq·r(1+r) at length t, and r alone says how
  far it may go and how much is to be corrected;
* the corrector's right-hand side is linear in the μ that it aims at. So the rows are
  read three times: for Newton's matrix and all sums at x; along the predictor, with
  what its errors add to the right-hand side; along the corrector.

Works on any `Problem`, reduced ones included, and can be shrunk between steps. Nothing
here certifies; gaps are for steering.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.arrays import (
    at_least,
    extremes,
    floats,
    is_foreign,
    like,
    namespace,
)
from wideberth.problem.limits import EPS, LITTLE, TINY
from wideberth.problem.rounding import accurate_sum
from wideberth.solvers.algebra import ExtendedRows, Factor, ThinFactor
from wideberth.solvers.blocks import (
    LEAST_DISTANCE,
    START_INSIDE,
    Block,
    NoiseModel,
    SumFacets,
    block_of,
)

#: Share of the way to the boundary that a step may go, as is usual in Mehrotra's
#: method.
TO_BOUNDARY = 0.995
#: Number of steps without a gap ten times smaller after which the block's successor
#: goes on: a choice; `SmoothedSets` takes 9 to 26 steps where it works at all.
_PATIENCE = 10
#: Most bytes that a step may need beside the data; a choice, half the memory of a small
#: laptop.
MOST_BYTES = 1 << 32


class InteriorPoint:
    """The iteration; `step()` until `relative_gap` is small or it returns False.

    Without a `point` to start at it takes least squares on the slacks. `share` are the
    a_i = α_i/c_i there; without them slacks say on which side of the margin a row is.
    `barrier` are the weights of the rows' products in μ, relative to each other; all
    are even without (see `even_barrier`, `class_barrier`). `others` stands for the
    noise of folded samples whose sets are not at hand.

    Both complementarity pairs of the hinge are kept as one: `dual_slack` = (1−a, a),
    the distances of a to its bounds, and their multipliers `multiplier` = (p, q), of
    shape (2, n), with barrier·dual_slack·multiplier → μ. `combined` is Σα_i e_i, what
    is folded included. Steps replace arrays, and never write into them.
    """

    #: Least μ that steps aim at.
    least_mu = 0.0
    #: What the last step solved its systems with.
    factor: Factor | ThinFactor | None = None

    def __init__(
        self,
        problem: Problem,
        point: PrimalPoint | None = None,
        share: np.ndarray | None = None,
        *,
        barrier: np.ndarray | None = None,
        others: NoiseModel | None = None,
    ):
        check_memory(problem)
        self.problem, self.c, self.xp = problem, problem.weights, namespace(problem.y)
        self.barrier = barrier
        self.signs = like(np.array([[-1.0], [1.0]]), self.c)
        rows = ExtendedRows(problem)
        if point is None:
            start, share = least_squares(problem)
        else:
            start = point.w, point.b, point.margins
            share = share_of(point.slack) if share is None else share
        self.start, self.start_share = start, share
        self._begin(block_of(problem, rows, others))

    def _begin(self, block: Block) -> None:
        """Start inside all bounds."""
        xp, margins, self.block = self.xp, self.start[2], block
        self.x = block.place(*self.start, self._distance)
        self.slack = block.slacks(self.x, margins)
        share = xp.clip(self.start_share, START_INSIDE, 1 - START_INSIDE)
        self.dual_slack = xp.stack([1.0 - share, share])
        upper = at_least(0.0, self.slack) + self._distance(self.slack)
        self.multiplier = xp.stack([upper, upper - self.slack])
        self.last_change = 0.0 * upper
        self.combined = block.rows.combine(self.alpha) + block.rows.folded
        block.begin(self)
        self._measure()
        self.smallest, self.idle = self.relative_gap, 0

    def _distance(self, slack: np.ndarray) -> float:
        """The mean distance from the margin.

        Rows that stand for many, as a barrier says, are far away, and few.
        """
        if self.barrier is not None and not (light := self.barrier <= 1.0).all():
            slack = slack[light]
        distance = float(self.xp.sum(self.xp.abs(slack))) / max(slack.shape[0], 1)
        return max(distance, LEAST_DISTANCE)

    @property
    def w(self) -> np.ndarray:
        """Weights of the features."""
        return self.block.weights(self.x)

    @property
    def b(self) -> float:
        """Intercept."""
        return 0.0 if self.problem.intercept is None else float(self.x[-1])

    @property
    def share(self) -> np.ndarray:
        """a = α/c, strictly between 0 and 1."""
        return self.dual_slack[1, :]

    @property
    def alpha(self) -> np.ndarray:
        """Dual variables, strictly inside the box."""
        return self.c * self.dual_slack[1, :]

    @property
    def mu(self) -> float:
        """Mean complementarity product of the rows."""
        return max(float(self._mean(self.dual_slack * self.multiplier)), TINY)

    @property
    def true_slack(self) -> np.ndarray:
        """Slacks at (w, b), where `slack` are those that steps see."""
        return self.block.true_slack(self.slack)

    @property
    def relative_gap(self) -> float:
        """Gap of the current point over its primal value.

        That value is negative where folded rows are at the wrong bound.
        """
        return self.gap / max(abs(self.primal), self.problem.least_scale, TINY)

    def _measure(self) -> None:
        """Primal value and gap at the current x and α, split as in theory §6.1."""
        problem, rows, x = self.problem, self.block.rows, self.x
        slack = self.true_slack
        hinge, used = floats(self.c @ at_least(0.0, slack), self.alpha @ slack)
        self.primal = 0.5 * float(rows.penalty @ (x * x)) + hinge
        self.primal += self.block.value(self.w) - float(rows.folded @ x)
        if problem.folded is not None:
            self.primal += problem.folded.total
        stationarity = self.block.stationarity(self)
        if problem.intercept:
            off = self.b - float(self.combined[-1]) / problem.intercept
            stationarity += 0.5 * problem.intercept * off * off
        elif problem.intercept is not None:
            stationarity += abs(float(self.combined[-1])) * (1 + abs(self.b))
        self.gap = max(hinge - used, 0.0) + max(stationarity, 0.0)

    def copied(self) -> InteriorPoint:
        """The method where it is."""
        other = copy(self)
        other.block = copy(self.block)
        return other

    def shrink(self, keep: np.ndarray, problem: Problem) -> None:
        """Go on with the rows `keep` (a mask) alone, which form `problem`."""
        self.problem, self.c = problem, problem.weights
        self.slack, self.last_change = self.slack[keep], self.last_change[keep]
        self.dual_slack = self.dual_slack[:, keep]
        self.multiplier = self.multiplier[:, keep]
        w, b, margins = self.start
        self.start, self.start_share = (w, b, margins[keep]), self.start_share[keep]
        if self.barrier is not None:
            self.barrier = self.barrier[keep]
        self.block.shrink(keep, problem)
        self.resync(afresh=True)

    def widen(self, problem: Problem, places: np.ndarray) -> None:
        """Go on with more features; those before are at `places` of `problem`."""
        before, block = self.x, self.block
        self.problem, self.c = problem, problem.weights
        risen = 0.0
        if isinstance(block, SumFacets):
            risen = block.widen(self, problem, places)
        else:
            block.adopt(problem)
        d = problem.rows.d
        self.x = np.zeros(block.rows.penalty.size)
        self.x[places], self.x[d:] = before[: places.size], before[places.size :]
        if risen:
            self.x[d] += risen
            self.slack = self.slack - risen * block.rows.extras[:, 0]
        self.resync()

    def resync(self, afresh: bool = False) -> None:
        """Compute anew what steps carry along, which drifts by rounding.

        `afresh` the model of folded samples too.
        """
        rows = self.block.rows
        self.combined = rows.combine(self.alpha) + rows.folded
        self.block.refresh(self, afresh)
        self._measure()

    # -- one step ----------------------------------------------------------------

    def step(self) -> bool:
        """One predictor–corrector step; False, and none, if no progress is possible.

        With few rows a step is taken back that loses what was reached, as at the end
        of float64. A block without progress gives way to its successor, which begins
        at the start.
        """
        before, block = dict(vars(self)), dict(vars(self.block))
        reached, most = self.relative_gap, float(np.finfo(float).max)
        with np.errstate(all="ignore"):  # checked here
            possible = self._step()
            if isinstance(self.factor, ThinFactor) and reached < LITTLE**4:
                most = reached / LITTLE**2
            possible = possible and bool(self.relative_gap <= most)
        if not possible:
            vars(self).update(before)
            vars(self.block).update(block)
        if self.block.successor is None:
            return possible
        self.idle += 1
        if self.relative_gap < LITTLE * self.smallest:
            self.smallest, self.idle = self.relative_gap, 0
        if possible and self.idle <= _PATIENCE:
            return True
        if is_foreign(self.c):
            return False
        rows, others = self.block.rows, self.block.others
        self._begin(self.block.successor(self.problem, rows, others))
        return True

    def hinge_curvature(self) -> tuple[np.ndarray, np.ndarray]:
        """θ/c of every row, and what its residual gains per unit of μ."""
        inverse = 1.0 / self.dual_slack
        ratio = self.multiplier * inverse
        per_mu = self._aims(inverse[1, :] - inverse[0, :])
        return 1.0 / (ratio[0, :] + ratio[1, :]), per_mu

    def _step(self) -> bool:
        block, c = self.block, self.c
        block.scale(self)
        weights, per_mu = self.hinge_curvature()
        residual = self.slack
        if block.compliance is not None and block.shift is not None:
            weights = 1.0 / (1.0 / weights + c * block.compliance)
            residual = residual + block.shift
        theta = c * weights
        factor, sums = block.system(theta, (residual, per_mu))
        self.factor = factor
        if factor is None:
            return False
        right = self.combined - block.rows.penalty * self.x + block.first_right()
        dx, rate, lifts, corrected = self._predict(
            right, theta, weights, residual, sums
        )
        target, aim = self._correct(dx, rate, lifts)
        residual = residual + (lifts[1, :] - lifts[0, :])
        residual += target * per_mu
        if aim is not None:
            shift = block.shift
            right = right + block.right_side(aim)
            if block.shift is not None and shift is not None:
                more = block.shift - shift
                residual += more
                corrected = corrected + block.turned.combine(theta * more)
        if isinstance(factor, ThinFactor):
            dx, share = self._solve_rows(right, theta, residual)
            change = block.products(dx)
        else:
            dx = factor.solve(right + (sums[0] + corrected + target * sums[1]))
            change = block.products(dx)
            share = residual - change
            share *= weights
        rate = self.signs * share / self.dual_slack
        if block.compliance is not None:
            change = change - block.shift + block.compliance * (c * share)
        # Their relative move: (target/dual_slack + lifts)/multiplier − (1 + rate).
        moved = self._aims(target) / self.dual_slack
        moved += lifts
        moved /= self.multiplier
        moved -= 1.0
        moved -= rate
        block.move(dx, c * share, aim)
        nearest = floats(extremes(rate)[0], extremes(moved)[0])
        length = min(1.0, TO_BOUNDARY * self._longest(*nearest))
        if not (length > EPS and np.isfinite(dx).all()):
            return False
        self._advance(length, dx, change, rate, moved)
        return True

    def _solve_rows(self, right, theta, residual):
        """dx and da where rows are few: da = θ(residual − ⟨g,dx⟩)/c, which cancels."""
        assert isinstance(self.factor, ThinFactor)
        root = np.sqrt(theta)
        dx, s = self.factor.solve_rows(right, root * residual)
        return dx, s * root / np.maximum(self.c, TINY)

    def _predict(self, right, theta, weights, residual, sums):
        """The predictor's dx and relative move r of the dual slacks, and its errors.

        After it the products of dual slacks and multipliers are off their aim 0 by
        −dual_slack·multiplier·r(1+r). Returned are dx, r, multiplier·r(1+r), and what
        that adds to the right-hand side.
        """
        parts = []

        def lift(J, share):
            rate = self.signs * share
            rate /= self.dual_slack[:, J]
            lifted = 1.0 + rate
            lifted *= rate
            lifted *= self.multiplier[:, J]
            parts.append((rate, lifted))
            return theta[J] * (lifted[1, :] - lifted[0, :])

        def weigh(J, change):
            share = residual[J] - change
            share *= weights[J]
            return lift(J, share)

        if isinstance(self.factor, ThinFactor):
            dx, share = self._solve_rows(right, theta, residual)
            lift(slice(None), share)
            return dx, *parts[0], 0.0
        assert self.factor is not None
        dx = self.factor.solve(right + sums[0])
        corrected = self.block.along(dx, weigh)
        if len(parts) == 1:
            return dx, *parts[0], corrected
        rates, lifts = (
            self.xp.concat(each, axis=1) for each in zip(*parts, strict=True)
        )
        return dx, rates, lifts, corrected

    def _correct(self, dx: np.ndarray, rate, lifts):
        """μ that the step aims at, by Mehrotra's rule, and what the block aims at.

        The rule is σ = (μ after the predictor / μ)³.
        """
        first, second, least, most = floats(
            self._mean(self.dual_slack * self.multiplier),
            self._mean(self.dual_slack * lifts),
            *extremes(rate),
        )
        self.block.move(dx, self.c * self.dual_slack[1, :] * rate[1, :], None)
        length, mu = min(self._longest(least, -1 - most), 1.0), max(first, TINY)
        after = (1 - length) * mu - length * length * second
        sigma = min(max(after / mu, 0.0), 1.0) ** 3
        target = max(sigma * mu, self.least_mu)
        return target, self.block.corrected(target)

    def _aims(self, target):
        """What products are to become where μ becomes `target`."""
        return target if self.barrier is None else target / self.barrier

    def _mean(self, products):
        """Mean over all pairs, in the barrier's units."""
        if self.barrier is not None:
            products = products * self.barrier
        total = products.sum() if self.xp is np else self.xp.sum(products)
        return total / max(2 * self.problem.n, 1)

    def _longest(self, *rates: float) -> float:
        """Largest step that stays inside, at most 1/(share to the boundary)."""
        rate = -min(rates)
        longest = 1.0 / rate if rate > 1.0 else 1.0 / TO_BOUNDARY
        return min(longest, self.block.longest())

    def _advance(self, t: float, dx, change, slack_rate, multiplier_rate) -> None:
        ahead = self.x + dx
        balanced = self.block.rows.penalty * ahead - self.block.advance(t, ahead)
        self.combined = (1 - t) * self.combined + t * balanced
        self.x = self.x + t * dx
        self.slack = self.slack - t * change
        self.dual_slack = at_least(TINY, _grown(self.dual_slack, t, slack_rate))
        self.multiplier = _grown(self.multiplier, t, multiplier_rate)
        self.last_change = change
        if isinstance(self.factor, ThinFactor):  # whose last digits are not to be had
            rows = self.block.rows
            self.combined = rows.combine(self.alpha) + rows.folded
        self.block.refresh(self)
        self._measure()


def _grown(values, t: float, rate):
    """values·(1 + t·rate), in the memory of the rate."""
    rate *= t
    rate += 1.0
    rate *= values
    return rate


def check_memory(problem: Problem) -> None:
    """Refuse a problem whose steps would need too much memory.

    Systems have as many unknowns as there are weights or rows, whichever are fewer.
    With sets per sample rows count twice (ellipsoids), or weights do (boxes).
    """
    n, weights, noise = problem.n, problem.rows.d, problem.noise
    rows = n
    if not noise.proportional:
        rows, weights = (2 * n, weights) if noise.smooth else (n, 2 * weights)
    few = min(rows, weights)
    needed = 8.0 * few * (3 * few + 5 * weights)
    if needed > MOST_BYTES and not is_foreign(problem.y):
        raise ValueError(
            f"X has {n} samples and {problem.rows.d} features; with {noise.name} noise "
            f"the interior-point method would need about {needed / 1e9:.0f} GB, and "
            f"{MOST_BYTES / 1e9:.0f} GB are allowed. Give fewer features (select or "
            "project them) or, of error bars, fewer samples; noise='l2' has systems as "
            "large as the samples are many, and solver='columns' takes noise='linf'."
        )


# -- weights of the rows' barriers -----------------------------------------------------


def even_barrier(problem: Problem) -> np.ndarray:
    """Weights that keep the products α_ip_i and (c_i−α_i)q_i even, as textbooks do."""
    return problem.weights / problem.weights.max(initial=TINY)


def class_barrier(problem: Problem) -> np.ndarray | None:
    """The typical weight of each row's class; that of the heavier class is 1.

    A sample holds all rows of a rare class, and few rows of large weight of the other
    class. Otherwise the barriers of the rare class would be so weak that they cut
    steps short. A row that is much heavier than its class stands for many rows, and
    keeps its weight. None for small problems whose classes weigh about the same.
    """
    upper, weights = problem.y > 0, problem.weights
    sides = [side for side in (weights[upper], weights[~upper]) if side.size]
    typical = [float(np.median(side)) for side in sides]
    if not min(typical, default=0.0) > 0:
        return None
    usual = np.where(upper, typical[0], typical[-1])
    barrier = np.where(weights > usual / LITTLE, weights, usual) / max(typical)
    even = bool(barrier.min() > LITTLE * barrier.max())
    return None if even and problem.rows.table_fits else barrier


# -- where to start --------------------------------------------------------------------


def share_of(slack: np.ndarray) -> np.ndarray:
    """a = α/c as slacks suggest it: ½ on the margin, in units of their usual size."""
    return 0.5 + slack / (3 * max(rms(slack), LEAST_DISTANCE))


def rms(values: np.ndarray) -> float:
    """Root of the mean square."""
    return (accurate_sum(values * values) / max(values.shape[0], 1)) ** 0.5


def least_squares(
    problem: Problem,
) -> tuple[tuple[np.ndarray, float, np.ndarray], np.ndarray]:
    """Minimise ½‖w‖² + ½λ_b b² + ¼Σc_i u_i² without noise, whose α is ½c_i u_i.

    Returns (w, b, Zw) and α/c. They are 0 and ½m where rounding leaves no minimiser, as
    where weights or features are out of all proportion.
    """
    rows, d = ExtendedRows(problem, noisy=False), problem.rows.d
    factor, sums = Block(problem, rows).system(0.5 * rows.c, (problem.targets,))
    x, margins = np.zeros(rows.penalty.size), 0.0 * rows.c
    if factor is not None:
        x = factor.solve(sums[0] + rows.folded)
        margins = problem.rows.margins(x[:d])
        if not namespace(margins).all(namespace(margins).isfinite(margins)):
            x, margins = np.zeros_like(x), 0.0 * rows.c
    if problem.n < d and not problem.noise.smooth:
        # All rows on the margin leave no distance to it.
        x, margins = 0.5 * x, 0.5 * margins
    b = 0.0 if problem.intercept is None else float(x[-1])
    return (x[:d], b, margins), 0.5 * (problem.targets - margins - problem.y * b)
