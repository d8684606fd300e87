"""Print the oldest versions that pyproject.toml allows, as exact requirements for pip.

python tools/lower_bounds.py conic plots …     # with those extras
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads(
    (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
)["project"]


def pins(extras: list[str]) -> list[str]:
    """`name==oldest` for the dependencies and those of the extras, followed within."""
    wanted, found = list(PROJECT["dependencies"]), []
    for extra in extras:
        wanted += PROJECT["optional-dependencies"][extra]
    for requirement in wanted:
        inner = re.fullmatch(rf"{PROJECT['name']}\[(.+)\]", requirement)
        if inner:
            for extra in inner[1].split(","):
                wanted += PROJECT["optional-dependencies"][extra]
        else:
            found.append(requirement.replace(">=", "=="))
    return found


if __name__ == "__main__":
    print(" ".join(pins(sys.argv[1:])))
