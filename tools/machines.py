"""The numerical tests on other machines than this one, as far as it can play them.

`make test-machines` runs them once per setting, one setting after the other: with the
kernels that OpenBLAS has for other processors, with NumPy's dispatch held down to its
baseline, and with one and two BLAS threads. A library ignores a name it does not know,
or the processor may lack the instructions, so each setting is tried out first
(`kernels.py`), and its tests end at once where they would run on other kernels than
those found. What could not run is said and not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import kernels

ROOT = Path(__file__).resolve().parent.parent
#: Test files in which the processor's arithmetic decides; the others read and write.
NUMERICAL = (
    "data/test_dask", "estimators/test_certify", "estimators/test_estimators",
    "estimators/test_pipeline", "measurement/test_radius", "paper/test_reproduce",
    "noise/test_covariance", "problem/test_endpoints", "problem/test_ends",
    "problem/test_namespaces", "noise/test_shapes", "problem/test_problem",
    "problem/test_range", "problem/test_rounding", "problem/test_rows",
    "screening/test_regions", "screening/test_screening", "solvers/test_conic",
    "solvers/test_control", "solvers/test_coordinate", "solvers/test_determinism",
    "solvers/test_path", "solvers/test_scale", "solvers/test_solve",
    "solvers/test_torture", "test_roads",
)  # fmt: skip
#: OpenBLAS kernels to try, by kind of machine.
CORETYPES = {
    "x86_64": ("Nehalem", "Haswell", "Zen", "SkylakeX"),
    "aarch64": ("CORTEXA57", "NEOVERSEN1", "NEOVERSEV1"),
}
#: The oldest OpenBLAS kernels, which go with all else that is old.
OLDEST = {"x86_64": "Prescott", "aarch64": "ARMV8"}
#: Kernels that OpenBLAS itself calls by another name than the one it takes.
_ALIASES = {"Prescott": "Katmai"}
#: Fewest different sets of kernels that a whole run must have tested.
FEWEST = 4
#: Minutes for a whole run.
MINUTES = 30


@dataclass(frozen=True)
class Setting:
    """A machine to play: what to set, and what must be found then."""

    name: str
    environment: dict[str, str]
    #: Says what is missing in the kernels found; None where all is as asked.
    lacks: Callable[[dict], str | None] = lambda found: None


def settings() -> list[Setting]:
    """Every machine to play on this one."""
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    numpy = _numpy()
    old = [numpy] if numpy.environment else []
    old += [_blas(OLDEST[machine])] if machine in OLDEST else []
    return [
        Setting("as it comes", {}, lambda found: _threads(found, 1)),
        *map(_blas, CORETYPES.get(machine, ())),
        numpy,
        Setting(
            "all of the oldest",
            {name: text for each in old for name, text in each.environment.items()},
            lambda found: next(filter(None, (each.lacks(found) for each in old)), None),
        ),
        Setting(
            "two BLAS threads",
            dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2"),
            lambda found: _threads(found, 2),
        ),
    ]


def _blas(core: str) -> Setting:
    def lacks(found: dict) -> str | None:
        got = sorted({architecture for architecture, _ in found["blas"].values()})
        if got == [_ALIASES.get(core, core)]:
            return None
        return f"got {' and '.join(got) or 'no BLAS that says what it is'}"

    return Setting(f"OpenBLAS {core}", {"OPENBLAS_CORETYPE": core}, lacks)


def _numpy() -> Setting:
    table = kernels.cpu_tables()
    names = [name for name in table.__cpu_dispatch__ if table.__cpu_features__[name]]

    def lacks(found: dict) -> str | None:
        if not names:
            return "NumPy uses nothing above its baseline here"
        return f"got {', '.join(found['numpy'])}" if found["numpy"] else None

    environment = {"NPY_DISABLE_CPU_FEATURES": " ".join(names)}
    return Setting("NumPy's baseline", environment if names else {}, lacks)


def _threads(found: dict, wanted: int) -> str | None:
    got = sorted({threads for _, threads in found["blas"].values()})
    return None if got == [wanted] else f"got {got} BLAS threads"


@dataclass(frozen=True)
class Outcome:
    """What became of a setting."""

    state: str  # "passed", "failed" or "not run"
    detail: str
    found: dict | None = None


def tried_out(setting: Setting) -> tuple[dict | None, str]:
    """The kernels a process has under this setting, or None and why there are none."""
    command = [sys.executable, str(ROOT / "tools" / "kernels.py")]
    done = subprocess.run(
        command, env=environment_of(setting), capture_output=True, text=True
    )
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        return None, f"not possible on this processor: {name} at the first product"
    if done.returncode > 0:
        return None, f"not possible here: {done.stderr.strip().splitlines()[-1]}"
    found = json.loads(done.stdout)
    missing = setting.lacks(found)
    return (found, "") if missing is None else (None, f"not possible here: {missing}")


def environment_of(setting: Setting) -> dict[str, str]:
    """The usual environment of the tests, less what others have set, with this."""
    ours = {name for each in settings() for name in each.environment}
    usual = {name: value for name, value in os.environ.items() if name not in ours}
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return usual | one | setting.environment


def run(setting: Setting, found: dict, jobs: int, seconds: float) -> Outcome:
    """Run the numerical tests under a setting whose kernels are known."""
    tests = [f"tests/{name}.py" for name in NUMERICAL]
    options = ["-q", "-p", "no:cacheprovider", "-p", "kernels", "-n", str(jobs)]
    environment = environment_of(setting) | {
        kernels.EXPECTED: json.dumps(found),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(ROOT / "tools"), os.environ.get("PYTHONPATH")])
        ),
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=max(seconds, 1.0),
        )
    except subprocess.TimeoutExpired:
        return Outcome("failed", f"the {MINUTES} minutes were over", found)
    lines = (done.stdout + done.stderr).strip().splitlines()
    failed = [line for line in lines if re.match(r"FAILED|ERROR", line)]
    for line in failed:
        print(f"    {line}", flush=True)
    state = "passed" if done.returncode == 0 else "failed"
    return Outcome(state, lines[-1].strip("= ") if lines else "", found)


def verdict(outcomes: dict[str, Outcome], fewest: int) -> tuple[int, str]:
    """The exit code, and a sentence: what ran, what failed, what could not."""
    ran = [each for each in outcomes.values() if each.state != "not run"]
    failed = [name for name, each in outcomes.items() if each.state == "failed"]
    left = [name for name, each in outcomes.items() if each.state == "not run"]
    text = f"{len(ran)} different sets of kernels tested, {len(failed)} failed"
    text += f" ({', '.join(failed)})" if failed else ""
    text += f"; not run: {', '.join(left)}." if left else "."
    if len(ran) < fewest:
        text += f" At least {fewest} are needed to say that the tests hold elsewhere."
    return (1 if failed or len(ran) < fewest else 0), text


def survey(chosen: list[Setting], jobs: int, end: float) -> dict[str, Outcome]:
    """Run the settings one after the other; each set of kernels once."""
    outcomes: dict[str, Outcome] = {}
    for setting in chosen:
        started = time.monotonic()
        found, why = tried_out(setting)
        same = next((n for n, each in outcomes.items() if each.found == found), None)
        if found is None:
            outcome = Outcome("not run", why)
        elif same is not None:
            outcome = Outcome("not run", f"the same kernels as {same!r}")
        elif started >= end:
            outcome = Outcome("failed", f"the {MINUTES} minutes were over", found)
        else:
            outcome = run(setting, found, jobs, end - started)
        outcomes[setting.name] = outcome
        seconds = time.monotonic() - started
        print(
            f"{setting.name:<24} {outcome.state:<8} {seconds:>5.0f} s  {outcome.detail}"
        )
        if outcome.found is not None:
            print(f"    {_shown(outcome.found)}", flush=True)
    return outcomes


def _shown(found: dict) -> str:
    blas = (f"{k} {core} ×{threads}" for k, (core, threads) in found["blas"].items())
    numpy = ", ".join(found["numpy"]) or "its baseline"
    return f"BLAS of {', '.join(blas)}; NumPy with {numpy}"


def main() -> int:
    """Run the settings whose names hold all words given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="settings whose names hold these")
    parser.add_argument("--jobs", type=int, default=2, help="test processes at a time")
    options = parser.parse_args()
    chosen = [s for s in settings() if all(word in s.name for word in options.words)]
    outcomes = survey(chosen, options.jobs, time.monotonic() + 60 * MINUTES)
    code, text = verdict(outcomes, 1 if options.words else FEWEST)
    print(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
