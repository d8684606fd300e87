"""Parquet, Arrow, Feather and CSV files, or folders of them, through pyarrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wideberth.data.chunks import Chunk, DataError
from wideberth.data.kinds import kind_of
from wideberth.data.sources import Source

__all__ = ["TableSource", "as_floats", "is_number", "table_schema"]


class TableSource(Source):
    """Rows of a dataset: features in columns, labels and the rest in named ones.

    `form` is a file format of pyarrow.dataset, where the ending is not enough to tell.
    """

    def __init__(
        self, path, y, weight=None, radius=None, memory=None, columns=None, form=None
    ):
        super().__init__(memory)
        self.path = Path(path)
        self.dataset = _open(self.path, form)
        names = self.dataset.schema.names
        if not isinstance(y, str):
            raise DataError(
                f"y={y!r} must be the name of the column of {self.path} that holds the "
                f"labels; there are {_listed(names)}."
            )
        self.special = [y, weight, radius]
        self.brings_radii = radius is not None
        for role, name in zip(
            ("y", "sample_weight", "radius"), self.special, strict=True
        ):
            if name is not None and name not in names:
                raise DataError(
                    f"{role}={name!r} is not a column of {self.path}; there are "
                    f"{_listed(names)}."
                )
        others = [name for name in names if name not in self.special]
        self.columns = list(columns) if columns is not None else others
        self._check_columns(names)
        self.d, self.names = len(self.columns), self.columns
        self.row_bytes = 8 * self.d
        self.n = self._count()

    def _check_columns(self, names) -> None:
        if not self.columns:
            raise DataError(f"{self.path} has no column left to be a feature.")
        for name in self.columns:
            if name not in names:
                raise DataError(
                    f"columns names {name!r}, which {self.path} does not have; there "
                    f"are {_listed(names)}."
                )
            kind = self.dataset.schema.field(name).type
            if not is_number(kind):
                raise DataError(
                    f"Column {name!r} of {self.path} holds {kind}; features must be "
                    "numbers. Encode it, or leave it out of `columns`."
                )

    def _count(self) -> int:
        try:
            return self.dataset.count_rows()
        except _troubles() as error:
            raise self._broken(error) from None

    def chunks(self):
        for chunk in self._read(self.columns):
            if chunk.n:
                yield chunk

    def labels(self):
        for chunk in self._read([]):
            yield chunk.y, chunk.weight

    def _read(self, columns):
        number, wanted = 0, [*columns, *(name for name in self.special if name)]
        for fragment in self.dataset.get_fragments():
            try:
                batches = fragment.to_batches(
                    schema=self.dataset.schema,
                    columns=wanted,
                    batch_size=self.chunk_rows,
                    batch_readahead=1,
                    fragment_readahead=1,
                )
                for batch in batches:
                    yield self._chunk(batch, columns, number, str(fragment.path))
                    number += 1
            except _troubles() as error:
                if isinstance(error, DataError):
                    raise
                raise DataError(
                    f"{fragment.path}, chunk {number}: cannot be read: {error}"
                ) from None

    def _chunk(self, batch, columns, number: int, origin: str) -> Chunk:
        batch.validate(full=True)  # Arrow files are used as they are, damaged or not
        X = np.empty((batch.num_rows, len(columns)))
        for k, name in enumerate(columns):
            column = batch.column(name)
            if column.null_count:
                row = int(np.flatnonzero(column.is_null().to_numpy(False))[0])
                raise DataError(
                    f"{origin}, chunk {number}: row {row} has no value in column "
                    f"{name!r}; impute or drop such rows first."
                )
            X[:, k] = as_floats(column)
        y, weight, radius = (
            None if name is None else batch.column(name).to_numpy(zero_copy_only=False)
            for name in self.special
        )
        return Chunk(X, y, weight, radius, number, origin)

    def _broken(self, error) -> DataError:
        """Say which file cannot be opened."""
        for fragment in self.dataset.get_fragments():
            try:
                fragment.count_rows()
            except _troubles() as own:
                return DataError(f"{fragment.path} cannot be read: {own}")
        return DataError(f"{self.path} cannot be read: {error}")


def is_number(kind) -> bool:
    """Whether a type of Arrow is one of numbers; truth values are 0 and 1."""
    import pyarrow.types as types

    return any(
        test(kind)
        for test in (
            types.is_integer,
            types.is_floating,
            types.is_boolean,
            types.is_decimal,
            types.is_null,
        )
    )


def as_floats(column) -> np.ndarray:
    """A column of Arrow as float64, null as NaN; refused if that would round it."""
    import pyarrow as pa

    values = column.cast(pa.float64())
    chunked = isinstance(values, pa.ChunkedArray)
    return values.to_numpy() if chunked else values.to_numpy(zero_copy_only=False)


def table_schema(path: Path, form=None):
    """Names and types of the columns of a file or folder."""
    return _open(path, form).schema


def _open(path: Path, form=None):
    try:
        import pyarrow.dataset as dataset
    except ImportError:
        raise ImportError(
            f"Reading {path} needs pyarrow: pip install 'wideberth[files]'."
        ) from None
    try:
        if form is None:
            form = _format(kind_of(path))
        found = dataset.dataset(path, format=form)
        if found.schema.names:  # which decodes them
            return found
    except _troubles() as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    raise DataError(f"{path} has no columns.")


def _troubles() -> tuple[type[Exception], ...]:
    """What pyarrow raises where a file is not as it should be."""
    from pyarrow import ArrowException

    return OSError, ValueError, ArrowException


def _format(kind: str | None):
    """The format of pyarrow.dataset that reads files of a kind."""
    from pyarrow.csv import ParseOptions
    from pyarrow.dataset import CsvFileFormat

    if kind == "tsv":
        return CsvFileFormat(ParseOptions(delimiter="\t"))
    return {"parquet": "parquet", "arrow": "ipc", "csv": "csv"}[str(kind)]


def _listed(names) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
