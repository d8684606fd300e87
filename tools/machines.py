"""The numerical tests on other machines than this one, as far as it can play them.

`make test-machines` runs them once per setting: with the kernels that OpenBLAS has for
other processors, with NumPy's dispatch held down to its baseline, and with two BLAS
threads. A library ignores a name it does not know, and the processor may lack the
instructions; so each setting is tried out first, and each set of kernels found is
tested once. What could not run is said and not counted.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Tests in which the processor's arithmetic decides; the others read and write.
NUMERICAL = ("kernels", "noise", "problem", "screening", "solvers")
#: OpenBLAS kernels to try, by kind of machine.
CORETYPES = {
    "x86_64": ("Prescott", "Nehalem", "Haswell", "Zen", "SkylakeX"),
    "aarch64": ("ARMV8", "CORTEXA57", "NEOVERSEN1", "NEOVERSEV1"),
}
#: Fewest different sets of kernels that a run must have tested.
FEWEST = 4


def describe() -> dict:
    """The kernels of BLAS and NumPy in this process, each having worked once."""
    import numpy as np
    import scipy.linalg
    from threadpoolctl import threadpool_info

    for dtype in (np.float32, np.float64):
        A = np.random.default_rng(0).normal(size=(200, 120)).astype(dtype)
        gram = A.T @ A + np.eye(120, dtype=dtype)
        scipy.linalg.cho_solve(scipy.linalg.cho_factor(gram), A.T @ A[:, 0])
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    kernels = {(pool.get("architecture"), pool["num_threads"]) for pool in blas}
    return {"blas": sorted(map(list, kernels), key=str), "numpy": dispatched()}


def dispatched() -> list[str]:
    """Features above its baseline that NumPy has code for and uses here."""
    from numpy._core import _multiarray_umath as table

    return sorted(n for n in table.__cpu_dispatch__ if table.__cpu_features__.get(n))


def settings() -> dict[str, dict[str, str]]:
    """Every machine to play on this one, and the environment that plays it."""
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    cores = CORETYPES.get(machine, ())
    two = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2")
    return {
        "as it comes": {},
        **{f"OpenBLAS {core}": {"OPENBLAS_CORETYPE": core} for core in cores},
        "NumPy's baseline": {"NPY_DISABLE_CPU_FEATURES": " ".join(dispatched())},
        "two BLAS threads": two,
    }


def survey(chosen: dict[str, dict[str, str]]) -> int:
    """Run the settings one after the other, each set of kernels once; how many failed.

    Fewer than `FEWEST` sets of kernels are a failure too.
    """
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    seen: list[str] = []
    failed = 0
    for name, extra in chosen.items():
        environment = os.environ | one | extra
        tried = _python(environment, __file__, "--describe")
        if tried.returncode:
            print(f"{name}: not possible here (exit code {tried.returncode})")
        elif tried.stdout in seen:
            print(f"{name}: kernels that were tested already, {tried.stdout.strip()}")
        else:
            seen.append(tried.stdout)
            print(f"{name}: {tried.stdout.strip()}", flush=True)
            folders = [str(ROOT / "tests" / folder) for folder in NUMERICAL]
            done = _python(environment, "-m", "pytest", "-q", "-n", "2", *folders)
            print(*done.stdout.strip().splitlines()[-10:], sep="\n    ", flush=True)
            failed += done.returncode != 0
    print(f"{len(seen)} different sets of kernels tested, {failed} failed.")
    if len(seen) < FEWEST:
        print(f"At least {FEWEST} are needed to say that the tests hold elsewhere.")
    return failed + (len(seen) < FEWEST)


def _python(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess:
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--describe"]:
        print(json.dumps(describe()))
    else:
        sys.exit(1 if survey(settings()) else 0)
