"""The paper in small: one configuration with everything that the real run measures.

And its algorithm without SCS, whose rounding differs from processor to processor.
"""

from unittest.mock import patch

from wideberth.solvers.conic import ConicResult
from wideberth.solvers.interior import InteriorPoint
from wideberth_paper.experiment import Plan
from wideberth_paper.reproduce import reproduce

CONFIGURATION = ("breast_cancer", 1.0, 0.05)
TINY = Plan("quick", (CONFIGURATION,), (CONFIGURATION,), 2)


def reproduce_tiny(folder):
    """Run it, write the report, and return the results."""
    with patch("wideberth_paper.experiment.quick_plan", lambda: TINY):
        return reproduce(folder, quick=True, jobs=2)


def stopped_short(problem, eps, iterations):
    """A round solved to a relative gap just below eps, the same on every machine.

    The exact answer, near enough, drawn back towards zero as far as eps allows.
    """
    engine = InteriorPoint(problem)
    while engine.relative_gap > 1e-10:
        assert engine.step()
    share = 1.0
    while True:
        w, alpha = (1 - share) * engine.w, (1 - share) * engine.alpha
        found = problem.certificate(problem.at(w), problem.dual_at(alpha))
        if found.gap <= eps * found.primal:
            return ConicResult(w, 0.0, alpha, found, "stopped short", 0)
        share /= 1.3
