"""Names of the features of LIBSVM files, which are their numbers."""

import numpy as np
import pytest

from wideberth import RobustLinearSVC
from wideberth.data import Format, Request, open_data
from wideberth.data.opening import open_reader


@pytest.fixture
def wide(tmp_path):
    """A file of three rows, with features up to number 2²⁰."""
    path = tmp_path / "wide.svm"
    path.write_text("1 7:1 1048576:2\n-1 7:3\n1 3:1\n")
    return path


def test_features_go_by_their_numbers(wide):
    source = open_data(wide, memory="8GB")
    (chunk,) = source.chunks()
    assert chunk.X.shape == (3, source.d) == (3, 2**20)
    np.testing.assert_array_equal(chunk.X.indices, [6, 2**20 - 1, 6, 2])
    assert [y.tolist() for y, _ in source.labels()] == [[1, -1, 1]]
    reader = open_reader(wide, Format(), 8 << 30)
    plan = reader.plan(Request(("label",), ("x1048576",), ("x3", "x5")))
    assert len(plan.features) == 2**20 - 3
    assert plan.features[0] == "x1"
    assert plan.features[-1] == "x1048575"
    (table,) = reader.tables(plan, 1 << 20)
    assert table.X.shape == (3, 2**20 - 3)
    np.testing.assert_array_equal(table.X.indices, [4, 4])
    np.testing.assert_array_equal(table.numbers["x1048576"], [2, 0, 0])


def test_few_bytes_cannot_ask_for_millions_of_names(wide):
    wide.write_text("1 7:1 2147483647:2\n-1 7:3\n1 3:1\n")
    reader = open_reader(wide, Format())
    assert reader.features == ("x3", "x7", "x2147483647")
    wanted = reader.plan(Request(features=("x7", "x8", "x2147483647")))
    np.testing.assert_array_equal(
        reader.read(wanted).X.toarray(), [[1, 0, 2], [3, 0, 0], [0, 0, 0]]
    )
    with pytest.raises(ValueError, match="features up to number 2147483647; a vector"):
        open_data(wide, memory="8GB")


def test_a_model_of_more_features_than_a_file_finds_zeros(wide):
    few = wide.with_name("few.svm")
    few.write_text("1 2:1\n-1 1:3\n1 3:1\n")
    X = np.array([[0.0, 1, 0, 0], [3, 0, 0, 0], [0, 0, 1, 0]])
    model = RobustLinearSVC().fit(X, [1, -1, 1])
    expected = model.decision_function(X)
    np.testing.assert_allclose(model.decision_function(few), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="features up to number 1048576, and the"):
        model.predict(wide)
