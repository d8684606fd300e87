"""What people know of their measurements: radii, the population of true features."""

from wideberth.measurement.population import Posterior
from wideberth.measurement.radius import radius_from_std
from wideberth.measurement.true_features import TrueFeatures

__all__ = ["Posterior", "TrueFeatures", "radius_from_std"]
