"""What people know of their measurements: error columns, radii, replicates."""

from wideberth.measurement.columns import error_columns
from wideberth.measurement.radius import (
    radius_from_imputations,
    radius_from_replicates,
    radius_from_std,
    scales_from_replicates,
)

__all__ = [
    "error_columns",
    "radius_from_imputations",
    "radius_from_replicates",
    "radius_from_std",
    "scales_from_replicates",
]
