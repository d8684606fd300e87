"""The forms that data may be given in: a line of `MEMORY`, `CHUNKED` or `FOREIGN` each.

Each takes a case and an empty folder, and returns what `solve` and `fit` take.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from road_cases import NAMES, ROWS
from wideberth.errors import columns as error_columns


@dataclass(frozen=True)
class Given:
    """Data as it is handed over: what `solve` and `fit` take."""

    X: object
    y: object = None
    weight: object = None
    radius: object = None
    errors: object = None
    options: dict = field(default_factory=dict)  # for `solve` alone
    #: Turns new rows into what `predict` takes.
    like: Callable = np.asarray

    @property
    def beside(self):
        """Arguments that are there."""
        beside = {"sample_weight": self.weight, "radius": self.radius}
        beside["X_err"] = self.errors
        return {name: value for name, value in beside.items() if value is not None}


def _arrays(X, like=None):
    """Data beside which labels, weights and radii are plain arrays."""

    def give(case, folder):
        beside = (case.y, case.weight, case.radii, _pair(map(X, case.tables)))
        return Given(X(case.X), *beside, like=like or X)

    return give


def _pair(tables):
    """One table of errors, or a pair of them, as `X_err` takes it; None without."""
    tables = tuple(tables)
    return tables if len(tables) == 2 else next(iter(tables), None)


def _frame(make):
    return _arrays(lambda X: make({n: X[:, j] for j, n in enumerate(NAMES)}))


def _parts(case):
    """Everything that goes together, in pieces of 25 rows."""
    ones = np.ones(ROWS)
    weight = ones if case.weight is None else case.weight
    radii = ones * case.radius if case.radii is None else case.radii
    spans = [slice(i, i + 25) for i in range(0, ROWS, 25)]
    return [
        (
            *(part[rows] for part in (case.X, case.y, weight, radii)),
            *([_pair(part[rows] for part in case.tables)] if case.tables else []),
        )
        for rows in spans
    ]


def _chunks(of=lambda parts: parts, X=lambda X: X):
    def give(case, folder):
        return Given(of([(X(part), *rest) for part, *rest in _parts(case)]))

    return give


def table_of(case):
    columns = {name: case.X[:, j] for j, name in enumerate(NAMES)}
    ends = ("_error_min", "_error_max") if len(case.tables) == 2 else ("_err",)
    for end, table in zip(ends, case.tables, strict=False):
        columns |= {name + end: table[:, j] for j, name in enumerate(NAMES)}
    beside = {"class": case.y, "w": case.weight, "r": case.radii}
    return pa.table(columns | {n: v for n, v in beside.items() if v is not None})


def _columns(case):
    """Names of the columns beside the features, where they are in the table."""
    return (
        "class",
        None if case.weight is None else "w",
        None if case.radii is None else "r",
    )


def _named(X):
    return pd.DataFrame(X, columns=list(NAMES))


def _file(name, write):
    def give(case, folder):
        table = table_of(case)
        write(table, folder / name)
        errors = error_columns(table.column_names) or None
        return Given(folder / name, *_columns(case), errors, like=_named)

    return give


def _write_arrow(table, file):
    with pa.ipc.new_file(str(file), table.schema) as writer:
        writer.write_table(table, max_chunksize=25)


def _write_folder(table, folder):
    folder.mkdir()
    for k in range(3):
        pa.parquet.write_table(table.slice(30 * k, 30), folder / f"{k}.parquet")


def _npy(case, folder):
    np.save(folder / "X.npy", case.X)
    for k, table in enumerate(case.tables):
        np.save(folder / f"{k}.npy", table)
    errors = _pair(folder / f"{k}.npy" for k in range(len(case.tables)))
    return Given(folder / "X.npy", case.y, case.weight, case.radii, errors)


def _libsvm(case, folder):
    dump_svmlight_file(case.X, case.y, str(folder / "a.svm"), zero_based=False)
    beside = (case.weight, case.radii, _pair(case.tables))
    return Given(folder / "a.svm", None, *beside)


def _dask_array(case, folder):
    def split(part):
        if part is None:
            return None
        return da.from_array(part, chunks=(25, *part.shape[1:]))

    parts = (case.X, case.y, case.weight, case.radii)
    return Given(*map(split, parts), _pair(map(split, case.tables)))


def _dask_frame(case, folder):
    frame = dd.from_pandas(table_of(case).to_pandas(), npartitions=3)
    beside = [None if name is None else frame[name] for name in _columns(case)]
    errors = error_columns(frame.columns) or None
    X = frame[list(NAMES)] if errors is None else frame
    return Given(X, *beside, errors, like=_named)


def _foreign(library):
    def give(case, folder):
        xp = import_module(library)
        beside = (case.y, case.weight, case.radii)
        numbers = [
            part if part is None or part.dtype.kind in "OU" else xp.asarray(part)
            for part in beside
        ]
        errors = _pair(map(xp.asarray, case.tables))
        return Given(xp.asarray(case.X), *numbers, errors, like=xp.asarray)

    return give


#: Forms that are one array in memory, or become one.
MEMORY = {
    "array": _arrays(np.array),
    "Fortran order": _arrays(np.asfortranarray),
    "float32": _arrays(lambda X: X.astype(np.float32)),
    "CSR": _arrays(sp.csr_array),
    "CSR matrix of float32": _arrays(lambda X: sp.csr_matrix(X.astype(np.float32))),
    "pandas": _frame(pd.DataFrame),
    "polars": _frame(pl.DataFrame),
}
#: Forms that are read in chunks.
CHUNKED = {
    "chunks": _chunks(),
    "chunks from a function": _chunks(lambda parts: lambda: iter(parts)),
    "chunks of float32": _chunks(X=lambda X: X.astype(np.float32)),
    "chunks of CSR": _chunks(X=sp.csr_array),
    ".npy": _npy,
    "CSV": _file("a.csv", pyarrow.csv.write_csv),
    "Parquet": _file("a.parquet", pyarrow.parquet.write_table),
    "folder of Parquet": _file("parts", _write_folder),
    "Feather": _file("a.feather", pyarrow.feather.write_feather),
    "Arrow": _file("a.arrow", _write_arrow),
    "LIBSVM": _libsvm,
    "Dask array": _dask_array,
    "Dask frame": _dask_frame,
}
#: Arrays of other libraries.
FOREIGN = {
    name: _foreign(name) for name in ("array_api_strict", "torch") if find_spec(name)
}
FORMS = MEMORY | CHUNKED | FOREIGN
