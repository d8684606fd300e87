"""`wideberth demo`: a bundled table as a file, and the command that fits it."""

from __future__ import annotations

import os
import shlex

import numpy as np

from wideberth.cli.options import DemoOptions
from wideberth.cli.output import check_free, say, table_text, write_all

#: Galaxies in the table: enough that their errors matter, few enough for seconds.
_ROWS = 3000


def prepare(options: DemoOptions) -> list[str]:
    """Write the table; return the words of the command that fits it."""
    from wideberth.datasets import load_galaxies

    table, model, report = (
        os.path.join(options.out, name)
        for name in ("galaxies.csv", "model.wideberth", "report.html")
    )
    os.makedirs(options.out, exist_ok=True)
    check_free([table, model, report], options.force)
    sky = load_galaxies()
    rows = np.random.default_rng(0).permutation(len(sky.target))[:_ROWS]
    names = [*sky.feature_names, *(f"{name}_err" for name in sky.feature_names)]
    cells = np.hstack([sky.data, sky.errors])[rows].tolist()
    kinds = np.where(sky.target[rows] > 0, "far", "near").tolist()
    lines = [
        [*("" if cell != cell else cell for cell in row), kind]
        for row, kind in zip(cells, kinds, strict=True)
    ]
    text = table_text([*names, "distance"], lines, table)
    write_all([(table, text)], options.force)
    words = ["fit", table, "--target", "distance", "--errors", "auto"]
    words += ["--model", "measured", "--out", model, "--report", report]
    words += ["--force"] * options.force
    say(f"command    {shlex.join(['wideberth', *words])}")
    return words
