"""What the documentation shows must run."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "theory").glob("*.md")),
]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def code_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def test_the_readme_shows_code():
    assert len(code_blocks(ROOT / "README.md")) > 1


@pytest.mark.parametrize(
    "page", [*filter(code_blocks, PAGES)], ids=lambda page: page.name
)
def test_the_code_on_a_page_runs_from_top_to_bottom(page):
    names = {}
    for block in code_blocks(page):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http|#)([^)#\s]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("error::UserWarning:wideberth")
def test_an_example_runs_and_draws(example, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    figures = pyplot.get_fignums()
    pyplot.close("all")
    assert figures


def test_the_link_checker_finds_missing_files_and_anchors(tmp_path):
    (tmp_path / "sub").mkdir()
    good = '<h1 id="top">x</h1><a href="sub/b.html#here">b</a><a href="#top">up</a>'
    (tmp_path / "a.html").write_text(good)
    (tmp_path / "sub" / "b.html").write_text('<p id="here"><a href="../a.html">a</a>')
    check = [sys.executable, str(ROOT / "tools" / "check_links.py"), str(tmp_path)]
    assert subprocess.run(check).returncode == 0
    bad = '<a href="../c.html">c</a><a href="../a.html#gone">a</a>'
    (tmp_path / "sub" / "d.html").write_text(bad)
    found = subprocess.run(check, capture_output=True, text=True)
    assert found.returncode == 1
    assert "no file for ../c.html" in found.stdout
    assert "no anchor for ../a.html#gone" in found.stdout
