"""Displays of fitted models (extra `plots`), in the manner of scikit-learn's.

`CertifiedAccuracyDisplay`: accuracy under the worst noise, as the noise grows.
`MarginDisplay`: a model in two dimensions, with the uncertainty of every sample.
`PathDisplay`: coefficients along a path, and what screening left to the solver.
`ChoiceDisplay`: errors over C, and the bound that none of them can be below.

Each has `from_estimator(...)` (`from_path(...)`, `from_choice(...)`), which computes
and draws, and `plot(ax=...)`, which draws again; `ax_` and `figure_` hold what was
drawn.
"""

from wideberth.plotting.fits import CertifiedAccuracyDisplay
from wideberth.plotting.margin import MarginDisplay
from wideberth.plotting.paths import ChoiceDisplay, PathDisplay

__all__ = [
    "CertifiedAccuracyDisplay",
    "ChoiceDisplay",
    "MarginDisplay",
    "PathDisplay",
]
