"""Print figures that tell whether the code is one house: `python tools/figures.py`.

Lines and modules of the core (problem, noise, kernels, screening, solvers and front
doors) and of the rest; the numbers that steer the core; imports against the map and
class names used twice (`tools/layers.py`); `Any` in the contracts of the core; and how
often an idea is implemented, by name. `--list` names what is counted.

A number that steers is one that something measured or counted is compared with: a
literal in a comparison, in `min` or `max`, or a named constant or a field of settings
that is used there. Not counted are 0, 1, 2 and infinity, which are structure
(`len(y) == 2`), and comparisons of shapes, dimensions and versions.
"""

from __future__ import annotations

import argparse
import ast
import math
import re
from dataclasses import dataclass

from layers import (
    CORE,
    PACKAGE,
    against_the_map,
    class_names_used_twice,
    modules,
    part_of,
)

#: Numbers that are structure rather than thresholds.
STRUCTURE = {0, 1, 2, -1, math.inf, -math.inf}
#: What is compared where versions, shapes and kinds are told apart.
STRUCTURAL_WORDS = re.compile(
    r"\b(ndim|shape|version|kind|itemsize|iinfo|finfo|__version__|len)\b"
)
#: Implementations of one idea, each by file and name; those that exist are counted.
COUNTED = {
    "Mehrotra steps": [
        "solvers/interior.py:InteriorPoint.step",
        "kernels/interior.pyx:minimise",
    ],
    "settle-verify loops": [
        "solvers/driver.py:Rounds.rounds",
        "solvers/sweeps.py:Ascent.solve",
        "kernels/interior.pyx:minimise",
    ],
    "warm starts": ["solvers/starts.py:WarmStart"],
    "cost models": ["solvers/cost.py:Cost", "solvers/small.py:is_small"],
}


@dataclass(frozen=True)
class Threshold:
    """A number that something is compared with, and where it is defined."""

    file: str
    line: int
    text: str


def lines_and_modules() -> dict[bool, tuple[int, int]]:
    """Lines and modules, .py and .pyx, of the core (True) and of the rest."""
    sizes: dict[bool, tuple[int, int]] = {True: (0, 0), False: (0, 0)}
    for name, file in modules().items():
        core = part_of(name) in CORE
        lines, files = sizes[core]
        lines += len(file.read_text(encoding="utf-8").splitlines())
        sizes[core] = lines, files + 1
    return sizes


def number_of(node: ast.expr) -> float | None:
    """The number that an expression of literals stands for, or None."""
    if any(isinstance(part, ast.Name | ast.Attribute) for part in ast.walk(node)):
        return None
    if not any(isinstance(part, ast.Constant) for part in ast.walk(node)):
        return None
    try:
        value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
    except Exception:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def named_numbers(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """Constants of a module and fields of its settings, with their numbers."""
    found: dict[str, list[ast.expr]] = {}
    settings = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Settings")
    ]
    for body in (tree.body, *(node.body for node in settings)):
        for node in body:
            if isinstance(node, ast.Assign):
                names, value = node.targets, node.value
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                names, value = [node.target], node.value
            else:
                continue
            for name in names:
                if isinstance(name, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs = zip(name.elts, value.elts, strict=True)
                else:
                    pairs = [(name, value)]  # type: ignore[assignment]
                for target, given in pairs:
                    parts = given.elts if isinstance(given, ast.Tuple) else [given]
                    numbers = [part for part in parts if number_of(part) is not None]
                    if isinstance(target, ast.Name) and numbers:
                        found[target.id] = numbers
    return found


def compared(tree: ast.Module) -> list[ast.expr]:
    """Expressions that are compared, or bounded by `min`, `max` or `clip`."""
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if not any(STRUCTURAL_WORDS.search(ast.unparse(side)) for side in sides):
                found += sides
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in (
                "min",
                "max",
                "minimum",
                "maximum",
                "clip",
                "at_least",
                "range",
            ):
                found += node.args
    return found


def core_trees() -> dict[str, ast.Module]:
    """The syntax trees of the core's modules in Python, by file."""
    return {
        file.relative_to(PACKAGE).as_posix(): ast.parse(file.read_text("utf-8"))
        for name, file in modules().items()
        if file.suffix == ".py" and part_of(name) in CORE
    }


def thresholds() -> list[Threshold]:
    """All numbers that steer the core."""
    trees = core_trees()
    uses = [expression for tree in trees.values() for expression in compared(tree)]
    used = {
        part.id if isinstance(part, ast.Name) else part.attr
        for expression in uses
        for part in ast.walk(expression)
        if isinstance(part, ast.Name | ast.Attribute)
    }
    found = []
    for name, tree in trees.items():
        for constant, numbers in named_numbers(tree).items():
            if constant in used:
                found += [
                    Threshold(name, n.lineno, f"{constant} {ast.unparse(n)}")
                    for n in numbers
                ]
        literals = {}
        for expression in compared(tree):
            for part in ast.walk(expression):
                value = number_of(part) if isinstance(part, ast.Constant) else None
                if value is not None and value not in STRUCTURE:
                    place = part.lineno, part.col_offset  # once, however deep
                    literals[place] = Threshold(name, place[0], ast.unparse(expression))
        found += literals.values()
    return sorted(found, key=lambda t: (t.file, t.line))


def untyped() -> list[str]:
    """Annotations in the core that say `Any`."""
    found = []
    for name, tree in core_trees().items():
        annotations = []
        for node in ast.walk(tree):
            if isinstance(node, ast.arg | ast.AnnAssign):
                annotations.append(node.annotation)
            elif isinstance(node, ast.FunctionDef):
                annotations.append(node.returns)
        found += [
            f"{name}:{part.lineno}"
            for annotation in annotations
            if annotation is not None
            for part in ast.walk(annotation)
            if isinstance(part, ast.Name) and part.id == "Any"
        ]
    return found


def exists(place: str) -> bool:
    """Whether a file of the package defines a name, such as "_solve.py:solve"."""
    file, _, name = place.partition(":")
    path = PACKAGE / file
    if not path.exists():
        return False
    text = path.read_text(encoding="utf-8")
    last = name.rpartition(".")[2]
    return re.search(rf"^ *(class|def|cdef [^\n]*) *\b{last}\b", text, re.M) is not None


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="name what is counted")
    options = parser.parse_args()
    sizes, steering = lines_and_modules(), thresholds()
    wrong, twice, unclear = against_the_map(), class_names_used_twice(), untyped()
    print(f"lines, modules of the core      {sizes[True][0]}, {sizes[True][1]}")
    print(f"lines, modules of the rest      {sizes[False][0]}, {sizes[False][1]}")
    print(f"numbers that steer the core     {len(steering)}")
    print(f"imports against the map         {len(wrong)}")
    print(f"class names used twice          {len(twice)}")
    print(f"Any in contracts of the core    {len(unclear)}")
    for kind, names in COUNTED.items():
        print(f"{kind:<32}{sum(map(exists, names))}")
    if options.list:
        steering_lines = [f"{each.file}:{each.line}: {each.text}" for each in steering]
        named = [n for names in COUNTED.values() for n in names if exists(n)]
        for line in (*steering_lines, *wrong, *twice, *unclear, *named):
            print(f"  {line}")


if __name__ == "__main__":
    main()
