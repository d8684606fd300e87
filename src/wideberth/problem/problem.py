"""The robust SVM itself: primal, dual, gap, optimality conditions, worst case.

With z_i = y_i x_i, targets m_i, weights c_i ≥ 0 and samples that move within ρ_iU_i,
κ_i(w) the support function of that set (theory §1, §2, §8, §14):

    P(w,b) = ½‖w‖² + ½λ_b b² + s₀Ω(w) + Σ c_i [m_i − ψ_i(w,b)]_+
    ψ_i(w,b) = ⟨w,z_i⟩ + y_i b − κ_i(w)                            (robust margin)
    D(α) = Σα_i m_i − ½ dist(d, S)² − (Σα_i y_i)²/(2λ_b),   0 ≤ α_i ≤ c_i,
    d = Σα_i z_i,  S = s₀U + Σα_iρ_iU_i,  w(α) = d − Proj_S(d)

Classification has m_i = 1; regression has other targets, of either sign.

`intercept` is None (no b), 0 (free b: the dual gains Σα_i y_i = 0 and loses its last
term) or λ_b > 0 (penalised b). Samples known to sit at α_i = c_i may be folded into
one linear and one norm term (theory §3), so a reduced problem is a `Problem` too. A
norm penalty s₀Ω(w) is a norm term outside the hinges (theory §10).

Values come with a proven bound on their own rounding error (theory §5, last part):
`PrimalPoint.rounding` and `DualPoint.rounding`.

What is as long as the data (weights, radii, margins, α) is an array of the rows'
namespace; what is as long as the features is NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from wideberth.kernels.sums import slacks, within
from wideberth.noise import as_noise
from wideberth.noise.reading import errors_beside, in_order_of, in_the_middle
from wideberth.noise.sets import Noise, Sets, SumOfSets
from wideberth.problem.arrays import (
    constant,
    host,
    is_foreign,
    largest,
    masked,
    namespace,
    ones,
    pick,
)
from wideberth.problem.certificate import (
    PROVABLE,
    Certificate,
    DualPoint,
    PrimalPoint,
)
from wideberth.problem.labels import check_labels, check_targets
from wideberth.problem.limits import FEW_ROWS, TINY
from wideberth.problem.rounding import (
    OFF,
    DualSums,
    accurate_sum,
    chain,
    class_sums,
    dual_rounding,
    hinge_sum,
    null_rounding,
    primal_rounding,
    sum_of_products,
    sum_rounding,
    totals_rounding,
    well_inside,
)
from wideberth.problem.rows import Rows, as_rows, gamma
from wideberth.problem.statement import Statement
from wideberth.problem.validation import (
    check_data,
    check_number,
    check_per_sample,
    check_vector,
    feature_names,
)

#: Variation of the targets, as a share of their size, below which they count as
#: constant: a choice, well above the rounding of values, a few 10⁻¹⁴ of Σc_i|m_i|.
_CONSTANT = 1e-6


@dataclass(frozen=True)
class Folded:
    """Saturated samples as one linear and one norm term (theory §3): sums over them."""

    d: np.ndarray  # Σ c_i z_i
    total: float = 0.0  # Σ c_i m_i
    balance: float = 0.0  # Σ c_i y_i
    n: int = 0  # number of samples
    mass: float = 0.0  # Σ c_i ‖z_i‖
    rounding: float = 0.0  # bound on the error of d
    chain: float = 0.0  # largest number of roundings of a term (`rounding.chain`)
    largest_norm: float = 0.0  # largest ‖z_i‖
    largest_lipschitz: float = 0.0  # largest L_i (`Noise.lipschitz`)
    noise: SumOfSets | None = None  # Σ c_iρ_iU_i; None where no sample moves
    size: float = 0.0  # Σ c_i|m_i|
    weight: float = 0.0  # Σ c_i
    largest_target: float = 0.0  # largest |m_i|

    def restricted(self, columns: np.ndarray) -> Folded:
        """The sums of some features; bounds stay those of all features."""
        noise = None if self.noise is None else self.noise.restricted(columns)
        return replace(self, d=self.d[columns], noise=noise)

    def times(self, factor: float) -> Folded:
        """The sums under weights `factor` times as large."""
        noise = None if self.noise is None else self.noise.times(abs(factor))
        mass = abs(factor) * self.mass
        return replace(
            self,
            d=factor * self.d,
            total=factor * self.total,
            balance=factor * self.balance,
            mass=mass,
            rounding=abs(factor) * self.rounding + gamma(1) * mass,
            chain=self.chain + 1,
            noise=noise,
            size=abs(factor) * self.size,
            weight=abs(factor) * self.weight,
        )

    def __add__(self, other: Folded) -> Folded:
        noise = [part for part in (self.noise, other.noise) if part is not None]
        return Folded(
            self.d + other.d,
            self.total + other.total,
            self.balance + other.balance,
            self.n + other.n,
            self.mass + other.mass,
            self.rounding + other.rounding + gamma(1) * (self.mass + other.mass),
            max(self.chain, other.chain) + 1,
            max(self.largest_norm, other.largest_norm),
            max(self.largest_lipschitz, other.largest_lipschitz),
            noise[0] + noise[1] if len(noise) == 2 else noise[0] if noise else None,
            self.size + other.size,
            self.weight + other.weight,
            max(self.largest_target, other.largest_target),
        )


@dataclass(frozen=True)
class Problem:
    """A robust SVM on given rows: its primal, dual, gap and optimality conditions.

    Built by `from_data`; a reduced problem holds its saturated samples in `folded`.
    `intercept` is None (no b), 0 (free) or its penalty λ_b > 0. `classes` are the two
    labels that −1 and +1 stand for, where they are known.
    """

    rows: Rows
    weights: np.ndarray
    noise: Noise
    intercept: float | None = None
    folded: Folded | None = None
    classes: np.ndarray | None = None
    #: Largest number of roundings of a weight that is the sum of several, and of α as
    #: it is distributed over their samples (`merge.py`).
    chain: float = 0.0
    #: The rows as measured, where `rows` are the centres of asymmetric sets.
    measured: Rows | None = None
    #: s₀ of a norm penalty s₀Ω(w).
    penalty: float = 0.0
    #: Targets m_i of the robust margins; None where all are 1 (see `targets`).
    m: np.ndarray | None = None
    #: Least number that gaps are relative to; see `with_targets`.
    least_scale: float = 0.0
    #: q of the quantile loss, −q of every row being folded; 0 for hinges alone.
    tilt: float = 0.0

    def __post_init__(self):
        self.noise.sets.count_with(self.rows.passes)

    @classmethod
    def from_data(cls, X, y, *, intercept: float | None = None, **stated) -> Problem:
        """Validate user data and build the problem, c_i = C · sample_weight_i.

        y holds two classes of any kind; sorted, the second stands for +1. The intercept
        is None, 0 or its penalty; `stated` are other fields of a `Statement`: C,
        radius, noise, X_err, error_shape, sample_weight, norm_penalty.
        """
        if intercept is not None:
            wanted = "None (no intercept), 0 (a free one) or a finite penalty > 0"
            intercept = check_number(intercept, "intercept", wanted)
        stated |= {"fit_intercept": intercept is not None}
        stated |= {"intercept_penalty": intercept or 0.0}
        return cls.of(X, y, Statement(**stated))

    @classmethod
    def of(cls, X, y, statement: Statement) -> Problem:
        """Validate user data and build the problem that a statement makes of it."""
        given, names, X = X, feature_names(X), check_data(X)
        noise, X_err = statement.noise, statement.X_err
        sets: Sets = as_noise(noise, X.shape[1], names)
        if X_err is not None:
            X_err = in_order_of(X_err, given)
            sets = errors_beside(X, X_err, statement.error_shape, names, noise)
        return cls.from_matrix(X, y, sets, statement)

    @classmethod
    def from_matrix(cls, X, y, sets: Sets, statement: Statement) -> Problem:
        """The problem on checked X, with the sets that a statement describes."""
        n, weight = X.shape[0], statement.sample_weight
        labels, classes, m = _read_y(y, n, statement)
        weights = constant(float(statement.C), n)
        if weight is not None:
            with np.errstate(over="ignore"):
                weights = weights * check_per_sample(weight, n, "sample_weight")
            if not np.isfinite(weights).all():
                raise ValueError(
                    f"C={statement.C!r} times sample_weight overflows; lower one of "
                    "them."
                )
        penalty = float(statement.norm_penalty)
        sets.penalty(penalty, X.shape[1])  # refuses a penalty that has no norm
        rows = as_rows(X, labels)
        radii = check_per_sample(statement.radius_or_default, n, "radius")
        problem = cls(
            rows,
            weights,
            Noise(sets, radii),
            statement.intercept,
            classes=classes,
            penalty=penalty,
            m=m,
        )
        if sets.offsets is None:
            return problem
        return replace(problem, measured=rows).with_radii(radii)

    @property
    def n(self) -> int:
        """Rows of this problem (without folded ones)."""
        return self.rows.n

    @property
    def y(self) -> np.ndarray:
        """Labels, ±1."""
        return self.rows.y

    @property
    def radii(self) -> np.ndarray:
        """ρ_i."""
        return self.noise.radii

    @cached_property
    def targets(self) -> np.ndarray:
        """m_i of every row; ones in classification."""
        return ones(self.y) if self.m is None else self.m

    def tables(self) -> list[Rows]:
        """Tables by which samples differ, apart from label, target, weight, radius."""
        moved = [] if self.measured is None else [self.measured]
        return [self.rows, *moved, *self.noise.sets.tables()]

    def with_labels(self, y: np.ndarray, classes: np.ndarray | None = None) -> Problem:
        """Return the same samples under other labels, −1 and +1 for two classes."""
        return self.with_rows(lambda rows: rows.with_labels(y), classes=classes)

    def with_rows(self, change: Callable[[Rows], Rows], **changes) -> Problem:
        """Return the problem with its rows changed, and other `changes` of fields."""
        measured = None if self.measured is None else change(self.measured)
        fields = {"rows": change(self.rows), "measured": measured}
        return replace(self, **fields | changes)

    def with_weights(self, weights: np.ndarray) -> Problem:
        """Return the same samples under other weights c.

        What is computed once does not depend on them: the new problem keeps it.
        """
        new = object.__new__(type(self))
        vars(new).update(vars(self), weights=weights)
        return new

    def with_targets(self, targets) -> Problem:
        """Return the same samples under targets m_i.

        The optimum may then be 0. Gaps are relative to P at the best constant, w = 0,
        where that is larger than P, and to `_CONSTANT` times Σc_i|m_i| at least, since
        a constant is optimal where all targets are equal.
        """
        targets = check_vector(targets, self.n, "targets")
        changed = replace(self, m=targets)
        return replace(changed, least_scale=changed._loss_of_constant())

    def null_value(self) -> float:
        """P at w = 0 and the best b, without a bound on its rounding."""
        slack, value = self.targets, 0.0
        if self.intercept is not None:
            b = self.best_intercept(slack)
            slack = slack - self.y * b
            value = (0.5 * self.intercept * b - self._fold("balance")) * b
        return value + hinge_sum(self.weights, slack) + self._fold("total")

    def _loss_of_constant(self) -> float:
        """P at w = 0 and the best b, and a share of Σc_i|m_i| at least."""
        size = sum_of_products(self.weights, abs(self.targets))
        return max(self.null_value(), _CONSTANT * size)

    def tilted(self, share: float) -> Problem:
        """Return the problem with the quantile loss, q = `share`, in place of hinges.

        Theory §15: of every sample −q is folded, but for its noise, of which q is; what
        is left of its radius in the hinge is 1 − 2q of it.
        """
        fold = self.tilt_of(share)
        noise = self.noise.with_radii((1 - 2 * share) * self.radii)
        changed = replace(self, noise=noise, folded=fold, tilt=share)
        least = changed._loss_of_constant()
        if not least > 0:
            # y is constant: D is 0 in exact arithmetic, and off by its rounding.
            least = changed.dual_at(share * self.weights).rounding / PROVABLE
        return replace(changed, least_scale=least)

    def tilt_of(self, share: float) -> Folded:
        """What the quantile loss folds of all samples."""
        return replace(self.fold().times(-share), n=0)

    def hinges(self, share: float) -> Problem:
        """Return the hinges of the quantile loss, without the sums that it folds.

        Ellipsoids have no sum of their own: their Σ qc_iρ_iU_i stays.
        """
        noise = self.noise.with_radii((1 - 2 * share) * self.radii)
        if not self.noise.smooth or self.noise.proportional:
            return replace(self, noise=noise)
        kept = Folded(
            np.zeros(self.rows.d),
            chain=chain(self.n) + self.chain,
            largest_lipschitz=largest(self.noise.lipschitz(self.rows.d)),
            noise=self.noise.folded(share * self.weights),
        )
        return replace(self, noise=noise, folded=kept)

    def times(self, C: float) -> Problem:
        """Return the problem with C times the weights, those of folded samples too."""
        if self.folded is None:
            return self.with_weights(C * self.weights)
        fold, scale = self.folded.times(C), C * self.least_scale
        return replace(self, weights=C * self.weights, folded=fold, least_scale=scale)

    def fold(self, chosen=None) -> Folded:
        """Σ of c_i times z_i, m_i, y_i, ρ_iU_i, over a mask or all (theory §3)."""
        if chosen is None:
            count, some = self.n, lambda values: values
        else:
            count = int(namespace(chosen).count_nonzero(chosen))
            some = partial(masked, chosen)
        if count == 0:
            return Folded(np.zeros(self.rows.d))
        weights, norms = some(self.weights), self.rows.norms()
        mass = sum_of_products(weights, norms)
        relative = self.rows.combine_rounding + gamma(self.chain)
        relative += self.noise.sets.rotation_error
        own = replace(self, folded=None).dual_sums(weights)
        return Folded(
            self.rows.combine(weights),
            own.total,
            sum_of_products(weights, self.y),
            count,
            mass,
            relative * mass,
            chain(self.n, count) + self.chain,
            largest(some(norms)),
            largest(some(self.noise.lipschitz(self.rows.d))),
            self.noise.folded(weights),
            own.size,
            own.weight,
            largest(some(abs(self.targets))),
        )

    def with_radii(self, radii) -> Problem:
        """Return the same samples under other radii, rows in the centre of the sets."""
        radii = check_per_sample(radii, self.n, "radius")
        changed = replace(self, noise=self.noise.with_radii(radii))
        if self.measured is None:
            return changed
        X = in_the_middle(self.measured.X, self.noise.sets, radii)
        rows = as_rows(X, self.measured.y)
        rows.passes = self.rows.passes
        return replace(changed, rows=rows)

    def about_measurements(self) -> Problem:
        """The same problem with rows as measured and asymmetric sets around them.

        In this form the rows do not depend on the radii.
        """
        if self.measured is None:
            return self
        sets = self.noise.sets.about_measurements(self.y)
        noise = Noise(sets, self.radii)
        return replace(self, rows=self.measured, noise=noise, measured=None)

    def take(self, J, **changes) -> Problem:
        """Return the problem of the samples J, and other `changes` of its fields."""
        part = {
            "weights": pick(self.weights, J),
            "noise": self.noise.take(J),
            "m": None if self.m is None else pick(self.m, J),
        }
        return self.with_rows(lambda rows: rows.take(J), **part | changes)

    def with_features(self, columns: np.ndarray) -> Problem:
        """Return the problem of the features `columns`, all other weights being 0."""
        return self.with_rows(
            lambda rows: rows.take_columns(columns),
            noise=self.noise.restricted(columns),
            folded=None if self.folded is None else self.folded.restricted(columns),
        )

    @cached_property
    def penalty_set(self) -> SumOfSets:
        """s₀U of the norm penalty."""
        return self.noise.sets.penalty(self.penalty, self.rows.d)

    @cached_property
    def outside(self) -> SumOfSets:
        """The set of the noise outside the hinges: s₀U, and that of folded samples."""
        noise = None if self.folded is None else self.folded.noise
        return self.penalty_set if noise is None else self.penalty_set + noise

    # -- primal ----------------------------------------------------------------

    def on_host(self) -> Problem:
        """The same problem with rows and noise as NumPy arrays."""
        if not is_foreign(self.y):
            return self
        rows = as_rows(host(self.rows.X), host(self.y))
        weights, noise = host(self.weights), self.noise.on_host()
        m = None if self.m is None else host(self.m)
        return replace(self, rows=rows, weights=weights, noise=noise, m=m)

    def at(
        self, w: np.ndarray, b: float | None = None, margins=None, sizes=None
    ) -> PrimalPoint:
        """Evaluate the primal at (w, b); b=None takes the best intercept for w.

        The bound on the rounding uses ‖w‖‖z_i‖, or `sizes` = `Rows.magnitudes`, which
        are sharper where features differ much in size.
        """
        w = check_vector(w, self.rows.d, "w", finite=False)
        margins = self.rows.margins(w) if margins is None else margins
        supports = self.noise.supports(w)
        if self.intercept is None:
            b = 0.0
        elif b is None:
            b = self.best_intercept(self._slack(margins, supports, 0.0))
        slack = self._slack(margins, supports, float(b))
        hinge = hinge_sum(self.weights, slack)
        value = hinge + 0.5 * float(w @ w) + 0.5 * (self.intercept or 0.0) * b * b
        noise = self.outside.support(w)
        rounding = primal_rounding(self, w, b, supports, noise, slack, hinge, sizes)
        if self.folded is not None:
            fold = self.folded
            value += fold.total - float(fold.d @ w) - fold.balance * b
        value += noise
        scale = max(value, self.least_scale)
        return PrimalPoint(w, b, margins, slack, hinge, value, rounding, scale)

    def slack(self, w: np.ndarray, b: float) -> np.ndarray:
        """m_i − ψ_i(w,b) alone."""
        return self._slack(self.rows.margins(w), self.noise.supports(w), b)

    def _slack(self, margins, supports, b: float):
        """m_i − ψ_i, of margins ⟨w,z_i⟩ and κ_i(w); b counts where there is one."""
        b = 0.0 if self.intercept is None else b
        if isinstance(margins, np.ndarray):
            return slacks(self.targets, margins, supports, self.y, b)
        return self.targets - margins + supports - self.y * b

    def best_intercept(self, slack: np.ndarray) -> float:
        """Return b minimising P for fixed w; `slack` = m_i − ψ_i(w,0)."""
        penalty, folded = self.intercept or 0.0, self._fold("balance")
        vectors = host(slack), host(self.y), host(self.weights)
        return best_intercept(*vectors, penalty, folded)

    # -- dual ------------------------------------------------------------------

    def dual_at(
        self, alpha: np.ndarray, combined=None, sharp=False, near=None
    ) -> DualPoint:
        """Evaluate the dual at α, repaired to be feasible first.

        Its value is −∞ where samples folded at their bound leave no feasible α.
        `combined` is Zᵀα where it is known; it is ignored if α needed repair.
        `sharp` spends a pass on a closer bound of the rounding (`Rows.magnitudes`).
        `near`, a primal point w, is where the search for w(α) starts if sets per sample
        leave it without a closed form.
        """
        feasible = self.repair(alpha)
        if combined is None or feasible is not alpha:
            combined = self.rows.combine(feasible)
        mass = sum_of_products(feasible, self.rows.norms())
        relative = self.rows.combine_rounding + gamma(self.chain)
        turned = self.noise.sets.rotation_error
        d_error = (relative + turned) * mass
        d, sums = combined, self.dual_sums(feasible)
        if self.folded is not None:
            fold = self.folded
            d = d + fold.d
            d_error += fold.rounding + gamma(1) * (mass + fold.mass)
        noise = self.noise.sum(feasible) + self.outside
        # Beside a null model w(α) is 0 if the sum of the sets as given contains d.
        null = near is not None and not near.any() and noise.gauge(d, 1.0)[1] <= 1
        worth = max(sums.total, 0.0)  # which ½‖w(α)‖² is subtracted from
        w = np.zeros_like(d) if null else noise.closest(d, near, worth=worth)
        b, penalty = 0.0, 0.0
        if self.intercept:
            balance = sum_of_products(feasible, self.y) + self._fold("balance")
            b = balance / self.intercept
            penalty = 0.5 * balance * b
        value = sums.total - 0.5 * float(w @ w) - penalty
        if self.intercept == 0 and not self._balanced(feasible, sums):
            value = -np.inf
        sizes = None
        if sharp and not self._fold("mass"):  # |⟨w,δd⟩| rather than ‖w‖‖δd‖
            each = self.rows.magnitudes(w)
            along = relative * sum_of_products(feasible, each)
            along += turned * float(np.linalg.norm(w)) * mass
            sizes = along, largest(each)
        error, center = dual_rounding(self, w, b, sums, d_error, noise, null, sizes)
        if not w.any() and well_inside(self, d, noise, sums, d_error):
            error = null_rounding(self, b, sums)
        return DualPoint(feasible, d, noise.scale, w, b, value, error, center)

    def dual_sums(self, alpha) -> DualSums:
        """Σα_im_i, Σα_i|m_i| and Σα_i, folded samples included."""
        weight = accurate_sum(alpha)
        total = size = weight
        if self.m is not None:
            total = sum_of_products(alpha, self.targets)
            size = sum_of_products(alpha, abs(self.targets))
        if (fold := self.folded) is not None:
            total, size = total + fold.total, size + fold.size
            weight += fold.weight
        return DualSums(total, size, weight)

    def stretched(self, dual: DualPoint, sharp=False) -> DualPoint:
        """The best feasible multiple tα, D(tα) = tΣα_im_i − ½t²(‖w‖² + λ_b b²).

        The same point beside a penalty or folded samples, which do not scale with α.
        """
        if self.folded is not None or self.penalty > 0:
            return dual
        curvature = float(dual.w @ dual.w) + (self.intercept or 0.0) * dual.b * dual.b
        used = dual.alpha > 0
        limit = float((self.weights[used] / dual.alpha[used]).min(initial=np.inf))
        total = self.dual_sums(dual.alpha).total
        t = min(max(total, 0.0) / curvature if curvature > 0 else 1.0, limit)
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
        if isinstance(alpha, np.ndarray):
            inside = within(alpha, self.weights)
        else:
            inside = xp.all((alpha >= 0) & (alpha <= self.weights))
        if not inside:
            if not xp.all(xp.isfinite(alpha)):
                check_vector(alpha, self.n, "alpha")
            alpha = xp.clip(alpha, 0.0, self.weights)
        if self.intercept != 0:
            return alpha
        return balanced(alpha, self.y, self.weights, self._fold("balance"))

    def _balanced(self, alpha: np.ndarray, sums: DualSums) -> bool:
        """Whether Σα_i y_i = 0 up to rounding, folded samples included."""
        off = abs(sum_of_products(alpha, self.y) + self._fold("balance"))
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
        return self.targets - self.slack(w, b)

    def worst_case(self, w: np.ndarray) -> np.ndarray:
        """δ_i ∈ ρ_iU_i that hurts sample i most under w, one in a row (theory §1)."""
        return self.noise.worst_case(np.asarray(w, dtype=np.float64), self.y)

    def closest(self, alpha: np.ndarray, factor: float, near=None) -> np.ndarray:
        """w(α) under radii `factor` times as large; `near` is a guess of it."""
        d, noise = self._moving(alpha)
        noise = noise.times(factor) + self.penalty_set
        return noise.closest(d, near, rough=True)

    def _moving(self, alpha: np.ndarray) -> tuple[np.ndarray, SumOfSets]:
        """d and Σα_iρ_iU_i, which grows with the radii, folded samples included."""
        d, noise, fold = self.rows.combine(alpha), self.noise.sum(alpha), self.folded
        if fold is None:
            return d, noise
        return d + fold.d, noise if fold.noise is None else noise + fold.noise

    def null_bracket(self, alpha: np.ndarray, most=np.inf) -> tuple[float, float]:
        """Bounds on the least t ≥ 0 with Σα_iz_i ∈ s₀U + tΣα_iρ_iU_i.

        Folded samples are included. The bounds may be rough where t is over `most`, and
        are equal for a closed form.
        """
        d, noise = self._moving(alpha)
        return noise.gauge(d, most, self.penalty_set)

    def null_scale(self, alpha: np.ndarray) -> float:
        """The largest f with fΣα_iz_i ∈ s₀U + fΣα_iρ_iU_i."""
        d = self.rows.combine(alpha)
        return self.noise.sum(alpha).largest_multiple(d, self.penalty_set)

    def _fold(self, name: str):
        return 0.0 if self.folded is None else getattr(self.folded, name)

    def axes_error(self, rows=slice(None)):
        """Bound on how far the rotation to principal axes changes ψ_i(w), ÷ ‖w‖.

        T‖z_i‖ for the rows, and the error of the noise's axes (`noise/factors.py`).
        """
        errors, turned = self.noise.axes_errors, self.noise.sets.rotation_error
        errors = errors[rows] if np.ndim(errors) else errors
        return errors + turned * self.rows.norms()[rows] if turned else errors

    @cached_property
    def largest_target(self) -> float:
        """max_i ``|m_i|``, folded samples included."""
        own = 1.0 if self.m is None else largest(abs(self.m))
        return max(own, self._fold("largest_target"))

    @cached_property
    def largest_norm(self) -> float:
        """The largest ‖z_i‖, folded samples included."""
        return max(largest(self.rows.norms()), self._fold("largest_norm"))

    @cached_property
    def largest_lipschitz(self) -> float:
        """The largest L_i, folded samples included."""
        own = self.noise.lipschitz(self.rows.d)
        return max(largest(own), self._fold("largest_lipschitz"))


def _read_y(
    y, n: int, statement: Statement
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Labels −1 and +1, the classes that they stand for, and the targets m_i.

    Under the quantile loss y holds numbers t_i: all labels are s, and m_i = s·t_i.
    """
    if not statement.tilt:
        return *check_labels(y, n), None
    side = statement.side
    return np.full(n, side), None, side * check_targets(y, n)


def best_intercept(slack, y, weights, penalty: float, folded: float) -> float:
    """Return b minimising P for fixed w, by sorting; `slack` = m_i − ψ_i(w,0).

    The slope of P in b changes sign there (theory §4.4); `folded` = Σα_i y_i over
    folded samples. Where a slope is 0 up to rounding b is not unique, and the middle of
    the best ones is taken.
    """
    breaks = y * slack
    # Slope of the hinge part right of each break; it jumps by c_i there.
    start = -folded - weights[y > 0].sum()
    if not breaks.size:
        return float(-start / penalty) if penalty else 0.0
    error = sum_rounding(breaks.size) * (float(weights.sum()) + abs(folded))
    start, breaks, weights = _about_root(start, breaks, weights, penalty, error)
    order = np.argsort(breaks)
    breaks = breaks[order]
    right = start + np.cumsum(weights[order])
    left = np.concatenate(([start], right[:-1]))
    k = int(np.searchsorted(right + penalty * breaks >= -error, True))
    if k == breaks.size:
        return float(-right[-1] / penalty) if penalty else float(breaks[-1])
    if penalty and left[k] + penalty * breaks[k] > 0:
        return float(-left[k] / penalty)
    if penalty == 0 and right[k] <= error:  # samples of weight 0 end no interval
        j = int(np.searchsorted(right, error, side="right"))
        if j < breaks.size:
            return float(0.5 * (breaks[k] + breaks[j]))
    return float(breaks[k])


def _about_root(start: float, breaks, weights, penalty: float, error: float):
    """The slope and the breaks from some break before the root of a slope to one after.

    Every eighth break tells about where the root is, up to three standard deviations
    of a share; slopes at the ends of that range show whether it was right. If not, all
    breaks are returned, and where there are few.
    """
    everything = start, breaks, weights
    if breaks.size < FEW_ROWS:
        return everything
    some = np.argsort(breaks[::8])
    drawn, about = breaks[::8][some], weights[::8][some].cumsum()
    about *= weights.sum() / about[-1] if about[-1] > 0 else 1.0
    k = int(np.searchsorted(about + start + penalty * drawn >= 0, True))
    beside = int(1.5 * math.sqrt(drawn.size)) + 1
    low = drawn[max(k - beside, 0)]
    high = drawn[min(k + beside, drawn.size - 1)]
    before, within = breaks < low, (breaks >= low) & (breaks <= high)
    first = start + float(weights[before].sum())
    last = first + float(weights[within].sum())
    if not (first + penalty * low < -error and last + penalty * high > error):
        return everything
    return first, breaks[within], weights[within]


def balanced(alpha, y, weights, folded: float):
    """Return α with Σα_i y_i = 0, the same object if it is balanced already.

    The heavier class is scaled down; the lighter one moves towards its weights where
    folded samples ask for more.
    """
    mass, other = class_sums(alpha, y)
    excess = mass - other + folded
    if abs(excess) <= sum_rounding(y.shape[0]) * (mass + other + abs(folded)):
        return alpha
    heavy, xp = y > 0 if excess > 0 else y <= 0, namespace(alpha)
    if excess <= 0:
        mass, other = other, mass
    target = other - folded if excess > 0 else other + folded
    factor = max(target, 0.0) / mass if mass else 0.0
    alpha = xp.where(heavy, factor * alpha, alpha)
    if target < 0:
        below = xp.where(heavy, 0.0, weights - alpha)
        share = min(-target / max(accurate_sum(below), TINY), 1.0)
        alpha = xp.minimum(alpha + share * below, weights)
    return alpha
