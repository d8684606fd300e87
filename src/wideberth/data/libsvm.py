"""LIBSVM text files, parsed once into pieces that are quick to read again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from wideberth.data.chunks import Chunk, DataError
from wideberth.data.kinds import LABEL
from wideberth.data.sources import Source, read_vector

__all__ = ["LibsvmSource"]


#: Told to the parser, which asks for a number when it reads a part of a file.
_MOST_FEATURES = 2**31
#: Vectors as long as the features that solving takes at least.
_VECTORS = 10


class LibsvmSource(Source):
    """Rows of a LIBSVM file, kept as binary CSR pieces in a temporary folder.

    The folder goes with the object, or with the interpreter at the latest. Text is
    parsed by scikit-learn, a piece at a time.

    Attributes
    ----------
    first : int
        Number of the first feature: 0 where some row has that, else 1.
    """

    def __init__(self, path, y=None, weight=None, radius=None, memory=None):
        super().__init__(memory)
        if y is not None and not (isinstance(y, str) and y == LABEL):
            raise DataError(
                f"y={y!r} is not a column of {path}; its labels are called {LABEL!r}. "
                "Leave y out."
            )
        self.path = Path(path)
        named = (("sample_weight", weight), ("radius", radius))
        self._folder = tempfile.TemporaryDirectory(prefix="wideberth-")
        try:
            sizes, entries, self.first, self.d = self._convert()
            if not self.spares(_VECTORS * 8 * self.d):
                raise DataError(
                    f"{self.path} has features up to number {self.d}; vectors as long "
                    f"do not fit into {self.memory} bytes. Raise memory, or number the "
                    "features anew."
                )
        except BaseException:
            self._folder.cleanup()
            raise
        self.sizes, self.n = sizes, sum(sizes)
        self.row_bytes = 12 * entries / max(self.n, 1) + 8
        self.vectors = [read_vector(value, self.n, name) for name, value in named]
        self.brings_radii = radius is not None

    def _convert(self) -> tuple[list[int], int, int, int]:
        """Parse the text: rows of each piece, entries, the first feature, columns."""
        sizes: list[int] = []
        entries, d, folder = 0, 0, Path(self._folder.name)
        first = 1
        for number, (offset, length) in enumerate(self._spans()):
            X, y = self._parse(number, offset, length)
            if X.shape[0] == 0:
                continue
            sp.save_npz(folder / f"{len(sizes)}.npz", X, compressed=False)
            np.save(folder / f"{len(sizes)}.npy", y)
            sizes.append(X.shape[0])
            entries, d = entries + X.nnz, max(d, X.shape[1])
            first = min(first, int(X.indices.min(initial=1)))
        if not sizes:
            raise DataError(f"{self.path} holds no rows.")
        return sizes, entries, first, max(d - first, 1)

    def _spans(self):
        """Offsets and lengths of pieces of the text."""
        size, step = self.path.stat().st_size, max(self.chunk_bytes, 1)
        for offset in range(0, size, step):
            yield offset, min(step, size - offset)

    def _parse(self, number: int, offset: int, length: int):
        from sklearn.datasets import load_svmlight_file

        try:
            X, y = load_svmlight_file(
                str(self.path),
                offset=offset,
                length=length,
                n_features=_MOST_FEATURES,
                zero_based=True,
            )
        except (ValueError, OverflowError) as error:
            raise DataError(
                f"{self.path}, chunk {number} (from byte {offset}): not LIBSVM text: "
                f"{error}"
            ) from None
        width = int(X.indices.max()) + 1 if X.nnz else 1
        shape = (X.shape[0], width)
        return sp.csr_array((X.data, X.indices, X.indptr), shape=shape), y

    def chunks(self):
        folder, start = Path(self._folder.name), 0
        for number, size in enumerate(self.sizes):
            X = sp.csr_array(sp.load_npz(folder / f"{number}.npz"))
            shifted = (X.data, X.indices - self.first, X.indptr)
            X = sp.csr_array(shifted, shape=(size, self.d))
            y = np.load(folder / f"{number}.npy")
            rows = slice(start, start + size)
            parts = [None if part is None else part[rows] for part in self.vectors]
            origin = f"{self.path} (from row {start})"
            yield Chunk.of(X, [y, *parts], number, origin)
            start += size
