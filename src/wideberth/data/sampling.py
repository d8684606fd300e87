"""Some rows of data that is read in chunks, drawn evenly in one read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wideberth.data.chunks import Chunk
from wideberth.problem.arrays import concat, host, pick


@dataclass(frozen=True)
class Drawn:
    """Rows with the random keys that they were drawn by, the smallest of `n`."""

    n: int
    keys: np.ndarray
    parts: dict[str, Any]

    def smallest(self, size: int) -> Drawn:
        """As many of them as wanted, in their order."""
        if len(self.keys) <= size:
            return self
        kept = np.sort(np.argpartition(self.keys, size - 1)[:size])
        parts = {name: pick(part, kept) for name, part in self.parts.items()}
        return Drawn(self.n, self.keys[kept], parts)

    def joined(self, other: Drawn) -> Drawn:
        """Both together."""
        pairs = {name: [part, other.parts[name]] for name, part in self.parts.items()}
        parts = {name: concat(pair) for name, pair in pairs.items()}
        keys = np.concatenate([self.keys, other.keys])
        return Drawn(self.n + other.n, keys, parts)


@dataclass(frozen=True)
class KeyedDraw:
    """A question to chunks: which of their rows have the smallest random keys.

    Every row of the data has the same chance, whatever chunk it is in.
    """

    size: int
    seed: int

    def __call__(self, chunk: Chunk) -> Drawn:
        """At most as many rows as are wanted in all."""
        keys = np.random.default_rng((self.seed, chunk.number)).random(chunk.n)
        parts = {"X": chunk.X, "y": chunk.y}
        parts |= {"sample_weight": chunk.weight, "radius": chunk.radius}
        known = {name: part for name, part in parts.items() if part is not None}
        found = Drawn(chunk.n, keys, known).smallest(self.size)
        own = {n: part if n == "X" else host(part) for n, part in found.parts.items()}
        return Drawn(chunk.n, found.keys, own)
