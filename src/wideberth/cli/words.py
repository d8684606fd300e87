"""Numbers as people read them."""

from __future__ import annotations

import math

__all__ = ["number", "percent", "small_share", "whole"]


def percent(share: float) -> str:
    """Write a share."""
    return f"{100 * share:.1f} %"


def number(value: float) -> str:
    """Write a measurement."""
    return f"{value:.4g}"


def whole(value: int) -> str:
    """Write a count."""
    return f"{value:,}".replace(",", "\u202f")


def small_share(share: float) -> str:
    """Write a share that may be next to nothing, rounded up."""
    if share <= 1e-6:
        return "0.0001 %"
    digit = 10 ** math.floor(math.log10(100 * share))
    return f"{digit * math.ceil(100 * share / digit):.1g} %"
