"""The report: the same numbers everywhere, and a page that a browser shows whole."""

import csv
import io
import json
import re

import pytest
from rich.console import Console

from browser import audit, contrast, needs_axe, needs_browser, probe
from wideberth_paper.report.figures import draw_all
from wideberth_paper.report.page import page
from wideberth_paper.report.summary import COLUMNS, Results
from wideberth_paper.report.terminal import show


def test_csv_and_json_hold_the_same_numbers_with_versions_and_machine(results):
    found, folder = results
    document = json.loads((folder / "results.json").read_text())
    assert document["results"] == found.rows
    assert document["environment"]["versions"]["scs"]
    with open(folder / "results.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(found.rows)
    for written, row in zip(rows, found.rows, strict=True):
        for name in COLUMNS:
            value = row.get(name)
            assert written[name] == ("" if value is None else str(value))
        assert "scs " in written["versions"]
        assert written["machine"]


def test_the_page_holds_every_figure_and_number_and_asks_for_nothing(results):
    found, folder = results
    text = (folder / "report.html").read_text(encoding="utf-8")
    for figure in draw_all(found):
        assert f'id="{figure.name}"' in text
    for row in found.rows:
        assert f'data-value="{row["seconds"]!r}"' in text
    assert not re.search(r"(?:src|href)=\"(?!data:|#)", text)
    assert "@import" not in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_what_is_not_ours_is_escaped(results):
    found = results[0]
    hostile = dict(found.environment, machine={"processor": "<b>&</b>", "cores": 1})
    text = page(Results(**vars(found) | {"environment": hostile}), [])
    assert "<b>&" not in text
    assert "&lt;b&gt;&amp;" in text


def test_the_summary_fits_the_terminal(results):
    for width, last in ((100, "test %"), (60, "wrong S")):
        stream = io.StringIO()
        console = Console(file=stream, width=width)
        show(console, results[0], "report.html")
        lines = stream.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        (heading,) = (line for line in lines if "seconds" in line)
        assert heading.strip().startswith("method")
        assert heading.strip().endswith(last)
        assert sum("wideberth, ellipsoid" in line for line in lines) == 1


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1200])
def test_a_browser_shows_the_page_whole(results, tmp_path, width, dark):
    found, folder = results
    source = (folder / "report.html").read_text(encoding="utf-8")
    seen = probe(source, tmp_path, width, dark)
    assert seen["problems"] == []
    assert seen["requests"] == []
    assert seen["inner"] == width
    assert seen["width"] <= width
    assert set(seen["figures"]) == {figure.name for figure in draw_all(found)}
    assert all(panels and min(panels) > 100 for panels in seen["figures"].values())
    up, down = seen["orders"]
    assert up == sorted(up) != down == sorted(down, reverse=True)
    background, text, label = seen["colours"]
    assert contrast(background, text) > 7
    assert contrast(background, label) > 7
    assert (contrast(background, "rgb(0, 0, 0)") < 2) == dark


@needs_axe
def test_axe_finds_nothing_to_complain_of(results, tmp_path):
    source = (results[1] / "report.html").read_text(encoding="utf-8")
    assert audit(source, tmp_path)["violations"] == []
