"""The bytes of a file, a folder or standard input, as often as they are asked for."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from wideberth.data.errors import DataError
from wideberth.data.memory import physical_memory

__all__ = ["HEAD", "LONGEST_LINE", "File", "check_room", "explained"]

#: Number of bytes of the start of a text file that tell how it is written: a choice.
HEAD = 1 << 16
#: Bytes of the longest line that is taken for a line of a table; a file without line
#: ends would fill the memory (a choice: a row of 64 MB has millions of columns).
LONGEST_LINE = 1 << 26
_OPENERS: dict[bytes, Callable] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_UNPACKING = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


class File:
    """A file, a folder, or standard input ("-"), which is held in memory."""

    def __init__(self, path: str | os.PathLike):
        self.path = os.fspath(path)
        self._input: bytes | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if self.path == "-" else self.path

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of files."""
        return os.path.isdir(self.path)

    @property
    def is_compressed(self) -> bool:
        """Whether it starts like a compressed file; such are only read whole."""
        return os.path.isfile(self.path) and self._opener() is not None

    def open(self) -> BinaryIO:
        """All bytes in order, decompressed."""
        opener = self._opener()
        raw = self.stored()
        return raw if opener is None else io.BufferedReader(opener(raw), 1 << 20)

    def stored(self) -> Any:
        """All bytes as they are."""
        if self.path != "-":
            return open(self.path, "rb")
        if self._input is None:
            if sys.stdin is None:
                raise DataError("standard input is closed; name a file instead of -.")
            self._input = sys.stdin.buffer.read()
        return io.BufferedReader(io.BytesIO(self._input))

    def seekable(self) -> Any:
        """All bytes with random access; those of standard input decompressed."""
        return io.BytesIO(self.open().read()) if self.path == "-" else self.stored()

    def _opener(self) -> Callable | None:
        with self.stored() as stream:
            start = stream.read(8)
        found = [o for magic, o in _OPENERS.items() if start.startswith(magic)]
        return found[0] if found else None

    def digest(self) -> str:
        """SHA-256 of the bytes as stored, as `sha256sum` prints it for a file.

        For a folder that of the names and digests of its files, as `sha256sum *` would
        print them.
        """
        if not self.is_folder:
            with self.stored() as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        files = sorted(file for file in Path(self.path).iterdir() if file.is_file())
        lines = [f"{File(file).digest()}  {file.name}\n" for file in files]
        return hashlib.sha256("".join(lines).encode()).hexdigest()


@contextmanager
def explained(name: str, form: str = "") -> Iterator[None]:
    """What goes wrong while a file is read becomes a DataError.

    Where `form` says what the file should be, whatever its damage makes of a library
    means that it is not; else troubles with its bytes are explained.
    """
    try:
        yield
    except (DataError, ImportError, MemoryError, BrokenPipeError):
        raise
    except FileNotFoundError:
        raise DataError(f"{name}: there is no such file.") from None
    except Exception as error:
        told = _told(error, form)
        if told is None:
            raise
        raise DataError(f"{name} {told}.") from None


def _told(error: Exception, form: str) -> str | None:
    why = " ".join(str(error).split()).rstrip(".")
    if form:
        return f"is not {form} ({why})"
    if isinstance(error, _UNPACKING):
        return f"cannot be decompressed: {why}"
    if isinstance(error, UnicodeError):
        known = isinstance(error, UnicodeDecodeError)
        what = f"is not {error.encoding} text" if known else "cannot be decoded"  # type: ignore[attr-defined]
        return f"{what} ({why}); say what it is, for example --encoding latin-1"
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or why}"
    return None


def check_room(size: int, where: str) -> None:
    """Refuse a table of this many bytes if the machine has not that much memory."""
    limit = physical_memory()
    if size > limit:
        raise DataError(
            f"{where} holds a table of at least {size / 1e9:.1f} GB, more than the "
            f"{limit / 1e9:.1f} GB of memory that this machine has; wideberth fit "
            "--memory reads numbers in pieces."
        )
