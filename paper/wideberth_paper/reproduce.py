"""Run the paper's experiments, resumably, and write the report.

`reproduce` is the library call behind `wideberth reproduce`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from wideberth.problem.validation import check_number
from wideberth.report.environment import cores

__all__ = ["main", "reproduce"]


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
        A part of the grid, in about a minute.
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
    from wideberth_paper.report.tables import write_tables
    from wideberth_paper.store import Store, describe

    make = quick_plan if quick else full_plan
    plan = make() if repeats is None else make(_count(repeats, "repeats"))
    folder, environment = Path(out), describe()
    store = Store(folder, environment)
    cells = [c for c in plan.timed + plan.untimed if c.key not in store.results]
    with watch(store, cells) if watch else nullcontext(()) as told:
        failures = run(plan, store, _count(jobs, "jobs"), *told)
    results = Results.of(plan, environment, store.results, failures)
    write_tables(results, folder)
    write_atomically(folder / "report.html", page(results, draw_all(results)))
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
