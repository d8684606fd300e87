"""A line on the terminal that says what is going on; nothing anywhere else."""

from __future__ import annotations

import sys

__all__ = ["Progress"]


class Progress:
    """Shows one line on standard error while it is a terminal."""

    def __init__(self, quiet: bool = False):
        self.on = not quiet and sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_) -> None:
        self._write("")

    def show(self, text: str) -> None:
        """Replace the line."""
        self._write(f"{text} …")

    def _write(self, text: str) -> None:
        if self.on:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
