"""The text on how to read a certified radius is the same wherever it stands."""

import inspect
import re
from pathlib import Path

import pytest

from wideberth import MeasuredSVC, RobustKernelSVC, RobustLinearSVC
from wideberth.estimators import RobustPipeline

ROOT = Path(__file__).resolve().parents[2]
BOX = (ROOT / "docs" / "_radius.md").read_text("utf-8")
PAGES = ["index", "first-model", "the-answer", "glossary", "command-line"]


def words(text):
    """Text without line breaks and indentation."""
    return re.sub(r"\s+", " ", text).strip()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_that_explains_the_radius_includes_the_text(page):
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    assert re.search(r"```{include} _radius\.md\n\s*```", text)


def test_the_readme_has_the_text_word_by_word():
    assert words(BOX) in words((ROOT / "README.md").read_text("utf-8"))


@pytest.mark.parametrize(
    "model", [RobustLinearSVC, RobustKernelSVC, RobustPipeline, MeasuredSVC]
)
def test_every_model_with_certified_radii_documents_how_to_read_them(model):
    assert words(BOX) in words(inspect.getdoc(model.certified_radius))
