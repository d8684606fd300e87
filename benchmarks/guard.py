"""A guard against slow decay: `make bench-guard`.

Seconds drift with the machine; counts hardly do. Five problems are solved and what they
took, in passes over the data and in kernel calls, is held against `guard.json`. More
than a twentieth, and one Newton step, above the stored value is a failure. That much is
left free because another BLAS rounds differently, which may cost a step (four kinds of
OpenBLAS kernels differ by 3 % at most on these problems); the same machine gives the
same counts every time. The tests, which must pass on any machine, allow twice the
stored value. `--update` stores what was counted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.bench.counting import counting
from benchmarks.datasets import breast_cancer, spambase, tall, wide
from wideberth import path, solve

__all__ = ["PROBLEMS", "STORED", "complaints", "count", "gains"]

STORED = Path(__file__).parent / "guard.json"
#: Share by which a count may grow, from one kind of BLAS kernels to another.
_SHARE = 0.05
#: Kernel calls of one Newton step.
_STEP = 6


def _breast_cancer():
    X, y = breast_cancer.load()
    solve(X, y, radius=0.05, solver="newton", fit_intercept=False)
    return len(y), {}


def _spambase_path():
    X, y = spambase.load()
    path(X, y, Cs=10, radii=[0.02], random_state=0, fit_intercept=False)
    return len(y), {}


def _tall():
    X, y = tall.load(n=60_000, d=20)
    solve(X, y, radius=0.05, solver="newton", random_state=0, fit_intercept=False)
    return len(y), {}


def _text():
    X, y = wide.load(n=3_000, d=10_000)
    solve(X, y, solver="coordinate", random_state=0, fit_intercept=False)
    return len(y), {}


def _chunks():
    X, y = tall.load(n=60_000, d=20)
    parts = zip(np.array_split(X, 6), np.array_split(y, 6), strict=True)
    found = solve(
        list(parts), C=0.01, radius=0.05, tol=1e-4, random_state=0, fit_intercept=False
    )
    return len(y), {"reads": found.passes}


#: Each returns the rows of its data, and counts of its own.
PROBLEMS: dict[str, Callable[[], tuple[int, dict]]] = {
    "breast cancer, newton, radius 0.05": _breast_cancer,
    "spambase, path of 10, radius 0.02": _spambase_path,
    "tall 60 000×20, newton, radius 0.05": _tall,
    "text 3 000×10 000, coordinate, radius 0": _text,
    "tall 60 000×20, six chunks, radius 0.05": _chunks,
}


def count() -> dict[str, dict[str, float]]:
    """Passes and kernel calls of every problem."""
    found = {}
    for name, run in PROBLEMS.items():
        with threadpool_limits(1), counting() as counts:
            n, more = run()
        passes = round(counts.passes(n), 2)
        found[name] = {"passes": passes, "calls": counts.calls, **more}
    return found


def complaints(found: dict, stored: dict, share: float = _SHARE) -> list[str]:
    """A sentence for every count that grew by more than `share`, or is not stored."""
    said = [
        f"{name}: nothing is stored; run `make bench-guard-update`."
        for name in found.keys() - stored.keys()
    ]
    for name, what, now, before, most in _compared(found, stored, share):
        if not now <= most:
            said.append(
                f"{name}: {what} grew from {before:g} to {now:g}, more than the "
                f"{most:.4g} allowed. Find out why, or store the new count by "
                "`make bench-guard-update`."
            )
    return said


def gains(found: dict, stored: dict) -> list[str]:
    """A sentence for every count that fell so far that the guard has grown loose."""
    return [
        f"{name}: {what} fell from {before:g} to {now:g}; `make bench-guard-update` "
        "keeps it there."
        for name, what, now, before, most in _compared(found, stored, _SHARE)
        if now < 2 * before - most
    ]


def _compared(found: dict, stored: dict, share: float):
    for name in found.keys() & stored.keys():
        before = stored[name]
        factor = 1 + share + _STEP / before["calls"]
        for what, value in before.items():
            yield name, what, found[name][what], value, factor * value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="store what is counted")
    options = parser.parse_args()
    found = count()
    for name, counts in found.items():
        text = "".join(f"{value:10g} {what}" for what, value in counts.items())
        print(f"{name:42s}{text}")
    if options.update:
        STORED.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        return 0
    stored = json.loads(STORED.read_text())
    for sentence in gains(found, stored):
        print(sentence)
    bad = complaints(found, stored)
    for sentence in bad:
        print(sentence, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
