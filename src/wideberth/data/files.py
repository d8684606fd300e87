"""Files written as a whole or not at all, and folders that do not outlive their use."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that no reader ever sees half of it.

    The content goes to a temporary file beside the target, to disk, and then takes the
    target's name. Whatever happens before that leaves the target as it was and nothing
    else behind.
    """
    staged = Staged(path)
    try:
        staged.write(content)
        staged.take_name(replace=True)
    finally:
        staged.discard()


class Staged:
    """A file that is written beside its target, and takes its name when told to."""

    def __init__(self, path: Path):
        # Named before it exists: an interrupt finds either nothing or a known name.
        self.path = path
        self.temporary = path.with_name(f".wideberth-{secrets.token_hex(8)}")

    def write(self, content: str | bytes | IO[bytes]) -> None:
        """Bring the content to disk, what is left of it where it is a stream."""
        data = content.encode() if isinstance(content, str) else content
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(self.temporary, flags, 0o666), "wb") as stream:
            if isinstance(data, bytes):
                stream.write(data)
            else:
                shutil.copyfileobj(data, stream)
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileNotFoundError):
            os.chmod(self.temporary, self.path.stat().st_mode & 0o777)

    def take_name(self, replace: bool) -> None:
        """Become the target.

        Without `replace` that is an error if something has the name, and there is no
        moment in which someone else could take it.
        """
        if replace:
            os.replace(self.temporary, self.path)
            return
        try:
            os.link(self.temporary, self.path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            with open(self.path, "xb"):
                pass
            os.replace(self.temporary, self.path)

    def discard(self) -> None:
        """Leave nothing but the target, whatever has happened."""
        with suppress(FileNotFoundError):
            os.unlink(self.temporary)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until a few quick steps are done that belong together."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[tuple] = []
    before = signal.signal(signal.SIGINT, lambda *event: waiting.append(event))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if waiting and callable(before):
            before(*waiting[0])


class ScratchFolder:
    """A temporary folder that goes with this object, at the latest at exit."""

    def __init__(self) -> None:
        with uninterrupted():
            self.path = Path(tempfile.mkdtemp(prefix="wideberth-"))
            self.remove = weakref.finalize(self, _removed, self.path)


def _removed(path: Path) -> None:
    with uninterrupted():
        shutil.rmtree(path, ignore_errors=True)
