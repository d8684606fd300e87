"""`predict` and `certify` read tables a few rows at a time, once, and say the same."""

import json

import numpy as np
import pandas as pd
import pytest

from commands import as_csv, run, two_classes
from wideberth.data.columnar import ColumnarReader


@pytest.fixture
def folder(tmp_path):
    X, y = two_classes(120)
    radii = np.linspace(0.1, 0.5, 120).round(3)
    names = [f"n{k}" for k in range(120)]
    text = as_csv(X, y, sigma=radii, who=names)
    (tmp_path / "a.csv").write_text(text)
    run("fit a.csv --target state --drop who --radius-column sigma --folds 0 --out m.wideberth",
        folder=tmp_path)  # fmt: skip
    frame = pd.read_csv(tmp_path / "a.csv")
    frame.loc[[5, 40, 90], "mass"] = np.nan
    frame.loc[[7, 100], "sigma"] = np.nan
    frame.loc[[8], "state"] = None
    frame.to_csv(tmp_path / "b.csv", index=False)
    frame.to_parquet(tmp_path / "b.parquet")
    return tmp_path


@pytest.fixture
def in_small_parts(monkeypatch):
    monkeypatch.setattr("wideberth.cli.predict.AT_ONCE", 240)
    monkeypatch.setattr("wideberth.data.delimited._BLOCK", 200)
    monkeypatch.setattr("wideberth.cli.output._SMALL", 100)  # on disk from the start


def told(command, folder):
    done = run(command, folder=folder)
    return done.stdout, done.stderr


@pytest.mark.parametrize("file", ["b.csv", "b.parquet"])
@pytest.mark.parametrize(
    "command",
    ["predict m.wideberth {} --scores --id who", "certify m.wideberth {}", "certify m.wideberth {} --json"],
)  # fmt: skip
def test_parts_of_a_table_are_told_as_the_whole(command, file, folder, request):
    whole = told(command.format(file), folder)
    assert "3 of 120 rows lack a value and get no answer (rows 6, 41, 91)" in whole[1]
    request.getfixturevalue("in_small_parts")
    assert told(command.format(file), folder) == whole


def test_a_table_is_read_once(folder, monkeypatch, in_small_parts):
    reads, sizes, tables = [], [], ColumnarReader.tables

    def counted(self, *given, **more):
        reads.append(self.name)
        for table in tables(self, *given, **more):
            sizes.append(table.n)
            yield table

    monkeypatch.setattr(ColumnarReader, "tables", counted)
    done = run(
        "certify m.wideberth b.parquet --json --memory 8GB --out o.csv", folder=folder
    )
    assert len(reads) == 1
    assert json.loads(done.stdout)["rows"] == 120
    sizes.clear()
    run("predict m.wideberth b.parquet", folder=folder)
    assert max(sizes) == 10


def test_what_is_wrong_far_down_is_named_and_nothing_written(folder, in_small_parts):
    frame = pd.read_csv(folder / "a.csv")
    frame.loc[77, "sigma"] = -1.0
    frame.to_csv(folder / "bad.csv", index=False)
    done = run("certify m.wideberth bad.csv --out o.csv", folder=folder, code=1)
    assert "row 78 (line 79), column 'sigma' is -1" in done.stderr
    assert not (folder / "o.csv").exists()
    frame.loc[77, ["sigma", "mass"]] = 0.1, np.inf
    frame.to_parquet(folder / "bad.parquet")
    done = run("predict m.wideberth bad.parquet", folder=folder, code=1)
    assert "row 78, column 'mass' is infinite" in done.stderr
    assert done.stdout == ""
