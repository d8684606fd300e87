"""`wideberth certify`: how much noise every prediction withstands."""

from __future__ import annotations

import argparse
import math

from wideberth.cli.options import (
    EXIT_CODES,
    add_application,
    add_input,
    add_output,
    non_negative,
)

__all__ = ["add_parser"]

_DESCRIPTION = """\
Say for every row of DATA how far its values may be off before the prediction can
change: exactly, and in the units of the noise the model was trained with. `inf` means
that no noise of that shape changes it.

Where DATA has the target column, also say which predictions are right, and which share
of them is right whatever noise of a given radius does (certified accuracy). That radius
is the one trained with. Where every row had its own in training it is what the same
column of DATA says; without such a column name another, or radii with --at.
"""
_EPILOG = """\
examples:
  wideberth certify model.skops test.csv
  wideberth certify model.skops test.csv --out rows.csv --curve curve.csv
  wideberth certify model.skops test.csv --at 0 0.1 0.2 --json

"""


def add_parser(commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "certify",
        help="how much noise every prediction withstands",
        usage="wideberth certify MODEL DATA [options]",
        description=_DESCRIPTION,
        epilog=_EPILOG + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_application(parser)
    parser.add_argument(
        "--target",
        metavar="COL",
        help="column with the class (default: as in training)",
    )
    parser.add_argument(
        "--radius-column",
        metavar="COL",
        help="column with the radius of each row (default: as in training)",
    )
    parser.add_argument(
        "--curve", metavar="FILE", help="CSV for the curve of certified accuracy"
    )
    parser.add_argument(
        "--at",
        type=non_negative,
        nargs="+",
        metavar="R",
        help="radii of that curve (default: from 0 to where hardly a row is left)",
    )
    add_input(parser)
    add_output(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from wideberth.cli.certifying import certify_rows, summary_text
    from wideberth.cli.output import check_free, say, table_text, write_all, write_json
    from wideberth.cli.progress import Progress

    check_free([options.out, options.curve], options.force)
    with Progress(options.json) as progress:
        headings, lines, summary = certify_rows(options, progress)
    files = []
    if options.out or not options.json:
        files.append((options.out or "-", table_text(headings, lines)))
    if options.curve:
        curve = summary["curve"]
        points = zip(curve["radius"], curve["certified_accuracy"], strict=True)
        files.append(
            (options.curve, table_text(["radius", "certified_accuracy"], points))
        )
    # The file first: standard output cannot be taken back.
    write_all(sorted(files, key=lambda file: file[0] == "-"), options.force)
    if options.json:
        if not options.out:
            rows = [dict(zip(headings, line, strict=True)) for line in lines]
            summary["predictions"] = [_finite(row) for row in rows]
        write_json(summary)
    elif options.out and options.out != "-":
        say(summary_text(summary))
    return 0


def _finite(row: dict) -> dict:
    """JSON has no infinity; null stands for it, and for no answer."""
    return {
        name: None if isinstance(value, float) and math.isinf(value) else value
        for name, value in row.items()
    }
