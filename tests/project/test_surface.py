"""What a user finds at the top of the package."""

import ast
import subprocess
import sys
from pathlib import Path

import wideberth
from wideberth import errors


def test_the_top_holds_at_most_22_names_and_shows_nothing_else():
    assert len({*wideberth.__all__} - {"__version__"}) <= 22
    assert dir(wideberth) == sorted(wideberth.__all__)
    for name in wideberth.__all__:
        assert getattr(wideberth, name) is not None


def test_functions_are_functions_whatever_was_imported_before():
    assert all(map(callable, (wideberth.solve, wideberth.path, wideberth.screen)))
    assert wideberth.errors is errors


def test_type_checkers_read_the_names_that_python_finds():
    tree = ast.parse(Path(wideberth.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    told = {name.name: node.module for node in block.body for name in node.names}
    assert told.pop("errors") == "wideberth"
    assert told == wideberth._HOMES
    assert {*told, "errors", "__version__"} == set(wideberth.__all__)


def test_importing_the_package_loads_no_library():
    code = "import sys, wideberth; dir(wideberth); print('numpy' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.stdout == "False\n"


def test_errors_are_made_in_one_module():
    assert set(errors.__all__) == {
        "columns",
        "fill",
        "from_imputations",
        "from_limits",
        "from_quantities",
        "from_replicates",
        "from_sides",
    }
