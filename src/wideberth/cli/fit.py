"""`wideberth fit`: from a table to a model file and a report."""

from __future__ import annotations

import argparse
import shlex
import sys

from wideberth.cli.errors import require
from wideberth.cli.options import (
    EXIT_CODES,
    add_input,
    add_output,
    natural,
    non_negative,
    positive,
)
from wideberth.cli.training import add_noise, add_preparation, check_together
from wideberth.cli.words import small_share

__all__ = ["add_parser"]

_DESCRIPTION = """\
Train a linear classifier that expects its features to be off, and prove how good it is.

DATA is a CSV, TSV, Parquet, Arrow, LIBSVM, .npz or .npy file, or - for standard input.
Every column is a feature except the target and those named below. Text is never dropped
or encoded in silence: name such columns with --drop or --one-hot.
"""
_EPILOG = """\
how far values may be off:
  --radius 0.5                  every row by 0.5, in the units of the data
  --radius 0.1 --radius-units std   by a tenth of each feature's standard deviation
  --noise-scales precision.csv  each feature by its own standard deviation; the file has
                                the columns name and scale, or one number per line
  --radius-column sigma         each row by its own radius, in the column sigma
  --replicates sample           rows with the same sample are repeated measurements:
                                trained on as means, radii from how they spread

examples:
  wideberth fit iris.csv --target species --standardize --report iris.html
  wideberth fit blood.csv --target sick --drop name date --one-hot clinic \\
      --replicates patient --standardize --out model.skops --report report.html
  xzcat big.tsv.xz | wideberth fit - --format tsv --target y --radius 0.2 --json

"""


def add_parser(commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "fit",
        help="train a model on a table and report on it",
        usage="wideberth fit DATA --target COL [options]",
        description=_DESCRIPTION,
        epilog=_EPILOG + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", metavar="DATA", help="file with the rows, or -")
    parser.add_argument(
        "--target",
        metavar="COL",
        help="column with the class, of any kind, two classes or more (LIBSVM: label, "
        ".npz: y, .npy: a second file)",
    )
    parser.add_argument("--out", metavar="FILE", help="model file (.skops), or -")
    parser.add_argument("--report", metavar="FILE", help="report (.html)")
    add_noise(parser)
    _add_training(parser)
    add_input(parser)
    add_output(parser)
    parser.set_defaults(run=lambda options: _run(options, parser))


def _add_training(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("training")
    one = group.add_mutually_exclusive_group()
    one.add_argument(
        "--C",
        type=positive,
        default=1.0,
        help="price of errors; smaller values give simpler models (default: 1)",
    )
    one.add_argument(
        "--cv",
        action="store_true",
        help="choose C, and the radius from --radii, by cross-validation",
    )
    group.add_argument(
        "--score-radius",
        type=non_negative,
        metavar="R",
        help="with --cv: choose what is most accurate under the worst noise of this "
        "radius (counted like --radii), not as measured",
    )
    group.add_argument(
        "--folds",
        type=natural,
        default=5,
        metavar="K",
        help="for the cross-validated accuracy (default: %(default)s; 0: none)",
    )
    group.add_argument(
        "--memory",
        metavar="SIZE",
        help="read DATA in pieces and never hold more than this, such as 2GB; numbers "
        "only, no missing values, no cross-validation and no report",
    )
    add_preparation(group)


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    _check(options, parser)
    if options.memory is None:
        from wideberth.cli.fitting import fit_table as train
    else:
        from wideberth.cli.large import fit_large as train
    from wideberth.cli.model import dump_model
    from wideberth.cli.output import check_free, say, write_all, write_json
    from wideberth.cli.progress import Progress

    check_free([options.out, options.report], options.force)
    if options.out:
        require("skops", "a model file")
    if options.report:
        require("matplotlib", "the report")
    with Progress(options.json) as progress:
        model, result = train(options, _command(), progress)
        files: list[tuple[str, str | bytes]] = []
        if options.out:
            files.append((options.out, dump_model(model)))
        if options.report:
            from wideberth.cli.page import fit_page

            progress.show("drawing")
            files.append((options.report, fit_page(result)))
    write_all(files, options.force)
    if options.json:
        write_json(result)
    else:
        if options.out != "-":
            say(_summary(result, options))
        for advice in result["warnings"]:
            print(f"wideberth: {advice['text']}", file=sys.stderr)
    return 3 if any(advice["serious"] for advice in result["warnings"]) else 0


def _check(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """What argparse cannot say: which options do not go together."""
    if options.report == "-":
        parser.error("--report must be a file.")
    if options.out == "-" and options.json:
        parser.error("--out - and --json both want standard output.")
    if options.folds == 1:
        parser.error("--folds must be 0 (no cross-validation) or at least 2.")
    if not options.cv and (options.radii or options.score_radius is not None):
        parser.error("--radii and --score-radius are for --cv to choose by.")
    check_together(options, parser)
    if options.memory is not None:
        from wideberth.cli.large import check_large

        check_large(options, parser)


def _command() -> str:
    return shlex.join(["wideberth", *sys.argv[1:]])


def _summary(result: dict, options: argparse.Namespace) -> str:
    data, found = result["data"], result["evaluation"]
    lines = [
        f"{data['target']}: {len(data['classes'])} classes from "
        f"{len(data['features'])} features, {data['rows_used']} of "
        f"{data['rows_read']} rows used"
    ]
    if found is not None:
        best = next(iter(found["models"].values()))
        lines.append(
            f"accuracy   {_with_spread(best['accuracy'])}, {found['folds']}-fold "
            f"cross-validation; always guessing: {found['majority']:.3f}"
        )
        if result["uncertainty"]["largest"] > 0:
            lines.append(
                f"certified  {_with_spread(best['certified'])} under the worst noise"
            )
    gap = max(problem["relative_gap"] for problem in result["training"]["problems"])
    lines.append(f"optimum    proven to {small_share(gap)} of the objective")
    lines += [f"model      {options.out}"] if options.out else []
    lines += [f"report     {options.report}"] if options.report else []
    return "\n".join(lines)


def _with_spread(value: dict) -> str:
    return f"{value['mean']:.3f} ± {value['std']:.3f}"
