"""Quotes around cells of text: whether pyarrow cuts them as Python's reader would."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

import numpy as np

from wideberth.data.streams import File


class Quotes:
    """Looks whether quotes are where they belong, which pyarrow does not mind.

    Every second quote opens a cell and has its border before it, the others close one
    and have its border behind them; a quote in place of a border is of a pair.
    """

    def __init__(self, delimiter: str):
        self.border = np.zeros(256, dtype=bool)
        self.border[list(f'{delimiter}\r\n"'.encode())] = True
        self.right, self.count = True, 0
        self._last = b"\n"  # bytes that the next ones stand beside

    def look(self, data: bytes) -> None:
        """Look at the next bytes of a file; the last one waits for its neighbour."""
        data = self._last + data
        self._last = data[-2:]
        if self.right and b'"' in data:
            letters = np.frombuffer(data, np.uint8)
            quotes = np.flatnonzero(letters[1:-1] == ord('"')) + 1
            opens = (self.count + np.arange(len(quotes))) % 2 == 0
            beside = letters[np.where(opens, quotes - 1, quotes + 1)]
            self.right = bool(self.border[beside].all())
            self.count += len(quotes)

    def finish(self) -> bool:
        """Whether all quotes are where they belong, now that the file has ended."""
        self.look(b"\n")
        return self.right and self.count % 2 == 0


def watched(file: File, size: int, quotes: Quotes) -> Iterator[bytes]:
    """Bytes of a file, whose quotes are looked at.

    The last line ends, for pyarrow skips no header without an end.
    """
    with file.open() as stream:
        start = stream.read(size)
        quotes.look(start.removeprefix(codecs.BOM_UTF8))
        yield start
        while data := stream.read(size):
            quotes.look(data)
            yield data
    yield b"\n"
