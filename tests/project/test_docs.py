"""What the documentation shows must run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from commands import here
from tools.pages import code_blocks, commands, run_python

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


def test_the_readme_shows_code():
    assert len(code_blocks(ROOT / "README.md")) > 1


@pytest.mark.parametrize(
    "page", list(filter(code_blocks, PAGES)), ids=lambda page: page.name
)
def test_the_code_on_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_python(page)
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    monkeypatch.setenv("PATH", tools)
    for k, (command, shown) in enumerate(commands(page)):
        done = type_in(command, anew=k == 0)
        assert done.returncode == 0, done.stderr
        assert masked(done.stdout) == masked(shown), command


def type_in(command, anew):
    """Run a command in a shell; those after the first need not start Python anew."""
    words = shlex.split(command.replace("\\\n", ""))
    if anew or words[0] != "wideberth" or not {*"|<>;&$"}.isdisjoint(command):
        return subprocess.run(command, shell=True, capture_output=True, text=True)
    return here(words[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http|#)([^)#\s]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


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


def test_the_citation_names_the_version():
    import wideberth

    said = (ROOT / "CITATION.cff").read_text("utf-8")
    page = (ROOT / "docs" / "citing.md").read_text("utf-8")
    assert f"version: {wideberth.__version__}\n" in said
    assert f"version = {{{wideberth.__version__}}}" in page
