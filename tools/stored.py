"""Figures that pages cite: campaigns store them, and the build of pages inserts them.

`docs/figures.json` holds a table for each campaign; `python tests/campaigns/torture.py
--store` writes its own. On a page `{{ torture }}` is the table, and
`{{ torture_certified }}` the sum of its column "certified"; of columns whose heading
begins with "worst" or "longest" it is the largest value. Tests hold the tables against
the code (`tests/project/test_docs.py`).
"""

from __future__ import annotations

import json
import time
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "docs" / "figures.json"


def stored() -> dict[str, dict]:
    """All tables: their date, columns and rows."""
    return json.loads(FILE.read_text("utf-8"))


def store(name: str, columns: list[str], rows: list[list]) -> None:
    """Replace the table of a campaign; its first column names the rows."""
    assert all(len(row) == len(columns) for row in rows)
    table = {"date": time.strftime("%Y-%m-%d"), "columns": columns, "rows": rows}
    tables = {**stored(), name: table}
    lines = (f"{json.dumps(one)}: {_written(tables[one])}" for one in sorted(tables))
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def _written(table: dict) -> str:
    """A table with a line for each row."""
    rows = ",\n".join(
        f"  {json.dumps(row, ensure_ascii=False)}" for row in table["rows"]
    )
    head = json.dumps({k: table[k] for k in ("date", "columns")}, ensure_ascii=False)
    return f'{head[:-1]}, "rows": [\n{rows}]}}'


def substitutions() -> dict[str, str]:
    """What pages may cite, by name."""
    found = {}
    for name, table in stored().items():
        headings, rows = table["columns"], table["rows"]
        lines = [headings, ["---", *["--:"] * (len(headings) - 1)], *rows]
        found[name] = "\n".join(
            f"| {' | '.join(map(_shown, line))} |" for line in lines
        )
        found[f"{name}_date"] = table["date"]
        for place, heading in enumerate(headings[1:], 1):
            column = [row[place] for row in rows]
            if not any(isinstance(value, str) for value in column):
                total = max if heading.startswith(("worst", "longest")) else sum
                key = "".join(c if c.isalnum() else "_" for c in heading)
                found[f"{name}_{key}"] = _shown(total(column))
    return found


def _shown(value: object) -> str:
    """A number with spaces between thousands; a text as it is."""
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}".replace(",", "\u202f")
    return str(value)
