"""Where results go: files that appear whole or not at all, or standard output."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import shutil
import stat
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from wideberth.cli.errors import UserError
from wideberth.cli.result import Choice, FoldMeans, Gain
from wideberth.data.errors import visible
from wideberth.data.files import Staged, uninterrupted

#: Characters of a line of text on the terminal; tables may need more.
_WIDTH = 88
#: Bytes of a table that wait in memory until all of it is there (a choice).
_SMALL = 1 << 24
#: Sizes of numbers that are written without a power of ten (a choice).
_PLAIN = 1e-4, 1e7
#: Most digits behind the point that are written to show an error (a choice).
_DIGITS = 8
#: What is written to a file: text, bytes, or a stream of them.
Content = str | bytes | IO[bytes]


def check_free(paths: Iterable[str | None], force: bool) -> None:
    """Refuse, before any work is done, to write where something is or nothing can be.

    "-" is standard output; devices and pipes are written to as they are.
    """
    given = [path for path in paths if path is not None]
    real = [path if path == "-" else os.path.realpath(path) for path in given]
    if len(set(real)) < len(real):
        raise UserError("two outputs have the same name; rename one of them.")
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


def write_all(files: Iterable[tuple[str, Content]], force: bool) -> None:
    """Write several results, or none.

    All are brought to disk before the first takes its name.
    """
    staged: list[tuple[str, Staged]] = []
    new: list[str] = []
    try:
        for path, content in files:
            # Text is UTF-8; a file name in it that is none keeps its bytes visible.
            data = content if not isinstance(content, str) else _encoded(content)
            with _complaints(path):
                if path == "-":
                    _print(data)
                elif _is_special(path):
                    with open(path, "wb") as stream:
                        _copy(data, stream)
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


def _encoded(text: str) -> bytes:
    return text.encode(errors="backslashreplace")


def _copy(data: bytes | IO[bytes], stream: IO[bytes]) -> None:
    if isinstance(data, bytes):
        stream.write(data)
    else:
        shutil.copyfileobj(data, stream)


def _print(data: bytes | IO[bytes]) -> None:
    if sys.stdout is None:
        raise UserError("standard output is closed; name a file with --out.")
    try:
        _copy(data, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except OSError:
        # Let go of what could not be printed, lest Python try once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def write_json(result: object) -> None:
    """Print a machine-readable result."""
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    write_all([("-", text + "\n")], force=True)


class Lines:
    """A table whose rows come a few at a time, to be delivered once all are there.

    It is CSV, in memory while it is small and in a temporary file from then on; or part
    of JSON, where --json is given and no file is to hold it.
    """

    def __init__(self, options):
        self.options = options
        self._records: list[dict] | None = None
        if options.json and not options.out:
            self._records = []
        self._stream = tempfile.SpooledTemporaryFile(_SMALL)  # noqa: SIM115
        self._begun = False

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_) -> None:
        self._stream.close()

    def add(self, headings: Sequence[str], columns: Sequence[Iterable]) -> None:
        """Take in further rows, given by columns."""
        rows = zip(*columns, strict=True)
        if self._records is None:
            headings = [] if self._begun else headings
            text = table_text(headings, rows, self.options.out or "-")
            self._stream.write(_encoded(text))
            self._begun = True
            return
        for row in rows:
            plain = [None if value in (math.inf, -math.inf) else value for value in row]
            self._records.append(dict(zip(headings, plain, strict=True)))

    def deliver(
        self,
        name: str,
        summary: dict,
        words: str = "",
        files: Sequence[tuple[str, Content]] = (),
    ) -> None:
        """Write the table, and files beside it, where the options want them.

        Where a file holds it, `words` are for people. JSON is the summary, with the
        table under its name if no file holds it; null is infinity there, or no answer.
        """
        out = self.options.out
        if self._records is None:
            self._stream.seek(0)
            files = [*files, (out or "-", self._stream)]
        else:
            summary[name] = self._records
        # Files first: standard output cannot be taken back.
        write_all(sorted(files, key=lambda file: file[0] == "-"), self.options.force)
        if self.options.json:
            write_json(summary)
        elif words and out not in (None, "-"):
            say(words)


def table_text(headings: Sequence[str], rows: Iterable[Sequence], out: str) -> str:
    """Write a table as CSV for `out`; without headings it is the rest of one.

    Labels and names are written as they are, so that they can be compared with those
    of other tables. Only on a terminal are control characters escaped.
    """
    terminal = out == "-" and sys.stdout is not None and sys.stdout.isatty()

    def cell(value):
        if value.__class__ is bool:
            return str(value).lower()
        return visible(str(value)) if terminal and value is not None else value

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in [headings, *rows] if headings else rows:
        writer.writerow(map(cell, row))
    return stream.getvalue()


def say(text: str) -> None:
    """Print lines for people, whatever the terminal's encoding can show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    lines = "".join(f"{visible(line)}\n" for line in text.split("\n"))
    write_all([("-", lines.encode(encoding, "replace"))], force=True)


def aligned(lines: Iterable[tuple[str, str | TextTable]]) -> str:
    """Headings, and beside each its text or its table, in lines that read well."""
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    from wideberth.report.page import tails

    def columns(table: TextTable) -> Grid:
        inside = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        rows = []
        shown = (map(visible, line) for line in [table.headings, *table.rows])
        cells = zip(*shown, strict=True)
        for place, (heading, *column) in enumerate(cells):
            if place not in table.texts:
                own = tails(column)
                end = max(map(len, own), default=0)
                pairs = zip(column, own, strict=True)
                column = [text + " " * (end - len(tail)) for text, tail in pairs]
                width = max(map(len, [heading, *column]))
                heading, *column = (text.rjust(width) for text in [heading, *column])
            inside.add_column(Text(heading))
            rows.append(column)
        for row in zip(*rows, strict=True):
            inside.add_row(*map(Text, row))
        return inside

    grid = Grid.grid(padding=(0, 2))
    grid.add_column(min_width=9, no_wrap=True)
    grid.add_column()
    for heading, told in lines:
        if isinstance(told, str):
            told = visible(told)
            lines_of = textwrap.wrap(told, _WIDTH - 11, break_on_hyphens=False)
            grid.add_row(heading, Text("\n".join(lines_of)))
        else:
            grid.add_row(heading, columns(told))
    stream = io.StringIO()
    Console(file=stream, width=2 * _WIDTH, color_system=None).print(grid)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


@dataclass(frozen=True)
class TextTable:
    """A table for a terminal; the columns at `texts` are aligned to the left."""

    headings: list[str]
    rows: list[list[str]]
    texts: tuple[int, ...] = (0,)


def warn(text: str) -> None:
    """Print a line on standard error."""
    print(f"wideberth: {visible(text)}", file=sys.stderr)


class Progress:
    """One line on standard error that says what is going on, if it is a terminal."""

    def __init__(self, quiet: bool = False):
        terminal = sys.stderr is not None and sys.stderr.isatty()
        self.on = not quiet and terminal and find_spec("rich") is not None

    def __enter__(self) -> Progress:
        if self.on:
            from rich import progress
            from rich.console import Console

            self._line = progress.Progress(
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(20),
                progress.TimeRemainingColumn(),
                console=Console(stderr=True),
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._line.start()
            self._task = self._line.add_task("")
        return self

    def __exit__(self, *_) -> None:
        if self.on:
            self._line.stop()

    def show(self, text: str, done: int = 0, of: int | None = None) -> None:
        """Replace the line; the bar shows the share that is done, where it is known."""
        if self.on:
            self._line.update(
                self._task,
                description=visible(text),
                completed=done,
                total=of,
                refresh=True,
            )

    def reading(self, name: str) -> Callable[[int, int | None], None]:
        """What shows how many rows of a file are read."""
        self.show(f"reading {name}")

        def watch(done: int, of: int | None) -> None:
            rows = f"reading {name}, {whole(done)}"
            total = "" if of is None else f" of {whole(of)}"
            self.show(f"{rows}{total} rows", done, of)

        return watch


# -- numbers as people read them -------------------------------------------------------


def percent(share: float) -> str:
    """Write a share."""
    return f"{100 * share:.1f} %"


def number(value: float) -> str:
    """Write a measurement."""
    return with_minus(f"{value:.4g}")


def interval(low: float, high: float) -> str:
    """Write the ends of an interval, which may be infinite."""
    return f"{unbounded(low)} to {unbounded(high)}"


def unbounded(value: float) -> str:
    """Write a measurement that may be infinite."""
    return number(value).replace("inf", "∞")


def with_minus(text: str) -> str:
    """A number with the sign that is as wide as a plus."""
    return text.replace("-", "−")


def with_error(value: float, error: float, sign: str = "") -> tuple[str, str]:
    """Write a value and its error, both to the second significant digit of the error.

    An error of 0 is exact and written so, and NaN is unknown. `sign` is "+" where a
    plus sign is wanted.
    """
    if error == 0:
        return with_minus(f"{value:{sign}.4g}"), "0"
    if not math.isfinite(error):
        return with_minus(f"{value:{sign}.4g}"), "unknown"
    size = max(abs(value), error)
    if size < _PLAIN[0] or size >= _PLAIN[1]:
        return with_minus(f"{value:{sign}.4g}"), f"{error:.2g}"
    digits = max(0, 1 - int(f"{error:.1e}".partition("e")[2]))
    if digits > _DIGITS:
        return with_minus(f"{value:{sign}.4g}"), f"{error:.1e}"
    rounded = round(value, digits) + 0.0  # no −0.0
    return with_minus(f"{rounded:{sign}.{digits}f}"), f"{error:.{digits}f}"


def estimate(value: float, error: float, sign: str = "") -> str:
    """Write a value ± its error."""
    return " ± ".join(with_error(value, error, sign))


def points(gain: Gain, unit: float = 100) -> str:
    """Write a gain with its standard error, in percentage points or another unit.

    Of models that are right on the same rows it is none, and has no error.
    """
    if gain.mean == gain.error == 0:
        return "none"
    return estimate(unit * gain.mean, unit * gain.error, "+")


def spread(means: FoldMeans) -> str:
    """Write the mean of shares over folds with their standard deviation."""
    return estimate(100 * means.mean, 100 * means.std) + " %"


def off(means: FoldMeans) -> str:
    """Write the mean of errors over folds with their standard deviation."""
    return estimate(means.mean, means.std)


def scored(value: float, measure: str) -> str:
    """Write an accuracy or an error."""
    return percent(value) if measure.endswith("accuracy") else number(value)


def told_proof(choice: Choice) -> str:
    """Say what is proven about every C of a range, in the words of the measure."""
    proof, measure = choice.proof, choice.measure
    assert proof is not None
    share = measure.endswith("accuracy")
    best = scored(1 - proof.lower_bound if share else proof.lower_bound, measure)
    than = "above" if share else "below"
    one = f"an {measure}" if measure[0] in "aeiou" else f"a {measure}"
    reach = f"no C from {proof.low:g} to {proof.high:g} has {one} {than} {best}"
    if proof.proven:
        return f"{reach}: proven for exact optima, over the same folds"
    return f"not proven as closely as asked for; it is only known that {reach}"


def whole(value: int) -> str:
    """Write a count."""
    return f"{value:,}".replace(",", "\u202f")


def small_share(share: float) -> str:
    """Write a share that may be next to nothing, rounded up."""
    if share <= 1e-6:
        return "0.0001 %"
    digit = 10 ** math.floor(math.log10(100 * share))
    return f"{digit * math.ceil(100 * share / digit):.1g} %"
