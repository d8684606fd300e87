"""Run the paper's experiments, resumably, and write the report.

`reproduce` is the library call behind `wideberth reproduce`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from wideberth.problem.validation import check_number
from wideberth.report.environment import cores


def reproduce(
    out: str | Path = "reproduction",
    *,
    quick: bool = False,
    repeats: int | None = None,
    jobs: int = 1,
    watch: Callable | None = None,
):
    """Run what is not in the folder `out` yet, and write report and tables there.

    Solvers run in processes of their own: a script that calls this must guard its main
    part with `if __name__ == "__main__":`, as always with `multiprocessing`.

    Parameters
    ----------
    out : path
        Folder for `report.html`, the tables and the finished cells. A run that was
        interrupted goes on from them; results of other versions, machines or code are
        left alone.
    quick : bool
        A part of the grid, in one to three minutes.
    repeats : int, optional
        How often each fit is timed; 1 for a quick run, else 3.
    jobs : int
        How many processes share what is not timed.
    watch : context manager function, optional
        Given the store and the cells to run, enters with two callbacks or none: what
        is told of every cell that is (started, finished).

    Returns
    -------
    Results
        Everything found; `checks()` says whether it is as it should be.
    """
    from wideberth.data.files import write_atomically
    from wideberth_paper.experiment import full_plan, quick_plan, run
    from wideberth_paper.report.figures import draw_all
    from wideberth_paper.report.page import page
    from wideberth_paper.report.summary import Results
    from wideberth_paper.store import Store, describe

    make = quick_plan if quick else full_plan
    plan = make() if repeats is None else make(_count(repeats, "repeats"))
    folder, environment = Path(out), describe()
    store = Store(folder, environment)
    cells = [c for c in plan.timed + plan.untimed if c.key not in store.results]
    with watch(store, cells) if watch else nullcontext(()) as told:
        failures = run(plan, store, _count(jobs, "jobs"), *told)
    results = Results.of(plan, environment, store.results, failures)
    files = _tables(results) | {"report.html": page(results, draw_all(results))}
    for name, text in files.items():
        write_atomically(folder / name, text)
    return results


def main(
    out: str, *, quick: bool, repeats: int | None = None, jobs: int | None = None
) -> int:
    """Reproduce with a live display, then print a summary; returns the exit code."""
    from wideberth_paper.report.terminal import make_console, show, watching

    console = make_console()
    try:
        results = reproduce(
            out,
            quick=quick,
            repeats=repeats,
            jobs=min(cores(), 4) if jobs is None else jobs,
            watch=watching(console),
        )
    except KeyboardInterrupt:
        console.print("Interrupted. The same command goes on from here.")
        return 130
    show(console, results, Path(out) / "report.html")
    return 0 if all(check.holds for check in results.checks()) else 1


def _count(value, name: str) -> int:
    return int(check_number(value, name, whole=True))


def _tables(results) -> dict[str, str]:
    """`results.json` with everything, and one CSV per table.

    Each row of a CSV names the versions and the machine.
    """
    from wideberth_paper.report.summary import COLUMNS

    document = {
        "plan": results.plan.name,
        "repeats": results.plan.repeats,
        "environment": results.environment,
        "checks": [vars(check) for check in results.checks()],
        "failures": results.failures,
        "columns": {name: meaning for name, (_, meaning) in COLUMNS.items()},
        "comparison": {name: results.comparison(name) for name in results.datasets},
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
    return files


def _csv(rows: list[dict]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
