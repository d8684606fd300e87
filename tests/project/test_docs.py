"""What the documentation shows must run."""

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import here
from road_cases import CASES
from road_commands import COMMANDS
from roads import FORMS, TRAINERS
from tools.pages import code_blocks, commands, run_python, shown_outputs
from tools.stored import stored, substitutions
from torture_problems import cases

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "theory").glob("*.md")),
]


def masked(text):
    """Text in which numbers do not count: other versions have other last digits.

    So lines may break elsewhere, and what is next to nothing be above or below it.
    """
    return re.sub(r"\s+", " ", re.sub(r"[+−]?[\d.]+", "#", text))


def figures(text):
    """The numbers in a text."""
    return [float(x.replace("−", "-")) for x in re.findall(r"[+−-]?\d+\.?\d*", text)]


def test_the_readme_shows_code():
    assert len(code_blocks(ROOT / "README.md")) > 1


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """An empty folder, and the commands of this Python."""
    monkeypatch.chdir(tmp_path)
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    monkeypatch.setenv("PATH", tools)


@pytest.mark.parametrize(
    "page", list(filter(code_blocks, PAGES)), ids=lambda page: page.name
)
def test_the_code_on_a_page_runs_from_top_to_bottom(page, shell):
    printed = []
    run_python(page, printed)
    for block, shown, found in zip(
        code_blocks(page), shown_outputs(page), printed, strict=True
    ):
        if not shown:
            continue
        # Other versions and processors have other last digits.
        assert masked(found) == masked(shown), block
        np.testing.assert_allclose(figures(found), figures(shown), rtol=0.02)
    for k, (command, shown) in enumerate(commands(page)):
        done = type_in(command, anew=k == 0)
        assert done.returncode == 0, done.stderr
        assert masked(done.stdout) == masked(shown), command


def type_in(command, anew):
    """Run a command in a shell; those after the first need not start Python anew."""
    words = shlex.split(command.replace("\\\n", ""))
    if anew or words[0] != "wideberth" or not {*"|<>;&$"}.isdisjoint(command):
        own = f'wideberth() {{ {sys.executable} -m wideberth "$@"; }}'
        command = f"{own}\n{command}"
        return subprocess.run(command, shell=True, capture_output=True, text=True)
    return here(words[1:])


def test_the_first_page_decides_alike_on_both_sides(shell):
    """Classes and certified radii, in the same units."""
    page = ROOT / "docs" / "first-model.md"
    made = run_python(page)
    for command, _ in commands(page):
        if command.startswith("wideberth"):
            assert type_in(command, anew=False).returncode == 0
    told = pd.read_csv("decisions.csv")
    assert told["prediction"].tolist() == made["classes"].tolist()
    np.testing.assert_allclose(told["certified_radius"], made["safe_up_to"], rtol=1e-3)


def test_pages_for_beginners_and_their_pictures_hide_no_setting():
    """What they show is what the default C gives."""
    names = ("install", "first-model", "which-knob")
    files = [ROOT / "docs" / f"{name}.md" for name in names]
    for page in [*files]:
        drawn = re.findall(r"plot:: (figures/\w+\.py)", page.read_text("utf-8"))
        files += [ROOT / "docs" / name for name in drawn]
    assert len(files) > len(names)
    for file in files:
        Cs = re.findall(r"\bC=(1e-\d+|0\.0\d*)", file.read_text("utf-8"))
        assert not Cs, (file.name, Cs)


WITH_EXAMPLES = [
    file
    for file in sorted((ROOT / "src" / "wideberth").rglob("*.py"))
    if ">>> " in file.read_text("utf-8")
]


@pytest.mark.parametrize("file", WITH_EXAMPLES, ids=lambda file: file.stem)
def test_the_examples_in_docstrings_run(file):
    name = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
    found = doctest.testmod(importlib.import_module(name.removesuffix(".__init__")))
    assert not found.failed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http|#)([^)#\s]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_figures_that_pages_cite_are_those_of_the_code():
    """A campaign that has changed must be run again with --store."""
    tables = stored()
    counts = Counter(case.family for case in cases())
    assert {row[0]: row[1] for row in tables["torture"]["rows"]} == counts
    number = map(len, (FORMS, TRAINERS, COMMANDS, CASES))
    assert tables["roads"]["rows"] == [["every pair", *number]]
    for name, table in tables.items():
        for bad in {"wrong", "findings", "claims failed"} & {*table["columns"]}:
            place = table["columns"].index(bad)
            assert not any(row[place] for row in table["rows"]), name


def test_every_figure_that_a_page_cites_is_stored():
    known = {*substitutions()}
    for page in PAGES:
        cited = re.findall(r"{{ (\w+) }}", page.read_text("utf-8"))
        assert {*cited} <= known, page.name


def modules(*folders):
    """Names of the modules in some folders of the package, or in all of it."""
    package = ROOT / "src" / "wideberth"
    if not folders:
        return {file.name for file in package.rglob("*.py")}
    return {file.name for name in folders for file in (package / name).rglob("*.py")}


def test_the_map_names_modules_that_there_are():
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    listed = page[page.index("    src/wideberth/") : page.index("    paper/")]
    named = set(re.findall(r"\b\w+\.py\b", listed))
    assert named <= modules()
    held = modules("problem", "screening", "solvers") - {"__init__.py"}
    assert held <= named


def test_the_theory_names_modules_that_there_are():
    page = (ROOT / "docs" / "theory" / "index.md").read_text("utf-8")
    named = re.findall(r"`((?:\w+/)*)(\w+\.py)?`", page)
    package = ROOT / "src" / "wideberth"
    for folder, name in named:
        if folder or name:
            assert list(package.rglob(folder + name)), folder + name


def test_the_citation_and_the_paper_name_the_version():
    import wideberth

    said = (ROOT / "CITATION.cff").read_text("utf-8")
    page = (ROOT / "docs" / "citing.md").read_text("utf-8")
    paper = (ROOT / "paper" / "pyproject.toml").read_text("utf-8")
    assert f"version: {wideberth.__version__}\n" in said
    assert f'version = "{wideberth.__version__}"\n' in paper
    assert f"version = {{{wideberth.__version__}}}" in page
