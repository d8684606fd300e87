"""The installed executable, and tables to give to it."""

import csv
import io
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

EXECUTABLE = Path(sys.executable).with_name("wideberth")


def run(command, *more, stdin=None, folder=None, code=0):
    """Run `wideberth command` and require its exit code; return what it printed."""
    done = subprocess.run(
        [EXECUTABLE, *shlex.split(command), *map(str, more)],
        input=stdin,
        cwd=folder,
        capture_output=True,
        text=not isinstance(stdin, bytes),
        timeout=120,
    )
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    if code != 0:
        assert "Traceback" not in str(done.stderr)
    return done


def two_classes(n=90, seed=0):
    """Noisy rows of two overlapping classes: X, labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 3)) * [1, 2, 10] + y[:, None] * [2, 2, 0]
    return X.round(3), np.where(y == 1, "sick", "well")


def as_csv(X, y, names=("mass", "temp", "size"), target="state", **columns):
    """Write a CSV; further columns go between features and target."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*names, *columns, target])
    for i, row in enumerate(X):
        writer.writerow([*row, *(column[i] for column in columns.values()), y[i]])
    return stream.getvalue()


def read_csv(text):
    """Rows of a CSV as dicts."""
    return list(csv.DictReader(io.StringIO(text)))
