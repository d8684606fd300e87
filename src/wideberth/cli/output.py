"""Where results go: files that appear whole or not at all, or standard output."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from wideberth.cli.errors import UserError
from wideberth.data.files import Staged, uninterrupted

__all__ = [
    "check_free",
    "discard_output",
    "say",
    "table_text",
    "write",
    "write_all",
    "write_json",
]


_BOOLEANS = {True: "true", False: "false"}


def check_free(paths: Iterable[str | None], force: bool) -> None:
    """Refuse, before any work is done, to write where something is or nothing can be.

    "-" is standard output; devices and pipes are written to as they are.
    """
    given = [path for path in paths if path is not None]
    real = [os.path.realpath(path) for path in given if path != "-"]
    if len(set(real)) < len(real) or given.count("-") > 1:
        raise UserError(
            "two results would go to the same place; name one of them anew."
        )
    for path in given:
        if path == "-" or _is_special(path):
            continue
        if os.path.isdir(path):
            raise UserError(f"{path} is a folder; give the name of a file.")
        if os.path.exists(path) and not force:
            raise UserError(f"{path} is there already; --force overwrites it.")
        folder = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(folder):
            raise UserError(f"{path}: there is no folder {folder}; make it first.")
        if not os.access(folder, os.W_OK):
            raise UserError(f"{path}: the folder {folder} does not allow writing.")


def write(path: str, content: str | bytes, force: bool) -> None:
    """Write a result as a whole."""
    write_all([(path, content)], force)


def write_all(files: Iterable[tuple[str, str | bytes]], force: bool) -> None:
    """Write several results, or none.

    All are brought to disk before the first takes its name.
    """
    staged: list[tuple[str, Staged]] = []
    new: list[str] = []
    try:
        for path, content in files:
            data = _encoded(content)
            with _complaints(path):
                if path == "-":
                    _print(data)
                elif _is_special(path):
                    with open(path, "wb") as stream:
                        stream.write(data)
                else:
                    # A link stays one: what it leads to is replaced.
                    staged.append((path, Staged(Path(os.path.realpath(path)))))
                    staged[-1][1].write(data)
        with uninterrupted():
            for path, file in staged:
                free = not os.path.lexists(path)
                with _complaints(path):
                    file.take_name(force)
                new += [path] if free else []
            new = []
    finally:
        for _, file in staged:
            file.discard()
        for path in new:  # a later one could not be written
            with suppress(FileNotFoundError):
                os.unlink(path)


@contextmanager
def _complaints(path: str) -> Iterator[None]:
    """Say in one sentence why a result cannot be written."""
    try:
        yield
    except FileExistsError:
        raise UserError(f"{path} is there already; --force overwrites it.") from None
    except BrokenPipeError:
        raise
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "the disk is full" if full else error.strerror or str(error)
        name = "standard output" if path == "-" else path
        raise UserError(f"{name} cannot be written: {why}.") from None


def _encoded(content: str | bytes) -> bytes:
    """Text as UTF-8; a file name that is none keeps its bytes visible."""
    return (
        content.encode(errors="backslashreplace")
        if isinstance(content, str)
        else content
    )


def _print(data: bytes) -> None:
    if sys.stdout is None:
        raise UserError("standard output is closed; name a file with --out.")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError:
        discard_output()
        raise


def discard_output() -> None:
    """Let go of what could not be printed, lest Python try once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_json(result: object) -> None:
    """Print a machine-readable result."""
    write(
        "-", json.dumps(result, ensure_ascii=False, allow_nan=False) + "\n", force=True
    )


def say(text: str) -> None:
    """Print lines for people, whatever the terminal's encoding can show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    write("-", (text + "\n").encode(encoding, "replace"), force=True)


def table_text(headings: Sequence[str], rows: Iterable[Sequence]) -> str:
    """Write a table as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(headings)
    for row in rows:
        writer.writerow(
            [_BOOLEANS.get(v, v) if v.__class__ is bool else v for v in row]
        )
    return stream.getvalue()


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
