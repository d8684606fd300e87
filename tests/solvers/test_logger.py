"""What fits over chunks tell a logger."""

import numpy as np
import pytest

import wideberth
from wideberth import solve

OPTIONS = {"C": 0.1, "radius": 0.05, "tol": 1e-8, "random_state": 0, "quiet": True}


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 6))
    y = np.where(X[:, 0] + 1.5 * rng.normal(size=len(X)) > 0, 1, -1)
    return [(X[k : k + 4000], y[k : k + 4000]) for k in range(0, len(X), 4000)]


def test_a_fit_tells_the_logger_of_reads_and_gaps(parts, tmp_path, caplog, capfd):
    solve(parts, **OPTIONS)
    assert capfd.readouterr() == ("", "")
    with caplog.at_level("INFO", "wideberth"):
        found = solve(parts, **OPTIONS)
    said = [record.getMessage() for record in caplog.records]
    assert sum(text.startswith("read ") for text in said) == found.passes
    assert any("10 chunks" in text for text in said)
    assert any("after 2 reads: objective" in text and "gap" in text for text in said)
    assert {record.name.partition(".")[0] for record in caplog.records} == {"wideberth"}


def test_the_columns_taken_for_features_are_stated(tmp_path, caplog):
    (tmp_path / "a.csv").write_text("id,mass,size,y\n1,2,3,0\n2,1,5,1\n")
    with caplog.at_level("INFO", "wideberth"):
        source = wideberth.open_data(tmp_path / "a.csv", "y")
    assert "the features are 'id', 'mass' and 'size'" in caplog.text
    assert source.names == ["id", "mass", "size"]
    lines = "".join(f"{k},{k % 3},{k % 5},{k % 2}\n" for k in range(1, 50))
    (tmp_path / "a.csv").write_text("id,mass,size,y\n" + lines)
    with pytest.warns(UserWarning, match="'id' numbers the rows and is used") as said:
        solve(tmp_path / "a.csv", "y")
    assert sum(w.category is UserWarning for w in said) == 1
    assert "columns 'id', 'mass' and 'size'" in repr(source)
    caplog.clear()
    with caplog.at_level("INFO", "wideberth"):
        stated = wideberth.open_data(tmp_path / "a.csv", "y", columns=["mass", "size"])
    assert caplog.text == ""
    assert "2 features, columns 'mass' and 'size'" in repr(stated)
