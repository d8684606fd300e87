"""Names of columns: some are given, millions of others are only numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

_NUMBERED = re.compile(r"x(0|[1-9]\d{0,17})", re.ASCII)


class Names(Sequence[str]):
    """Names that are `given`, and then x1, x2, … after ascending `numbers`.

    The latter are made when they are asked for: a file of some bytes may have millions
    of features, of which hardly any is ever called by its name.
    """

    def __init__(
        self, given: Iterable[str] = (), numbers: range | np.ndarray = range(0)
    ):
        self.given, self.numbers = tuple(given), numbers

    def __len__(self) -> int:
        return len(self.given) + len(self.numbers)

    def __iter__(self) -> Iterator[str]:
        yield from self.given
        yield from (f"x{number}" for number in self.numbers)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return tuple(self[k] for k in range(len(self))[place])
        place = range(len(self))[place]  # from the end if negative
        beyond = place - len(self.given)
        return self.given[place] if beyond < 0 else f"x{self.numbers[beyond]}"

    def __contains__(self, name: object) -> bool:
        return self._place(name) < len(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(str.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Names({self.given!r}, {self.numbers!r})"

    def without(self, aside: Collection[str]) -> Names:
        """The same names but for some."""
        given, numbers = (n for n in self.given if n not in aside), self.numbers
        places = {self._place(name) - len(self.given) for name in aside}
        if gone := [k for k in places if 0 <= k < len(numbers)]:
            numbers = np.delete(np.asarray(numbers), gone)
        return Names(given, numbers)

    def places(self, wanted: Sequence[str]) -> range | np.ndarray:
        """Where each of some names is; len(self) or beyond where there is none.

        A range from 0 where they are the first ones in order.
        """
        first = range(len(wanted))
        if isinstance(wanted, Names) and not (wanted.given or self.given):
            own, numbers = self.numbers, wanted.numbers
            ranges = isinstance(own, range) and isinstance(numbers, range)
            if own is numbers or (ranges and own[:1] == numbers[:1]):
                return first
            found = np.searchsorted(own, numbers)
            there = np.take(own, found, mode="clip") == numbers if len(own) else False
            found = np.where(there, found, len(own))
        else:
            found = np.array([self._place(name) for name in wanted], dtype=np.int64)
        return first if np.array_equal(found, first) else found

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.given)}

    def _place(self, name: object) -> int:
        """Where a name is, len(self) if it is not."""
        if not isinstance(name, str):
            return len(self)
        if (place := self._places.get(name)) is not None:
            return place
        found = _NUMBERED.fullmatch(name)
        number = -1 if found is None else int(found[1])
        if isinstance(self.numbers, range):
            there, beyond = number in self.numbers, number - self.numbers.start
        else:
            beyond = int(np.searchsorted(self.numbers, number))
            there = number in self.numbers[beyond : beyond + 1]
        return len(self.given) + beyond if there else len(self)
