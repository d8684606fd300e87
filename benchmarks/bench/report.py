"""Lines for the terminal and for a Markdown file."""

from __future__ import annotations

from pathlib import Path

__all__ = ["RESULTS", "Report"]

RESULTS = Path(__file__).resolve().parents[1] / "results"


class Report:
    """What is said is printed at once, and saved in the end."""

    def __init__(self):
        self.lines = []

    def say(self, line: str = "") -> None:
        """Add a line."""
        print(line, flush=True)
        self.lines.append(line)

    def save(self, name: str) -> None:
        """Write all lines to a file among the results."""
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / name).write_text("\n".join(self.lines) + "\n")
