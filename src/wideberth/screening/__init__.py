"""What cannot matter: regions of the optimum, bounds over them, decided samples."""

from wideberth.screening.at_hand import screen_at_hand
from wideberth.screening.features import screen_both, screen_features
from wideberth.screening.partition import (
    Partition,
    null_point,
    screen,
    screen_points,
    tells_something,
)
from wideberth.screening.reduction import (
    COPY_READS,
    Reduction,
    Screener,
    fold_samples,
)

__all__ = [
    "COPY_READS",
    "Partition",
    "Reduction",
    "Screener",
    "fold_samples",
    "null_point",
    "screen",
    "screen_at_hand",
    "screen_both",
    "screen_features",
    "screen_points",
    "tells_something",
]
