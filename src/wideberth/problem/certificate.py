"""What a primal and a dual value prove, rounding included (theory §2, §5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wideberth.problem.problem import DualPoint, PrimalPoint

__all__ = ["PROVABLE", "Certificate"]

#: Least relative gap that `Certificate.proves` asks a proof of. The bounds on rounding
#: count every operation at its worst: γ of a block of 2¹⁴ rows is 2·10⁻¹² (`rows.py`),
#: of numbers that may be hundreds of times the objective before they cancel.
PROVABLE = 1e-9
#: Share of a tolerance at which a gap leaves the rest of it to rounding.
_LITTLE = 0.1


@dataclass(frozen=True)
class Certificate:
    """Proof of near-optimality: P(w,b) and D(α) ≤ P* ≤ P(w,b)."""

    primal: float
    dual: float
    rounding: float

    @classmethod
    def of(cls, point: PrimalPoint, dual: DualPoint) -> Certificate:
        """Pair a primal and a dual value."""
        return cls(point.value, dual.value, point.rounding + dual.rounding)

    @property
    def gap(self) -> float:
        """Duality gap P(w,b) − D(α)."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the primal value."""
        return self.gap / self.primal if self.primal > 0 else max(self.gap, 0.0)

    @property
    def bound(self) -> float:
        """What the gap is at most in exact arithmetic: the gap and its rounding."""
        return max(self.gap, 0.0) + self.rounding

    def proves(self, tol: float) -> bool:
        """Whether gap plus rounding is at most `tol` times the primal value.

        Below `PROVABLE` = 1e-9 it is the gap as computed that must be within `tol`,
        and gap plus rounding within 1e-9: float64 does not prove less.
        """
        proven = self.bound <= max(tol, PROVABLE) * self.primal
        return proven and self.gap <= tol * self.primal

    def meets(self, tol: float) -> bool:
        """Whether a solver may stop: `tol` is proven, or rounding alone forbids it.

        No step lowers the rounding. A gap of a tenth of `tol` leaves the rest of it to
        that, and to those who can bound it more sharply (`_polish.py`).
        """
        return self.proves(tol) or self.gap <= _LITTLE * tol * self.primal
