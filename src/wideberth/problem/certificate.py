"""Points, pairs of them, and what a pair proves, rounding included (theory §2, §5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from wideberth.problem.limits import LITTLE

#: Smallest relative gap that `Certificate.proves` asks a proof of, rounding included.
#: Bounds on rounding count the worst case of every operation: γ of a block of 2¹⁴ rows
#: is 2·10⁻¹² (`rows.py`), relative to terms up to hundreds of times the objective.
PROVABLE = 1e-9


@dataclass(frozen=True)
class PrimalPoint:
    """A primal point with what was computed there, and its value P(w,b)."""

    w: np.ndarray
    b: float
    margins: np.ndarray  # Zw, without intercept and noise
    slack: np.ndarray  # m_i − ψ_i(w,b)
    hinge: float  # Σ c_i [slack_i]_+, without folded samples
    value: float
    rounding: float  # bound on the error of `value`
    scale: float  # what a gap is relative to: the value, or the problem's least scale


@dataclass(frozen=True)
class DualPoint:
    """A feasible dual point, the primal point w(α) it stands for, and D(α)."""

    alpha: np.ndarray
    d: np.ndarray  # Σα_i z_i
    s: float  # Σα_i ρ_i
    w: np.ndarray
    b: float  # Σα_i y_i / λ_b; 0 without an intercept or with a free one
    value: float
    rounding: float  # bound on the error of `value`
    center_rounding: float  # bound on the error of (w, √λ_b b), and on κ_Ω times s's


#: How a run ended: the tolerance is proven, or what kept it from being proven.
Status = Literal["solved", "stopped", "out of time", "out of steps", "out of precision"]


@dataclass(frozen=True)
class Pair:
    """A primal and a dual point of one problem.

    `status` says how the run that found them ended; None where no run has ended.
    """

    point: PrimalPoint
    dual: DualPoint
    status: Status | None = None

    @cached_property
    def certificate(self) -> Certificate:
        """What the two points prove; computed once."""
        return Certificate.of(self.point, self.dual)

    @property
    def gap(self) -> float:
        """P − D of the two points."""
        return self.point.value - self.dual.value

    def proves(self, tol: float) -> bool:
        """Whether the pair proves a tolerance; see `Certificate.proves`."""
        return self.certificate.proves(tol)

    def meets(self, tol: float) -> bool:
        """Whether a solver may stop here; see `Certificate.meets`."""
        return self.certificate.meets(tol)


@dataclass(frozen=True)
class Certificate:
    """Proof of near-optimality: P(w,b) and D(α) ≤ P* ≤ P(w,b).

    Gaps are relative to the primal value, and to `least_scale` where that is less:
    with targets other than 1 the optimum may be 0 (theory §14).
    """

    primal: float
    dual: float
    rounding: float
    least_scale: float = 0.0

    @classmethod
    def of(cls, point: PrimalPoint, dual: DualPoint) -> Certificate:
        """Pair a primal and a dual value."""
        rounding = point.rounding + dual.rounding
        least = point.scale if point.scale > point.value else 0.0
        return cls(point.value, dual.value, rounding, least)

    @property
    def scale(self) -> float:
        """What gaps are relative to."""
        return max(self.primal, self.least_scale)

    @property
    def gap(self) -> float:
        """Duality gap P(w,b) − D(α)."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the primal value, or of the least scale."""
        return self.gap / self.scale if self.scale > 0 else max(self.gap, 0.0)

    @property
    def bound(self) -> float:
        """What the gap is at most in exact arithmetic: the gap and its rounding."""
        return max(self.gap, 0.0) + self.rounding

    def proves(self, tol: float) -> bool:
        """Whether gap plus rounding is at most `tol` times the scale.

        Below `PROVABLE` = 1e-9 it is the gap as computed that must be within `tol`,
        and gap plus rounding within 1e-9: float64 does not prove less.
        """
        proven = self.bound <= max(tol, PROVABLE) * self.scale < np.inf
        return bool(proven and self.gap <= tol * self.scale)

    def meets(self, tol: float) -> bool:
        """Whether a solver may stop: `tol` is proven, or rounding alone forbids it.

        No step lowers the rounding. A gap of a tenth of `tol` is enough: the rest is
        left to rounding, which `attempts.py` may bound more sharply.
        """
        return self.proves(tol) or self.gap <= LITTLE * tol * self.scale
