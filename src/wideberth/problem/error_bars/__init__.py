"""Error bars: a set per sample, within which its measurement may be off."""

from wideberth.problem.error_bars.cells import Boxes, Ellipsoids
from wideberth.problem.error_bars.covariances import Covariances, Posteriors
from wideberth.problem.error_bars.sets import (
    ErrorBars,
    OwnNoise,
    SmoothBars,
    keeps_apart,
)
from wideberth.problem.error_bars.sums import NO_PUSHES, Pushes

__all__ = [
    "NO_PUSHES",
    "Boxes",
    "Covariances",
    "Ellipsoids",
    "ErrorBars",
    "OwnNoise",
    "Posteriors",
    "Pushes",
    "SmoothBars",
    "keeps_apart",
]
