"""One deliberate mistake."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Mutant"]


@dataclass(frozen=True)
class Mutant:
    """A deliberate mistake: `old` becomes `new` in `file`."""

    name: str
    file: str
    old: str
    new: str
    suspect: str

    def applied(self, text: str) -> str:
        """The broken text; loud where the text to break is not there exactly once."""
        count = text.count(self.old)
        if count != 1:
            raise ValueError(
                f"mutant {self.name!r}: {self.file} holds the text to replace {count} "
                "times, not once; the mutant has to follow the code."
            )
        return text.replace(self.old, self.new)
