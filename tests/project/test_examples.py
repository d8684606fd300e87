"""The gallery runs, and the tool that follows the site's links finds broken ones."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))
FIGURES = sorted((ROOT / "docs" / "figures").glob("*.py"))


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


@pytest.mark.parametrize("figure", FIGURES, ids=lambda path: path.stem)
def test_a_figure_of_a_page_is_drawn(figure, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.syspath_prepend(figure.parent)
    runpy.run_path(str(figure))
    drawn = pyplot.get_fignums()
    pyplot.close("all")
    assert drawn or figure.stem == "irises"  # the data that others draw


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
