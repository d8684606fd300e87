"""Which part of the package may import which, and what breaks the rule.

The map: kernels ← problem, noise ← screening ← solvers ← front doors ← measurement ←
estimators ← command line. Sources of data bring batches for the solvers, which do not
know them; plots and reports are given what they show. Imports inside functions, and
those for type checkers, count too.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import wideberth

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "wideberth"
#: Modules at the root of the package that are front doors or belong to them.
FRONT = "front doors"
#: Modules at the root that are something else.
_ROOT_MODULES = {
    "__init__": "all",
    "__main__": "cli",
    "onnx": "estimators",
    "errors": "measurement",
}
_PROBLEM = {"kernels", "problem", "noise"}
_SOLVERS = {*_PROBLEM, "screening", "solvers"}
_DOORS = {*_SOLVERS, "data", "plotting", FRONT}
#: What each part may import.
ALLOWED: dict[str, set[str]] = {
    "kernels": {"kernels"},
    "noise": _PROBLEM,
    "problem": _PROBLEM,
    "screening": {*_PROBLEM, "screening"},
    "solvers": _SOLVERS,
    "data": {*_SOLVERS, "data"},
    "datasets": {"datasets"},
    "plotting": {*_PROBLEM, "plotting", "datasets"},
    "report": {"report"},
    FRONT: _DOORS,
    "measurement": {*_DOORS, "measurement"},
    "estimators": {*_DOORS, "measurement", "estimators"},
    "cli": {*_DOORS, "measurement", "estimators", "datasets", "report", "cli"},
}
#: The part of the package that solves: all below the estimators but sources of data.
CORE = (*_SOLVERS, FRONT)


def part_of(module: str) -> str:
    """The part that a module belongs to: "solvers" for wideberth.solvers.base."""
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else "__init__"
    if (PACKAGE / name).is_dir():
        return name
    return _ROOT_MODULES.get(name, FRONT)


def modules() -> dict[str, Path]:
    """All modules of the package by name, compiled ones included."""
    files = sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyx")])
    found = {}
    for file in files:
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = file
    return found


def trees() -> Iterator[tuple[str, ast.Module]]:
    """The syntax tree of every module in Python."""
    for name, file in modules().items():
        if file.suffix == ".py":
            yield name, ast.parse(file.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    """Modules of the package that a module imports, wherever the statement is.

    Public names of the package itself count as the modules that they come from.
    """
    known = modules()
    homes = {f"wideberth.{name}": home for name, home in wideberth._HOMES.items()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            inside = [f"{node.module}.{name.name}" for name in node.names]
            inside = [homes.get(name, name) for name in inside]
            names = [name if name in known else str(node.module) for name in inside]
        else:
            continue
        yield from (name for name in names if name.startswith("wideberth."))


def against_the_map() -> list[str]:
    """Imports that the map does not allow."""
    found = []
    for name, tree in trees():
        part = part_of(name)
        if part == "all":
            continue
        wrong = {
            other for other in imported(tree) if part_of(other) not in ALLOWED[part]
        }
        found += [f"{name} imports {other}" for other in sorted(wrong)]
    return found


def class_names_used_twice() -> list[str]:
    """Names that more than one class of the package has, a leading underscore aside."""
    places = defaultdict(list)
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(name)
    return [
        f"{name}: {', '.join(where)}"
        for name, where in sorted(places.items())
        if len(where) > 1
    ]
