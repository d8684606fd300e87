"""Columns that a header gives no name are left out, and that is said."""

import json
import re

import numpy as np
import pytest

from wideberth import RobustLinearSVC, solve
from wideberth.cli import main
from wideberth.data import DataError, open_data

ROWS = "1,0.5,{},-1\n2,0.25,{},-1\n4,0.5,{},1\n3,0.75,{},1\n"
X, Y = np.array([[1, 0.5], [2, 0.25], [4, 0.5], [3, 0.75]]), [-1, -1, 1, 1]
SENTENCE = "data.csv: '#3' has no name in the header and is left out."


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(header, cells):
        (tmp_path / "data.csv").write_text(f"{header}\n{ROWS.format(*cells)}")

    return write


@pytest.mark.parametrize("cells", [range(4), "abcd", [""] * 4])
def test_an_index_is_no_feature_in_python(write, cells):
    write("a,b,,y", cells)
    with pytest.warns(UserWarning, match=re.escape(SENTENCE)):
        found = solve("data.csv", "y", fit_intercept=False)
    np.testing.assert_allclose(found.w, solve(X, Y, fit_intercept=False).w, atol=1e-5)
    model = RobustLinearSVC().fit(X, Y)  # it knows no names
    with pytest.warns(UserWarning, match=re.escape(SENTENCE)):
        assert model.score("data.csv", "y") == model.score(X, Y)


@pytest.mark.parametrize(
    "road",
    [
        "",
        "--memory 8GB",
        "--one-hot auto",
        "--errors auto",
        "--errors auto --memory 8GB",
    ],
)
@pytest.mark.parametrize("cells", [range(4), "abcd"])
def test_an_index_is_no_feature_on_the_command_line(write, cells, road, capsys):
    """As words it became categories under --one-hot auto, as numbers with errors."""
    write("a,a_err,,y", cells)
    command = f"fit data.csv --target y --radius 0.1 --folds 0 --json {road}"
    assert main(command.split()) in (0, 3)
    told = capsys.readouterr()
    names = [one["name"] for one in json.loads(told.out)["data"]["features"]]
    assert names == (["a"] if "--errors" in road else ["a", "a_err"])
    assert SENTENCE in told.err


def test_a_table_of_columns_without_names_has_no_features(write):
    write(",,,y", range(4))
    sentence = "has no column left to be a feature; name '#1', '#2' and '#3' in its"
    with pytest.raises(DataError, match=re.escape(sentence)):
        open_data("data.csv", "y")


def test_a_column_without_a_name_may_be_asked_for(write):
    write("a,,,y", range(4))
    (chunk,) = open_data("data.csv", "y", columns=["#3", "a"]).chunks()
    np.testing.assert_array_equal(chunk.X, [[0, 1], [1, 2], [2, 4], [3, 3]])
