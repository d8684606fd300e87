"""Bytes of a data source: opened, decompressed, counted and hashed as they are read."""

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from wideberth.cli.errors import UserError
from wideberth.data.kinds import decompressed

__all__ = ["Source", "open_source"]


@dataclass
class Source:
    """Where a table came from, and how it was read."""

    path: str
    raw: _Hashing | None
    kind: str = ""
    details: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if self.path == "-" else self.path

    def bytes(self) -> BinaryIO:
        """Everything in it, in order, decompressed."""
        assert self.raw is not None
        return decompressed(self.raw)

    def whole(self) -> BinaryIO:
        """All of it with random access: the file itself, or a copy in memory."""
        if self.path == "-":
            return io.BytesIO(self.bytes().read())
        return open(self.path, "rb")

    def digest(self) -> str:
        """SHA-256 of the source, as `sha256sum` prints it for a file.

        For a folder that of the names and digests of its files, as `sha256sum *` would
        print them.
        """
        if os.path.isdir(self.path):
            lines = [
                f"{_digest_file(file)}  {file.name}\n"
                for file in sorted(Path(self.path).iterdir())
                if file.is_file()
            ]
            return hashlib.sha256("".join(lines).encode()).hexdigest()
        if self.path != "-":
            return _digest_file(Path(self.path))
        assert self.raw is not None
        return self.raw.sha.hexdigest()


@contextmanager
def open_source(path: str) -> Iterator[Source]:
    """Open a file or standard input ("-"); troubles on the way become UserErrors."""
    name = "standard input" if path == "-" else path
    try:
        if path == "-" and sys.stdin is None:
            raise UserError("standard input is closed; name a file instead of -.")
        if path == "-":
            yield Source(path, _Hashing(sys.stdin.buffer))
        elif os.path.isdir(path):
            yield Source(path, None)
        else:
            with open(path, "rb", buffering=0) as stream:
                yield Source(path, _Hashing(stream))
    except FileNotFoundError:
        raise UserError(f"{name}: there is no such file.") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise UserError(f"{name} cannot be decompressed: {error}.") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name} is not {error.encoding} text ({error.reason}); say what it is, "
            "for example --encoding latin-1."
        ) from None
    except UnicodeError as error:  # some codecs say no more than that
        raise UserError(
            f"{name} cannot be decoded ({error}); say what it is, for example "
            "--encoding latin-1."
        ) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise UserError(f"{name} cannot be read: {reason}.") from None


class _Hashing(io.RawIOBase):
    """Passes bytes on and hashes them."""

    def __init__(self, stream):
        self.stream, self.sha = stream, hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        data = self.stream.read(len(buffer)) or b""
        self.sha.update(data)
        buffer[: len(data)] = data
        return len(data)


def _digest_file(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
