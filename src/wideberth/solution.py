"""What `solve` returns: a model with its proof; and the warnings that come with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wideberth.problem.arrays import namespace
from wideberth.problem.certificate import PROVABLE, Certificate
from wideberth.solvers.base import Control

__all__ = [
    "NullModelWarning",
    "Solution",
    "convergence_warning",
    "not_converged",
    "null_model",
    "shortfall",
    "who_is_to_blame",
]


class NullModelWarning(UserWarning):
    """The noise is so large that the best robust model ignores the features."""


@dataclass(frozen=True)
class Solution:
    """A trained model with its proof.

    `primal` ≥ optimum ≥ `dual`; their difference is `gap`, computed in float64 on all
    samples.

    Attributes
    ----------
    w, b : array of shape (d,), float
        The classifier: the sign of ⟨w,x⟩ + b.
    alpha : array of shape (n,)
        The dual point behind the certificate.
    certificate : Certificate
        Primal and dual values with a bound on their rounding.
    converged : bool
        Whether gap plus rounding is at most `tol` times the objective. Below 1e-9 the
        gap as computed is within `tol`, and gap plus rounding within 1e-9.
    solver : str
        The one that ran.
    n_iter, passes, seconds : int, float, float
        Iterations, reads of the data (rows touched ÷ n), time.
    removed, saturated : boolean arrays of shape (n,)
        Samples proven, from this very certificate, to have α_i = 0 and α_i = c_i at the
        optimum.
    trace : list of dict
        One entry for every certified point of the run.
    notes : tuple of Warning
        The warnings that came with it.
    classes : array of shape (2,)
        The labels of y, sorted: where ⟨w,x⟩ + b is positive it speaks for the second.

    Notes
    -----
    Of data that is read in chunks `alpha`, `removed` and `saturated` are None where the
    memory allowed does not hold them; of another library's arrays they are such too.
    """

    w: np.ndarray
    b: float
    alpha: Any
    certificate: Certificate
    converged: bool
    solver: str
    n_iter: int
    passes: float
    seconds: float
    removed: Any
    saturated: Any
    trace: list[dict] = field(repr=False, default_factory=list)
    notes: tuple[Warning, ...] = ()
    classes: np.ndarray = field(default_factory=lambda: np.array([-1, 1]))

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


def convergence_warning(text: str) -> Warning:
    """scikit-learn's warning where it is there; the core runs without."""
    try:
        from sklearn.exceptions import ConvergenceWarning
    except ImportError:
        ConvergenceWarning = UserWarning
    return ConvergenceWarning(text)


#: What to do about a run that was cut short, by its status.
_REMEDIES = {
    "out of steps": "raise max_iter={0.max_iter}",
    "out of time": "raise max_seconds",
    "stopped": "the callback asked to stop",
    "out of precision": "raise tol, lower C, or scale the features of X",
}


def not_converged(
    control: Control, certificate, seconds: float, remedy: str | None = None
) -> Warning:
    """The warning that the tolerance was not met, and what to do about it."""
    status = control.status(certificate)
    words = remedy or _REMEDIES[status].format(control)
    if status == "out of precision":
        words = f"{who_is_to_blame(certificate, control.tol)}: {words}"
    return convergence_warning(
        f"Not converged: {shortfall(certificate, control.tol)} after {control.steps} "
        f"iterations and {seconds:.2f} s; {words}."
    )


def shortfall(certificate: Certificate, tol: float) -> str:
    """What a certificate that does not prove `tol` lacks, in words."""
    gap = f"relative gap {certificate.relative_gap:.2e}"
    if not certificate.gap <= tol * certificate.primal:
        return f"{gap} > tol={tol:.2e}"
    doubt = certificate.rounding / (certificate.primal or 1.0)
    gap += f", which rounding may have put off by {doubt:.2e}, > tol={tol:.2e}"
    return (
        gap if tol >= PROVABLE else f"{gap}, of which {PROVABLE:.0e} has to be proven"
    )


def who_is_to_blame(certificate: Certificate, tol: float) -> str:
    """Rounding, where its bound alone exceeds what must be proven; else the solver."""
    if not certificate.rounding <= max(tol, PROVABLE) * certificate.primal:
        return "rounding forbids more"
    return "the solver came no further"


def null_model(size: str, noisy: bool = True) -> Warning:
    """The warning that w = 0 is best; `size` says what the critical radius is."""
    if not noisy:
        return NullModelWarning(
            "The best model is w = 0, a constant classifier: X says nothing about y. "
            "Its rows are zero, or those of a class have no weight, or they cancel out "
            "between the classes."
        )
    return NullModelWarning(
        "The best robust model is w = 0, a constant classifier: the noise covers what "
        f"separates the classes. The critical uniform radius is {size}; choose a "
        "smaller radius."
    )
