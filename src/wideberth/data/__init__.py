"""The one way in: whatever holds rows, and what reads it (docs/scaling.md).

Each format has one reader (`delimited.py`, `columnar.py`, `arrays.py`), which says what
columns there are and yields their rows, some at a time (`table.py`). `open_table` puts
all rows together. `open_data` gives a `Source`, whose chunks of rows are read again and
again: of a file, of a cluster, of an array on a GPU, or of whatever else yields them
(`sources.py`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

from wideberth.data.errors import DataError
from wideberth.data.files import KINDS as FORMATS
from wideberth.data.files import Format, kind_of

if TYPE_CHECKING:  # `__getattr__` loads these, and NumPy, where they are first used
    from wideberth.data.opening import open_data, open_table
    from wideberth.data.sources import Source
    from wideberth.data.table import Request

__all__ = [
    "FORMATS",
    "DataError",
    "Format",
    "Request",
    "Source",
    "kind_of",
    "open_data",
    "open_table",
]


def __getattr__(name: str):
    homes = {"Request": "table", "Source": "sources"}
    homes |= {"open_data": "opening", "open_table": "opening"}
    if name in homes:
        return getattr(import_module(f"{__name__}.{homes[name]}"), name)
    raise AttributeError(f"module 'wideberth.data' has no attribute {name!r}")
