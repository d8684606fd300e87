"""What the terminal shows: progress with the time left, then a summary table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from wideberth_paper.experiment import Cell
from wideberth_paper.methods import METHODS
from wideberth_paper.report.page import shorten
from wideberth_paper.report.summary import COMPARED, QUANTITIES, TITLES, Results
from wideberth_paper.store import Store

#: Width where nothing is known of the terminal, as in a log.
_WIDTH = 100


def make_console() -> Console:
    """The terminal at its width, and a log at a width that holds every table."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH)


def watching(console: Console) -> Callable[..., AbstractContextManager]:
    """Return a `watch` that shows a bar, what is running, and the time left."""

    @contextmanager
    def watch(store: Store, cells: list[Cell]) -> Iterator[tuple[Callable, ...]]:
        if store.results:
            console.print(f"{len(store.results)} finished cells found in {store.path}.")
        for other in store.others():
            console.print(f"{other}: other versions, machine or code; not used.")
        if not cells:
            yield ()
            return
        columns = (
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
        )
        # Cells differ in length: a long memory makes for a steadier estimate.
        with Progress(*columns, console=console, speed_estimate_period=300) as bar:
            task = bar.add_task("starting", total=sum(cell.effort for cell in cells))
            yield (
                lambda cell: bar.update(task, description=cell.title),
                lambda cell: bar.advance(task, cell.effort),
            )

    return watch


def show(console: Console, results: Results, report: Path) -> None:
    """Print one line per data set and method, the checks, and where the report is."""
    for dataset in results.datasets:
        console.print(_table(console, TITLES[dataset], results.overview(dataset)))
        console.print(_comparison(results, dataset))
    for check in results.checks():
        mark = "[green]✓[/]" if check.holds else "[red]✗[/]"
        console.print(f"{mark} {check.claim} ({check.detail})")
    for cell, why in results.failures.items():
        console.print(f"failed: {cell}: {why}", markup=False)
    console.print(f"\nReport: {report}", markup=False, soft_wrap=True)


#: Columns of the summary, the most telling first: heading, number, how to write it.
_COLUMNS: dict[str, tuple[str, Callable]] = {
    "method": ("method", lambda method: METHODS[method].label),
    "seconds": ("seconds", "{:.3f}".format),
    "× SCS": (
        "speedup",
        lambda ratio: f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}",
    ),
    "wrong R": ("wrong_removals", lambda n: f"[red]{n}[/]" if n else "0"),
    "wrong S": ("wrong_saturations", lambda n: f"[red]{n}[/]" if n else "0"),
    "gap": ("relative_gap", "{:.0e}".format),
    "w error": ("w_error", "{:.0e}".format),
    "rate %": ("rate_paper", lambda share: f"{100 * share:.0f}"),
    "honest %": ("rate_honest", lambda share: f"{100 * share:.0f}"),
    "test %": ("test_accuracy", lambda share: f"{100 * share:.1f}"),
}


def _table(console: Console, title: str, lines: list[dict]) -> Table:
    """As many columns as the terminal has room for; all fit in 100."""
    headings = list(_COLUMNS)
    while True:
        table = Table(
            title=f"{title}, configurations: {lines[0]['configurations']}",
            title_justify="left",
            box=SIMPLE_HEAD,
            padding=0,
            pad_edge=False,
        )
        for heading in headings:
            table.add_column(heading, justify="right", no_wrap=True)
        table.columns[0].justify = "left"
        for line in lines:
            shown = (_COLUMNS[heading] for heading in headings)
            table.add_row(*(_written(line[name], write) for name, write in shown))
        wanted = console.measure(table, options=console.options.update(width=1000))
        if wanted.maximum <= console.width or len(headings) == 1:
            return table
        headings.pop()


def _comparison(results: Results, dataset: str) -> Table:
    """The paper's numbers and those of this run."""
    table = Table(
        title=f"{TITLES[dataset]}, {results.extent(dataset)}",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
    )
    table.add_column("figure, quantity")
    for heading in COMPARED.values():
        table.add_column(heading, justify="right")
    for line in results.comparison(dataset):
        name = line["quantity"]
        shown = (_written(line.get(each), partial(shorten, name)) for each in COMPARED)
        table.add_row(f"{line['figure']:2} {QUANTITIES[name][0]}", *shown)
    return table


def _written(value, write: Callable[..., str]) -> str:
    if value is None:
        return "–"
    if not isinstance(value, tuple):
        return write(value)
    low, high = map(write, value)
    return low if low == high else f"{low.removesuffix(' %')}…{high}"
