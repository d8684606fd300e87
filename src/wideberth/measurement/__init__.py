"""What people know of their measurements: error columns, radii, the population."""

from wideberth.measurement.columns import error_columns
from wideberth.measurement.population import Posterior
from wideberth.measurement.radius import (
    radius_from_imputations,
    radius_from_replicates,
    radius_from_std,
    scales_from_replicates,
)
from wideberth.measurement.true_features import TrueFeatures

__all__ = [
    "Posterior",
    "TrueFeatures",
    "error_columns",
    "radius_from_imputations",
    "radius_from_replicates",
    "radius_from_std",
    "scales_from_replicates",
]
