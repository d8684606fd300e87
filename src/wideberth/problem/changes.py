"""Exact changes of a problem, and the way back for points and certificates.

`build_problem`, `cut_radii` and `merge_rows`, in this order, turn what a user states
into what solvers are good at. `Presolved` holds the result and the way back:

* *Axes.* Correlated noise is noise of one level per feature in its principal axes. How
  far those are from exact is part of every certificate (`noise/factors.py`).
* *Storage.* Large, wide arrays that are mostly zeros become sparse rows (`to_csr`).
* *Units.* With x_i = σx_i', ρ_i = σρ_i' and w = w'/σ every robust margin stays what it
  is, and

      σ²P(w,b) = ½‖w'‖² + ½(σ²λ_b)b² + (σs₀)Ω(w') + Σ (σ²c_i) [1 − ψ_i(w,b)]_+

  is the problem of (x', ρ', σ²c, σ²λ_b, σs₀), with the dual point α' = σ²α and all
  values σ² times as large (theory §1: Ω is homogeneous). For σ a power of two
  nothing is rounded on the way there or back, so a certificate of the one is a
  certificate of the other.
  Noise scales τ may be divided by a power of two that the radii take on. With
  m_i = κm_i', w = κw' and b = κb' the objective is κ² times that of (m', c/κ, s₀/κ),
  with α' = α/κ. A number that all targets share is taken off them, and given to a free
  intercept, where that rounds nothing.
* *Radii* that float64 cannot square are cut, and the answer refused if they matter.
* *Equal rows* are one row (`merge.py`).
* *Quantile loss.* Hinges become the loss of theory §15, last of all (`posed`).

Data of usual size is left as it is, uncopied.

Solvers and attempts at a proof change a problem in passing: `span_of_rows`,
`cap_weights` and `centre_columns`. What they find is evaluated on the original, so
correctness does not depend on these. `out_of_range` names the quantity to blame where
float64 does not prove an answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from wideberth.noise import as_shape
from wideberth.noise.reading import errors_beside, in_order_of
from wideberth.noise.sets import Sets
from wideberth.problem.arrays import host
from wideberth.problem.certificate import PROVABLE, Certificate, Pair
from wideberth.problem.limits import EPS, power_of_two
from wideberth.problem.merge import Merged, merge_equal_rows
from wideberth.problem.problem import Problem
from wideberth.problem.rows import DenseRows, Rows, as_rows, to_csr
from wideberth.problem.statement import Statement
from wideberth.problem.validation import feature_names, measured_data

#: Largest entry of X, or noise scale, that is used as it is, as is its reciprocal;
#: proof: sums of fourth powers of such numbers stay within float64.
USUAL = 2.0**30
#: Reciprocal of the least weight, and largest radius in units of the largest entry of
#: X, that are used as they are; proof: w is about as small as c‖x‖, and neither its
#: square nor that of the radius, times a weight of usual size, leaves float64.
EXTREME = 2.0**200
#: Largest Σc_i, largest λ_b and reciprocal of the least λ_b: a hundredth of the largest
#: float64, since values are sums of a few such terms.
_LARGEST = float(np.finfo(np.float64).max) / 100


@dataclass(frozen=True)
class Presolved:
    """A problem to solve, and what brings answers back to the problem as given.

    Rows x were turned to xᵀB, with an orthonormal `basis` B (None: not turned), and
    divided by σ, noise scales by `stretch` and targets by `kappa`, all powers of two.
    `cut` is the largest radius given, where it was cut down. Where equal samples were
    merged, `equal` says which. Under the quantile loss `tilt` is its q, and `shift` was
    taken off all targets t_i; `problem` has hinges, and `posed` is what is solved.
    """

    problem: Problem
    sigma: float = 1.0
    stretch: float = 1.0
    basis: np.ndarray | LinearOperator | None = None
    cut: float | None = None
    equal: Merged | None = None
    kappa: float = 1.0
    tilt: float = 0.0
    shift: float = 0.0

    @cached_property
    def posed(self) -> Problem:
        """The problem to solve, under the loss stated."""
        return self.problem.tilted(self.tilt) if self.tilt else self.problem

    @property
    def n(self) -> int:
        """Samples of the problem as given."""
        return self.problem.n if self.equal is None else self.equal.n

    def with_labels(self, y: np.ndarray, classes: np.ndarray) -> Presolved:
        """The same samples under labels ±1.0, where `share_rows` has prepared them."""
        if self.equal is None:
            return replace(self, problem=self.problem.with_labels(y, classes))
        equal = self.equal.with_labels(y, classes)
        return replace(self, problem=equal.problem, equal=equal)

    def inward(self, w, b, alpha):
        """A point of the problem as given, as one of the problem to solve."""
        sigma, kappa = self.sigma, self.kappa
        w = w if self.basis is None else self.basis.T @ w
        alpha = None if alpha is None else alpha * sigma * sigma / kappa
        if alpha is not None and self.equal is not None:
            alpha = self.equal.gathered(alpha)
        b = None if b is None else (b - self.shift) / kappa
        return w * sigma / kappa, b, alpha

    def outward(self, w, b, alpha):
        """A point of the problem to solve, as one of the problem as given."""
        alpha = None if alpha is None else self.dual_weights(alpha)
        return self.weights(w), self.intercept(b), alpha

    def intercept(self, b: float) -> float:
        """An intercept as given."""
        return b * self.kappa + self.shift

    def held(self, problem: Problem, found: Pair) -> Pair:
        """The pair at the intercept as it is given, which a `shift` may round."""
        point = found.point
        b = (self.intercept(point.b) - self.shift) / self.kappa
        if b == point.b or not self.shift:
            return found
        return Pair(problem.at(point.w, b, point.margins), found.dual, found.status)

    def weights(self, w: np.ndarray) -> np.ndarray:
        """Weights of the features as given."""
        w = w * self.kappa / self.sigma
        return w if self.basis is None else self.basis @ w

    def dual_weights(self, alpha: np.ndarray, C: float = 1.0) -> np.ndarray:
        """α of all samples, in units as given; under weights C times those here."""
        alpha = alpha if self.equal is None else self.equal.dealt(alpha, C)
        return self.sample_weight(alpha)

    def decided(self, removed, saturated) -> tuple[np.ndarray, np.ndarray]:
        """Masks of the samples proven to be at 0 and at their weight."""
        if self.equal is None:
            return removed, saturated
        return self.equal.decided(removed, saturated)

    def counts(self, removed, saturated) -> tuple[int, int, int]:
        """Numbers of undecided, saturated and removed samples, from masks."""
        masks = self.decided(removed, saturated)
        removed, saturated = (int(mask.sum()) for mask in masks)
        return self.n - removed - saturated, saturated, removed

    def left_out(self, left_out: np.ndarray) -> np.ndarray:
        """A mask of the samples that a ramp leaves out."""
        return left_out if self.equal is None else self.equal.marked(left_out)

    def value(self, value):
        """An objective in units as given."""
        return value / self.sigma / self.sigma * self.kappa * self.kappa

    def sample_weight(self, weight):
        """Weights c_i or dual variables α_i in units as given."""
        return weight / self.sigma / self.sigma * self.kappa

    def radius(self, radius: float) -> float:
        """A radius in units as given."""
        return radius * self.sigma / self.stretch

    def level(self, factor: float, norm_penalty: float) -> Problem:
        """The problem with `factor` times its radii, under a norm penalty as given."""
        changed = self.problem.with_radii(factor * self.problem.radii)
        changed = replace(changed, penalty=self.norm_penalty(norm_penalty))
        return replace(self, problem=changed).posed

    @property
    def unit_radii(self) -> Problem:
        """The problem with all radii 1, in the units here."""
        return replace(self, problem=self.problem.with_radii(1.0)).posed

    def norm_penalty(self, penalty: float) -> float:
        """A norm penalty s₀ as given, in the units here: σ²s₀Ω(w) = (σs₀)Ω(w').

        Where the noise has scales, which were divided by `stretch`, so has Ω.
        """
        units = self.sigma / self.kappa
        scaled = penalty * units * self.problem.noise.sets.penalty_unit(self.stretch)
        return _in_range("norm_penalty", penalty, scaled, self.sigma)

    def certificate(self, certificate: Certificate) -> Certificate:
        """The same certificate in units as given."""
        primal, own = self.value(certificate.primal), certificate.primal
        inside = np.finfo(float).tiny <= primal < np.inf
        if 0 < own < np.inf and not inside and self.kappa != 1.0:
            size = self.kappa * float(abs(self.problem.targets).max())
            raise ValueError(
                f"y reaches {size:.1e}, which puts the objective out of the range of "
                "float64: give y in another unit."
            )
        if 0 < own < np.inf and primal < np.finfo(float).tiny:
            heaviest = self.sample_weight(float(self.problem.weights.max()))
            raise ValueError(
                f"The objective, {primal:.1e}, is below the range of float64 for C·"
                f"sample_weight={heaviest:.1e} and X of this size: raise C, or "
                "scale X down."
            )
        dual, rounding = self.value(certificate.dual), self.value(certificate.rounding)
        return Certificate(primal, dual, rounding, self.value(certificate.least_scale))

    def proof(self, proof):
        """Certificates over a range (`screening/ranges.py`) in units as given."""
        return replace(
            proof,
            first=self.certificate(proof.first),
            last=self.certificate(proof.last),
            primal_bend=self.value(proof.primal_bend),
            dual_bend=self.value(proof.dual_bend),
        )

    def entry(self, entry: dict) -> dict:
        """An entry of a trace in units as given."""
        if self.sigma == self.kappa == 1.0:
            return entry
        values = ("primal", "dual", "gap")
        return entry | {name: self.value(entry[name]) for name in values}

    def refuse_cut_radii(self, w: np.ndarray) -> None:
        """Refuse a solution w, in the units here, that depends on radii that were cut.

        With Ω(w) = 0 the primal does not depend on the radii, and larger ones only
        raise the dual value: such a solution holds for the radii as given.
        """
        if self.cut is not None and np.any(self.problem.noise.supports(w)):
            raise ValueError(
                f"radius (times noise scale) reaches {self.cut:.3g}, more than "
                f"{EXTREME:.0e} times the largest entry of X, and yet it does "
                "not rule out every model: out of the range of float64. Lower that "
                "radius, or drop its samples or features."
            )

    def callback(self, callback):
        """A callback that receives units as given."""
        if callback is None or self.sigma == self.kappa == 1.0:
            return callback
        return lambda entry: callback(self.entry(entry))


def build_problem(X, y, statement: Statement, factor: float | None = 1.0) -> Presolved:
    """Check the data and the noise, and presolve the problem; see `presolve`."""
    noise, X_err = statement.noise, statement.X_err
    plain = isinstance(noise, str) and X_err is None
    names = None if plain else feature_names(X)
    X_err = None if X_err is None else in_order_of(X_err, X)
    X, size, norms = measured_data(X)
    if X_err is not None:
        bars = errors_beside(X, X_err, statement.error_shape, names, noise)
        problem = Problem.from_matrix(X, y, bars, statement)
        return presolve(problem, factor=factor, tilt=statement.tilt)
    shape = as_shape(noise, X.shape[1], names)
    axes, shape = shape.axes, shape.principal
    X = to_csr(X if axes is None else X @ axes)
    problem = Problem.from_matrix(X, y, shape, statement)
    if axes is None:
        problem.rows.know_norms(norms)
    return presolve(problem, size, axes, factor, statement.tilt)


def presolve(
    problem: Problem,
    size: float = np.inf,
    axes=None,
    factor: float | None = 1.0,
    tilt: float = 0.0,
) -> Presolved:
    """The problem in units that suit float64.

    `size` is ‖X‖ (Frobenius), or infinite where it is not known; `axes` is the basis
    that its rows were turned to. The largest C of a path is `factor`, by which weights
    will be multiplied; None where it is not known yet. `tilt`: q of the quantile loss.
    """
    problem, shift = _centred(problem)
    kappa = _kappa(problem)
    heaviest = 0.0 if factor is None else factor * float(problem.weights.max()) / kappa
    entries = problem.n * problem.rows.d  # ‖X‖ may show already that they are usual
    usual = math.sqrt(entries) / USUAL <= size <= USUAL
    usual = usual or 1 / USUAL <= _largest_entry(problem.rows.X) <= USUAL
    usual = usual and (heaviest >= 1 / EXTREME or heaviest == 0)
    sigma = 1.0 if usual else _sigma(problem.rows.X, heaviest)
    if not heaviest * sigma * sigma * problem.n < _LARGEST:
        beside = "" if kappa == 1.0 else f" beside y of size {kappa:.0e}"
        raise ValueError(
            f"C·sample_weight reaches {heaviest * kappa:.3g}{beside} and X "
            f"{sigma:.0e}: C·‖x‖² is more than float64 can hold. Lower C, or scale X "
            "down."
        )
    stretch = problem.noise.sets.unit(sigma, USUAL)
    presolved = Presolved(
        problem, sigma, stretch, axes, kappa=kappa, tilt=tilt, shift=shift
    )
    if sigma == stretch == kappa == 1.0:
        return presolved
    b = problem.intercept
    _in_range("intercept_penalty", b or 0.0, (b or 0.0) * sigma * sigma, sigma)
    with np.errstate(over="ignore", under="ignore"):
        changed = problem.with_rows(
            partial(_divided, sigma=sigma),
            weights=problem.weights * sigma * sigma / kappa,
            noise=problem.noise.divided(sigma, stretch),
            intercept=b if b is None else b * sigma * sigma,
            penalty=presolved.norm_penalty(problem.penalty),
            m=None if problem.m is None else problem.m / kappa,
            least_scale=problem.least_scale * sigma * sigma / kappa / kappa,
        )
    return replace(presolved, problem=changed)


def _centred(problem: Problem) -> tuple[Problem, float]:
    """The problem with targets about 0 beside a free b, and what was taken off t_i.

    Only where every difference is exact; as a rule it is where targets vary little
    beside their size, and there it is needed.
    """
    if problem.m is None or problem.intercept != 0 or not problem.n:
        return problem, 0.0
    middle = float(np.median(problem.m))
    targets = problem.m - middle
    moved = targets - problem.m  # −middle, but for rounding (Knuth's TwoSum)
    error = (problem.m - (targets - moved)) - (middle + moved)
    if error.any():
        return problem, 0.0
    return replace(problem, m=targets), middle * float(problem.y[0])


def _kappa(problem: Problem) -> float:
    """The power of two that makes the largest |m_i| at most 1; 1 for usual targets."""
    largest = 1.0 if problem.m is None else problem.largest_target
    if largest == 0 or 1 / USUAL <= largest <= USUAL:
        return 1.0
    return power_of_two(math.frexp(largest)[1])


def _divided(rows: Rows, sigma: float) -> Rows:
    if sigma == 1.0:
        return rows
    return as_rows(rows.X.astype(np.float64) * (1 / sigma), rows.y)


def _in_range(name: str, penalty: float, scaled: float, sigma: float) -> float:
    """A penalty in the units of the problem to solve, refused out of range."""
    if penalty > 0 and not 1 / _LARGEST <= scaled <= _LARGEST:
        raise ValueError(
            f"{name}={penalty:.3g} beside X of size {sigma:.0e} is {scaled:.1e} in "
            "units of X: out of the range of float64, 1e±306. Choose 0, or scale X."
        )
    return scaled


def _sigma(X, heaviest: float) -> float:
    """The power of two that makes the largest entry at most 1.

    A larger one where the weights would underflow: every sample is saturated then, and
    entries far below 1 do no harm.
    """
    largest = _largest_entry(X)
    exponent = math.frexp(largest)[1] if largest > 0 else 0
    if heaviest > 0:
        least = math.frexp(1 / EXTREME)[1] - math.frexp(heaviest)[1]
        exponent = max(exponent, least // 2)
    return power_of_two(exponent)


def _largest_entry(X) -> float:
    values = X.data if sp.issparse(X) else X
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def merge_rows(presolved: Presolved) -> Presolved:
    """Merge equal samples, where there are many samples."""
    equal = merge_equal_rows(presolved.problem)
    if equal is None:
        return presolved
    return replace(presolved, problem=equal.problem, equal=equal)


def share_rows(presolved: Presolved) -> Presolved:
    """What problems on the same samples share whatever their labels; y is 1 in it.

    Rows are equal if x is, and what solvers ask about X is computed now, so that no
    problem depends on which of them is solved first.
    """
    problem = presolved.problem
    shared = replace(presolved, problem=problem.with_labels(np.ones(problem.n)))
    shared = merge_rows(shared)
    shared.problem.rows.look_ahead()
    return shared


def cut_radii(presolved: Presolved) -> Presolved:
    """Cut radii down to what float64 can square; see `refuse_cut_radii`."""
    problem, widest = presolved.problem, float(presolved.problem.radii.max())
    if widest <= EXTREME:
        return presolved
    radii = np.minimum(problem.radii, EXTREME)
    cut = presolved.radius(widest) * presolved.stretch
    return replace(presolved, problem=problem.with_radii(radii), cut=cut)


def check_radii(presolved: Presolved, factor: float = 1.0) -> None:
    """Refuse radii, `factor` times those of the problem, that are out of range."""
    widest = factor * float(presolved.problem.radii.max())
    if not widest <= EXTREME:
        raise ValueError(
            f"radii reach {presolved.radius(widest):.3g}, more than "
            f"{EXTREME:.0e} times the largest entry of X: out of the range of "
            "float64, and no model survives a fraction of it. Lower the largest of "
            "them."
        )


def span_of_rows(problem: Problem) -> Presolved:
    """The problem in the span of its rows, which contains w* under ℓ2 noise.

    It depends on ‖w‖ and ⟨w,x_i⟩ only, so wide data of n rows becomes n×n. Folded
    samples may lie outside of the span: with them nothing changes.
    """
    wide = problem.n < problem.rows.d and problem.folded is None
    if not wide or not problem.noise.isotropic:
        return Presolved(problem)
    coordinates, basis = problem.rows.rotated
    rows = DenseRows(coordinates, problem.y, problem.rows.passes)
    return Presolved(replace(problem, rows=rows), basis=basis)


def cap_weights(problem: Problem, most: float) -> Problem:
    """The problem with no c_i‖z_i‖² beyond `most`; the same object if none is.

    Where the optimum has α_i < c_i for the capped weights, the problem has the same
    solution; its dual points are feasible in any case.
    """
    heaviest = float(problem.weights.max(initial=0.0))
    if heaviest * problem.rows.d * USUAL**2 <= most:
        return problem  # entries are at most `USUAL`: no pass is needed to see it
    largest = float(problem.rows.norms().max(initial=0.0))
    cap = most / largest / largest if largest > 0 else np.inf
    if heaviest <= cap:
        return problem
    return problem.with_weights(np.minimum(problem.weights, cap))


def centre_columns(problem: Problem) -> Problem:
    """The problem with columns of mean 0; a free intercept absorbs the shift.

    It has the same w and α in exact arithmetic, and is far better conditioned where
    columns vary little beside their mean, as dates do.
    """
    X = problem.rows.X
    X = X.toarray() if sp.issparse(X) else X
    means = X.mean(axis=0, dtype=np.float64)
    rows, fold = DenseRows(X - means, problem.y, problem.rows.passes), problem.folded
    if fold is not None:  # Σc_iy_i(x_i − means)
        fold = replace(fold, d=fold.d - fold.balance * means)
    return replace(problem, rows=rows, folded=fold)


def out_of_range(problem: Problem, presolved: Presolved) -> str | None:
    """Which quantity is too large or too small for a proof in float64; what to do.

    None where all are of usual size.
    """
    norms, used, noise = problem.rows.norms(), problem.weights > 0, problem.noise
    weights = problem.weights[used]
    push = float((weights * norms[used] ** 2).max(initial=0.0))
    columns = _column_sizes(problem.rows.X)
    columns = columns[columns > 0]
    spread = float(columns.max() / columns.min()) if columns.size else 1.0
    span = float(weights.max() / weights.min()) if weights.size else 1.0
    largest = float(columns.max(initial=0.0)) * presolved.sigma
    widest = float(problem.radii.max()) if presolved.cut is None else np.inf
    radius = presolved.cut or presolved.radius(widest)
    faint = float(weights.sum()) / problem.intercept if problem.intercept else 0.0
    blurred = blur(noise.sets, problem.rows.d) if widest > 0 else 0.0
    causes = {
        f"the features of X differ in size by a factor of {spread:.1e}: scale them to "
        "similar size": spread,
        f"sample_weight spans a factor of {span:.1e}: bring the weights closer "
        "together": span,
        f"radius reaches {radius:.1e} beside entries of X up to {largest:.1e}: lower "
        "the largest radius": widest,
        f"intercept_penalty is {faint:.1e} times smaller than the weights: choose 0, a "
        "free intercept": faint,
        noise.sets.remedy: blurred,
        f"C·sample_weight·‖x‖² reaches {push:.1e}: lower C, or scale X down": push,
    }
    factor, words = max((factor, words) for words, factor in causes.items())
    if factor * EPS < PROVABLE:  # of float64's digits it leaves those of a proof
        return None
    return words


def blur(sets: Sets, n_features: int) -> float:
    """Relative error of support functions by the axes of the noise, in units of 2⁻⁵³.

    About d^1.5 for a covariance, or 10⁸ where its null space is not certain.
    """
    errors, sizes = sets.axes_errors(), sets.lipschitz(n_features)
    errors, sizes = (np.atleast_1d(host(part)) for part in (errors, sizes))
    shares = np.divide(
        errors, sizes, out=np.full(sizes.shape, 2.0**-53), where=sizes > 0
    )
    return float(np.where(errors > 0, shares, 0.0).max(initial=0.0)) / 2.0**-53


def _column_sizes(X) -> np.ndarray:
    """Largest absolute value of every column."""
    if sp.issparse(X):
        return np.asarray(abs(X).max(axis=0).todense()).ravel().astype(np.float64)
    return np.maximum(X.max(axis=0), -X.min(axis=0)).astype(np.float64)
