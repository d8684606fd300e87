"""`wideberth predict`: the class of every row."""

from __future__ import annotations

import argparse

from wideberth.cli.options import EXIT_CODES, add_application, add_input, add_output

__all__ = ["add_parser"]

_DESCRIPTION = """\
Predict the class of every row of DATA with a model that `wideberth fit` wrote.

Columns are found by name, in whatever order; further ones are ignored. The output is a
CSV with one line per row of DATA, in its order. Rows that lack a value the model needs
get an empty prediction, and standard error says how many there are.
"""
_EPILOG = """\
examples:
  wideberth predict model.skops new.csv > predictions.csv
  wideberth predict model.skops new.csv --id patient --scores --out predictions.csv

"""


def add_parser(commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "predict",
        help="predict the class of every row of a table",
        usage="wideberth predict MODEL DATA [options]",
        description=_DESCRIPTION,
        epilog=_EPILOG + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_application(parser)
    parser.add_argument(
        "--scores",
        action="store_true",
        help="add the score of each class (of the second, where there are two)",
    )
    add_input(parser)
    add_output(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from wideberth.cli.applying import apply_model
    from wideberth.cli.model import load_model
    from wideberth.cli.output import check_free, table_text, write, write_json
    from wideberth.cli.progress import Progress

    check_free([options.out], options.force)
    with Progress(options.json) as progress:
        applied = apply_model(load_model(options.model), options, progress)
    classes = applied.model.classes
    usable, X = applied.usable, applied.X
    predictions: list = [None] * applied.table.n
    scores: list = [[None]] * applied.table.n
    if usable.any():
        values = applied.model.pipeline.decision_function(X[usable])
        labels = applied.model.pipeline.predict(X[usable]).tolist()
        values = values.reshape(len(labels), -1).tolist()
        for row, label, score in zip(usable.nonzero()[0], labels, values, strict=True):
            predictions[row], scores[row] = label, score
    names = [f"score {k}" for k in (classes[1:] if len(classes) == 2 else classes)]
    headings = [applied.id_name, "prediction", *(names if options.scores else [])]
    scores = [(score + [None] * len(names))[: len(names)] for score in scores]
    lines = [
        [name, label, *(score if options.scores else [])]
        for name, label, score in zip(applied.ids, predictions, scores, strict=True)
    ]
    if options.out or not options.json:
        write(options.out or "-", table_text(headings, lines), options.force)
    if options.json:
        summary = {
            "rows": applied.table.n,
            "predicted": int(usable.sum()),
            "classes": classes.tolist(),
        }
        if not options.out:
            summary["predictions"] = [
                dict(zip(headings, line, strict=True)) for line in lines
            ]
        write_json(summary)
    return 0
