"""What people know of their measurements: error columns, radii, the population."""

from wideberth.measurement.columns import error_columns
from wideberth.measurement.imputations import errors_from_imputations
from wideberth.measurement.intervals import errors_from_limits
from wideberth.measurement.population import Posterior
from wideberth.measurement.quantities import errors_from_quantities
from wideberth.measurement.radius import (
    radius_from_imputations,
    radius_from_replicates,
    radius_from_std,
    scales_from_replicates,
)
from wideberth.measurement.replicates import errors_from_replicates
from wideberth.measurement.sides import errors_from_sides
from wideberth.measurement.true_features import TrueFeatures

__all__ = [
    "Posterior",
    "TrueFeatures",
    "error_columns",
    "errors_from_imputations",
    "errors_from_limits",
    "errors_from_quantities",
    "errors_from_replicates",
    "errors_from_sides",
    "radius_from_imputations",
    "radius_from_replicates",
    "radius_from_std",
    "scales_from_replicates",
]
