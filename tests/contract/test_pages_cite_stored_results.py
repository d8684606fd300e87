"""Figures that pages copy from `benchmarks/results` are those of the stored tables.

A measurement that is repeated changes the stored table, and then the page is stale.
"""

import re
from pathlib import Path

import pytest

from tools.stored import stored

ROOT = Path(__file__).resolve().parents[2]
DOCS, RESULTS = ROOT / "docs", ROOT / "benchmarks" / "results"

#: Page, what it says, the file of results, and where it says the same.
CITED = [
    ("proof", "| 55 | 0.2 s |", "choice_proof", "| 0.23 s | 55 |"),
    ("proof", "| 132 | 0.8 s |", "choice_proof", "| 0.76 s | 132 |"),
    ("proof", "| 241 | 2.2 s |", "choice_proof", "| 2.24 s | 241 |"),
    ("proof", "| 627 | 9.5 s |", "choice_proof", "| 9.46 s | 627 |"),
    ("proof", "| 183 | 9.8 s |", "choice_proof", "| 9.84 s | 183 |"),
    ("paths", "| 13 points | 34 |", "choice_proof", "radius 0.02, free b: 34"),
    ("scaling", "| 34 (in memory: 21) | 5 |", "scale", "| 33.7 | 1.58 | 5.0 | 0.80 |"),
    ("scaling", "| 9.6 (in memory: 3.2) | 4 |", "scale", "| 9.6 | 3.03 | 4.0 | 0.46 |"),
    ("scaling", "with wideberth 0.2.0", "scale", "wideberth 0.2.0"),
    ("scaling", "0.12 to 0.13 | 3 | 11 GB", "gpu", "(0.123–0.126) | 3 |"),
    ("scaling", "0.40 to 0.41 | 3 | 29 GB", "gpu", "(0.396–0.407) | 3 |"),
    ("scaling", "1.9 to 2.0 | 4 | 133 GB", "gpu", "(1.944–2.018) | 4 |"),
    ("scaling", "in the time of 6 products", "ties", "| 135 | 1 | 11.9 | 6.0 |"),
    ("scaling", "take 13 to 14 products", "ties", "| 0.01 | 4.1 | 14.1 |"),
    ("scaling", "take 13 to 14 products", "ties", "| 1 | 4.5 | 12.8 |"),
    ("scaling", "whose rows differ, 117", "ties", "| 1 | 12.2 | 117.0 |"),
    ("details", "take 13 ms", "small", "| digits, auto | 1 | 0.0127 |"),
    ("details", "3 to 15 times as", "small", "| wine | 0.01 | 0.1 | 0.162 | 2.35 |"),
    ("details", "3 to 15 times as", "small", "| digits | 1 | 0 | 1.7 | 5.1 |"),
    ("wrong-labels", "0.5 to 4.3 times", "labels", "median 2.85, most 4.34"),
    ("wrong-labels", "up to C = 0.1 only", "labels", "at C = 1 is missing"),
    ("wrong-labels", "a\nversion before 0.2", "labels", "wideberth 0.2.0.dev0"),
    (
        "curved",
        "| 57 | 245 to 253 | 36 to 49 |",
        "kernels",
        "| 56.79 | 253.09 | 36.00 |",
    ),
    ("curved", "| 3.1 to 3.9 | 40 |", "kernels", "| 3.06 | 39.96 | 4.80 |"),
    ("curved", "| 0.9 to 1.6 | 2.6 to 3.7 |", "kernels", "| 1.56 | 3.68 | 3.30 |"),
    ("curved", "| 0.3 to 0.4 | 0.7 to 1.0 |", "kernels", "| 0.34 | 0.96 | 0.58 |"),
    ("curved", "18 s in memory and 71 s", "kernels", "| file | 48 | 71 |"),
    ("curved", "about 1.4 with γ = 1/30", "kernels", "| 1/30 | 1.685 | 1.41 |"),
    ("curved", "is 0.993, and 0.988", "measured", "| 0.9878 | 0.9927 |"),
    ("curved", "a mean error of 0.098", "measured_regression", "curve | 0.0977 |"),
    ("error-bars", "0.9815 to 0.9878", "measured", "| 0.9815 | 0.9878 |"),
    ("error-bars", "0.875, `MeasuredSVC` 0.966", "measured", "| 0.8752 | 0.9661 |"),
    (
        "regression",
        "| 0.202 | 0.345 |",
        "measured_regression",
        "| 0.2018 | 1.000 | 0.3453 |",
    ),
    ("regression", "0.93 ± 0.19", "regression", "0.5: -0.93 ± 0.19, -5.49 ± 0.54"),
    ("comparison", "90, 91 and\n90 %", "measured_regression", "0.90, 0.91, 0.90"),
    ("comparison", "94, 91 and 87 %", "measured_regression", "0.94, 0.91, 0.87"),
    ("comparison", "0.7 times the time", "choice", "liblinear ÷ auto: least 0.70"),
    ("comparison", "0.55 times the time", "choice", "rehline ÷ auto: least 0.55"),
    ("index", "takes 0.6 s on one core", "table", "| covtype, fit | 576.4 ms |"),
]


@pytest.mark.parametrize(("page", "said", "file", "found"), CITED)
def test_a_figure_on_a_page_is_that_of_the_stored_table(page, said, file, found):
    assert found in (RESULTS / f"{file}.md").read_text("utf-8")
    assert said in (DOCS / f"{page}.md").read_text("utf-8")


def test_a_check_that_failed_is_shown_as_failed():
    """Of the mutants 85 % must be noticed."""
    (row,) = stored()["mutants"]["rows"]
    page = (DOCS / "reliability.md").read_text("utf-8")
    assert (row[2] < 0.85 * row[1]) == ("**not met**" in page)


def test_commands_that_pages_name_exist():
    """`python -m benchmarks.x` and files of benchmarks are there."""
    for page in [
        ROOT / "README.md",
        *DOCS.rglob("*.md"),
        ROOT / "benchmarks/README.md",
    ]:
        text = page.read_text("utf-8")
        names = re.findall(r"benchmarks\.(\w+)", text)
        names += re.findall(r"benchmarks/(\w+)\.py", text)
        for name in names:
            assert (ROOT / "benchmarks" / f"{name}.py").exists(), (page.name, name)
        for name in re.findall(r"benchmarks/results/([\w/]+\.md)", text):
            assert (RESULTS / name).exists(), (page.name, name)
