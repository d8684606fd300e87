"""Parquet, Arrow, Feather and CSV files, or folders of them, through pyarrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wideberth.scale.chunks import Chunk, DataError
from wideberth.scale.sources import Source

__all__ = ["TableSource", "column_names"]


class TableSource(Source):
    """Rows of a dataset: features in columns, labels and the rest in named ones."""

    def __init__(self, path, y, weight=None, radius=None, memory=None, columns=None):
        super().__init__(memory)
        self.path = Path(path)
        self.dataset = _open(self.path)
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
        import pyarrow.types as types

        if not self.columns:
            raise DataError(f"{self.path} has no column left to be a feature.")
        for name in self.columns:
            if name not in names:
                raise DataError(
                    f"columns names {name!r}, which {self.path} does not have; there "
                    f"are {_listed(names)}."
                )
            kind = self.dataset.schema.field(name).type
            numeric = types.is_integer(kind) or types.is_floating(kind)
            if not numeric and not types.is_boolean(kind):
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
            X[:, k] = column.to_numpy(zero_copy_only=False)
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


def column_names(path: Path) -> list[str]:
    """The columns of a file or folder."""
    return list(_open(path).schema.names)


def _open(path: Path):
    try:
        import pyarrow.dataset as dataset
    except ImportError:
        raise ImportError(
            f"Reading {path} needs pyarrow: pip install 'wideberth[files]'."
        ) from None
    suffix = path.suffix.lower()
    if path.is_dir():
        files = sorted(
            file.suffix.lower() for file in path.rglob("*") if file.is_file()
        )
        suffix = next((end for end in files if end in _FORMATS), ".parquet")
    try:
        found = dataset.dataset(path, format=_FORMATS[suffix])
        if found.schema.names:  # which decodes them
            return found
    except _troubles() as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    raise DataError(f"{path} has no columns.")


def _troubles() -> tuple[type[Exception], ...]:
    """What pyarrow raises where a file is not as it should be."""
    from pyarrow import ArrowException

    return OSError, ValueError, ArrowException


_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".feather": "feather",
    ".csv": "csv",
}


def _listed(names) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
