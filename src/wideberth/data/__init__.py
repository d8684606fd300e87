"""Data that outgrows memory, the machine or the CPU (docs/scaling.md).

One algorithm, `tall.py`, asks a few questions (`passes.py`) of every chunk of rows.
Where the chunks live is the only difference between a file (`sources.py`,
`tables.py`, `libsvm.py`), a cluster (`dask.py`) and an array on a GPU.
"""

from wideberth.data.chunks import Chunk, DataError
from wideberth.data.opening import open_data
from wideberth.data.sources import Source

__all__ = ["Chunk", "DataError", "Source", "open_data"]
