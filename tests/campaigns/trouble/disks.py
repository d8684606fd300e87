"""Read-only places and no home: done without."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import wideberth
from trouble import TESTS, check, child, unshared

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
