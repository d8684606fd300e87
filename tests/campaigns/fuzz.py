"""Give readers and arguments what nobody should; `make fuzz` runs the campaign.

Every target is fed cases made by a seeded generator: files that are almost right, files
that are damaged, arguments of the wrong type, size and value. A case must be accepted,
with an answer that keeps its promises, or be refused by a documented exception, in 20
seconds and 3 GB. Everything else is a finding: the campaign lists it and fails.

    python tests/campaigns/fuzz.py --cases 1000000
    python tests/campaigns/fuzz.py --case csv 4711     # one case again, with its traceback
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from fuzzing import TARGETS
from fuzzing.campaign import Tally, load_targets, make_case, run_cases
from tools.stored import store


def show(tallies: dict[str, Tally], keep: bool = False) -> int:
    """Print the figures; return the number of findings."""
    print(
        f"{'target':10}{'cases':>10}{'accepted':>10}{'slowest':>10}{'growth':>10}  refused"
    )
    for name, tally in tallies.items():
        refused = ", ".join(f"{kind} {n}" for kind, n in tally.refused.most_common())
        print(
            f"{name:10}{tally.cases:10}{tally.accepted:10}{tally.slowest[0]:8.2f} s"
            f"{tally.growth / 2**20:7.0f} MB  {refused}"
        )
    if keep:
        heads = ["what", "cases", "accepted", "refused", "findings"]
        heads += ["longest, s", "worst growth, MB"]
        rows = [
            [name, tally.cases, tally.accepted, sum(tally.refused.values())]
            for name, tally in tallies.items()
        ]
        for row, tally in zip(rows, tallies.values(), strict=True):
            row += [len(tally.findings), round(tally.slowest[0], 1), tally.growth >> 20]
        store("fuzz", heads, rows)
    total = sum(tally.cases for tally in tallies.values())
    seconds = sum(tally.seconds for tally in tallies.values())
    findings: dict[tuple[str, str], list[int]] = {}
    for name, tally in tallies.items():
        for number, text in tally.findings:
            findings.setdefault((name, text), []).append(number)
    print(f"\n{total} cases in {seconds:.0f} s of work, {len(findings)} findings")
    for (name, text), numbers in findings.items():
        print(f"  {name}, {len(numbers)} times, first in case {numbers[0]}: {text}")
    return len(findings)


def main() -> int:
    """Run the campaign; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--only", nargs="+", metavar="TARGET")
    parser.add_argument("--case", nargs=2, metavar=("TARGET", "NUMBER"))
    parser.add_argument("--store", action="store_true", help="for the pages")
    options = parser.parse_args()
    load_targets()
    if options.case:
        case = make_case(options.case[0], int(options.case[1]))
        print(case)
        TARGETS[options.case[0]].run(case)
        return 0
    tallies = {name: Tally() for name in options.only or TARGETS}
    deadline = time.monotonic() + options.seconds
    for name, tally in tallies.items():
        wanted = round(options.cases * TARGETS[name].share)
        run_cases(name, tally, wanted, deadline - time.monotonic())
    return 1 if show(tallies, options.store) else 0


if __name__ == "__main__":
    sys.exit(main())
