"""`wideberth reproduce`: the experiments of the screening paper."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from wideberth.cli.errors import UserError
from wideberth.cli.options import count

__all__ = ["add_parser"]


def add_parser(commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "reproduce",
        help="run the experiments of the screening paper on its data",
        description="Run the experiments of the screening paper on its data, beside "
        "other solvers, and write report.html with tables and figures. Started again "
        "after an interruption, it goes on where it stopped.",
    )
    command.add_argument(
        "--quick", action="store_true", help="a part of the grid, about a minute"
    )
    command.add_argument(
        "--repeats",
        type=count,
        metavar="N",
        help="time every fit N times (1 if --quick, else 3)",
    )
    command.add_argument(
        "--jobs",
        type=count,
        metavar="N",
        help="processes for what is not timed (one per core, at most 4)",
    )
    command.add_argument(
        "--out",
        default="reproduction",
        metavar="DIR",
        help="folder for the report (default: %(default)s)",
    )
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if find_spec("wideberth_paper") is None:
        raise UserError(
            "the experiments of the screening paper are a package of their own: in a "
            "checkout of wideberth, pip install ./paper."
        )
    from wideberth_paper.reproduce import main

    return main(
        options.out, quick=options.quick, repeats=options.repeats, jobs=options.jobs
    )
