"""Where a search over many rows stands, in a file, for a run that is started again.

What it holds is the next question to the rows: at which point to gather, and how far
rows may be from the margin there. Nothing in it is trusted: whatever comes of the
question is certified on all rows, as ever.
"""

from __future__ import annotations

import io
import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wideberth.data.errors import DataError
from wideberth.data.files import write_atomically
from wideberth.problem import PrimalPoint
from wideberth.solvers.tall.passes import Gather
from wideberth.solvers.tall.subsample import SamplingError


@dataclass(frozen=True)
class Standing:
    """The next question, of n rows of which so many were `expected` near the margin.

    `grouped` says whether rows did not fit and come in groups, which are made anew.
    """

    question: Gather
    n: int
    expected: float = math.inf
    grouped: bool = False

    def described(self) -> dict[str, np.ndarray | float]:
        """Plain numbers and arrays."""
        asked, before = self.question, self.question.before
        told = {name: getattr(asked, name) for name in _NUMBERS}
        told |= {"w": asked.w, "n": self.n, "grouped": self.grouped}
        told["expected"] = self.expected
        if before is not None:
            told |= {"before_w": before.w, "before_b": before.b}
        if isinstance(asked.band, SamplingError) and asked.band.known:
            own = {"own": asked.band.own, "least": asked.band.least}
            told |= own | {"scatter": asked.band.scatter}
        return told

    @classmethod
    def read(cls, told) -> Standing:
        """What `described` wrote."""
        numbers: dict[str, Any] = {name: float(told[name]) for name in _NUMBERS}
        numbers["seed"] = int(told["seed"])
        before = band = None
        if "before_w" in told:
            w, none = np.asarray(told["before_w"], float), np.empty(0)
            before = PrimalPoint(
                w, float(told["before_b"]), none, 0.0, none, 0, 0, 0, 0
            )
        if "own" in told:
            known = told["own"], told["scatter"], float(told["least"])
            band = SamplingError.of(*known)
        w = np.asarray(told["w"], dtype=np.float64)
        question = Gather(w, band=band, before=before, **numbers)
        return cls(
            question, int(told["n"]), float(told["expected"]), bool(told["grouped"])
        )

    def fits(self, d: int) -> bool:
        """Whether it is of a search over d features."""
        asked, before = self.question, self.question.before
        shapes = {asked.w.shape, asked.w.shape if before is None else before.w.shape}
        if isinstance(asked.band, SamplingError):
            shapes |= {
                part[:-1, 0].shape for part in (asked.band.own, asked.band.scatter)
            }
        return shapes == {(d,)}


#: What a question consists of beside points and arrays.
_NUMBERS = ("b", "widening", "most", "share", "seed")


class Checkpoint:
    """A file that holds the last `Standing` of a search."""

    def __init__(self, path):
        self.path = Path(path)

    def save(self, standing: Standing) -> None:
        """Replace what the file holds, as a whole or not at all."""
        content = io.BytesIO()
        np.savez(content, **standing.described())  # type: ignore[arg-type]
        write_atomically(self.path, content.getvalue())

    def load(self, d: int) -> Standing | None:
        """What the file holds of a search over d features; None where there is none."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as held:
                found = Standing.read(held)
            fits = found.fits(d) and found.n > 0
        except Exception:  # whatever a damaged or foreign file makes of its reader
            fits = False
        if not fits:
            raise DataError(
                f"checkpoint={str(self.path)!r} is no file that a fit on {d} features "
                "left behind; name another, which need not exist."
            )
        return found

    def remove(self) -> None:
        """Leave nothing behind."""
        with suppress(FileNotFoundError):
            self.path.unlink()
