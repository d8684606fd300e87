"""Full disks, read-only places and no home: said in a sentence, or done without."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import wideberth
from commands import EXECUTABLE, as_csv, two_classes
from trouble import TESTS, check, child, unshared

#: Takes a limit on the size of files, if one is given, and becomes the command.
_LIMITED = """
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])
"""
_COMMANDS = {
    "model": "fit data.csv --target state --radius 0.2 --folds 0 --force --out model.wideberth",
    "report": "fit data.csv --target state --radius 0.2 --folds 2 --force --report r.html",
    "model and report": "fit data.csv --target state --radius 0.2 --folds 2 --force "
    "--out model.wideberth --report r.html",
    "predictions": "predict model.wideberth data.csv --scores --force --out p.csv",
    "certificates": "certify model.wideberth data.csv --force --out p.csv --curve c.csv",
}


def _prepare(folder: Path) -> dict[str, bytes]:
    """A folder with data, and results of an earlier day."""
    X, y = two_classes(400)
    (folder / "data.csv").write_text(as_csv(X, y))
    start = "fit data.csv --target state --radius 0.1 --folds 0 --out model.wideberth --report r.html"
    subprocess.run(
        [*EXECUTABLE, *start.split()], cwd=folder, check=True, capture_output=True
    )
    for name in ("p.csv", "c.csv"):
        (folder / name).write_text("of an earlier day\n")
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def _must_refuse(command: list, folder: Path, before: dict, words: str) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1, (command, done)
    assert done.stderr.count("\n") == 1, done.stderr
    assert words in done.stderr, done.stderr
    after = {
        file.name: file.read_bytes() for file in folder.iterdir() if file.name in before
    }
    assert after == before, "an old file has changed"


@check(tries=2)
def files_that_may_not_grow(tries: int) -> str:
    """A limit on the size of files stands for a disk that fills up while writing."""
    count = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        before = _prepare(folder)
        for words in _COMMANDS.values():
            for size in (100, 200)[:tries]:
                command = [
                    sys.executable,
                    "-c",
                    _LIMITED,
                    str(size),
                    *EXECUTABLE,
                    *words.split(),
                ]
                _must_refuse(
                    command, folder, before, "cannot be written: File too large."
                )
                assert len(list(folder.iterdir())) == len(before), (
                    "a temporary file is left"
                )
                count += 1
    return f"{count} results refused, {len(before)} old files intact"


#: Solves, draws, and prints what it found.
_EVERYTHING = """
import os, sys, hashlib
sys.path.insert(0, os.environ["PYTHONPATH"])
import numpy as np
from wideberth import solve
from wideberth.cli import main
from commands import as_csv, two_classes
X, y = two_classes(60)
found = solve(X, np.where(y == "sick", 1, -1), solver="coordinate", random_state=0)
folder = sys.argv[1]
open(f"{folder}/data.csv", "w").write(as_csv(X, y))
code = main(["fit", f"{folder}/data.csv", "--target", "state", "--radius", "0.1",
             "--out", f"{folder}/m.wideberth", "--report", f"{folder}/r.html", "--force"])
assert code == 0, code
assert os.path.getsize(f"{folder}/r.html") > 10_000
print("answer", hashlib.sha256(found.w.tobytes()).hexdigest())
"""


def answer(folder: str, wrap=(), **env) -> str:
    out = child(_EVERYTHING, folder, wrap=wrap, env=env, cwd=folder)
    return out.split("answer ")[1].strip()


@check(tries=1)
def no_home_and_nowhere_to_write(tries: int) -> str:
    """No HOME, one that does not exist, one that is read-only; the package read-only."""
    package = Path(wideberth.__file__).parent
    site = Path(sys.executable).parents[1]
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        work = Path(place) / "work"
        home.mkdir(), work.mkdir()
        usual = answer(str(work))
        frozen = [
            f"mount --bind {path} {path} && mount -o remount,ro,bind {path}"
            for path in (package, site, TESTS, home, Path.home())
        ]
        nowhere = {
            "XDG_CACHE_HOME": None,
            "XDG_CONFIG_HOME": None,
            "MPLCONFIGDIR": None,
        }
        situations = {
            "no HOME": ((), {"HOME": None}),
            "HOME does not exist": ((), {"HOME": f"{place}/none"}),
            "HOME read-only": (unshared(*frozen), {"HOME": str(home)}),
            "no HOME, all read-only": (unshared(*frozen), {"HOME": None}),
        }
        for name, (wrap, env) in situations.items():
            assert answer(str(work), wrap, **nowhere | env) == usual, name
        assert os.listdir(home) == []
    return f"the same answers in {len(situations)} situations"
