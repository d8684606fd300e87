"""Rows that look mislabelled, for people: `RobustLinearSVC.suspects_` as plain data."""

from __future__ import annotations

import math

from wideberth.cli import output
from wideberth.cli.options import TrainingOptions
from wideberth.cli.prepare import PreparedRows
from wideberth.data.errors import agree, counted
from wideberth.estimators import RobustLinearSVC

#: Why a descent ended, by `RampDescent.ending`.
_ENDINGS = {
    "repeats": "a further step would change nothing",
    "stalls": "a further step would gain next to nothing",
    "cut short": "it was cut short, and further steps may find better",
}
#: Headings of what is told of a suspect beside its row and its name.
_TOLD = ("given", "predicted", "distance", "noises")


def describe_suspects(
    options: TrainingOptions, rows: PreparedRows, svc: RobustLinearSVC
) -> dict | None:
    """Rows whose label a model disbelieves, the most doubtful first.

    They are counted as in the file, those that are not trained on included. None where
    labels are not in doubt; `found` and `rows` are None of data that is read in pieces.
    """
    if svc.ramp is None:
        return None
    told: dict = {"id": options.id or options.replicates, "found": None, "rows": None}
    if rows.kept is None:
        return told
    lines = []
    for sample, label, predicted, *distances in svc.suspects_.tolist():
        name = None if rows.names is None else rows.names[sample]
        number = int(rows.kept[sample]) + 1
        lines.append([number, name, str(label), str(predicted), *distances])
    found = output.records(["row", "id", *_TOLD], lines)
    return told | {"found": len(found), "rows": found}


def suspects_text(suspects: dict) -> str:
    """All of them as CSV."""
    return output.table_text(*_table(suspects))


def tell_suspects(suspects: dict, problems: list[dict], listed: str) -> list[str]:
    """Lines for the terminal: the first suspects, and what was left out.

    `listed` says where the others are.
    """
    lines = [f"suspects   {count_suspects(suspects)}"]
    if found := suspects["found"]:
        headings, rows = _table(suspects)
        if all(row[-1] == math.inf for row in rows):  # nothing may be off
            headings, rows = headings[:-1], [row[:-1] for row in rows]
        lines += _aligned([headings, *(list(map(_cell, row)) for row in rows[:5])])
        if found > 5:
            lines.append(f"           and {found - 5} more{listed}")
    return [*lines, f"left out   {tell_left_out(problems)}; {tell_ending(problems)}"]


def count_suspects(suspects: dict) -> str:
    """Say how many there are."""
    found = suspects["found"]
    if found is None:
        return "not listed: data that is read in pieces (--memory) keeps no rows"
    if not found:
        return "none: no row looks mislabelled"
    looks = agree(found, "looks mislabelled; check it", "look mislabelled; check these")
    return f"{counted(found, 'row')} {looks} first"


def tell_ending(problems: list[dict]) -> str:
    """Say why descents ended."""
    endings = [_ENDINGS[problem["descent"]["ending"]] for problem in problems]
    return " or ".join(dict.fromkeys(endings))


def tell_left_out(problems: list[dict]) -> str:
    """Say how many rows are left out."""
    counts = [problem["descent"]["left_out"] for problem in problems]
    told = "their number was not kept"
    if None not in counts:
        n = sum(counts)
        told = counted(n, "row")
    if len(counts) > 1:
        told += f", over {len(counts)} classes set against the rest"
    return told


def _table(suspects: dict) -> tuple[list[str], list[list]]:
    """Headings and lines; what JSON has no number for is infinite."""
    name = suspects["id"]
    keys = ["row", *(["id"] if name else []), *_TOLD]
    headings = ["row", *([name] if name else []), *_TOLD]
    lines = []
    for one in suspects["rows"]:
        far = {key: one[key] if one[key] is not None else math.inf for key in _TOLD}
        lines.append([(one | far)[key] for key in keys])
    return headings, lines


def _cell(value) -> str:
    if value is None:
        return "–"
    return output.number(value) if isinstance(value, float) else str(value)


def _aligned(lines: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "           "
        + "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
