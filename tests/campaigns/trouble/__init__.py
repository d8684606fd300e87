"""Faults on purpose: interrupts, missing homes, crowded machines.

A check is a function of the number of tries that returns its figures, as words, and
raises AssertionError at the first violation. `make faults` runs all of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["CHECKS", "Skipped", "check", "child", "survivors", "unshared"]

#: Name of a check, the check, and the tries of a full run.
CHECKS: dict[str, tuple[Callable[[int], str], int]] = {}

# Jobs in the background of a shell ignore Ctrl-C, and hand that on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).resolve().parents[2] / "support"


class Skipped(Exception):
    """What the check needs is not to be had here."""


def check(tries: int) -> Callable:
    """Register a check."""

    def register(function: Callable[[int], str]) -> Callable[[int], str]:
        name = function.__name__.replace("_", " ")
        CHECKS[name] = (function, tries)
        return function

    return register


def child(script: str, *arguments, wrap=(), env=None, timeout=300, code=0, **options):
    """Run a Python script in a session of its own; nothing of it may live on."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **(env or {})}
    environment = {name: text for name, text in environment.items() if text is not None}
    # What the tests import, the child imports: of a copy that was broken on purpose too.
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    command = [*wrap, sys.executable, "-c", script, *map(str, arguments)]
    process = subprocess.Popen(
        command, env=environment | {"PYTHONPATH": path}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip
    out, said = process.communicate(timeout=timeout)
    assert process.returncode == code, f"exit code {process.returncode}: {said[-2000:]}"
    assert survivors(process.pid) == [], "processes outlive the one that started them"
    return out


def survivors(session: int, patience: float = 10.0) -> list[str]:
    """Command lines of processes of a session that do not end."""
    end = time.monotonic() + patience
    while (found := _members(session)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def _members(session: int) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            state, *rest = (process / "stat").read_text().rpartition(")")[2].split()
            if int(rest[2]) == session and state != "Z":
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except (OSError, ValueError):  # it ended meanwhile
            continue
    return found


def unshared(*mounts: str) -> list[str]:
    """A prefix for commands that see these mounts, and nobody else does."""
    script = " && ".join([*mounts, 'exec "$@"'])
    prefix = ["unshare", "-m", "sh", "-c", script, "sh"]
    try:
        subprocess.run([*prefix, "true"], check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        raise Skipped("mounting needs root on Linux") from None
    return prefix
