"""How far a call of the library walks before it does any work.

`python tools/walk.py` solves breast cancer (569×30, standardised) with and without an
intercept and prints, for each call: the distinct functions of the package that ran
before the first step or sweep, those that ran in all, the files they are in, and how
often primal points, dual points and certificates were computed on all samples.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import wideberth

PACKAGE = str(Path(wideberth.__file__).parent)
#: Functions of which the first call ends the count of `before`: a step of the method in
#: Python, and what calls compiled steps and sweeps.
STEPS = ("InteriorPoint.step", "_minimised", "Ascent._sweep")


def walk(call: Callable[[], object]) -> dict:
    """Run `call` under a profiler; figures, and the functions in order of first use.

    Properties are fields to a reader, and comprehensions part of the function around
    them: neither counts, nor do constructors that a dataclass writes. Generators count
    when they first run. Certificates, primal and dual points count where they are of
    as many samples as the largest problem that the call evaluates.
    """
    fields = _properties()
    seen: dict[tuple[str, str], None] = {}
    before: list[tuple[str, str]] | None = None
    evaluated: list[tuple[str, int]] = []

    def watch(frame, event, _argument):
        nonlocal before
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        name = code.co_qualname
        if code in fields or name.endswith(">"):
            return
        if name in STEPS and before is None:
            before = list(seen)
        seen[code.co_filename.removeprefix(PACKAGE + "/"), name] = None
        values = frame.f_locals
        if name == "Certificate.of":
            evaluated.append(("certificates", values["point"].margins.shape[0]))
        elif name in ("Problem.at", "Problem.dual_at"):
            kind = "primal_points" if name == "Problem.at" else "dual_points"
            evaluated.append((kind, values["self"].n))

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    most = max((n for _, n in evaluated), default=0)
    kinds = [kind for kind, n in evaluated if n == most]
    first = list(seen) if before is None else before
    return {
        "before": len(first),
        "functions": len(seen),
        "files": len({file for file, _ in seen}),
        "certificates": kinds.count("certificates"),
        "primal_points": kinds.count("primal_points"),
        "dual_points": kinds.count("dual_points"),
        "names": [f"{file}:{name}" for file, name in first],
    }


def _properties() -> set:
    """The code of every property of the package's classes that are loaded."""
    found = set()
    for module in [
        m for name, m in sys.modules.items() if name.startswith("wideberth")
    ]:
        for part in vars(module).values():
            for member in vars(part).values() if isinstance(part, type) else ():
                if isinstance(member, property) and member.fget is not None:
                    found.add(member.fget.__code__)
                elif isinstance(member, cached_property):
                    found.add(member.func.__code__)
    return found


def breast_cancer(**options) -> dict:
    """The walk of `solve` on breast cancer, after a call that loads what it needs."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    wideberth.solve(X, y, C=1.0, radius=0.05, **options)
    return walk(lambda: wideberth.solve(X, y, C=1.0, radius=0.05, **options))


def main() -> None:
    """Print the figures; with an argument, the names too."""
    for fit_intercept in (True, False):
        found = breast_cancer(fit_intercept=fit_intercept)
        names = found.pop("names")
        figures = ", ".join(f"{name} {count}" for name, count in found.items())
        print(f"fit_intercept={fit_intercept}: {figures}")
        for name in names if sys.argv[1:] else ():
            print(f"  {name}")


if __name__ == "__main__":
    main()
