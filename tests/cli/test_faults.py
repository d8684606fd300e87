"""What goes wrong around a fit costs nothing but that fit: a part of `make faults`."""

import errno
import os
import signal
import sys
from pathlib import Path

import pytest

import wideberth
from commands import as_csv, two_classes
from trouble import crowds, disks, interrupts
from wideberth.cli import main
from wideberth.data.files import uninterrupted, write_atomically
from wideberth_paper.store import Store

X, Y = two_classes(60)
#: Ctrl-C and permissions as Unix has them.
unix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such thing")


@unix
def test_interrupts_leave_models_files_and_threads_as_they_were():
    kinds = "fit,coordinate,path,search,file,text,dask"
    assert "interrupted" in interrupts.interrupt(kinds, tries=3)


def test_fits_in_threads_are_those_in_turn():
    assert "bit-equal" in crowds.fits_in_threads(1)


def test_no_home_is_needed(tmp_path):
    assert len(disks.answer(str(tmp_path), HOME=None, MPLCONFIGDIR=None)) == 64


# -- disks -------------------------------------------------------------------------------


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A folder with data and the results of an earlier fit; what is in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(as_csv(X, Y))
    assert main([*FIT, "--radius", "0.1"]) == 0
    return contents(tmp_path)


FIT = ["fit", "data.csv", "--target", "state", "--folds", "0", "--out", "m.wideberth",
       "--report", "r.html", "--force"]  # fmt: skip


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("fails", [1, 2])
@pytest.mark.parametrize("step", ["fsync", "open"])
def test_a_disk_that_is_full_leaves_both_old_files(
    tmp_path, monkeypatch, capsys, old, step, fails
):
    """Also if the first of two results has been written already."""
    real, count = getattr(os, step), []

    def full(*arguments):
        if step == "fsync" or ".wideberth-" in str(arguments[0]):
            count.append(1)
            if len(count) == fails:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments)

    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        assert main([*FIT, "--radius", "0.2"]) == 1
    name = ("m.wideberth", "r.html")[fails - 1]
    told = f"wideberth: {name} cannot be written: the disk is full.\n"
    assert capsys.readouterr().err == told
    assert contents(tmp_path) == old


def test_new_results_appear_together_or_not_at_all(tmp_path, monkeypatch, capsys, old):
    for name in ("m.wideberth", "r.html"):
        (tmp_path / name).unlink()
    real = os.replace

    def fail_once(source, target):
        if str(target).endswith("r.html"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(source, target)

    monkeypatch.setattr(os, "replace", fail_once)
    assert main([*FIT, "--radius", "0.2"]) == 1
    assert os.listdir(tmp_path) == ["data.csv"]


def test_ctrl_c_waits_for_steps_that_belong_together():
    steps = []

    def work():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            steps.append("after it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["after it"]


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(handle):
        raise KeyboardInterrupt

    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a", "new")
    assert contents(tmp_path) == {"a": b"old"}


@unix
def test_a_file_keeps_its_permissions_and_a_new_one_has_the_usual_ones(tmp_path):
    secret, new = tmp_path / "secret", tmp_path / "new"
    secret.touch(0o600)
    write_atomically(secret, "x")
    write_atomically(new, "x")
    plain = tmp_path / "plain"
    plain.write_text("x")
    assert secret.stat().st_mode & 0o777 == 0o600
    assert new.stat().st_mode == plain.stat().st_mode


def test_names_may_be_as_long_as_the_file_system_allows(tmp_path):
    name = "x" * 255
    write_atomically(tmp_path / name, "y")
    assert os.listdir(tmp_path) == [name]


def test_a_disk_that_fills_up_tears_no_line_of_a_reproduction(tmp_path, monkeypatch):
    store = Store(tmp_path, {})
    store.add("first", {"seconds": 1.0})
    real, room = os.write, [10]

    def short(handle, data):
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data[: room.pop()])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", short)
        with pytest.raises(OSError, match="No space"):
            store.add("second", {"seconds": 2.0})
    store.add("third", {"seconds": 3.0})
    assert set(Store(tmp_path, {}).results) == {"first", "third"}


# -- warnings ----------------------------------------------------------------------------


def test_the_library_leaves_the_filters_of_warnings_alone():
    """They belong to all threads: changed in one, they may be lost to all.

    Commands are programs of their own, and others are kept quiet in the main thread only.
    """
    package = Path(wideberth.__file__).parent
    users = {
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if "catch_warnings" in file.read_text(encoding="utf-8")
    }
    alone = {name for name in users if not name.startswith(("cli/", "paper/"))}
    assert alone == {"problem/arrays.py"}
