"""What is said beside an answer: that its tolerance is not proven, or that w = 0."""

from __future__ import annotations

from wideberth.problem.certificate import PROVABLE, Certificate
from wideberth.solvers.base import Control


class NullModelWarning(UserWarning):
    """The noise is so large that the best robust model ignores the features."""


def convergence_warning(text: str) -> Warning:
    """scikit-learn's warning, loaded where it is needed."""
    from sklearn.exceptions import ConvergenceWarning

    return ConvergenceWarning(text)


def not_proven(left, gaps, tol: float, of: str, remedy: str) -> list[Warning]:
    """One warning for all models whose tolerance is `left` open; none without any."""
    if not left.any():
        return []
    said = (
        f"Not converged: tol={tol:.2e} is not proven of {left.sum()} of {of}, relative "
        f"gaps up to {gaps[left].max():.2e} without their rounding; {remedy}."
    )
    return [convergence_warning(said)]


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


def null_model(
    size: str, noisy: bool = True, penalised: bool = False, ramp: bool = False
) -> Warning:
    """The warning that w = 0 is best; `size` says what the critical radius is.

    With a `ramp` it is best without the samples that this leaves out.
    """
    if ramp:
        return NullModelWarning(
            "The model is w = 0, a constant classifier: the ramp leaves out what "
            "contradicts it. Raise C, lower ramp (−1 is usual) or radius, or give "
            "starts=3; the critical uniform radius of the samples kept is "
            f"{size}."
        )
    if penalised:
        return NullModelWarning(
            "The best robust model is w = 0, a constant classifier: norm_penalty and "
            "noise outweigh what separates the classes. The critical uniform radius "
            f"beside this penalty is {size}; choose a smaller norm_penalty or radius."
        )
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
