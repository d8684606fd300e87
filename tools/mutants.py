"""Break the package on purpose; every break must be noticed. `make mutants` runs it.

Each mutant is one exact replacement in one file, applied to a copy of the package,
never to the checkout. The tests most likely to notice, its suspects, run first; the
whole suite where they do not. Printed is mutant → first failing test. A mutant that
survives is a missing test: exit code 1. The suspects must pass on the package as it is.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mistakes import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parent.parent
#: The packages whose files mutants name, the library's without its name.
LIBRARY, PAPER = ROOT / "src", ROOT / "paper"
#: Seconds for the suspects, and for the whole suite.
LIMITS = 240, 1800


def package_of(mutant: Mutant) -> Path:
    """The folder of the package that a mutant breaks."""
    return PAPER if mutant.file.startswith("wideberth_paper/") else LIBRARY


def place_of(mutant: Mutant) -> Path:
    """The file that a mutant breaks, in the checkout."""
    package = package_of(mutant)
    return (
        package / mutant.file
        if package == PAPER
        else package / "wideberth" / mutant.file
    )


def survey(mutant: Mutant) -> tuple[str | None, float]:
    """Run the tests on a broken copy; the first that fails, and the seconds it took."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        for package in (LIBRARY, PAPER):
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(package, source, ignore=ignore, dirs_exist_ok=True)
        target = source / place_of(mutant).relative_to(package_of(mutant))
        broken = mutant.applied(target.read_text(encoding="utf-8"))
        target.write_text(broken, encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
        _check_copy(source, environment)
        for tests, limit in zip(
            (f"tests/{mutant.suspect}", "tests"), LIMITS, strict=True
        ):
            failed = _first_failure([tests], environment, limit)
            if failed is not None:
                return failed, time.perf_counter() - started
    return None, time.perf_counter() - started


def _check_copy(source: Path, environment: dict) -> None:
    """Make sure that it is the copy that the tests will import."""
    told = subprocess.run(
        [sys.executable, "-c", "import wideberth; print(wideberth.__file__)"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    if not told.stdout.startswith(str(source)):
        raise RuntimeError(f"the tests would import {told.stdout.strip()}")


def _first_failure(tests: list[str], environment: dict, limit: float) -> str | None:
    options = ["-x", "-q", "-rfE", "-p", "no:cacheprovider"]
    options += ["--hypothesis-profile", "no shrinking"]  # that it fails is enough
    command = [sys.executable, "-m", "pytest", *options, *tests]
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", done.stdout, re.MULTILINE)
    if found:
        return found[1]
    return None if done.returncode == 0 else f"exit code {done.returncode}"


def main() -> int:
    """Run the mutants whose names hold all words given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if all(word in m.name for word in options.words)]
    if not chosen:
        print(f"No mutant's name holds all of {options.words}.")
        return 2
    survivors, suspects = 0, sorted({f"tests/{mutant.suspect}" for mutant in chosen})
    failed = _first_failure(suspects, dict(os.environ), LIMITS[1])
    if failed is not None:
        print(f"The package fails {failed} unbroken; mend that first.")
        return 1
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, (failed, seconds) in zip(
            chosen, pool.map(survey, chosen), strict=True
        ):
            survivors += failed is None
            verdict = "SURVIVES" if failed is None else failed
            print(f"{mutant.name:<52} {seconds:>5.0f} s  {verdict}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survive")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
