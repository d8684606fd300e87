"""The run behind docs/paper.md, kept in `paper/results.json`.

`python -m wideberth_paper.stored reproduction/results.json` keeps another one; the
tests then say which lines of the page to change. Numbers have five digits, and every
record is a line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from wideberth_paper.experiment import full_plan
from wideberth_paper.report.summary import Results

FILE = Path(__file__).parents[1] / "results.json"
#: Tables of `results.json`, and the field of `Results` that each is.
_TABLES = {
    "results": "rows",
    "references": "references",
    "iterations": "steps",
    "regions": "regions",
}


def stored() -> Results:
    """The run that is kept."""
    document = json.loads(FILE.read_text("utf-8"))
    tables = {}
    for name, field in _TABLES.items():
        columns, *lines = document[name]
        tables[field] = [
            {
                key: value
                for key, value in zip(columns, line, strict=True)
                if value is not None
            }
            for line in lines
        ]
    plan = full_plan(document["repeats"])
    rows, references = tables["rows"], tables["references"]
    steps, regions = tables["steps"], tables["regions"]
    return Results(plan, document["environment"], rows, references, steps, regions)


def keep(source: Path) -> None:
    """Keep a full run, from the `results.json` that it wrote."""
    document = json.loads(source.read_text("utf-8"))
    if document["plan"] != "full" or document["failures"]:
        raise ValueError(f"{source} is not of a full run without failures.")
    parts = [
        f'"{name}": {json.dumps(document[name])}' for name in ("repeats", "environment")
    ]
    for name in _TABLES:
        rows = document[name]
        columns = list(dict.fromkeys(key for row in rows for key in row))
        lines = [columns, *([_short(row.get(key)) for key in columns] for row in rows)]
        text = ",\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
        parts.append(f'"{name}": [\n{text}]')
    FILE.write_text("{" + ",\n".join(parts) + "}\n", "utf-8")


def _short(value):
    return float(f"{value:.5g}") if isinstance(value, float) else value


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
