"""`wideberth fit --memory`: tables that are read in pieces and never held whole."""

from __future__ import annotations

import argparse
import time
import warnings
from argparse import Namespace

import numpy as np

from wideberth.cli.advice import advise
from wideberth.cli.analysis import describe_model, feature_scales, problem_facts
from wideberth.cli.errors import UserError
from wideberth.cli.evaluate import certain
from wideberth.cli.fitting import (
    describe_origin,
    describe_request,
    describe_uncertainty,
    settle_target,
)
from wideberth.cli.model import Model
from wideberth.cli.pieces import Pieces, Survey, open_pieces
from wideberth.cli.prepare import Columns
from wideberth.cli.progress import Progress
from wideberth.cli.recipe import texts_of
from wideberth.cli.sources import Source
from wideberth.cli.uncertainty import tell_radius
from wideberth.estimators import RobustLinearSVC
from wideberth.estimators.pipeline import RobustPipeline

__all__ = ["check_large", "fit_large"]

#: What needs the whole table in memory: options, and where they stand if not given.
_WHOLE: dict = {
    "report": None,
    "cv": False,
    "standardize": False,
    "replicates": None,
    "noise_scales": None,
    "radius_units": "raw",
    "noise": "l2",
    "one_hot": [],
    "delimiter": None,
    "decimal": None,
    "encoding": None,
    "no_header": False,
    "na": [],
}


def check_large(options: Namespace, parser: argparse.ArgumentParser) -> None:
    """Refuse what cannot be done in pieces."""
    for name, absent in _WHOLE.items():
        if getattr(options, name) != absent:
            parser.error(
                f"--{name.replace('_', '-')} needs the whole table; leave it out, or "
                "--memory."
            )
    if options.missing == "median":
        parser.error("--missing median needs the whole table; leave out --memory.")
    if options.data == "-":
        parser.error("--memory needs a file, which is read several times, not -.")
    options.missing, options.folds = "error", 0  # which is how it is done in pieces


def fit_large(
    options: Namespace, command: str, progress: Progress
) -> tuple[Model, dict]:
    """Train; return the model and what there is to say about it."""
    settle_target(options)
    progress.show(f"reading {options.data}")
    classifier = RobustLinearSVC(
        C=options.C,
        radius=options.radius or 0.0,
        class_weight=options.class_weight,
        tol=options.tol,
        random_state=options.seed,
        verbose=int(progress.on),
    )
    try:
        pieces, details = open_pieces(options)
        seen = pieces.survey(options.target)
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier.fit(pieces)
        seconds = time.perf_counter() - started
        shares = _training_shares(classifier, pieces)
    except (FileNotFoundError, ImportError, ValueError) as error:
        raise UserError(" ".join(str(error).split())) from error
    pipeline, columns = RobustPipeline.around(classifier), Columns(pieces.features)
    origin = describe_origin(command)
    result: dict = {
        "request": describe_request(options),
        "source": {
            "name": options.data,
            "format": pieces.kind,
            "sha256": Source(options.data, None).digest(),
            "details": details,
            "memory": options.memory,
        },
        "data": _describe(seen, pieces, options),
        "uncertainty": _uncertainty(seen, pieces, columns, options),
        "choice": None,
        "model": describe_model(pipeline, columns),
        "training": _facts(classifier) | shares | {"seconds": seconds},
        "evaluation": None,
        "solver_notes": texts_of(caught),
        "origin": origin,
    }
    result["warnings"] = [vars(advice) for advice in advise(result)]
    model = Model(
        pipeline,
        columns,
        options.target,
        options.radius_column,
        1.0,
        {**origin, "data": result["source"]},
    )
    return model, result


def _describe(seen: Survey, pieces: Pieces, options: Namespace) -> dict:
    counts: dict = {}
    for text, count in seen.labels.items():
        label = pieces.values[text]
        counts[label] = counts.get(label, 0) + count
    spread = np.sqrt(seen.square / seen.rows)
    scales = (seen.mean, spread, seen.low, seen.high)
    return {
        "rows_read": seen.rows,
        "rows_without_label": 0,
        "rows_dropped": 0,
        "rows_used": seen.rows,
        "missing_values": {},
        "values_filled_in": 0,
        "target": options.target,
        "classes": {str(label): counts[label] for label in sorted(counts)},
        "row_counters": None,  # only rows side by side would tell
        "features": feature_scales(seen.features, *scales),
    }


def _uncertainty(
    seen: Survey, pieces: Pieces, columns: Columns, options: Namespace
) -> dict:
    each = pieces.brings_radii
    one = options.radius or 0.0
    # The median of radii that are read in pieces would take them all at once.
    radii = (seen.radii[0], None, seen.radii[1]) if each else (one, one, one)
    story = tell_radius(options)
    found = describe_uncertainty(story, radii, "l2", columns, options)
    return found | {"per_row": each, "factor": 1.0}


def _facts(classifier: RobustLinearSVC) -> dict:
    """Certificates of the binary problems."""
    traces: list = [found["trace"] for found in classifier.screening_]
    problems = [
        problem_facts(classifier, k, float(trace[-1]["primal"]), {})
        for k, trace in enumerate(traces)
    ]
    return {"problems": problems, "support": None, "tol": classifier.tol}


def _training_shares(classifier: RobustLinearSVC, pieces: Pieces) -> dict:
    """Accuracy on the rows trained on, as measured and under the worst noise."""
    right = certified = rows = 0
    for chunk in pieces.chunks():
        correct = classifier.predict(chunk.X) == chunk.y
        reach = classifier.certified_radius(chunk.X)
        radius = classifier.radius if chunk.radius is None else chunk.radius
        right += int(correct.sum())
        certified += int(certain(correct, reach, radius).sum())
        rows += chunk.n
    return {"training_accuracy": right / rows, "training_certified": certified / rows}
