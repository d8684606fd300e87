"""Options of the commands that train: noise, preparation of the rows."""

from __future__ import annotations

import argparse

from wideberth.cli.options import natural, non_negative, positive, probability

__all__ = ["add_noise", "add_preparation", "check_together"]


def add_noise(parser: argparse.ArgumentParser) -> None:
    """Where radii and the shape of the noise come from."""
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
        "--radii",
        type=non_negative,
        nargs="+",
        metavar="R",
        help="several radii to try; multiples of the one that other options give, if "
        "they give one",
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


def add_preparation(group) -> None:
    """What is done to the rows before and while a model is trained."""
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
        "--tol",
        type=positive,
        default=1e-4,
        help="proven relative distance from the optimum, rounding included "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--seed", type=natural, default=0, help="for the folds (default: %(default)s)"
    )


def check_together(
    options: argparse.Namespace, parser: argparse.ArgumentParser
) -> None:
    """Refuse options about noise that contradict each other."""
    named = {
        "--target": [options.target],
        "--radius-column": [options.radius_column],
        "--replicates": [options.replicates],
        "--one-hot": dict.fromkeys(options.one_hot),
        "--drop": dict.fromkeys(options.drop),
    }
    roles: dict[str, str] = {}
    for option, columns in named.items():
        for column in columns:
            if column in roles:
                parser.error(
                    f"the column {column!r} is named by both {roles[column]} and "
                    f"{option}; it can be one thing only."
                )
            if column is not None:
                roles[column] = option
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
