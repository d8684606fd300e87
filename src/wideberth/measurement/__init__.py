"""What people know of their measurements: radii from errors and replicates."""

from wideberth.measurement.radius import (
    radius_from_imputations,
    radius_from_replicates,
    radius_from_std,
    scales_from_replicates,
)

__all__ = [
    "radius_from_imputations",
    "radius_from_replicates",
    "radius_from_std",
    "scales_from_replicates",
]
