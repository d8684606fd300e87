"""Names of columns: whatever is made only when asked for, a list says the same."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wideberth import RobustLinearSVC
from wideberth.data import Format, Request, open_data, open_reader
from wideberth.data.names import Names

NUMBERS = st.sets(st.integers(0, 12)).map(lambda some: np.array(sorted(some), int))
RANGES = st.builds(lambda start, d: range(start, start + d), *[st.integers(0, 6)] * 2)
GIVEN = st.lists(st.sampled_from(["label", "a", "é", "x", "x01", "x+1"]), unique=True)
NUMBERED = st.builds(Names, numbers=NUMBERS | RANGES)
NAMES = st.builds(Names, GIVEN, NUMBERS | RANGES)
ASKED = st.sampled_from(["label", "a", "b", "", "x", "x0", "x1", "x3", "x03", "x99"])


@given(NAMES, st.lists(ASKED))
def test_names_are_as_a_list_of_them(names, asked):
    plain = list(names)
    assert names == plain
    assert plain == [*names.given, *(f"x{k}" for k in names.numbers)]
    assert len(names) == len(plain)
    assert [names[k] for k in range(-len(plain), len(plain))] == 2 * plain
    assert names[1:] == tuple(plain[1:])
    assert [name in names for name in asked] == [name in plain for name in asked]
    assert names.without(asked) == [name for name in plain if name not in asked]


@given(NAMES | NUMBERED, NAMES | NUMBERED | st.lists(ASKED))
@example(Names(numbers=range(3)), Names(numbers=range(1, 4)))
@example(Names(numbers=np.array([2, 5])), Names(numbers=range(7)))
@example(Names(numbers=range(1, 3)), Names(numbers=range(1, 6)))
@example(Names(), Names(numbers=np.array([1, 3])))
def test_names_are_found_where_a_list_has_them(names, wanted):
    plain = list(names)
    found = np.minimum(names.places(wanted), len(names))
    expected = [plain.index(n) if n in plain else len(plain) for n in wanted]
    np.testing.assert_array_equal(found, expected)


def test_other_things_are_no_names():
    names = Names(["a"], range(1, 4))
    assert 1 not in names
    assert None not in names
    assert names != ["a"]
    assert names != 1
    with pytest.raises(IndexError):
        names[4]


@pytest.fixture
def wide(tmp_path):
    """A file of three rows, with features up to number 2²⁴."""
    path = tmp_path / "wide.svm"
    path.write_text("1 7:1 16777216:2\n-1 7:3\n1 3:1\n")
    return path


def test_features_that_are_numbers_are_not_named_unless_somebody_asks(
    wide, monkeypatch
):
    def refuse(self):
        raise AssertionError("all names are made")

    monkeypatch.setattr(Names, "__iter__", refuse)
    source = open_data(wide, memory="8GB")
    (chunk,) = source.chunks()
    assert chunk.X.shape == (3, source.d) == (3, 2**24)
    np.testing.assert_array_equal(chunk.X.indices, [6, 2**24 - 1, 6, 2])
    assert [y.tolist() for y, _ in source.labels()] == [[1, -1, 1]]
    reader = open_reader(wide, Format(), 8 << 30)
    plan = reader.plan(Request(("label",), ("x16777216",), ("x3", "x5")))
    assert len(plan.features) == 2**24 - 3
    assert plan.features[0] == "x1"
    assert plan.features[-1] == "x16777215"
    (table,) = reader.tables(plan, 1 << 20)
    assert table.X.shape == (3, 2**24 - 3)
    np.testing.assert_array_equal(table.X.indices, [4, 4])
    np.testing.assert_array_equal(table.numbers["x16777216"], [2, 0, 0])


def test_a_model_of_more_features_than_a_file_finds_zeros(wide):
    few = wide.with_name("few.svm")
    few.write_text("1 2:1\n-1 1:3\n1 3:1\n")
    X = np.array([[0.0, 1, 0, 0], [3, 0, 0, 0], [0, 0, 1, 0]])
    model = RobustLinearSVC().fit(X, [1, -1, 1])
    expected = model.decision_function(X)
    np.testing.assert_allclose(model.decision_function(few), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="features up to number 16777216, and the"):
        model.predict(wide)
