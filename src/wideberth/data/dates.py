"""Dates as numbers: days since the start of 1970, with the time of day as a fraction.

Dates are read as ISO 8601 writes them (2024-01-31, 2024-01-31 08:30, 2024/01/31), and
with points as 31.01.2024, where the day comes first. 01/02/2024 is refused: it is a day
in January or in February, depending on who reads it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np

#: What day 0 is called.
EPOCH = "1970-01-01"
_EPOCH = datetime.fromisoformat(EPOCH).replace(tzinfo=UTC)
_DAY = 86_400  # seconds
_POINTS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(.*)", re.ASCII)
_SLASHES = re.compile(r"(\d{4})/(\d{2})/(\d{2})(.*)", re.ASCII)


def day_number(text: str) -> float | None:
    """Days from `EPOCH` to a date; None of what is no date.

    Times without a zone count as UTC.
    """
    plain = _SLASHES.sub(r"\1-\2-\3\4", text)
    if (found := _POINTS.fullmatch(text)) is not None:
        day, month, year, rest = found.groups()
        plain = f"{year}-{month:0>2}-{day:0>2}{rest}"
    try:
        moment = datetime.fromisoformat(plain)
    except ValueError:
        return None
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (zoned - _EPOCH).total_seconds() / _DAY


def day_numbers(texts: np.ndarray) -> tuple[np.ndarray, int | None]:
    """Dates as days, NaN where there is none; and the first row that holds no date."""
    distinct = {text: day_number(text) for text in set(texts.tolist()) - {None}}
    days = [np.nan if text is None else distinct[text] for text in texts.tolist()]
    bad = next((k for k, day in enumerate(days) if day is None), None)
    return np.array(days, dtype=np.float64), bad


def not_a_date(shown: str) -> str:
    """What to say of it."""
    return (
        f"{shown} is not a date; --dates reads 2024-01-31, with a time such as "
        "2024-01-31 08:30 too, and 31.01.2024."
    )
