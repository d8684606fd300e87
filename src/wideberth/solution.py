"""What `solve` returns: a model with its proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from wideberth.problem.arrays import host, namespace
from wideberth.problem.certificate import Certificate

#: How a descent on the ramp loss ended.
Ending = Literal["repeats", "stalls", "cut short"]


@dataclass(frozen=True)
class RampDescent:
    """How a solution with the ramp loss was found, and what it leaves out.

    Attributes
    ----------
    ramp : float
        The margin a below which a sample costs c_i(1 − a) and no more.
    left_out : boolean array of shape (n,)
        Samples that the certified model leaves out: they cost that much, whatever it
        is. Their labels may be wrong; `RobustLinearSVC.suspects_` ranks them. None of
        data that is read in chunks where the memory allowed does not hold it.
    objectives : tuple of float
        The objective with the ramp, at the start and after every convex problem that
        was solved. It never rises.
    start : str
        What it started from: "hinge", "class means", "trimmed", or "init".
    ending : str
        "repeats", when the solution leaves the same samples out again, so that a step
        more would change nothing; "stalls", when a step gained less than ten times the
        tolerance; "cut short", by a limit or the callback.
    """

    ramp: float
    left_out: Any = field(repr=False)
    objectives: tuple[float, ...]
    start: str
    ending: Ending

    def summary(self) -> dict:
        """What a fitted model keeps: the number left out, and how it came about."""
        known = self.left_out is not None
        return {
            "left_out": int(host(self.left_out).sum()) if known else None,
            "objectives": list(self.objectives),
            "start": self.start,
            "ending": self.ending,
        }


@dataclass(frozen=True)
class Solution:
    """A trained model with its proof.

    `primal` ≥ optimum ≥ `dual`; their difference is `gap`, computed in float64 on all
    samples.

    Attributes
    ----------
    w, b : array of shape (d,), float
        The classifier: the sign of ⟨w,x⟩ + b.
    dual_weights : array of shape (n,), or what computes it
        `alpha`.
    certificate : Certificate
        Primal and dual values with a bound on their rounding.
    converged : bool
        Whether gap plus rounding is at most `tol` times the objective. Below 1e-9 the
        gap as computed is within `tol`, and gap plus rounding within 1e-9.
    solver : str
        The one that ran.
    n_iter, passes, seconds : int, float, float
        Iterations, reads of the data (rows touched ÷ n), time.
    decided : pair of boolean arrays of shape (n,), or what computes them
        `removed` and `saturated`.
    trace : list of dict
        One entry for every point whose gap is known: proven, or between two proofs of
        sweeps but for the rounding of what they update. "features" are those left, once
        some were proven to have no weight. Where equal samples were merged "free",
        "saturated" and "removed" count distinct ones.
    notes : tuple of Warning
        The warnings that came with it.
    classes : array of shape (2,)
        The labels of y, sorted: where ⟨w,x⟩ + b is positive it speaks for the second.
    descent : RampDescent or None
        With the ramp loss, how it was found. The certificate, `alpha`, `removed` and
        `saturated` are then those of the convex problem without the samples left out,
        whose constant cost is in `primal` and `dual`.

    Notes
    -----
    Of data that is read in chunks `alpha`, `removed` and `saturated` are None where the
    memory allowed does not hold them; of another library's arrays they are such too.
    """

    w: np.ndarray
    b: float
    dual_weights: Any = field(repr=False, compare=False)
    certificate: Certificate
    converged: bool
    solver: str
    n_iter: int
    passes: float
    seconds: float
    decided: Any = field(repr=False, compare=False)
    trace: list[dict] = field(repr=False, default_factory=list)
    notes: tuple[Warning, ...] = ()
    classes: np.ndarray = field(default_factory=lambda: np.array([-1, 1]))
    descent: RampDescent | None = None
    #: What proves features to be zero, once it is asked for.
    prover: Callable[[], np.ndarray] | None = field(
        repr=False, compare=False, default=None
    )

    @cached_property
    def alpha(self):
        """The dual point behind the certificate, an array of shape (n,).

        Of arrays on a device computed when first asked for, from the data given.
        """
        known = self.dual_weights
        return known() if callable(known) else known

    @cached_property
    def _decisions(self) -> tuple:
        return self.decided() if callable(self.decided) else self.decided

    @property
    def removed(self):
        """Samples proven, from this very certificate, to have α_i = 0 at the optimum.

        A boolean array of shape (n,). Computed when first asked for, like all that is
        proven about samples and features, from the data that was given.
        """
        return self._decisions[0]

    @property
    def saturated(self):
        """Samples proven to have α_i = c_i at the optimum, as of `removed`."""
        return self._decisions[1]

    @cached_property
    def removed_features(self) -> np.ndarray | None:
        """Features proven, from this very certificate, to have w_j = 0 at the optimum.

        A boolean array of shape (d,), all False under noise that leaves no feature out;
        None where the data was read in chunks, without screening, and for correlated
        noise. Computed when first asked for, from the data that was given.
        """
        return None if self.prover is None else self.prover()

    def __getstate__(self):
        known = {"dual_weights": self.alpha, "decided": self._decisions}
        known["removed_features"] = self.removed_features
        return vars(self) | known | {"prover": None}  # the data stays behind

    @property
    def primal(self) -> float:
        """Objective at (w, b)."""
        return self.certificate.primal

    @property
    def dual(self) -> float:
        """Lower bound on the optimum, from α."""
        return self.certificate.dual

    @property
    def gap(self) -> float:
        """Duality gap on the full problem."""
        return self.certificate.gap

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the objective."""
        return self.certificate.relative_gap

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many samples are undecided, saturated and removed."""
        if self.removed is None:
            last = self.trace[-1]
            return last["free"], last["saturated"], last["removed"]
        count = namespace(self.removed).count_nonzero
        removed, saturated = int(count(self.removed)), int(count(self.saturated))
        return self.alpha.shape[0] - removed - saturated, saturated, removed

    def __repr__(self):
        free, saturated, removed = self.counts
        state = "converged" if self.converged else "NOT converged"
        return (
            f"Solution({state}: objective {self.primal:.6g}, relative gap "
            f"{self.relative_gap:.1e}, {self.solver}, {self.n_iter} iterations, "
            f"{self.passes:.1f} passes, {removed} removed and {saturated} saturated "
            f"of {free + saturated + removed} samples)"
        )
