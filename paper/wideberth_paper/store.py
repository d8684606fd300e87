"""Results on disk, one line per finished cell, safe against being interrupted.

The file is named after the environment's fingerprint and begins with a line describing
it. A line is written by one call and flushed to disk before the next cell starts; a
line cut short by a crash is dropped when the file is opened again.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import wideberth
from wideberth.report.environment import machine, versions

_PACKAGES = ("numpy", "scipy", "scikit-learn", "cvxpy", "scs", "clarabel")
#: Files that show results but cannot change one.
_PRESENTATION = (
    "wideberth/cli/",
    "wideberth/report/",
    "wideberth_paper/printed.py",
    "wideberth_paper/stored.py",
    "wideberth_paper/reproduce.py",
    "wideberth_paper/report/",
)


def describe() -> dict:
    """Versions and machine, as the report prints them."""
    return {"versions": versions(_PACKAGES), "machine": machine(), "code": _digest()}


def _digest() -> str:
    """Hash of the code of both packages, less what only shows results."""
    digest = hashlib.sha256()
    for root in (Path(wideberth.__file__).parent, Path(__file__).parent):
        for source in sorted(root.rglob("*.py")):
            name = f"{root.name}/{source.relative_to(root).as_posix()}"
            if not name.startswith(_PRESENTATION):
                digest.update(name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:12]


class Store:
    """Append-only results of one environment, kept in a folder.

    Any other version, machine or line of code has another file, so stale results are
    never taken for fresh ones.
    """

    def __init__(self, folder: Path, environment: dict):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(environment, sort_keys=True)
        fingerprint = hashlib.sha256(text.encode()).hexdigest()[:12]
        self.path = folder / f"cells-{fingerprint}.jsonl"
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
