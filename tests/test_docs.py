"""What the documentation shows must run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "theory").glob("*.md")),
]


def code_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def test_the_readme_shows_code():
    assert len(code_blocks(ROOT / "README.md")) > 1


@pytest.mark.parametrize("page", filter(code_blocks, PAGES), ids=lambda page: page.name)
def test_the_code_on_a_page_runs_from_top_to_bottom(page):
    names = {}
    for block in code_blocks(page):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http|#)([^)#\s]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target
