"""The one way in: whatever holds rows, and what reads it (docs/scaling.md).

Each format has one reader (`delimited.py`, `columnar.py`, `libsvm.py`, `arrays.py`),
which says what columns there are and yields their rows, some at a time (`table.py`).
`open_table` puts all rows together. `open_data` gives a `Source`, whose chunks of rows
are read again and again: of a file, of a cluster (`dask.py`), of an array on a GPU, or
of whatever else yields them (`sources.py`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

from wideberth.data.errors import DataError
from wideberth.data.files import KINDS as FORMATS
from wideberth.data.files import kind_of

if TYPE_CHECKING:  # for those who read types; `_HOMES` says the same to Python
    from wideberth.data.chunks import Chunk
    from wideberth.data.opening import open_data, open_reader, open_table, read_table
    from wideberth.data.sources import Source, TableSource
    from wideberth.data.table import Format, Reader, Request, Table

#: Where the other names of this package are; they bring NumPy along, and are loaded
#: where they are first used.
_HOMES = {
    "Chunk": "chunks",
    "Format": "table",
    "Reader": "table",
    "Request": "table",
    "Source": "sources",
    "Table": "table",
    "TableSource": "sources",
    "open_data": "opening",
    "open_reader": "opening",
    "open_table": "opening",
    "read_table": "opening",
}

__all__ = [
    "FORMATS",
    "Chunk",
    "DataError",
    "Format",
    "Reader",
    "Request",
    "Source",
    "Table",
    "TableSource",
    "kind_of",
    "open_data",
    "open_reader",
    "open_table",
    "read_table",
]


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'wideberth.data' has no attribute {name!r}")
