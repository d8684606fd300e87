"""One cell of the benchmark: a solver on a problem, explored rung by rung.

A cell has its own process, so that a hang, a crash or a flood of memory costs it alone.
The ladder is climbed from the loosest tolerance until the strictest target is met, or
until its seconds are spent. Then, in turns with the other cells of the
problem, the runs that first met a target are repeated.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.bench.child import words
from benchmarks.bench.settings import Setting, plugin

__all__ = ["TARGETS", "Cell", "Limits", "chosen"]

#: Relative suboptimality to be reached, loosest first.
TARGETS = (1e-2, 1e-4, 1e-6)
#: Seconds of one turn of quick runs, and how many they are at most.
_TURN, _MOST_RUNS = 0.1, 10
_ROOT = Path(__file__).resolve().parents[2]
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


@dataclass(frozen=True)
class Limits:
    """Seconds that a run may take, runs of a rung in all, and what is left out."""

    seconds: float
    repeats: int
    #: Seconds of a first call, which may compile.
    first: float = 60.0
    #: Seconds of a whole ladder, in those of a run.
    ladder: float = 3.0
    #: Whether solvers may leave large data to the full benchmark.
    short: bool = True
    targets: tuple[float, ...] = TARGETS

    @property
    def quick(self) -> float:
        """Seconds up to which a run is repeated."""
        return self.seconds / 6


@dataclass
class Cell:
    """A solver on a problem; `tell` takes each result as it comes."""

    setting: Setting
    solver: str
    limits: Limits
    tell: Callable[[dict], None]
    rungs: list[tuple[object, float, float]] = field(default_factory=list)
    _process: subprocess.Popen | None = None

    def explore(self, arrays: Path, cases: list, optima: list[dict]) -> None:
        """First call, then the ladder."""
        try:
            module = plugin("solvers", self.solver)
            reason = getattr(module, "refuses", lambda cases: None)(cases)
            too_long = getattr(module, "long_on", lambda X: None)(cases[0].X)
        except Exception as error:
            self._end("failed", words(error))
            return
        if reason is not None:
            self._end("not comparable", reason)
            return
        if self.limits.short and too_long is not None:
            self._end("left out", f"{too_long}: see `make bench-full`")
            return
        self._start(arrays, optima)
        if self._run(module.LADDER[0], "first", self.limits.first) is None:
            return
        deadline = time.monotonic() + self.limits.ladder * self.limits.seconds
        for tol in module.LADDER:
            left = max(deadline - time.monotonic(), 0.0)
            off = self._run(tol, "ladder", min(self.limits.seconds, left))
            if off is None or off <= self.limits.targets[-1]:
                return

    def repeat(self) -> None:
        """Run once more at each tolerance that first met a target."""
        if self._process is None:
            return
        for tol in set(chosen(self.rungs, self.limits.targets).values()):
            usual = next(wall for rung, wall, _ in self.rungs if rung == tol)
            runs = min(max(int(_TURN / usual), 1), _MOST_RUNS)
            for _ in range(runs if usual <= self.limits.quick else 0):
                if self._run(tol, "repeat", self.limits.seconds) is None:
                    return

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self, arrays: Path, optima: list[dict]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.bench.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=_ROOT,
            env=os.environ | dict.fromkeys(_THREADS, "1"),
        )
        job = {"task": self.setting.task, "data": self.setting.data}
        job |= {"sizes": self.setting.sizes, "factor": self.setting.factor}
        job |= {"solver": self.solver}
        job |= {"arrays": str(arrays), "optima": optima}
        self._process.stdin.write(json.dumps(job) + "\n")

    def _run(self, tol, event: str, patience: float) -> float | None:
        """One run; how far off it was, or None if the ladder ends here."""
        process = self._process
        try:
            process.stdin.write(json.dumps(tol) + "\n")
            process.stdin.flush()
            if not select.select([process.stdout], [], [], patience)[0]:
                note = f"{event} call did not end within {patience:.3g} s"
                longest = max((wall for _, wall, _ in self.rungs), default=0.0)
                self._end("time limit", note, tol, wall=max(patience, longest))
                return None
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._end("failed", f"its process ended: {process.wait()}", tol)
            return None
        found = json.loads(line)
        for status, kind in (("missing", "not installed"), ("failed", "failed")):
            if status in found:  # looser tolerances may still be repeated
                self.tell(self._row(kind, tol) | {"note": found[status]})
                return None
        if event == "ladder":
            self.rungs.append((tol, found["wall"], found["off"]))
        self.tell(self._row(event, tol) | found)
        return found["off"]

    def _end(self, event: str, note: str, tol: object = "", **more) -> None:
        """Say why there is no more to come."""
        self.close()
        self.tell(self._row(event, tol) | {"note": note} | more)

    def _row(self, event: str, tol: object) -> dict:
        row = {"solver": self.solver, "event": event, "tol": tol}
        return self.setting.row | row


def chosen(rungs, targets) -> dict:
    """For each target that was met the loosest tolerance that met it.

    `rungs` are (tolerance, seconds, suboptimality) in the order of the ladder.
    """
    met = {}
    for target in targets:
        tols = [tol for tol, _, off in rungs if off <= target]
        if tols:
            met[target] = tols[0]
    return met
