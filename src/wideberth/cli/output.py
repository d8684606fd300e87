"""Where results go: files that appear whole or not at all, or standard output."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import stat
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from wideberth.cli.errors import UserError
from wideberth.data.files import Staged, uninterrupted


def check_free(paths: Iterable[str | None], force: bool) -> None:
    """Refuse, before any work is done, to write where something is or nothing can be.

    "-" is standard output; devices and pipes are written to as they are.
    """
    given = [path for path in paths if path is not None]
    real = [path if path == "-" else os.path.realpath(path) for path in given]
    if len(set(real)) < len(real):
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


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def write_all(files: Iterable[tuple[str, str | bytes]], force: bool) -> None:
    """Write several results, or none.

    All are brought to disk before the first takes its name.
    """
    staged: list[tuple[str, Staged]] = []
    new: list[str] = []
    try:
        for path, content in files:
            # Text is UTF-8; a file name in it that is none keeps its bytes visible.
            data = content
            if isinstance(data, str):
                data = data.encode(errors="backslashreplace")
            with _complaints(path):
                if path == "-":
                    _print(data)
                elif _is_special(path):
                    Path(path).write_bytes(data)
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


def _print(data: bytes) -> None:
    if sys.stdout is None:
        raise UserError("standard output is closed; name a file with --out.")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError:
        # Let go of what could not be printed, lest Python try once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def write_json(result: object) -> None:
    """Print a machine-readable result."""
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    write_all([("-", text + "\n")], force=True)


def deliver(
    options,
    headings: Sequence[str],
    rows: Sequence,
    summary: dict,
    words: str = "",
    files: Sequence[tuple[str, str]] = (),
    name: str | None = "predictions",
) -> None:
    """Write a table, and files beside it, where the options of a command want them.

    Where a file holds it, `words` are for people. With --json the summary is printed,
    and has the table under its name if no file holds it.
    """
    if options.out or not options.json:
        files = [*files, (options.out or "-", table_text(headings, rows))]
    # Files first: standard output cannot be taken back.
    write_all(sorted(files, key=lambda file: file[0] == "-"), options.force)
    if options.json:
        if name and not options.out:
            summary[name] = records(headings, rows)
        write_json(summary)
    elif words and options.out not in (None, "-"):
        say(words)


def table_text(headings: Sequence[str], rows: Iterable[Sequence]) -> str:
    """Write a table as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(headings)
    for row in rows:
        writer.writerow([str(v).lower() if v.__class__ is bool else v for v in row])
    return stream.getvalue()


def records(headings: Sequence[str], rows: Iterable[Sequence]) -> list[dict]:
    """Return a table for JSON, where null stands for infinity as for no answer."""
    infinite = (math.inf, -math.inf)
    plain = ([None if value in infinite else value for value in row] for row in rows)
    return [dict(zip(headings, row, strict=True)) for row in plain]


def say(text: str) -> None:
    """Print lines for people, whatever the terminal's encoding can show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    write_all([("-", (text + "\n").encode(encoding, "replace"))], force=True)


def wrapped(heading: str, text: str) -> str:
    """Lines of a width that reads well, indented below a heading.

    None begins or ends within a number and its error.
    """
    whole, bound = text.replace(" ± ", "\xa0±\xa0"), " " * len(heading)
    lines = textwrap.wrap(whole, 88 - len(heading), break_on_hyphens=False)
    return (heading + f"\n{bound}".join(lines)).replace("\xa0", " ")


def warn(text: str) -> None:
    """Print a line on standard error."""
    print(f"wideberth: {text}", file=sys.stderr)


class Progress:
    """One line on standard error that says what is going on, if it is a terminal."""

    def __init__(self, quiet: bool = False):
        self.on = not quiet and sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_) -> None:
        self.show("", "")

    def show(self, text: str, end: str = " …") -> None:
        """Replace the line."""
        if self.on:
            print(f"\r\x1b[K{text}", end=end, file=sys.stderr, flush=True)


# -- numbers as people read them -------------------------------------------------------


def percent(share: float) -> str:
    """Write a share."""
    return f"{100 * share:.1f} %"


def number(value: float) -> str:
    """Write a measurement."""
    return f"{value:.4g}"


def whole(value: int) -> str:
    """Write a count."""
    return f"{value:,}".replace(",", "\u202f")


def small_share(share: float) -> str:
    """Write a share that may be next to nothing, rounded up."""
    if share <= 1e-6:
        return "0.0001 %"
    digit = 10 ** math.floor(math.log10(100 * share))
    return f"{digit * math.ceil(100 * share / digit):.1g} %"
