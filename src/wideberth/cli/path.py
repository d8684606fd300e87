"""`wideberth path`: models along C and radius."""

from __future__ import annotations

import argparse

from wideberth.cli.options import EXIT_CODES, add_input, add_output, count, positive
from wideberth.cli.training import add_noise, add_preparation, check_together

__all__ = ["add_parser"]

_DESCRIPTION = """\
Train models for many values of C and of the radius, each with its proof of optimality.

The output is a CSV with one line per model: C, radius, objective, how near the optimum
it is proven to be, and how many rows are proven to have no influence (removed) or full
weight (saturated). With more than two classes each is set against the rest in turn.
Where rows have radii of their own the radius is a factor on them (radius_factor).
"""
_EPILOG = """\
examples:
  wideberth path data.csv --target sick --standardize --radii 0 0.1 0.2 > path.csv
  wideberth path data.csv --target sick --replicates patient --radii 0.5 1 2 --weights
  wideberth path data.csv --target sick --Cs 0.01 0.1 1 10 --json

"""


def add_parser(commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "path",
        help="train models along C and radius",
        usage="wideberth path DATA --target COL [options]",
        description=_DESCRIPTION,
        epilog=_EPILOG + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", metavar="DATA", help="file with the rows, or -")
    parser.add_argument(
        "--target", metavar="COL", help="column with the class (LIBSVM: label, .npz: y)"
    )
    parser.add_argument(
        "--out", metavar="FILE", help="CSV to write (default: print it)"
    )
    parser.add_argument(
        "--weights",
        action="store_true",
        help="add the weight of every feature, and the intercept, in raw units",
    )
    add_noise(parser)
    group = parser.add_argument_group("training")
    group.add_argument(
        "--Cs", type=positive, nargs="+", metavar="C", help="values of C to train with"
    )
    group.add_argument(
        "--points",
        type=count,
        default=30,
        metavar="N",
        help="how many values of C where none are given (default: %(default)s)",
    )
    add_preparation(group)
    add_input(parser)
    add_output(parser)
    parser.set_defaults(run=lambda options: _run(options, parser))


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    check_together(options, parser)
    from wideberth.cli.output import check_free, say, table_text, write, write_json
    from wideberth.cli.progress import Progress
    from wideberth.cli.walking import walk

    check_free([options.out], options.force)
    with Progress(options.json) as progress:
        headings, lines = walk(options, progress)
    if options.out or not options.json:
        write(options.out or "-", table_text(headings, lines), options.force)
    proven = all(line[headings.index("converged")] for line in lines)
    if options.json:
        points = [dict(zip(headings, line, strict=True)) for line in lines]
        write_json({"proven": proven, "path": points})
    elif options.out and options.out != "-":
        say(f"{len(lines)} models written to {options.out}")
    return 0 if proven else 3
