"""The report of a fit: complete, honest, safe, and readable by everyone."""

import json
import re

import numpy as np
import pytest

from browser import audit, contrast, needs_axe, needs_browser, probe
from commands import as_csv, two_classes
from wideberth.cli import main

HOSTILE = "<script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report on data whose names and classes are markup, and its numbers."""
    folder = tmp_path_factory.mktemp("report")
    X, y = two_classes(150)
    X[:7, 1] = np.nan
    text = as_csv(X, np.where(y == "sick", "<b>sick & ill</b>", "\"well\"'"),
                  (HOSTILE, "$x_1$", "${title}"), "<i>state</i>")  # fmt: skip
    (folder / "data.csv").write_text(text.replace("nan", ""))
    arguments = ["--target", "<i>state</i>", "--radius", "0.2", "--report"]
    assert (
        main(["fit", str(folder / "data.csv"), *arguments, str(folder / "r.html")]) == 0
    )
    return (folder / "r.html").read_text(encoding="utf-8")


def fit(tmp_path, capsys, table, *arguments):
    """Result of a fit, and its warnings by their codes."""
    (tmp_path / "data.csv").write_text(table)
    code = main(
        ["fit", str(tmp_path / "data.csv"), "--target", "state", "--json", *arguments]
    )
    result = json.loads(capsys.readouterr().out)
    return code, result, {warning["code"] for warning in result["warnings"]}


def test_the_page_tells_what_was_asked_found_and_proven(report):
    for heading in (
        "What was asked", "The data", "Accuracy on rows it has not seen",
        "How much noise it withstands", "Critical radius", "Class by class",
        "Rows that flip most easily", "What to measure more precisely",
        "The model, in the units of the data", "How good the optimum is",
        "How to reproduce this",
    ):  # fmt: skip
        assert f">{heading}</h" in report
    assert "Rows left out, values missing</dt><dd>7</dd>" in report
    assert re.search(r"SHA-256</dt><dd>[0-9a-f]{64}</dd>", report)
    assert "$x_1$" in report
    assert "${title}" in report
    assert not re.search(r"(?:src|href)=\"(?!data:|#)", report)
    ids = re.findall(r'\bid="([^"]+)"', report)
    assert len(ids) == len(set(ids))
    assert "></button>" not in report


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1200])
def test_a_browser_shows_it_whole(report, tmp_path, width, dark):
    seen = probe(report, tmp_path, width, dark)
    assert seen["problems"] == []
    assert seen["requests"] == []
    assert seen["inner"] == width
    assert seen["width"] <= width
    assert min(seen["figures"]["certified"]) > 100
    background, text, label = seen["colours"]
    assert contrast(background, text) > 7
    assert contrast(background, label) > 7
    assert (contrast(background, "rgb(0, 0, 0)") < 2) == dark


@needs_axe
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_to_complain_of(report, tmp_path, dark):
    found = audit(report, tmp_path, dark)
    assert found["passed"] > 20
    assert found["violations"] == []


def test_a_radius_near_the_critical_one_is_pointed_out(tmp_path, capsys):
    X, y = two_classes()
    table = as_csv(X, y)
    _, result, codes = fit(tmp_path, capsys, table, "--radius", "0.5", "--folds", "0")
    assert "near-critical" not in codes
    limit = 0.5 * result["training"]["problems"][0]["critical_factor"][0]
    radius = str(0.9 * limit)
    _, _, codes = fit(tmp_path, capsys, table, "--radius", radius, "--folds", "0")
    assert "near-critical" in codes
    radius = str(1.1 * limit)
    code, told, codes = fit(tmp_path, capsys, table, "--radius", radius, "--folds", "0")
    assert code == 3
    assert "null-model" in codes
    assert f"below the critical one, {limit:.4g} in" in str(told["warnings"])


def test_separable_rare_missing_and_uneven_data_is_pointed_out(tmp_path, capsys):
    X, y = two_classes(100)
    base = np.linspace(0, 99, 100)  # the classes are apart in the difference alone
    apart = np.c_[base + 9 * (y == "sick"), base, X[:, 2]]
    assert "separable" in fit(tmp_path, capsys, as_csv(apart, y))[2]
    few = np.where(np.arange(100) < 4, "sick", "well")
    _, result, codes = fit(tmp_path, capsys, as_csv(X, few), "--radius", "0.1")
    assert "imbalance" in codes
    assert result["evaluation"]["folds"] == 4
    lonely = np.where(np.arange(100) < 1, "sick", "well")
    _, result, codes = fit(tmp_path, capsys, as_csv(X, lonely))
    assert "no-cross-validation" in codes
    assert result["evaluation"] is None
    holes = as_csv(np.where(np.arange(100)[:, None] < 9, np.nan, X), y)
    assert "rows-dropped" in fit(tmp_path, capsys, holes.replace("nan", ""))[2]
    uneven = as_csv(X * [1, 1000, 0], y, index=np.arange(100))
    _, _, codes = fit(tmp_path, capsys, uneven, "--radius", "0.1", "--folds", "0")
    assert codes >= {"scales", "isotropic", "constant", "row-counter"}
