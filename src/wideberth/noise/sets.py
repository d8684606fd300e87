"""How far every sample of a problem may move: the contract of all noise.

Sample i moves by any δ ∈ ρ_iU_i (theory §1, §8). The sets U_i are closed, convex and
bounded. All samples share one of them (`Shape`), or each has its own (`ErrorBars`).

* `Sets` are the U_i: r_i(w) = max_{δ∈U_i} ⟨w,δ⟩, and what else a subclass knows.
* `Noise` has the radii, too: κ_i(w) = ρ_ir_i(w), of which the primal is made.
* `SumOfSets` is S = Σα_iρ_iU_i, of which the dual is made. For d = Σα_iz_i the shortest
  v = d − δ with δ ∈ S is w(α), and w* = 0 where d ∈ S. Samples at their bound leave
  such a sum behind, and so does a norm penalty s₀Ω(w) (theory §3, §10).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Self

import numpy as np

from wideberth.problem.arrays import concat, constant, host, is_foreign, pick
from wideberth.problem.rows import Passes, Rows

if TYPE_CHECKING:
    from wideberth.noise.error_bars import SmoothBars, Tangents
    from wideberth.noise.shapes import Shape


class SumOfSets(ABC):
    """S = Σ a_iU_i, a_i ≥ 0, known through its support function Σ a_ir_i(w)."""

    #: s where S = sU for a shape that all samples share; 0 elsewhere.
    scale: float = 0.0
    #: How far S may be from that of the sets as given, for its axes (`factors`).
    axes_error: float = 0.0
    #: Relative error of sums of points of the sets, beyond that of sums over samples.
    rounding: float = 0.0
    #: Ellipsoids of samples with their a_i, where S has no closed form.
    parts: tuple[tuple[SmoothBars, np.ndarray], ...] = ()

    @abstractmethod
    def __add__(self, other: SumOfSets) -> SumOfSets:
        """The sum of both; they are of one kind."""

    @abstractmethod
    def times(self, factor: float) -> SumOfSets:
        """The set `factor` times as large."""

    @abstractmethod
    def restricted(self, columns: np.ndarray) -> SumOfSets:
        """The same of some features alone."""

    @abstractmethod
    def support(self, w: np.ndarray) -> float:
        """Σ a_ir_i(w)."""

    def support_error(self, w: np.ndarray) -> float:
        """What it is off by, beyond the rounding of sums over samples and features."""
        return 0.0

    @abstractmethod
    def lipschitz(self, n_features: int) -> float:
        """The largest Σ a_ir_i(w) over ‖w‖₂ ≤ 1, or more."""

    @abstractmethod
    def inscribed(self, n_features: int) -> float:
        """The radius of a Euclidean ball inside S; 0 where none is known."""

    @abstractmethod
    def closest(
        self,
        d: np.ndarray,
        near: np.ndarray | None = None,
        rough: bool = False,
        worth: float = 0.0,
    ) -> np.ndarray:
        """The shortest v = d − δ with δ ∈ S, or nearly; `near` is a guess of it.

        A `rough` answer will do where the next α asks again. D(α) is `worth` − ½‖v‖²:
        decreases of ½‖v‖² that are negligible beside `worth` need not be sought.
        """

    @abstractmethod
    def gauge(
        self, d: np.ndarray, most: float = np.inf, fixed: SumOfSets | None = None
    ) -> tuple[float, float]:
        """Bounds on the least t ≥ 0 with d ∈ tS; rough where t is over `most`.

        With a `fixed` set, that of a norm penalty, it is the least with d ∈ tS + fixed.
        """

    def largest_multiple(self, d: np.ndarray, fixed: SumOfSets) -> float:
        """The largest f with fd ∈ fS + `fixed`, a norm penalty."""
        raise NotImplementedError(f"{type(self).__name__} takes no norm penalty")

    def box(self, n_features: int) -> np.ndarray:
        """Half of the width of S in every feature, where noise is a sum over them."""
        raise NotImplementedError(f"{type(self).__name__} is no box")

    @abstractmethod
    def conic(self, cp, w):
        """Σ a_ir_i(w) as an expression of CVXPY, the module `cp`."""

    def left_open(self, v: np.ndarray, error: float) -> tuple[float, float]:
        """Bounds on the errors of D and of w(α) where sets are known by their factors.

        v, known up to `error`, is the shortest vector for the sets of the factors; the
        Lagrangian is that of the sets as given (theory §8.3).
        """
        return 0.0, 0.0


class Sets(ABC):
    """Unit sets U_i: one that all samples share, or one for each."""

    name: str
    #: The radius where none is given.
    default_radius: float = 0.0
    #: Whether r_i is differentiable wherever it is positive; then r_i(w) = ‖F_iᵀw‖₂.
    smooth: bool = False
    #: Whether r_i is the Euclidean norm, so that rotations change nothing.
    isotropic: bool = False
    #: Whether noise is a sum over features, so that w has zeros: boxes.
    separable: bool = False
    #: Whether all ρ_iU_i are multiples of one set U, so that Σα_iκ_i(w) = sΩ(w).
    proportional: bool = False
    #: Q, if a shape is axis-aligned only in the coordinates Qᵀx.
    axes: np.ndarray | None = None
    #: T: having rotated rows to `axes` changes ⟨w,x⟩ by at most T‖w‖‖x‖ (`factors`).
    rotation_error: float = 0.0
    #: What to do where rounding leaves directions without noise open.
    remedy: str = ""
    #: From each measurement to the middle of its set; None if that is where it is.
    offsets: np.ndarray | None = None

    @property
    def shape(self) -> Shape:
        """U, where all samples share it."""
        raise TypeError(f"{self.name} noise has a set for every sample")

    @property
    def ellipsoids(self) -> SmoothBars:
        """The U_i, where each sample has an ellipsoid."""
        raise TypeError(f"{self.name} noise has no ellipsoid for every sample")

    @abstractmethod
    def supports(self, w: np.ndarray) -> np.ndarray | float:
        """r_i(w) of every sample; one number where they are all the same."""

    def support_errors(self, w: np.ndarray) -> np.ndarray | float:
        """How far r_i(w) may be from the sets as given, beyond `gamma(d + 8)` of it."""
        return 0.0

    def axes_errors(self) -> np.ndarray | float:
        """Bounds on `support_errors(w)` over all ‖w‖₂ ≤ 1."""
        return 0.0

    @abstractmethod
    def lipschitz(self, n_features: int) -> np.ndarray | float:
        """The largest r_i(w) over ‖w‖₂ ≤ 1, or more."""

    @abstractmethod
    def sum(self, a: np.ndarray, radii: np.ndarray) -> SumOfSets:
        """Σ a_iρ_iU_i."""

    def folded(self, a: np.ndarray, radii: np.ndarray) -> SumOfSets:
        """The same sum in a form that takes little memory if most a_i are 0."""
        return self.sum(a, radii)

    @abstractmethod
    def penalty(self, s: float, n_features: int) -> SumOfSets:
        """The set whose support function is a norm penalty s₀Ω(w); empty for s₀ = 0."""

    def penalty_unit(self, factor: float) -> float:
        """The factor on s₀ if the sets are divided by `factor`."""
        return 1.0

    def norm(self, w: np.ndarray) -> float:
        """N(w) ≤ ‖w‖₂ with r_i(w) ≤ L_iN(w) for all samples, L_i being `lipschitz`."""
        return float(np.linalg.norm(w))

    def left_out(self, w: np.ndarray) -> np.ndarray:
        """A mask of the features whose weight in w = w(α) is 0 because of the noise.

        All False where noise is not a sum over features.
        """
        return np.zeros(w.size, dtype=bool)

    def cells(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Half widths of boxes, for pairs of samples i and features j."""
        raise NotImplementedError(f"{self.name} noise is not separable")

    def moves(self, w: np.ndarray) -> np.ndarray:
        """Moves δ that attain max ⟨w,δ⟩: one row per sample, or one for all samples."""
        raise NotImplementedError(f"{self.name} noise knows no worst case")

    def tangents(self, z: np.ndarray, radii: np.ndarray, w: np.ndarray) -> Tangents:
        """κ_i about w, beside the z_i of the samples."""
        raise NotImplementedError(f"{self.name} noise has no tangents")

    def conic(self, cp, w):
        """r_i(w) as expressions of CVXPY, the module `cp`."""
        raise NotImplementedError(
            f"{self.name} noise has no method `conic`, which the conic solver needs: "
            "Ω(w) as an expression of CVXPY."
        )

    def tables(self) -> list[Rows]:
        """The numbers that describe the set of each sample, one row each."""
        return []

    def take(self, J) -> Self:
        """The sets of some samples."""
        return self

    def joined(self, other: Sets) -> Sets:
        """The sets of these samples, then those of `other`."""
        return self

    def restricted(self, columns: np.ndarray) -> Self:
        """The sets of some features alone."""
        raise NotImplementedError(f"{self.name} noise does not treat features apart")

    def on_host(self) -> Sets:
        """The same in NumPy, wherever they live."""
        return self

    def count_with(self, passes: Passes) -> None:  # noqa: B027 (a shape is not read)
        """Count reads of the sets together with those of the rows."""

    def about_measurements(self, y: np.ndarray) -> Sets:
        """Asymmetric sets around the measurements instead of around their middles."""
        return self

    def unit(self, sigma: float, usual: float) -> float:
        """The power of two to divide the sets by, where rows are divided by σ.

        Sizes from 1/`usual` to `usual` may stay as they are; see `changes.presolve`.
        """
        return 1.0

    def divided(self, factor: float) -> Sets:
        """The sets `factor` times smaller, where there is something to divide."""
        return self


@dataclass(frozen=True)
class Noise:
    """How far each sample of a problem may move: within ρ_iU_i."""

    sets: Sets
    radii: np.ndarray

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.sets.name

    @property
    def smooth(self) -> bool:
        """Whether κ_i is differentiable wherever it is positive."""
        return self.sets.smooth

    @property
    def isotropic(self) -> bool:
        """Whether κ_i(w) = ρ_i‖w‖₂."""
        return self.sets.isotropic

    @property
    def separable(self) -> bool:
        """Whether κ_i is a sum over features."""
        return self.sets.separable

    @property
    def proportional(self) -> bool:
        """Whether κ_i(w) = ρ_iΩ(w): all sets are multiples of one."""
        return self.sets.proportional

    @property
    def shape(self) -> Shape:
        """U, where noise is proportional."""
        return self.sets.shape

    @property
    def ellipsoids(self) -> SmoothBars:
        """The U_i, where each sample has an ellipsoid."""
        return self.sets.ellipsoids

    def supports(self, w: np.ndarray):
        """κ_i(w) of every sample: the most that moving it changes ⟨w,x⟩."""
        return _times(self.radii, self.sets.supports(w))

    def support_errors(self, w: np.ndarray):
        """How far κ_i(w) may be off, beyond `gamma(d + 8)` of it."""
        errors = self.sets.support_errors(w)
        return errors if _is_zero(errors) else self.radii * errors

    def lipschitz(self, n_features: int):
        """L_i of every sample: the largest κ_i(w) over ‖w‖₂ ≤ 1."""
        return _times(self.radii, self.sets.lipschitz(n_features))

    @cached_property
    def axes_errors(self):
        """How far κ_i(w) may be off, per unit of ‖w‖₂; 0 if for no sample."""
        errors = self.sets.axes_errors()
        return errors if _is_zero(errors) else self.radii * errors

    def sum(self, alpha: np.ndarray) -> SumOfSets:
        """Σα_iρ_iU_i, whose support function is Σα_iκ_i(w)."""
        return self.sets.sum(alpha, self.radii)

    def folded(self, weights: np.ndarray) -> SumOfSets:
        """Σ c_iρ_iU_i of samples at their bound, those of others being 0."""
        return self.sets.folded(weights, self.radii)

    def cells(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Under boxes how far samples i may move in features j, together."""
        return self.radii[i] * self.sets.cells(i, j)

    def tangents(self, z: np.ndarray, w: np.ndarray) -> Tangents:
        """κ_i about w, beside the z_i of the samples."""
        return self.sets.tangents(z, self.radii, w)

    def worst_case(self, w: np.ndarray, y: np.ndarray) -> np.ndarray:
        """δ_i ∈ ρ_iU_i that lowers y_i⟨w,x_i+δ_i⟩ most, as an n×d array."""
        down, up = self.sets.moves(-w), self.sets.moves(w)
        return self.radii[:, None] * np.where(y[:, None] > 0, down, up)

    def take(self, J) -> Noise:
        """The noise of some samples, by a slice or indices."""
        if isinstance(J, slice) and slice(None) == J:
            return self
        return Noise(self.sets.take(J), pick(self.radii, J))

    def with_radii(self, radii: np.ndarray) -> Noise:
        """The same sets under other radii."""
        return replace(self, radii=radii)

    @staticmethod
    def joined(parts: list[Noise]) -> Noise:
        """The noise of the samples of several problems, one after the other."""
        sets = reduce(lambda one, other: one.joined(other), (p.sets for p in parts))
        return Noise(sets, concat([part.radii for part in parts]))

    def restricted(self, columns: np.ndarray) -> Noise:
        """The noise of some features alone."""
        return replace(self, sets=self.sets.restricted(columns))

    def on_host(self) -> Noise:
        """The same in NumPy, wherever it lives."""
        return Noise(self.sets.on_host(), host(self.radii))

    def divided(self, sigma: float, stretch: float) -> Noise:
        """The noise of rows divided by σ, with sets divided by `stretch`."""
        sets = self.sets if stretch == 1.0 else self.sets.divided(stretch)
        return Noise(sets, self.radii / sigma * stretch)


def same_for_all(radii) -> bool:
    """Whether all samples have one radius, which takes the memory of one."""
    one = isinstance(radii, np.ndarray) and radii.strides == (0,)
    return one and radii.size > 0


def _times(radii, factor):
    """All radii times a number, one of them staying one; or times one for each."""
    if same_for_all(radii) and (isinstance(factor, float) or np.ndim(factor) == 0):
        return constant(radii[0] * factor, radii.size)
    return radii * factor


def _is_zero(errors) -> bool:
    if isinstance(errors, float):
        return errors == 0
    return not is_foreign(errors) and np.ndim(errors) == 0 and errors == 0
