"""Cause trouble, and see that nothing is lost; `make faults` runs all of it.

Interrupts at random (seeded) moments, read-only and missing homes, processes and
threads. Prints what was tried and found; the
exit code is 1 if anything was violated. What cannot be done here (mounting needs root
on Linux) is said, not passed over.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from tools.stored import store
from trouble import CHECKS, Skipped, crowds, disks, interrupts  # noqa: F401


def main() -> int:
    """Run the checks; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tries", type=int, help="as many of each, not the usual number"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", help="checks with these words"
    )
    parser.add_argument("--store", action="store_true", help="for the pages")
    options = parser.parse_args()
    violations, rows = 0, []
    for name, (check, usual) in CHECKS.items():
        if options.only and not any(word in name for word in options.only):
            continue
        started = time.monotonic()
        try:
            figures = check(options.tries or usual)
        except Skipped as why:
            figures = f"SKIPPED: {why}"
        except Exception as error:
            violations += 1
            figures = f"VIOLATED: {error!r}"
        rows.append([name, figures])
        print(f"{name:48}{time.monotonic() - started:6.0f} s  {figures}", flush=True)
    if options.store:
        store("faults", ["fault", "found"], rows)
    print(f"\n{violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
