"""How far a sample may move: shapes that all samples share, and sets for each of them.

The contract is in `sets.py`, shapes are in `shapes.py`, sets per sample in
`error_bars.py`, their sums in `sums.py`. `factors.py` factors covariances with proven
bounds, and `reading.py` reads what users give.
"""

from wideberth.noise.error_bars import (
    Boxes,
    Covariances,
    Ellipsoids,
    ErrorBars,
    Posteriors,
    SmoothBars,
    keeps_apart,
)
from wideberth.noise.reading import align_noise, as_noise, as_shape, is_covariance
from wideberth.noise.sets import Noise, Sets, SumOfSets
from wideberth.noise.shapes import (
    L1,
    L2,
    Box,
    Correlated,
    CrossPolytope,
    Ellipsoid,
    Linf,
    Shape,
)
from wideberth.noise.sums import SumOfBoxes, SumOfEllipsoids

__all__ = [
    "L1",
    "L2",
    "Box",
    "Boxes",
    "Correlated",
    "Covariances",
    "CrossPolytope",
    "Ellipsoid",
    "Ellipsoids",
    "ErrorBars",
    "Linf",
    "Noise",
    "Posteriors",
    "Sets",
    "Shape",
    "SmoothBars",
    "SumOfBoxes",
    "SumOfEllipsoids",
    "SumOfSets",
    "align_noise",
    "as_noise",
    "as_shape",
    "is_covariance",
    "keeps_apart",
]
