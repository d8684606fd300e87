"""How far a sample may move: shapes that all samples share, and sets for each of them.

The contract is in `sets.py`. Shapes are in `ellipsoids.py` and `polyhedra.py`, sets per
sample in `cells.py` and `covariances.py`; `read_shapes.py` and `read_errors.py` read
what users give for them.
"""

from wideberth.noise.cells import Boxes, Ellipsoids
from wideberth.noise.covariances import Covariances, Posteriors
from wideberth.noise.ellipsoids import L2, Correlated, Ellipsoid
from wideberth.noise.error_bars import ErrorBars, SmoothBars, keeps_apart
from wideberth.noise.polyhedra import L1, Box, CrossPolytope, Linf
from wideberth.noise.read_shapes import align_noise, as_noise, as_shape, is_covariance
from wideberth.noise.sets import Noise, Sets, SumOfSets
from wideberth.noise.shape import Shape
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
