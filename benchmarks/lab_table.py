"""A laboratory's table: 200 000 rows, 7 numbers, 33 columns of text, weights and gaps.

    python -m benchmarks.lab_table [--rows 200000] [--classes 2]

Covtype gives the rows. Seven of its measurements stay numbers, and one value in fifty
of them is taken out; the other three, and products and bins of all of them, become text
categories. `wideberth fit --one-hot auto --report` then reads the table, trains, and
cross-validates with five folds. Printed are seconds, processor seconds and the peak of
memory of that command.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.datasets import shared

#: Columns of covtype that stay numbers, and columns of text.
NUMBERS, TEXTS = 7, 33


def lab_table(rows: int, classes: int, seed: int = 0):
    """The table, as a pyarrow table."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    with np.load(shared("covtype.npz")) as stored:
        chosen = rng.choice(len(stored["y"]), rows, replace=False)
        X, y = stored["X"][chosen].astype(float), stored["y"][chosen]
    columns: dict = {}
    for j in range(NUMBERS):
        values = X[:, j].copy()
        values[rng.random(rows) < 0.02] = np.nan
        columns[f"x{j + 1}"] = pa.array(values, from_pandas=True)
    soil, area = X[:, 14:54].argmax(axis=1), X[:, 10:14].argmax(axis=1)
    kinds = [soil, area]
    for k in range(TEXTS - len(kinds)):
        bins = 2 + k % 9  # of a quantity of its own: two measurements, weighed anew
        one, other = X[:, k % 10], X[:, (3 * k + 1) % 10]
        mixed = one / one.std() + rng.normal() * other / other.std()
        edges = np.quantile(mixed, np.linspace(0, 1, bins + 1)[1:-1])
        kinds.append(np.digitize(mixed, edges))
    for k, codes in enumerate(kinds):
        words = np.array(
            [f"kind {chr(97 + c // 26)}{chr(97 + c % 26)}" for c in range(40)]
        )
        columns[f"c{k + 1}"] = pa.array(words[codes])
    columns["w"] = pa.array(rng.uniform(0.5, 2, rows).round(3))
    labels = np.array([f"cover {k}" for k in y] if classes > 2 else y == 2)
    columns["cover"] = pa.array(
        np.where(labels, "fir", "other") if classes == 2 else labels
    )
    return pa.table(columns)


def main() -> None:
    """Write the table, run the command, and print what it took."""
    import pyarrow.csv
    import pyarrow.parquet

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--classes", type=int, default=2, choices=(2, 7))
    parser.add_argument("--format", default="csv", choices=("csv", "parquet"))
    parser.add_argument("more", nargs="*", help="further options of the command")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        data = Path(made) / f"lab.{options.format}"
        table = lab_table(options.rows, options.classes)
        if options.format == "csv":
            pyarrow.csv.write_csv(table, data)
        else:
            pyarrow.parquet.write_table(table, data)
        del table
        command = [
            *(sys.executable, "-m", "wideberth", "fit", str(data), "--target", "cover"),
            *("--one-hot", "auto", "--missing", "median", "--weight-column", "w"),
            *("--standardize", "--radius", "0.1std"),
            *("--report", str(Path(made) / "r.html"), *options.more),
        ]
        started = time.perf_counter()
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = used.ru_utime + used.ru_stime
    print(
        f"{seconds:.1f} s, {busy:.1f} s of processor time, "
        f"{used.ru_maxrss / 1e6:.2f} GB at most"
    )


if __name__ == "__main__":
    main()
