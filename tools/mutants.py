"""Make small mistakes in the package at random; the tests must notice. `make mutants`.

The mistakes are made from the syntax tree: signs, comparisons, sums, terms, guards and
factors of two (`_changes` has all kinds). A seed draws a sample of them. Each is made
in a copy of the package, never in the checkout, and meets the tests that run its line,
the quickest first, for a limited time. Which tests run which line is measured with
coverage.py, and kept in .mutants/ for each test file until the file changes.

Kernels have no syntax tree that Python knows: one token is changed, the kernel is
compiled, and it meets its tests in tests/kernels. What does not compile is no mutant.

Left alone is what steers and what is only said: code outside functions (constants),
annotations, default arguments, messages, and the side on which a threshold falls.

A mutant that survives is listed: a test is missing, or the program is as right with it
as without. Exit code 1: fewer than 85 % of the sample were killed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib
import io
import itertools
import json
import math
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "wideberth"
#: Coverage, and the copies of the package that mutants are made in.
CACHE = ROOT / ".mutants"
#: Folders of the package that a sample is drawn from, unless others are named.
FOLDERS = ["kernels", "problem", "noise", "screening", "measurement", "estimators"]
FOLDERS += ["data", "cli"]
#: Tests that may be chosen; pages and examples start processes of their own.
TESTS = [
    f"tests/{part}" for part in (*FOLDERS, "solvers", "contract", "test_arguments.py")
]
#: What is said of a mutant of a kernel that the compiler refuses.
NO_CODE = "does not compile"
#: Share of the sample that must be killed.
REQUIRED = 0.85

# ---------------------------------------------------------------------------
# Mutants


@dataclass(frozen=True)
class Mutant:
    """A mistake: the text from `start` to `stop` of a file is replaced."""

    file: str  # within the package
    function: str
    line: int
    before: str
    after: str
    start: int
    stop: int
    replacement: str
    lines: tuple[int, ...]  # where the statement is, for the choice of tests

    def applied(self, text: str) -> str:
        """The text of the file with the mistake in it."""
        return text[: self.start] + self.replacement + text[self.stop :]

    def __str__(self) -> str:
        place = f"{self.file}:{self.line} {self.function}"
        return f"{place}\n      {self.before}\n    → {self.after}"


COMPARISONS: dict[type, tuple] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
#: Functions taken for each other.
CALLS = {"sum": "max", "max": "min", "min": "max", "any": "all", "all": "any"}
CALLS |= {"maximum": "minimum", "minimum": "maximum", "argmin": "argmax"}
CALLS |= {"argmax": "argmin", "at_least": "minimum"}
#: Functions that keep a value within bounds, and which argument the value is.
BOUNDS = {"maximum": 0, "minimum": 0, "max": 0, "min": 0, "clip": 0, "abs": 0}
BOUNDS |= {"at_least": 1}
#: Arguments that are more than one value.
NOT_ONE = ast.Starred, ast.GeneratorExp
#: Arguments that change a value when they are dropped.
KEYWORDS = {"ddof", "axis", "side", "initial", "where", "keepdims", "minlength"}
#: Factors of formulas.
FACTORS = {2, 4, 0.5, 0.25}
#: Functions that say something and compute nothing.
SAYING = {"__repr__", "__str__", "_repr_html_", "__sklearn_tags__"}


def mutants_of(file: str, text: str) -> list[Mutant]:
    """All mutants of one file, in the order of its text."""
    rows = text.splitlines(keepends=True)
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(rows[line - 1].encode()[:column].decode())

    mutants = []
    for function, statement, node in _formulas(ast.parse(text)):
        for old, new in _changes(node):
            after = ast.unparse(new)
            mutants.append(
                Mutant(
                    file,
                    function,
                    old.lineno,
                    ast.unparse(old),
                    after,
                    offset(old.lineno, old.col_offset),
                    offset(old.end_lineno, old.end_col_offset),
                    after if isinstance(new, ast.stmt) else f"({after})",
                    tuple(range(statement.lineno, old.end_lineno + 1)),
                )
            )
    return mutants


#: Tokens of kernels, and what each is taken for.
TOKENS = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"]}
TOKENS |= {"+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "|=": ["&="]}
TOKENS |= {"<": [">", "<="], ">": ["<", ">="], "<=": [">=", "<"], ">=": ["<=", ">"]}
TOKENS |= {"==": ["!="], "!=": ["=="], "and": ["or"], "or": ["and"]}
TOKENS |= {"max": ["min"], "min": ["max"], "True": ["False"], "False": ["True"]}
TOKENS |= {"0.0": ["1.0"], "1.0": ["2.0"], "0.5": ["1.0"], "2.0": ["1.0"]}
TOKENS |= {"0": ["1"], "1": ["0"]}  # places in arrays, and steps through them


def kernel_mutants_of(file: str, text: str) -> list[Mutant]:
    """All mutants of a Cython file: one token changed within the body of a function.

    Left alone are declarations, where * and < are parts of types.
    """
    rows = text.splitlines(keepends=True)
    starts = list(itertools.accumulate(map(len, rows), initial=0))
    mutants, function = [], ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line, column = token.start
        row = rows[line - 1] if line <= len(rows) else ""
        if named := re.match(r"\s*(?:def|cdef|cpdef)\b[^=(]*?(\w+)\(", row):
            function = named[1]
        declares = re.match(r"\s*(cdef|const|ctypedef|double|Py_ssize_t)\b", row)
        if token.string not in TOKENS or declares or not row.startswith("    "):
            continue
        start = starts[line - 1] + column
        edges = start, start + len(token.string)
        for new in TOKENS[token.string]:
            after = row[:column] + new + row[column + len(token.string) :]
            texts = row.strip(), after.strip()
            mutants.append(Mutant(file, function, line, *texts, *edges, new, (line,)))
    return mutants


def _formulas(tree: ast.Module) -> Iterator[tuple[str, ast.stmt, ast.AST]]:
    """Every node that may be changed, with its function and its statement."""

    def walk(node, names, inside, statement):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if node.name in SAYING:
                return
            names, inside = [*names, node.name], isinstance(node, ast.FunctionDef)
            children = node.body
        elif isinstance(node, (ast.Raise, ast.JoinedStr)) or _says(node):
            return
        elif isinstance(node, ast.If) and _refuses(node.body[-1]):
            children = [node.test, *node.orelse]  # the body makes a message
        elif isinstance(node, ast.AnnAssign):
            children = [node.value] if node.value else []
        else:
            children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.stmt):
            statement = node
        if inside and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield ".".join(names), statement, node
        for child in children:
            if not isinstance(child, ast.arguments):
                yield from walk(child, names, inside, statement)

    for function, statement, node in walk(tree, [], False, None):
        if isinstance(node, (ast.expr, ast.stmt)):
            yield function, statement, node


def _refuses(statement: ast.stmt) -> bool:
    """Does it raise an error, or call a function that does?"""
    match statement:
        case ast.Expr(value=ast.Call(func=func)):
            return _name(func).lstrip("_").startswith("refuse")
    return isinstance(statement, ast.Raise)


def _says(node: ast.AST) -> bool:
    """Is it a message or a text?"""
    match node:
        case ast.Call(func=func):
            return _name(func) in {"warn", "warning", "info", "debug"}
        case ast.BinOp(left=one, right=other) | ast.IfExp(body=one, orelse=other):
            return _is_text(one) or _is_text(other)
        case ast.AugAssign(value=value):
            return _is_text(value) or _says(value)
    return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _name(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What to replace in the node, and by what: every mistake that we know."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            scales = isinstance(op, (ast.Mult, ast.Div)) and (
                _steers(left, right) or _is_label(right)
            )
            if type(op) in OPERATORS and not scales:
                yield node, _with(node, op=OPERATORS[type(op)]())
            if isinstance(op, (ast.Add, ast.Sub)):  # dropped terms
                yield node, left
            if isinstance(op, ast.Add):
                yield node, right
            if isinstance(op, ast.Mult) and _is_factor(left):
                yield node, right
            if isinstance(op, (ast.Mult, ast.Div, ast.Pow)) and _is_factor(right):
                yield node, left
        case ast.AugAssign(op=op) if type(op) in OPERATORS:
            yield node, _with(node, op=OPERATORS[type(op)]())
        case ast.BoolOp(op=op):
            yield node, _with(node, op=OPERATORS[type(op)]())
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield node, operand
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                for new in COMPARISONS.get(type(op), ()):
                    if not (_is_edge(op, new) and _steers(*ast.walk(node))):
                        changed = [*ops[:place], new(), *ops[place + 1 :]]
                        yield node, _with(node, ops=changed)
        case ast.Call(func=ast.Name() | ast.Attribute()):
            yield from ((node, changed) for changed in _changed_calls(node))
        case ast.If(test=test, body=[*_, last]) if _refuses(last) or isinstance(
            last, (ast.Return, ast.Continue)
        ):
            yield test, ast.Constant(False)
        case ast.IfExp(body=body, orelse=orelse):
            yield node, body
            yield node, orelse
        case ast.Return(value=ast.Constant(value=bool(value)) as constant):
            yield constant, ast.Constant(not value)


def _changed_calls(node: ast.Call) -> Iterator[ast.expr]:
    func, args, keywords = node.func, node.args, node.keywords
    name = _name(func)
    if name in CALLS:
        field = "attr" if isinstance(func, ast.Attribute) else "id"
        yield _with(node, func=_with(func, **{field: CALLS[name]}))
    value = BOUNDS.get(name, len(args))
    of_module = isinstance(func, ast.Name) or _name(func.value) in ("np", "xp")
    if of_module and value < len(args) and not isinstance(args[0], NOT_ONE):
        yield args[value]
    for keyword in keywords:
        if keyword.arg in KEYWORDS and name != "reduce":  # whose axis is 0
            yield _with(node, keywords=[k for k in keywords if k is not keyword])


def _with(node: ast.AST, **fields):
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_factor(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in FACTORS


def _is_label(node: ast.AST) -> bool:
    """Is it y or a part of it? Labels are −1 and 1: times one is divided by it."""
    return _name(node.value if isinstance(node, ast.Subscript) else node) == "y"


def _is_edge(op: ast.cmpop, new: type) -> bool:
    """Does only equality tell the two comparisons apart?"""
    return {type(op), new} in ({ast.Lt, ast.LtE}, {ast.Gt, ast.GtE})


def _steers(*nodes: ast.AST) -> bool:
    """Is one of them a constant of the module: a threshold, unless it is EPS?"""
    return any(_name(node).isupper() and _name(node) != "EPS" for node in nodes)


# ---------------------------------------------------------------------------
# Which tests run which line


class Coverage:
    """The tests, their seconds, and the lines of the package that each runs.

    Lines are known by their text within a file, so that edits elsewhere move nothing.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._tests: dict[str, dict[str, list[str]]] = defaultdict(dict)

    def measure(self, mutants: list[Mutant]) -> None:
        """Read what is known of the test files; run those that changed.

        Kernels meet the tests of their own alone.
        """
        compiled = all(mutant.file.endswith(".pyx") for mutant in mutants)
        for path in _test_files(["tests/kernels"] if compiled else TESTS):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            name = path.relative_to(ROOT).as_posix()
            kept = CACHE / "coverage" / f"{name.replace('/', '-')}.json"
            known = json.loads(kept.read_text()) if kept.exists() else {}
            if known.get("digest") != digest:
                print(f"coverage of {name}", end=" ", flush=True)
                started = time.perf_counter()
                known = in_child(3600.0, _covered_by, path)
                print(f"{time.perf_counter() - started:.0f} s", flush=True)
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps({"digest": digest} | known))
            self._add(known)

    def _add(self, known: dict) -> None:
        names = list(known.get("seconds", {}))
        self.seconds |= known.get("seconds", {})
        for file, lines in known.get("lines", {}).items():
            here = self._tests[file]
            for line, places in lines.items():
                here.setdefault(line, []).extend(names[place] for place in places)

    def tests_of(self, mutant: Mutant, text: str) -> list[str]:
        """The tests that run a mutant's line, or its function; those of a kernel."""
        if mutant.file.endswith(".pyx"):  # coverage does not see compiled code
            own = f"tests/kernels/test_{Path(mutant.file).stem}"
            return sorted(name for name in self.seconds if name.startswith(own))
        rows = text.splitlines()
        here = self._tests[mutant.file]
        found: set[str] = set()
        for line in mutant.lines:
            found.update(here.get(rows[line - 1].strip(), ()))
        if not found and (body := _body_of(text, mutant.function)):
            for line in body:
                found.update(here.get(rows[line - 1].strip(), ()))
        return sorted(found)


def _test_files(folders: list[str]) -> Iterator[Path]:
    for folder in folders:
        path = ROOT / folder
        yield from sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


def _body_of(text: str, function: str) -> range | None:
    scope: ast.AST = ast.parse(text)
    for name in function.split("."):
        scope = next(
            node
            for node in ast.walk(scope)
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name
        )
    body = scope.body  # type: ignore[attr-defined]
    return range(body[0].lineno, body[-1].end_lineno + 1)


def _covered_by(path: Path) -> dict:
    """Run a test file; its tests' seconds, and file → text of a line → tests."""
    import coverage
    import pytest

    measured = [str(PACKAGE / folder) for folder in (*FOLDERS, "solvers")]
    tracer = coverage.Coverage(data_file=None, source=measured, messages=False)
    seconds: dict[str, float] = {}

    class Plugin:
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_protocol(self, item):
            tracer.switch_context(item.nodeid)
            seconds[item.nodeid] = 0.0
            yield

        def pytest_runtest_logreport(self, report):
            seconds[report.nodeid] += report.duration
            if report.failed:
                seconds[report.nodeid] = math.inf  # tells nothing about a mutant

    sys.path.insert(0, str(PACKAGE.parent))
    tracer.start()
    pytest.main([*OPTIONS, str(path)], plugins=[Plugin()])
    tracer.stop()
    places = {name: place for place, name in enumerate(seconds)}
    lines: dict[str, dict[str, list[int]]] = {}
    data = tracer.get_data()
    for file in data.measured_files():
        if not file.endswith(".py"):  # a template: its lines are of other code
            continue
        rows = Path(file).read_text().splitlines()
        here: dict[str, set[int]] = defaultdict(set)
        for line, names in data.contexts_by_lineno(file).items():
            here[rows[line - 1].strip()].update(places[n] for n in names if n in places)
        relative = Path(file).relative_to(PACKAGE).as_posix()
        lines[relative] = {row: sorted(found) for row, found in here.items() if found}
    return {"seconds": seconds, "lines": lines}


# ---------------------------------------------------------------------------
# Running

#: That a test fails is enough: no report, no shrinking, nothing kept.
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"]
OPTIONS += ["--hypothesis-profile", "no shrinking", "--tb=no"]
#: What all children need and only the first process imports.
WARM = ["numpy", "scipy.optimize", "scipy.sparse.linalg", "scipy.stats"]
WARM += ["sklearn.utils.estimator_checks", "sklearn.pipeline", "sklearn.preprocessing"]
WARM += ["sklearn.model_selection", "sklearn.linear_model", "sklearn.datasets"]
WARM += ["pytest", "hypothesis", "hypothesis.extra.numpy", "pandas", "mpmath"]
WARM += ["cvxpy", "clarabel", "coverage"]


def warm_up() -> None:
    """Import what is not ours once, for all children."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["SCIPY_ARRAY_API"] = "1"
    for name in WARM:
        importlib.import_module(name)


def in_child(seconds: float, work: Callable, *arguments):
    """What `work` returns in a child process; TimeoutError where it takes longer.

    Counted are the processor's seconds, whatever else the machine is doing; and ten
    times as many of the clock, for a child that waits for ever.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        import resource  # Unix alone has it

        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds),) * 2)
        os.close(read)
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        try:
            result = work(*arguments)
        except BaseException as error:  # a mutant may break anything
            result = f"{type(error).__name__}"
        with os.fdopen(write, "w") as out:
            json.dump(result, out)
        os._exit(0)
    os.close(write)
    return _answer(child, read, seconds)


def _answer(child: int, read: int, seconds: float):
    parts, limit, status = [], time.monotonic() + 10 * seconds, 0
    try:
        while True:
            left = limit - time.monotonic()
            if left <= 0 or not select.select([read], [], [], left)[0]:
                raise TimeoutError
            part = os.read(read, 1 << 20)
            if not part:
                break
            parts.append(part)
    finally:
        os.close(read)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if parts:
        return json.loads(b"".join(parts))
    if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        raise TimeoutError
    return f"ends by signal {os.WTERMSIG(status)}"


def judge(mutant: Mutant, tests: list[str], limit: float) -> str | None:
    """The first of the tests that fails on the mutant, or what else killed it."""
    folder = CACHE / f"copy-{os.getpid()}"
    shutil.copytree(PACKAGE.parent, folder, copy_function=os.link)
    text = (PACKAGE / mutant.file).read_text()
    broken = folder / "wideberth" / mutant.file
    broken.unlink()  # the link, not the file
    broken.write_text(mutant.applied(text))
    try:
        if broken.suffix == ".pyx":
            _compile(broken)
        return in_child(limit, _failed, folder, tests)
    except TimeoutError:
        return f"no end within {limit:.0f} s"
    except subprocess.CalledProcessError:
        return NO_CODE
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compile(kernel: Path) -> None:
    """Compile a kernel in place, as `setup.py` does but in less time."""
    for built in kernel.parent.glob(f"{kernel.stem}.*"):
        if built.suffix in (".c", ".so"):
            built.unlink()  # a link: the file must not be written to
    directives = "boundscheck=False,wraparound=False,cdivision=True,language_level=3"
    cythonize = [sys.executable, "-m", "Cython.Build.Cythonize", "-i", "-X", directives]
    subprocess.run(
        [*cythonize, kernel],
        env=os.environ | {"CFLAGS": "-O1"},
        check=True,
        capture_output=True,
    )


def _failed(package: Path, tests: list[str]) -> str | None:
    """The first of the tests that fails on a package."""
    import pytest

    os.environ["PYTHONPATH"] = os.pathsep.join([str(package), str(ROOT / "paper")])
    sys.path.insert(0, str(package))
    files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
    order = {name: place for place, name in enumerate(tests)}
    failed: list[str] = []

    class Plugin:
        def pytest_collection_modifyitems(self, items):
            items[:] = [item for item in items if item.nodeid in order]
            items.sort(key=lambda item: order[item.nodeid])

        def pytest_runtest_logreport(self, report):
            if report.failed:
                failed.append(report.nodeid)

        def pytest_collectreport(self, report):
            if report.failed:
                failed.append(f"import of {report.nodeid}")

    pytest.main(["-x", *OPTIONS, *files], plugins=[Plugin()])
    return failed[0] if failed else None


# ---------------------------------------------------------------------------
# The sample and the report


def in_order(
    tests: list[str], mutant: Mutant, seconds: dict, limit: float
) -> list[str]:
    """The tests most worth running, first: quick, nearby, of many functions.

    Together they take no more than `limit` on the package as it is.
    """
    folder = mutant.file.partition("/")[0]
    asked: Counter[str] = Counter()

    def cost(name: str) -> float:
        function = name.partition("[")[0]
        asked[function] += 1
        far = 1 if f"tests/{folder}/" in name else 3
        return (seconds[name] + 0.005) * far * asked[function]

    total, chosen = 0.0, []
    for name in sorted(sorted(tests, key=seconds.__getitem__), key=cost):
        if total + seconds[name] <= limit:
            total += seconds[name]
            chosen.append(name)
    return chosen


def drawn(folders: list[str], seed: int, count: int) -> list[Mutant]:
    """A sample of the mutants of some folders or files of the package."""
    every = []
    for folder in folders:
        path = PACKAGE / folder
        for file in sorted(path.rglob("*.py*")) if path.is_dir() else [path]:
            kinds = {".py": mutants_of, ".pyx": kernel_mutants_of}
            if file.suffix in kinds:
                name = file.relative_to(PACKAGE).as_posix()
                every += kinds[file.suffix](name, file.read_text())
    return random.Random(seed).sample(every, min(count, len(every)))


class Report:
    """Runs mutants, and says of each what became of it."""

    def __init__(self, coverage: Coverage, seconds: float):
        self.coverage, self.seconds, self.counts = coverage, seconds, Counter()
        self.killers: set[str] = set()

    def run(self, mutant: Mutant, number: int) -> None:
        """Put a mutant before its tests."""
        tests = self.coverage.tests_of(mutant, (PACKAGE / mutant.file).read_text())
        chosen = in_order(tests, mutant, self.coverage.seconds, self.seconds)
        killer = judge(mutant, chosen, 30 + 3 * self.seconds) if chosen else None
        if killer is None:
            self.counts["survived"] += 1
            print(f"{number:4} SURVIVES {mutant}")
            print(f"    {len(chosen)} of {len(tests)} tests pass")
        else:
            self.counts["no code" if killer == NO_CODE else "killed"] += 1
            self.killers.add(killer)
            print(f"{number:4} {mutant.file}:{mutant.line}  {killer}")
        sys.stdout.flush()

    def failing_unbroken(self) -> str | None:
        """A test that killed a mutant and fails on the package as it is, too."""
        tests = sorted(self.killers & self.coverage.seconds.keys())
        return in_child(3600.0, _failed, PACKAGE.parent, tests)


def main() -> int:
    """Draw, run, and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", default=FOLDERS, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0, help="of tests, each")
    parser.add_argument("--store", action="store_true", help="for the pages")
    options = parser.parse_args()
    warm_up()
    mutants = drawn(options.folders, options.seed, options.count)
    coverage = Coverage()
    coverage.measure(mutants)
    report = Report(coverage, options.seconds)
    for number, mutant in enumerate(mutants, 1):
        report.run(mutant, number)
    killed, survived = report.counts["killed"], report.counts["survived"]
    share = killed / max(killed + survived, 1)
    if options.store:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        from tools.stored import store

        row = [", ".join(options.folders), killed + survived, killed]
        store("mutants", ["folders", "mistakes", "noticed"], [row])
    print(f"seed {options.seed}: {killed} killed ({share:.1%}), {survived} survive")
    if failing := report.failing_unbroken():
        print(f"{failing} fails on the package as it is; mend that first.")
    return 1 if share < REQUIRED or failing else 0


if __name__ == "__main__":
    sys.exit(main())
