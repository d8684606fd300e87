"""Tables that are read in pieces, by the same rules as those that are read whole.

`open_pieces` finds the columns and `Pieces` gives labels as values; what differs from a
table in memory, missing values for one, is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from wideberth.cli.commands import FitOptions
from wideberth.cli.errors import UserError, listed, quoted, require
from wideberth.cli.labels import Label, check_classes, label_values
from wideberth.cli.prepare import extremes, moments
from wideberth.cli.sources import Format, Request, kind_of
from wideberth.cli.sources.delimited import Header, read_header
from wideberth.cli.sources.table import Plan, as_texts, check_names
from wideberth.data.chunks import Chunk
from wideberth.data.kinds import LABEL, feature_names, is_compressed
from wideberth.data.libsvm import LibsvmSource
from wideberth.data.sources import NpySource, Source
from wideberth.data.tables import TableSource, is_number, table_schema

__all__ = ["Pieces", "Survey", "open_pieces"]

#: Most different labels that are kept in mind while a column is read; no classifier has
#: as many classes, and a column of measurements would fill the memory.
_TOO_MANY = 100_000
#: What pyarrow calls the kinds of files that name their columns.
_PYARROW = {"parquet": "parquet", "arrow": "ipc"}


class Pieces(Source):
    """Rows of a table with labels as values, once `survey` has seen all of them."""

    def __init__(self, inner: Source, kind: str, plan: Plan, columns: dict[str, int]):
        super().__init__()
        self.memory, self.n, self.inner, self.kind = inner.memory, inner.n, inner, kind
        self.features = plan.features
        self.d = len(plan.features)
        self.row_bytes = inner.row_bytes
        # Of an array these columns are features, and one may be the radius; tables
        # give no others than those asked for.
        self._taken = [columns[name] for name in plan.features if name in columns]
        self._all = self._taken in ([], list(range(inner.d)))
        self._radius = next((columns[n] for n in plan.numbers if n in columns), None)
        self.brings_radii = inner.brings_radii or self._radius is not None
        self.values: dict[str, Label] = {}

    def survey(self, target: str) -> Survey:
        """Read everything once; from then on labels are values."""
        seen = Survey(self.features)
        for chunk in self.inner.chunks():
            seen.add(self._selected(chunk), *self._coded(chunk))
        self.values = label_values(seen.labels)
        check_classes(self.values, seen.rows, target)
        return seen

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self.inner.chunks():
            yield replace(self._selected(chunk), y=self._labels(chunk))

    def labels(self):
        empty = np.empty((0, 0))
        for number, (y, weight) in enumerate(self.inner.labels()):
            yield self._labels(Chunk(empty, y, number=number)), weight

    def _selected(self, chunk: Chunk) -> Chunk:
        """The features alone, and the radius that stood among them."""
        X, radius = chunk.X, chunk.radius
        if self._radius is not None:
            radius = X[:, [self._radius]]
            radius = np.ravel(radius.toarray() if sp.issparse(radius) else radius)
        return replace(chunk, X=X if self._all else X[:, self._taken], radius=radius)

    def _labels(self, chunk: Chunk) -> np.ndarray:
        texts, numbers = self._coded(chunk)
        if any(text not in self.values for text in texts):
            raise chunk.error("its labels changed since they were first read.")
        return np.array([self.values[text] for text in texts])[numbers]

    def _coded(self, chunk: Chunk) -> tuple[list[str], np.ndarray]:
        """The different labels as text, and the number of each row's."""
        distinct, numbers = _distinct(np.asarray(chunk.y))
        texts = as_texts(distinct).tolist()
        if self.kind in ("csv", "tsv"):
            texts = list(map(_cell, texts))
        if None in texts:
            lacking = [k for k, text in enumerate(texts) if text is None]
            row = int(np.flatnonzero(np.isin(numbers, lacking))[0])
            raise chunk.error(
                f"row {row} has no label; leave such rows out of the file, or leave "
                "out --memory."
            )
        return texts, numbers


def _cell(text: str | None) -> str | None:
    """A cell of a table of text as it is read whole: no blanks about it, or missing."""
    stripped = (text or "").strip()
    return None if Format().is_missing(stripped) else stripped


def _distinct(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different labels, and the number of each row's."""
    if y.dtype != object:
        return np.unique(y, return_inverse=True)
    known: dict = {}
    numbers = [known.setdefault(label, len(known)) for label in y.tolist()]
    distinct = np.empty(len(known), dtype=object)
    distinct[:] = list(known)
    return distinct, np.array(numbers, dtype=np.intp)


@dataclass
class Survey:
    """What one read tells about a table: labels, scales of the features, radii."""

    features: tuple[str, ...]
    rows: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    mean: np.ndarray | float = 0.0
    square: np.ndarray | float = 0.0  # sum of squared deviations
    low: np.ndarray | float = np.inf
    high: np.ndarray | float = -np.inf
    radii: tuple[float, float] = (np.inf, -np.inf)

    def add(self, chunk: Chunk, texts: list[str], numbers: np.ndarray) -> None:
        """Take in some rows."""
        counts = np.bincount(numbers, minlength=len(texts)).tolist()
        for text, count in zip(texts, counts, strict=True):
            self.labels[text] = self.labels.get(text, 0) + count
        if len(self.labels) > _TOO_MANY:
            raise UserError(
                f"the target column holds more than {_TOO_MANY} different values "
                f"({listed(self.labels, 3)}); it must hold a class."
            )
        self._check_complete(chunk)
        self._add_moments(chunk)
        if chunk.radius is not None:
            low, high = float(np.min(chunk.radius)), float(np.max(chunk.radius))
            self.radii = min(self.radii[0], low), max(self.radii[1], high)

    def _check_complete(self, chunk: Chunk) -> None:
        X = chunk.X.tocoo() if sp.issparse(chunk.X) else chunk.X
        values = X.data if sp.issparse(X) else X
        if np.isfinite(values).all():
            return
        place = np.argwhere(~np.isfinite(values))[0]
        row, column = (part[place[0]] for part in X.coords) if sp.issparse(X) else place
        raise chunk.error(
            f"row {row}, column {quoted(self.features[column])} holds no finite "
            "number; leave such rows out of the file, or leave out --memory."
        )

    def _add_moments(self, chunk: Chunk) -> None:
        """Means and squared deviations of both parts together."""
        n, (mean, spread) = chunk.n, moments(chunk.X)
        low, high = extremes(chunk.X)
        total, shift = self.rows + n, mean - self.mean
        self.square = self.square + n * spread**2 + shift**2 * self.rows * n / total
        self.mean = self.mean + shift * n / total
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)
        self.rows = total


def open_pieces(options: FitOptions) -> tuple[Pieces, dict[str, str]]:
    """Open DATA as the options ask, and say how it was read."""
    kind = options.format or kind_of(options.data)
    if not os.path.exists(options.data):
        raise UserError(f"{options.data}: there is no such file.")
    if is_compressed(options.data):
        raise UserError(
            f"{options.data} is compressed, and such files are not read in pieces; "
            "decompress it first, or leave out --memory."
        )
    if kind == "npz":
        raise UserError(
            f"{options.data} is an archive, which is not read in pieces; leave out "
            "--memory, or store its arrays as .npy files."
        )
    request = Request(
        target=options.target,
        texts=(str(options.target),),
        numbers=() if options.radius_column is None else (options.radius_column,),
        dropped=tuple(options.drop),
    )
    if kind == "libsvm":
        return _open_libsvm(options, request), {}
    if kind == "npy":
        return _open_npy(options, request), {}
    require("pyarrow", f"reading {options.data} in pieces")
    return _open_columns(options, request, kind)


def _open_columns(options, request: Request, kind: str):
    path, form, details = options.data, _PYARROW.get(kind), {}
    if kind in ("csv", "tsv"):
        header = _same_header(Path(path), kind)
        names, details = header.names, header.details
    else:
        names = list(table_schema(Path(path), form).names)
    check_names(names, path, ())
    plan = request.plan(names, path)
    if kind in ("csv", "tsv"):
        header.refuse_nameless(plan.features, path)
        form = _csv_form(path, header, plan)
    inner = TableSource(
        path,
        options.target,
        radius=options.radius_column,
        memory=options.memory,
        columns=plan.features,
        form=form,
    )
    return Pieces(inner, kind, plan, {}), details


def _same_header(path: Path, kind: str) -> Header:
    """The header of a file, or of all files of a folder."""
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
    header = read_header(str(files[0]), kind)
    for file in files[1:]:
        if read_header(str(file), kind) != header:
            raise UserError(
                f"{file} has other columns, or another sign between them, than "
                f"{files[0]}; files of one table must have the same first line."
            )
    if header.encoding == "utf-16":
        raise UserError(
            f"{path} is UTF-16 text, and only a whole table can be read so; leave out "
            "--memory, or store it as UTF-8."
        )
    if header.delimiter == " ":
        raise UserError(
            f"{path} has blanks between its cells, and only a whole table can be read "
            "so; leave out --memory, or separate cells by commas."
        )
    return header


def _csv_form(path: str, header: Header, plan: Plan):
    """How pyarrow is to read it: numbers as such, whatever the first rows look like."""
    import pyarrow as pa
    import pyarrow.csv as csv
    from pyarrow.dataset import CsvFileFormat

    def form(types: dict) -> CsvFileFormat:
        return CsvFileFormat(
            csv.ParseOptions(delimiter=header.delimiter),
            read_options=csv.ReadOptions(
                column_names=header.names, skip_rows=header.line
            ),
            convert_options=csv.ConvertOptions(column_types=types),
        )

    texts = dict.fromkeys(plan.texts, pa.string())
    schema = table_schema(Path(path), form(texts))
    numbers = [*plan.features, *plan.numbers]
    kinds = {name: schema.field(name).type for name in numbers}
    text = [n for n in numbers if not is_number(kinds[n]) or kinds[n] == pa.bool_()]
    if text:
        raise UserError(
            f"{path}: {listed(text)} hold no numbers that could be read in pieces, and "
            "features must be numbers; leave them out with --drop, or leave out "
            "--memory."
        )
    return form(texts | dict.fromkeys(numbers, pa.float64()))


def _open_libsvm(options: FitOptions, request: Request) -> Pieces:
    source = LibsvmSource(options.data, memory=options.memory)
    names = feature_names(range(source.first, source.first + source.d))
    plan = request.plan([LABEL, *names], options.data, sparse=True)
    if options.target != LABEL:
        raise UserError(f"{options.data}: columns of a LIBSVM file hold numbers.")
    return Pieces(source, "libsvm", plan, {name: k for k, name in enumerate(names)})


def _open_npy(options: FitOptions, request: Request) -> Pieces:
    if not os.path.isfile(str(options.target)):
        raise UserError(
            f"{options.target}: there is no such file; the labels of {options.data} "
            "are in a .npy file of their own."
        )
    beside = options.radius_column if _is_npy(options.radius_column) else None
    source = NpySource(
        options.data, options.target, radius=beside, memory=options.memory
    )
    names = feature_names(range(1, source.d + 1))
    files = [name for name in (options.target, beside) if name is not None]
    plan = request.plan([*files, *names], options.data)
    return Pieces(source, "npy", plan, {name: k for k, name in enumerate(names)})


def _is_npy(name: str | None) -> bool:
    return name is not None and name.endswith(".npy") and os.path.isfile(name)
