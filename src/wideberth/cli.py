"""The command line: `wideberth reproduce`."""

from __future__ import annotations

import argparse

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run what it asks for; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="wideberth",
        description="Linear classifiers that stay right when features are noisy.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _add_reproduce(commands)
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except ImportError as error:
        parser.exit(1, f"wideberth: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "\nwideberth: interrupted.\n")


def _add_reproduce(commands) -> None:
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
        type=_count,
        metavar="N",
        help="time every fit N times (1 if --quick, else 3)",
    )
    command.add_argument(
        "--jobs",
        type=_count,
        metavar="N",
        help="processes for what is not timed (one per core, at most 4)",
    )
    command.add_argument(
        "--out",
        default="reproduction",
        metavar="DIR",
        help="folder for the report (default: %(default)s)",
    )
    command.set_defaults(run=_reproduce)


def _reproduce(options: argparse.Namespace) -> int:
    from wideberth.paper.reproduce import main as reproduce

    return reproduce(
        options.out, quick=options.quick, repeats=options.repeats, jobs=options.jobs
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number ≥ 1.")
    return int(text)
