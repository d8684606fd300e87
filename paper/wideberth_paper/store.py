"""Results on disk, one line per finished cell, safe against being interrupted.

The file is named after the environment's fingerprint and begins with a line describing
it. A line is written by one call and flushed to disk before the next cell starts; a
line cut short by a crash is dropped when the file is opened again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from wideberth_paper.environment import fingerprint

__all__ = ["Store"]


class Store:
    """Append-only results of one environment, kept in a folder."""

    def __init__(self, folder: Path, environment: dict):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"cells-{fingerprint(environment)}.jsonl"
        self.results: dict[str, dict] = {}
        self._drop_torn_line()
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines()[1:]:
                entry = json.loads(line)
                self.results[entry["cell"]] = entry["result"]
        else:
            self._append({"environment": environment})

    def others(self) -> list[Path]:
        """Results of other environments in the same folder, which are not used."""
        return sorted(set(self.folder.glob("cells-*.jsonl")) - {self.path})

    def add(self, cell: str, result: dict) -> None:
        """Keep the result of a cell, on disk first."""
        self._append({"cell": cell, "result": result})
        self.results[cell] = result

    def _append(self, entry: dict) -> None:
        line = (json.dumps(entry, allow_nan=False) + "\n").encode()
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            size = os.fstat(handle).st_size
            try:
                while line:  # a disk that fills up takes a part first
                    line = line[os.write(handle, line) :]
                os.fsync(handle)
            except OSError:
                os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)

    def _drop_torn_line(self) -> None:
        """Cut what follows the last complete line; nothing complete is no file."""
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        end = content.rfind(b"\n") + 1
        if end == 0:
            self.path.unlink()
        elif end < len(content):
            os.truncate(self.path, end)
