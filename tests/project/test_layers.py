"""Arrows point down: each part of the package imports what the map allows."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import ast

import figures
import layers


def test_no_import_goes_against_the_map():
    assert layers.against_the_map() == []


def test_no_class_name_is_used_twice():
    assert layers.class_names_used_twice() == []


def test_imports_in_functions_are_seen():
    tree = ast.parse(
        "def f():\n    from wideberth.cli import main\n    import wideberth._path"
    )
    assert list(layers.imported(tree)) == ["wideberth.cli", "wideberth._path"]
    assert layers.part_of("wideberth.cli") not in layers.ALLOWED["solvers"]
    assert layers.part_of("wideberth._path") == layers.FRONT
    tree = ast.parse("from wideberth.problem import rows, Problem")
    assert list(layers.imported(tree)) == [
        "wideberth.problem.rows",
        "wideberth.problem",
    ]


def test_every_part_has_a_place_on_the_map():
    parts = {layers.part_of(name) for name in layers.modules()} - {"all"}
    assert parts == set(layers.ALLOWED)


def test_what_the_figures_count_by_name_is_there():
    for names in figures.COUNTED.values():
        for name in names:
            assert figures.exists(name), name
