"""Tables of text: CSV and its relatives, and LIBSVM, for both families of readers."""

from __future__ import annotations

import bz2
import gzip
import lzma
from random import Random

import numpy as np

from fuzzing import Violation, damaged, target
from fuzzing.workshop import PLACE, look_through
from wideberth.data import DataError, Format, Request, open_data, open_table

#: Cells: numbers as people and programs write them, and what only looks like one.
CELLS = (
    "1", "0", "-1", "2.5", "-.5", "+3", "1e3", "1E-3", "1e308", "1e999", "-1e999", "1e-400",
    "0,5", "1,234", "1.234,5", "1,234.5", "1 000", "1'000", "0x1A", "1_000", "1e", "--1",
    "1.2.3", ".", ",", "-", "+", "e5", "nan", "NaN", "-nan", "inf", "-Infinity", "NA", "n/a",
    "#N/A", "null", "?", "", " ", "  7  ", "\u00a07", "\u22125", "\u0661\u0662", "\uff11",
    "\u00b2", "\u00bd", "\u4e8c", "1\u202f000", "a", "b", "pear", "Köln", "True", "1d5", "1f",
    "\u202etxt", "=1+1", "<b>", "2020-01-01", "9" * 400, "0." + "3" * 400, "1e" + "9" * 30,
    "9" * 5000, "x" * 300, "\x1c5", "5\x85", "\ufeff1", "\ud7ff", "\U0001f600", "1:2", "a:b",
)  # fmt: skip
NAMES = ("a", "b", "c", "y", "x1", "1", "", " a ", "label", "a b", "Größe", "<i>", "y")
_DELIMITERS = (",", ",", ",", ";", ";", "\t", "|", " ", ":", "a", "\u00a7")
_ENDS = (*["\n"] * 12, "\r\n", "\r", "\n\n", "\x0b", "\u2028")
_ENCODINGS = (
    *["utf-8"] * 8,
    "utf-8-sig",
    "utf-16",
    "utf-16-be",
    "latin-1",
    "cp1252",
    "utf-32",
)
_ASKED = (*[None] * 10, "utf-8", "latin-1", "utf-16", "cp1252", "utf-7", "undefined",
          "idna", "punycode", "unicode_escape", "rot13", "hex", "ascii", "", "klingon")  # fmt: skip
_KINDS = {"csv": ",", "tsv": "\t"}
_PACKERS = (gzip.compress, bz2.compress, lzma.compress)


def _quoted(cell: str, rng: Random) -> str:
    chance = rng.random()
    if chance < 0.85:
        return cell
    if chance < 0.95:
        return '"' + cell.replace('"', '""') + '"'
    return rng.choice(
        ('"' + cell, cell + '"', f'"{cell}\n"', f'"{cell}"x', "'" + cell + "'")
    )


def _packed(data: bytes, rng: Random) -> bytes:
    """Compressed now and then, twice at times, and not always whole."""
    while rng.random() < 0.06:
        data = rng.choice(_PACKERS)(data)
        if rng.random() < 0.4:
            data = damaged(data, rng)
    return data


def _number(rng: Random) -> str:
    return f"{rng.gauss(0, 3):.3g}" if rng.random() < 0.8 else rng.choice(CELLS)


def csv_content(rng: Random, delimiters=_DELIMITERS) -> bytes:
    """A table: as it should be but for one thing, or with many things wrong."""
    if rng.random() < 0.5:
        return _nearly_right(rng, delimiters[0])
    delimiter, end, width = rng.choice(delimiters), rng.choice(_ENDS), rng.randint(1, 5)
    lines = [[rng.choice(NAMES) for _ in range(width)]] if rng.random() < 0.9 else []
    for _ in range(rng.choice((0, 1, 2, 3, 5, 9))):
        own = width if rng.random() < 0.97 else rng.randint(0, 7)
        lines.append([_number(rng) for _ in range(own)])
    text = end.join(delimiter.join(_quoted(cell, rng) for cell in row) for row in lines)
    text += rng.choice((end, "", end * 3, delimiter))
    data = text.encode(rng.choice(_ENCODINGS), "replace")
    if rng.random() < 0.3:
        data = damaged(data, rng)
    return _packed(data, rng)


def _nearly_right(rng: Random, delimiter: str) -> bytes:
    """Features a to d, the class y; one cell is odd at times, or a byte or two."""
    names = [*"abcd"[: rng.randint(1, 4)], "y"]
    rows = [
        [
            *(f"{rng.gauss(0, 3):.3g}" for _ in names[1:]),
            rng.choice(("p", "q", "1", "-1")),
        ]
        for _ in range(rng.randint(1, 6))
    ]
    if rng.random() < 0.6:
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = _quoted(rng.choice(CELLS), rng)
    text = "\n".join(delimiter.join(row) for row in [names, *rows])
    data = text.encode("utf-8", "replace")
    return damaged(data, rng, 2) if rng.random() < 0.3 else data


def _request(rng: Random, target: str) -> Request:
    kind = rng.randrange(9)
    if kind == 0:
        return Request(
            features=tuple(rng.sample(NAMES[:6], 2)), optional=frozenset("y")
        )
    if kind == 1:
        return Request()
    if kind == 2:
        return Request((target,), ("b",), ("c",))
    if kind == 3:
        return Request((target,), ("x2",), ("x1",))
    return Request((target,))


def _csv_case(rng: Random):
    form = Format("csv")
    if rng.random() < 0.4:
        form = Format(
            rng.choice(("csv", "csv", "tsv")),
            rng.choice((None, None, ",", ";", "\t", " ", "1", "\u00a7")),
            rng.choice((None, None, ".", ",")),
            rng.choice(_ASKED),
            rng.random() < 0.7,
            frozenset(rng.choice(((), (), ("1",), ("-999", "p")))),
        )
    return csv_content(rng), _request(rng, "y"), form


@target("csv", _csv_case, (DataError,), share=0.335)
def read_table(case) -> None:
    """The command line's reader of text tables (and, by other cases, of other files)."""
    content, request, form = case
    PLACE.write_bytes(content)
    table, source = open_table(str(PLACE), request, form)
    values = table.X.data if hasattr(table.X, "tocsr") else table.X
    if table.n < 1 or table.X.shape != (table.n, len(table.names)):
        raise Violation(f"a table of shape {table.X.shape}, {len(table.names)} names")
    if np.isinf(values).any() or values.dtype not in (np.float64, np.float32):
        raise Violation("infinite, or no numbers")
    for column in (*table.texts.values(), *table.numbers.values()):
        if len(column) != table.n:
            raise Violation("columns of different lengths")
    for text in np.concatenate([*table.texts.values(), [None]]).tolist():
        if text is not None and not isinstance(text, str):
            raise Violation(f"{text!r} is no text")
    if len(source.digest()) != 64:
        raise Violation("no digest")


_INDICES = (
    "0", "1", "2", "3", "5", "7", "10", "007", "+4", "-1", "-0", "1e2", "1.0", "", "x", "qid",
    "16777216", "2147483647", "2147483648", "4294967297", "9223372036854775808", "9" * 40,
    "9" * 5000, "1_0", "\u0661", "\x1c3", "0x3",
)  # fmt: skip


def libsvm_content(rng: Random) -> bytes:
    """Rows of label and index:value pairs, most of them as they should be."""
    odd, lines = rng.random() < 0.5, []
    for _ in range(rng.choice((0, 1, 2, 3, 4, 6))):
        label = rng.choice(
            ("1", "-1", "+1", "1.0", "-1.0", rng.choice(("0", "2", "-1")))
        )
        if odd and rng.random() < 0.2:
            label = rng.choice((*CELLS, "1,2", "1 qid:3", "qid:1"))
        count = rng.choice((0, 1, 2, 3, 5))
        places = [str(k) for k in sorted(rng.sample(range(1, 30), count))]
        pairs = [f"{k}:{rng.gauss(0, 2):.3g}" for k in places]
        if odd and pairs and rng.random() < 0.5:
            at, sign = (
                rng.randrange(len(pairs)),
                rng.choice((":", ":", ":", "", "::", " :")),
            )
            pairs[at] = f"{rng.choice(_INDICES)}{sign}{_number(rng)}"
        if odd and rng.random() < 0.1:
            rng.shuffle(pairs)
        comment = rng.choice(("", "", "", " # why", "#1:2", " #"))
        lines.append(" ".join([label, *pairs]) + comment)
    end = rng.choice(_ENDS)
    data = (end.join(lines) + rng.choice((end, ""))).encode("utf-8", "replace")
    if rng.random() < 0.4:
        data = damaged(data, rng)
    return data


def _libsvm_case(rng: Random):
    return _packed(libsvm_content(rng), rng), _request(rng, "label"), Format("libsvm")


target("libsvm", _libsvm_case, (DataError,), share=0.27)(read_table)


@target("svmlight", libsvm_content, (DataError, ValueError), share=0.05)
def read_svmlight(content) -> None:
    """The reader of LIBSVM files that are larger than memory."""
    path = PLACE.with_suffix(".svm")
    path.write_bytes(content)
    look_through(open_data(path, memory="8GB"))
