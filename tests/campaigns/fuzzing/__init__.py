"""Fuzzing: what a case is, what may come of it, and how damage is done to bytes.

Case number k of a target is made by a generator seeded with the target's name and k, so
every case can be had again by its number: `python tests/campaigns/fuzz.py --case csv 4711`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

__all__ = ["TARGETS", "Target", "Violation", "damaged", "target"]


class Violation(Exception):
    """What was accepted breaks a promise."""


@dataclass(frozen=True)
class Target:
    """Something that takes what users give.

    `case` draws an input; `run` hands it over, and either returns, the input being
    accepted and the answer in order, or raises. Types in `documented` are a refusal;
    any other exception is a finding.
    """

    name: str
    case: Callable[[Random], object]
    run: Callable[[object], None]
    documented: tuple[type[BaseException], ...]
    #: Share of a campaign's cases: the quick ones get more.
    share: float


TARGETS: dict[str, Target] = {}


def target(name: str, case: Callable, documented: tuple, share: float) -> Callable:
    """Register the decorated function as a target."""

    def register(run: Callable) -> Callable:
        TARGETS[name] = Target(name, case, run, documented, share)
        return run

    return register


#: Bytes that mean something somewhere.
_SPICES = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\n", b'"', b"'", b"#", b":",
    b",", b";", b"\t", b"-", b"1e999", b"nan", b"\x80", b"\xed\xa0\x80", b"PAR1", b"PK",
    b"\x93NUMPY", b"\x1c", b"\x85", b"\xc2\xa0", b"{", b"}", b"(", b")", b"9" * 30,
)  # fmt: skip


def damaged(data: bytes, rng: Random, most: int = 4) -> bytes:
    """Flip, insert, drop, repeat, move or cut some bytes."""
    content = bytearray(data)
    for _ in range(rng.randint(1, most)):
        at = rng.randrange(len(content) + 1)
        end = min(len(content), at + rng.choice((1, 1, 2, 4, 8, 64)))
        kind = rng.randrange(7)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            content[at:at] = rng.choice(_SPICES)
        elif kind == 2:
            del content[at:end]
        elif kind == 3:
            content[at:at] = content[at:end] * rng.choice((1, 2, 50))
        elif kind == 4:
            piece = bytes(content[at:end])
            del content[at:end]
            spot = rng.randrange(len(content) + 1)
            content[spot:spot] = piece
        elif kind == 5:
            content[at:end] = rng.randbytes(end - at)
        elif rng.random() < 0.3:
            del content[at:]
    return bytes(content)
