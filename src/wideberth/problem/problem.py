"""The robust SVM itself: primal, dual, gap, optimality conditions, worst case.

With z_i = y_i x_i, targets m_i, weights c_i ≥ 0, radii ρ_i ≥ 0 and a noise shape Ω
(theory §1, §2, §14):

    P(w,b) = ½‖w‖² + ½λ_b b² + Σ c_i [m_i − ψ_i(w,b)]_+
    ψ_i(w,b) = ⟨w,z_i⟩ + y_i b − ρ_i Ω(w)                          (robust margin)
    D(α) = Σα_i m_i − ½ dist(d, sU)² − (Σα_i y_i)²/(2λ_b),   0 ≤ α_i ≤ c_i,
    d = Σα_i z_i,  s = Σα_i ρ_i,  w(α) = prox_{sΩ}(d)

Classification has m_i = 1; regression has other targets, of either sign.

`intercept` is None (no b), 0 (free b: the dual gains Σα_i y_i = 0 and loses its last
term) or λ_b > 0 (penalised b). Samples known to sit at α_i = c_i may be folded into
one linear and one norm term (theory §3), so a reduced problem is a `Problem` too. A
norm penalty s₀Ω(w) outside the hinge is such a norm term of no samples (theory §10).

Values come with a proven bound on their own rounding error (theory §5, last part):
`PrimalPoint.rounding` and `DualPoint.rounding`.

What is as long as the data (weights, radii, margins, α) is an array of the rows'
namespace; what is as long as the features is NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from wideberth.problem.arrays import (
    at_least,
    host,
    is_foreign,
    largest,
    namespace,
    ones,
    pick,
)
from wideberth.problem.certificate import Certificate, DualPoint, PrimalPoint
from wideberth.problem.error_bars import OwnNoise
from wideberth.problem.feature_names import feature_names
from wideberth.problem.folded import Folded
from wideberth.problem.intercept import balanced, best_intercept
from wideberth.problem.labels import check_labels
from wideberth.problem.layouts import as_rows
from wideberth.problem.noise import SharedNoise, as_noise
from wideberth.problem.rounding import (
    OFF,
    DualSums,
    NoiseSums,
    accurate_sum,
    dual_rounding,
    null_rounding,
    primal_rounding,
    summed,
    totals_rounding,
    well_inside,
)
from wideberth.problem.rows import Rows, gamma
from wideberth.problem.validation import (
    check_data,
    check_number,
    check_per_sample,
    check_vector,
    radius_or_default,
)

#: Share of their size below which targets that vary count as constant: a choice, well
#: above the rounding of the values, a few 10⁻¹⁴ of Σc_i|m_i|.
_CONSTANT = 1e-6


@dataclass(frozen=True)
class Problem:
    """A robust SVM on given rows: its primal, dual, gap and optimality conditions.

    Built by `from_data`; reduced ones carry what saturated samples left behind in
    `folded`. `intercept` is None (no b), 0 (free) or its penalty λ_b > 0. `classes` are
    the two labels that −1 and +1 stand for, where they are known.
    """

    rows: Rows
    weights: np.ndarray
    radii: np.ndarray
    noise: Any  # a shape that all samples share, or sets of their own
    intercept: float | None = None
    folded: Folded | None = None
    classes: np.ndarray | None = None
    #: Most roundings that a weight which is the sum of those of equal samples went
    #: through, and α dealt out to them (`equal_rows.py`).
    chain: float = 0.0
    #: The rows as measured, where `rows` are in the middle of lopsided sets.
    measured: Rows | None = None
    #: m_i, what robust margins are held against, or None where all are 1: `targets`.
    m: np.ndarray | None = None
    #: Least number that gaps are taken relative to; see `with_targets`.
    least_scale: float = 0.0

    #: Whether all samples share one shape of noise.
    shared: ClassVar[bool] = True

    @classmethod
    def from_data(
        cls,
        X,
        y,
        *,
        C=1.0,
        radius=None,
        noise="l2",
        X_err=None,
        error_shape="ellipsoid",
        sample_weight=None,
        intercept=None,
        norm_penalty=0.0,
    ) -> Problem:
        """Validate user data and build the problem, c_i = C · sample_weight_i.

        y holds two classes of any kind; sorted, the second stands for +1. With error
        bars X_err it is a `MeasuredProblem`; see `solve`.
        """
        given, names, X = X, feature_names(X), check_data(X)
        if intercept is not None:
            wanted = "None (no intercept), 0 (a free one) or a finite penalty > 0"
            intercept = check_number(intercept, "intercept", wanted)
        kind, shape = cls, as_noise(noise, X.shape[1], names)
        if X_err is not None:
            from wideberth.problem.measured import with_errors
            from wideberth.problem.read_errors import in_order_of

            X_err = in_order_of(X_err, given)
            kind, shape = with_errors(X, X_err, error_shape, noise, names)
        return kind.from_matrix(
            X,
            y,
            C=C,
            radius=radius_or_default(radius, noise, X_err),
            noise=shape,
            sample_weight=sample_weight,
            intercept=intercept,
            norm_penalty=norm_penalty,
        )

    @classmethod
    def from_matrix(
        cls,
        X,
        y,
        *,
        C,
        radius,
        noise,
        sample_weight,
        intercept,
        norm_penalty=0.0,
    ):
        """`from_data` for checked X, noise and intercept."""
        n, s = X.shape[0], check_number(norm_penalty, "norm_penalty")
        labels, classes = check_labels(y, n)
        weights = np.broadcast_to(check_number(C, "C", positive=True), (n,))
        if sample_weight is not None:
            with np.errstate(over="ignore"):
                weights = weights * check_per_sample(sample_weight, n, "sample_weight")
            if not np.isfinite(weights).all():
                raise ValueError(
                    f"C={C!r} times sample_weight overflows; lower one of them."
                )
        return cls(
            as_rows(X, labels),
            weights,
            check_per_sample(radius, n, "radius"),
            noise,
            intercept,
            Folded.penalty(s, X.shape[1], None if cls.shared else noise),
            classes=classes,
        )

    @property
    def n(self) -> int:
        """Rows of this problem (without folded ones)."""
        return self.rows.n

    @property
    def y(self) -> np.ndarray:
        """Labels, ±1."""
        return self.rows.y

    @cached_property
    def targets(self) -> np.ndarray:
        """m_i of every row; ones in classification."""
        return ones(self.y) if self.m is None else self.m

    def tables(self) -> list[Rows]:
        """What makes two samples differ beside label, weight and radius, in rows."""
        return [self.rows]

    def with_labels(self, y: np.ndarray, classes: np.ndarray | None = None) -> Problem:
        """Return the same samples under other labels, −1 and +1 for two classes."""
        rows = self.each_rows(lambda rows: rows.with_labels(y))
        return replace(self, classes=classes, **rows)

    def each_rows(self, change: Callable[[Rows], Rows]) -> dict[str, Any]:
        """The fields that hold rows, changed."""
        held = {"rows": self.rows, "measured": self.measured}
        return {name: change(part) for name, part in held.items() if part is not None}

    def with_weights(self, weights: np.ndarray) -> Problem:
        """Return the same samples under other weights c."""
        return replace(self, weights=weights)

    def with_targets(self, targets) -> Problem:
        """Return the same samples under targets m_i.

        P may vanish then. Gaps are relative to what the best constant, w = 0, costs
        where that is more than P; and to `_CONSTANT` of Σc_i|m_i| at least, for where
        the targets are constant.
        """
        targets = check_vector(targets, self.n, "targets")
        changed = replace(self, m=targets)
        nothing = changed.at(np.zeros(self.rows.d), margins=0.0 * targets)
        size = accurate_sum(self.weights * abs(targets))
        scale = max(nothing.value, _CONSTANT * size)
        return replace(changed, least_scale=scale)

    def with_radii(self, radii) -> Problem:
        """Return the same samples under other radii."""
        return replace(self, radii=check_per_sample(radii, self.n, "radius"))

    def growing(self) -> Problem:
        """The same samples as their sets grow, lopsided ones about the measurement."""
        return self

    def take(self, J, **changes) -> Problem:
        """Return the problem of the samples J, and other `changes` of its fields."""
        part = self.each_rows(lambda rows: rows.take(J))
        part |= {"weights": pick(self.weights, J), "radii": pick(self.radii, J)}
        part["m"] = None if self.m is None else pick(self.m, J)
        return replace(self, **part | changes)

    def with_features(self, columns: np.ndarray) -> Problem:
        """Return the problem of the features `columns`, all other weights being 0."""
        return replace(
            self,
            **self.each_rows(lambda rows: rows.take_columns(columns)),
            noise=self.noise.restricted(columns),
            folded=None if self.folded is None else self.folded.restricted(columns),
        )

    @cached_property
    def sample_noise(self) -> SharedNoise | OwnNoise:
        """How far each sample may move."""
        return SharedNoise(self.noise, self.radii)

    def folded_noise(self, w: np.ndarray, omega: float) -> float:
        """Σ c_iκ_i(w) of folded samples."""
        return 0.0 if self.folded is None else self.folded.s * omega

    # -- primal ----------------------------------------------------------------

    def on_host(self) -> Problem:
        """The same with its rows in NumPy, wherever they live."""
        if not is_foreign(self.y):
            return self
        rows = as_rows(host(self.rows.X), host(self.y))
        weights, radii = host(self.weights), host(self.radii)
        m = None if self.m is None else host(self.m)
        return replace(self, rows=rows, weights=weights, radii=radii, m=m)

    def at(
        self, w: np.ndarray, b: float | None = None, margins=None, sizes=None
    ) -> PrimalPoint:
        """Evaluate the primal at (w, b); b=None takes the best intercept for w.

        `sizes`, as of `Rows.magnitudes`, sharpen the bound on the rounding where
        features differ much in size; ‖w‖‖z_i‖ stand in for them.
        """
        w = check_vector(w, self.rows.d, "w", finite=False)
        margins = self.rows.margins(w) if margins is None else margins
        omega = self._omega(w)
        supports = self.sample_noise.supports(w)
        slack = self.targets - margins
        slack += supports
        if self.intercept is None:
            b = 0.0
        else:
            b = self.best_intercept(slack) if b is None else float(b)
            slack -= self.y * b
        hinge = summed(_hinge, self.weights, slack)
        value = hinge + 0.5 * float(w @ w) + 0.5 * (self.intercept or 0.0) * b * b
        noise = self.folded_noise(w, omega)
        rounding = primal_rounding(self, w, b, supports, noise, slack, hinge, sizes)
        if self.folded is not None:
            fold = self.folded
            value += fold.total - float(fold.d @ w) - fold.balance * b + noise
        scale = max(value, self.least_scale)
        return PrimalPoint(w, b, margins, omega, slack, hinge, value, rounding, scale)

    def _omega(self, w: np.ndarray) -> float:
        return self.noise.support(w)

    def slack(self, w: np.ndarray, b: float) -> np.ndarray:
        """m_i − ψ_i(w,b) alone."""
        slack = self.targets - self.rows.margins(w) + self.sample_noise.supports(w)
        return slack if self.intercept is None else slack - self.y * b

    def best_intercept(self, slack: np.ndarray) -> float:
        """Return b minimising P for fixed w; `slack` = m_i − ψ_i(w,0)."""
        penalty, folded = self.intercept or 0.0, self._fold("balance")
        return best_intercept(slack, self.y, self.weights, penalty, folded)

    # -- dual ------------------------------------------------------------------

    def dual_at(
        self, alpha: np.ndarray, combined=None, sharp=False, near=None
    ) -> DualPoint:
        """Evaluate the dual at α, repaired to be feasible first.

        Its value is −∞ where samples folded at their bound leave no feasible α.
        `combined` may carry Zᵀα when it is known; it is ignored if α needed repair.
        `sharp` spends a pass on a closer bound of the rounding (`Rows.magnitudes`).
        `near`, a primal point w to start from, is for sets per sample, where w(α) has
        no closed form.
        """
        feasible = self.repair(alpha)
        if combined is None or feasible is not alpha:
            combined = self.rows.combine(feasible)
        mass = accurate_sum(feasible * self.rows.norms())
        relative = self.rows.combine_rounding + gamma(self.chain)
        d_error = (relative + self.noise.rotation_error) * mass
        d, sums = combined, self.dual_sums(feasible)
        if self.folded is not None:
            fold = self.folded
            d = d + fold.d
            d_error += fold.rounding + gamma(1) * (mass + fold.mass)
        w, s, noise = self._nearest(feasible, d, near, sums.total)
        b, penalty = 0.0, 0.0
        if self.intercept:
            balance = accurate_sum(feasible * self.y) + self._fold("balance")
            b = balance / self.intercept
            penalty = 0.5 * balance * b
        value = sums.total - 0.5 * float(w @ w) - penalty
        if self.intercept == 0 and not self._balanced(feasible, sums):
            value = -np.inf
        sizes = None
        if sharp and not self._fold("mass"):  # |⟨w,δd⟩| rather than ‖w‖‖δd‖
            each = self.rows.magnitudes(w)
            along = relative * accurate_sum(feasible * each)
            along += self.noise.rotation_error * float(np.linalg.norm(w)) * mass
            sizes = along, largest(each)
        error, center = dual_rounding(self, w, b, sums, d_error, noise, sizes)
        if not w.any() and self._well_inside(feasible, d, s, sums, d_error):
            error = null_rounding(self, b, sums)
        return DualPoint(feasible, d, s, w, b, value, error, center)

    def dual_sums(self, alpha) -> DualSums:
        """Σα_im_i, Σα_i|m_i| and Σα_i, folded samples included."""
        weight = accurate_sum(alpha)
        total = size = weight
        if self.m is not None:
            terms = alpha * self.targets
            total, size = accurate_sum(terms), accurate_sum(abs(terms))
        if (fold := self.folded) is not None:
            total, size = total + fold.total, size + fold.size
            weight += fold.weight
        return DualSums(total, size, weight)

    def _well_inside(
        self, alpha, d: np.ndarray, s: float, sums: DualSums, d_error
    ) -> bool:
        """Whether d ∈ Σα_iρ_iU_i whatever the rounding."""
        return well_inside(self, d, s, sums, d_error)

    def _nearest(
        self, alpha, d: np.ndarray, near, total: float
    ) -> tuple[np.ndarray, float, NoiseSums]:
        """w(α) = d − Σα_iδ_i of least length, s, and what bounds their rounding.

        `total` = Σα_im_i is what ½‖w(α)‖² is taken from.
        """
        s, size = self.sample_noise.total(alpha), self.noise.lipschitz(self.rows.d)
        s += self._fold("s")
        w = self.noise.prox(d, s)
        omega = self.noise.support(w)
        sums = NoiseSums(
            reach=s * size,
            support=s * omega,
            largest_support=omega * self.largest_radius,
            largest_reach=size * self.largest_radius,
            axes=s * self.noise.support_error,
            rounding=totals_rounding(self),
        )
        return w, s, sums

    def stretched(self, dual: DualPoint, sharp=False) -> DualPoint:
        """The best feasible multiple tα, D(tα) = tΣα_im_i − ½t²(‖w‖² + λ_b b²).

        The same point where something is folded, which would not follow it.
        """
        if self.folded is not None:
            return dual
        curvature = float(dual.w @ dual.w) + (self.intercept or 0.0) * dual.b * dual.b
        used = dual.alpha > 0
        room = float((self.weights[used] / dual.alpha[used]).min(initial=np.inf))
        total = self.dual_sums(dual.alpha).total
        t = min(max(total, 0.0) / curvature if curvature > 0 else 1.0, room)
        if not np.isfinite(t) or t == 1.0:
            return dual
        alpha = np.minimum(t * dual.alpha, self.weights)
        return self.dual_at(alpha, sharp=sharp, near=dual.w)

    def repair(self, alpha: np.ndarray) -> np.ndarray:
        """Return a feasible α near the given one (the same object if it is feasible).

        Clips to the box, and balances the classes beside a free intercept.
        """
        if not is_foreign(alpha):
            alpha = check_vector(alpha, self.n, "alpha", finite=False)
        xp = namespace(alpha)
        if not xp.all((alpha >= 0) & (alpha <= self.weights)):
            if not xp.all(xp.isfinite(alpha)):
                check_vector(alpha, self.n, "alpha")
            alpha = xp.clip(alpha, 0.0, self.weights)
        if self.intercept != 0:
            return alpha
        return balanced(alpha, self.y, self.weights, self._fold("balance"))

    def _balanced(self, alpha: np.ndarray, sums: DualSums) -> bool:
        """Whether Σα_i y_i = 0 up to rounding, folded samples included."""
        off = abs(accurate_sum(alpha * self.y) + self._fold("balance"))
        return off <= OFF * totals_rounding(self) * sums.weight

    # -- both ------------------------------------------------------------------

    def certificate(self, point: PrimalPoint, dual: DualPoint) -> Certificate:
        """Pair a primal and a dual value."""
        return Certificate.of(point, dual)

    def gap(self, w: np.ndarray, b: float | None, alpha: np.ndarray) -> float:
        """P(w,b) − D(α), with α repaired if need be."""
        return self.certificate(self.at(w, b), self.dual_at(alpha)).gap

    def robust_margins(self, w: np.ndarray, b: float = 0.0) -> np.ndarray:
        """ψ_i(w,b)."""
        return self.targets - self.at(w, b).slack

    def worst_case(self, w: np.ndarray) -> np.ndarray:
        """δ_i ∈ ρ_i U that hurts sample i most under w, as an n×d array (theory §1)."""
        move = self.noise.maximizer(np.asarray(w, dtype=np.float64))
        return -self.y[:, None] * np.outer(self.radii, move)

    def closest(self, alpha: np.ndarray, factor: float, near=None) -> np.ndarray:
        """w(α) under radii `factor` times as large; `near` is a guess of it."""
        s = factor * accurate_sum(alpha * self.radii) + self._fold("s")
        return self.noise.prox(self.rows.combine(alpha), s)

    def null_bracket(self, alpha: np.ndarray, most=np.inf) -> tuple[float, float]:
        """Bounds on the least t ≥ 0 with Σα_iz_i ∈ tΣα_iρ_iU_i; here they are equal.

        Elsewhere they may be rough where t is over `most`. A norm penalty s₀Ω(w) adds
        s₀U, whatever t is.
        """
        s, size = (
            accurate_sum(alpha * self.radii),
            self.noise.dual_norm(self.rows.combine(alpha)),
        )
        size = max(size - self._fold("s"), 0.0)
        t = 0.0 if size == 0 else size / s if s > 0 else np.inf
        return t, t

    def null_scale(self, alpha: np.ndarray) -> float:
        """The largest f with fΣα_iz_i ∈ (s₀ + fΣα_iρ_i)U under a norm penalty s₀."""
        excess = self.noise.dual_norm(self.rows.combine(alpha))
        excess -= accurate_sum(alpha * self.radii)
        return self._fold("s") / excess if excess > 0 else np.inf

    def _fold(self, name: str):
        return 0.0 if self.folded is None else getattr(self.folded, name)

    def axes_error(self, rows=slice(None)):
        """How far ψ_i(w) may be from its value in the user's axes, per unit of ‖w‖.

        0 but for noise in its principal axes, to which the rows were rotated: T‖z_i‖ +
        Hρ_i (see `covariance`).
        """
        if self.noise.rotation_error == self.noise.support_error == 0.0:
            return 0.0
        errors = self.sample_noise.select(rows).radii * self.noise.support_error
        return self.noise.rotation_error * self.rows.norms()[rows] + errors

    @cached_property
    def largest_target(self) -> float:
        """The largest |m_i|, folded samples included."""
        own = 1.0 if self.m is None else largest(abs(self.m))
        return max(own, self._fold("largest_target"))

    @cached_property
    def largest_norm(self) -> float:
        """The largest ‖z_i‖, folded samples included."""
        return max(largest(self.rows.norms()), self._fold("largest_norm"))

    @cached_property
    def largest_radius(self) -> float:
        """The largest ρ_i, folded samples included."""
        return max(largest(self.radii), self._fold("largest_radius"))


def _hinge(weights, slack):
    """c_i[u_i]_+ of every sample."""
    return weights * at_least(0.0, slack)
