"""The numbers as files: `results.json` with everything, and one CSV per table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from wideberth.data.files import write_atomically
from wideberth_paper.report.summary import COLUMNS, Results

__all__ = ["write_tables"]


def write_tables(results: Results, folder: Path) -> list[Path]:
    """Write all tables; each row of a CSV names the versions and the machine."""
    document = {
        "plan": results.plan.name,
        "repeats": results.plan.repeats,
        "environment": results.environment,
        "checks": [vars(check) for check in results.checks()],
        "failures": results.failures,
        "columns": {name: meaning for name, (_, meaning) in COLUMNS.items()},
        "results": results.rows,
        "references": results.references,
        "iterations": results.steps,
        "regions": results.regions,
    }
    files = {"results.json": json.dumps(document, indent=1, allow_nan=False) + "\n"}
    provenance = {
        kind: "; ".join(f"{name} {value}" for name, value in results.environment[kind]
                        .items())
        for kind in ("versions", "machine")
    }  # fmt: skip
    for name, rows in (
        ("results", [{key: row.get(key) for key in COLUMNS} for row in results.rows]),
        ("references", results.references),
        ("iterations", results.steps),
        ("regions", results.regions),
    ):
        files[f"{name}.csv"] = _csv([row | provenance for row in rows])
    for name, text in files.items():
        write_atomically(folder / name, text)
    return [folder / name for name in files]


def _csv(rows: list[dict]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
