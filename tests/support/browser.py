"""What a headless browser makes of a page."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

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
  const filled = (table) => column(table, 1).every((value) => value > 0);
  const tables = [...document.querySelectorAll("table")], orders = [];
  const table = tables.find(filled) ?? tables[0];
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
_BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(_BROWSER is None, reason="no Chromium installed")


#: Where `make accessibility` puts axe-core.
_AXE = Path(__file__).resolve().parents[2] / ".venv/node_modules/axe-core/axe.min.js"
_AUDIT = """<script src="{axe}"></script><script>
addEventListener("load", async () => {{
  for (const details of document.querySelectorAll("details")) details.open = true;
  const found = await axe.run();
  const note = document.createElement("pre");
  note.id = "probe";
  note.textContent = JSON.stringify({{
    passed: found.passes.length,
    violations: found.violations.map((v) => [v.impact, v.id, v.nodes[0].html]),
  }});
  document.body.append(note);
}});
</script>"""
needs_axe = pytest.mark.skipif(
    _BROWSER is None or not _AXE.exists(), reason="run `make accessibility`"
)


def probe(source, folder, width=1200, dark=False):
    """Open a page in a headless browser and return what a visitor would see."""
    framed = html.escape(source.replace("<head>", "<head>" + PROBE, 1))
    frame = folder / "frame.html"  # a window cannot be as narrow as a phone
    frame.write_text(
        '<!doctype html><meta name="color-scheme" content="light dark">'
        f'<iframe width="{width}" height="900" frameborder="0" srcdoc="{framed}">',
        encoding="utf-8",
    )
    return _open(frame, folder, dark)


def audit(source, folder, dark=False):
    """Return what axe-core says of a page: rules passed, and violations."""
    page = folder / "audited.html"
    script = _AUDIT.format(axe=_AXE.as_uri())
    page.write_text(source.replace("<head>", "<head>" + script, 1), encoding="utf-8")
    return _open(page, folder, dark)


def _open(page, folder, dark):
    """Open a page and return what its script left in the element `probe`."""
    command = [
        _BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}", "--window-size=1300,1000",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--virtual-time-budget=20000", "--dump-dom", page.as_uri(),
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
