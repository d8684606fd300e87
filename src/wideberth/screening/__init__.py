"""What cannot matter: regions of the optimum, bounds over them, decided samples."""

from wideberth.screening.partition import (
    Partition,
    Reduction,
    Screener,
    carry_dual,
    fold_samples,
    null_point,
    screen,
    screen_points,
    tells_something,
)

__all__ = [
    "Partition",
    "Reduction",
    "Screener",
    "carry_dual",
    "fold_samples",
    "null_point",
    "screen",
    "screen_points",
    "tells_something",
]
