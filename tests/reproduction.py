"""One configuration of the paper, measured with everything the real run measures."""

from unittest.mock import patch

from wideberth.paper.experiment import Plan
from wideberth.paper.reproduce import reproduce

CONFIGURATION = ("breast_cancer", 1.0, 0.05)
TINY = Plan("quick", (CONFIGURATION,), (CONFIGURATION,), 2)


def reproduce_tiny(folder):
    """Run it, write the report, and return the results."""
    with patch("wideberth.paper.experiment.quick_plan", lambda: TINY):
        return reproduce(folder, quick=True, jobs=2)
