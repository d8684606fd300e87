"""`wideberth fit`: from a table to a model file and a report."""

from __future__ import annotations

import argparse
import shlex
import sys

from wideberth.cli.options import (
    EXIT_CODES,
    add_input,
    add_output,
    natural,
    non_negative,
    positive,
    probability,
)

__all__ = ["add_parser"]

_DESCRIPTION = """\
Train a linear classifier that expects its features to be off, and prove how good it is.

DATA is a CSV, TSV, Parquet, LIBSVM or .npz file, or - for standard input. Every column
is a feature except the target and those named below. Text is never dropped or encoded
in silence: name such columns with --drop or --one-hot.
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
        ".npz: y)",
    )
    parser.add_argument("--out", metavar="FILE", help="model file (.skops), or -")
    parser.add_argument("--report", metavar="FILE", help="report (.html)")
    _add_noise(parser)
    _add_training(parser)
    add_input(parser)
    add_output(parser)
    parser.set_defaults(run=lambda options: _run(options, parser))


def _add_noise(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how far values may be off")
    one = group.add_mutually_exclusive_group()
    one.add_argument(
        "--radius", type=non_negative, metavar="R", help="every row by as much"
    )
    one.add_argument(
        "--radius-column", metavar="COL", help="each row by what this column says"
    )
    one.add_argument(
        "--replicates",
        metavar="COL",
        help="rows with the same entry here are measurements of one sample",
    )
    group.add_argument(
        "--noise-scales",
        metavar="FILE",
        help="noise of each feature; a radius then counts multiples of it",
    )
    group.add_argument(
        "--noise",
        choices=("l2", "linf", "l1"),
        default="l2",
        help="shape: l2 a distance (default), linf every feature by up to the radius, "
        "l1 the sum of all errors",
    )
    group.add_argument(
        "--radius-units",
        choices=("raw", "std"),
        default="raw",
        help="units of the radius: those of the data (default), or standard deviations "
        "of each feature",
    )
    group.add_argument(
        "--confidence",
        type=probability,
        default=0.95,
        metavar="P",
        help="how surely a radius from --noise-scales or --replicates covers the noise "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--covers",
        choices=("margin", "sample"),
        default="margin",
        help="what it covers: the change of a row's score (default), or the whole "
        "displacement of the row, which is far larger",
    )
    group.add_argument(
        "--between",
        choices=("reading", "truth"),
        default="reading",
        help="with --replicates: noise from the mean to a further single reading, such "
        "as predict will see (default), or to the truth",
    )
    group.add_argument(
        "--precision",
        choices=("shared", "own"),
        default="shared",
        help="with --replicates: one precision for all samples (default), or each its "
        "own, from its own readings",
    )


def _add_training(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("training")
    group.add_argument(
        "--C",
        type=positive,
        default=1.0,
        help="price of errors; smaller values give simpler models (default: 1)",
    )
    group.add_argument(
        "--standardize",
        action="store_true",
        help="scale features to mean 0 and variance 1 for training; noise and model "
        "stay in the units of the data",
    )
    group.add_argument(
        "--drop",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="columns to leave out",
    )
    group.add_argument(
        "--one-hot",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="columns to turn into one column of 0 and 1 per category, without noise",
    )
    group.add_argument(
        "--missing",
        choices=("drop", "median", "error"),
        default="drop",
        help="rows with missing values: leave them out and say how many (default), "
        "fill in the median, or stop",
    )
    group.add_argument(
        "--class-weight",
        choices=("balanced",),
        help="balanced: a rare class counts as much as a common one",
    )
    group.add_argument(
        "--folds",
        type=natural,
        default=5,
        metavar="K",
        help="for the cross-validated accuracy (default: %(default)s; 0: none)",
    )
    group.add_argument(
        "--tol",
        type=positive,
        default=1e-4,
        help="proven relative distance from the optimum (default: %(default)s)",
    )
    group.add_argument(
        "--seed", type=natural, default=0, help="for the folds (default: %(default)s)"
    )


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    _check(options, parser)
    from wideberth.cli.fitting import fit_table
    from wideberth.cli.model import dump_model
    from wideberth.cli.output import check_free, say, write_all, write_json
    from wideberth.cli.progress import Progress

    check_free([options.out, options.report], options.force)
    with Progress(options.json) as progress:
        model, result = fit_table(options, _command(), progress)
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
    if options.replicates is not None and options.missing == "median":
        parser.error("--replicates needs measured values: not with --missing median.")
    if options.noise != "l2" and options.standardize:
        parser.error(
            f"--noise {options.noise} in the units of the data has no such shape once "
            "features are standardised; use --noise-scales or --radius-units std."
        )
    shapes = {
        "--noise-scales": options.noise_scales is not None,
        "--replicates": options.replicates is not None,
        "--radius-units std": options.radius_units == "std",
        f"--noise {options.noise}": options.noise != "l2",
    }
    given = [name for name, there in shapes.items() if there]
    if len(given) > 1:
        parser.error(f"{' and '.join(given)} both say what shape the noise has.")


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
    lines.append(f"optimum    proven to {100 * max(gap, 0):.1g} % of the objective")
    lines += [f"model      {options.out}"] if options.out else []
    lines += [f"report     {options.report}"] if options.report else []
    return "\n".join(lines)


def _with_spread(value: dict) -> str:
    return f"{value['mean']:.3f} ± {value['std']:.3f}"
