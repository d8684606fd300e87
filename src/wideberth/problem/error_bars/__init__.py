"""Error bars: a set per sample, within which its measurement may be off."""

from wideberth.problem.error_bars.cells import Boxes, Ellipsoids
from wideberth.problem.error_bars.covariances import Covariances, Posteriors
from wideberth.problem.error_bars.sets import ErrorBars, SmoothBars, keeps_apart
from wideberth.problem.error_bars.sums import SumOfBoxes, SumOfEllipsoids

__all__ = [
    "Boxes",
    "Covariances",
    "Ellipsoids",
    "ErrorBars",
    "Posteriors",
    "SmoothBars",
    "SumOfBoxes",
    "SumOfEllipsoids",
    "keeps_apart",
]
