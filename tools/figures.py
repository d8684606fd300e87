"""Print figures that tell whether the code is one house: `python tools/figures.py`.

Lines, modules at the root, thresholds with where they are, tests on shapes of noise
outside their module, and what a call of `solve` walks through (`tools/walk.py`).
`--list` names every threshold.

A threshold is a number that something measured or counted is compared with: a literal
in a comparison, in `min` or `max`, or a named constant or a field of settings that is
used there. Not counted are 0, 1, 2 and infinity, which are structure (`len(y) == 2`),
comparisons of shapes, dimensions and versions, and what the command line and reports
compare to choose their words.
"""

from __future__ import annotations

import argparse
import ast
import math
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, PAPER = ROOT / "src" / "wideberth", ROOT / "paper"
#: Parts of the package whose comparisons choose words, drawings or options.
WORDING = ("cli", "report", "plotting")
#: Numbers that are structure rather than thresholds.
STRUCTURE = {0, 1, 2, -1, math.inf, -math.inf}
#: What is compared where versions, shapes and kinds are told apart.
STRUCTURAL_WORDS = re.compile(
    r"\b(ndim|shape|version|kind|itemsize|iinfo|finfo|__version__|len)\b"
)
SHAPES = re.compile(
    r"isinstance\([^()]*(?:\([^()]*\))?[^()]*,[^()]*"
    r"\b(L1|L2|Linf|Ellipsoid|Correlated|Noise|Box)\b"
)


@dataclass(frozen=True)
class Threshold:
    """A number that something is compared with, and where it is defined."""

    file: str
    line: int
    text: str


def lines_of(*folders: Path) -> int:
    """Lines of all Python and Cython files in the folders."""
    files = [file for folder in folders for file in folder.rglob("*.py*")]
    files = [file for file in files if file.suffix in (".py", ".pyx")]
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


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


def thresholds() -> list[Threshold]:
    """All thresholds of the package."""
    trees = {
        file: ast.parse(file.read_text(encoding="utf-8"))
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.relative_to(PACKAGE).parts[0] not in WORDING
    }
    uses = [expression for tree in trees.values() for expression in compared(tree)]
    used = {
        part.id if isinstance(part, ast.Name) else part.attr
        for expression in uses
        for part in ast.walk(expression)
        if isinstance(part, ast.Name | ast.Attribute)
    }
    found = []
    for file, tree in trees.items():
        name = file.relative_to(PACKAGE).as_posix()
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


def questions_about_shapes() -> list[str]:
    """Places outside `noise/` that ask a shape of noise what it is."""
    return [
        f"{file.relative_to(PACKAGE)}:{number}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.parent.name != "noise"
        for number, line in enumerate(
            file.read_text(encoding="utf-8").splitlines(), start=1
        )
        if SHAPES.search(line)
    ]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="name every threshold")
    options = parser.parse_args()
    found, shapes = thresholds(), questions_about_shapes()
    modules = sorted(file.stem for file in PACKAGE.glob("*.py"))
    long = [
        f"{file.relative_to(PACKAGE)} ({n})"
        for file in sorted(PACKAGE.rglob("*.py"))
        if (n := len(file.read_text(encoding="utf-8").splitlines())) > 400
    ]
    print(f"lines in src/                   {lines_of(PACKAGE.parent)}")
    print(f"lines in src/ and paper/        {lines_of(PACKAGE.parent, PAPER)}")
    print(f"files over 400 lines            {', '.join(long) or 'none'}")
    print(f"modules at the root             {len(modules)}: {', '.join(modules)}")
    print(f"thresholds                      {len(found)}")
    print(f"questions about shapes          {len(shapes)} {' '.join(shapes)}")
    if options.list:
        for threshold in found:
            print(f"  {threshold.file}:{threshold.line}: {threshold.text}")
    from walk import breast_cancer

    for fit_intercept in (True, False):
        found = breast_cancer(fit_intercept=fit_intercept)
        print(
            f"functions before the first step {found['before']}, certificates "
            f"{found['certificates']} (solve, 569×30, fit_intercept={fit_intercept})"
        )


if __name__ == "__main__":
    main()
