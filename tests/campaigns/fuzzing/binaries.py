"""Binary files: .npy, Parquet, Arrow and model files."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import io
import json
import zipfile
from functools import cache
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from fuzzing import damaged, target
from fuzzing.texts import csv_content, read_table
from fuzzing.workshop import PLACE, look_through
from wideberth.cli.errors import UserError
from wideberth.data import DataError, Format, Request, open_data

# -- NumPy ---------------------------------------------------------------------------

_DTYPES = ("<f8", "<f8", "<f4", ">f8", "<f2", "<f16", "<i8", "|b1", "|u1", "<c16", "<U3", "|S3",
           "|O", "<M8[s]", "<m8[D]", "|V8", "<i3", "f8,f4", "", "<f8\\0")  # fmt: skip
_SHAPES = ("(4, 2)", "(4, 2)", "(4, 2)", "(4,)", "()", "(0, 2)", "(4, 0)", "(-1, 2)", "(1, -8)",
           "(1000000000000, 2)", "(4, 1000000000000)", "(10**30, 0)", "(" + "9" * 30 + ", 0)",
           "(4, 2, 1)", "(4.0, 2)", "(True, 8)", "[4, 2]", "None", "(4, 2", "'x'", "(" * 150,
           "-" * 3000 + "1", "9" * 4000, "(2**62, 4)", "(4611686018427387904, 4)")  # fmt: skip


def _header(rng: Random) -> bytes:
    """The start of a .npy file, true to what follows or not."""
    descr = rng.choice(_DTYPES) if rng.random() < 0.3 else "<f8"
    shape = rng.choice(_SHAPES) if rng.random() < 0.4 else "(4, 2)"
    order = rng.choice((*["False"] * 12, "True", "0", "None"))
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    if rng.random() < 0.1:
        text = rng.choice(
            (
                "{}",
                "",
                "\0",
                "{'descr': '<f8'}",
                "[" * 300,
                "{'a': b'",
                "1\n 2",
                text * 2,
            )
        )
    text = text.ljust(rng.choice((60, 117, 5))) + "\n"
    version = rng.choice((*[(1, 0)] * 8, (2, 0), (2, 0), (3, 0), (9, 9)))
    size = len(text) if rng.random() < 0.95 else rng.choice((0, 1, 60_000, 2**31))
    length = (
        size.to_bytes(4, "little")
        if version[0] > 1
        else (size % 2**16).to_bytes(2, "little")
    )
    return b"\x93NUMPY" + bytes(version) + length + text.encode("latin-1")


def npy_content(rng: Random) -> bytes:
    """A matrix of four rows, two columns, or something that says it is one."""
    body = np.array([rng.gauss(0, 2) for _ in range(8)]).tobytes()
    data = _header(rng) + body
    return damaged(data, rng) if rng.random() < 0.3 else data


def _npy_case(rng: Random):
    labels = np.array([1.0, -1.0, 1.0, -1.0])
    if rng.random() < 0.3:  # the labels are the file that may be wrong
        stream = io.BytesIO()
        np.save(stream, np.ones((4, 2)))
        return stream.getvalue(), npy_content(rng) if rng.random() < 0.7 else b""
    return npy_content(rng), labels


@target("npy", _npy_case, (DataError, ValueError), share=0.08)
def read_npy(case) -> None:
    """The reader of .npy files of any size."""
    content, labels = case
    path = PLACE.with_suffix(".npy")
    path.write_bytes(content)
    if isinstance(labels, bytes):
        beside = PLACE.with_name("labels.npy")
        beside.write_bytes(labels)
        labels = beside
    look_through(open_data(path, labels, memory="8GB"))


# -- Parquet and Arrow -----------------------------------------------------------------


def _column(rng: Random, n: int):
    """A column of one of the types that tables can have, with nulls at times."""
    some = [rng.gauss(0, 2) for _ in range(n)]
    day = datetime.datetime(2020, 1, 1)
    makers = (
        lambda: pa.array(some), lambda: pa.array(some, pa.float32()),
        lambda: pa.array(np.array(some, "f2")), lambda: pa.array([int(v) for v in some]),
        lambda: pa.array([v > 0 for v in some]), lambda: pa.nulls(n),
        lambda: pa.array([2**63] * n, pa.uint64()), lambda: pa.array([2**62 + 1] * n),
        lambda: pa.array([decimal.Decimal("1.5")] * n),
        lambda: pa.array([decimal.Decimal(10) ** 60] * n, pa.decimal256(76, 2)),
        lambda: pa.array([float("nan")] * n), lambda: pa.array([float("inf")] * n),
        lambda: pa.array([1.5, None, 2.0][:1] * (n - 1) + [None] if n else []),
        lambda: pa.array([None] * n, pa.float64()),
        lambda: pa.array(["p", "q", "1"] * n)[:n], lambda: pa.array([b"\xff", b"q"] * n)[:n],
        lambda: pa.array(["p", "q"] * n)[:n].dictionary_encode(),
        lambda: pa.array([1.0, 2.0] * n)[:n].dictionary_encode(),
        lambda: pa.array([day] * n), lambda: pa.array([day.date()] * n),
        lambda: pa.array([day - day] * n), lambda: pa.array([[1.0, 2.0]] * n),
        lambda: pa.array([{"a": 1}] * n), lambda: pa.array([[1, 2]] * n, pa.list_(pa.int8(), 2)),
        lambda: pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int8())),
        lambda: pa.array(["p"] * n, pa.large_string()), lambda: pa.array([day.time()] * n),
    )  # fmt: skip
    return rng.choice(makers[:3] if rng.random() < 0.4 else makers)()


def _table(rng: Random) -> pa.Table:
    n, odd = rng.choice((0, 1, 2, 4, 4, 6)), rng.random() < 0.6
    names = ["a", "b", "y"]
    if rng.random() < 0.15:
        names = rng.choices(("a", "b", "y", "", "a.b", "é", "\ud7ff", "x"), k=3)
    columns = [
        _column(rng, n) if odd else pa.array([rng.random() for _ in range(n)])
        for _ in names
    ]
    if rng.random() < 0.6:
        columns[-1] = pa.array([1 if k % 2 else -1 for k in range(n)], pa.int64())
    return pa.Table.from_arrays(columns, names=names)


def table_content(rng: Random, suffix: str) -> bytes:
    """A table in this format, damaged at times, or something else altogether."""
    if suffix == ".csv":
        return csv_content(rng, (",",))
    stream, table = io.BytesIO(), _table(rng)
    try:
        if suffix == ".parquet":
            pq.write_table(
                table, stream, row_group_size=rng.choice((None, 1, 2)), compression=rng.choice(("snappy", "none", "gzip")),
                use_dictionary=rng.random() < 0.5, data_page_version=rng.choice(("1.0", "2.0")),
            )  # fmt: skip
        elif suffix == ".feather":
            feather.write_feather(table, stream)
        else:
            with pa.ipc.new_file(stream, table.schema) as writer:
                writer.write_table(table)
    except (pa.ArrowException, ValueError):  # what the format cannot hold
        stream.write(b"PAR1")
    data = stream.getvalue()
    return damaged(data, rng) if rng.random() < 0.4 else data


def _parquet_case(rng: Random):
    request = rng.choice(
        (Request("y", ("y",)), Request(), Request("y", ("y",), ("b",)), Request("y", ("y", "b")),
         Request(features=("b", "a"), optional=frozenset("y")))
    )  # fmt: skip
    return table_content(rng, ".parquet"), request, Format("parquet")


target("parquet", _parquet_case, (DataError,), share=0.05)(read_table)


def _tables_case(rng: Random):
    suffix = rng.choice((".parquet", ".parquet", ".arrow", ".feather", ".csv"))
    options = rng.choice(
        ({}, {}, {"radius": "b"}, {"sample_weight": "b"}, {"columns": ["a", "b"]})
    )
    return suffix, table_content(rng, suffix), options, rng.random() < 0.1


@target("tables", _tables_case, (DataError, ValueError), share=0.05)
def read_tables(case) -> None:
    """The reader of tables that are larger than memory."""
    suffix, content, options, solve_it = case
    path = PLACE.with_suffix(suffix)
    path.write_bytes(content)
    look_through(open_data(path, "y", memory="8GB", **options), solve_it)


# -- models ----------------------------------------------------------------------------


@cache
def _models() -> tuple[dict[str, bytes], ...]:
    """The members of good model files."""
    from commands import as_csv, two_classes
    from wideberth.cli import main

    X, y = two_classes(40)
    out, found = PLACE.with_name("good.wideberth"), []
    PLACE.with_name("good.csv").write_text(as_csv(X, y, place=["here", "there"] * 20))
    kinds = "--radius 0.1 --one-hot place"
    for more in (
        f"{kinds} --standardize",
        f"{kinds} --missing median",
        "--radius 0.1 --drop place --standardize --ramp --noise linf",
        "--drop place --model measured",
    ):
        words = f"--target state --folds 0 --json --force {more} --out".split()
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
            main(["fit", str(PLACE.with_name("good.csv")), *words, str(out)])
        with zipfile.ZipFile(out) as archive:
            found.append({name: archive.read(name) for name in archive.namelist()})
    return tuple(found)


_ODD = (None, True, 0, -1, 2**70, 1.5, "", "x", [], {}, [[]], {"$array": "0.npy"}, {"$array": "../x.npy"},
        {"$kind": "CSR"}, {"$kind": "RobustPipeline"}, {"$kind": "os.system"}, {"$float": "nan"}, {"$tuple": [1, 2]},
        {"$scalar": ["<f8", 1]}, {"$scalar": ["O", 1]}, {"$objects": ["a"]}, {"$dict": [[1, 2]]}, {"$x": 1})  # fmt: skip


def _spoil(node, rng: Random):
    """Change one thing somewhere in a JSON tree."""
    if isinstance(node, dict) and node and rng.random() < 0.92:
        key = rng.choice(list(node))
        if rng.random() < 0.05:
            del node[key]
        else:
            node[key] = _spoil(node[key], rng)
        return node
    if isinstance(node, list) and node and rng.random() < 0.92:
        at = rng.randrange(len(node))
        node[at] = _spoil(node[at], rng)
        return node
    return rng.choice(_ODD)


def _model_case(rng: Random) -> bytes:
    members = dict(rng.choice(_models()))
    kind = rng.randrange(4)
    if kind < 2:
        tree = json.loads(members["model.json"])
        tree = _spoil(tree, rng)
        members["model.json"] = json.dumps(tree).encode()
    if kind > 0:
        name = rng.choice([name for name in members if name != "model.json"])
        members[name] = rng.choice((npy_content(rng), damaged(members[name], rng), b""))
    stream = io.BytesIO()
    packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(stream, "w", packing) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    data = stream.getvalue()
    return damaged(data, rng) if kind == 3 or rng.random() < 0.1 else data


@target("model", _model_case, (UserError,), share=0.01)
def read_model(content) -> None:
    """`predict` and `certify` with a model file of unknown origin."""
    from wideberth.cli.model import load_model

    path = PLACE.with_suffix(".wideberth")
    path.write_bytes(content)
    model = load_model(path)
    X = np.zeros((2, len(model.columns.features)))
    model.fitted.predict(X)
    model.fitted.decision_function(X)
    if model.gives_verdicts:
        model.fitted.verdict(X)
    else:
        model.fitted.certified_radius(X)
