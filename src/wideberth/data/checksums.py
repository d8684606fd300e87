"""A checksum of a chunk, by which a later read recognises it.

The bits of an array are taken as 64-bit whole numbers and laid out in a table, whose
rows and columns are summed modulo 2⁶⁴; the CRC-32 of these sums is the checksum. Any
change of one value shows in a row, and any exchange of two in a row or in a column, but
for the one case in 2³² in which two CRCs coincide. An even number of signs that change
in a row would cancel out, 2·2⁶³ being 2⁶⁴; the width of the table is prime and no
divisor of the length of a sample, so that features whose signs change do not meet in
the same columns from row to row.

Whole numbers add up to the same in any order, so a checksum is the same on every
processor. It is taken by the thread that reads ahead: 6 ms for 64 MB, which take 10 ms
to read from a page cache and 30 ms or more to look at.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from wideberth.data.chunks import Chunk
from wideberth.problem.arrays import host, is_foreign
from wideberth.problem.limits import CACHED_ENTRIES

__all__ = ["Checksum", "checksum"]

Checksum = tuple[Any, ...]
#: Columns that the table may have: primes, so that one of them fits, see above.
_WIDTHS = (1021, 1019, 1013)


def checksum(chunk: Chunk) -> Checksum:
    """Shapes, types and CRCs of all that a chunk holds."""
    return tuple(
        None if part is None else _checksum(part)
        for part in (chunk.X, chunk.y, chunk.weight, chunk.radius)
    )


def _checksum(part) -> Checksum:
    if sp.issparse(part):
        part = part.tocsr()
        return tuple(_checksum(own) for own in (part.data, part.indices, part.indptr))
    part = host(part) if is_foreign(part) else np.asarray(part)
    return part.shape, str(part.dtype), _crc(part)


def _crc(part: np.ndarray) -> int:
    if part.dtype.hasobject:  # text, as a rule; addresses would tell nothing
        return zlib.crc32("\0".join(map(str, part.ravel())).encode())
    flat = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
    width = _width(part.shape, part.itemsize)
    whole = flat.size - flat.size % (8 * width)
    table = flat[:whole].view(np.uint64).reshape(-1, width)
    columns, crc = np.zeros(width, dtype=np.uint64), 0
    step = CACHED_ENTRIES // width  # both sums find them in a cache
    for start in range(0, len(table), step):
        piece = table[start : start + step]
        columns += piece.sum(axis=0)
        crc = zlib.crc32(piece.sum(axis=1).data, crc)
    return zlib.crc32(flat[whole:].data, zlib.crc32(columns.data, crc))


def _width(shape: tuple[int, ...], itemsize: int) -> int:
    """The columns of the table for an array whose rows are samples."""
    words = math.prod(shape[1:]) * itemsize // 8
    return next((width for width in _WIDTHS if words % width), _WIDTHS[0])
