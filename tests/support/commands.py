"""Commands, in a process of their own or in this one, and tables to give to them."""

import csv
import io
import os
import shlex
import subprocess
import sys
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from unittest import mock

import numpy as np

from wideberth.cli import fit as fit_command
from wideberth.cli import main
from wideberth.cli.model_file import dumps, loads
from wideberth.cli.result import FitResult

EXECUTABLE = (sys.executable, "-m", "wideberth")


def execute(command, *more, stdin=None, folder=None, code=0):
    """Run the installed executable and require its exit code; return what it printed."""
    done = subprocess.run(
        [*EXECUTABLE, *_words(command, more)],
        input=stdin,
        cwd=folder,
        capture_output=True,
        text=not isinstance(stdin, bytes),
        timeout=120,
    )
    return _as_expected(done, code)


def run(command, *more, stdin="", folder=os.curdir, code=0):
    """The same without starting Python anew, which takes seconds."""
    return _as_expected(here(_words(command, more), stdin, folder), code)


def here(words, stdin="", folder=os.curdir):
    """How `wideberth words` ends in this process, and what it prints."""
    given = stdin if isinstance(stdin, bytes) else stdin.encode()
    out, told = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n"), io.StringIO()

    def warn(message, category, filename, lineno, file=None, line=None):
        told.write(warnings.formatwarning(message, category, filename, lineno, line))

    with (
        chdir(folder),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given))),
        redirect_stdout(out),
        redirect_stderr(told),
        warnings.catch_warnings(),
    ):
        warnings.showwarning = warn
        try:
            code = main(words)
        except SystemExit as end:  # help, and what is wrong with the command line
            code = end.code
    out.flush()
    said = out.buffer.getvalue().decode("utf-8")
    return subprocess.CompletedProcess(words, code, said, told.getvalue())


def result_of(command, *more, folder=os.curdir):
    """The typed result of a fit, before it becomes JSON."""
    kept, real = [], fit_command.as_json
    keep = mock.patch.object(
        fit_command, "as_json", lambda r: kept.append(r) or real(r)
    )
    with keep:
        run(command, *more, "--json", folder=folder)
    return next(result for result in kept if isinstance(result, FitResult))


def _words(command, more):
    return [*shlex.split(command), *map(str, more)]


def _as_expected(done, code):
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    if code != 0:
        assert "Traceback" not in str(done.stderr)
    return done


def through_file(model):
    """A fitted model, written to a model file and read again."""
    return loads(dumps({"model": model}))["model"]


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
