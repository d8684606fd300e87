"""What the terminal shows: progress with the time left, then a summary table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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
from wideberth_paper.report.summary import TITLES, Results
from wideberth_paper.store import Store

__all__ = ["make_console", "show", "watching"]

#: Width where nothing is known of the terminal, as in a log.
_WIDTH = 100


def make_console() -> Console:
    """The terminal at its width, and a log at a width that holds every table."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH)


def watching(console: Console) -> Callable[..., AbstractContextManager]:
    """Return a `watch` that shows a bar, what is running, and the time left."""

    @contextmanager
    def watch(store: Store, cells: list[Cell]) -> Iterator[tuple[Callable, Callable]]:
        if store.results:
            console.print(f"{len(store.results)} finished cells found in {store.path}.")
        for other in store.others():
            console.print(f"{other}: other versions, machine or code; not used.")
        if not cells:
            yield (lambda cell: None), (lambda cell: None)
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
        lines = [line for line in results.overview() if line["dataset"] == dataset]
        console.print(_table(console, TITLES[dataset], lines))
    for check in results.checks():
        mark = "[green]✓[/]" if check.holds else "[red]✗[/]"
        console.print(f"{mark} {check.claim} ({check.detail})")
    for cell, why in results.failures.items():
        console.print(f"failed: {cell}: {why}", markup=False)
    console.print(f"\nReport: {report}", markup=False, soft_wrap=True)


#: Columns of the summary, the most telling first: heading, and how a line fills it.
_COLUMNS: dict[str, Callable[[dict], str]] = {
    "method": lambda line: METHODS[line["method"]].label,
    "seconds": lambda line: f"{line['seconds']:.3f}",
    "× SCS": lambda line: _range(line.get("speedup"), _ratio),
    "wrong R": lambda line: _wrong(line.get("wrong_removals")),
    "wrong S": lambda line: _wrong(line.get("wrong_saturations")),
    "gap": lambda line: f"{line['relative_gap']:.0e}",
    "w error": lambda line: f"{line['w_error']:.0e}",
    "rate %": lambda line: _range(line.get("rate_paper"), _whole_percent),
    "honest %": lambda line: _range(line.get("rate_honest"), _whole_percent),
    "test %": lambda line: _percent(line["test_accuracy"]),
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
            table.add_row(*(_COLUMNS[heading](line) for heading in headings))
        wanted = console.measure(table, options=console.options.update(width=1000))
        if wanted.maximum <= console.width or len(headings) == 1:
            return table
        headings.pop()


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _range(ends: tuple[float, float] | None, write: Callable[[float], str]) -> str:
    if ends is None:
        return "–"
    low, high = map(write, ends)
    return low if low == high else f"{low}…{high}"


def _ratio(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _whole_percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _wrong(count: int | None) -> str:
    if count is None:
        return "–"
    return f"[red]{count}[/]" if count else "0"
