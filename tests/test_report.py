"""The report: the same numbers everywhere, and a page that a browser shows whole."""

import csv
import html
import io
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from rich.console import Console

from wideberth.paper.report.figures import draw_all
from wideberth.paper.report.page import page
from wideberth.paper.report.summary import COLUMNS, Results
from wideberth.paper.report.terminal import show


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


PROBE = """<script>
window.problems = [];
console.error = (...words) => window.problems.push(words.join(" "));
addEventListener("error", (e) => window.problems.push(e.message || "not loaded"), true);
addEventListener("load", () => {
  const seen = (svg) => {
    const box = svg.getBoundingClientRect(), drawn = svg.getBBox();
    return Math.min(box.width, box.height, drawn.width, drawn.height);
  };
  const column = (table, k) =>
    [...table.tBodies[0].rows].map((row) => Number(row.cells[k].dataset.value));
  const table = document.querySelector("table"), orders = [];
  for (const turn of table ? [1, 2] : []) {
    table.querySelectorAll("th button")[1].click();
    orders.push(column(table, 1));
  }
  const style = getComputedStyle(document.body);
  const label = document.querySelector("svg text");
  const found = {
    figures: Object.fromEntries([...document.querySelectorAll("figure")].map(
      (f) => [f.id, [...f.querySelectorAll("svg")].map(seen)])),
    orders, width: document.documentElement.scrollWidth, inner: innerWidth,
    colours: [style.backgroundColor, style.color, label && getComputedStyle(label).fill],
    requests: performance.getEntriesByType("resource").map((entry) => entry.name),
    problems: window.problems,
  };
  const note = document.createElement("pre");
  note.id = "probe";
  note.textContent = JSON.stringify(found);
  parent.document.body.append(note);
});
</script>"""
BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)


def probe(source, folder, width=1200, dark=False):
    """Open a page in a headless browser and return what a visitor would see."""
    framed = html.escape(source.replace("<head>", "<head>" + PROBE, 1))
    frame = folder / "frame.html"  # a window cannot be as narrow as a phone
    frame.write_text(
        '<!doctype html><meta name="color-scheme" content="light dark">'
        f'<iframe width="{width}" height="900" frameborder="0" srcdoc="{framed}">',
        encoding="utf-8",
    )
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}", "--window-size=1300,1000",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--dump-dom", frame.as_uri(),
    ]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    note = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.DOTALL)
    return json.loads(html.unescape(note[1]))


def contrast(one, other):
    """WCAG contrast ratio of two CSS rgb() colours."""

    def luminance(colour):
        channels = np.array(re.findall(r"[\d.]+", colour)[:3], dtype=float) / 255
        linear = np.where(
            channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
        )
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium installed")
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


@pytest.mark.skipif(BROWSER is None, reason="no Chromium installed")
def test_the_browser_test_would_notice_errors_and_requests(tmp_path):
    broken = (
        "<!doctype html><html><head></head><body>"
        '<img src="http://example.invalid/x.png"><script>nothing.there</script></body>'
    )
    seen = probe(broken, tmp_path)
    assert any("nothing" in problem for problem in seen["problems"])
    assert seen["requests"] == ["http://example.invalid/x.png"]
