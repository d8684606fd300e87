"""The bytes of a file, a folder or standard input, as often as they are asked for."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from wideberth.data.errors import DataError
from wideberth.data.kinds import decompressed
from wideberth.data.memory import physical_memory

__all__ = ["File", "check_room", "explained"]


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

    def open(self) -> BinaryIO:
        """All bytes in order, decompressed."""
        return decompressed(self.raw())

    def raw(self) -> BinaryIO:
        """All bytes as they are stored."""
        if self.path == "-":
            return io.BytesIO(self._standard_input())
        return open(self.path, "rb", buffering=0)  # type: ignore[return-value]

    def seekable(self) -> BinaryIO:
        """All bytes with random access; only standard input is ever decompressed."""
        if self.path == "-":
            return io.BytesIO(self.open().read())
        return open(self.path, "rb")

    def _standard_input(self) -> bytes:
        if self._input is None:
            if sys.stdin is None:
                raise DataError("standard input is closed; name a file instead of -.")
            self._input = sys.stdin.buffer.read()
        return self._input

    def digest(self) -> str:
        """SHA-256 of the bytes as stored, as `sha256sum` prints it for a file.

        For a folder that of the names and digests of its files, as `sha256sum *` would
        print them.
        """
        if not self.is_folder:
            with self.raw() as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        files = sorted(file for file in Path(self.path).iterdir() if file.is_file())
        lines = [f"{File(file).digest()}  {file.name}\n" for file in files]
        return hashlib.sha256("".join(lines).encode()).hexdigest()


@contextmanager
def explained(name: str) -> Iterator[None]:
    """What goes wrong while the bytes of a file are read becomes a DataError."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{name}: there is no such file.") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise DataError(f"{name} cannot be decompressed: {error}.") from None
    except UnicodeError as error:
        told = f"cannot be decoded ({error})"  # some codecs say no more than that
        if isinstance(error, UnicodeDecodeError):
            told = f"is not {error.encoding} text ({error.reason})"
        raise DataError(
            f"{name} {told}; say what it is, for example --encoding latin-1."
        ) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise DataError(f"{name} cannot be read: {reason}.") from None


def check_room(size: int, where: str) -> None:
    """Refuse a table of this many bytes if the machine has not that much memory."""
    limit = physical_memory()
    if size > limit:
        raise DataError(
            f"{where} holds a table of at least {size / 1e9:.1f} GB, more than the "
            f"{limit / 1e9:.1f} GB of memory that this machine has; wideberth fit "
            "--memory reads numbers in pieces."
        )
