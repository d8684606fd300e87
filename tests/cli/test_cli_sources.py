"""Reading tables: exactly what is in them, or a sentence with row and column."""

import bz2
import csv
import gzip
import hashlib
import io
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import as_csv, two_classes
from wideberth.data import DataError, Format, Request, open_table
from wideberth.data.delimited import quotes_are_right
from wideberth.data.files import MISSING
from wideberth.data.table import gap_codes

X, Y = two_classes(12)
NAMES = ("x1", "x2", "x3")
WITH_TARGET = Request(texts=("y",))


def read(path, request=WITH_TARGET, **form):
    return open_table(str(path), request, Format(**form))[0]


def complaint(tmp_path, content, request=WITH_TARGET, name="data.csv", **form):
    """What reading some content ends with."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        read(path, request, **form)
    return str(caught.value).removeprefix(str(path))


def test_every_format_holds_the_same_table(tmp_path):
    y = np.where(Y == "sick", 1, 2)
    text = as_csv(X, y, NAMES, "y")
    files = {
        "a.csv": text.encode(),
        "a.tsv": text.replace(",", "\t").encode(),
        "european.csv": text.replace(",", ";").replace(".", ",").encode(),
        "blanks.dat": text.replace(",", "  ").encode(),
        "utf16.csv": text.encode("utf-16"),
        "marked.csv": text.encode("utf-8-sig"),
        "a.csv.gz": gzip.compress(text.encode()),
        "a.csv.bz2": bz2.compress(text.encode()),
        "a.csv.xz": lzma.compress(text.encode()),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    columns = {name: X[:, j] for j, name in enumerate(NAMES)} | {"y": y}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    (tmp_path / "folder").mkdir()
    pq.write_table(pa.table(columns).slice(0, 5), tmp_path / "folder/1.parquet")
    pq.write_table(pa.table(columns).slice(5), tmp_path / "folder/2.parquet")
    for name in (*files, "a.parquet", "folder"):
        table = read(tmp_path / name)
        assert table.names == NAMES, name
        np.testing.assert_array_equal(table.X, X, err_msg=name)
        assert table.texts["y"].tolist() == [str(label) for label in y], name


def test_libsvm_is_sparse_and_numbers_its_features(tmp_path):
    (tmp_path / "a.svm").write_text("+1 1:0.5 3:2e1 # note\n\n-1 2:-1\n1.0\n")
    table = read(tmp_path / "a.svm", Request(texts=("label",)))
    assert table.names == NAMES
    assert table.texts["label"].tolist() == ["1", "-1", "1"]
    np.testing.assert_array_equal(
        table.X.toarray(), [[0.5, 0, 20], [0, -1, 0], [0, 0, 0]]
    )
    # A model finds its features by name; those that do not occur are zero.
    table = read(tmp_path / "a.svm", Request(features=("x3", "x9")))
    np.testing.assert_array_equal(table.X.toarray(), [[20, 0], [0, 0], [0, 0]])


numbers = st.floats(allow_nan=False, allow_infinity=False)


def is_word(text):
    return text.lower() not in MISSING


words = st.text(
    st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=8
)
words = words.map(str.strip).filter(is_word)


@settings(max_examples=120)
@given(
    st.lists(st.tuples(numbers, st.none() | numbers, words), min_size=1, max_size=6),
    st.lists(words, min_size=3, max_size=3, unique=True),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([".", ","]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_written_is_read_back(
    tmp_path_factory, rows, names, delimiter, sign, quoting, end
):
    def shown(value):
        return "" if value is None else repr(value).replace(".", sign)

    stream = io.StringIO()
    writer = csv.writer(
        stream, delimiter=delimiter, quoting=quoting, lineterminator=end
    )
    names[0] = "f" + names[0]  # a header of numbers alone is refused
    writer.writerow(names)
    writer.writerows([shown(a), shown(b), word] for a, b, word in rows)
    path = tmp_path_factory.getbasetemp() / "round.csv"
    path.write_bytes(stream.getvalue().encode())
    if len(set(names)) < 3:
        return
    request = Request(texts=(names[2],))
    table = read(path, request, delimiter=delimiter, decimal=sign)
    expected = np.array([[a, np.nan if b is None else b] for a, b, _ in rows])
    np.testing.assert_array_equal(table.X, expected)
    assert table.texts[names[2]].tolist() == [word for *_, word in rows]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a,y\n1,p\n2x,q\n", ", row 2 (line 3), column 'a' holds '2x', which is not a finite number"),
        ("a,y\n1,p\ninf,q\n", ", row 2 (line 3), column 'a' is infinite"),
        ("a,y\n1,p\n1_000,q\n", "column 'a' holds '1_000'"),
        ("a,y\n1,p\n-,q\n", "if it means a missing value, add --read na='-'"),
        ("a,b,y\n1,u,p\n", ": column 'b' holds text (row 1, line 2: 'u')"),
        ("a,b,y\n1,2,p\n1,p\n", ", row 2 (line 3) has 2 cells where the first line has 3"),
        ("1,2,3\n4,5,6\n", "add --read header=no"),
        ("", " is empty."),
        ("a,y\n", "has a header but no rows"),
        ("a,y", "has a header but no rows"),
        ("a\tb\ty\n1\t2\tp\n\t\n", ", row 2 (line 3) has 2 cells where the first line has 3"),
        ('a,y\n1,p\n2,"q\n3,p\n4,q\n', ", line 5: a cell starts with a quote that is never closed."),
        ('a,y\n1,5"\n2,"q\n3,p\n4,q\n', ", line 5: a cell starts with a quote that is never closed."),
        ('a,y\n"1,p\n', ", line 2: "),
        ('#"a"b,y\n1,"p"q\n', ", line 2: "),
        ('a,y\n1,p\n"2"3,q\n', ", line 3: "),
        ("a;y\n1,234;p\n", ", row 1 (line 2), column 'a' holds '1,234'. If that means 1.234, add --read decimal="),
        ('a,y\n"3,915.6",p\n7.5,q\n', ", row 1 (line 2), column 'a' holds '3,915.6', which has thousands separators"),
        ("a;b;y\n1;2;p\n1;-1.234.567,8;q\n", "row 2 (line 3), column 'b' holds '-1.234.567,8', which has thousands separators"),
        ("a;b;y\n0,5;2.5;p\n", "'2.5' but row 1 (line 2), column 'a' holds '0,5'"),
        (b"a,y\n1,p\n2,\xe9\n", ", row 2 (line 3), column 'y' is not UTF-8 text"),
        (b"\xe9,y\n1,p\n", ", line 1 is not UTF-8 text"),
        (b"a,b,y\n1,2,p\n\xe9,q\n", ", row 2 (line 3) has 2 cells where the first line has 3"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is not a text table"),
        ("a,b\n1,p\n", " has no column 'y'; its columns are 'a' and 'b'."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_csv_is_said_with_row_and_column(
    tmp_path, content, sentence
):
    told = complaint(tmp_path, content)
    assert sentence in told
    assert "\n" not in told


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sign", [b",", b" "])
def test_bytes_that_are_not_text_may_stand_in_comments_and_unread_columns(
    tmp_path, sign
):
    text = b"a,y,b\n1,p,\xe9\n# caf\xe9\n2,q,\xff\n"
    (tmp_path / "d.csv").write_bytes(text.replace(b",", sign))
    request = Request(texts=("y",), features=("a",))
    table = read(tmp_path / "d.csv", request, delimiter=sign.decode())
    np.testing.assert_array_equal(table.X[:, 0], [1, 2])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("content", "values", "labels"),
    [
        ("a\n1\n \n2\n\n3", [1, np.nan, 2, 3], None),
        ("a,y\n1,p\n \n2,q\n\n3,p", [1, 2, 3], ["p", "q", "p"]),
        ('a,y\n1,5"\n2,3 "x"\n3,p', [1, 2, 3], ['5"', '3 "x"', "p"]),
        ('"a","y"\n"1","p, ""q"""\n2,"q\n"', [1, 2], ['p, "q"', "q"]),
    ],
)
def test_blank_lines_and_quotes_are_the_same_in_every_encoding(
    tmp_path, content, values, labels, encoding
):
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode(encoding))
    table = read(path, Request(() if labels is None else ("y",)))
    np.testing.assert_array_equal(table.X[:, 0], values)
    assert labels is None or table.texts["y"].tolist() == labels


@given(st.text(',;"\na', max_size=30), st.integers(0, 30))
def test_quotes_that_pyarrow_would_misread_are_noticed(text, cut):
    data = text.encode()
    right = quotes_are_right(io.BytesIO(data), ",")
    assert quotes_are_right(io.BytesIO(data), ",", max(cut, 1)) == right
    try:
        list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        assert not right


def test_a_pair_of_quotes_alone_is_a_row(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text('a\n""\n1\nq\n')
    with pytest.raises(DataError, match=r"row 3 \(line 4\), column 'a' holds 'q'"):
        read(path, Request())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("1 1:2\n1 2:3 2:4\n", ", row 2 (line 2), index 2 comes after 2"),
        ("1 1:2\n\n1 x:3\n", ", row 2 (line 3) holds 'x:3', which is not index:value"),
        ("1 1:2\n1 1:nan\n", ", row 2 (line 2), column x1 holds 'nan'"),
        ("1 99999999999:2\n", "is not index:value with a whole index"),
        ("", " holds no rows"),
    ],
)
def test_what_is_wrong_with_a_libsvm_file_is_said(tmp_path, content, sentence):
    request = Request(texts=("label",), features=None)
    assert sentence in complaint(tmp_path, content, request, "data.svm")


def test_what_is_wrong_with_other_files_is_said(tmp_path):
    assert "is not a readable Parquet file" in complaint(
        tmp_path, b"PAR1", name="a.parquet"
    )
    assert "cannot be decompressed" in complaint(
        tmp_path, gzip.compress(b"a,y\n1,p")[:-9], name="a.csv.gz"
    )
    assert "the name does not tell the format" in complaint(
        tmp_path, "a,y", name="a.xlsx"
    )
    table = pa.table({"a": [1.0, np.inf], "b": ["u", "v"], "y": [1, 2]})
    pq.write_table(table, tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    assert "column 'b' holds text" in complaint(tmp_path, content, name="a.parquet")
    request = Request(texts=("y",), dropped=("b",))
    assert ", row 2, column 'a' is infinite" in complaint(
        tmp_path, content, request, "a.parquet"
    )


def test_nameless_empty_columns_are_no_features(tmp_path):
    (tmp_path / "a.csv").write_text("a,y,\n1,p,\n2,q,\n")
    assert read(tmp_path / "a.csv").names == ("a",)


def test_signs_of_missing_values_can_be_added(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n1,p\n-999,q\n")
    table = read(tmp_path / "a.csv", missing=frozenset(["-999"]))
    np.testing.assert_array_equal(table.X, [[1], [np.nan]])


@pytest.mark.parametrize("row", [0, 250])
@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (" 7 ", 7),
        ("Na", np.nan),
        ("", np.nan),
        ("\u22125", -5),
        ('"3"', 3),
        ("2,5", 2.5),
    ],
)
def test_odd_cells_are_read_wherever_they_stand(tmp_path, row, cell, value):
    cells = ["1"] * 300
    cells[row] = cell
    lines = [f"{cell};p" for cell in cells]
    (tmp_path / "a.csv").write_text("\n".join(["a;y", *lines]), encoding="utf-8")
    expected = np.ones((300, 1))
    expected[row] = value
    np.testing.assert_array_equal(read(tmp_path / "a.csv").X, expected)


@pytest.mark.parametrize(
    "text",
    [
        "# measured in May\n#\na b y\n1 2 p\n3 4 q\n",
        "# measured in May\n# a b y\n1 2 p\n3 4 q\n",
        "a,b,y\n1,2,p\n# 'noon', a pause\n3,4,q\n# end\n",
        "\n#a;b;y\n1;2;p\n3;4;q\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lines_of_comments_are_no_rows(tmp_path, text, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode(encoding))
    request = Request(texts=("y",))
    if "#a;" in text:  # a header that fits as it stands is taken as it stands
        assert read(path, request).names == ("#a", "b")
    else:
        assert read(path, request).names == ("a", "b")
    assert read(path, request).X.tolist() == [[1, 2], [3, 4]]
    assert read(path, request).texts["y"].tolist() == ["p", "q"]


def test_rows_that_start_like_comments_are_rows(tmp_path):
    path = tmp_path / "a.csv"
    colours = "".join(f"#ff00{k:02x},{k},p\n" for k in range(80))
    request = Request(texts=("1", "3"))
    path.write_text(f"# made by hand\n{colours}\n5,5,q\n")
    assert read(path, request, header=False).X[:, 0].tolist() == [*range(80), 5]
    path.write_text(f"#rgb,x,y\n{colours}")
    table = read(path, Request(texts=("#rgb", "y")))
    assert table.X[:, 0].tolist() == list(range(80))
    assert table.texts["#rgb"][79] == "#ff004f"


def test_many_lines_of_comments_stand_above_a_table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("# a long story, of nothing\n" * 99 + "a b y\n1 2 p\n3 4 q\n")
    assert read(path).X.tolist() == [[1, 2], [3, 4]]


def test_errors_below_comments_tell_the_line(tmp_path):
    told = complaint(tmp_path, "# one\n# two\na,y\n1,p\n# three, four, five\nx,q\n")
    assert "row 2 (line 6), column 'a' holds 'x'" in told


def test_columns_of_the_same_name_are_numbered(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,a,y,a.1\n1,2,3,p,4\n5,6,7,q,8\n")
    table, reader = open_table(str(path), WITH_TARGET, Format())
    assert table.names == ("a.2", "b", "a.3", "a.1")
    assert table.X.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert "called 'a'; they are read as 'a.2' and 'a.3'" in reader.remarks[0]
    assert "no column 'a'" in complaint(tmp_path, "a,b,a\n1,2,3\n", Request(("a",)))


def test_a_file_of_data_has_no_names(tmp_path):
    content = b"5.1, 3.5, setosa\n4.9, ?, setosa\n\n"
    for name, stored in (("a.data", content), ("a.data.gz", gzip.compress(content))):
        (tmp_path / name).write_bytes(stored)
        table = read(tmp_path / name, Request(texts=("3",)))
        assert table.names == ("1", "2")
        np.testing.assert_array_equal(table.X, [[5.1, 3.5], [4.9, np.nan]])
    told = complaint(tmp_path, "39, State-gov, 13, <=50K\n", Request(("4",)), "b.data")
    assert "column '2' holds text" in told
    assert "--one-hot auto" in told
    (tmp_path / "named.data").write_text("a,b,y\n1,2,p\n")
    assert read(tmp_path / "named.data").names == ("a", "b")


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["01/02/1970", "01/31/1970"], [1, 30]),
        (["01/02/1970", "31/01/1970"], [31, 30]),
        (["1/2/1970 12:00", "", "12/31/1969"], [1.5, np.nan, -1]),
    ],
)
def test_slashes_are_read_as_the_column_shows(tmp_path, cells, days):
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["a,y", *(f"{cell},p" for cell in cells)]))
    table = read(path, Request(("y",), dates=("a",)))
    np.testing.assert_array_equal(table.X[:, 0], days)


def test_slashes_that_may_be_either_are_refused(tmp_path):
    dates = Request(("y",), dates=("a",))
    told = complaint(tmp_path, "a,y\n01/02/2024,p\n03/04/2024,q\n", dates)
    assert "row 1 (line 2), column 'a': '01/02/2024' does not say whether the" in told
    told = complaint(tmp_path, "a,y\n01/31/2024,p\n31/01/2024,q\n", dates)
    assert "row 2 (line 3), column 'a': '31/01/2024'" in told
    assert "--read dates=a" in complaint(tmp_path, "a,y\n01/31/2024,p\n")


LIMITS = "a,b,y\n<0.5,1,p\n2,>= 1e2,q\n< .25,,p\n3,5,q\n"


def test_limits_of_detection_are_refused_unless_asked_for(tmp_path):
    told = complaint(tmp_path, LIMITS)
    assert "2 cells of 'a' are limits of detection such as '<0.5'" in told
    assert "(first: row 1, line 2); --limits reads them." in told
    told = complaint(tmp_path, LIMITS, Request(("y",), limits=("a",)))
    assert "1 cell of 'b' is a limit of detection such as '>= 1e2'" in told
    assert "of 'a'" not in told
    told = complaint(tmp_path, LIMITS, Request(("y",), limits=("c",)))
    assert "no column 'c'" in told
    told = complaint(tmp_path, "a,y\n<0.5,p\n<x,q\n", Request(("y",), limits=True))
    assert "column 'a' holds text (row 2, line 3: '<x')" in told
    told = complaint(tmp_path, "a,b,y\n1,<0.5,p\nx,2,q\n")
    assert "column 'a' holds 'x', which is not" in told
    assert told.endswith("'<0.5' (first: row 1, line 2); --limits reads it.")


@pytest.mark.parametrize("sign", [".", ","])
@pytest.mark.parametrize("rows", [1, 100_000])
def test_limits_of_detection_are_bounds(tmp_path, sign, rows):
    # In a table of many batches some hold no limits.
    path, (head, *lines) = tmp_path / "a.csv", LIMITS.splitlines()
    text = "\n".join([head, *["7,0.5,p"] * rows, *lines])
    path.write_text(text.replace(",", ";").replace(".", sign))
    table = read(path, Request(("y",), limits=True))
    nan, inf = np.nan, np.inf
    expected = [[nan, 1], [2, nan], [nan, nan], [3, 5]]
    np.testing.assert_array_equal(table.X[rows:], expected)
    np.testing.assert_array_equal(table.X[:rows], [[7, 0.5]] * rows)
    for name, low, high in (
        ("a", [-inf, nan, -inf, nan], [0.5, nan, 0.25, nan]),
        ("b", [nan, 100, nan, nan], [nan, inf, nan, nan]),
    ):
        for bounds, ends in zip(table.bounds[name], (low, high), strict=True):
            np.testing.assert_array_equal(bounds[rows:], ends)
            assert np.isnan(bounds[:rows]).all()
            assert bounds.shape == (table.n,)


def test_numbers_that_look_like_gaps_are_remarked_upon(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"{k % 7},{k % 9},{-999 if k % 5 == 0 else k % 3},p" for k in range(90)]
    path.write_text("\n".join(["a,b,c,y", *rows, "99,99,1,q", "9999,55,2,q"]))
    table, reader = open_table(str(path), WITH_TARGET, Format())
    told = gap_codes(table, reader)
    assert len(told) == 2
    assert "column 'a' holds 9999 in 1 row, far from all" in told[0]
    assert "column 'c' holds -999 in 18 rows" in told[1]
    assert all("add --read na=9999 na=-999, written" in one for one in told)


def test_a_file_is_known_by_its_sha256(tmp_path):
    content = as_csv(X, Y, NAMES, "y").encode()
    for name in ("a.csv", "a.csv.gz"):
        data = gzip.compress(content) if name.endswith("gz") else content
        (tmp_path / name).write_bytes(data)
        _, source = open_table(str(tmp_path / name), WITH_TARGET, Format())
        assert source.digest() == hashlib.sha256(data).hexdigest()
