"""Columns that a header gives no name: no features, and refused unless they are empty."""

import json
import re

import numpy as np
import pytest

from wideberth import RobustLinearSVC, solve
from wideberth.cli import main
from wideberth.data import DataError, Format, Request, open_data, open_table

ROWS = "1,0.5,{},-1\n2,0.25,{},-1\n4,0.5,{},1\n3,0.75,{},1\n"
ROADS = [
    "",
    "--memory 8GB",
    "--one-hot auto",
    "--errors auto",
    "--errors auto --memory 8GB",
]


def fit(road):
    """The exit code of a command with these options."""
    command = f"fit data.csv --target y --radius 0.1 --folds 0 --json {road}"
    return main(command.split())


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(header, cells):
        (tmp_path / "data.csv").write_text(f"{header}\n{ROWS.format(*cells)}")

    return write


def refusals(capsys):
    """What all roads to this file end with."""
    for call in (
        lambda: open_table("data.csv", Request(("y",)), Format()),
        lambda: solve("data.csv", "y", fit_intercept=False),
        lambda: RobustLinearSVC().fit("data.csv", "y"),
    ):
        with pytest.raises(DataError) as caught:
            call()
        yield str(caught.value)
    for road in ROADS:
        assert fit(road) == 1, road
        yield capsys.readouterr().err


@pytest.mark.parametrize("cells", [range(4), "abcd"])
def test_an_index_is_refused_on_every_road(write, cells, capsys):
    """As words it became categories under --one-hot auto, as numbers with errors."""
    write("a,a_err,,y", cells)
    for told in refusals(capsys):
        assert "column 3 has no name in the header; if it numbers the rows" in told


@pytest.mark.parametrize("road", ROADS)
def test_an_empty_column_is_left_out_on_every_road(write, road, capsys):
    write("a,a_err,,y", [""] * 4)
    assert fit(road) in (0, 3)
    features = json.loads(capsys.readouterr().out)["data"]["features"]
    names = [feature["name"] for feature in features]
    assert names == (["a"] if "--errors" in road else ["a", "a_err"])


def test_an_empty_column_is_none_of_those_that_a_model_without_names_knows(write):
    write("a,b,,y", [""] * 4)
    X, y = np.array([[1, 0.5], [2, 0.25], [4, 0.5], [3, 0.75]]), [-1, -1, 1, 1]
    model = RobustLinearSVC().fit(X, y)
    assert model.score("data.csv", "y") == model.score(X, y)


@pytest.mark.parametrize("cells", [range(4), [""] * 4])
def test_a_table_of_columns_without_names_has_no_features(write, cells, capsys):
    write(",,,y", cells)
    sentence = "has no column left to be a feature; name '#1', '#2' and '#3' in its"
    with pytest.raises(DataError, match=re.escape(sentence)):
        open_data("data.csv", "y")
    model = RobustLinearSVC().fit(np.eye(2), [1, -1])
    with pytest.raises(DataError, match=re.escape(sentence)):
        model.score("data.csv", "y")
    for told in refusals(capsys):
        assert sentence in told or "--errors auto fits no column" in told


def test_a_column_without_a_name_may_be_asked_for(write):
    write("a,,,y", range(4))
    (chunk,) = open_data("data.csv", "y", columns=["#3", "a"]).chunks()
    np.testing.assert_array_equal(chunk.X, [[0, 1], [1, 2], [2, 4], [3, 3]])
