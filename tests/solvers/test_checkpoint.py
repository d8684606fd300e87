"""Fits over chunks that are interrupted, and go on; what they tell a logger."""

import logging
import os

import numpy as np
import pytest

import wideberth
from wideberth import RobustLinearSVC, open_data, solve
from wideberth.data import DataError
from wideberth.solvers.chunks.checkpoint import Checkpoint

OPTIONS = {"C": 0.1, "radius": 0.05, "tol": 1e-8, "random_state": 0, "quiet": True}


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 6))
    y = np.where(X[:, 0] + 1.5 * rng.normal(size=len(X)) > 0, 1, -1)
    return [(X[k : k + 4000], y[k : k + 4000]) for k in range(0, len(X), 4000)]


def in_little_room(parts, monkeypatch):
    """Rows near the margin do not fit, so that it takes many reads."""
    source = open_data(parts)
    monkeypatch.setattr(source, "capacity", lambda *_: 1500)
    return source


@pytest.mark.parametrize("late", [0.3, 0.6])
def test_a_run_goes_on_where_another_was_stopped(parts, monkeypatch, tmp_path, late):
    whole = solve(in_little_room(parts, monkeypatch), **OPTIONS)
    assert whole.passes > 5
    path = tmp_path / "c.npz"

    def stop(entry):
        return entry["passes"] >= late * whole.passes

    source = in_little_room(parts, monkeypatch)
    cut = solve(source, checkpoint=path, callback=stop, **OPTIONS)
    assert not cut.converged
    assert path.exists()
    source = in_little_room(parts, monkeypatch)
    rest = solve(source, checkpoint=path, **OPTIONS)
    assert rest.converged
    assert rest.primal == pytest.approx(whole.primal, rel=2 * OPTIONS["tol"])
    assert rest.passes < whole.passes


def test_data_is_checked_where_a_run_goes_on_too(parts, monkeypatch, tmp_path):
    path = tmp_path / "c.npz"
    source = in_little_room(parts, monkeypatch)
    solve(source, checkpoint=path, callback=lambda e: e["passes"] > 2, **OPTIONS)
    X, y = parts[3]
    bad = X.copy()
    bad[7, 2] = np.nan
    broken = [*parts[:3], (bad, y), *parts[4:]]
    with pytest.raises(DataError, match=r"chunk 3: .*(NaN|nan|finite)"):
        solve(in_little_room(broken, monkeypatch), checkpoint=path, **OPTIONS)


def test_files_that_are_no_checkpoints_are_refused(parts, tmp_path):
    path = tmp_path / "c.npz"
    path.write_text("no")
    with pytest.raises(DataError, match="is no file that a fit on 6 features left"):
        solve(parts, checkpoint=path, **OPTIONS)
    np.savez(path, w=np.zeros(3))
    with pytest.raises(DataError, match="is no file that a fit on 6 features left"):
        solve(parts, checkpoint=path, **OPTIONS)
    with pytest.raises(ValueError, match="leave it out, or ramp"):
        solve(parts, checkpoint=tmp_path / "d.npz", ramp=-1.0, **OPTIONS)
    X, y = parts[0]
    with pytest.raises(ValueError, match="read in chunks; X is in memory"):
        solve(X, y, checkpoint=path)
    with pytest.raises(ValueError, match="read in chunks; X is in memory"):
        RobustLinearSVC(checkpoint=path).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_estimator_keeps_one_for_each_class_until_it_is_done(parts, tmp_path):
    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    data = open_data([(X, y + 3 * (X[:, 1] > 1))])
    data.capacity = lambda *_: 1500
    path = tmp_path / "c.npz"
    model = RobustLinearSVC(radius=0.1, checkpoint=path, random_state=0, max_iter=20)
    model.fit(data)
    assert not model.converged_.all()
    assert {"c.npz.0", "c.npz.1"} <= {*os.listdir(tmp_path)}
    model.set_params(max_iter=10_000, tol=1e-3).fit(data)
    assert model.converged_.all()
    assert os.listdir(tmp_path) == []
    assert Checkpoint(path).load(6) is None


def test_a_fit_tells_the_logger_of_reads_and_gaps(parts, tmp_path, caplog, capfd):
    solve(parts, **OPTIONS)
    assert capfd.readouterr() == ("", "")
    own = logging.getLogger("wideberth").handlers
    assert any(isinstance(handler, logging.NullHandler) for handler in own)
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
