"""What cannot matter: regions of the optimum, bounds over them, decided samples."""

from wideberth.screening.decisions import (
    Partition,
    Reduction,
    Screener,
    decide,
    null_point,
    screen_at_hand,
    screen_points,
    tells_something,
)
from wideberth.screening.features import screen_both, screen_features

__all__ = [
    "Partition",
    "Reduction",
    "Screener",
    "decide",
    "null_point",
    "screen_at_hand",
    "screen_both",
    "screen_features",
    "screen_points",
    "tells_something",
]
