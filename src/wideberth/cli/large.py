"""`wideberth fit --memory`: tables that are read in pieces and never held whole."""

from __future__ import annotations

import time
import warnings

import numpy as np

from wideberth.cli.advice import advise
from wideberth.cli.commands import FitOptions
from wideberth.cli.errors import UserError
from wideberth.cli.evaluation import certain
from wideberth.cli.model import Model
from wideberth.cli.output import Progress
from wideberth.cli.pieces import Pieces, Survey, open_pieces
from wideberth.cli.prepare import Columns
from wideberth.cli.recipe import texts_of
from wideberth.cli.result import (
    describe_model,
    describe_origin,
    describe_request,
    describe_uncertainty,
    feature_scales,
    problem_facts,
)
from wideberth.cli.sources import Source
from wideberth.cli.uncertainty import tell_radius
from wideberth.estimators import RobustLinearSVC
from wideberth.estimators.pipeline import RobustPipeline

__all__ = ["fit_large"]


def fit_large(
    options: FitOptions, command: str, progress: Progress
) -> tuple[Model, dict]:
    """Train; return the model and what there is to say about it."""
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
        seen = pieces.survey(str(options.target))
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
        str(options.target),
        options.radius_column,
        1.0,
        {**origin, "data": result["source"]},
    )
    return model, result


def _describe(seen: Survey, pieces: Pieces, options: FitOptions) -> dict:
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
    seen: Survey, pieces: Pieces, columns: Columns, options: FitOptions
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
    count = len(classifier.screening_)
    problems = [problem_facts(classifier, k, {}) for k in range(count)]
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
