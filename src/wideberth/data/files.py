"""Files: their kind, their bytes, how much memory they may take, and writing them."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import math
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

from wideberth.data.errors import DataError

#: Number of bytes of the start of a text file that tell how it is written: a choice.
HEAD = 1 << 16
#: Bytes of the longest line that is taken for a line of a table; a file without line
#: ends would fill the memory (a choice: a row of 64 MB has millions of columns).
_LONGEST_LINE = 1 << 26
_OPENERS: dict[bytes, Callable] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_UNPACKING = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
#: What endings of names stand for; "arrow" includes Feather, which is the same, and
#: "text" is a table of text or LIBSVM, which only the content tells.
_NAMED = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "text": (".txt", ".dat", ".data"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".ipc", ".feather"),
    "libsvm": (".libsvm", ".svm", ".svmlight"),
    "npy": (".npy",),
}
_ENDINGS = {ending: kind for kind, endings in _NAMED.items() for ending in endings}
#: The kinds of files that hold tables.
KINDS = tuple(kind for kind in _NAMED if kind != "text")
#: Cells that mean "no value", in any case of letters.
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "?"})
#: The column of the labels of a LIBSVM file, where it has no name.
LABEL = "label"
#: Kinds of which a folder of files is one table.
_IN_FOLDERS = ("parquet", "arrow", "csv", "tsv")
_COMPRESSED = (".gz", ".bz2", ".xz")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
#: Fewest chunks that must fit into memory beside what the process holds: four while the
#: data is read, and as many for rows and results (a choice).
_LEAST_CHUNKS = 8
#: A line of a LIBSVM file: a label, which may be missing, and pairs of index:value.
_SPARSE_LINE = re.compile(rb"(?:[^\s:]+|\d+:\S+)(?:\s+\d+:\S+)*")


@dataclass(frozen=True)
class Format:
    """How a file is to be read; None is found out from the file."""

    kind: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool = True
    missing: frozenset[str] = frozenset()

    def is_missing(self, cell: str) -> bool:
        """Whether a cell, without blanks around it, stands for no value."""
        return cell.lower() in MISSING or cell in self.missing


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
        if opener is None:
            return self.stored()
        # By its name: a reader of a stream of others leaves that open at its end.
        raw = self.stored() if self.path == "-" else self.path
        return io.BufferedReader(opener(raw), 1 << 20)

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
        known = (o for magic, o in _OPENERS.items() if start.startswith(magic))
        return next(known, None)

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


def kind_of(path: str | os.PathLike) -> str:
    """The kind of a file or folder, one of `KINDS`; standard input (-) is CSV.

    The ending of the name decides; where text of several kinds goes by the same ending
    (.txt, .dat, .data) the first lines do. A folder is of the kind of its files, the
    first in `_IN_FOLDERS` where there are several.
    """
    if str(path) == "-":
        return "csv"
    if os.path.isdir(path):
        found = {_ENDINGS.get(file.suffix.lower()) for file in Path(path).rglob("*")}
        return next((kind for kind in _IN_FOLDERS if kind in found), "parquet")
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    while suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = _ENDINGS.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise DataError(
            f"{path}: the name does not tell the format; known endings are "
            f"{', '.join(_ENDINGS)}. On the command line give it with --read "
            f"format={'|'.join(KINDS)}."
        )
    if kind != "text":
        return kind
    return "libsvm" if os.path.isfile(path) and _is_libsvm(path) else "csv"


def _is_libsvm(path: str | os.PathLike) -> bool:
    """Whether the first lines all are `label index:value …`, and some has a pair."""
    try:
        with explained(str(path)), File(path).open() as stream:
            start = stream.read(HEAD)
    except DataError:
        return False  # the reader will say what is wrong with it
    whole = start[: start.rfind(b"\n") + 1] if len(start) == HEAD else start
    bare = (line.partition(b"#")[0].strip() for line in whole.splitlines())
    lines = list(filter(None, bare))
    pairs = any(re.search(rb"\s\d+:", line) for line in lines)
    return pairs and all(_SPARSE_LINE.fullmatch(line) for line in lines)


def lines_of(stream: IO, where: str) -> Iterator:
    """Lines of text or bytes, none of them endless; the stream is closed behind them.

    Also where not all are asked for, once the iterator is forgotten.
    """
    number = 0
    with stream:
        while line := stream.readline(_LONGEST_LINE):
            number += 1
            if len(line) == _LONGEST_LINE:
                raise DataError(
                    f"{where}, line {number} has {_LONGEST_LINE} characters or more; "
                    "it does not seem to be a text table."
                )
            yield line


@contextmanager
def explained(name: str, form: str = "") -> Iterator[None]:
    """Turn what goes wrong while a file is read into a DataError.

    Where `form` says what the file should be, any exception of a library means that it
    is not; without it only errors of reading, decompressing and decoding are explained.
    """
    try:
        yield
    except (DataError, ImportError, BrokenPipeError):
        raise
    except FileNotFoundError:
        raise DataError(f"{name}: there is no such file.") from None
    except Exception as error:
        why = " ".join(str(error).split()).rstrip(".")
        if form and isinstance(error, MemoryError):
            why = f"asks for more memory than there is{why and f' ({why})'}; it is "
            why += "damaged, or too large for this machine"
        elif form:
            why = f"is not {form} ({why})"
        elif isinstance(error, _UNPACKING):
            why = f"cannot be decompressed: {why}"
        elif isinstance(error, UnicodeError):
            encoding = getattr(error, "encoding", None)
            what = f"is not {encoding} text" if encoding else "cannot be decoded"
            why = f"{what} ({why}); give its encoding, for example --read "
            why += "encoding=latin-1"
        elif isinstance(error, OSError):
            why = f"cannot be read: {error.strerror or why}"
        else:
            raise
        raise DataError(f"{name} {why}.") from None


# -- memory ---------------------------------------------------------------------------


def parse_bytes(value) -> int:
    """Read a number of bytes, or text such as "2GB" or "500 MiB".

    None is a quarter of the machine's memory.
    """
    if value is None:
        return physical_memory() // 4
    if isinstance(value, int | float) and not isinstance(value, bool):
        size = float(value)
    else:
        match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?I?)B?\s*", str(value).upper())
        try:
            size = float(match[1]) * _UNITS[match[2]]  # type: ignore[index]
        except (TypeError, ValueError, KeyError):
            size = 0.0
    if not 1 <= size <= sys.maxsize:
        raise ValueError(
            f"memory={value!r} is not an amount of memory; give a number of bytes or "
            "text such as '2GB' or '500 MiB'."
        )
    return int(size)


def physical_memory() -> int:
    """Bytes of memory that the machine has."""
    import psutil

    return psutil.virtual_memory().total


def resident() -> int:
    """Bytes of memory that this process holds now."""
    import psutil

    return psutil.Process().memory_info().rss


def chunk_bytes(memory: int) -> int:
    """How much is read at a time where so many bytes may be held."""
    return min(max(memory // 128, 1 << 20), 1 << 26)


def room(memory) -> int:
    """Bytes that may be taken beside those held now; an error if they are too few.

    Without a limit it is a quarter of what this process leaves of the machine's memory.
    """
    held = resident()
    if memory is None:
        return max(physical_memory() - held, 0) // 4
    limit = parse_bytes(memory)
    if limit - held >= _LEAST_CHUNKS * chunk_bytes(limit):
        return limit - held
    much = "less than" if limit < held else "hardly more than"
    enough = math.ceil(1.25 * held / 10**7) * 10
    raise DataError(
        f"memory={memory!r} is {much} the {held / 1e6:.0f} MB that this process holds "
        f"already; give at least {enough}MB, or read the data in a new process."
    )


def check_room(size: int, where: str) -> None:
    """Refuse a table of this many bytes if the machine has not that much memory."""
    limit = physical_memory()
    if size > limit:
        raise DataError(
            f"{where} holds a table of at least {size / 1e9:.1f} GB, more than the "
            f"{limit / 1e9:.1f} GB of memory that this machine has; wideberth fit "
            "--memory reads it in pieces."
        )


# -- writing ---------------------------------------------------------------------------


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
    """A file that is written beside its target, and takes its name in the end."""

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
